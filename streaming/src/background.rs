//! Background work that no caller awaits: uploads aborted and chunks removed after a drop, and writes that were in
//! progress.

use std::collections::BTreeSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::compute::block_on;

static WORK: Mutex<Work> = Mutex::new(Work { next: 0, running: BTreeSet::new(), waiting: Vec::new() });

struct Work {
    /// Number of the next piece of work.
    next: u64,
    running: BTreeSet<u64>,
    waiting: Vec<Waker>,
}

fn work() -> MutexGuard<'static, Work> {
    // Every change is a single step, so a poisoned lock holds valid data.
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for everything that this crate has started in the background so far: aborted uploads, chunks and files removed
/// after their writer was dropped, and file operations whose future was dropped.
///
/// A sink or target that is dropped before its frame is complete cleans up in the background. A program that exits at
/// once cuts that work short, and the parts of an upload then stay in the store, where they cost money. So call this
/// before the process exits, after everything else has been dropped:
///
/// ```
/// # async fn program() {}
/// # oxiblosc_streaming::block_on(async {
/// program().await;
/// oxiblosc_streaming::settle().await;
/// # });
/// ```
///
/// It may be awaited on any executor. Work that starts after the call is not included, nor is work in other processes.
/// It says nothing about success: what cannot be removed stays. It may take as long as a store takes to answer; wrap it
/// in your executor's timeout if that must be limited. Dropping it has no effect.
/// [`blocking::settle`](crate::blocking::settle) is its twin.
pub fn settle() -> Settle {
    Settle { until: work().next }
}

/// See [`settle`].
#[derive(Debug)]
#[must_use = "nothing is waited for unless it is awaited"]
pub struct Settle {
    until: u64,
}

impl Future for Settle {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut work = work();
        if work.running.first().is_none_or(|&oldest| oldest >= self.until) {
            return Poll::Ready(());
        }
        if !work.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            work.waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Marks work that [`settle`] waits for, from its start until this is dropped, including by a panic.
#[derive(Debug)]
pub(crate) struct Running(u64);

impl Running {
    pub(crate) fn begin() -> Self {
        let mut work = work();
        let number = work.next;
        work.next += 1;
        work.running.insert(number);
        Self(number)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut work = work();
        work.running.remove(&self.0);
        let waiting = std::mem::take(&mut work.waiting);
        // A woken task may poll again at once.
        drop(work);
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// Completes `work` whether or not anyone awaits it: on this thread as far as it goes without waiting, then on a thread
/// that may block.
pub(crate) fn finish(work: impl Future<Output = ()> + Send + 'static) {
    let mut work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
    // This may run in a `drop`, which must not panic.
    let begun = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut Context::from_waker(Waker::noop()))));
    if matches!(begun, Ok(Poll::Pending)) {
        let running = Running::begin();
        blocking::unblock(move || {
            block_on(work);
            drop(running);
        })
        .detach();
    }
}

/// A future that [finishes](finish) in the background if it is dropped.
pub(crate) struct Finishing<T: 'static>(Option<Pin<Box<dyn Future<Output = T> + Send>>>);

impl<T: 'static> Finishing<T> {
    pub(crate) fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<T: 'static> Future for Finishing<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // If it panics, it is over.
        let Some(mut work) = self.0.take() else { return Poll::Pending };
        let result = work.as_mut().poll(cx);
        if result.is_pending() {
            self.0 = Some(work);
        }
        result
    }
}

impl<T: 'static> Drop for Finishing<T> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            finish(async move { drop(work.await) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::{Duration, Instant};

    use futures::FutureExt;

    use super::*;

    /// A future that completes when the sender is dropped.
    fn until_dropped() -> (std::sync::mpsc::Sender<()>, impl Future<Output = ()> + Send + 'static) {
        let (sender, receiver): (_, Receiver<()>) = channel();
        let mut first = true;
        let future = std::future::poll_fn(move |_| {
            if std::mem::take(&mut first) {
                return Poll::Pending;
            }
            // On a thread that may block.
            let _ = receiver.recv_timeout(Duration::from_secs(60));
            Poll::Ready(())
        });
        (sender, future)
    }

    #[test]
    fn waits_for_what_has_begun_and_for_nothing_else() {
        // Tests of other modules may have work in progress, but only briefly.
        block_on(settle());
        let (first, work) = until_dropped();
        finish(work);
        let mut settled = settle();
        let (second, work) = until_dropped();
        finish(work);
        assert!((&mut settled).now_or_never().is_none());
        drop(first);
        block_on(settled);
        drop(second);
        block_on(settle());
    }

    #[test]
    fn work_that_panics_is_done_too() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let mut first = true;
        finish(std::future::poll_fn(move |cx| {
            if std::mem::take(&mut first) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            panic!("this work is lost");
        }));
        let started = Instant::now();
        block_on(settle());
        std::panic::set_hook(hook);
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
