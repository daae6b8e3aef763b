//! Directories, and temporary files in them that replace others.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// The directory in which `path` is.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs a directory: the names in it are on the disk only then.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// A temporary file next to `destination`, to replace it by a rename. It is removed if dropped before that.
///
/// Temporary files are private by default; this one becomes an ordinary file and follows the user's umask. If it
/// replaces a file, it takes over that file's permissions.
pub(crate) fn temporary_beside(destination: &Path) -> io::Result<NamedTempFile> {
    let mut prefix = OsString::from(".");
    prefix.push(destination.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(parent_of(destination))?;
    if let Ok(replaced) = destination.metadata() {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}
