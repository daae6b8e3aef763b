//! The codecs and filters of this process: built-in ones, and what users add.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use oxiblosc::registry::RegistryError;
use oxiblosc::{CodecId, FilterId, Registry, plugins};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;

static REGISTRY: RwLock<Option<Registry>> = RwLock::new(None);

/// All codecs and filters. What is added later is not in it.
pub(crate) fn registry(py: Python<'_>) -> PyResult<Registry> {
    if let Some(registry) = &*REGISTRY.read().unwrap_or_else(PoisonError::into_inner) {
        return Ok(registry.clone());
    }
    change(py, |registry| Ok(registry.clone()))
}

/// Nothing of Python may be called with the lock held: another thread could wait for it while it holds the interpreter.
pub(crate) fn change<T>(py: Python<'_>, work: impl FnOnce(&mut Registry) -> Result<T, RegistryError>) -> PyResult<T> {
    let changed = {
        let mut slot = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
        match &mut *slot {
            Some(registry) => work(registry),
            none => {
                plugins::link();
                Registry::linked().and_then(|linked| work(none.insert(linked.clone())))
            }
        }
    };
    changed.map_err(|e| error::raise(py, e))
}

/// A codec by id or by name.
#[derive(FromPyObject)]
pub(crate) enum Name {
    Id(u8),
    Name(String),
}

impl Name {
    pub(crate) fn codec(&self, py: Python<'_>, registry: &Registry) -> PyResult<CodecId> {
        match self {
            Self::Id(id) => Ok(CodecId(*id)),
            Self::Name(name) => {
                let entry = registry.codec_by_name(&name.to_lowercase()).map_err(|e| error::raise(py, e))?;
                Ok(entry.info().id)
            }
        }
    }

    pub(crate) fn filter(&self, py: Python<'_>, registry: &Registry) -> PyResult<FilterId> {
        match self {
            Self::Id(id) => Ok(FilterId(*id)),
            Self::Name(name) => match name.to_lowercase().as_str() {
                "nofilter" | "none" => Ok(FilterId::NONE),
                name => Ok(registry.filter_by_name(name).map_err(|e| error::raise(py, e))?.info().id),
            },
        }
    }
}

/// Loads the codec or filter in a shared library and returns its kind, id and name.
#[pyfunction]
pub(crate) fn load_plugin(py: Python<'_>, path: PathBuf) -> PyResult<(&'static str, u8, String)> {
    let plugin = py.detach(|| oxiblosc_export::load(&path)).map_err(|e| error::raise(py, e))?;
    change(py, |registry| plugin.register(registry))?;
    let name = plugin.name();
    let kind = if name.kind == oxiblosc::plugin::PluginKind::Codec { "codec" } else { "filter" };
    Ok((kind, name.id, name.name.to_owned()))
}

/// The names of all codecs, with their ids.
#[pyfunction]
pub(crate) fn codecs(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    for entry in registry(py)?.codecs() {
        names.set_item(entry.info().name, entry.info().id.0)?;
    }
    Ok(names)
}

/// The names of all filters, with their ids.
#[pyfunction]
pub(crate) fn filters(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    for entry in registry(py)?.filters() {
        names.set_item(entry.info().name, entry.info().id.0)?;
    }
    Ok(names)
}
