//! An open frame or array.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::{io, mem, process};

use futures::StreamExt;
use futures::future::poll_fn;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use oxiblosc::frame::Checksums;
use oxiblosc::nd::{ArrayError, NdArray, Selection};
use oxiblosc::source::{ProgressSource, RangeSource};
use oxiblosc::{Chain, ChecksumPolicy, ChunkStream, FingerprintCheck, FrameReader, Progress, ReadOptions};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::cancel::Cancel;
use crate::drive::{Watch, drive};
use crate::error::PlaceError;
use crate::location::Place;
use crate::selection::{AxisPart, BasicIndex, orthogonal, points};
use crate::{buffers, error, process as this_process, registry};

type Source = Box<dyn RangeSource>;

/// How a frame is opened, and opened again.
struct Origin {
    place: Place,
    nthreads: Option<usize>,
    checksums: ChecksumPolicy,
    open_ended: bool,
    cache_bytes: Option<usize>,
}

impl Origin {
    fn options(&self, py: Python<'_>) -> PyResult<ReadOptions> {
        let mut options = ReadOptions::new()
            .pool(&this_process::pool(self.nthreads))
            .registry(&registry::registry(py)?)
            .checksums(self.checksums)
            .open_ended(self.open_ended);
        if let Some(bytes) = self.cache_bytes {
            options = options.cache_bytes(bytes);
        }
        Ok(options)
    }

    fn open(&self, py: Python<'_>, watch: &Watch) -> PyResult<Open> {
        let options = self.options(py)?;
        let source = self.source(py, watch)?;
        drive(py, watch, || async { Open::new(options.open(source).await?) })
    }

    fn source(&self, py: Python<'_>, watch: &Watch) -> PyResult<Source> {
        self.place.check_process(py)?;
        drive(py, watch, || async { self.place.source().await.map_err(self.failed()) })
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> PlaceError {
        |source| PlaceError { place: self.place.to_string(), source }
    }
}

/// A reader over what is open.
struct Open {
    /// Whose threads it uses.
    process: u32,
    frame: FrameReader<Source>,
    array: Option<NdArray<Source>>,
}

impl Open {
    fn new(frame: FrameReader<Source>) -> Result<Self, ArrayError> {
        let array = match NdArray::new(frame.clone()) {
            Ok(array) => Some(array),
            Err(ArrayError::NotAnArray) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { process: process::id(), frame, array })
    }

    fn array(&self) -> Result<&NdArray<Source>, ArrayError> {
        self.array.as_ref().ok_or(ArrayError::NotAnArray)
    }
}

/// Reads a frame, and the array in it if there is one.
#[pyclass(frozen, module = "oxiblosc._oxiblosc")]
pub(crate) struct Reader {
    origin: Origin,
    state: RwLock<Arc<Open>>,
}

impl Reader {
    /// What is open. In a forked child, whose parent has kept the threads, it is opened again.
    fn state(&self, py: Python<'_>) -> PyResult<Arc<Open>> {
        let state = Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner));
        if state.process == process::id() {
            return Ok(state);
        }
        let fresh = Arc::new(self.origin.open(py, &Watch::default())?);
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&fresh);
        // Dropping it would wait for threads that this process does not have.
        mem::forget(state);
        Ok(fresh)
    }
}

/// The items of a selection.
fn read<'py>(
    py: Python<'py>,
    array: &NdArray<Source>,
    selection: &Selection,
    watch: &Watch,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // Indices may select an item many times, but of little there is seldom much. What comes from afar arrives slowly: it
    // gains nothing, and would take memory for the whole selection from the beginning.
    if array.reader().source().is_immediate() && array.nbytes() >= buffers::LARGE as u64 {
        let shape = array.selected_shape(selection).map_err(|e| error::raise(py, e))?;
        let len = shape.iter().try_fold(array.item_size(), |len, &n| len.checked_mul(usize::try_from(n).ok()?));
        if let Some(memory) = len.filter(|&len| len >= buffers::LARGE).and_then(|len| buffers::zeros(py, len)) {
            let mut writable = memory.readwrite();
            let out = writable.as_slice_mut().map_err(|_| error::invalid(py, "the buffer is not contiguous"))?;
            drive(py, watch, || array.read_into(selection, out))?;
            drop(writable);
            return ndarray(memory, &shape, dtype);
        }
    }
    let read = drive(py, watch, || array.read(selection))?;
    let shape = read.shape().to_vec();
    ndarray(buffers::array(py, read.into_bytes()), &shape, dtype)
}

