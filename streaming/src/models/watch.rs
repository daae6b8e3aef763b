//! A watchdog for models that hang.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// A schedule takes less than a thousandth of this.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Aborts the process when a model makes no progress, until this is dropped.
///
/// Shuttle runs all threads of a model on one thread of the system and switches between them at its own operations. If
/// one of them is switched out while it holds a lock of the standard library, and another one blocks on that lock, the
/// whole process blocks, and shuttle cannot report a deadlock. Dropping a buffer under a lock is enough, as buffers
/// return to the free list of their pool, which has a lock of shuttle's. So whatever the models use should take its locks
/// from `crate::sync`.
pub(super) struct Watch {
    _end: Sender<()>,
}

impl Watch {
    /// Watches `started`, the number of schedules started so far.
    pub(super) fn begin(name: &'static str, seed: u64, started: Arc<AtomicUsize>) -> Self {
        let (end, ended) = channel();
        thread::spawn(move || {
            let mut last = 0;
            while ended.recv_timeout(TIMEOUT) == Err(RecvTimeoutError::Timeout) {
                let now = started.load(Ordering::Relaxed);
                if now == last {
                    eprintln!("model {name}: hangs in schedule {now} of SHUTTLE_RANDOM_SEED={seed}");
                    eprintln!("it blocks on a lock that is not shuttle's, or loops without a step");
                    process::abort();
                }
                last = now;
            }
        });
        Self { _end: end }
    }
}
