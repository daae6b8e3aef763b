//! Chunks on their way to the store, and the write that makes them part of the frame.

use std::io;

use bytes::Bytes;
use oxiblosc_core::frame::{self, ChunkAddress, ChunkWrite, Commit};
use oxiblosc_core::nd::Geometry;

use super::editor::array_in;
use super::{EditError, FrameEditor, Store};

impl<S: Store> FrameEditor<S> {
    /// Makes all changes since the last commit take effect together.
    ///
    /// # Errors
    /// [`EditError::NoArray`] when chunks of an array were added or removed without regard to its shape. Otherwise the
    /// old frame is still there, or the new one already is; calling again goes on.
    pub fn commit(&mut self) -> Result<(), EditError> {
        if self.unfinished.is_none() {
            self.check_array()?;
            self.write_chunks()?;
            self.unfinished = Some(self.editor.commit()?);
        }
        if let Some(commit) = &self.unfinished {
            carry_out(&mut self.store, commit)?;
            self.unfinished = None;
        }
        Ok(())
    }

    /// What to go back to should several changes not all succeed.
    pub(crate) fn begin(&mut self) -> Result<Snapshot, EditError> {
        // Whatever waits to be written when going back then belongs to what is taken back.
        self.check_committed()?;
        Ok(Snapshot { editor: self.editor.clone(), variable: self.variable, geometry: self.geometry.clone() })
    }

    /// Takes back all changes since [`begin`](Self::begin).
    pub(crate) fn roll_back(&mut self, to: Snapshot) {
        self.editor.roll_back(to.editor);
        (self.variable, self.geometry) = (to.variable, to.geometry);
        self.unwritten.clear();
    }

    pub(super) fn store_chunk(&mut self, write: Option<ChunkWrite>, chunk: &[u8]) -> Result<(), EditError> {
        if let Some(ChunkWrite { address, replacement }) = write {
            let bytes = replacement.map_or_else(|| Bytes::copy_from_slice(chunk), Bytes::from);
            self.unwritten.push_back((address, bytes));
        }
        // The change is made already. Should the store fail, the next call says so before it does anything else, and
        // goes on with this chunk; a caller who sees an error therefore knows that the call has changed nothing.
        let _ = self.write_chunks();
        Ok(())
    }

    pub(super) fn write_chunks(&mut self) -> Result<(), EditError> {
        while let Some((address, bytes)) = self.unwritten.front() {
            match *address {
                ChunkAddress::Offset(at) => self.store.write_at(at, bytes)?,
                ChunkAddress::File(id) => self.store.write_chunk_file(id, bytes)?,
            }
            self.unwritten.pop_front();
        }
        Ok(())
    }

    /// Before anything is changed: nothing must be left of what was changed before.
    pub(super) fn check_committed(&mut self) -> Result<(), EditError> {
        if self.unfinished.is_some() { Err(EditError::Uncommitted) } else { self.write_chunks() }
    }

    /// What was an array must be one still.
    fn check_array(&self) -> Result<(), EditError> {
        if self.geometry.is_none() {
            return Ok(());
        }
        let checked = array_in(self.editor.metalayers(), &self.sizes()).transpose();
        checked.map(drop).map_err(EditError::NoArray)
    }
}

/// An editor before several changes.
pub(crate) struct Snapshot {
    editor: frame::FrameEditor,
    variable: bool,
    geometry: Option<Geometry>,
}

/// Every step can be repeated, so a commit that failed is carried out again from the start.
fn carry_out(store: &mut impl Store, commit: &Commit) -> io::Result<()> {
    match commit {
        Commit::Patch { tail, patch, frame_len } => {
            if let Some((at, bytes)) = tail {
                store.write_at(*at, bytes)?;
            }
            if let Some((at, bytes)) = patch {
                // What the header will refer to must be there before it does.
                store.sync()?;
                store.write_at(*at, bytes)?;
                store.sync()?;
            }
            if store.size()? > *frame_len {
                store.truncate(*frame_len)?;
            }
        }
        Commit::Rewrite { head, tail_at, tail } => {
            store.replace_file(head, *tail_at, tail)?;
            store.sync()?;
        }
        Commit::Replace { index, remove } => {
            store.sync()?;
            store.replace_index(index)?;
            // What the old index refers to must stay until the new one is there for good.
            store.sync()?;
            for &id in remove {
                store.remove_chunk_file(id)?;
            }
        }
    }
    Ok(())
}
