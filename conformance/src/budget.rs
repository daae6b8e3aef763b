//! Running work under limits of memory and time, for tests with untrusted input.
//!
//! A test program makes [`Heap`] its allocator and runs what it tests through [`ResourceLimit::run`]:
//!
//! ```
//! use oxiblosc_conformance::budget::{self, Heap, ResourceLimit};
//!
//! #[global_allocator]
//! static HEAP: Heap = budget::heap();
//!
//! let (sum, spent) = ResourceLimit::bytes(1 << 20).run(&HEAP, "a small sum", || vec![1u8; 1000].iter().map(|&n| n as u64).sum::<u64>());
//! assert_eq!(sum, 1000);
//! assert!((1000..1 << 20).contains(&spent.bytes));
//! ```
//!
//! Memory is counted when it is requested, whether or not the system has it: a request of a terabyte exceeds every
//! budget, even if the program survives its refusal.

use std::alloc::System;
use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait};

/// An allocator that counts requested bytes.
pub type Heap = PeakMemAlloc<System>;

/// The value of a `#[global_allocator]`.
pub const fn heap() -> Heap {
    PeakMemAlloc::new(System)
}

/// Runs `work` and counts the bytes that are allocated at any one time, beyond those allocated before. What the rest of
/// the program does meanwhile counts, too.
pub fn peak<T>(heap: &Heap, work: impl FnOnce() -> T) -> (T, usize) {
    heap.reset_peak_memory();
    let result = work();
    (result, heap.get_peak_memory())
}

/// The limits of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimit {
    /// Bytes allocated at any one time, beyond those allocated before.
    pub bytes: usize,
    /// Processor time, of all threads of the program. Other programs on the machine do not count.
    pub time: Duration,
}

/// The resources that a piece of work has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceUse {
    /// The most bytes allocated at any one time.
    pub bytes: usize,
    /// Processor time.
    pub time: Duration,
}

/// Memory is counted for the whole program, so one piece of work runs at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The interval at which the watchdog checks.
const INTERVAL: Duration = Duration::from_millis(5);

/// Work that waits forever uses no processor time: it is also aborted after this many times its budget in wall-clock
/// time.
const PATIENCE: u32 = 20;

/// Beyond this many times the budget the watchdog does not wait for the end of the work, which might take down the
/// machine.
const RUNAWAY: usize = 16;

impl ResourceLimit {
    /// The default processor time of a budget.
    pub const TIME: Duration = Duration::from_secs(10);

    /// A budget of `bytes` bytes and [`ResourceLimit::TIME`].
    pub const fn bytes(bytes: usize) -> Self {
        Self { bytes, time: Self::TIME }
    }

    /// Sets the processor time.
    #[must_use]
    pub const fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Runs `work` while no other work runs under a budget in this program, and returns what it has used. `what` is the
    /// name of the work in messages.
    ///
    /// # Panics
    /// When the work has used too much memory. Work that does not end in time, or takes so much memory that it
    /// endangers the machine, cannot be stopped: in that case the whole program is aborted with a message.
    pub fn run<T>(self, heap: &'static Heap, what: &str, work: impl FnOnce() -> T) -> (T, ResourceUse) {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, watched) = mpsc::channel::<()>();
        let name = what.to_owned();
        let watchdog = thread::spawn(move || self.watch(heap, &name, &watched));
        heap.reset_peak_memory();
        let begun = ProcessTime::now();
        let result = work();
        let spent = ResourceUse::since(begun, heap);
        drop(done);
        // It has no reason to panic.
        let _ = watchdog.join();
        drop(alone);
        assert!(spent.bytes <= self.bytes, "{what}: took {spent}, and may take {} bytes", self.bytes);
        (result, spent)
    }

    /// Aborts the program if the work exceeds its limits before it has ended.
    fn watch(self, heap: &'static Heap, what: &str, ended: &mpsc::Receiver<()>) {
        let (begun, clock) = (ProcessTime::now(), Instant::now());
        while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let spent = ResourceUse::since(begun, heap);
            let runaway = spent.bytes / RUNAWAY > self.bytes;
            if runaway || spent.time > self.time || clock.elapsed() > self.time.saturating_mul(PATIENCE) {
                eprintln!(
                    "{what}: given up after {:.1?} and {spent}; it may take {} bytes and {:.1?}",
                    clock.elapsed(),
                    self.bytes,
                    self.time
                );
                std::process::abort();
            }
        }
    }
}

impl ResourceUse {
    fn since(begun: ProcessTime, heap: &Heap) -> Self {
        Self { bytes: heap.get_peak_memory(), time: begun.elapsed() }
    }
}

impl fmt::Display for ResourceUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes and {:.1?} of processor time", self.bytes, self.time)
    }
}
