//! Locks that let one writer at a time change a frame.

use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::Deref;
use std::path::Path;

/// An open file or directory that is unlocked when it is dropped, if it is locked.
///
/// Closing the file releases a lock only once no process has it open any more. A child process that is being started
/// briefly has all files of its parent open, and a forked one that runs no other program keeps them.
#[derive(Debug)]
pub(crate) struct Handle {
    file: File,
    is_locked: bool,
}

/// Locks a file or directory against other writers until the handle is dropped. Readers are not affected. Where the
/// system or file system has no locks, this does nothing.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when another writer has locked it.
pub(crate) fn lock(file: File, path: &Path) -> io::Result<Handle> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let message = format!("another process is editing {}, or another editor: try again later", path.display());
            Err(io::Error::new(io::ErrorKind::WouldBlock, message))
        }
        Err(TryLockError::Error(_)) => Ok(file.into()),
        Ok(()) => Ok(Handle { file, is_locked: true }),
    }
}

/// How many times opening is retried if the frame is replaced meanwhile.
pub(crate) const TRIES: usize = 8;

/// The error if a frame is not the one that was opened any more.
pub(crate) fn replaced_by_another(path: &Path) -> io::Error {
    io::Error::other(format!("{} has been replaced by another program", path.display()))
}

/// As [`lock`], but waits until no other writer has locked it.
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
