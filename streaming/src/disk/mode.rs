//! Which thread makes a system call that may block.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::background::Running;

/// Which thread makes file operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IoMode {
    /// On a thread that may block (one of the `blocking` crate), so that an executor's thread never waits for a disk.
    /// The default, except on WebAssembly, which has no such threads.
    Offloaded,
    /// On the polling thread: no switch between threads, for blocking programs and for files known to be in memory.
    Inline,
}

impl Default for IoMode {
    fn default() -> Self {
        if cfg!(target_family = "wasm") { Self::Inline } else { Self::Offloaded }
    }
}

impl IoMode {
    pub(crate) fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> IoTask<T> {
        match self {
            Self::Offloaded => {
                // It continues when its future is dropped.
                let running = Running::begin();
                IoTask(IoState::Offloaded(blocking::unblock(move || {
                    let _running = running;
                    work()
                })))
            }
            Self::Inline => IoTask(IoState::Done(Some(work()))),
        }
    }
}

/// A file operation in progress. Dropping it cancels it if it has not started.
pub(crate) struct IoTask<T>(IoState<T>);

enum IoState<T> {
    Offloaded(blocking::Task<T>),
    Done(Option<T>),
}

// The result is moved out, never pinned.
impl<T> Unpin for IoTask<T> {}

impl<T> Future for IoTask<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            IoState::Offloaded(task) => Pin::new(task).poll(cx),
            IoState::Done(result) => result.take().map_or(Poll::Pending, Poll::Ready),
        }
    }
}

impl<T> fmt::Debug for IoTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            IoState::Offloaded(_) => "IoTask(offloaded)",
            IoState::Done(_) => "IoTask(inline)",
        })
    }
}
