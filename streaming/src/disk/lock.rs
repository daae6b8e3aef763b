//! Locks that let one writer at a time change a frame.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

/// Locks a file or directory against other writers while `file` is open. Readers are not affected. Where the system or
/// file system has no locks, this does nothing.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when another writer has locked it.
pub(crate) fn lock(file: &File, path: &Path) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::WouldBlock, format!("{} is being edited already", path.display())))
        }
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

/// Releases the lock. Closing the file does that only once nobody else has it open, and a child process that is being
/// started briefly has all files of its parent open.
pub(crate) fn unlock(file: &File) {
    let _ = file.unlock();
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
