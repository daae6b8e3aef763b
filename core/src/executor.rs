//! How work on independent blocks reaches threads, without this crate starting any.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs a closure on several workers at once and waits for all of them.
///
/// The core hands over one closure and lets every worker draw block numbers from a shared counter, so an executor
/// need not know how much work there is. `oxiblosc-streaming` implements this for its thread pool.
pub trait Executor: Send + Sync {
    /// How many workers [`Executor::run`] may use at once; at least 1.
    fn workers(&self) -> usize;

    /// Calls `work(0)`, ..., `work(n - 1)` with `n <= workers` chosen by the executor but at least 1, possibly at the
    /// same time, and returns when all have returned. A panic in `work` may be propagated to the caller.
    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync));
}

/// The caller's own thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inline;

impl Executor for Inline {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, _workers: usize, work: &(dyn Fn(usize) + Sync)) {
        work(0);
    }
}

/// Calls `task(worker, i)` once for every `i` in `0..count`, spread over the workers of `executor`.
pub fn for_each(executor: &dyn Executor, count: usize, task: impl Fn(usize, usize) + Sync) {
    let workers = executor.workers().min(count);
    if workers <= 1 {
        (0..count).for_each(|i| task(0, i));
        return;
    }
    // Relaxed is enough: the counter only hands out numbers; results are published by the executor's own join.
    let next = AtomicUsize::new(0);
    executor.run(workers, &|worker| {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                break;
            }
            task(worker, i);
        }
    });
}
