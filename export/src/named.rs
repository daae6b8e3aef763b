//! The plugin that a library exports.

use std::error::Error;

use oxiblosc_core::Registry;
use oxiblosc_core::registry::{CodecEntry, FilterEntry, RegistryError};

/// Any error, on its way to a caller that takes a number or a text.
pub(crate) type AnyError = Box<dyn Error + Send + Sync>;

/// The plugin of a library, by its name in the registry of what is linked into the library.
pub trait Named: 'static {
    /// The name with which it is registered.
    const NAME: &'static str;
}

pub(crate) fn codec<T: Named>() -> Result<&'static CodecEntry, RegistryError> {
    Registry::linked()?.codec_by_name(T::NAME)
}

pub(crate) fn filter<T: Named>() -> Result<&'static FilterEntry, RegistryError> {
    Registry::linked()?.filter_by_name(T::NAME)
}

/// Whether C-Blosc2 can look for a plugin with this name: it is part of a command line there.
pub const fn is_c_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        if !bytes[i].is_ascii_alphanumeric() && bytes[i] != b'_' {
            return false;
        }
        i += 1;
    }
    !bytes.is_empty()
}
