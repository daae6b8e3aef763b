//! The `futures` traits of the sink.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::Sink;
use futures::io::AsyncWrite;

use super::{Drive, FrameSink, Sealed, Summary};
use crate::error::WriteError;
use crate::target::Target;

/// `poll_ready` waits until everything taken so far, except less than one chunk, is in flight; `start_send` then takes
/// a buffer of any size.
impl<T: Target> Sink<Bytes> for FrameSink<T> {
    type Error = WriteError;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        self.poll_room(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, item: Bytes) -> Result<(), WriteError> {
        self.take(item)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        self.poll_flush_chunks(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        self.poll_close_frame(cx).map_ok(drop)
    }
}

/// Errors are those of [`FrameSink`] as [`io::Error`]s: the target's own errors unchanged, others with the
/// [`WriteError`] inside.
impl<T: Target> AsyncWrite for FrameSink<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            self.check_open()?;
            return Poll::Ready(Ok(0));
        }
        ready!(self.poll_room(cx))?;
        Poll::Ready(Ok(self.take_copy(buf)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush_chunks(cx).map_err(io::Error::from)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_close_frame(cx).map_ok(drop).map_err(io::Error::from)
    }
}

impl<T: Target> Sealed for FrameSink<T> {}

impl<T: Target> Drive for FrameSink<T> {
    type Summary = Summary;

    fn poll_drive(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        self.poll_drive_chunks(cx)
    }

    fn poll_write_bytes(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<Result<(), WriteError>> {
        self.poll_write_bytes(cx, bytes)
    }

    fn poll_finish_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Summary, WriteError>> {
        self.poll_finish(cx)
    }

    fn poll_close_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Summary, WriteError>> {
        self.poll_close_frame(cx)
    }

    fn poll_abort_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        self.poll_abort(cx)
    }

    fn is_settled(&self) -> bool {
        self.is_final_or_aborted()
    }
}
