//! The promises of filters and codecs; the table is in the documentation of the crate.

mod case;
mod child;
mod clones;
mod codec;
mod filter;
#[cfg(feature = "streams")]
mod frames;
mod input;
mod memory;
mod params;
#[cfg(feature = "streams")]
mod peer;
mod promise;
mod session;
mod settings;
mod shrink;
mod watch;

pub use codec::CodecCheck;
pub use filter::FilterCheck;
pub use promise::Promise;
