//! Work handed to a pool, as a future of its result.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::channel::oneshot;
use thiserror::Error;

/// The result of work handed to a [`Pool`](super::Pool), as a future.
///
/// Dropping it takes the work back if no worker has begun with it; work that has begun is finished and its result
/// dropped.
#[derive(Debug)]
#[must_use = "dropping a job takes it back"]
pub struct Job<T> {
    result: oneshot::Receiver<Result<T, JobPanicked>>,
}

impl<T> Job<T> {
    /// A job, and the closure that does its work on whatever thread calls it.
    pub(super) fn new(work: impl FnOnce() -> T) -> (Self, impl FnOnce()) {
        let (sender, result) = oneshot::channel();
        let run = move || {
            // The outer guard is for values whose own `drop` panics: a panic that left a worker thread would take
            // the process down, and with it every other sink and reader.
            let _ = catch_unwind(AssertUnwindSafe(move || {
                if sender.is_canceled() {
                    return;
                }
                // Unwind safe: whatever the work owned is dropped by the unwinding, and callers share with it only
                // locks that they treat as usable after a panic.
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
        Pin::new(&mut self.result)
            .poll(cx)
            .map(|result| result.unwrap_or_else(|oneshot::Canceled| Err(JobPanicked { message: "result lost".into() })))
    }
}

/// A filter or codec panicked. The job is lost, its worker and everything else lives on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("panicked: {message}")]
pub struct JobPanicked {
    message: Box<str>,
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

    /// What the panic said.
    pub fn message(&self) -> &str {
        &self.message
    }
}
