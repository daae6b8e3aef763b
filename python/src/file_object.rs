//! Python objects that read or write like files.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use oxiblosc::source::RangeSource;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// A Python object with `read` and `seek`, or with `write`. Clones are the same object.
#[derive(Clone)]
pub(crate) struct FileObject {
    file: Arc<Py<PyAny>>,
    /// Its position is one for all readers. Taken before the interpreter is attached, never after.
    position: Arc<Mutex<()>>,
}

impl FileObject {
    pub(crate) fn new(file: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !file.hasattr("read")? && !file.hasattr("write")? {
            let kind = file.get_type().name()?;
            return Err(PyTypeError::new_err(format!("expected a path, a URL, bytes or a file object, not {kind}")));
        }
        Ok(Self { file: Arc::new(file.clone().unbind()), position: Arc::default() })
    }

    fn with<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        let _position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        Python::attach(|py| work(self.file.bind(py))).map_err(io::Error::other)
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let len = range.end - range.start;
        self.with(|file| {
            file.call_method1("seek", (range.start,))?;
            let first = read(file, len)?;
            if first.len() as u64 >= len {
                return Ok(first);
            }
            let mut all = BytesMut::from(first);
            while (all.len() as u64) < len {
                let more = read(file, len - all.len() as u64)?;
                if more.is_empty() {
                    break;
                }
                all.extend_from_slice(&more);
            }
            Ok(all.freeze())
        })
        .and_then(|bytes| match bytes.len() as u64 == len {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        })
    }
}

fn read(file: &Bound<'_, PyAny>, len: u64) -> PyResult<Bytes> {
    Ok(Bytes::from_owner(file.call_method1("read", (len,))?.extract::<PyBackedBytes>()?))
}

impl RangeSource for FileObject {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        let size = self.with(|file| {
            file.call_method1("seek", (0, 2))?;
            file.call_method0("tell")?.extract()
        });
        Box::pin(std::future::ready(size))
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        Box::pin(async move {
            let size = self.size().await?;
            if ranges.iter().any(|range| range.end > size || range.start > range.end) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            ranges.into_iter().map(|range| self.read_at(range)).collect()
        })
    }

    fn is_immediate(&self) -> bool {
        true
    }
}

impl Write for FileObject {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| {
            let written = file.call_method1("write", (PyBytes::new(file.py(), bytes),))?;
            // Some objects return nothing, and have taken all.
            if written.is_none() { Ok(bytes.len()) } else { written.extract() }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|file| match file.hasattr("flush")? {
            true => file.call_method0("flush").map(drop),
            false => Ok(()),
        })
    }
}
