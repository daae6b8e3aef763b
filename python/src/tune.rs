//! Looking for the best parameters.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use numpy::PyReadonlyArray1;
use oxiblosc::Progress;
use oxiblosc_tune::{Measurement, Sample, TuneError, TuneOptions, Tuned};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cancel::Cancel;
use crate::drive::{Watch, drive_blocking};
use crate::{buffers, error, process, registry};

/// The dictionary that the Python side makes of keyword arguments.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Search {
    typesize: usize,
    /// Shape and dtype, if the data are an array.
    array: Option<(Vec<u64>, String)>,
    sample_bytes: usize,
    clevels: Vec<u8>,
    max_error: Option<f64>,
    budget: Option<f64>,
    nthreads: usize,
}

/// Tries codecs and filters on a sample of the data. The best ratio comes first.
#[pyfunction]
#[pyo3(signature = (data, search, progress=None, cancel=None))]
pub(crate) fn tune<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    search: Search,
    progress: Option<Py<PyAny>>,
    cancel: Option<&Bound<'py, Cancel>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let options = options(py, &search)?;
    let bytes = buffers::slice(py, &data)?;
    let mut sample = py.detach(|| Sample::with_limit(bytes, search.typesize, search.sample_bytes));
    if let Some((shape, dtype)) = search.array {
        sample = sample.array(shape, dtype);
    }
    let counts = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let shown = Arc::clone(&counts);
    let count = move || (shown.0.load(Ordering::Relaxed), shown.1.load(Ordering::Relaxed));
    let watch = Watch::cancelled_by(cancel).counting(progress, count);
    let ending = Progress::new();
    // On a thread of its own: this one looks for signals, which codecs in Python must not swallow.
    let tuned = drive_blocking(py, &watch, &ending.clone(), move || {
        let tuned = options.tune_watched(&sample, |progress| {
            // In this order nobody sees more than all done.
            counts.1.store(progress.total as u64, Ordering::Relaxed);
            counts.0.store(progress.done as u64, Ordering::Relaxed);
            if ending.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        tuned.map_err(|failed| match failed {
            TuneError::Empty | TuneError::NoFloats | TuneError::MaxError { .. } => {
                io::Error::new(io::ErrorKind::InvalidInput, failed)
            }
            failed => io::Error::other(failed),
        })
    })?;
    tuned.measurements().iter().map(|result| row(py, &tuned, result)).collect()
}

fn options(py: Python<'_>, search: &Search) -> PyResult<TuneOptions> {
    let mut options = TuneOptions::new()
        .registry(&registry::registry(py)?)
        .pool(&process::pool(Some(search.nthreads)))
        .levels(search.clevels.clone())
        // Arrays have blocks and chunks with shapes.
        .sizes(search.array.is_none());
    if let Some(seconds) = search.budget {
        let budget = Duration::try_from_secs_f64(seconds);
        options = options.budget(budget.map_err(|e| error::invalid(py, format!("budget is {seconds}: {e}")))?);
    }
    if let Some(part) = search.max_error {
        options = options.max_error(part);
    }
    Ok(options)
}

fn row<'py>(py: Python<'py>, tuned: &Tuned, result: &Measurement) -> PyResult<Bound<'py, PyDict>> {
    let candidate = &result.candidate;
    let row = PyDict::new(py);
    row.set_item("codec", candidate.codec.0)?;
    row.set_item("codec_meta", candidate.codec_meta)?;
    row.set_item("clevel", candidate.level)?;
    row.set_item("filters", candidate.active_filters().map(|(id, ..)| u32::from(id.0)).collect::<Vec<_>>())?;
    row.set_item("filters_meta", candidate.active_filters().map(|(.., meta)| u32::from(meta)).collect::<Vec<_>>())?;
    row.set_item("blocksize", candidate.block_size)?;
    row.set_item("chunksize", candidate.chunk_size)?;
    row.set_item("ratio", result.ratio())?;
    row.set_item("encode", result.encode_speed())?;
    row.set_item("decode", result.decode_speed())?;
    let purposes = tuned.recommended().filter(|(_, best)| std::ptr::eq(*best, result));
    row.set_item("recommended_for", purposes.map(|(purpose, _)| purpose.to_string()).collect::<Vec<_>>())?;
    let threads: Vec<_> =
        result.threads.iter().map(|speed| (speed.threads, speed.encode_speed, speed.decode_speed)).collect();
    row.set_item("threads", threads)?;
    Ok(row)
}
