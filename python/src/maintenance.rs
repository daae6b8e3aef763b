//! Recovering, sealing and compacting frames.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::future::{BoxFuture, poll_fn};
use oxiblosc::IoMode;
use oxiblosc::edit::EditOptions;
use oxiblosc::recover::{Found, RecoverError, RecoverOptions, Recovered};
use oxiblosc::source::{ChunkFiles, RangeSource};
use oxiblosc::target::Target;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cancel::Cancel;
use crate::drive::{Watch, drive};
use crate::location::{Place, prefix};
use crate::{error, registry, target};

/// A source that counts the bytes read from it.
pub(crate) struct CountingSource<S> {
    source: S,
    done: Arc<AtomicU64>,
}

impl<S> CountingSource<S> {
    pub(crate) fn new(source: S, done: Arc<AtomicU64>) -> Self {
        Self { source, done }
    }

    fn count(&self, bytes: usize) {
        self.done.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl<S: RangeSource> RangeSource for CountingSource<S> {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        self.source.size()
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        Box::pin(async move {
            let found = self.source.read_ranges(ranges).await?;
            self.count(found.iter().map(Bytes::len).sum());
            Ok(found)
        })
    }

    fn open(&self, head: u64) -> BoxFuture<'_, io::Result<(u64, Bytes)>> {
        self.source.open(head)
    }

    fn is_immediate(&self) -> bool {
        self.source.is_immediate()
    }

    fn request_cost(&self) -> u64 {
        self.source.request_cost()
    }

    fn limit_requests(&self, at_once: usize) -> bool {
        self.source.limit_requests(at_once)
    }

    fn reopen(&self) -> BoxFuture<'_, io::Result<Option<Arc<dyn RangeSource>>>> {
        self.source.reopen()
    }

    fn chunk_files(&self) -> Option<&dyn ChunkFiles> {
        self.source.chunk_files().is_some().then_some(self as _)
    }
}

/// Of a source without chunk files this is never asked.
impl<S: RangeSource> ChunkFiles for CountingSource<S> {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        Box::pin(async move {
            let Some(files) = self.source.chunk_files() else { return Vec::new() };
            let found = files.read_files(ranges).await;
            self.count(found.iter().flatten().map(Bytes::len).sum());
            found
        })
    }
}

/// Makes a new frame of what can be read of a damaged or unfinished one.
#[pyfunction]
#[pyo3(signature = (source, destination, progress=None, cancel=None))]
pub(crate) fn recover<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    destination: &Bound<'py, PyAny>,
    progress: Option<Py<PyAny>>,
    cancel: Option<&Bound<'py, Cancel>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (from, to) = (Place::new(source)?, Place::new(destination)?);
    from.check_process(py)?;
    to.check_process(py)?;
    let options = RecoverOptions::new().registry(&registry::registry(py)?);
    let watch = Watch::cancelled_by(cancel);
    let recovered = match (&from, &to) {
        // Only a directory may have lost its index.
        (Place::Path(input), Place::Path(output)) if input.is_dir() => {
            py.detach(|| options.recover(input, output)).map_err(|e| error::raise(py, e))?
        }
        _ => {
            let done = Arc::new(AtomicU64::new(0));
            let total = drive(py, &watch, || async { from.source().await?.size().await })?;
            let watch = watch.progress(progress, Arc::clone(&done), total);
            let recovered = drive(py, &watch, || async {
                let source = from.source().await?;
                let contiguous = source.chunk_files().is_none();
                let mut target = target::open(&to, contiguous).await?;
                let recovered = options.recover_into(CountingSource::new(source, done), &mut target).await;
                if recovered.is_err() {
                    // The error of the recovery is the one to report.
                    let _ = poll_fn(|cx| target.poll_abort(cx)).await;
                }
                recovered
            })?;
            watch.finished(py)?;
            recovered
        }
    };
    report(py, &recovered)
}

/// Completes an open-ended frame in a file, in place.
#[pyfunction]
pub(crate) fn seal<'py>(py: Python<'py>, path: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let Place::Path(path) = Place::new(path)? else {
        return Err(error::invalid(py, "only a file can be sealed"));
    };
    let options = RecoverOptions::new().registry(&registry::registry(py)?);
    let sealed = py.detach(|| options.seal_file(&path)).map_err(|e: RecoverError| error::raise(py, e))?;
    report(py, &sealed)
}

fn report<'py>(py: Python<'py>, recovered: &Recovered) -> PyResult<Bound<'py, PyDict>> {
    let info = PyDict::new(py);
    info.set_item(
        "found",
        match recovered.found {
            Found::Whole => "whole",
            Found::Open => "open",
            Found::Unfinished => "unfinished",
            _ => "cut",
        },
    )?;
    info.set_item("chunks", recovered.chunks)?;
    info.set_item("nbytes", recovered.nbytes)?;
    info.set_item("lost_nbytes", recovered.lost_nbytes)?;
    info.set_item("replaced", recovered.replaced.iter().collect::<Vec<_>>())?;
    info.set_item("unverified", recovered.unchecked.iter().collect::<Vec<_>>())?;
    info.set_item("missing_plugins", recovered.missing.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    info.set_item("unused_bytes", recovered.unused_bytes)?;
    info.set_item("in_order", recovered.in_order)?;
    info.set_item("damaged_array", recovered.damaged_array.as_ref().map(ToString::to_string))?;
    info.set_item("lost_attributes", recovered.lost_vlmetalayers)?;
    Ok(info)
}

/// Rewrites a frame without the holes that edits have left. Of a sparse frame under a prefix, the chunks that its index
/// does not name are removed. Returns the bytes of all chunks afterwards, or the number of removed chunks.
#[pyfunction]
#[pyo3(signature = (place, cancel=None))]
pub(crate) fn compact(py: Python<'_>, place: &Bound<'_, PyAny>, cancel: Option<&Bound<'_, Cancel>>) -> PyResult<u64> {
    let place = Place::new(place)?;
    place.check_process(py)?;
    let options = EditOptions::new().registry(&registry::registry(py)?).io_mode(IoMode::Inline);
    let watch = Watch::cancelled_by(cancel);
    match &place {
        Place::Path(path) => Ok(drive(py, &watch, || options.compact(path))?.cbytes),
        Place::Object(object) => drive(py, &watch, || async { options.compact_place(prefix(object)?).await }),
        _ => Err(error::invalid(py, "only a file, a directory or a prefix of objects can be compacted")),
    }
}
