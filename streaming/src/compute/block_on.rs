//! Running a future on a plain thread.
//!
//! It is written here, and not taken from `futures`, because that one panics inside another executor, and because the
//! models of threads have to schedule the parking too. What is ready at once, as most of what the blocking twins do in
//! memory is, costs one poll; everything else one more than there are wakes.
//! `.ci/models` explores its races.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::sync::thread::{self, Thread};

/// Runs `future` on this thread until it is done, parking the thread while there is nothing to do.
///
/// Unlike the one of the `futures` crate it may be called from anywhere, inside another executor too: the blocking
/// twins block the thread they are called on, whatever that thread is otherwise used for.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    // A waker of this thread takes longer to make than a few bytes to copy.
    if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return output;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            // A wake between the poll and here is not lost: it leaves a token that makes `park` return at once.
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::block_on;

    #[test]
    fn waits_for_another_thread() {
        let (sender, receiver) = futures::channel::oneshot::channel();
        let thread = std::thread::spawn(move || sender.send(7));
        assert_eq!(block_on(receiver), Ok(7));
        assert_eq!(thread.join().ok(), Some(Ok(())));
    }

    #[test]
    fn nests() {
        assert_eq!(block_on(async { block_on(async { 1 }) + 1 }), 2);
        assert_eq!(futures::executor::block_on(async { block_on(async { 1 }) + 1 }), 2);
    }
}
