//! Removing chunk files that no index names from a place that others write to.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use oxiblosc_core::frame::ChunkEntry;

use super::{EditError, EditOptions};
use crate::background::{Finishing, settle};
use crate::sparse::{SparsePlace, begin_clearing, end_clearing, remove_chunks};

/// Removes the chunk files of a sparse frame that its index does not name: those that edits have replaced, and those of
/// writers that have died. Returns how many there were.
///
/// Others may go on reading and editing. A reader of an older index finds chunks missing, and has to
/// [refresh](crate::FrameReader::refresh). An editor that was opened before fails with [`EditError::Conflict`], because
/// the index is written anew first; its chunks may have been removed, so that it cannot always
/// [rebase](super::FrameEditor::rebase). While files are removed, editors cannot be opened
/// ([`io::ErrorKind::WouldBlock`](std::io::ErrorKind::WouldBlock)).
///
/// # Errors
/// As [`EditOptions::edit_sparse`]; [`EditError::Conflict`] when somebody else commits at the same moment, and
/// [`EditError::Change`] when the frame has so many metalayers that editors would not notice. Nothing has been removed
/// then. When the place fails, some of the files may have been removed. After any error the call may be repeated.
///
/// If the future is dropped after it has been polled, the work is completed in the background
/// ([`settle`](crate::settle()) waits for it). If the process dies, a note stays behind, `chunks.b2frame.plan`; once
/// there are no editors, [`sparse::clear`](crate::sparse::clear()) removes it.
pub async fn compact_place(place: impl SparsePlace) -> Result<u64, EditError> {
    EditOptions::new().compact_place(place).await
}

pub(super) async fn compact_with(place: Arc<dyn SparsePlace>, options: EditOptions) -> Result<u64, EditError> {
    match Finishing::new(compact(Arc::clone(&place), options.clone())).await {
        Err(EditError::Store(error)) if error.kind() == io::ErrorKind::WouldBlock => {
            // It may be an earlier call whose future was dropped.
            settle().await;
            Finishing::new(compact(place, options)).await
        }
        result => result,
    }
}

/// Must not be dropped half-way: requests that are in progress could remove files later, of editors that have begun
/// since.
async fn compact(place: Arc<dyn SparsePlace>, options: EditOptions) -> Result<u64, EditError> {
    // No editor is opened from here on: it would look for the note after reading the index.
    let note = begin_clearing(&*place).await?;
    let removed = remove_unnamed(&place, options).await;
    let ended = end_clearing(&*place, note).await;
    let removed = removed?;
    ended?;
    Ok(removed)
}

async fn remove_unnamed(place: &Arc<dyn SparsePlace>, options: EditOptions) -> Result<u64, EditError> {
    // An editor that was opened before must not commit chunks that are removed here.
    let mut editor = options.edit_cleared(Arc::clone(place)).await?;
    let highest = place.chunks().await?.into_keys().next_back();
    editor.touch(highest).await?;
    let named: BTreeSet<u32> = (0..editor.nchunks())
        .filter_map(|i| match editor.entry(i) {
            Ok(ChunkEntry::File { id }) => Some(id),
            _ => None,
        })
        .collect();
    // An editor of a locked place finds out from the file of the highest number which numbers have been in use.
    let kept = highest.filter(|_| place.is_locked());
    let unnamed = |file: &u32| !named.contains(file) && kept != Some(*file);
    let files: Vec<u32> = place.chunks().await?.into_keys().filter(unnamed).collect();
    let removed = files.len() as u64;
    remove_chunks(&**place, files).await?;
    Ok(removed)
}
