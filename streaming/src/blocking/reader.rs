//! Reading frames without async.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use futures::io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt};
use futures::stream::StreamExt;
use oxiblosc_core::frame::{Frame, FrameHeader, Metalayers};
use oxiblosc_core::plugin::PluginId;
use oxiblosc_core::registry::MissingPlugin;

use crate::compute::block_on;
use crate::error::ReadError;
use crate::integrity::VerifyReport;
use crate::reader::{self, ByteStream, ChunkStream, OpenEnd, ReadOptions};
use crate::source::{FileSource, RangeSource, SeekSource};

/// Reads a frame: single chunks, ranges of items or bytes, or everything in order. The twin of
/// [`FrameReader`](crate::FrameReader).
///
/// Clones share what is open; all methods take `&self` and may be called from several threads at the same time.
///
/// ```
/// use std::io::{Read, Seek, SeekFrom, Write};
/// use oxiblosc_streaming::{WriteOptions, blocking};
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("text.b2frame");
/// let mut writer = blocking::FrameWriter::create(&path, WriteOptions::default())?;
/// writer.write_all(b"some text, and some more")?;
/// writer.finish()?;
///
/// let reader = blocking::FrameReader::open(&path)?;
/// assert_eq!(reader.nbytes(), 24);
/// assert_eq!(reader.bytes(5..9)?, "text");
///
/// let mut bytes = reader.into_read();
/// let mut rest = String::new();
/// bytes.seek(SeekFrom::Start(15))?;
/// bytes.read_to_string(&mut rest)?;
/// assert_eq!(rest, "some more");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FrameReader<S> {
    inner: reader::FrameReader<S>,
}

impl FrameReader<FileSource> {
    /// Opens the frame in a file, with the default [`ReadOptions`].
    ///
    /// # Errors
    /// When the file cannot be read, is not a frame, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::with_options(FileSource::open_inline(path)?, ReadOptions::new())
    }
}

impl<R: Read + Seek + Send + 'static> FrameReader<SeekSource<R>> {
    /// Opens the frame at the beginning of what `reader` reads, with the default [`ReadOptions`].
    ///
    /// # Errors
    /// As [`open`](FrameReader::open).
    pub fn new(reader: R) -> Result<Self, ReadError> {
        Self::with_options(SeekSource::new(reader), ReadOptions::new())
    }
}

impl FrameReader<Bytes> {
    /// Opens a frame in memory, with the default [`ReadOptions`].
    ///
    /// # Errors
    /// When the bytes are not a frame, or the frame is damaged.
    pub fn from_bytes(frame: impl Into<Bytes>) -> Result<Self, ReadError> {
        Self::with_options(frame.into(), ReadOptions::new())
    }
}

impl<S: RangeSource + 'static> FrameReader<S> {
    /// Opens the frame in any source.
    ///
    /// # Errors
    /// As [`open`](FrameReader::open).
    pub fn with_options(source: S, options: ReadOptions) -> Result<Self, ReadError> {
        Ok(block_on(options.open(source))?.into())
    }

    /// The decoded bytes of chunk `i`.
    ///
    /// # Errors
    /// As [`FrameReader::chunk`](crate::FrameReader::chunk).
    pub fn chunk(&self, i: u64) -> Result<Bytes, ReadError> {
        block_on(self.as_async().chunk(i))
    }

    /// The encoded bytes of chunk `i`.
    ///
    /// # Errors
    /// As [`FrameReader::encoded_chunk`](crate::FrameReader::encoded_chunk).
    pub fn encoded_chunk(&self, i: u64) -> Result<Bytes, ReadError> {
        block_on(self.as_async().encoded_chunk(i))
    }

    /// The decoded bytes `range`. Only the blocks that hold them are read.
    ///
    /// # Errors
    /// As [`FrameReader::bytes`](crate::FrameReader::bytes).
    pub fn bytes(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        block_on(self.as_async().bytes(range))
    }

    /// The items `range`. Only the blocks that hold them are read.
    ///
    /// # Errors
    /// As [`FrameReader::items`](crate::FrameReader::items).
    pub fn items(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        block_on(self.as_async().items(range))
    }

    /// Opens the frame again in the same place, to see what others have committed since. Returns whether it has
    /// changed.
    ///
    /// # Errors
    /// As [`FrameReader::refresh`](crate::FrameReader::refresh).
    pub fn refresh(&mut self) -> Result<bool, ReadError> {
        block_on(self.inner.refresh())
    }

    /// Reads the whole frame and compares it with its checksums, totals and fingerprint.
    ///
    /// # Errors
    /// As [`FrameReader::verify`](crate::FrameReader::verify).
    pub fn verify(&self) -> Result<VerifyReport, ReadError> {
        block_on(self.as_async().verify())
    }

    /// All decoded chunks in order, fetched and decoded ahead.
    pub fn chunks(&self) -> Chunks<S> {
        Chunks { stream: self.as_async().chunks() }
    }

    /// The decoded chunks `range` in order, fetched and decoded ahead.
    ///
    /// # Errors
    /// [`ReadError::OutOfRange`] when the frame does not have them all.
    pub fn chunks_in(&self, range: Range<u64>) -> Result<Chunks<S>, ReadError> {
        Ok(Chunks { stream: self.as_async().chunks_in(range)? })
    }

    /// The content of a variable-length metalayer of the trailer, decoded; `None` when there is none of that name.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn vlmetalayer(&self, name: &str) -> Result<Option<Bytes>, ReadError> {
        block_on(self.as_async().vlmetalayer(name))
    }

    /// The filters and codecs that chunks name in their headers; the twin of [`reader::FrameReader::chunk_plugins`].
    ///
    /// # Errors
    /// As that.
    pub fn chunk_plugins(&self, chunks: Range<u64>) -> Result<BTreeSet<PluginId>, ReadError> {
        block_on(self.as_async().chunk_plugins(chunks))
    }

    /// The chunk that holds the decoded byte `at`, and which byte of the chunk that is; `None` after the last one.
    ///
    /// # Errors
    /// When chunks differ in size, their headers must be read first, once.
    pub fn locate(&self, at: u64) -> Result<Option<(u64, usize)>, ReadError> {
        block_on(self.as_async().locate(at))
    }

    /// All decoded bytes as [`Read`], [`BufRead`] and [`Seek`].
    pub fn into_read(self) -> ByteReader<S> {
        ByteReader { bytes: self.inner.into_async_read() }
    }
}

