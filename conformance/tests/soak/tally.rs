//! What has been done.

use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::figures;

/// Counts what has been done, of all threads.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Frames written and read by the cases of the suite `ways`.
    sinks: AtomicU64,
    /// Frames of the many tasks.
    tasks: AtomicU64,
    edits: AtomicU64,
    commits: AtomicU64,
    compactions: AtomicU64,
    kills: AtomicU64,
    bytes: AtomicU64,
    faults: AtomicU64,
    lost: AtomicU64,
}

macro_rules! count {
    ($($name:ident),*) => {$(
        pub(crate) fn $name(&self) {
            self.$name.fetch_add(1, Ordering::Relaxed);
        }
    )*};
}

impl Tally {
    count!(tasks, edits, commits, compactions, kills);

    /// A frame written and read, and the errors on the way.
    pub(crate) fn sink(&self, bytes: u64, faults: usize) {
        self.sinks.fetch_add(1, Ordering::Relaxed);
        self.bytes(bytes);
        self.faults.fetch_add(faults as u64, Ordering::Relaxed);
    }

    /// Bytes written and compared.
    pub(crate) fn bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// An error that was reported and survived.
    pub(crate) fn fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes that were reported as written, and that are missing.
    pub(crate) fn lose(&self, bytes: u64) {
        self.lost.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether there is something of everything, without which a run shows nothing.
    pub(crate) fn has_done_everything(&self) -> bool {
        [&self.sinks, &self.tasks, &self.edits, &self.commits, &self.kills, &self.bytes]
            .iter()
            .all(|count| count.load(Ordering::Relaxed) > 0)
    }

    fn values(&self) -> [(&'static str, u64); 10] {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("sinks", get(&self.sinks)),
            ("tasks", get(&self.tasks)),
            ("edits", get(&self.edits)),
            ("commits", get(&self.commits)),
            ("compactions", get(&self.compactions)),
            ("kills", get(&self.kills)),
            ("bytes", get(&self.bytes)),
            ("faults", get(&self.faults)),
            ("bytes_lost", get(&self.lost)),
            ("peak_memory", most_memory().unwrap_or(0)),
        ]
    }

    pub(crate) fn figures(&self, elapsed: Duration) -> Figures {
        Figures { values: self.values(), elapsed }
    }

    /// Puts a line for a run of so many seconds where figures are asked for.
    pub(crate) fn write(&self, seconds: u64) {
        let names = self.values().map(|(name, _)| name);
        let head: Vec<&str> = ["seconds"].into_iter().chain(names).collect();
        let values = self.values().map(|(_, value)| value);
        let row: Vec<String> = [seconds].into_iter().chain(values).map(|value| value.to_string()).collect();
        figures::put("soak.tsv", &head, &row);
    }
}

/// All counts, to be printed in a line that a program can read.
pub(crate) struct Figures {
    values: [(&'static str, u64); 10],
    elapsed: Duration,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "soak: seconds={}", self.elapsed.as_secs())?;
        self.values.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// The most memory that the process has had, where the system tells.
pub(crate) fn most_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}
