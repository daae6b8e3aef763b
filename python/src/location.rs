//! Where a frame is, as Python names it: a path, a URL, bytes, or an object like a file.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use oxiblosc::location::{Location, ObjectLocation};
use oxiblosc::object::ObjectPrefix;
use oxiblosc::source::{FileSource, RangeSource};
use oxiblosc::sparse::{Directory, SparsePlace};
use oxiblosc::{Chain, IoMode};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::error;
use crate::file_object::FileObject;
use crate::process;

/// What a reader or writer was given.
#[derive(Clone)]
pub(crate) enum Place {
    Path(PathBuf),
    Object(ObjectLocation),
    Bytes(Bytes),
    File(FileObject),
}

impl Place {
    /// # Errors
    /// When it is a URL of an unknown kind, and `TypeError` when it is nothing of that sort.
    pub(crate) fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = given.py();
        if let Ok(bytes) = given.extract::<PyBackedBytes>() {
            return Ok(Self::Bytes(Bytes::from_owner(bytes)));
        }
        let text = match given.extract::<String>() {
            Ok(text) => text,
            Err(_) => {
                if !given.hasattr("__fspath__")? {
                    return FileObject::new(given).map(Self::File);
                }
                return Ok(Self::Path(absolute(given.extract()?)));
            }
        };
        match Location::parse(&text).map_err(|e| error::invalid(py, Chain(&e).to_string()))? {
            Location::Local(path) => Ok(Self::Path(absolute(path))),
            Location::Object(object) => {
                process::use_remote(py)?;
                Ok(Self::Object(object))
            }
            _ => Err(error::invalid(py, format!("{text}: this kind of URL is not supported"))),
        }
    }

    /// Opens it for reading.
    pub(crate) async fn source(&self) -> io::Result<Box<dyn RangeSource>> {
        Ok(match self {
            Self::Path(path) => Box::new(FileSource::open_inline(path)?),
            Self::Object(object) => Box::new(object.source().await?),
            Self::Bytes(bytes) => Box::new(bytes.clone()),
            Self::File(file) => Box::new(file.clone()),
        })
    }

    /// The files of a sparse frame, for writers that may be many.
    pub(crate) fn sparse_place(&self) -> io::Result<Arc<dyn SparsePlace>> {
        match self {
            Self::Path(path) => Ok(Arc::new(Directory::new(path)?.io_mode(IoMode::Inline))),
            Self::Object(object) => Ok(Arc::new(prefix(object)?)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no directory and no prefix of objects")),
        }
    }

    /// Says that an object store is used, which a child that was forked after it cannot do.
    pub(crate) fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        match self {
            Self::Object(_) => process::use_remote(py),
            _ => Ok(()),
        }
    }
}

/// The objects of a sparse frame.
pub(crate) fn prefix(object: &ObjectLocation) -> io::Result<ObjectPrefix> {
    Ok(ObjectPrefix::with_store(Arc::clone(object.store()?), object.path().clone()))
}

/// A program may change its directory while a file is open.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Object(object) => write!(f, "{object}"),
            Self::Bytes(_) => f.write_str("bytes"),
            Self::File(_) => f.write_str("file object"),
        }
    }
}
