//! Arrays without async.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::pin::Pin;

use bytes::Bytes;
use futures::io::{AllowStdIo, AsyncWrite};
use futures::stream::StreamExt;
use oxiblosc_core::nd::{ArrayMeta, Selection, Tiling};

use super::FrameReader;
use crate::compute::block_on;
use crate::disk::IoMode;
use crate::nd::{self, ArrayError, ArrayOptions, ArraySummary, NdBuffer, NdSink};
use crate::source::{FileSource, RangeSource, SeekSource};
use crate::target::{FileTarget, MemoryTarget, SeekTarget, SpoolTarget, Target};

/// Reads an array; the twin of [`nd::NdArray`].
///
/// Clones share what is open; all methods take `&self` and may be called from several threads at the same time.
///
/// ```
/// use std::io::Write;
/// use oxiblosc_streaming::blocking::{NdArray, NdWriter};
/// use oxiblosc_streaming::nd::ArrayOptions;
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("table.b2nd");
/// let mut writer = NdWriter::create(&path, ArrayOptions::new([100, 3], "<f8"))?;
/// for i in 0..300 {
///     writer.write_all(&f64::from(i).to_le_bytes())?;
/// }
/// writer.finish()?;
///
/// let array = NdArray::open(&path)?;
/// assert_eq!((array.shape(), array.dtype()), (&[100, 3][..], Some("<f8")));
/// assert_eq!(array.item(&[2, 1])?, &7f64.to_le_bytes()[..]);
/// assert_eq!(array.read(&"10:, [0, 2]".parse()?)?.shape(), [90, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NdArray<S> {
    inner: nd::NdArray<S>,
}

impl NdArray<FileSource> {
    /// Opens the array in a file, or in the directory of a sparse frame.
    ///
    /// # Errors
    /// As [`FrameReader::open`] and [`NdArray::from_frame`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ArrayError> {
        Self::from_frame(&FrameReader::open(path)?)
    }
}

impl<R: Read + Seek + Send + 'static> NdArray<SeekSource<R>> {
    /// Opens the array at the beginning of what `reader` reads.
    ///
    /// # Errors
    /// As [`open`](NdArray::open).
    pub fn new(reader: R) -> Result<Self, ArrayError> {
        Self::from_frame(&FrameReader::new(reader)?)
    }
}

impl NdArray<Bytes> {
    /// Opens an array in memory.
    ///
    /// # Errors
    /// As [`open`](NdArray::open).
    pub fn from_bytes(frame: impl Into<Bytes>) -> Result<Self, ArrayError> {
        Self::from_frame(&FrameReader::from_bytes(frame)?)
    }
}

impl<S: RangeSource + 'static> NdArray<S> {
    /// Opens the array again in the same place, to see what others have committed since. Returns whether it has
    /// changed.
    ///
    /// # Errors
    /// As [`nd::NdArray::refresh`].
    pub fn refresh(&mut self) -> Result<bool, ArrayError> {
        block_on(self.inner.refresh())
    }

    /// The selected items.
    ///
    /// # Errors
    /// As [`nd::NdArray::read`].
    pub fn read(&self, selection: &Selection) -> Result<NdBuffer, ArrayError> {
        block_on(self.inner.read(selection))
    }

    /// How many items a selection has along each axis of its result.
    ///
    /// # Errors
    /// As [`nd::NdArray::selected_shape`].
    pub fn selected_shape(&self, selection: &Selection) -> Result<Vec<u64>, ArrayError> {
        self.inner.selected_shape(selection)
    }

    /// Reads the selected items into `out`, whose length must be theirs in bytes.
    ///
    /// # Errors
    /// As [`nd::NdArray::read_into`].
    pub fn read_into(&self, selection: &Selection, out: &mut [u8]) -> Result<(), ArrayError> {
        block_on(self.inner.read_into(selection, out))
    }

    /// The bytes of one item; negative indices count from the end.
    ///
    /// # Errors
    /// As [`nd::NdArray::item`].
    pub fn item(&self, index: &[i64]) -> Result<Bytes, ArrayError> {
        block_on(self.inner.item(index))
    }

    /// The selected items in C order, in pieces of any length, for selections larger than memory.
    ///
    /// # Errors
    /// As [`nd::NdArray::stream`].
    pub fn pieces(
        &self,
        selection: &Selection,
    ) -> Result<impl Iterator<Item = Result<Bytes, ArrayError>> + use<S>, ArrayError> {
        let mut pieces = self.inner.stream(selection)?;
        Ok(std::iter::from_fn(move || block_on(pieces.next())))
    }
}

