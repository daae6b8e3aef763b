//! Memory that passes between the library and NumPy.

use bytes::Bytes;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error;

/// An array of bytes that owns what has been decoded. Nothing is copied: the library decodes into one buffer, which is
/// not shared with anything when it arrives here.
pub(crate) fn array(py: Python<'_>, bytes: Bytes) -> Bound<'_, PyArray1<u8>> {
    Vec::from(bytes).into_pyarray(py)
}

/// Bytes from this many on come from NumPy, which has the system use large pages for them: with small ones, getting the
/// memory takes a good part of the time that decoding takes. NumPy does so from the same number on.
pub(crate) const LARGE: usize = 4 << 20;

/// An array of zeros, in memory of NumPy's; `None` if there is not enough.
pub(crate) fn zeros(py: Python<'_>, len: usize) -> Option<Bound<'_, PyArray1<u8>>> {
    static ZEROS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = ZEROS.import(py, "numpy", "zeros").and_then(|zeros| zeros.call1((len, "u1"))).ok()?;
    made.cast_into().ok()
}

/// The bytes of an array, which must be contiguous.
pub(crate) fn slice<'a>(py: Python<'_>, array: &'a PyReadonlyArray1<'_, u8>) -> PyResult<&'a [u8]> {
    array.as_slice().map_err(|_| error::invalid(py, "the buffer is not contiguous"))
}
