//! Runs work on independent blocks on threads that this crate does not start itself.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Runs a closure on several workers at once and waits for all of them.
///
/// The core hands over one closure and lets every worker draw blocks from a shared iterator, so an executor need not
/// know how much work there is. `oxiblosc-streaming` implements this for its thread pool.
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
    let Ok(()) = try_for_each(executor, count, 0..count, |worker, i| -> Result<(), Infallible> {
        task(worker, i);
        Ok(())
    });
}

/// Hands out `items`, of which there are `count`, to the workers of `executor`, in order and one at a time, until there
/// are none left or `task` fails. Returns the first error that a worker reported.
///
/// Items may borrow mutably from one buffer (`chunks_mut`), which lets workers decode blocks into one buffer without
/// unsafe code.
pub fn try_for_each<T, E: Send>(
    executor: &dyn Executor,
    count: usize,
    mut items: impl Iterator<Item = T> + Send,
    task: impl Fn(usize, T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let workers = executor.workers().min(count);
    if workers <= 1 {
        return items.try_for_each(|item| task(0, item));
    }
    let items = Mutex::new(items);
    let failed = Mutex::new(None);
    executor.run(workers, &|worker| {
        loop {
            // The guard must be gone before the task runs, or the workers would take turns.
            let item = locked(&items).next();
            let Some(item) = item else { return };
            if let Err(error) = task(worker, item) {
                locked(&failed).get_or_insert(error);
                // The remaining items are not needed.
                while locked(&items).next().is_some() {}
                return;
            }
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Locks even if another worker panicked: the executor passes that panic on, and what the lock guards is either
/// consistent at any point or then discarded.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One value per worker, created when first needed and kept between calls.
pub(crate) struct PerWorker<W> {
    workers: Vec<Mutex<W>>,
}

impl<W> PerWorker<W> {
    pub(crate) const fn new() -> Self {
        Self { workers: Vec::new() }
    }

    /// The values of the first `count` workers. An executor never runs the same worker number twice at a time, so these
    /// locks are never contended; they exist because the compiler cannot know that.
    pub(crate) fn first<E>(
        &mut self,
        count: usize,
        mut new: impl FnMut() -> Result<W, E>,
    ) -> Result<&mut [Mutex<W>], E> {
        while self.workers.len() < count {
            self.workers.push(Mutex::new(new()?));
        }
        Ok(&mut self.workers[..count])
    }

    /// Every value created so far.
    pub(crate) fn each(&mut self, change: impl FnMut(&mut W)) {
        self.workers.iter_mut().map(unlocked).for_each(change);
    }
}

/// The value itself, through the exclusive borrow.
pub(crate) fn unlocked<W>(mutex: &mut Mutex<W>) -> &mut W {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that are started for each call.
    struct Threads(usize);

    impl Executor for Threads {
        fn workers(&self) -> usize {
            self.0
        }

        fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
            std::thread::scope(|scope| (0..workers).for_each(|worker| drop(scope.spawn(move || work(worker)))));
        }
    }

    #[test]
    fn every_item_once_whatever_the_workers() {
        for workers in [1, 2, 7] {
            for count in [0, 1, 2, 100] {
                let mut bytes = vec![0u8; count];
                let items = bytes.chunks_mut(1).enumerate();
                try_for_each(&Threads(workers), count, items, |worker, (i, byte)| {
                    assert!(worker < workers.min(count));
                    byte[0] += i as u8;
                    Ok::<_, ()>(())
                })
                .unwrap();
                assert_eq!(bytes, (0..count as u8).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        for workers in [1, 3] {
            let done = Mutex::new(0);
            let result = try_for_each(&Threads(workers), 1000, 0..1000, |_, item| {
                *locked(&done) += 1;
                if item < 5 { Ok(()) } else { Err(item) }
            });
            assert!(result.unwrap_err() >= 5);
            assert!((6..1000).contains(&*locked(&done)), "{workers} workers");
        }
    }
}