impl<S> NdArray<S> {
    /// The array in an open frame.
    ///
    /// # Errors
    /// As [`nd::NdArray::new`].
    pub fn from_frame(reader: &FrameReader<S>) -> Result<Self, ArrayError> {
        Ok(Self { inner: nd::NdArray::new(reader.as_async().clone())? })
    }

    /// The asynchronous array underneath.
    pub fn as_async(&self) -> &nd::NdArray<S> {
        &self.inner
    }

    /// Length along each dimension.
    pub fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    /// The type of the items; see [`nd::NdArray::dtype`].
    pub fn dtype(&self) -> Option<&str> {
        self.inner.dtype()
    }

    /// Bytes of an item.
    pub fn item_size(&self) -> usize {
        self.inner.item_size()
    }

    /// The metalayer.
    pub fn meta(&self) -> &ArrayMeta {
        self.inner.meta()
    }

    /// Where every item is stored.
    pub fn tiling(&self) -> &Tiling {
        self.inner.tiling()
    }
}

impl<S> Clone for NdArray<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<S> fmt::Debug for NdArray<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NdArray").field("inner", &self.inner).finish()
    }
}

/// Writes an array; the twin of [`NdSink`]. Items are written in C order, with [`Write`] or [`push`](NdWriter::push).
pub struct NdWriter<T> {
    sink: NdSink<T>,
}

impl NdWriter<FileTarget> {
    /// Writes to a file that appears under its name when the array is finished; see [`FileTarget::create`].
    ///
    /// # Errors
    /// When no file can be made there, and as [`ArrayOptions::sink`].
    pub fn create(path: impl AsRef<Path>, options: ArrayOptions) -> Result<Self, ArrayError> {
        let target = FileTarget::create(path).map_err(crate::WriteError::from)?;
        Self::with_target(target.io_mode(IoMode::Inline), options)
    }
}

impl<W: Write + Seek> NdWriter<SeekTarget<AllowStdIo<W>>> {
    /// Writes at the current position of `writer` and patches the header at the end; see [`SeekTarget`].
    ///
    /// # Errors
    /// As [`ArrayOptions::sink`].
    pub fn new(writer: W, options: ArrayOptions) -> Result<Self, ArrayError> {
        Self::with_target(SeekTarget::new(AllowStdIo::new(writer)), options)
    }
}

impl<W: Write> NdWriter<SpoolTarget<AllowStdIo<W>>> {
    /// Keeps the frame until it is finished, then writes it out; see [`SpoolTarget`].
    ///
    /// # Errors
    /// As [`ArrayOptions::sink`].
    pub fn spooled(writer: W, options: ArrayOptions) -> Result<Self, ArrayError> {
        Self::with_target(SpoolTarget::new(AllowStdIo::new(writer)).io_mode(IoMode::Inline), options)
    }
}

impl NdWriter<MemoryTarget> {
    /// Writes to memory.
    ///
    /// # Errors
    /// As [`ArrayOptions::sink`].
    pub fn in_memory(options: ArrayOptions) -> Result<Self, ArrayError> {
        Self::with_target(MemoryTarget::new().inline(), options)
    }

    /// The bytes; a frame if it is finished.
    pub fn into_bytes(self) -> Vec<u8> {
        self.into_target().into_bytes()
    }
}

impl<T: Target> NdWriter<T> {
    /// Writes to any target.
    ///
    /// # Errors
    /// As [`ArrayOptions::sink`].
    pub fn with_target(target: T, options: ArrayOptions) -> Result<Self, ArrayError> {
        Ok(Self { sink: options.sink(target)? })
    }

    /// Takes the bytes of any number of items. Slabs that are complete within them are not copied.
    ///
    /// # Errors
    /// As [`NdSink::push`]. After a retryable error nothing has been taken.
    pub fn push(&mut self, items: Bytes) -> Result<(), ArrayError> {
        block_on(self.sink.push(items))
    }

    /// Makes the array final and closes the target.
    ///
    /// # Errors
    /// As [`NdSink::close`]; may be called again.
    pub fn finish(&mut self) -> Result<ArraySummary, ArrayError> {
        block_on(self.sink.close())
    }

    /// The underlying sink, for its other methods.
    pub fn sink(&mut self) -> &mut NdSink<T> {
        &mut self.sink
    }

    /// The target; finished if the array is.
    pub fn into_target(self) -> T {
        self.sink.into_target()
    }
}

impl<T: Target> Write for NdWriter<T> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        block_on(poll_fn(|cx| Pin::new(&mut self.sink).poll_write(cx, buf)))
    }

    /// Passes on every whole slab; see [`NdSink::flush`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(block_on(self.sink.flush())?)
    }
}

impl<T> fmt::Debug for NdWriter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NdWriter").field("sink", &self.sink).finish()
    }
}
