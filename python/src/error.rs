//! Errors of the library as Python exceptions.

use std::error::Error;
use std::{fmt, io};

use oxiblosc::codec::CodecError;
use oxiblosc::filter::FilterError;
use oxiblosc::{Chain, ErrorKind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// The exception for an error, with the texts of all its causes in one line. An exception that a Python object of the
/// caller has raised on the way, say a file, is passed on as it is.
pub(crate) fn raise(py: Python<'_>, error: impl Error + Send + Sync + 'static) -> PyErr {
    if let Some(original) = python_error(py, &error) {
        return original;
    }
    new(py, class(ErrorKind::of(&error)), Chain(&error).to_string())
}

/// What a failed system call was about.
#[derive(Debug)]
pub(crate) struct PlaceError {
    pub(crate) place: String,
    pub(crate) source: io::Error,
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl Error for PlaceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

pub(crate) fn invalid(py: Python<'_>, text: impl Into<String>) -> PyErr {
    new(py, "InvalidInputError", text.into())
}

/// NumPy has no array of this shape.
pub(crate) fn too_large(py: Python<'_>, shape: &[u64], reason: &PyErr) -> PyErr {
    new(py, "LimitError", format!("NumPy has no array of shape {shape:?}: {}", reason.value(py)))
}

pub(crate) fn cancelled(py: Python<'_>) -> PyErr {
    new(py, "CancelledError", "the work was cancelled".to_owned())
}

/// The work of another call on this object ended in a panic, or it is closed.
pub(crate) fn closed(py: Python<'_>, what: &str) -> PyErr {
    new(py, "ClosedError", format!("{what} is closed"))
}

pub(crate) fn after_fork(py: Python<'_>, what: &str) -> PyErr {
    new(
        py,
        "ForkError",
        format!("{what} was used before this process was forked, and its threads have stayed behind: use `spawn`"),
    )
}

fn class(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound | ErrorKind::NoSuchBucket => "NotFoundError",
        ErrorKind::PermissionDenied => "AccessError",
        ErrorKind::AlreadyExists => "AlreadyExistsError",
        ErrorKind::Precondition => "ConflictError",
        ErrorKind::Replaced => "ReplacedError",
        ErrorKind::Transient | ErrorKind::StorageFull => "StorageError",
        ErrorKind::TimedOut => "StorageTimeoutError",
        ErrorKind::OutOfMemory => "OutOfMemoryError",
        ErrorKind::Cancelled => "CancelledError",
        ErrorKind::Unfinished => "UnfinishedError",
        ErrorKind::Damaged | ErrorKind::UnexpectedEnd => "DamagedError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::InvalidInput => "InvalidInputError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::NoProvider => "MissingPluginError",
        ErrorKind::Panicked => "PluginPanicError",
        ErrorKind::Closed => "ClosedError",
        _ => "OxibloscError",
    }
}

/// The classes are written in Python, where a class can have two bases: `NotFoundError` is a `FileNotFoundError` too.
fn new(py: Python<'_>, class: &str, text: String) -> PyErr {
    let module = MODULE.get_or_try_init(py, || Ok::<_, PyErr>(py.import("oxiblosc._errors")?.unbind()));
    let made = module.and_then(|module| module.bind(py).getattr(class)?.call1((&text,)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(_) => PyRuntimeError::new_err(text),
    }
}

/// The Python exception inside an error, if there is one.
fn python_error(py: Python<'_>, error: &(dyn Error + 'static)) -> Option<PyErr> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<PyErr>() {
            return Some(found.clone_ref(py));
        }
        // These stand for the error inside, and so does their source.
        let plugin = match (error.downcast_ref::<CodecError>(), error.downcast_ref::<FilterError>()) {
            (Some(CodecError::Other(inner)), _) | (_, Some(FilterError::Other(inner))) => inner.downcast_ref::<PyErr>(),
            _ => None,
        };
        if let Some(found) = plugin {
            return Some(found.clone_ref(py));
        }
        if let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            // Its source is that of the error inside, which would be left out.
            if let Some(found) = python_error(py, inner) {
                return Some(found);
            }
        }
        next = error.source();
    }
    None
}
