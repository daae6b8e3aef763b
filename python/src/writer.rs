//! Writing a frame or an array as a stream.

use std::process;
use std::sync::Arc;

use futures::io::AsyncWriteExt;
use futures::lock::Mutex;
use numpy::PyReadonlyArray1;
use oxiblosc::nd::{ArrayError, ArrayOptions, NdSink};
use oxiblosc::{FrameSink, Summary};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::cancel::Cancel;
use crate::drive::{Watch, drive};
use crate::error::PlaceError;
use crate::location::Place;
use crate::options::Encoding;
use crate::target::{self, AnyTarget, Memory};
use crate::{buffers, error};

enum Sink {
    Array(NdSink<AnyTarget>),
    Frame(FrameSink<AnyTarget>),
}

/// Takes decoded bytes and writes a frame, or an array if it is given a dtype.
#[pyclass(frozen, module = "oxiblosc._oxiblosc")]
pub(crate) struct Writer {
    process: u32,
    memory: Option<Memory>,
    sink: Arc<Mutex<Option<Sink>>>,
}

/// What an array is like: the dtype, the shape with -1 as the first length if it is not known, and the shapes of chunks
/// and blocks if they are given.
#[derive(FromPyObject)]
pub(crate) struct ArrayLayout(String, usize, Vec<i64>, Option<Vec<u32>>, Option<Vec<u32>>);

impl ArrayLayout {
    pub(crate) fn options(self, py: Python<'_>, encoding: &Encoding) -> PyResult<ArrayOptions> {
        let Self(dtype, itemsize, shape, chunks, blocks) = self;
        let known = |lens: &[i64]| lens.iter().map(|&len| u64::try_from(len)).collect::<Result<Vec<_>, _>>();
        let wrong = |_| error::invalid(py, format!("the shape is {shape:?}: only the first length may be -1"));
        let mut options = match &shape[..] {
            [-1, row @ ..] => ArrayOptions::rows(&known(row).map_err(wrong)?, dtype),
            shape => ArrayOptions::new(known(shape).map_err(wrong)?, dtype),
        };
        options = options.item_size(itemsize).frame(encoding.write_options(py)?);
        if let Some(chunks) = chunks {
            options = options.chunks(chunks);
        }
        if let Some(blocks) = blocks {
            options = options.blocks(blocks);
        }
        Ok(options)
    }
}

#[pymethods]
impl Writer {
    /// Without a place it writes to memory.
    #[new]
    #[pyo3(signature = (place, encoding, array=None, contiguous=true))]
    fn new(
        py: Python<'_>,
        place: Option<&Bound<'_, PyAny>>,
        encoding: Encoding,
        array: Option<ArrayLayout>,
        contiguous: bool,
    ) -> PyResult<Self> {
        let place = place.map(Place::new).transpose()?;
        let array = array.map(|layout| layout.options(py, &encoding)).transpose()?;
        if let Some(array) = &array {
            // Nothing is made for an array that cannot be.
            array.tiling().map_err(|e| error::raise(py, e))?;
        }
        let (memory, target): (_, AnyTarget) = match &place {
            None => {
                let memory = Memory::new();
                (Some(memory.clone()), Box::new(memory))
            }
            Some(place) => {
                place.check_process(py)?;
                let opened = drive(py, &Watch::default(), || async {
                    let failed = |source| PlaceError { place: place.to_string(), source };
                    target::open(place, contiguous).await.map_err(failed)
                })?;
                (None, opened)
            }
        };
        let sink = match array {
            Some(options) => Sink::Array(options.sink(target).map_err(|e| error::raise(py, e))?),
            None => Sink::Frame(encoding.write_options(py)?.sink(target).map_err(|e| error::raise(py, e))?),
        };
        Ok(Self { process: process::id(), memory, sink: Arc::new(Mutex::new(Some(sink))) })
    }

    /// Takes the bytes of any number of items.
    #[pyo3(signature = (data, cancel=None))]
    fn write(
        &self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        cancel: Option<&Bound<'_, Cancel>>,
    ) -> PyResult<()> {
        self.check(py)?;
        let data = buffers::slice(py, &data)?;
        drive(py, &Watch::cancelled_by(cancel), || async {
            match &mut *self.sink.lock().await {
                Some(Sink::Array(sink)) => sink.write_all(data).await,
                Some(Sink::Frame(sink)) => sink.write_all(data).await,
                None => Err(oxiblosc::WriteError::Closed.into()),
            }
        })
    }

    /// Sets a variable-length metalayer of the trailer.
    fn set_vlmetalayer(&self, py: Python<'_>, name: &str, content: &[u8]) -> PyResult<()> {
        self.check(py)?;
        drive(py, &Watch::default(), || async {
            match &mut *self.sink.lock().await {
                Some(Sink::Array(sink)) => sink.set_vlmetalayer(name, content),
                Some(Sink::Frame(sink)) => sink.set_vlmetalayer(name, content).map_err(ArrayError::from),
                None => Err(ArrayError::Write(oxiblosc::WriteError::Closed)),
            }
        })
    }

    /// Completes the frame and makes it visible.
    #[pyo3(signature = (cancel=None))]
    fn finish<'py>(&self, py: Python<'py>, cancel: Option<&Bound<'py, Cancel>>) -> PyResult<Bound<'py, PyDict>> {
        self.check(py)?;
        let (shape, summary): (Option<Vec<u64>>, Summary) = drive(py, &Watch::cancelled_by(cancel), || async {
            let mut slot = self.sink.lock().await;
            let done = match &mut *slot {
                Some(Sink::Array(sink)) => sink.close().await.map(|done| (Some(done.shape), done.frame)),
                Some(Sink::Frame(sink)) => sink.close().await.map(|done| (None, done)).map_err(ArrayError::from),
                None => Err(ArrayError::Write(oxiblosc::WriteError::Closed)),
            }?;
            *slot = None;
            Ok::<_, ArrayError>(done)
        })?;
        let info = PyDict::new(py);
        info.set_item("shape", shape.map(|shape| PyTuple::new(py, shape)).transpose()?)?;
        info.set_item("nchunks", summary.chunks)?;
        info.set_item("nbytes", summary.nbytes)?;
        info.set_item("cbytes", summary.cbytes)?;
        info.set_item("frame_len", summary.frame_len)?;
        Ok(info)
    }

    /// Gives the frame up and removes what was written. Does nothing after the end.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        if self.process != process::id() {
            return Ok(());
        }
        drive(py, &Watch::default(), || async {
            match self.sink.lock().await.take() {
                Some(Sink::Array(mut sink)) => sink.abort().await,
                Some(Sink::Frame(mut sink)) => sink.abort().await.map_err(ArrayError::from),
                None => Ok(()),
            }
        })
    }

    /// The bytes of the frame, when it was written to memory.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match &self.memory {
            Some(memory) => Ok(memory.with_bytes(|bytes| PyBytes::new(py, bytes))),
            None => Err(error::invalid(py, "the frame was not written to memory")),
        }
    }
}

impl Writer {
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        if self.process == process::id() { Ok(()) } else { Err(error::after_fork(py, "a writer")) }
    }
}
