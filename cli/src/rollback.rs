//! A store that rolls back uncommitted changes.

use std::io;
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use oxiblosc::edit::{FileStore, Store};

use crate::interrupt::{CleanupGuard, undo_by};

/// A frame that is being changed. If it is dropped, or the program is interrupted, before a commit has started, what
/// was written after the frame is removed. (It would do no harm, but take up space until the next `compact`.)
pub(crate) struct RollbackStore {
    shared: Arc<Mutex<StoreState>>,
    _undoing: CleanupGuard,
}

struct StoreState {
    store: FileStore,
    /// Length of the frame. A write before its end is the commit.
    frame_len: u64,
    /// Length of the file, which may already have bytes after the frame.
    size: u64,
    /// Chunk files that have been written.
    files: Vec<u32>,
    committing: bool,
}

impl RollbackStore {
    /// Opens a frame of `frame_len` bytes, or one in a directory whose index has that many.
    pub(crate) fn open(path: &Path, frame_len: u64) -> io::Result<Self> {
        let store = FileStore::open(path, true)?;
        let size = store.size()?;
        let shared = StoreState { store, frame_len, size, files: Vec::new(), committing: false };
        let shared = Arc::new(Mutex::new(shared));
        let undone = Arc::clone(&shared);
        let undoing = undo_by(move || {
            let mut shared = lock(&undone);
            shared.revoke();
            // No thread may write again before the program has exited, so the lock is never released.
            mem::forget(shared);
        });
        Ok(Self { shared, _undoing: undoing })
    }
}

impl StoreState {
    /// Removes what has been written, as far as possible. The frame is intact in any case.
    fn revoke(&mut self) {
        if mem::replace(&mut self.committing, true) {
            return;
        }
        for id in mem::take(&mut self.files) {
            let _ = self.store.remove_chunk_file(id);
        }
        if self.store.size().is_ok_and(|size| size > self.size) {
            let _ = self.store.truncate(self.size);
        }
    }
}

fn lock(shared: &Mutex<StoreState>) -> MutexGuard<'_, StoreState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for RollbackStore {
    fn drop(&mut self) {
        lock(&self.shared).revoke();
    }
}

impl Store for RollbackStore {
    fn size(&self) -> io::Result<u64> {
        lock(&self.shared).store.size()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        lock(&self.shared).store.read_at(range)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        shared.committing |= at < shared.frame_len;
        shared.store.write_at(at, bytes)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        lock(&self.shared).store.truncate(size)
    }

    fn replace_file(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        shared.committing = true;
        shared.store.replace_file(head, tail_at, tail)
    }

    fn sync(&mut self) -> io::Result<()> {
        lock(&self.shared).store.sync()
    }

    fn is_sparse(&self) -> bool {
        lock(&self.shared).store.is_sparse()
    }

    fn read_chunk_file(&self, id: u32, range: Range<u64>) -> io::Result<Bytes> {
        lock(&self.shared).store.read_chunk_file(id, range)
    }

    fn write_chunk_file(&mut self, id: u32, bytes: &[u8]) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        shared.files.push(id);
        shared.store.write_chunk_file(id, bytes)
    }

    fn replace_index(&mut self, index: &[u8]) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        shared.committing = true;
        shared.store.replace_index(index)
    }

    fn remove_chunk_file(&mut self, id: u32) -> io::Result<()> {
        lock(&self.shared).store.remove_chunk_file(id)
    }
}
