//! Runs a check on a thread that is left behind when a plugin does not return.

use std::cell::Cell;
use std::fs;
use std::panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::child::Diary;
use super::memory::{self, Gauge};
use super::promise::{Broken, Promise};
use crate::report::{Report, panic_message};

/// How much a call may take.
#[derive(Clone, Copy)]
pub(super) struct CallLimits {
    /// Processor time, to which each MiB of data adds as much again.
    pub(super) time: Duration,
    /// Bytes beyond those that the process has before the call.
    pub(super) memory: usize,
    pub(super) gauge: Gauge,
}

/// How often the watcher looks.
const INTERVAL: Duration = Duration::from_millis(10);

/// A call that waits uses no processor time: it is also given up after this many times its limit on the clock, which
/// other programs on the machine slow down.
const PATIENCE: u32 = 8;

/// A call that has taken this many times its limit of memory, and goes on, endangers the machine.
const RUNAWAY: usize = 4;

/// What the watched thread and the watcher share.
pub(super) struct Watch {
    limits: CallLimits,
    /// Odd while a call is under way.
    calls: AtomicU64,
    /// Milliseconds that a call may take.
    allowed: AtomicU64,
    /// The promise that is tried, and with what.
    now: Mutex<(Promise, String)>,
    pub(super) report: Mutex<Report>,
    /// Where the system tells the time that the watched thread has used.
    times: OnceLock<PathBuf>,
    /// The check has its [turn](Turn).
    in_turn: AtomicBool,
    /// Where this process says what it does, if it is a child.
    diary: Option<Diary>,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on a thread of its own, and returns the report when it has ended or a call has exceeded its time. The
/// thread is left to itself then.
pub(super) fn watched(
    limits: CallLimits,
    report: Report,
    diary: Option<Diary>,
    work: impl FnOnce(Arc<Watch>) + Send + 'static,
) -> Report {
    let watch = Arc::new(Watch {
        limits,
        calls: AtomicU64::new(0),
        allowed: AtomicU64::new(0),
        now: Mutex::new((Promise::Accepts, String::new())),
        report: Mutex::new(report),
        times: OnceLock::new(),
        in_turn: AtomicBool::new(false),
        diary,
    });
    watch.expect_bytes(0);
    let (done, ended) = mpsc::channel::<()>();
    let watched = Arc::clone(&watch);
    let worker = thread::spawn(move || {
        // Dropped at the end, also by a panic.
        let _done = done;
        if let Ok(thread) = fs::read_link("/proc/thread-self") {
            // It cannot have been set before.
            let _ = watched.times.set(Path::new("/proc").join(thread).join("schedstat"));
        }
        work(watched);
    });
    if watch.wait(&ended) {
        // Only an error of the kit itself gets here.
        worker.join().unwrap_or_else(|panic| resume_unwind(panic));
    }
    watch.end_turn();
    locked(&watch.report).clone()
}

impl Watch {
    /// Waits until the work has ended; `false` if it was given up.
    fn wait(&self, ended: &mpsc::Receiver<()>) -> bool {
        let mut last = (0, Instant::now(), self.processor_time(), memory::resident());
        while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let calls = self.calls.load(Ordering::Acquire);
            if calls != last.0 || calls.is_multiple_of(2) {
                last = (calls, Instant::now(), self.processor_time(), memory::resident());
                continue;
            }
            let allowed = Duration::from_millis(self.allowed.load(Ordering::Relaxed));
            let clock = last.1.elapsed();
            let used = self.processor_time().zip(last.2).map(|(now, then)| now.saturating_sub(then));
            if used.unwrap_or(clock) > allowed || clock > allowed.saturating_mul(PATIENCE) {
                let (promise, what) = locked(&self.now).clone();
                let detail = format!("no end after {clock:.1?}; the limit is {allowed:.1?} (in: {promise})\n{what}");
                let mut report = locked(&self.report);
                report.breaks(Promise::Time.name(), detail);
                report.note("the rest was not tried: the call goes on, on a thread that is left behind");
                return false;
            }
            let taken = memory::resident().zip(last.3).map_or(0, |(now, then)| now.saturating_sub(then));
            if taken / RUNAWAY > self.limits.memory {
                // There is no way to stop it but this one, and the machine would go down with it.
                let (_, what) = locked(&self.now).clone();
                let mut report = locked(&self.report);
                report.breaks(Promise::Memory.name(), format!("{} MiB taken, and no end\n{what}", taken >> 20));
                eprintln!("{report}The program ends here: the call cannot be stopped in another way.");
                std::process::abort();
            }
        }
        true
    }

    /// The processor time of the watched thread, if the system says.
    fn processor_time(&self) -> Option<Duration> {
        let times = fs::read_to_string(self.times.get()?).ok()?;
        Some(Duration::from_nanos(times.split_whitespace().next()?.parse().ok()?))
    }

    /// Sets the limit of time for calls with this much data.
    pub(super) fn expect_bytes(&self, bytes: usize) {
        let allowed = self.limits.time.saturating_mul(1 + (bytes >> 20) as u32);
        self.allowed.store(allowed.as_millis() as u64, Ordering::Relaxed);
    }

    /// Says what is tried next, for the case that it does not end.
    pub(super) fn says(&self, promise: Promise, what: String) {
        if let Some(diary) = &self.diary {
            diary.write(promise, &what);
        }
        *locked(&self.now) = (promise, what);
    }

    /// Calls a plugin. The error is the message of a panic, which is not printed.
    pub(super) fn call<T>(&self, call: impl FnOnce() -> T) -> Result<T, String> {
        self.calls.fetch_add(1, Ordering::Release);
        let result = quietly(call);
        self.calls.fetch_add(1, Ordering::Release);
        result
    }

    /// As [`call`](Self::call), under the limit of memory.
    pub(super) fn measured<T>(&self, call: impl FnOnce() -> T) -> Result<Result<T, String>, Broken> {
        let gauge = self.limits.gauge;
        let start = gauge.start();
        let result = self.call(call);
        let taken = start.map_or(0, |start| gauge.taken_since(start));
        if taken > self.limits.memory {
            let detail = format!("{} MiB taken, the limit is {}", taken >> 20, self.limits.memory >> 20);
            return Err(Broken::new(Promise::Memory, detail));
        }
        Ok(result)
    }

    /// Waits until no other check measures memory, which is that of the whole process.
    pub(super) fn turn(&self) -> Turn<'_> {
        let (taken, free) = &TURN;
        let mut taken = locked(taken);
        while *taken {
            taken = free.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken = true;
        self.in_turn.store(true, Ordering::Release);
        Turn(self)
    }

    fn end_turn(&self) {
        if self.in_turn.swap(false, Ordering::AcqRel) {
            let (taken, free) = &TURN;
            *locked(taken) = false;
            free.notify_one();
        }
    }
}

static TURN: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// The right to measure the memory of the process. It ends with the check, even if the thread that has it does not.
pub(super) struct Turn<'a>(&'a Watch);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.end_turn();
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Catches a panic of `call` without printing it; the error is its message.
pub(super) fn quietly<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panic_message(&*panic));
    QUIET.set(false);
    result
}
