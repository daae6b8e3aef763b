//! Changing arrays.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use oxiblosc_core::chunk::SpecialValue;
use oxiblosc_core::frame::FrameError;
use oxiblosc_core::nd::{ArrayMeta, AxisSelection, KeptChunks, NdError, Plan, ResizePlan, Selection, Tiling};

use super::{ArrayError, NdBuffer};
use crate::edit::{EditError, EditorSnapshot, FrameEditor};
use crate::{ErrorKind, ReadError};

/// Changes an array in a file, in a directory, in memory, or under a prefix of objects: items, shape, or both.
/// [`blocking::NdEditor`](crate::blocking::NdEditor) is the twin without async.
///
/// All changes since the last [`commit`](NdEditor::commit) take effect together, with the next one; an editor that is
/// dropped before leaves the array as it was. A method that returns an error has changed nothing, and so has one whose
/// future is dropped. [`FrameEditor`] says what happens if several editors change one array.
///
/// Chunks that are covered as a whole are not read first. Items that come in by growing are zero, always: C-Blosc2 lets
/// items of a shape that was once larger reappear.
///
/// ```
/// use std::io::Write;
/// use oxiblosc_streaming::{block_on, blocking};
/// use oxiblosc_streaming::nd::{ArrayOptions, NdEditor};
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("days.b2nd");
/// let mut writer = blocking::NdWriter::create(&path, ArrayOptions::new([2, 3], "|u1"))?;
/// writer.write_all(&[1, 2, 3, 4, 5, 6])?;
/// writer.finish()?;
/// block_on(async {
///     let mut editor = NdEditor::open(&path).await?; // [[1, 2, 3], [4, 5, 6]]
///     editor.write(&":, 1".parse()?, vec![7, 8]).await?;
///     editor.append(0, vec![9, 9, 9]).await?;
///     editor.resize(&[4, 2]).await?;
///     editor.commit().await?;
///     assert_eq!(editor.read(&"".parse()?).await?.bytes()[..], [1, 7, 4, 8, 9, 9, 0, 0]);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NdEditor {
    editor: FrameEditor,
    meta: ArrayMeta,
    /// Under which name the frame has it.
    name: &'static str,
    tiling: Tiling,
    /// The state before a change of several steps that has not come to its end. A dropped future leaves one.
    before: Option<Box<Before>>,
    /// The shape that is committed.
    committed: Vec<u64>,
    /// Rows have been appended since the last commit, and nothing else was changed.
    only_appends: bool,
}

/// The state of an editor before a change.
struct Before {
    editor: EditorSnapshot,
    meta: ArrayMeta,
    tiling: Tiling,
}

/// About how many bytes are read back and appended at a time by [`NdEditor::rebase`].
const REBASE_BYTES: u64 = 64 << 20;

