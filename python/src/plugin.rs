//! Codecs and filters that are written in Python.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use oxiblosc::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc::plugin::Provider;
use oxiblosc::registry::{CodecInfo, FilterInfo};
use oxiblosc::{CodecId, FilterId};
use pyo3::prelude::*;

use crate::registry;

/// Where these plugins come from, in messages.
const PROVIDER: Provider = Provider { name: "python", version: env!("CARGO_PKG_VERSION") };

/// A pair of functions, called with `(input, output, meta, typesize)`. The first two are arrays of bytes; `output` is to
/// be filled.
#[derive(Clone)]
struct Functions {
    forward: Arc<Py<PyAny>>,
    backward: Arc<Py<PyAny>>,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Calls one of them. The lock is taken for the time of the call.
fn call<T>(
    function: &Py<PyAny>,
    src: &[u8],
    dst: &mut [u8],
    meta: u8,
    typesize: usize,
    take: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
) -> Result<T, Failure> {
    Python::attach(|py| {
        let (input, output) = (PyArray1::from_slice(py, src), vec![0; dst.len()].into_pyarray(py));
        let returned = take(&function.bind(py).call1((input, &output, meta, typesize))?)?;
        // Not a slice of the array: the function may have kept it, and may write to it on another thread.
        dst.copy_from_slice(&output.to_vec()?);
        Ok(returned)
    })
    .map_err(|e: PyErr| e.into())
}

#[derive(Clone)]
struct PythonCodec(Functions);

impl Codec for PythonCodec {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let len = call(&self.0.forward, src, dst, ctx.meta, ctx.block.typesize, |len| len.extract::<usize>())?;
        // As in python-blosc2, 0 says that the block is to be stored as it is.
        Ok((len > 0).then_some(len))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        Ok(call(&self.0.backward, src, dst, ctx.meta, ctx.block.typesize, |len| len.extract::<usize>())?)
    }
}

#[derive(Clone)]
struct PythonFilter(Functions);

impl Filter for PythonFilter {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        Ok(call(&self.0.forward, src, dst, ctx.meta, ctx.typesize, |_| Ok(()))?)
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        Ok(call(&self.0.backward, src, dst, ctx.meta, ctx.typesize, |_| Ok(()))?)
    }
}

/// Registers a codec for this process, with an id from 160 to 255.
#[pyfunction]
pub(crate) fn register_codec(
    py: Python<'_>,
    name: String,
    id: u8,
    encoder: Py<PyAny>,
    decoder: Py<PyAny>,
    version: u8,
) -> PyResult<()> {
    let functions = Functions { forward: Arc::new(encoder), backward: Arc::new(decoder) };
    let traits = CodecTraits::PLAIN.with_version(version);
    registry::change(py, |registry| {
        // Names live as long as the process, as the plugins do.
        let info = CodecInfo::new(CodecId(id), name.leak(), traits, &PROVIDER);
        registry.add_codec(info, Box::new(PythonCodec(functions)))
    })
}

/// Registers a filter for this process, with an id from 160 to 255.
#[pyfunction]
pub(crate) fn register_filter(
    py: Python<'_>,
    name: String,
    id: u8,
    forward: Py<PyAny>,
    backward: Py<PyAny>,
) -> PyResult<()> {
    let functions = Functions { forward: Arc::new(forward), backward: Arc::new(backward) };
    registry::change(py, |registry| {
        let info = FilterInfo::new(FilterId(id), name.leak(), FilterTraits::LOSSLESS, &PROVIDER);
        registry.add_filter(info, Box::new(PythonFilter(functions)))
    })
}
