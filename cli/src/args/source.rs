//! What the command line names as input or output.

use std::path::{Path, PathBuf};

/// A file, a directory, or one of the standard streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Standard,
    Path(PathBuf),
}

impl Source {
    /// What to call it in messages, as an input.
    pub(crate) fn name(&self) -> String {
        self.name_or("standard input")
    }

    /// What to call it in messages, as an output.
    pub(crate) fn output_name(&self) -> String {
        self.name_or("standard output")
    }

    /// Whether both are the same file or directory, by whatever names.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(a), Self::Path(b)) => is_same(a, b),
            _ => false,
        }
    }

    fn name_or(&self, stream: &str) -> String {
        match self {
            Self::Standard => stream.into(),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

#[cfg(unix)]
fn is_same(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let id = |path: &Path| path.metadata().ok().filter(|m| m.is_file() || m.is_dir()).map(|m| (m.dev(), m.ino()));
    id(a).is_some_and(|a| id(b) == Some(a))
}

#[cfg(not(unix))]
fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

impl From<std::ffi::OsString> for Source {
    fn from(name: std::ffi::OsString) -> Self {
        if name == "-" { Self::Standard } else { Self::Path(name.into()) }
    }
}
