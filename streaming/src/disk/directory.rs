//! Directories, and temporary files in them that replace others.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile, TempDir, TempPath};

/// The end of temporary names.
const SUFFIX: &str = ".part";
/// Random characters before it.
const RANDOM: usize = 6;
/// The longest part of another name in a temporary one, in bytes: file systems have names of up to 255 bytes.
const LONGEST: usize = 255 - ".".len() - ".".len() - RANDOM - SUFFIX.len();

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
    let file = with_temporary_name(destination, 0o666, |builder| builder.tempfile_in(parent_of(destination)))?;
    if let Ok(replaced) = destination.metadata() {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}

/// The same for a directory.
pub(crate) fn temporary_directory_beside(destination: &Path) -> io::Result<TempDir> {
    with_temporary_name(destination, 0o777, |builder| builder.tempdir_in(parent_of(destination)))
}

/// `make`s something whose name says that it is a part of `destination`.
fn with_temporary_name<T>(
    destination: &Path,
    #[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix has modes"))] mode: u32,
    make: impl FnOnce(&Builder<'_, '_>) -> io::Result<T>,
) -> io::Result<T> {
    let mut prefix = OsString::from(".");
    prefix.push(shortened(destination.file_name().unwrap_or_default()));
    prefix.push(".");
    let mut builder = Builder::new();
    builder.prefix(&prefix).rand_bytes(RANDOM).suffix(SUFFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    make(&builder)
}

/// The name, or as much of it as leaves room for the rest of a temporary name.
fn shortened(name: &OsStr) -> Cow<'_, OsStr> {
    if name.len() <= LONGEST {
        return name.into();
    }
    let mut text = name.to_string_lossy().into_owned();
    let len = (0..=LONGEST).rev().find(|&len| text.is_char_boundary(len)).unwrap_or(0);
    text.truncate(len);
    OsString::from(text).into()
}

/// What a file becomes that has such a temporary name; `None` if it has none.
pub(crate) fn temporary_of(name: &str) -> Option<&str> {
    let (name, random) = name.strip_prefix('.')?.strip_suffix(SUFFIX)?.rsplit_once('.')?;
    (random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(name)
}

/// Writes a temporary file that is to replace the file at `path`. If it is to be `durable`, its content is on the disk
/// afterwards, and so are the names of files written before.
pub(crate) fn write_beside(path: &Path, bytes: &[u8], durable: bool) -> io::Result<TempPath> {
    let mut file = temporary_beside(path)?;
    file.write_all(bytes)?;
    if durable {
        file.as_file().sync_all()?;
        // An index must not be on the disk before the names of the chunk files that it needs.
        sync_directory(parent_of(path))?;
    }
    Ok(file.into_temp_path())
}

/// Gives a temporary file its name.
pub(crate) fn replace_file(temporary: TempPath, path: &Path) -> io::Result<()> {
    temporary.persist(path).map_err(|failed| failed.error)
}
