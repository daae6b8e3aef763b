//! Reading frames front to back, without async.

use std::io::{self, BufRead, Read};

use bytes::{Buf, Bytes};
use futures::io::AllowStdIo;
use futures::stream::StreamExt;
use oxiblosc_core::frame::{Frame, FrameHeader, Metalayers};

use crate::compute::block_on;
use crate::error::ReadError;
use crate::reader::{self, OpenEnd, ReadOptions};

/// The decoded chunks of a frame that arrives front to back, as an iterator; the twin of
/// [`FrameStream`](crate::FrameStream).
///
/// Chunks are read ahead, and reading blocks: from a pipe that another program writes to now and then, a chunk is
/// returned as soon as it has arrived only with [`ReadOptions::chunks_ahead`] of 1.
///
/// ```
/// use std::io::{Read, Write};
/// use oxiblosc_streaming::{WriteOptions, blocking};
/// # use oxiblosc_plugins as _;
///
/// # let options = WriteOptions::default().sequential(true);
/// let mut writer = blocking::FrameWriter::in_memory(options)?;
/// writer.write_all(b"down the pipe")?;
/// writer.finish()?;
/// let pipe = std::io::Cursor::new(writer.into_bytes());
///
/// let mut text = String::new();
/// blocking::FrameStream::open(pipe)?.into_read().read_to_string(&mut text)?;
/// assert_eq!(text, "down the pipe");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FrameStream {
    inner: reader::FrameStream,
}

impl FrameStream {
    /// Reads the header of the frame that `reader` begins with, with the default [`ReadOptions`].
    ///
    /// # Errors
    /// As [`FrameStream::open`](crate::FrameStream::open).
    pub fn open<R: Read + Send + 'static>(reader: R) -> Result<Self, ReadError> {
        Self::with_options(reader, ReadOptions::new())
    }

    /// Reads the header of the frame that `reader` begins with.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_options<R: Read + Send + 'static>(reader: R, options: ReadOptions) -> Result<Self, ReadError> {
        Ok(Self { inner: block_on(options.stream(AllowStdIo::new(reader)))? })
    }

    /// The fixed part of the header: sizes, codec, filters.
    pub fn header(&self) -> &FrameHeader {
        self.inner.header()
    }

    /// The metalayers of the header.
    pub fn metalayers(&self) -> &Metalayers {
        self.inner.metalayers()
    }

    /// Whether chunks are decoded as they arrive; otherwise the whole frame is buffered first.
    pub fn is_immediate(&self) -> bool {
        self.inner.is_immediate()
    }

    /// Everything about the frame but its chunks, once its end has been seen.
    pub fn frame(&self) -> Option<&Frame> {
        self.inner.frame()
    }

    /// How an open-ended frame ended, once its end has been seen; `None` before that, and for frames with totals.
    pub fn open_end(&self) -> Option<OpenEnd> {
        self.inner.open_end()
    }

    /// The decoded bytes as [`Read`] and [`BufRead`].
    pub fn into_read(self) -> StreamReader {
        StreamReader { chunks: self, current: Bytes::new() }
    }
}

impl Iterator for FrameStream {
    type Item = Result<Bytes, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        block_on(self.inner.next())
    }
}

/// The decoded bytes of a frame that arrives front to back, as [`Read`] and [`BufRead`].
#[derive(Debug)]
pub struct StreamReader {
    chunks: FrameStream,
    current: Bytes,
}

impl StreamReader {
    /// The stream of chunks underneath.
    pub fn stream(&self) -> &FrameStream {
        &self.chunks
    }
}

impl Read for StreamReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.fill_buf()?.read(buf)?;
        self.consume(len);
        Ok(len)
    }
}

impl BufRead for StreamReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.current.is_empty()
            && let Some(chunk) = self.chunks.next()
        {
            self.current = chunk?;
        }
        Ok(&self.current)
    }

    fn consume(&mut self, amount: usize) {
        self.current.advance(amount);
    }
}
