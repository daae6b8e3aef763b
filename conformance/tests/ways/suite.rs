//! Many cases, a few at a time.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::case::Case;
use crate::figures;
use crate::run::{payload, run};

/// No case takes this long, were it the only one on a slow machine.
const WATCHDOG: Duration = Duration::from_secs(600);
/// Failures after which a suite ends: more would only repeat them.
const MOST_FAILURES: usize = 12;

/// What many cases have come to.
#[derive(Default)]
pub(crate) struct Suite {
    cases: AtomicU64,
    bytes: AtomicU64,
    /// Errors that were told and survived.
    errors: AtomicU64,
    failures: Mutex<Vec<String>>,
}

impl Suite {
    /// Runs cases until there are no more; panics with a line for each one that failed.
    pub(crate) fn run(name: &str, threads: usize, next: impl FnMut() -> Option<Case> + Send) {
        let (suite, next, start) = (Self::default(), Mutex::new(next), Instant::now());
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let case = next.lock().unwrap_or_else(PoisonError::into_inner)();
                        let Some(case) = case else { break };
                        suite.case(&case);
                        if suite.failures.lock().unwrap_or_else(PoisonError::into_inner).len() >= MOST_FAILURES {
                            break;
                        }
                    }
                });
            }
        });
        let (cases, bytes, errors) = (suite.cases.into_inner(), suite.bytes.into_inner(), suite.errors.into_inner());
        let failures = suite.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        let elapsed = start.elapsed();
        println!(
            "{name}: {cases} cases, {} MiB, {errors} errors, {} failures, {elapsed:?}",
            bytes >> 20,
            failures.len()
        );
        let values = [cases, bytes, errors, failures.len() as u64, elapsed.as_secs()].map(|value| value.to_string());
        let row: Vec<String> = [name.to_owned()].into_iter().chain(values).collect();
        figures::put("ways.tsv", &["suite", "cases", "bytes", "errors", "failures", "seconds"], &row);
        assert!(failures.is_empty(), "{} cases of {cases} failed:\n{}", failures.len(), failures.join("\n"));
    }

    fn case(&self, case: &Case) {
        let watch = Watch::new(case.to_string());
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| run(case))).unwrap_or_else(|panic| Err(said(&*panic)));
        drop(watch);
        if std::env::var_os("OXIBLOSC_WAYS_VERBOSE").is_some() {
            println!("{:?} {case}", start.elapsed());
        }
        self.cases.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(payload(case).len(), Ordering::Relaxed);
        match result {
            Ok(errors) => drop(self.errors.fetch_add(errors as u64, Ordering::Relaxed)),
            Err(error) => self.fail(format!("{error}\n  OXIBLOSC_WAYS_CASE='{case}'")),
        }
    }

    fn fail(&self, line: String) {
        eprintln!("{line}");
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

/// What a panic has said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panicked: {}", text.unwrap_or_default())
}

/// Ends the process, and says on which case, when a case does not end.
struct Watch {
    over: Arc<(AtomicBool, Mutex<()>, Condvar)>,
}

impl Watch {
    fn new(line: String) -> Self {
        let over = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let watched = Arc::clone(&over);
        thread::spawn(move || {
            let (over, lock, changed) = &*watched;
            let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
            let waiting = |_: &mut ()| !over.load(Ordering::Acquire);
            if let Ok((_, timeout)) = changed.wait_timeout_while(guard, WATCHDOG, waiting)
                && timeout.timed_out()
            {
                eprintln!("this case does not end:\n  OXIBLOSC_WAYS_CASE='{line}'");
                std::process::abort();
            }
        });
        Self { over }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let (over, lock, changed) = &*self.over;
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        over.store(true, Ordering::Release);
        changed.notify_all();
    }
}
