//! One buffer, one chunk.

use numpy::PyReadonlyArray1;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, ChunkHeader};
use oxiblosc::{Inline, WriteError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::options::Encoding;
use crate::{buffers, error, process, registry};

/// Compresses a buffer to a chunk.
#[pyfunction]
pub(crate) fn compress<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    encoding: Encoding,
) -> PyResult<Bound<'py, PyBytes>> {
    let data = buffers::slice(py, &data)?;
    let (params, registry) = encoding.params(py)?;
    let pool = encoding.pool();
    let chunk = py.detach(|| {
        let encoder = ChunkEncoder::new(&params.standalone(), &registry);
        let mut encoder = encoder.map_err(|source| WriteError::Params(source.into()))?;
        let chunk = match pool.threads() {
            0 => encoder.encode(data, &ChunkContext::default(), &Inline),
            _ => encoder.encode(data, &ChunkContext::default(), &pool),
        };
        chunk.map_err(|source| WriteError::Encode { chunk: 0, source: source.into() })
    });
    Ok(PyBytes::new(py, &chunk.map_err(|e| error::raise(py, e))?))
}

/// Decodes a chunk of Blosc2 or Blosc 1 into the bytes object that is returned.
#[pyfunction]
#[pyo3(signature = (chunk, nthreads=None))]
pub(crate) fn decompress<'py>(
    py: Python<'py>,
    chunk: PyReadonlyArray1<'py, u8>,
    nthreads: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let chunk = buffers::slice(py, &chunk)?;
    let (registry, pool) = (registry::registry(py)?, process::pool(nthreads));
    let header = ChunkHeader::parse(chunk).map_err(|e| error::raise(py, e))?;
    PyBytes::new_with(py, header.nbytes, |out| {
        let decoded = py.detach(|| {
            let mut decoder = ChunkDecoder::new(&registry);
            match pool.threads() {
                0 => decoder.decode_into(chunk, &ChunkContext::default(), out, &Inline),
                _ => decoder.decode_into(chunk, &ChunkContext::default(), out, &pool),
            }
        });
        decoded.map_err(|e: ChunkError| error::raise(py, e))
    })
}

/// What the header of a chunk says.
#[pyfunction]
pub(crate) fn chunk_info<'py>(py: Python<'py>, chunk: PyReadonlyArray1<'py, u8>) -> PyResult<Bound<'py, PyDict>> {
    let header = ChunkHeader::parse(buffers::slice(py, &chunk)?).map_err(|e| error::raise(py, e))?;
    let info = PyDict::new(py);
    info.set_item("nbytes", header.nbytes)?;
    info.set_item("cbytes", header.cbytes)?;
    info.set_item("blocksize", header.blocksize)?;
    info.set_item("typesize", header.typesize)?;
    Ok(info)
}
