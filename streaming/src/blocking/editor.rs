//! Changing frames without async.

use std::fmt;
use std::io::Read;
use std::path::Path;

use bytes::Bytes;
use futures::io::AllowStdIo;
use oxiblosc_core::chunk::{EncodeParams, SpecialValue};
use oxiblosc_core::frame::Metalayers;
use oxiblosc_core::nd::Geometry;

use crate::compute::block_on;
use crate::disk::IoMode;
use crate::edit::{self, EditError, EditOptions, FrameFile};
use crate::sparse::SparsePlace;

/// Changes a frame; the twin of [`edit::FrameEditor`], whose promises hold here too.
///
/// ```
/// use oxiblosc_streaming::blocking::{FrameEditor, FrameReader, FrameWriter};
/// use oxiblosc_streaming::WriteOptions;
/// use oxiblosc_core::chunk::SpecialValue;
/// # use std::io::Write;
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("log.b2frame");
/// # let mut writer = FrameWriter::create(&path, WriteOptions::default().chunk_size(1000))?;
/// # writer.write_all(&[1; 1500])?;
/// # writer.finish()?;
/// let mut editor = FrameEditor::open(&path)?; // 1500 bytes, in chunks of 1000
/// editor.append(&[2; 1000])?;
/// editor.update_special(0, SpecialValue::Zero)?;
/// assert_eq!(editor.nbytes(), 2500);
/// assert_eq!(FrameReader::open(&path)?.nbytes(), 1500);
///
/// editor.commit()?;
/// let reader = FrameReader::open(&path)?;
/// assert_eq!(reader.nbytes(), 2500);
/// assert_eq!(reader.bytes(999..1001)?, &[0, 1][..]);
/// assert_eq!(reader.bytes(1499..1501)?, &[1, 2][..]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FrameEditor {
    inner: edit::FrameEditor,
}

