//! One of several writers that fill an array.

use std::process;
use std::sync::Arc;

use bytes::Bytes;
use numpy::PyReadonlyArray1;
use oxiblosc::sparse::{MissingChunks, ShareError, SparsePlace, clear};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::cancel::Cancel;
use crate::drive::{Watch, drive};
use crate::location::Place;
use crate::options::Encoding;
use crate::writer::ArrayLayout;
use crate::{buffers, error, process as this_process, registry};

type AnyPlace = Arc<dyn SparsePlace>;

/// Writes some of the chunks of an array in a directory or under a prefix of objects, which others fill too.
#[pyclass(frozen, module = "oxiblosc._oxiblosc")]
pub(crate) struct SharedWriter {
    process: u32,
    writer: oxiblosc::SharedWriter<AnyPlace>,
}

fn place(py: Python<'_>, place: &Bound<'_, PyAny>) -> PyResult<AnyPlace> {
    let place = Place::new(place)?;
    place.check_process(py)?;
    py.detach(|| place.sparse_place()).map_err(|e| error::raise(py, e))
}

#[pymethods]
impl SharedWriter {
    /// Begins an array, or joins those who already fill it by the same plan. With `replace`, the commit replaces the array
    /// that is there.
    #[staticmethod]
    #[pyo3(signature = (url, encoding, array, replace=false, cancel=None))]
    fn create(
        py: Python<'_>,
        url: &Bound<'_, PyAny>,
        encoding: Encoding,
        array: ArrayLayout,
        replace: bool,
        cancel: Option<&Bound<'_, Cancel>>,
    ) -> PyResult<Self> {
        let (place, options) = (place(py, url)?, array.options(py, &encoding)?);
        let writer = drive(py, &Watch::cancelled_by(cancel), || async {
            match replace {
                true => oxiblosc::SharedWriter::replace_array(place, options).await,
                false => oxiblosc::SharedWriter::create_array(place, options).await,
            }
        })?;
        Ok(Self { process: process::id(), writer })
    }

    /// Joins those who fill an array.
    #[staticmethod]
    #[pyo3(signature = (url, nthreads=None, cancel=None))]
    fn open(
        py: Python<'_>,
        url: &Bound<'_, PyAny>,
        nthreads: Option<usize>,
        cancel: Option<&Bound<'_, Cancel>>,
    ) -> PyResult<Self> {
        let (place, registry, pool) = (place(py, url)?, registry::registry(py)?, this_process::pool(nthreads));
        let writer = drive(py, &Watch::cancelled_by(cancel), || async {
            oxiblosc::SharedWriter::open_on(place, &pool, &registry).await
        })?;
        Ok(Self { process: process::id(), writer })
    }

    /// Removes what writers have left that ended without a commit; the number of files.
    #[staticmethod]
    fn clear(py: Python<'_>, url: &Bound<'_, PyAny>) -> PyResult<u64> {
        let place = place(py, url)?;
        drive(py, &Watch::default(), || async { clear(&place).await })
    }

    /// Whether the plan was there before.
    #[getter]
    fn has_joined(&self) -> bool {
        self.writer.has_joined()
    }

    #[getter]
    fn nchunks(&self) -> u64 {
        self.writer.nchunks()
    }

    /// The shapes of the array, of its chunks and of its blocks.
    fn shapes<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
        let Some(tiling) = self.writer.tiling() else { return Err(error::invalid(py, "it is not an array")) };
        let geometry = tiling.geometry();
        Ok((
            PyTuple::new(py, &geometry.shape)?,
            PyTuple::new(py, &geometry.chunk_shape)?,
            PyTuple::new(py, &geometry.block_shape)?,
        ))
    }

    /// Writes the items of a chunk, in C order and without the padding at the edges of the array.
    #[pyo3(signature = (number, data, cancel=None))]
    fn write(
        &self,
        py: Python<'_>,
        number: u64,
        data: PyReadonlyArray1<'_, u8>,
        cancel: Option<&Bound<'_, Cancel>>,
    ) -> PyResult<()> {
        self.check(py)?;
        let data = Bytes::copy_from_slice(buffers::slice(py, &data)?);
        drive(py, &Watch::cancelled_by(cancel), || self.writer.write(number, data))
    }

    /// Makes the array visible. Chunks that nobody has written are an error, or are filled with `missing`: "zero", "nan" or
    /// "uninit".
    #[pyo3(signature = (missing=None, cancel=None))]
    fn commit<'py>(
        &self,
        py: Python<'py>,
        missing: Option<&str>,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.check(py)?;
        let missing = match missing {
            None => MissingChunks::Fail,
            Some("zero") => MissingChunks::Zero,
            Some("nan") => MissingChunks::Nan,
            Some("uninit") => MissingChunks::Uninit,
            Some(other) => return Err(error::invalid(py, format!("missing is {other:?}: zero, nan or uninit"))),
        };
        let summary = drive::<_, ShareError, _>(py, &Watch::cancelled_by(cancel), || self.writer.commit(missing))?;
        let info = PyDict::new(py);
        info.set_item("nchunks", summary.chunks)?;
        info.set_item("nbytes", summary.nbytes)?;
        info.set_item("cbytes", summary.cbytes)?;
        info.set_item("frame_len", summary.frame_len)?;
        Ok(info)
    }
}

impl SharedWriter {
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        if self.process == process::id() { Ok(()) } else { Err(error::after_fork(py, "a shared writer")) }
    }
}
