//! Decoding streams while they are read.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_compression::futures::bufread::{BrotliDecoder, GzipDecoder, Lz4Decoder, ZstdDecoder};
use futures::AsyncReadExt;
use futures::io::{AsyncRead, BufReader, Chain, Cursor};

use super::Encoding;
use super::window::StandardWindow;

/// The bytes read to detect the encoding, and the rest of the stream.
type PeekedReader<R> = Chain<Cursor<Vec<u8>>, BufReader<R>>;

/// A stream of bytes decoded as it is read; see [`decode`] and [`decode_as`].
///
/// Files of several concatenated members or frames are read to the end, as their own tools do.
pub struct Decoder<R> {
    inner: Inner<PeekedReader<R>>,
}

enum Inner<R> {
    Plain(R),
    Gzip(Box<GzipDecoder<R>>),
    Zstd(Box<ZstdDecoder<R>>),
    Brotli(Box<BrotliDecoder<StandardWindow<R>>>),
    Lz4(Box<Lz4Decoder<R>>),
}

/// Decodes `reader` if its first bytes are those of gzip, Zstandard or LZ4, and otherwise passes it on unchanged.
///
/// # Errors
/// When `reader` fails.
pub async fn decode<R: AsyncRead + Unpin>(mut reader: R) -> io::Result<Decoder<R>> {
    let mut head = vec![0; Encoding::MAGIC_LEN];
    let mut len = 0;
    while len < head.len() {
        match reader.read(&mut head[len..]).await {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    head.truncate(len);
    let encoding = Encoding::detect(&head);
    Ok(Decoder::new(head, reader, encoding))
}

/// Decodes `reader` with the given encoding; `None` passes it on unchanged.
pub fn decode_as<R: AsyncRead + Unpin>(reader: R, encoding: Option<Encoding>) -> Decoder<R> {
    Decoder::new(Vec::new(), reader, encoding)
}

impl<R: AsyncRead + Unpin> Decoder<R> {
    fn new(head: Vec<u8>, reader: R, encoding: Option<Encoding>) -> Self {
        let whole = Cursor::new(head).chain(BufReader::with_capacity(64 << 10, reader));
        let inner = match encoding {
            None => Inner::Plain(whole),
            Some(Encoding::Gzip) => {
                let mut decoder = GzipDecoder::new(whole);
                decoder.multiple_members(true);
                Inner::Gzip(Box::new(decoder))
            }
            Some(Encoding::Zstd) => {
                let mut decoder = ZstdDecoder::new(whole);
                decoder.multiple_members(true);
                Inner::Zstd(Box::new(decoder))
            }
            Some(Encoding::Brotli) => Inner::Brotli(Box::new(BrotliDecoder::new(StandardWindow::new(whole)))),
            Some(Encoding::Lz4) => {
                let mut decoder = Lz4Decoder::new(whole);
                decoder.multiple_members(true);
                Inner::Lz4(Box::new(decoder))
            }
        };
        Self { inner }
    }

    /// The encoding of the stream; `None` if it is passed on unchanged.
    pub fn encoding(&self) -> Option<Encoding> {
        match self.inner {
            Inner::Plain(_) => None,
            Inner::Gzip(_) => Some(Encoding::Gzip),
            Inner::Zstd(_) => Some(Encoding::Zstd),
            Inner::Brotli(_) => Some(Encoding::Brotli),
            Inner::Lz4(_) => Some(Encoding::Lz4),
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Decoder<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            Inner::Plain(reader) => Pin::new(reader).poll_read(cx, buf),
            Inner::Gzip(reader) => Pin::new(reader).poll_read(cx, buf),
            Inner::Zstd(reader) => Pin::new(reader).poll_read(cx, buf),
            Inner::Brotli(reader) => Pin::new(reader).poll_read(cx, buf),
            Inner::Lz4(reader) => Pin::new(reader).poll_read(cx, buf),
        }
    }
}

impl<R> fmt::Debug for Decoder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoder")
    }
}
