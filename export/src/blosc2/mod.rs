//! What C-Blosc2 calls: functions with the signatures of `blosc2_codec` and `blosc2_filter`, and the structures that
//! they are given.

mod array;
pub(crate) mod codec;
pub(crate) mod filter;
pub(crate) mod layout;
mod metalayer;
mod params;
mod recorded;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, c_char, c_int};
use std::io::{self, Write};

use oxiblosc_core::Chain;
use oxiblosc_core::plugin::guarded;
use oxiblosc_core::plugin_params::InvalidPluginParams;
use thiserror::Error;

use crate::buffer::BufferError;
use crate::named::AnyError;

/// `codec_info` and `filter_info`: the symbols to look up for writing and for reading. C-Blosc2 finds it as `info`.
#[repr(C)]
#[derive(Debug)]
pub struct Info {
    write: *const c_char,
    read: *const c_char,
}

// SAFETY: both point to constants.
unsafe impl Sync for Info {}

impl Info {
    /// The functions of a codec.
    pub const CODEC: Self = Self::new(c"oxiblosc_encoder", c"oxiblosc_decoder");
    /// The functions of a filter.
    pub const FILTER: Self = Self::new(c"oxiblosc_forward", c"oxiblosc_backward");

    const fn new(write: &'static CStr, read: &'static CStr) -> Self {
        Self { write: write.as_ptr(), read: read.as_ptr() }
    }
}

/// `BLOSC2_ERROR_FAILURE`
const FAILURE: c_int = -1;
/// `BLOSC2_ERROR_CODEC_SUPPORT`
const CODEC_SUPPORT: c_int = -7;
/// `BLOSC2_ERROR_INVALID_PARAM`
const INVALID_PARAM: c_int = -12;

/// A call that cannot be served.
#[derive(Debug, Error)]
enum CallError {
    #[error("C-Blosc2 does not say where a block lies in its chunk, which this plugin needs to know")]
    Positional,
    #[error("C-Blosc2 does not pass the first block of the chunk, which this plugin needs")]
    Reference,
    #[error("this plugin is for arrays, and the super-chunk holds none")]
    NoArray,
    #[error(transparent)]
    Recorded(#[from] InvalidPluginParams),
    #[error("the super-chunk records the parameter {0:?}, which the plugin does not have")]
    Parameter(Box<str>),
    #[error("the filter has other parameters in another slot, and C-Blosc2 does not say in which slot it is called")]
    Slots,
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("the type size is {0}, expected 1 to 255")]
    TypeSize(i32),
}

/// Runs a call of C-Blosc2. Errors become their codes, panics too; with `BLOSC_TRACE` in the environment they are
/// written to standard error, as C-Blosc2 does with its own.
fn answer(plugin: &str, call: impl FnOnce() -> Result<c_int, AnyError>) -> c_int {
    let result = guarded(call);
    result.unwrap_or_else(|error| {
        // What the errors of others say may panic as well.
        let _ = guarded::<(), AnyError>(|| {
            if std::env::var_os("BLOSC_TRACE").is_some() {
                writeln!(io::stderr(), "[error] - plugin {plugin}: {}", Chain(&*error))?;
            }
            Ok(())
        });
        match error.downcast_ref() {
            Some(CallError::Missing(_) | CallError::TypeSize(_) | CallError::Recorded(_) | CallError::Parameter(_)) => {
                INVALID_PARAM
            }
            Some(CallError::Positional | CallError::Reference | CallError::NoArray | CallError::Slots) => CODEC_SUPPORT,
            _ if error.is::<BufferError>() => INVALID_PARAM,
            _ => FAILURE,
        }
    })
}