impl<S> FrameReader<S> {
    /// The asynchronous reader underneath.
    pub fn as_async(&self) -> &reader::FrameReader<S> {
        &self.inner
    }

    /// Everything about the frame but its chunks.
    pub fn frame(&self) -> &Frame {
        self.inner.frame()
    }

    /// The fixed part of the header: sizes, codec, filters.
    pub fn header(&self) -> &FrameHeader {
        self.inner.header()
    }

    /// How far an open-ended frame has been written; `None` for frames with totals.
    pub fn open_end(&self) -> Option<OpenEnd> {
        self.inner.open_end()
    }

    /// Decoded bytes.
    pub fn nbytes(&self) -> u64 {
        self.inner.nbytes()
    }

    /// Bytes of the chunks as stored.
    pub fn cbytes(&self) -> u64 {
        self.inner.cbytes()
    }

    /// Number of chunks.
    pub fn nchunks(&self) -> u64 {
        self.inner.nchunks()
    }

    /// Bytes of an item, at least 1.
    pub fn typesize(&self) -> usize {
        self.inner.typesize()
    }

    /// Number of whole items.
    pub fn items_len(&self) -> u64 {
        self.inner.items_len()
    }

    /// Decoded bytes of every chunk but the last; `None` when chunks differ in size, or there are none.
    pub fn chunk_size(&self) -> Option<usize> {
        self.inner.chunk_size()
    }

    /// The metalayers of the header.
    pub fn metalayers(&self) -> &Metalayers {
        self.inner.metalayers()
    }

    /// The metalayer of the header called `name`.
    pub fn metalayer(&self, name: &str) -> Option<&Bytes> {
        self.inner.metalayer(name)
    }

    /// The filters and codec that the header of the frame names; see [`reader::FrameReader::plugins`].
    pub fn plugins(&self) -> Vec<PluginId> {
        self.inner.plugins()
    }

    /// Those of them that the registry of this reader does not have.
    pub fn missing_plugins(&self) -> Vec<MissingPlugin> {
        self.inner.missing_plugins()
    }

    /// Names of the variable-length metalayers of the trailer.
    pub fn vlmetalayer_names(&self) -> Vec<String> {
        self.inner.vlmetalayer_names()
    }

    /// The source.
    pub fn source(&self) -> &S {
        self.inner.source()
    }
}

impl<S> From<reader::FrameReader<S>> for FrameReader<S> {
    fn from(inner: reader::FrameReader<S>) -> Self {
        Self { inner }
    }
}

impl<S> Clone for FrameReader<S> {
    fn clone(&self) -> Self {
        self.inner.clone().into()
    }
}

impl<S> fmt::Debug for FrameReader<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameReader").field("inner", &self.inner).finish()
    }
}

/// The decoded bytes of a frame as [`Read`], [`BufRead`] and [`Seek`]; the twin of [`ByteStream`].
pub struct ByteReader<S> {
    bytes: ByteStream<S>,
}

impl<S> ByteReader<S> {
    /// Position of the next byte.
    pub fn position(&self) -> u64 {
        self.bytes.position()
    }
}

impl<S: RangeSource + 'static> Read for ByteReader<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        block_on(self.bytes.read(buf))
    }
}

impl<S: RangeSource + 'static> BufRead for ByteReader<S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        block_on(self.bytes.fill_buf())
    }

    fn consume(&mut self, amount: usize) {
        self.bytes.consume_unpin(amount);
    }
}

/// Positions past the end are allowed; reads there return nothing.
impl<S: RangeSource + 'static> Seek for ByteReader<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        block_on(self.bytes.seek(to))
    }
}

impl<S> fmt::Debug for ByteReader<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteReader").field("bytes", &self.bytes).finish()
    }
}

/// The decoded chunks of a frame in order; see [`ChunkStream`].
#[derive(Debug)]
pub struct Chunks<S> {
    stream: ChunkStream<S>,
}

impl<S: RangeSource + 'static> Iterator for Chunks<S> {
    type Item = Result<Bytes, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        block_on(self.stream.next())
    }
}
