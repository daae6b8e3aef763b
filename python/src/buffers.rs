//! Memory that passes between the library and NumPy.

use bytes::Bytes;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error;

/// An array of bytes that owns what has been decoded. Nothing is copied: the library decodes into one buffer, which is
/// not shared with anything when it arrives here.
pub(crate) fn array(py: Python<'_>, bytes: Bytes) -> Bound<'_, PyArray1<u8>> {
    Vec::from(bytes).into_pyarray(py)
}

/// The bytes of an array, which must be contiguous.
pub(crate) fn slice<'a>(py: Python<'_>, array: &'a PyReadonlyArray1<'_, u8>) -> PyResult<&'a [u8]> {
    array.as_slice().map_err(|_| error::invalid(py, "the buffer is not contiguous"))
}
