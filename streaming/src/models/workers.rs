//! A replacement for rayon's workers: a queue and threads, with only those guarantees about order and completion that
//! rayon gives.

use std::collections::VecDeque;
use std::sync::Arc;

use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

type Work = Box<dyn FnOnce() + Send>;

/// Threads that take work from a queue until the pool is dropped and the queue is empty.
pub(crate) struct ThreadPool {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<WorkersState>,
    changed: Condvar,
}

#[derive(Default)]
struct WorkersState {
    work: VecDeque<Work>,
    closed: bool,
}

impl Queue {
    fn work(&self) {
        loop {
            let mut state = self.state.lock().unwrap();
            while state.work.is_empty() && !state.closed {
                state = self.changed.wait(state).unwrap();
            }
            let Some(work) = state.work.pop_front() else { return };
            drop(state);
            work();
        }
    }
}

impl ThreadPool {
    pub(crate) fn spawn_fifo(&self, work: impl FnOnce() + Send + 'static) {
        self.queue.state.lock().unwrap().work.push_back(Box::new(work));
        self.queue.changed.notify_one();
    }

    /// Everything that `op` spawns has ended when this returns.
    pub(crate) fn in_place_scope<'env, R>(&self, op: impl for<'scope> FnOnce(&Scope<'scope, 'env>) -> R) -> R {
        thread::scope(|inner| op(&Scope { inner }))
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.queue.state.lock().unwrap().closed = true;
        self.queue.changed.notify_all();
    }
}

pub(crate) struct Scope<'scope, 'env: 'scope> {
    inner: &'scope thread::Scope<'scope, 'env>,
}

impl<'scope> Scope<'scope, '_> {
    pub(crate) fn spawn(&self, body: impl FnOnce(()) + Send + 'scope) {
        self.inner.spawn(move || body(()));
    }
}

/// The part of rayon's builder that is used.
#[derive(Default)]
pub(crate) struct ThreadPoolBuilder {
    threads: usize,
}

impl ThreadPoolBuilder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn num_threads(self, threads: usize) -> Self {
        Self { threads }
    }

    pub(crate) fn thread_name(self, _: impl FnMut(usize) -> String) -> Self {
        self
    }

    pub(crate) fn build(self) -> Result<ThreadPool, std::convert::Infallible> {
        let queue = Arc::new(Queue::default());
        for _ in 0..self.threads {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.work());
        }
        Ok(ThreadPool { queue })
    }
}
