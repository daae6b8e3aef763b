//! Recovering, sealing and compacting frames.

use std::path::Path;
use std::{fs, io};

use futures::future::poll_fn;
use oxiblosc::edit::EditOptions;
use oxiblosc::recover::{Found, RecoverError, RecoverOptions, Recovered};
use oxiblosc::source::RangeSource;
use oxiblosc::target::Target;
use oxiblosc::{IoMode, Progress, block_on, blocking};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cancel::Cancel;
use crate::drive::{Watch, drive, drive_blocking};
use crate::location::{Place, prefix};
use crate::{error, registry, target};

/// The bytes of a file, or of the files in a directory.
fn stored_bytes(path: &Path) -> io::Result<u64> {
    if !path.is_dir() {
        return Ok(fs::metadata(path)?.len());
    }
    fs::read_dir(path)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
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
    let done = Progress::new();
    let options = RecoverOptions::new().registry(&registry::registry(py)?).progress(&done);
    let watch = Watch::cancelled_by(cancel);
    let total = match &from {
        Place::Path(path) => stored_bytes(path).map_err(|e| error::raise(py, e))?,
        from => drive(py, &watch, || async { from.source().await?.size().await })?,
    };
    let watch = watch.progress(progress, &done, total);
    let recovered = drive_blocking(py, &watch, &done, move || match (&from, &to) {
        // Only a directory may have lost its index.
        (Place::Path(input), Place::Path(output)) if input.is_dir() => options.recover(input, output),
        _ => block_on(recover_into(&from, &to, &options)),
    })?;
    report(py, &recovered)
}

async fn recover_into(from: &Place, to: &Place, options: &RecoverOptions) -> Result<Recovered, RecoverError> {
    let source = from.source().await?;
    let contiguous = source.chunk_files().is_none();
    let mut target = target::open(to, contiguous).await?;
    let recovered = options.recover_into(source, &mut target).await;
    if recovered.is_err() {
        // The error of the recovery is the one to report.
        let _ = poll_fn(|cx| target.poll_abort(cx)).await;
    }
    recovered
}

/// Completes an open-ended frame in a file, in place.
#[pyfunction]
#[pyo3(signature = (path, progress=None, cancel=None))]
pub(crate) fn seal<'py>(
    py: Python<'py>,
    path: &Bound<'py, PyAny>,
    progress: Option<Py<PyAny>>,
    cancel: Option<&Bound<'py, Cancel>>,
) -> PyResult<Bound<'py, PyDict>> {
    let Place::Path(path) = Place::new(path)? else {
        return Err(error::invalid(py, "only a file can be sealed"));
    };
    let done = Progress::new();
    let options = RecoverOptions::new().registry(&registry::registry(py)?).progress(&done);
    let total = stored_bytes(&path).map_err(|e| error::raise(py, e))?;
    let watch = Watch::cancelled_by(cancel).progress(progress, &done, total);
    let sealed = drive_blocking(py, &watch, &done, move || options.seal_file(path))?;
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
#[pyo3(signature = (place, progress=None, cancel=None))]
pub(crate) fn compact(
    py: Python<'_>,
    place: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
    cancel: Option<&Bound<'_, Cancel>>,
) -> PyResult<u64> {
    let place = Place::new(place)?;
    place.check_process(py)?;
    let done = Progress::new();
    let options = EditOptions::new().registry(&registry::registry(py)?).io_mode(IoMode::Inline).progress(&done);
    let watch = Watch::cancelled_by(cancel);
    match place {
        Place::Path(path) => {
            let total = stored_bytes(&path).map_err(|e| error::raise(py, e))?;
            let watch = watch.progress(progress, &done, total);
            let work = move || blocking::compact_with_options(path, options);
            Ok(drive_blocking(py, &watch, &done, work)?.cbytes)
        }
        Place::Object(object) => drive(py, &watch, || async { options.compact_place(prefix(&object)?).await }),
        _ => Err(error::invalid(py, "only a file, a directory or a prefix of objects can be compacted")),
    }
}
