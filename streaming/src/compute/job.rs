//! Work given to a pool, as a future of its result.

use std::any::Any;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::channel::oneshot;
use thiserror::Error;

/// The result of work given to a [`Pool`](super::Pool), as a future.
///
/// Dropping it cancels the work if no worker has started it; work that has started is completed and its result dropped.
#[derive(Debug)]
#[must_use = "dropping a job takes it back"]
pub struct Job<T> {
    result: oneshot::Receiver<Result<T, JobPanicked>>,
}

impl<T> Job<T> {
    /// A job, and the closure that does its work on the thread that calls it.
    pub(super) fn new(work: impl FnOnce() -> T) -> (Self, impl FnOnce()) {
        let (sender, result) = oneshot::channel();
        let run = move || {
            // The outer guard is for values whose own `drop` panics: a panic that escaped a worker thread would abort
            // the process, and every other sink and reader with it.
            let _ = catch_unwind(AssertUnwindSafe(move || {
                if sender.is_canceled() {
                    return;
                }
                // Unwind safe: what the work owns is dropped by the unwinding, and what it shares with callers are
                // locks that remain usable after a panic.
                let result = catch_unwind(AssertUnwindSafe(work)).map_err(JobPanicked::new);
                let _ = sender.send(result);
            }));
        };
        (Self { result }, run)
    }
}

impl<T> Future for Job<T> {
    type Output = Result<T, JobPanicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.result).poll(cx).map(|result| {
            result.unwrap_or_else(|oneshot::Canceled| Err(JobPanicked { message: "its threads have gone".into() }))
        })
    }
}

/// The work of a job panicked, or the threads that were to do it have gone. The job is lost; everything else goes on.
///
/// It is not a filter or codec: their panics are caught where they are called, and become errors of their chunk that name
/// the plugin. What remains is the work of callers of [`Pool::spawn`](super::Pool::spawn), and defects of this crate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("its job failed: {message}")]
pub struct JobPanicked {
    message: Box<str>,
}

impl From<JobPanicked> for io::Error {
    /// As [`io::ErrorKind::Other`], with the [`JobPanicked`] inside.
    fn from(error: JobPanicked) -> Self {
        Self::other(error)
    }
}

impl JobPanicked {
    fn new(payload: Box<dyn Any + Send>) -> Self {
        let message = match payload.downcast::<String>() {
            Ok(message) => message.into_boxed_str(),
            Err(payload) => match payload.downcast_ref::<&'static str>() {
                Some(message) => (*message).into(),
                None => "no message".into(),
            },
        };
        Self { message }
    }

    /// The panic message.
    pub fn message(&self) -> &str {
        &self.message
    }
}
