//! Symbolic links to what is not there yet.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// More links one behind the other than this lead in a circle, for the system too.
const MOST_LINKS: usize = 40;

/// Where something made under the name `path` would be: where the links lead, even if nothing is there. (To
/// canonicalize a path, it must exist.)
pub(crate) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            // Not a link, or nothing at all.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is behind too many links", path.display())))
}
