//! Readers and writers of `futures` with the traits of Tokio.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::tokio::io::ReadBuf;

/// Gives a reader or writer of `futures` the traits of Tokio: a [`FrameSink`](crate::FrameSink), the bytes of a
/// [`FrameReader`](crate::FrameReader). Shutting it down closes it.
#[derive(Debug)]
pub struct ToTokio<T> {
    inner: T,
    /// Tokio seeks in two steps; between them, the position.
    seeking: Option<SeekFrom>,
}

impl<T> ToTokio<T> {
    /// Wraps `inner`.
    pub fn new(inner: T) -> Self {
        Self { inner, seeking: None }
    }

    /// The wrapped reader or writer.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// The wrapped reader or writer.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// The wrapped reader or writer.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: futures::io::AsyncRead + Unpin> ::tokio::io::AsyncRead for ToTokio<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let n = ready!(Pin::new(&mut self.inner).poll_read(cx, buf.initialize_unfilled()))?;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<T: futures::io::AsyncWrite + Unpin> ::tokio::io::AsyncWrite for ToTokio<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_close(cx)
    }
}

impl<T: futures::io::AsyncSeek + Unpin> ::tokio::io::AsyncSeek for ToTokio<T> {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        self.seeking = Some(to);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let to = self.seeking.unwrap_or(SeekFrom::Current(0));
        let result = ready!(Pin::new(&mut self.inner).poll_seek(cx, to));
        self.seeking = None;
        Poll::Ready(result)
    }
}
