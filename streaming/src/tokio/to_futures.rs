//! Tokio readers and writers with the traits of `futures`.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::tokio::io::ReadBuf;

/// Gives a reader or writer of Tokio the traits of `futures`.
#[derive(Debug)]
pub struct ToFutures<T> {
    inner: T,
    /// Tokio seeks in two steps; between them, the position.
    seeking: Option<SeekFrom>,
}

impl<T> ToFutures<T> {
    /// Wraps `inner`.
    pub fn new(inner: T) -> Self {
        Self { inner, seeking: None }
    }

    /// The wrapped reader or writer.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// The wrapped reader or writer.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: ::tokio::io::AsyncRead + Unpin> futures::io::AsyncRead for ToFutures<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(buf);
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buf))?;
        Poll::Ready(Ok(buf.filled().len()))
    }
}

impl<T: ::tokio::io::AsyncWrite + Unpin> futures::io::AsyncWrite for ToFutures<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<T: ::tokio::io::AsyncSeek + Unpin> futures::io::AsyncSeek for ToFutures<T> {
    fn poll_seek(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        if self.seeking != Some(to) {
            // Another operation may be in progress, which must complete before a seek may start.
            ready!(Pin::new(&mut self.inner).poll_complete(cx))?;
            self.seeking = None;
            Pin::new(&mut self.inner).start_seek(to)?;
            self.seeking = Some(to);
        }
        let result = ready!(Pin::new(&mut self.inner).poll_complete(cx));
        self.seeking = None;
        Poll::Ready(result)
    }
}
