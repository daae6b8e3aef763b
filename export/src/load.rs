//! Loading a library into a program.

use std::path::Path;
use std::{fs, io, ptr};

use libloading::Library;
use oxiblosc_core::Registry;
use oxiblosc_core::plugin::{PluginKind, PluginName};
use oxiblosc_core::plugin_params::ParamInfo;
use oxiblosc_core::registry::{CodecInfo, FilterInfo, RegistryError};
use thiserror::Error;

use crate::interface::{Declared, Description, Head, Interface, Invalid, MAGIC, SYMBOL, VERSION};
use crate::remote::{Fault, RemoteCodec, RemoteFilter, call};

/// Why a library was not loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no such file, or it cannot be read.
    #[error("the plugin cannot be opened")]
    File(#[source] io::Error),
    /// The file is not a shared library of this system, or needs others that are not there.
    #[error("the plugin cannot be loaded")]
    Library(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The library was not made by [`export_codec!`](crate::export_codec) or [`export_filter!`](crate::export_filter).
    #[error("the library has no plugin for oxiblosc: there is no symbol `oxiblosc_plugin`")]
    NoPlugin,
    /// The library has another version of the interface than this program.
    #[error(
        "the plugin has version {found} of the interface, expected {expected}: build it with the version of \
         oxiblosc-export that this program has"
    )]
    Version {
        /// The version of the library.
        found: u32,
        /// The version of this program.
        expected: u32,
    },
    /// What the library says of itself cannot be.
    #[error("the plugin is invalid: {0}")]
    Invalid(&'static str),
    /// The plugin cannot be used, as its library says; it may have panicked.
    #[error("the plugin cannot be used: {0}")]
    Unusable(String),
}

impl From<Fault> for LoadError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Failed(text) => Self::Unusable(text),
            Fault::Panicked(panic) => Self::Unusable(panic.to_string()),
        }
    }
}

impl From<Invalid> for LoadError {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

/// A filter or codec that was loaded from a library. Clones share the library.
#[derive(Clone)]
pub struct Plugin(Loaded);

#[derive(Clone)]
enum Loaded {
    Filter(FilterInfo, RemoteFilter),
    Codec(CodecInfo, RemoteCodec),
}

impl Plugin {
    /// Its kind, id, name and crate.
    pub fn name(&self) -> PluginName {
        match &self.0 {
            Loaded::Filter(info, _) => info.plugin(),
            Loaded::Codec(info, _) => info.plugin(),
        }
    }

    /// Adds it to a registry.
    ///
    /// # Errors
    /// As [`Registry::add_filter`]: its id or name is taken, for instance.
    pub fn register(&self, registry: &mut Registry) -> Result<(), RegistryError> {
        match &self.0 {
            Loaded::Filter(info, filter) => registry.add_filter(*info, Box::new(filter.clone())),
            Loaded::Codec(info, codec) => registry.add_codec(*info, Box::new(codec.clone())),
        }
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plugin({})", self.name())
    }
}

/// Loads the plugin of a library that was made with [`export_codec!`](crate::export_codec) or
/// [`export_filter!`](crate::export_filter). A relative path begins at the current directory.
///
/// Loading runs code of the library, and so does every use of the plugin: load what you would run as a program. That a
/// library was made with this crate is taken from a symbol, and that it keeps to the interface is taken from the
/// version beside it. A library stays loaded until the program ends.
///
/// Panics of the plugin are errors, as with plugins that are linked. Its errors arrive as text, with their causes in
/// one line, cut off after 1024 bytes.
///
/// # Errors
/// See [`LoadError`].
pub fn load(path: impl AsRef<Path>) -> Result<Plugin, LoadError> {
    // A name without a slash would be searched for in other places.
    let path = fs::canonicalize(path).map_err(LoadError::File)?;
    // SAFETY: the initialisers are those of a library that the caller trusts as a program; see above.
    let library = unsafe { Library::new(path) }.map_err(|e| LoadError::Library(e.into()))?;
    // Instances, and the names in errors, may live until the program ends.
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: the symbol is a constant, so that its address is that of the table.
    let head = unsafe { library.get::<*const Head>(SYMBOL) }.map_err(|_| LoadError::NoPlugin)?;
    // SAFETY: all versions begin like this, and libraries of others do not have the symbol.
    let interface = unsafe { checked(head.try_as_raw_ptr().map_or(ptr::null(), |head| head.cast_const().cast()))? };
    plugin(interface)
}

/// The table of this version.
///
/// # Safety
/// `head` is null, or leads to the beginning of a table that stays where it is; and is complete if its version and size
/// are right.
unsafe fn checked(head: *const Head) -> Result<&'static Interface, LoadError> {
    // SAFETY: by the contract.
    let found = unsafe { head.as_ref() }.ok_or(LoadError::NoPlugin)?;
    if found.magic != MAGIC {
        return Err(LoadError::NoPlugin);
    }
    if found.version != VERSION {
        return Err(LoadError::Version { found: found.version, expected: VERSION });
    }
    if found.size as usize != size_of::<Interface>() {
        return Err(LoadError::Invalid("its interface has another length than that of this version"));
    }
    // SAFETY: by the contract.
    Ok(unsafe { &*head.cast::<Interface>() })
}

fn plugin(interface: &'static Interface) -> Result<Plugin, LoadError> {
    let mut description = Description::EMPTY;
    // SAFETY: a function of the table, and two places of ours.
    call(|message| unsafe { (interface.describe)(&raw mut description, message) })?;
    let params = declared(interface)?;
    Ok(Plugin(match description.kind()? {
        // SAFETY: the texts are those of the library, which stays.
        PluginKind::Filter => Loaded::Filter(unsafe { description.filter(params)? }, RemoteFilter::new(interface)?),
        // SAFETY: likewise.
        PluginKind::Codec => Loaded::Codec(unsafe { description.codec(params)? }, RemoteCodec::new(interface)?),
    }))
}

/// More parameters than any plugin has: a library that never comes to an end has an error.
const MAX_PARAMS: usize = 1000;

/// The parameters that the plugin declares.
fn declared(interface: &'static Interface) -> Result<Vec<ParamInfo>, LoadError> {
    let mut params = Vec::new();
    loop {
        let mut found = Declared::EMPTY;
        // SAFETY: a function of the table, and two places of ours.
        if !call(|message| unsafe { (interface.declare)(params.len(), &raw mut found, message) })? {
            return Ok(params);
        }
        if params.len() == MAX_PARAMS {
            return Err(LoadError::Invalid("its parameters have no end"));
        }
        // SAFETY: the texts are those of the library, which stays.
        params.push(unsafe { found.info()? });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tables_are_refused() {
        let good = Head { magic: MAGIC, version: VERSION, size: size_of::<Interface>() as u32 };
        let refused = |head: &Head| {
            // SAFETY: a head, and nothing else is read of a table that is refused.
            unsafe { checked(head) }.err().map(|error| error.to_string()).expect("it is refused")
        };
        assert!(refused(&Head { magic: *b"oxibloss", ..good }).contains("no symbol"));
        assert!(refused(&Head { version: 3, ..good }).contains("version 3 of the interface, expected 2"));
        assert!(refused(&Head { size: 8, ..good }).contains("another length"));
        // SAFETY: null is refused.
        assert!(matches!(unsafe { checked(ptr::null()) }, Err(LoadError::NoPlugin)));
    }
}
