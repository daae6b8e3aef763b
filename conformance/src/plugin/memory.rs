//! The memory of this process.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek};

#[cfg(feature = "budget")]
use peakmem_alloc::PeakMemAllocTrait;

#[cfg(feature = "budget")]
use crate::budget::Heap;

/// Where the memory that a plugin takes is read from.
#[derive(Clone, Copy, Default)]
pub(super) struct Gauge {
    #[cfg(feature = "budget")]
    heap: Option<&'static Heap>,
}

/// What the process had at one time, in bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Memory {
    /// Addresses in use.
    size: usize,
    /// The most that there were at any time since the process began.
    peak: usize,
}

impl Gauge {
    /// Counts what this allocator hands out.
    #[cfg(feature = "budget")]
    pub(super) fn of(heap: &'static Heap) -> Self {
        Self { heap: Some(heap) }
    }

    /// Begins to measure: now.
    pub(super) fn start(self) -> Option<Memory> {
        #[cfg(feature = "budget")]
        if let Some(heap) = self.heap {
            heap.reset_peak_memory();
            return Some(Memory::default());
        }
        status()
    }

    /// The bytes taken since `start` at any one time. What the rest of the program takes counts too.
    ///
    /// The system tells the highest number of the process: a peak that it had before hides lower ones.
    pub(super) fn taken_since(self, start: Memory) -> usize {
        #[cfg(feature = "budget")]
        if let Some(heap) = self.heap {
            return heap.get_peak_memory();
        }
        match status() {
            Some(now) if now.peak > start.peak => now.peak.saturating_sub(start.size),
            Some(now) => now.size.saturating_sub(start.size),
            None => 0,
        }
    }
}

/// Bytes of this process that are in memory, if the system says.
pub(super) fn resident() -> Option<usize> {
    const PAGE: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    // The size of a page may be larger: then this is too small, and more is tolerated.
    Some(statm.split_whitespace().nth(1)?.parse::<usize>().ok()? * PAGE)
}

fn status() -> Option<Memory> {
    thread_local! {
        // Kept open: it is read often.
        static STATUS: RefCell<Option<File>> = RefCell::new(File::open("/proc/self/status").ok());
    }
    let mut text = [0; 4096];
    let len = STATUS.with_borrow_mut(|file| {
        let file = file.as_mut()?;
        file.rewind().ok()?;
        file.read(&mut text).ok()
    })?;
    let status = str::from_utf8(&text[..len]).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: usize = line.split_whitespace().next()?.parse().ok()?;
        Some(kib << 10)
    };
    Some(Memory { size: field("VmSize:")?, peak: field("VmPeak:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_that_is_gone_again_is_seen() {
        let gauge = Gauge::default();
        let start = gauge.start().unwrap();
        drop(std::hint::black_box(vec![0u8; 5 << 30]));
        assert!(gauge.taken_since(start) >= 4 << 30);
        assert!(resident().unwrap() > 1 << 20);
    }
}
