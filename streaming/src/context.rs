//! Context added to I/O errors.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use thiserror::Error;

use crate::kind::ErrorKind;

/// The object, file or other source that a frame is read from was replaced while it was read.
///
/// Carried inside an [`io::Error`] from a [source](crate::source::RangeSource); readers give it as
/// [`ReadError::Replaced`](crate::ReadError::Replaced).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place} was replaced while it was read: refresh the reader, or open it again")]
#[non_exhaustive]
pub struct Replaced {
    /// What was replaced.
    pub place: String,
}

impl Replaced {
    /// For a source that finds its object replaced.
    pub fn new(place: impl fmt::Display) -> Self {
        Self { place: place.to_string() }
    }
}

impl From<Replaced> for io::Error {
    fn from(replaced: Replaced) -> Self {
        Self::new(io::ErrorKind::StaleNetworkFileHandle, replaced)
    }
}

/// An I/O error, and the file or object it concerns.
#[derive(Debug, Error)]
#[error("{what}")]
struct IoErrorContext {
    what: String,
    source: io::Error,
}

/// The error with the file or object it concerns, of the same kind and with the error as its source.
pub(crate) fn about(what: impl fmt::Display, source: io::Error) -> io::Error {
    io::Error::new(source.kind(), IoErrorContext { what: what.to_string(), source })
}

/// An error returned to several callers.
#[derive(Debug)]
pub(crate) struct SharedError(Arc<io::Error>);

impl SharedError {
    /// The kind of the error itself, which is not among its sources.
    pub(crate) fn kind(&self) -> ErrorKind {
        ErrorKind::of_io(&self.0)
    }
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for SharedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// The error again: of the same kind, with the same text and sources.
pub(crate) fn again(error: &Arc<io::Error>) -> io::Error {
    if let Some(code) = error.raw_os_error() {
        return io::Error::from_raw_os_error(code);
    }
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Replaced>()) {
        Some(replaced) => replaced.clone().into(),
        None => io::Error::new(error.kind(), SharedError(Arc::clone(error))),
    }
}
