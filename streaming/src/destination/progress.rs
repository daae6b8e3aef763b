//! A target whose writing is watched.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use oxiblosc_core::frame::FrameType;

use super::{Part, Target};
use crate::progress::Progress;

/// A target that counts what it is given, and takes nothing more once the work has been cancelled: see [`Progress`].
///
/// A frame that is complete but for its commit is not committed then; [`poll_abort`](Target::poll_abort) removes it as
/// ever.
#[derive(Debug)]
pub struct ProgressTarget<T> {
    target: T,
    progress: Progress,
    /// A commit that has begun is not called off.
    committing: bool,
}

impl<T> ProgressTarget<T> {
    /// Watches `target`.
    pub fn new(target: T, progress: &Progress) -> Self {
        Self { target, progress: progress.clone(), committing: false }
    }

    /// What is watched.
    pub fn get_ref(&self) -> &T {
        &self.target
    }

    /// Gives the target back.
    pub fn into_inner(self) -> T {
        self.target
    }
}

impl<T: Target> Target for ProgressTarget<T> {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        self.progress.check()?;
        let before = bytes.len();
        let appended = self.target.poll_append(cx, part, bytes);
        self.progress.advance(before.saturating_sub(bytes.len()) as u64);
        appended
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.target.poll_flush(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        if !self.committing {
            self.progress.check()?;
            self.committing = true;
        }
        self.target.poll_commit(cx, header)
    }

    fn frame_type(&self) -> FrameType {
        self.target.frame_type()
    }

    fn is_open_ended(&self) -> bool {
        self.target.is_open_ended()
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.target.poll_close(cx)
    }

    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.target.poll_abort(cx)
    }
}
