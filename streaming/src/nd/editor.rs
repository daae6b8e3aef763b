//! Changing arrays.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use oxiblosc_core::chunk::SpecialValue;
use oxiblosc_core::frame::FrameError;
use oxiblosc_core::nd::{ArrayMeta, KeptChunks, NdError, Plan, ResizePlan, Selection, Tiling};

use super::{ArrayError, NdBuffer};
use crate::ReadError;
use crate::edit::{EditError, FileStore, FrameEditor, Store};

/// Changes an array in a file, a directory or memory: items, shape, or both.
///
/// All changes since the last [`commit`](NdEditor::commit) take effect together, with the next one; an editor that is
/// dropped before leaves the array as it was. A method that returns an error has changed nothing.
///
/// Chunks that are covered as a whole are not read first. Items that come in by growing are zero, always: C-Blosc2 lets
/// items of a shape that was once larger reappear.
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
pub struct NdEditor<S> {
    editor: FrameEditor<S>,
    meta: ArrayMeta,
    /// Under which name the frame has it.
    name: &'static str,
    tiling: Tiling,
}

impl NdEditor<FileStore> {
    /// Opens the array in a contiguous frame in a file, or in a sparse one in a directory.
    ///
    /// # Errors
    /// As [`FrameEditor::open`] and [`NdEditor::new`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ArrayError> {
        Self::new(FrameEditor::open(path)?)
    }
}

impl NdEditor<Vec<u8>> {
    /// Opens the array in a contiguous frame in memory.
    ///
    /// # Errors
    /// As [`FrameEditor::from_bytes`] and [`NdEditor::new`].
    pub fn from_bytes(frame: Vec<u8>) -> Result<Self, ArrayError> {
        Self::new(FrameEditor::from_bytes(frame)?)
    }
}

impl<S: Store> NdEditor<S> {
    /// The array in a frame that is being changed; [`EditOptions`](crate::edit::EditOptions) open one in any way.
    ///
    /// # Errors
    /// [`ArrayError::NotAnArray`]; [`ArrayError::Nd`] when the metalayer is damaged or contradicts the frame.
    pub fn new(editor: FrameEditor<S>) -> Result<Self, ArrayError> {
        let meta = ArrayMeta::find(editor.metalayers()).ok_or(ArrayError::NotAnArray)??;
        let legacy = editor.metalayers().get(ArrayMeta::NAME).is_none();
        let name = if legacy { ArrayMeta::LEGACY_NAME } else { ArrayMeta::NAME };
        let tiling = meta.tiling(&editor.sizes())?;
        Ok(Self { editor, meta, name, tiling })
    }

    /// The selected items, with all changes.
    ///
    /// # Errors
    /// When the selection does not fit the array, or a chunk cannot be read.
    pub fn read(&mut self, selection: &Selection) -> Result<NdBuffer, ArrayError> {
        let plan = Plan::new(&self.tiling, selection)?;
        let bytes = plan.buffer_bytes()?;
        let mut out = Vec::new();
        let none = |_| ReadError::OutOfMemory { what: "the selection", bytes: bytes as u64 };
        out.try_reserve_exact(bytes).map_err(none)?;
        out.resize(bytes, 0);
        for part in plan.chunks() {
            part.copy_out(&self.chunk(part.number())?, &mut out)?;
        }
        let (shape, dtype) = (plan.shape().to_vec(), self.dtype().map(Arc::from));
        Ok(NdBuffer { shape, dtype, item_size: self.item_size(), bytes: out.into() })
    }

    /// Replaces the selected items by `items`, which are in C order of the selection. Where a list names an item
    /// twice, the later one stays.
    ///
    /// # Errors
    /// When the selection does not fit the array or the items, or a chunk cannot be read or written.
    pub fn write(&mut self, selection: &Selection, items: &[u8]) -> Result<(), ArrayError> {
        let plan = Plan::new(&self.tiling, selection)?;
        self.transaction(|array| array.write_plan(&plan, items))
    }

    /// Gives the array another shape of the same rank. Items whose index stays inside keep their values, new ones are
    /// zero.
    ///
    /// # Errors
    /// When there can be no such array, or chunks at the old edge cannot be read or written.
    pub fn resize(&mut self, shape: &[u64]) -> Result<(), ArrayError> {
        let resize = ResizePlan::new(&self.tiling, shape)?;
        self.transaction(|array| {
            for stale in resize.stale() {
                let mut chunk = array.chunk(stale.from)?;
                if array.tiling.clear_beyond(&stale.extents, &mut chunk)? {
                    array.editor.update(stale.from, &chunk)?;
                }
            }
            array.reshape(&resize)
        })
    }

    /// Lengthens the array along an axis by `items`, which have its shape along all others.
    ///
    /// # Errors
    /// When the items are no whole number of rows along that axis, and as [`resize`](Self::resize).
    pub fn append(&mut self, axis: usize, items: &[u8]) -> Result<(), ArrayError> {
        // Refuses an axis that is not there before rows are counted along it.
        ResizePlan::append(&self.tiling, axis, 0)?;
        let others = self.tiling.shape().iter().enumerate().filter(|&(other, _)| other != axis);
        let row_bytes = others.fold(self.tiling.item_size() as u64, |bytes, (_, &len)| bytes.saturating_mul(len));
        let found = items.len() as u64;
        let partial = match found.checked_rem(row_bytes) {
            Some(rest) => rest,
            // Rows without items cannot be counted.
            None => found,
        };
        if partial > 0 {
            return Err(ArrayError::PartialRow { row_bytes, found: partial });
        }
        let (resize, selection) = ResizePlan::append(&self.tiling, axis, found.checked_div(row_bytes).unwrap_or(0))?;
        let plan = Plan::new(resize.after(), &selection)?;
        self.transaction(|array| {
            array.reshape(&resize)?;
            array.write_plan(&plan, items)
        })
    }

