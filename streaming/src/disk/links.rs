//! Symbolic links to files that do not exist yet.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A longer chain of links counts as a loop, as it does for the system.
const MOST_LINKS: usize = 40;

/// The path at which something created as `path` ends up: where the links lead, even if nothing exists there. (Only
/// existing paths can be canonicalized.)
pub(crate) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            // Not a link, or nothing there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("too many symbolic links to {}", path.display())))
}