/// A NumPy array of this shape and dtype on memory that it keeps alive.
fn ndarray<'py>(
    memory: Bound<'py, PyArray1<u8>>,
    shape: &[u64],
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = dtype.py();
    let class = NDARRAY.import(py, "numpy", "ndarray")?;
    // Without items, or with items of no bytes, a shape may be beyond what NumPy can have.
    class.call1((PyTuple::new(py, shape)?, dtype, memory)).map_err(|e| error::too_large(py, shape, &e))
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (place, nthreads=None, checksums=false, open_ended=false, cache_bytes=None, cancel=None))]
    fn new(
        py: Python<'_>,
        place: &Bound<'_, PyAny>,
        nthreads: Option<usize>,
        checksums: bool,
        open_ended: bool,
        cache_bytes: Option<usize>,
        cancel: Option<&Bound<'_, Cancel>>,
    ) -> PyResult<Self> {
        let place = Place::new(place)?;
        let checksums = if checksums { ChecksumPolicy::Check } else { ChecksumPolicy::Ignore };
        let origin = Origin { place, nthreads, checksums, open_ended, cache_bytes };
        let open = origin.open(py, &Watch::cancelled_by(cancel))?;
        Ok(Self { origin, state: RwLock::new(Arc::new(open)) })
    }

    #[getter]
    fn is_array(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.state(py)?.array.is_some())
    }

    /// Everything about the array but its items; `None` for a plain frame.
    fn array_info<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let state = self.state(py)?;
        let Some(array) = &state.array else { return Ok(None) };
        let info = PyDict::new(py);
        info.set_item("shape", PyTuple::new(py, array.shape())?)?;
        info.set_item("chunks", PyTuple::new(py, array.chunk_shape())?)?;
        info.set_item("blocks", PyTuple::new(py, array.block_shape())?)?;
        info.set_item("dtype", array.dtype())?;
        info.set_item("itemsize", array.item_size())?;
        info.set_item("nbytes", array.nbytes())?;
        Ok(Some(info))
    }

    /// Everything about the frame but its chunks.
    fn frame_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = self.state(py)?;
        let (frame, header) = (&state.frame, state.frame.header());
        let info = PyDict::new(py);
        info.set_item("nbytes", frame.nbytes())?;
        info.set_item("cbytes", frame.cbytes())?;
        info.set_item("frame_len", header.frame_len)?;
        info.set_item("nchunks", frame.nchunks())?;
        info.set_item("chunksize", frame.chunk_size())?;
        info.set_item("typesize", frame.typesize())?;
        info.set_item("nitems", frame.items_len())?;
        info.set_item("contiguous", !frame.frame().is_sparse())?;
        info.set_item("blocksize", header.block_size)?;
        info.set_item("codec", header.codec.0)?;
        info.set_item("codec_meta", header.codec_meta)?;
        info.set_item("clevel", header.level)?;
        info.set_item("filters", header.filters.0.iter().map(|slot| u32::from(slot.id.0)).collect::<Vec<_>>())?;
        info.set_item("filters_meta", header.filters.0.iter().map(|slot| u32::from(slot.meta)).collect::<Vec<_>>())?;
        let missing: Vec<_> = frame.missing_plugins().iter().map(ToString::to_string).collect();
        info.set_item("missing_plugins", missing)?;
        Ok(info)
    }

    /// The items of a key of integers, slices and an ellipsis; `NotImplemented` for any other key.
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let state = self.state(py)?;
        let array = state.array().map_err(|e| error::raise(py, e))?;
        let Some(index) = BasicIndex::parse(key, array.shape())? else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        let items = read(py, array, &index.selection, &Watch::default(), dtype)?;
        if index.is_item { items.get_item(PyTuple::empty(py)) } else { Ok(items) }
    }

    /// The items of an orthogonal selection, with one part for each axis.
    #[pyo3(signature = (parts, dtype, cancel=None))]
    fn orthogonal<'py>(
        &self,
        py: Python<'py>,
        parts: Vec<AxisPart<'py>>,
        dtype: &Bound<'py, PyAny>,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let state = self.state(py)?;
        let array = state.array().map_err(|e| error::raise(py, e))?;
        read(py, array, &orthogonal(parts), &Watch::cancelled_by(cancel), dtype)
    }

    /// The items at the given coordinates, in one dimension.
    #[pyo3(signature = (coordinates, dtype, cancel=None))]
    fn points<'py>(
        &self,
        py: Python<'py>,
        coordinates: PyReadonlyArray1<'py, i64>,
        dtype: &Bound<'py, PyAny>,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let state = self.state(py)?;
        let array = state.array().map_err(|e| error::raise(py, e))?;
        read(py, array, &points(&coordinates, array.ndim()), &Watch::cancelled_by(cancel), dtype)
    }

    /// The decoded bytes of some consecutive items of a frame.
    #[pyo3(signature = (start, stop, cancel=None))]
    fn items<'py>(
        &self,
        py: Python<'py>,
        start: u64,
        stop: u64,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let state = self.state(py)?;
        let bytes = drive(py, &Watch::cancelled_by(cancel), || state.frame.items(start..stop))?;
        Ok(buffers::array(py, bytes))
    }

    /// The decoded bytes of a chunk.
    #[pyo3(signature = (number, cancel=None))]
    fn chunk<'py>(
        &self,
        py: Python<'py>,
        number: u64,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let state = self.existing(py, number)?;
        let bytes = drive(py, &Watch::cancelled_by(cancel), || state.frame.chunk(number))?;
        Ok(buffers::array(py, bytes))
    }

    /// The bytes of a chunk as they are stored.
    fn encoded_chunk<'py>(&self, py: Python<'py>, number: u64) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.existing(py, number)?;
        let bytes = drive(py, &Watch::default(), || state.frame.encoded_chunk(number))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// All decoded chunks in order, fetched and decoded ahead.
    fn chunks(&self, py: Python<'_>) -> PyResult<ChunkIterator> {
        Ok(ChunkIterator { process: process::id(), stream: Mutex::new(self.state(py)?.frame.chunks()) })
    }

    /// The metalayers of the header.
    fn metalayers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = self.state(py)?;
        let found = PyDict::new(py);
        let metalayers = state.frame.metalayers();
        for name in metalayers.names() {
            if let Some(content) = metalayers.get(&name) {
                found.set_item(name, PyBytes::new(py, content))?;
            }
        }
        Ok(found)
    }

    /// The names of the variable-length metalayers, without that of the checksums, which no caller can set.
    fn vlmetalayer_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let mut names = self.state(py)?.frame.vlmetalayer_names();
        names.retain(|name| name != Checksums::NAME);
        Ok(names)
    }

    fn vlmetalayer<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if name == Checksums::NAME {
            return Ok(None);
        }
        let state = self.state(py)?;
        let content = drive(py, &Watch::default(), || state.frame.vlmetalayer(name))?;
        Ok(content.map(|content| PyBytes::new(py, &content)))
    }

    /// Sees what others have committed since; whether there was anything.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let state = self.state(py)?;
        let mut frame = state.frame.clone();
        let (changed, open) = drive(py, &Watch::default(), || async move {
            let changed = frame.refresh().await?;
            Ok::<_, ArrayError>((changed, Open::new(frame)?))
        })?;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(open);
        Ok(changed)
    }

    /// Reads everything and compares it with checksums, totals and fingerprint.
    #[pyo3(signature = (progress=None, cancel=None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        progress: Option<Py<PyAny>>,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = self.origin.options(py)?;
        let source = self.origin.source(py, &Watch::default())?;
        let done = Progress::new();
        let total = self.state(py)?.frame.cbytes();
        let watch = Watch::cancelled_by(cancel).progress(progress, &done, total);
        let report =
            drive(py, &watch, || async { options.open(ProgressSource::new(source, &done)).await?.verify().await })?;
        let found = PyDict::new(py);
        found.set_item("ok", report.is_good())?;
        found.set_item("chunks", report.chunks)?;
        found.set_item("nbytes", report.nbytes)?;
        found.set_item("checksums", report.checksums.to_string())?;
        found.set_item(
            "fingerprint",
            match report.fingerprint {
                FingerprintCheck::Absent => None,
                FingerprintCheck::Matches(fingerprint) => Some(fingerprint.to_string()),
                _ => Some("differs".to_owned()),
            },
        )?;
        let findings = report.findings.iter().map(|finding| Chain(finding).to_string()).collect::<Vec<_>>();
        found.set_item("findings", findings)?;
        found.set_item("more_findings", report.more_findings)?;
        found.set_item("bad_chunks", report.bad_chunks().collect::<Vec<_>>())?;
        found.set_item("unverified", report.unverified.iter().collect::<Vec<_>>())?;
        found.set_item("missing_plugins", report.missing.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        Ok(found)
    }
}

impl Reader {
    /// # Errors
    /// `IndexError` when there is no such chunk.
    fn existing(&self, py: Python<'_>, number: u64) -> PyResult<Arc<Open>> {
        let state = self.state(py)?;
        let count = state.frame.nchunks();
        if number < count {
            return Ok(state);
        }
        Err(PyIndexError::new_err(format!("chunk {number} is out of range: there are {count}")))
    }
}

/// The decoded chunks of a frame, one after the other.
#[pyclass(frozen, module = "oxiblosc._oxiblosc")]
pub(crate) struct ChunkIterator {
    process: u32,
    stream: Mutex<ChunkStream<Source>>,
}

#[pymethods]
impl ChunkIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<u8>>>> {
        if self.process != process::id() {
            return Err(error::after_fork(py, "an iterator of chunks"));
        }
        let next = drive(py, &Watch::default(), || {
            let next = poll_fn(|cx| self.stream.lock().unwrap_or_else(PoisonError::into_inner).poll_next_unpin(cx));
            async { next.await.transpose() }
        })?;
        Ok(next.map(|bytes| buffers::array(py, bytes)))
    }
}
