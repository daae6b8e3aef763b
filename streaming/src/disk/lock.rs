//! Frames that one writer changes at a time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

/// Keeps other writers away from a file or directory as long as `file` is open; readers are not affected. Not every
/// system or file system has locks; where there are none, everything goes on without.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when somebody else changes it.
pub(crate) fn lock(file: &File, path: &Path) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::WouldBlock, format!("{} is being edited already", path.display())))
        }
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

/// Lets others change it again. Closing the file does that only when nobody else has it open, and a process that is being
/// started has, for a moment, all files that its parent has.
pub(crate) fn unlock(file: &File) {
    let _ = file.unlock();
}

/// Whether `path` still leads to `file`, and not to what has replaced it.
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

/// Other systems do not let open files be replaced.
#[cfg(not(unix))]
pub(crate) fn is_at(_file: &File, path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| true)
}
