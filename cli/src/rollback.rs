//! Files and directories that roll back uncommitted changes.

use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;
use oxiblosc::block_on;
use oxiblosc::edit::{FrameFile, LockedFile};
use oxiblosc::source::ChunkFiles;
use oxiblosc::sparse::{Directory, FileVersion, SparsePlace};

use crate::interrupt::{CleanupGuard, undo_by};

/// Undoes `uncommitted` when the program is interrupted.
fn undo_on_signal<T: Uncommitted + Send + 'static>(uncommitted: &Arc<Mutex<T>>) -> CleanupGuard {
    let undone = Arc::clone(uncommitted);
    undo_by(move || {
        let mut shared = lock(&undone);
        shared.undo();
        // No thread may write again before the program has exited, so the lock is never released.
        mem::forget(shared);
    })
}

/// What has been written and is not part of the frame.
trait Uncommitted {
    /// Removes it, as far as possible, unless a commit has begun. The frame is intact in any case.
    fn undo(&mut self);
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file of a frame that is being changed. If it is dropped, or the program is interrupted, before a commit has
/// begun, what was written after the frame is removed. (It would do no harm, but take up space until the next
/// `compact`.)
pub(crate) struct RollbackFile {
    shared: Arc<Mutex<FileState>>,
    _undoing: CleanupGuard,
}

struct FileState {
    file: LockedFile,
    /// Length of the frame. A write before its end is the commit.
    frame_len: u64,
    /// Length of the file, which may already have bytes after the frame.
    size: u64,
    committing: bool,
}

impl RollbackFile {
    /// Opens the file of a frame of `frame_len` bytes.
    pub(crate) fn open(path: &Path, frame_len: u64) -> io::Result<Self> {
        let file = LockedFile::open(path, true)?;
        let size = file.size()?;
        let shared = Arc::new(Mutex::new(FileState { file, frame_len, size, committing: false }));
        Ok(Self { _undoing: undo_on_signal(&shared), shared })
    }
}

impl Uncommitted for FileState {
    fn undo(&mut self) {
        let began = mem::replace(&mut self.committing, true);
        if !began && self.file.size().is_ok_and(|size| size > self.size) {
            let _ = self.file.truncate(self.size);
        }
    }
}

impl Drop for RollbackFile {
    fn drop(&mut self) {
        lock(&self.shared).undo();
    }
}

impl FrameFile for RollbackFile {
    fn size(&self) -> io::Result<u64> {
        lock(&self.shared).file.size()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        lock(&self.shared).file.read_at(range)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        shared.committing |= at < shared.frame_len;
        shared.file.write_at(at, bytes)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        lock(&self.shared).file.truncate(size)
    }

    fn replace(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        shared.committing = true;
        shared.file.replace(head, tail_at, tail)
    }

    fn sync(&mut self) -> io::Result<()> {
        lock(&self.shared).file.sync()
    }
}

/// The directory of a frame that is being changed. If it is dropped, or the program is interrupted, before a commit has
/// begun, the new chunk files are removed.
pub(crate) struct RollbackDirectory {
    directory: Directory,
    shared: Arc<Mutex<FilesState>>,
    _undoing: CleanupGuard,
}

struct FilesState {
    directory: Directory,
    /// Chunk files that have been written.
    files: Vec<u32>,
    committing: bool,
}

impl RollbackDirectory {
    /// Locks the directory of a frame.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let directory = Directory::lock(path)?.io_mode(oxiblosc::IoMode::Inline).durable(true);
        let state = FilesState { directory: directory.clone(), files: Vec::new(), committing: false };
        let shared = Arc::new(Mutex::new(state));
        Ok(Self { directory, _undoing: undo_on_signal(&shared), shared })
    }
}

impl Uncommitted for FilesState {
    fn undo(&mut self) {
        if mem::replace(&mut self.committing, true) {
            return;
        }
        for id in mem::take(&mut self.files) {
            let _ = block_on(self.directory.remove_chunk(id));
        }
    }
}

impl Drop for RollbackDirectory {
    fn drop(&mut self) {
        lock(&self.shared).undo();
    }
}

impl ChunkFiles for RollbackDirectory {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        self.directory.read_files(ranges)
    }
}

impl SparsePlace for RollbackDirectory {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        // The lock is held until the file is there, so that a signal does not miss it.
        let mut shared = lock(&self.shared);
        shared.files.push(id);
        let put = block_on(self.directory.put_chunk(id, bytes));
        drop(shared);
        Box::pin(async move { put })
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.directory.create_chunk(id, bytes)
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        self.directory.chunks()
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.directory.index()
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        lock(&self.shared).committing = true;
        self.directory.put_index(index, replaces)
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        self.directory.remove_chunk(id)
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.directory.plan()
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.directory.put_plan(plan, replaces)
    }

    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        self.directory.remove_plan(version)
    }

    fn is_locked(&self) -> bool {
        self.directory.is_locked()
    }
}
