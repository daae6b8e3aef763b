//! Where and of what a report is.

use std::fs;

use serde::{Deserialize, Serialize};

/// The machine, as far as the system tells; empty or zero where it does not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the processor.
    pub processor: String,
    /// How many threads can run at once.
    pub cores: usize,
    /// Caches of the first core, as in `L1d 32K`.
    pub caches: Vec<String>,
    /// System and version.
    pub kernel: String,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let processor = read("/proc/cpuinfo")
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name.to_owned()));
        let cache = |index: usize| {
            let of = |what: &str| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}"));
            let letter = match &*of("type") {
                "Data" => "d",
                "Instruction" => "i",
                _ => "",
            };
            let size = of("size");
            (!size.is_empty()).then(|| format!("L{}{letter} {size}", of("level")))
        };
        Self {
            processor: processor.unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            caches: (0..8).map_while(cache).collect(),
            kernel: format!("{} {}", std::env::consts::OS, read("/proc/sys/kernel/osrelease")),
        }
    }
}

/// How the rows of a report came about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The machine.
    pub machine: Machine,
    /// `short`, `full` or `unseen`.
    pub form: String,
    /// `wall` or `cpu`: which time was taken. Groups of threads and of commands take wall-clock time always.
    pub clock: String,
    /// What generated sets and drawn settings follow from.
    pub seed: u64,
    /// Names and versions of the implementations.
    pub versions: Vec<String>,
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Machine { processor, cores, caches, kernel } = &self.machine;
        writeln!(f, "{processor}, {cores} threads, caches {}, {kernel}", caches.join(", "))?;
        writeln!(f, "form {}, {} time, seed {}; {}", self.form, self.clock, self.seed, self.versions.join(", "))
    }
}