    /// Makes all changes since the last commit take effect together.
    ///
    /// The old array is there until one write to the header, of shape and sizes, puts the new one in its place. When
    /// that would be more than a disk writes in one step (other metalayers before the one of the array, no chunk left
    /// and a long header), a copy of the file takes the place of the old one.
    ///
    /// # Errors
    /// As [`FrameEditor::commit`]; calling again goes on.
    pub fn commit(&mut self) -> Result<(), ArrayError> {
        Ok(self.editor.commit()?)
    }

    /// Makes a change of many steps as a whole or not at all.
    fn transaction(&mut self, change: impl FnOnce(&mut Self) -> Result<(), ArrayError>) -> Result<(), ArrayError> {
        let before = (self.editor.begin()?, self.meta.clone(), self.tiling.clone());
        let result = change(self);
        if result.is_err() {
            self.editor.roll_back(before.0);
            (self.meta, self.tiling) = (before.1, before.2);
        }
        result
    }

    /// A decoded chunk, which has the size that the array gives it.
    fn chunk(&mut self, number: u64) -> Result<Vec<u8>, ArrayError> {
        let chunk = self.editor.chunk(number)?;
        let (expected, found) = (self.tiling.chunk_bytes(), chunk.len());
        if found != expected {
            return Err(NdError::Buffer { what: "the chunk", expected, found }.into());
        }
        Ok(chunk)
    }

    fn write_plan(&mut self, plan: &Plan, items: &[u8]) -> Result<(), ArrayError> {
        let expected = plan.buffer_bytes()?;
        if items.len() != expected {
            return Err(NdError::Buffer { what: "the items", expected, found: items.len() }.into());
        }
        for part in plan.chunks() {
            let number = part.number();
            let mut chunk = match part.covers_all() {
                true => vec![0; self.tiling.chunk_bytes()],
                false => self.chunk(number)?,
            };
            part.copy_in(items, &mut chunk)?;
            self.editor.update(number, &chunk)?;
        }
        Ok(())
    }

    /// Moves, drops and adds chunks, and writes the new shape.
    fn reshape(&mut self, resize: &ResizePlan) -> Result<(), ArrayError> {
        let (found, limit) = (resize.after().chunk_count(), self.editor.limits.chunks);
        if found > limit {
            return Err(EditError::from(FrameError::TooManyChunks { found, limit }).into());
        }
        let kept = resize.moves().flat_map(|run| match run {
            KeptChunks::Kept { from, count } => from..from + count,
            KeptChunks::Fresh { .. } => 0..0,
        });
        let kept: Vec<u64> = kept.collect();
        // Chunks are removed and added at the end, where it costs nothing, and put in order before and after.
        let before = resize.before().chunk_count();
        if (kept.len() as u64) < before {
            let mut goes = vec![true; before as usize];
            kept.iter().for_each(|&from| goes[from as usize] = false);
            let goes = (0..before).filter(|&from| goes[from as usize]);
            self.reorder(&kept.iter().copied().chain(goes).collect::<Vec<_>>())?;
            (kept.len() as u64..before).rev().try_for_each(|i| self.editor.delete(i))?;
        }
        let mut order = Vec::new();
        let (mut next_kept, mut next_fresh) = (0, kept.len() as u64);
        for run in resize.moves() {
            let (next, count) = match run {
                KeptChunks::Kept { count, .. } => (&mut next_kept, count),
                KeptChunks::Fresh { count } => (&mut next_fresh, count),
            };
            order.extend(*next..*next + count);
            *next += count;
        }
        if self.editor.nchunks() == 0 && next_fresh > 0 {
            // C-Blosc2 says that the chunks of an array without any differ in size.
            self.editor.settle_chunk_size(self.tiling.chunk_bytes())?;
        }
        while self.editor.nchunks() < next_fresh {
            let end = self.editor.nchunks();
            self.editor.insert_special(end, SpecialValue::Zero, self.tiling.chunk_bytes())?;
        }
        self.reorder(&order)?;
        self.meta.geometry = resize.after().geometry().clone();
        self.editor.set_metalayer(self.name, &self.meta.to_bytes()?)?;
        self.tiling = resize.after().clone();
        Ok(())
    }

    fn reorder(&mut self, order: &[u64]) -> Result<(), ArrayError> {
        if (0..).zip(order).all(|(i, &from)| i == from) { Ok(()) } else { Ok(self.editor.reorder(order)?) }
    }
}

impl<S> NdEditor<S> {
    /// Length along each dimension, with all changes.
    pub fn shape(&self) -> &[u64] {
        self.tiling.shape()
    }

    /// What the items are; see [`NdArray::dtype`](super::NdArray::dtype).
    pub fn dtype(&self) -> Option<&str> {
        self.meta.dtype.as_deref()
    }

    /// Bytes of an item.
    pub fn item_size(&self) -> usize {
        self.tiling.item_size()
    }

    /// Where every item is stored.
    pub fn tiling(&self) -> &Tiling {
        &self.tiling
    }

    /// The frame, to change its variable-length metalayers. What its chunks are must not be changed.
    pub fn editor(&mut self) -> &mut FrameEditor<S> {
        &mut self.editor
    }

    /// The store; see [`FrameEditor::into_store`].
    pub fn into_store(self) -> S {
        self.editor.into_store()
    }
}

impl<S> fmt::Debug for NdEditor<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NdEditor").field("meta", &self.meta).field("editor", &self.editor).finish()
    }
}