impl FrameEditor {
    /// Opens a contiguous frame in a file, or a sparse one in a directory, with the default [`EditOptions`].
    ///
    /// # Errors
    /// As [`EditOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EditError> {
        Self::with_options(path, EditOptions::new())
    }

    /// Opens a contiguous frame in a file, or a sparse one in a directory.
    ///
    /// # Errors
    /// As [`EditOptions::open`].
    pub fn with_options(path: impl AsRef<Path>, options: EditOptions) -> Result<Self, EditError> {
        Ok(Self { inner: block_on(options.io_mode(IoMode::Inline).open(path))? })
    }

    /// Opens the contiguous frame in any file.
    ///
    /// # Errors
    /// As [`EditOptions::edit`].
    pub fn with_file(file: impl FrameFile + Send + 'static, options: EditOptions) -> Result<Self, EditError> {
        Ok(Self { inner: block_on(options.io_mode(IoMode::Inline).edit(file))? })
    }

    /// Opens a contiguous frame in memory, with the default [`EditOptions`]; [`frame_bytes`](Self::frame_bytes) returns
    /// it after a commit.
    ///
    /// # Errors
    /// As [`EditOptions::edit`].
    pub fn from_bytes(frame: impl Into<Vec<u8>>) -> Result<Self, EditError> {
        Self::with_file(frame.into(), EditOptions::new())
    }

    /// Opens the sparse frame at a place.
    ///
    /// # Errors
    /// As [`EditOptions::edit_sparse`].
    pub fn sparse(place: impl SparsePlace, options: EditOptions) -> Result<Self, EditError> {
        Ok(Self { inner: block_on(options.io_mode(IoMode::Inline).edit_sparse(place))? })
    }

    /// Appends decoded bytes; see [`append`](edit::FrameEditor::append).
    ///
    /// # Errors
    /// As that.
    pub fn append(&mut self, data: &[u8]) -> Result<(), EditError> {
        block_on(self.inner.append_slice(data))
    }

    /// Appends `nbytes` bytes of a special value; see [`fill`](edit::FrameEditor::fill).
    ///
    /// # Errors
    /// As that.
    pub fn fill(&mut self, value: SpecialValue<'_>, nbytes: u64) -> Result<(), EditError> {
        block_on(self.inner.fill(value, nbytes))
    }

    /// Adds `data` as one chunk at the end; see [`append_chunk`](edit::FrameEditor::append_chunk).
    ///
    /// # Errors
    /// As that.
    pub fn append_chunk(&mut self, data: &[u8]) -> Result<(), EditError> {
        block_on(self.inner.append_chunk(Bytes::copy_from_slice(data)))
    }

    /// Adds `data` as one chunk before chunk `i`, or at the end; see [`insert`](edit::FrameEditor::insert).
    ///
    /// # Errors
    /// As that.
    pub fn insert(&mut self, i: u64, data: &[u8]) -> Result<(), EditError> {
        block_on(self.inner.insert(i, Bytes::copy_from_slice(data)))
    }

    /// Adds a chunk that is already encoded; see [`insert_encoded`](edit::FrameEditor::insert_encoded).
    ///
    /// # Errors
    /// As that.
    pub fn insert_encoded(&mut self, i: u64, chunk: &[u8]) -> Result<(), EditError> {
        block_on(self.inner.insert_encoded(i, Bytes::copy_from_slice(chunk)))
    }

    /// Adds a chunk of `nbytes` bytes of a special value; see [`insert_special`](edit::FrameEditor::insert_special).
    ///
    /// # Errors
    /// As that.
    pub fn insert_special(&mut self, i: u64, value: SpecialValue<'_>, nbytes: usize) -> Result<(), EditError> {
        block_on(self.inner.insert_special(i, value, nbytes))
    }

    /// Replaces chunk `i`; see [`update`](edit::FrameEditor::update).
    ///
    /// # Errors
    /// As that.
    pub fn update(&mut self, i: u64, data: &[u8]) -> Result<(), EditError> {
        block_on(self.inner.update(i, Bytes::copy_from_slice(data)))
    }

    /// Replaces chunk `i` by one that is already encoded; see [`update_encoded`](edit::FrameEditor::update_encoded).
    ///
    /// # Errors
    /// As that.
    pub fn update_encoded(&mut self, i: u64, chunk: &[u8]) -> Result<(), EditError> {
        block_on(self.inner.update_encoded(i, Bytes::copy_from_slice(chunk)))
    }

    /// Replaces all items of chunk `i` by a special value; see [`update_special`](edit::FrameEditor::update_special).
    ///
    /// # Errors
    /// As that.
    pub fn update_special(&mut self, i: u64, value: SpecialValue<'_>) -> Result<(), EditError> {
        block_on(self.inner.update_special(i, value))
    }

    /// Removes chunk `i`; see [`delete`](edit::FrameEditor::delete).
    ///
    /// # Errors
    /// As that.
    pub fn delete(&mut self, i: u64) -> Result<(), EditError> {
        block_on(self.inner.delete(i))
    }

    /// Puts chunk `order[i]` at `i`, for every `i`; see [`reorder`](edit::FrameEditor::reorder).
    ///
    /// # Errors
    /// As that.
    pub fn reorder(&mut self, order: &[u64]) -> Result<(), EditError> {
        block_on(self.inner.reorder(order))
    }

    /// Allows chunks to differ in size from now on; see [`make_variable`](edit::FrameEditor::make_variable).
    ///
    /// # Errors
    /// As that.
    pub fn make_variable(&mut self) -> Result<(), EditError> {
        block_on(self.inner.make_variable())
    }

    /// The decoded bytes of chunk `i`, with all changes; see [`chunk`](edit::FrameEditor::chunk).
    ///
    /// # Errors
    /// As that.
    pub fn chunk(&mut self, i: u64) -> Result<Vec<u8>, EditError> {
        block_on(self.inner.chunk(i))
    }

    /// The encoded bytes of chunk `i`, with all changes; see [`encoded_chunk`](edit::FrameEditor::encoded_chunk).
    ///
    /// # Errors
    /// As that.
    pub fn encoded_chunk(&mut self, i: u64) -> Result<Bytes, EditError> {
        block_on(self.inner.encoded_chunk(i))
    }

    /// Adds or replaces a variable-length metalayer of the trailer; see [`set_vlmetalayer`](edit::FrameEditor::set_vlmetalayer).
    ///
    /// # Errors
    /// As that.
    pub fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), EditError> {
        block_on(self.inner.set_vlmetalayer(name, content))
    }

    /// Removes a variable-length metalayer of the trailer; see [`delete_vlmetalayer`](edit::FrameEditor::delete_vlmetalayer).
    ///
    /// # Errors
    /// As that.
    pub fn delete_vlmetalayer(&mut self, name: &str) -> Result<(), EditError> {
        block_on(self.inner.delete_vlmetalayer(name))
    }

    /// Replaces the content of a metalayer of the header; see [`set_metalayer`](edit::FrameEditor::set_metalayer).
    ///
    /// # Errors
    /// As that.
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), EditError> {
        block_on(self.inner.set_metalayer(name, content))
    }

    /// Makes all changes since the last commit take effect together; see [`commit`](edit::FrameEditor::commit).
    ///
    /// # Errors
    /// As that.
    pub fn commit(&mut self) -> Result<(), EditError> {
        block_on(self.inner.commit())
    }

    /// Moves appended bytes behind what others have committed; see [`rebase`](edit::FrameEditor::rebase).
    ///
    /// # Errors
    /// As that.
    pub fn rebase(&mut self) -> Result<(), EditError> {
        block_on(self.inner.rebase())
    }

    /// Appends everything from `reader`, with one chunk in memory at a time; see
    /// [`append_from`](edit::FrameEditor::append_from).
    ///
    /// # Errors
    /// As that.
    pub fn append_from(&mut self, reader: impl Read) -> Result<u64, EditError> {
        block_on(self.inner.append_from(AllowStdIo::new(reader)))
    }

    /// The bytes of the frame as it is committed; see [`frame_bytes`](edit::FrameEditor::frame_bytes).
    ///
    /// # Errors
    /// As that.
    pub fn frame_bytes(&mut self) -> Result<Bytes, EditError> {
        block_on(self.inner.frame_bytes())
    }

    /// Number of chunks, with all changes.
    pub fn nchunks(&self) -> u64 {
        self.inner.nchunks()
    }

    /// Decoded bytes, with all changes.
    pub fn nbytes(&self) -> u64 {
        self.inner.nbytes()
    }

    /// Decoded bytes of every chunk but the last; see [`chunk_size`](edit::FrameEditor::chunk_size).
    pub fn chunk_size(&self) -> Option<usize> {
        self.inner.chunk_size()
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        self.inner.typesize()
    }

    /// How new chunks are encoded.
    pub fn params(&self) -> &EncodeParams {
        self.inner.params()
    }

    /// The metalayers of the header, with all changes.
    pub fn metalayers(&self) -> &Metalayers {
        self.inner.metalayers()
    }

    /// Shape, chunks and blocks of the array that the frame holds, if it holds one and agrees with it.
    pub fn geometry(&self) -> Option<&Geometry> {
        self.inner.geometry()
    }

    /// The asynchronous editor, which works on the calling thread.
    pub fn into_async(self) -> edit::FrameEditor {
        self.inner
    }
}

impl fmt::Debug for FrameEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}
