//! Refusing Brotli streams that need more memory than the standard allows.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::io::{AsyncBufRead, AsyncRead};

/// "The value 0010001 is reserved" as the first bits of a stream (RFC 7932, section 9.1). Decoders take it for the
/// large windows of an extension, with which a few bytes can demand a gigabyte; standard windows have at most 16 MiB.
const LARGE_WINDOW: u8 = 0b001_0001;

/// The bits that [`LARGE_WINDOW`] is compared with.
const LARGE_WINDOW_MASK: u8 = 0b111_1111;

/// Passes a stream on, unless it begins with [`LARGE_WINDOW`], which is an error.
pub(super) struct StandardWindow<R> {
    reader: R,
    /// Whether the first byte has been checked.
    checked: bool,
}

impl<R> StandardWindow<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, checked: false }
    }
}

impl<R: AsyncBufRead + Unpin> AsyncBufRead for StandardWindow<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let Self { reader, checked } = self.get_mut();
        let bytes = ready!(Pin::new(reader).poll_fill_buf(cx))?;
        if let (false, Some(first)) = (*checked, bytes.first()) {
            if first & LARGE_WINDOW_MASK == LARGE_WINDOW {
                let message = "a Brotli stream with a window size that RFC 7932 does not allow";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, message)));
            }
            *checked = true;
        }
        Poll::Ready(Ok(bytes))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        Pin::new(&mut self.reader).consume(amount);
    }
}

impl<R: AsyncBufRead + Unpin> AsyncRead for StandardWindow<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let bytes = ready!(self.as_mut().poll_fill_buf(cx))?;
        let len = bytes.len().min(buf.len());
        buf[..len].copy_from_slice(&bytes[..len]);
        self.consume(len);
        Poll::Ready(Ok(len))
    }
}
