//! Locks that let one writer at a time change a frame.

use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::Deref;
use std::path::Path;

/// An open file or directory, which others may change again when this is dropped, if it is locked.
///
/// Closing the file is not enough: a lock stays as long as anybody has the file open, and a process that is being started
/// has all files of its parent for a moment; one that was forked and runs no other program, as long as it lives.
#[derive(Debug)]
pub(crate) struct Handle {
    file: File,
    is_locked: bool,
}

/// Keeps other writers away from a file or directory; readers are not affected. Not every system or file system has
/// locks; where there are none, everything goes on without.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when another writer has locked it.
pub(crate) fn lock(file: File, path: &Path) -> io::Result<Handle> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::WouldBlock, format!("{} is being edited already", path.display())))
        }
        Err(TryLockError::Error(_)) => Ok(file.into()),
        Ok(()) => Ok(Handle { file, is_locked: true }),
    }
}

/// As [`lock`], when whoever has it now has gone.
pub(crate) fn lock_later(file: File) -> Handle {
    let is_locked = file.lock().is_ok();
    Handle { file, is_locked }
}

impl From<File> for Handle {
    fn from(file: File) -> Self {
        Self { file, is_locked: false }
    }
}

impl Deref for Handle {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.is_locked {
            let _ = self.file.unlock();
        }
    }
}

/// Whether `path` still leads to `file` and has not been replaced.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let here = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((here.dev(), here.ino()) == (there.dev(), there.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Other systems do not allow open files to be replaced.
#[cfg(not(unix))]
pub(crate) fn is_at(_file: &File, path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| true)
}
