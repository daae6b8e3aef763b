//! Encoding streams while they are written.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_compression::futures::write::{BrotliEncoder, GzipEncoder, Lz4Encoder, ZstdEncoder};
use futures::io::AsyncWrite;

use super::Encoding;
use super::outbox::Outbox;

/// The most bytes encoded by one call, on the polling thread.
const MOST: usize = 32 << 10;

/// Encodes what is written and passes it on; see [`encode`]. It must be closed, which writes the last bytes.
///
/// After an error of the writer it remains usable: the call may be repeated with the same bytes, and continues where it
/// stopped.
pub struct Encoder<W> {
    inner: Inner<Outbox<W>>,
    /// Whether everything taken so far has left the encoder, if not the outbox.
    flushed: bool,
}

enum Inner<W> {
    Gzip(Box<GzipEncoder<W>>),
    Zstd(Box<ZstdEncoder<W>>),
    Brotli(Box<BrotliEncoder<W>>),
    Lz4(Box<Lz4Encoder<W>>),
}

/// Encodes what is written on its way to `writer`, at the usual level of the encoding.
pub fn encode<W: AsyncWrite + Unpin>(writer: W, encoding: Encoding) -> Encoder<W> {
    let writer = Outbox::new(writer);
    let inner = match encoding {
        Encoding::Gzip => Inner::Gzip(Box::new(GzipEncoder::new(writer))),
        Encoding::Zstd => Inner::Zstd(Box::new(ZstdEncoder::new(writer))),
        Encoding::Brotli => {
            // The default level of its own tools takes minutes for what others do in seconds.
            let level = async_compression::Level::Precise(BROTLI_LEVEL);
            Inner::Brotli(Box::new(BrotliEncoder::with_quality(writer, level)))
        }
        Encoding::Lz4 => Inner::Lz4(Box::new(Lz4Encoder::new(writer))),
    };
    Encoder { inner, flushed: true }
}

/// About as fast as gzip at its default level, and smaller.
const BROTLI_LEVEL: i32 = 5;

impl<W> Encoder<W> {
    /// The writer; once the encoder is closed it has received everything.
    pub fn into_inner(self) -> W {
        let outbox = match self.inner {
            Inner::Gzip(encoder) => encoder.into_inner(),
            Inner::Zstd(encoder) => encoder.into_inner(),
            Inner::Brotli(encoder) => encoder.into_inner(),
            Inner::Lz4(encoder) => encoder.into_inner(),
        };
        outbox.into_inner()
    }
}

macro_rules! forward {
    ($self:ident, $encoder:ident => $call:expr) => {
        match &mut $self.inner {
            Inner::Gzip($encoder) => $call,
            Inner::Zstd($encoder) => $call,
            Inner::Brotli($encoder) => $call,
            Inner::Lz4($encoder) => $call,
        }
    };
}

impl<W: AsyncWrite + Unpin> Encoder<W> {
    fn outbox(&mut self) -> &mut Outbox<W> {
        forward!(self, encoder => encoder.get_mut())
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Encoder<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        // Everything that can fail or wait comes before the first byte is taken.
        ready!(self.outbox().poll_drain(cx))?;
        self.flushed = false;
        let piece = &buf[..buf.len().min(MOST)];
        forward!(self, encoder => Pin::new(encoder).poll_write(cx, piece))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.flushed {
            // Only once: each flush of the encoder emits something, which would call for another one.
            ready!(forward!(self, encoder => Pin::new(encoder).poll_flush(cx)))?;
            self.flushed = true;
        }
        ready!(self.outbox().poll_drain(cx))?;
        self.outbox().writer().poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(forward!(self, encoder => Pin::new(encoder).poll_close(cx)))?;
        ready!(self.outbox().poll_drain(cx))?;
        self.outbox().writer().poll_close(cx)
    }
}

impl<W> fmt::Debug for Encoder<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encoder")
    }
}
