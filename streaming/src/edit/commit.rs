//! Writing chunks to the store, and the commit that makes them part of the frame.

use std::io;

use bytes::Bytes;
use oxiblosc_core::frame::{self, ChunkAddress, ChunkWrite, EditCommit};
use oxiblosc_core::nd::Geometry;

use super::editor::array_in;
use super::{EditError, FrameEditor, Store};

impl<S: Store> FrameEditor<S> {
    /// Makes all changes since the last commit take effect together.
    ///
    /// # Errors
    /// [`EditError::NoArray`] when chunks of an array were added or removed so that they contradict its shape.
    /// Otherwise either the old frame is still in place or the new one already is; calling again continues.
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

    /// The state to roll back to if not all of several changes succeed.
    pub(crate) fn begin(&mut self) -> Result<EditorSnapshot, EditError> {
        // Chunks that are unwritten at a rollback then all belong to the changes that it undoes.
        self.check_committed()?;
        Ok(EditorSnapshot { editor: self.editor.clone(), variable: self.variable, geometry: self.geometry.clone() })
    }

    /// Undoes all changes since [`begin`](Self::begin).
    pub(crate) fn roll_back(&mut self, to: EditorSnapshot) {
        self.editor.roll_back(to.editor);
        (self.variable, self.geometry) = (to.variable, to.geometry);
        self.unwritten.clear();
    }

    pub(super) fn store_chunk(&mut self, write: Option<ChunkWrite>, chunk: &[u8]) -> Result<(), EditError> {
        if let Some(ChunkWrite { address, replacement }) = write {
            let bytes = replacement.map_or_else(|| Bytes::copy_from_slice(chunk), Bytes::from);
            self.unwritten.push_back((address, bytes));
        }
        // The change is already made. If the store fails, the next call reports that before it does anything else, and
        // retries this chunk. So an error always means that the call has changed nothing.
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

    /// Checked before any change: an earlier commit must not be left unfinished.
    pub(super) fn check_committed(&mut self) -> Result<(), EditError> {
        if self.unfinished.is_some() { Err(EditError::Uncommitted) } else { self.write_chunks() }
    }

    /// An array must still be one.
    fn check_array(&self) -> Result<(), EditError> {
        if self.geometry.is_none() {
            return Ok(());
        }
        let checked = array_in(self.editor.metalayers(), &self.sizes()).transpose();
        checked.map(drop).map_err(EditError::NoArray)
    }
}

/// The state of an editor before several changes.
pub(crate) struct EditorSnapshot {
    editor: frame::FrameEditor,
    variable: bool,
    geometry: Option<Geometry>,
}

/// Every step can be repeated, so a failed commit is carried out again from the start.
fn carry_out(store: &mut impl Store, commit: &EditCommit) -> io::Result<()> {
    match commit {
        EditCommit::Patch { tail, patch, frame_len } => {
            if let Some((at, bytes)) = tail {
                store.write_at(*at, bytes)?;
            }
            if let Some((at, bytes)) = patch {
                // What the header will refer to must be on the disk first.
                store.sync()?;
                store.write_at(*at, bytes)?;
                store.sync()?;
            }
            if store.size()? > *frame_len {
                store.truncate(*frame_len)?;
            }
        }
        EditCommit::Rewrite { head, tail_at, tail } => {
            store.replace_file(head, *tail_at, tail)?;
            store.sync()?;
        }
        EditCommit::Replace { index, remove } => {
            store.sync()?;
            store.replace_index(index)?;
            // What the old index refers to must stay until the new one is on the disk.
            store.sync()?;
            for &id in remove {
                store.remove_chunk_file(id)?;
            }
        }
    }
    Ok(())
}
