//! Running the futures of object stores, whatever the caller's executor.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::background::Running;
use crate::context::about;

/// Requests wait for the network, so few threads serve many of them.
const THREADS: usize = 2;

/// The stores of `object_store` use Tokio, which callers need not have. One small runtime serves the whole process; it
/// starts with the first request.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let start = || Builder::new_multi_thread().worker_threads(THREADS).thread_name("oxiblosc-io").enable_all().build();
    RUNTIME
        .get_or_init(start)
        .as_ref()
        .map_err(|e| about("no runtime for requests", io::Error::new(e.kind(), e.to_string())))
}

/// Runs `work` on the runtime of this crate; the result can be awaited on any executor. Dropping the task ends the
/// work at its next await.
///
/// For the futures of a store, which need Tokio, in programs that do not run on it. A task fails when the runtime cannot
/// be started, and panics where it is awaited when the work does.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Task<T> {
    Task { handle: runtime().map(|runtime| runtime.spawn(work)).map_err(Some) }
}

/// Runs `work` to its end whether or not anyone awaits it; [`settle`](crate::settle) waits for it.
pub(crate) fn detach(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = runtime() {
        let running = Running::begin();
        runtime.spawn(async move {
            let _running = running;
            work.await;
        });
    }
}

/// Work on the runtime of this crate: see [`spawn`].
#[must_use = "the work ends when the task is dropped"]
pub struct Task<T> {
    handle: Result<JoinHandle<T>, Option<io::Error>>,
}

impl<T> Task<io::Result<T>> {
    /// The result when it is ready. An error that kept the work from starting counts as its own.
    pub(crate) fn poll_io(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        Pin::new(self).poll(cx).map(|result| result.and_then(|result| result))
    }
}

impl<T> Future for Task<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let handle = match &mut self.handle {
            Ok(handle) => handle,
            Err(error) => {
                let again = || io::Error::other("no runtime for requests");
                return Poll::Ready(Err(error.take().unwrap_or_else(again)));
            }
        };
        Pin::new(handle).poll(cx).map(|result| {
            result.map_err(|error| match error.try_into_panic() {
                Ok(panic) => resume(panic),
                Err(cancelled) => io::Error::other(cancelled),
            })
        })
    }
}

/// The panic of a bug in the store; it resumes where the result is awaited, as it would without a separate runtime.
fn resume(panic: Box<dyn Any + Send>) -> io::Error {
    resume_unwind(panic)
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Ok(handle) = &self.handle {
            handle.abort();
        }
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::compute::block_on;

    #[test]
    fn timers_run_under_any_executor() {
        let work = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            7
        };
        assert_eq!(block_on(spawn(work)).unwrap(), 7);
    }

    #[test]
    fn dropped_tasks_end_and_detached_ones_do_not() {
        let (sender, receiver) = channel();
        let task = spawn(async move {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            let _ = sender.send(());
        });
        drop(task);
        assert!(receiver.recv_timeout(Duration::from_secs(60)).is_err(), "its sender is dropped with it");

        let (sender, receiver) = channel();
        detach(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let _ = sender.send(());
        });
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(()));
    }
}
