//! Writing frames without async.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::pin::Pin;

use bytes::Bytes;
use futures::Sink;
use futures::io::{AllowStdIo, AsyncWrite};

use crate::compute::block_on;
use crate::disk::IoMode;
use crate::error::WriteError;
use crate::sink::{FrameSink, Summary, WriteOptions};
use crate::target::{FileTarget, MemoryTarget, SeekTarget, SpoolTarget, Target};

/// A [`FrameWriter`] into something that can seek.
pub type SeekWriter<W> = FrameWriter<SeekTarget<AllowStdIo<W>>>;

/// A [`FrameWriter`] into something that cannot seek.
pub type SpoolWriter<W> = FrameWriter<SpoolTarget<AllowStdIo<W>>>;

/// Takes decoded bytes through [`std::io::Write`] and writes a frame. The twin of [`FrameSink`], whose promises hold
/// here too.
///
/// Dropped before [`finish`](FrameWriter::finish), it leaves the frame unfinished.
///
/// ```
/// use std::io::Write;
/// use oxiblosc_streaming::{WriteOptions, blocking};
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("sevens.b2frame");
/// let mut writer = blocking::FrameWriter::create(&path, WriteOptions::default())?;
/// writer.write_all(&[7; 100_000])?;
/// assert!(!path.exists(), "the file has its name only when it is complete");
/// let summary = writer.finish()?;
/// assert_eq!(std::fs::metadata(&path)?.len(), summary.frame_len);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FrameWriter<T> {
    sink: FrameSink<T>,
}

impl FrameWriter<FileTarget> {
    /// Writes to a file that appears under its name when the frame is finished; see [`FileTarget::create`].
    ///
    /// # Errors
    /// When no file can be made there, and as [`WriteOptions::sink`].
    pub fn create(path: impl AsRef<Path>, options: WriteOptions) -> Result<Self, WriteError> {
        Self::with_target(FileTarget::create(path)?.io_mode(IoMode::Inline), options)
    }
}

impl<W: Write + Seek> SeekWriter<W> {
    /// Writes at the current position of `writer` and patches the header at the end; see [`SeekTarget`].
    ///
    /// # Errors
    /// As [`WriteOptions::sink`].
    pub fn new(writer: W, options: WriteOptions) -> Result<Self, WriteError> {
        Self::with_target(SeekTarget::new(AllowStdIo::new(writer)), options)
    }

    /// The writer, positioned after the frame if that is finished.
    pub fn into_inner(self) -> W {
        self.into_target().into_inner().into_inner()
    }
}

impl<W: Write> SpoolWriter<W> {
    /// Keeps the frame until it is finished, then writes it out; see [`SpoolTarget`].
    ///
    /// # Errors
    /// As [`WriteOptions::sink`].
    pub fn spooled(writer: W, options: WriteOptions) -> Result<Self, WriteError> {
        Self::with_target(SpoolTarget::new(AllowStdIo::new(writer)).io_mode(IoMode::Inline), options)
    }

    /// The writer, which has the whole frame if that is finished.
    pub fn into_inner(self) -> W {
        self.into_target().into_inner().into_inner()
    }
}

impl FrameWriter<MemoryTarget> {
    /// Writes to memory.
    ///
    /// # Errors
    /// As [`WriteOptions::sink`].
    pub fn in_memory(options: WriteOptions) -> Result<Self, WriteError> {
        Self::with_target(MemoryTarget::new().inline(), options)
    }

    /// The bytes; a frame if it is finished.
    pub fn into_bytes(self) -> Vec<u8> {
        self.into_target().into_bytes()
    }
}

impl<T: Target> FrameWriter<T> {
    /// Writes to any target.
    ///
    /// # Errors
    /// As [`WriteOptions::sink`].
    pub fn with_target(target: T, options: WriteOptions) -> Result<Self, WriteError> {
        Ok(Self { sink: options.sink(target)? })
    }

    /// Takes a buffer of any size. Chunks that are complete within it are not copied, nor are blocks of other chunks that are
    /// complete within a buffer of 64 KiB or more.
    ///
    /// # Errors
    /// As [`FrameSink`]. After a retryable error nothing has been taken.
    pub fn push(&mut self, bytes: Bytes) -> Result<(), WriteError> {
        block_on(poll_fn(|cx| Pin::new(&mut self.sink).poll_ready(cx)))?;
        Pin::new(&mut self.sink).start_send(bytes)
    }

    /// Makes the frame final and closes the target; see [`FrameSink::close`].
    ///
    /// # Errors
    /// May be called again; see [`FrameSink`].
    pub fn finish(&mut self) -> Result<Summary, WriteError> {
        block_on(self.sink.close())
    }

    /// The underlying sink, for its other methods.
    pub fn sink(&mut self) -> &mut FrameSink<T> {
        &mut self.sink
    }

    /// The target; finished if the frame is.
    pub fn into_target(self) -> T {
        self.sink.into_target()
    }
}

impl<T: Target> Write for FrameWriter<T> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        block_on(poll_fn(|cx| Pin::new(&mut self.sink).poll_write(cx, buf)))
    }

    /// Passes on every whole chunk; see [`FrameSink::flush`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(block_on(self.sink.flush())?)
    }
}

impl<T> fmt::Debug for FrameWriter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameWriter").field("sink", &self.sink).finish()
    }
}
