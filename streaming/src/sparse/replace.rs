//! Replacing a directory by another.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::directory::foreign_file;
use crate::disk::{Temporary, parent_of};

/// Checks that a directory may replace `path`.
pub(crate) fn check_replaceable(path: &Path) -> io::Result<()> {
    let refuse = |reason| Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => match foreign_file(path)? {
            Some(name) => refuse(format!(
                "{} cannot be replaced: it contains {name:?}, which is not part of a sparse frame",
                path.display(),
            )),
            None => Ok(()),
        },
        Ok(_) => refuse(format!("{} is not a sparse frame and cannot be replaced by one", path.display())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

impl Temporary for TempDir {
    fn rename(self, destination: &Path) -> Result<Option<Self>, (Self, io::Error)> {
        match replace_directory(self.path(), destination) {
            Ok(OldNameHolds::OldFrame) => Ok(Some(self)),
            Ok(OldNameHolds::Nothing) => {
                Temporary::keep(self);
                Ok(None)
            }
            Err(error) => Err((self, error)),
        }
    }

    fn remove(self) -> io::Result<()> {
        self.close()
    }

    fn keep(self) {
        let _: PathBuf = TempDir::keep(self);
    }
}

/// What is under the old name of a directory after it has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OldNameHolds {
    Nothing,
    /// The frame that was at its destination.
    OldFrame,
}

/// Moves a directory to `destination`, in one step if nothing is there or the system can exchange two names (Linux, on
/// most file systems). Elsewhere the old directory is moved aside first: for a moment there is nothing under the name,
/// but never half a frame.
fn replace_directory(directory: &Path, destination: &Path) -> io::Result<OldNameHolds> {
    if !destination.try_exists()? {
        fs::rename(directory, destination)?;
        return Ok(OldNameHolds::Nothing);
    }
    // A link is followed: what it points to is replaced, not the link.
    let destination = destination.canonicalize()?;
    check_replaceable(&destination)?;
    if exchange(directory, &destination).is_ok() {
        return Ok(OldNameHolds::OldFrame);
    }
    let aside = tempfile::Builder::new().prefix(".").suffix(".old").tempdir_in(parent_of(&destination))?;
    let old = aside.path().join("frame");
    fs::rename(&destination, &old)?;
    if let Err(e) = fs::rename(directory, &destination) {
        // Restore it; if that fails too, the old frame must not be deleted with the temporary directory.
        if fs::rename(&old, &destination).is_err() {
            let _ = aside.keep();
        }
        return Err(e);
    }
    aside.close()?;
    Ok(OldNameHolds::Nothing)
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