impl NdEditor {
    /// Opens the array in a contiguous frame in a file, or in a sparse one in a directory.
    ///
    /// # Errors
    /// As [`FrameEditor::open`] and [`NdEditor::new`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, ArrayError> {
        Self::new(FrameEditor::open(path).await?)
    }

    /// Opens the array in a contiguous frame in memory.
    ///
    /// # Errors
    /// As [`FrameEditor::from_bytes`] and [`NdEditor::new`].
    pub async fn from_bytes(frame: impl Into<Vec<u8>>) -> Result<Self, ArrayError> {
        Self::new(FrameEditor::from_bytes(frame).await?)
    }

    /// The bytes of the frame as it is committed; see [`FrameEditor::frame_bytes`].
    ///
    /// # Errors
    /// As that.
    pub async fn frame_bytes(&mut self) -> Result<Bytes, ArrayError> {
        Ok(self.editor.frame_bytes().await?)
    }

    /// The array in a frame that is being changed; [`EditOptions`](crate::edit::EditOptions) open one in any way.
    ///
    /// # Errors
    /// [`ArrayError::NotAnArray`]; [`ArrayError::Nd`] when the metalayer is damaged or contradicts the frame.
    pub fn new(editor: FrameEditor) -> Result<Self, ArrayError> {
        let meta = ArrayMeta::find(editor.metalayers()).ok_or(ArrayError::NotAnArray)??;
        let legacy = editor.metalayers().get(ArrayMeta::NAME).is_none();
        let name = if legacy { ArrayMeta::LEGACY_NAME } else { ArrayMeta::NAME };
        let tiling = meta.tiling(&editor.sizes())?;
        let committed = tiling.shape().to_vec();
        Ok(Self { editor, meta, name, tiling, before: None, committed, only_appends: true })
    }

    /// The selected items, with all changes.
    ///
    /// # Errors
    /// When the selection does not fit the array, or a chunk cannot be read.
    pub async fn read(&mut self, selection: &Selection) -> Result<NdBuffer, ArrayError> {
        self.undo_dropped().await;
        let plan = Plan::new(&self.tiling, selection)?;
        let bytes = plan.buffer_bytes()?;
        let mut out = Vec::new();
        let none = |_| ReadError::OutOfMemory { what: "the selection", bytes: bytes as u64 };
        out.try_reserve_exact(bytes).map_err(none)?;
        out.resize(bytes, 0);
        for part in plan.chunks() {
            part.copy_out(&self.chunk(part.number()).await?, &mut out)?;
        }
        let (shape, dtype) = (plan.shape().to_vec(), self.dtype().map(Arc::from));
        Ok(NdBuffer { shape, dtype, item_size: self.item_size(), bytes: out.into() })
    }

    /// Replaces the selected items by `items`, which are in C order of the selection. Where a list names an item
    /// twice, the later one stays.
    ///
    /// # Errors
    /// When the selection does not fit the array or the items, or a chunk cannot be read or written.
    pub async fn write(&mut self, selection: &Selection, items: impl Into<Bytes>) -> Result<(), ArrayError> {
        self.undo_dropped().await;
        let plan = Plan::new(&self.tiling, selection)?;
        self.begin_change().await?;
        let result = self.write_plan(plan, items.into()).await;
        self.only_appends &= result.is_err();
        self.end_change(result).await
    }

    /// Gives the array another shape of the same rank. Items whose index stays inside keep their values, new ones are
    /// zero.
    ///
    /// # Errors
    /// When there can be no such array, or chunks at the old edge cannot be read or written.
    pub async fn resize(&mut self, shape: &[u64]) -> Result<(), ArrayError> {
        self.undo_dropped().await;
        let resize = ResizePlan::new(&self.tiling, shape)?;
        self.begin_change().await?;
        let result = self.resize_to(&resize).await;
        self.only_appends &= result.is_err();
        self.end_change(result).await
    }

    async fn resize_to(&mut self, resize: &ResizePlan) -> Result<(), ArrayError> {
        for stale in resize.stale() {
            let mut chunk = self.chunk(stale.from).await?;
            if self.tiling.clear_beyond(&stale.extents, &mut chunk)? {
                let (tiling, extents) = (self.tiling.clone(), stale.extents.clone());
                let clear =
                    move |chunk: &mut [u8]| tiling.clear_beyond(&extents, chunk).map(drop).map_err(ArrayError::from);
                let encoded = self.editor.encode_changed(stale.from, chunk, true, clear).await?;
                self.editor.update_encoded(stale.from, encoded).await?;
            }
        }
        self.reshape(resize).await
    }

    /// Lengthens the array along an axis by `items`, which have its shape along all others.
    ///
    /// # Errors
    /// When the items are no whole number of rows along that axis, and as [`resize`](Self::resize).
    pub async fn append(&mut self, axis: usize, items: impl Into<Bytes>) -> Result<(), ArrayError> {
        self.undo_dropped().await;
        let items = items.into();
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
        self.begin_change().await?;
        let result = self.append_plan(&resize, plan, items).await;
        self.only_appends &= axis == 0 || result.is_err();
        self.end_change(result).await
    }

    async fn append_plan(&mut self, resize: &ResizePlan, plan: Plan, items: Bytes) -> Result<(), ArrayError> {
        self.reshape(resize).await?;
        self.write_plan(plan, items).await
    }

    /// Adds or replaces a variable-length metalayer; see [`FrameEditor::set_vlmetalayer`].
    ///
    /// # Errors
    /// As that.
    pub async fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), ArrayError> {
        self.undo_dropped().await;
        self.editor.set_vlmetalayer(name, content).await?;
        self.only_appends = false;
        Ok(())
    }

    /// Removes a variable-length metalayer; see [`FrameEditor::delete_vlmetalayer`].
    ///
    /// # Errors
    /// As that.
    pub async fn delete_vlmetalayer(&mut self, name: &str) -> Result<(), ArrayError> {
        self.undo_dropped().await;
        self.editor.delete_vlmetalayer(name).await?;
        self.only_appends = false;
        Ok(())
    }

    /// Makes all changes since the last commit take effect together.
    ///
    /// The old array is there until one write to the header, of shape and sizes, puts the new one in its place. When
    /// that would be more than a disk writes in one step (other metalayers before the one of the array, no chunk left
    /// and a long header), a copy of the file takes the place of the old one.
    ///
    /// # Errors
    /// As [`FrameEditor::commit`]; calling again goes on.
    pub async fn commit(&mut self) -> Result<(), ArrayError> {
        self.undo_dropped().await;
        self.editor.commit().await?;
        self.committed = self.tiling.shape().to_vec();
        self.only_appends = true;
        Ok(())
    }

    /// Moves rows that were appended along the first axis behind those that others have committed since this editor was
    /// opened, after [`commit`](Self::commit) has failed with [`EditError::Conflict`]. The rows are read back and
    /// encoded again, some chunks at a time; commit again afterwards.
    ///
    /// ```
    /// use futures::SinkExt;
    /// use oxiblosc_streaming::{block_on, nd::{ArrayError, ArrayOptions, NdEditor}};
    /// use oxiblosc_streaming::edit::{EditError, EditOptions};
    /// use oxiblosc_streaming::sparse::MemoryDirectory;
    /// use oxiblosc_streaming::target::PlaceTarget;
    /// # use oxiblosc_plugins as _;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # block_on(async {
    /// let place = MemoryDirectory::new(); // or objects under a prefix
    /// let mut sink = ArrayOptions::new([1, 2], "|u1").sink(PlaceTarget::new(place.clone()))?;
    /// sink.feed(vec![1, 2].into()).await?;
    /// sink.close().await?;
    ///
    /// let mut one = NdEditor::new(EditOptions::new().edit_sparse(place.clone()).await?)?;
    /// let mut other = NdEditor::new(EditOptions::new().edit_sparse(place.clone()).await?)?;
    /// one.append(0, vec![3, 4]).await?;
    /// other.append(0, vec![5, 6]).await?;
    /// one.commit().await?;
    /// while let Err(ArrayError::Edit(EditError::Conflict)) = other.commit().await {
    ///     other.rebase().await?;
    /// }
    /// assert_eq!(other.read(&"".parse()?).await?.bytes()[..], [1, 2, 3, 4, 5, 6]);
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`EditError::Conflict`] when anything but appending along the first axis has been done since the last commit, or
    /// the array has other chunks or rows of another shape now: open it and make the change again. After any error, or
    /// if the future is dropped, the editor is as it was.
    pub async fn rebase(&mut self) -> Result<(), ArrayError> {
        self.undo_dropped().await;
        if !self.editor.has_rivals()? {
            return Ok(());
        }
        let mut fresh = Self::new(self.editor.reopen().await?)?;
        let (ours, theirs) = (self.tiling.geometry(), fresh.tiling.geometry());
        let same_rows = self.tiling.shape().get(1..) == fresh.tiling.shape().get(1..);
        let same_chunks = (&ours.chunk_shape, &ours.block_shape) == (&theirs.chunk_shape, &theirs.block_shape);
        let same_items = self.dtype() == fresh.dtype() && self.item_size() == fresh.item_size();
        if !self.only_appends || !same_rows || !same_chunks || !same_items {
            return Err(EditError::Conflict.into());
        }
        let end = self.tiling.shape().first().copied().unwrap_or(0);
        let mut row = self.committed.first().copied().unwrap_or(0);
        let row_bytes = self.tiling.shape().iter().skip(1).product::<u64>().saturating_mul(self.item_size() as u64);
        let step = (REBASE_BYTES / row_bytes.max(1)).max(1);
        while row < end {
            let next = end.min(row + step);
            let rows = match self.read(&rows(row..next)).await {
                // The place was compacted since.
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(EditError::Conflict.into()),
                rows => rows?,
            };
            match row_bytes {
                // Rows without items cannot be counted, but the array can be made longer.
                0 => {
                    let (resize, _) = ResizePlan::append(&fresh.tiling, 0, next - row)?;
                    fresh.resize(resize.after().shape()).await?;
                    fresh.only_appends = true;
                }
                _ => fresh.append(0, rows.into_bytes()).await?,
            }
            row = next;
        }
        *self = fresh;
        Ok(())
    }

    /// Remembers the state before a change of several steps, which is made as a whole or not at all.
    async fn begin_change(&mut self) -> Result<(), ArrayError> {
        let editor = self.editor.snapshot().await?;
        self.before = Some(Box::new(Before { editor, meta: self.meta.clone(), tiling: self.tiling.clone() }));
        Ok(())
    }

    async fn end_change(&mut self, result: Result<(), ArrayError>) -> Result<(), ArrayError> {
        match result {
            Ok(()) => self.before = None,
            Err(_) => self.undo_dropped().await,
        }
        result
    }

    /// Undoes a change that has not come to its end, because of an error or because its future was dropped.
    async fn undo_dropped(&mut self) {
        let Some(before) = &self.before else { return };
        self.editor.roll_back(&before.editor).await;
        if let Some(before) = self.before.take() {
            (self.meta, self.tiling) = (before.meta, before.tiling);
        }
    }

    /// A decoded chunk, which has the size that the array gives it.
    async fn chunk(&mut self, number: u64) -> Result<Vec<u8>, ArrayError> {
        let chunk = self.editor.chunk(number).await?;
        let (expected, found) = (self.tiling.chunk_bytes(), chunk.len());
        if found != expected {
            return Err(NdError::Buffer { what: "the chunk", expected, found }.into());
        }
        Ok(chunk)
    }

    async fn write_plan(&mut self, plan: Plan, items: Bytes) -> Result<(), ArrayError> {
        let expected = plan.buffer_bytes()?;
        if items.len() != expected {
            return Err(NdError::Buffer { what: "the items", expected, found: items.len() }.into());
        }
        let plan = Arc::new(plan);
        let mut parts = plan.chunks().map(|part| (part.number(), part.covers_all())).collect::<VecDeque<_>>();
        while let Some((number, covers_all)) = parts.pop_front() {
            let chunk = match covers_all {
                true => vec![0; self.tiling.chunk_bytes()],
                false => self.chunk(number).await?,
            };
            let (plan, items) = (Arc::clone(&plan), items.clone());
            let fill = move |chunk: &mut [u8]| match plan.chunk(number) {
                Some(part) => part.copy_in(&items, chunk).map_err(ArrayError::from),
                None => Ok(()),
            };
            let encoded = self.editor.encode_changed(number, chunk, !covers_all, fill).await?;
            self.editor.update_encoded(number, encoded).await?;
        }
        Ok(())
    }

    /// Moves, drops and adds chunks, and writes the new shape.
    async fn reshape(&mut self, resize: &ResizePlan) -> Result<(), ArrayError> {
        let (found, limit) = (resize.after().chunk_count(), self.editor.limits().chunks);
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
            self.reorder(&kept.iter().copied().chain(goes).collect::<Vec<_>>()).await?;
            for i in (kept.len() as u64..before).rev() {
                self.editor.delete(i).await?;
            }
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
            self.editor.fix_chunk_size(self.tiling.chunk_bytes()).await?;
        }
        while self.editor.nchunks() < next_fresh {
            let end = self.editor.nchunks();
            self.editor.insert_special(end, SpecialValue::Zero, self.tiling.chunk_bytes()).await?;
        }
        self.reorder(&order).await?;
        self.meta.geometry = resize.after().geometry().clone();
        self.editor.set_metalayer(self.name, &self.meta.to_bytes()?).await?;
        self.tiling = resize.after().clone();
        Ok(())
    }

    async fn reorder(&mut self, order: &[u64]) -> Result<(), ArrayError> {
        if (0..).zip(order).all(|(i, &from)| i == from) { Ok(()) } else { Ok(self.editor.reorder(order).await?) }
    }
}

impl NdEditor {
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
}

/// The rows of a range, along the first axis.
fn rows(range: Range<u64>) -> Selection {
    // Lossless: extents of arrays have 63 bits.
    Selection::axes([AxisSelection::from(range.start as i64..range.end as i64)])
}

impl fmt::Debug for NdEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NdEditor").field("meta", &self.meta).field("editor", &self.editor).finish()
    }
}
