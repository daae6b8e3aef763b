//! The native part of the Python package `oxiblosc`.
//!
//! What is here moves bytes: sources and targets, readers, writers, editors, plugins. What NumPy means by an index, and
//! what users see, is written in Python, in `python/oxiblosc`.
//!
//! All work is done with the interpreter detached. A result is decoded into memory that NumPy then owns, so nothing is
//! copied on its way to an array. Every class is safe to use from many threads, also without the global lock.
#![forbid(unsafe_code)]

mod buffers;
mod cancel;
mod drive;
mod editor;
mod error;
mod file_object;
mod location;
mod maintenance;
mod oneshot;
mod options;
mod plugin;
mod process;
mod reader;
mod registry;
mod selection;
mod shared;
mod target;
mod tune;
mod writer;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _oxiblosc(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<cancel::Cancel>()?;
    m.add_class::<reader::Reader>()?;
    m.add_class::<reader::ChunkIterator>()?;
    m.add_class::<writer::Writer>()?;
    m.add_class::<editor::Editor>()?;
    m.add_class::<shared::SharedWriter>()?;
    m.add_function(wrap_pyfunction!(oneshot::compress, m)?)?;
    m.add_function(wrap_pyfunction!(oneshot::decompress, m)?)?;
    m.add_function(wrap_pyfunction!(oneshot::chunk_info, m)?)?;
    m.add_function(wrap_pyfunction!(options::warnings, m)?)?;
    m.add_function(wrap_pyfunction!(maintenance::recover, m)?)?;
    m.add_function(wrap_pyfunction!(maintenance::seal, m)?)?;
    m.add_function(wrap_pyfunction!(maintenance::compact, m)?)?;
    m.add_function(wrap_pyfunction!(tune::tune, m)?)?;
    m.add_function(wrap_pyfunction!(registry::load_plugin, m)?)?;
    m.add_function(wrap_pyfunction!(registry::codecs, m)?)?;
    m.add_function(wrap_pyfunction!(registry::filters, m)?)?;
    m.add_function(wrap_pyfunction!(plugin::register_codec, m)?)?;
    m.add_function(wrap_pyfunction!(plugin::register_filter, m)?)?;
    Ok(())
}
