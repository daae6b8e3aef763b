//! Locks on frames that are about to be replaced.

use std::io;
use std::path::Path;

use super::LockedFile;
use crate::sparse::Directory;

/// A lock on a frame in a file or directory, for programs that read it and then put another one in its place, as
/// [`compact`](super::compact) does. While this exists, no editor can open the frame, where the system supports it.
/// Readers are not affected.
#[derive(Debug)]
pub struct FrameLock(#[expect(dead_code, reason = "held, not used")] Locked);

#[derive(Debug)]
#[expect(dead_code, reason = "held, not used")]
enum Locked {
    File(LockedFile),
    Directory(Directory),
}

impl FrameLock {
    /// Locks the frame at `path`.
    ///
    /// # Errors
    /// When there is nothing, and [`io::ErrorKind::WouldBlock`] when an editor has locked it.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        Ok(Self(match path.is_dir() {
            true => Locked::Directory(Directory::lock(path)?),
            false => Locked::File(LockedFile::open(path, true)?),
        }))
    }
}
