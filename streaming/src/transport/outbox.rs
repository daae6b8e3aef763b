//! Output of an encoder that the writer has not taken yet.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use futures::io::AsyncWrite;

/// Takes all output of an encoder, and passes it on to `writer` on request.
///
/// Encoders change state as they take bytes: one whose writer fails or has to wait in the middle has taken some of
/// them, and cannot say how many. Into this it can always write everything.
#[derive(Debug)]
pub(super) struct Outbox<W> {
    writer: W,
    bytes: BytesMut,
}

impl<W> Outbox<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer, bytes: BytesMut::new() }
    }

    pub(super) fn into_inner(self) -> W {
        self.writer
    }
}

impl<W: AsyncWrite + Unpin> Outbox<W> {
    /// Passes on everything that is here.
    pub(super) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.bytes.is_empty() {
            match ready!(Pin::new(&mut self.writer).poll_write(cx, &self.bytes))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => self.bytes.advance(n),
            }
        }
        Poll::Ready(Ok(()))
    }

    pub(super) fn writer(&mut self) -> Pin<&mut W> {
        Pin::new(&mut self.writer)
    }
}

/// The view of the encoder: it is never full, never fails, and has nothing to flush or close.
impl<W: Unpin> AsyncWrite for Outbox<W> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.bytes.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
