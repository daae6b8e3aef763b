//! Filters and codecs that are loaded from shared libraries.

use std::path::{Path, PathBuf};
use std::{env, fs};

use oxiblosc::Registry;

use crate::error::CliError;

/// The environment variable with libraries to load, separated as in `PATH`.
const VARIABLE: &str = "OXIBLOSC_PLUGINS";

/// What is linked into this program, and what `libraries` and the environment add.
pub(crate) fn registry(libraries: &[PathBuf]) -> Result<Registry, CliError> {
    let linked = Registry::linked().map_err(CliError::data("the plugins linked into this program"))?;
    let mut registry = linked.clone();
    let mut loaded = Vec::new();
    let list = env::var_os(VARIABLE).unwrap_or_default();
    for path in env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()) {
        add(&path, format!("{} (in {VARIABLE})", path.display()), &mut registry, &mut loaded)?;
    }
    for path in libraries {
        add(path, path.display().to_string(), &mut registry, &mut loaded)?;
    }
    Ok(registry)
}

/// Loads a library, unless it is loaded already: an option may repeat what is in the environment.
fn add(path: &Path, name: String, registry: &mut Registry, loaded: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let file = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    if loaded.contains(&file) {
        return Ok(());
    }
    let plugin = oxiblosc_export::load(&file).map_err(CliError::data(&name))?;
    plugin.register(registry).map_err(CliError::data(&name))?;
    loaded.push(file);
    Ok(())
}
