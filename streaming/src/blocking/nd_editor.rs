//! Changing arrays without async.

use std::fmt;
use std::path::Path;

use bytes::Bytes;
use oxiblosc_core::nd::{Selection, Tiling};

use super::FrameEditor;
#[cfg(doc)]
use super::NdArray;
use crate::compute::block_on;
use crate::nd::{self, ArrayError, NdBuffer};

/// Changes an array; the twin of [`nd::NdEditor`], whose promises hold here too.
///
/// ```
/// use oxiblosc_streaming::blocking::{NdArray, NdEditor, NdWriter};
/// use oxiblosc_streaming::nd::ArrayOptions;
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("days.b2nd");
/// # let mut writer = NdWriter::create(&path, ArrayOptions::new([2, 3], "|u1"))?;
/// # writer.push(vec![1, 2, 3, 4, 5, 6].into())?;
/// # writer.finish()?;
/// let mut editor = NdEditor::open(&path)?; // [[1, 2, 3], [4, 5, 6]]
/// editor.write(&":, 1".parse()?, &[7, 8])?;
/// editor.append(0, &[9, 9, 9])?;
/// editor.resize(&[4, 2])?;
/// editor.commit()?;
/// assert_eq!(NdArray::open(&path)?.read(&"".parse()?)?.bytes()[..], [1, 7, 4, 8, 9, 9, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NdEditor {
    inner: nd::NdEditor,
}

impl NdEditor {
    /// Opens the array in a contiguous frame in a file, or in a sparse one in a directory.
    ///
    /// # Errors
    /// As [`FrameEditor::open`] and [`NdEditor::new`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ArrayError> {
        Self::new(FrameEditor::open(path)?)
    }

    /// Opens the array in a contiguous frame in memory.
    ///
    /// # Errors
    /// As [`FrameEditor::from_bytes`] and [`NdEditor::new`].
    pub fn from_bytes(frame: impl Into<Vec<u8>>) -> Result<Self, ArrayError> {
        Self::new(FrameEditor::from_bytes(frame)?)
    }

    /// The bytes of the frame as it is committed; see [`frame_bytes`](nd::NdEditor::frame_bytes).
    ///
    /// # Errors
    /// As that.
    pub fn frame_bytes(&mut self) -> Result<Bytes, ArrayError> {
        block_on(self.inner.frame_bytes())
    }

    /// The array in a frame that is being changed; the constructors of [`FrameEditor`] open one in any way.
    ///
    /// # Errors
    /// As [`nd::NdEditor::new`].
    pub fn new(editor: FrameEditor) -> Result<Self, ArrayError> {
        Ok(Self { inner: nd::NdEditor::new(editor.into_async())? })
    }

    /// The selected items, with all changes; see [`read`](nd::NdEditor::read).
    ///
    /// # Errors
    /// As that.
    pub fn read(&mut self, selection: &Selection) -> Result<NdBuffer, ArrayError> {
        block_on(self.inner.read(selection))
    }

    /// Replaces the selected items by `items`; see [`write`](nd::NdEditor::write).
    ///
    /// # Errors
    /// As that.
    pub fn write(&mut self, selection: &Selection, items: &[u8]) -> Result<(), ArrayError> {
        block_on(self.inner.write(selection, Bytes::copy_from_slice(items)))
    }

    /// Gives the array another shape of the same rank; see [`resize`](nd::NdEditor::resize).
    ///
    /// # Errors
    /// As that.
    pub fn resize(&mut self, shape: &[u64]) -> Result<(), ArrayError> {
        block_on(self.inner.resize(shape))
    }

    /// Lengthens the array along an axis by `items`; see [`append`](nd::NdEditor::append).
    ///
    /// # Errors
    /// As that.
    pub fn append(&mut self, axis: usize, items: &[u8]) -> Result<(), ArrayError> {
        block_on(self.inner.append(axis, Bytes::copy_from_slice(items)))
    }

    /// Adds or replaces a variable-length metalayer; see [`set_vlmetalayer`](nd::NdEditor::set_vlmetalayer).
    ///
    /// # Errors
    /// As that.
    pub fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), ArrayError> {
        block_on(self.inner.set_vlmetalayer(name, content))
    }

    /// Removes a variable-length metalayer; see [`delete_vlmetalayer`](nd::NdEditor::delete_vlmetalayer).
    ///
    /// # Errors
    /// As that.
    pub fn delete_vlmetalayer(&mut self, name: &str) -> Result<(), ArrayError> {
        block_on(self.inner.delete_vlmetalayer(name))
    }

    /// Makes all changes since the last commit take effect together; see [`commit`](nd::NdEditor::commit).
    ///
    /// # Errors
    /// As that.
    pub fn commit(&mut self) -> Result<(), ArrayError> {
        block_on(self.inner.commit())
    }

    /// Moves appended rows behind those that others have committed; see [`rebase`](nd::NdEditor::rebase).
    ///
    /// # Errors
    /// As that.
    pub fn rebase(&mut self) -> Result<(), ArrayError> {
        block_on(self.inner.rebase())
    }

    /// Length along each dimension, with all changes.
    pub fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    /// What the items are; see [`NdArray::dtype`].
    pub fn dtype(&self) -> Option<&str> {
        self.inner.dtype()
    }

    /// Bytes of an item.
    pub fn item_size(&self) -> usize {
        self.inner.item_size()
    }

    /// Where every item is stored.
    pub fn tiling(&self) -> &Tiling {
        self.inner.tiling()
    }
}

impl fmt::Debug for NdEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}
