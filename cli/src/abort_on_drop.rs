//! A target that cleans up if it is not committed.

use std::future::poll_fn;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use oxiblosc::block_on;
use oxiblosc::frame::FrameType;
use oxiblosc::target::{Part, Target};

use crate::interrupt::{CleanupGuard, undo_by};
use crate::progress;

/// A target that is aborted if it is dropped, or if the program is interrupted, before the commit. Unlike other
/// targets, dropping it waits until everything is removed: the program may be about to exit.
pub(crate) struct AbortOnDrop {
    shared: Arc<Mutex<TargetState>>,
    /// Held only for its `drop`.
    undoing: Option<CleanupGuard>,
}

struct TargetState {
    target: Box<dyn Target + Send>,
    /// Committed or aborted.
    settled: bool,
}

impl AbortOnDrop {
    pub(crate) fn new(target: impl Target + Send + 'static) -> Self {
        let mut this = Self::stream(target);
        let undone = Arc::clone(&this.shared);
        let undoing = undo_by(move || {
            let mut shared = lock(&undone);
            shared.give_up();
            // No thread may write again before the program has exited, so the lock is never released.
            mem::forget(shared);
        });
        this.undoing = Some(undoing);
        this
    }

    /// A target that leaves nothing for a signal to remove. It may block on its reader, for which the signal does not
    /// wait.
    pub(crate) fn stream(target: impl Target + Send + 'static) -> Self {
        Self { shared: Arc::new(Mutex::new(TargetState { target: Box::new(target), settled: false })), undoing: None }
    }
}

impl TargetState {
    fn give_up(&mut self) {
        if !mem::replace(&mut self.settled, true) {
            // The earlier error is the one to report.
            let _ = block_on(poll_fn(|cx| self.target.poll_abort(cx)));
        }
    }
}

fn lock(shared: &Mutex<TargetState>) -> MutexGuard<'_, TargetState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        lock(&self.shared).give_up();
    }
}

impl Target for AbortOnDrop {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        let before = bytes.len();
        let appended = lock(&self.shared).target.poll_append(cx, part, bytes);
        progress::wrote(before.saturating_sub(bytes.len()));
        appended
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.shared).target.poll_flush(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        let mut shared = lock(&self.shared);
        let committed = shared.target.poll_commit(cx, header);
        shared.settled |= matches!(committed, Poll::Ready(Ok(())));
        committed
    }

    fn frame_type(&self) -> FrameType {
        lock(&self.shared).target.frame_type()
    }

    fn is_open_ended(&self) -> bool {
        lock(&self.shared).target.is_open_ended()
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.shared).target.poll_close(cx)
    }

    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut shared = lock(&self.shared);
        let aborted = shared.target.poll_abort(cx);
        shared.settled |= matches!(aborted, Poll::Ready(Ok(())));
        aborted
    }
}
