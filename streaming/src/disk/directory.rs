//! Directories, and files that are made in them to take the place of others.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// The directory in which `path` is.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Names in a directory are on the disk when the directory is.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// A temporary file beside `destination`, which it is to replace by a rename. It vanishes when it is dropped before.
///
/// Temporary files are private by default; this one is to become an ordinary file, under the user's umask. If there is
/// a file to be replaced, whoever could read that can read the new one, and nobody else.
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
