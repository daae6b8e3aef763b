//! Blosc2 frames as streams: asynchronous sinks and readers, and their blocking twins.
//!
//! The traits are those of the `futures` crate, so any executor will do; compression happens on a [`Pool`] of its own,
//! never on the executor's threads.
//!
//! | to | use |
//! |---|---|
//! | write a frame | [`WriteOptions`], [`FrameSink`] |
//! | say where it goes | [`target`] |
//! | have it move on while its producer waits | [`Driven`], [`Driver`] |
//! | read a frame | [`ReadOptions`], [`FrameReader`] |
//! | have several writers fill one frame or array | [`sparse`], [`SharedWriter`] |
//! | read one from a pipe | [`FrameStream`] |
//! | say where it comes from | [`source`] |
//! | name either by a path or a URL | [`location`] |
//! | change a frame, append to it, copy it | [`edit`] |
//! | save what is left of a damaged frame, seal an open-ended one | [`recover`] |
//! | read and write n-dimensional arrays | [`nd`] |
//! | see how far long work is, and cancel it | [`Progress`] |
//! | do the work on threads that the program has anyway | [`Pool::from_rayon`], [`Pool::with_spawn`] |
//! | use the I/O traits of Tokio | `tokio` (feature `tokio`) |
//! | take in and give out gzip, Zstandard, Brotli and LZ4 | [`transport`] (feature `compression`) |
//! | wait for what goes on behind dropped sinks, before the program ends | [`settle`] |
//! | do without async | [`blocking`] |
// Which feature an item takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]
// Only mapping a file takes an unsafe call, and its caller's promise.
#![cfg_attr(not(feature = "mmap"), forbid(unsafe_code))]
#![deny(unsafe_code)]

mod background;
// For the unit tests. The models are built without the plugins and register their own codec.
#[cfg(all(test, not(shuttle)))]
use oxiblosc_plugins as _;

pub mod blocking;
mod budget;
pub mod compute;
mod context;
mod disk;
pub mod edit;
mod error;
mod integrity;
mod kind;
pub mod location;
#[cfg(all(test, shuttle))]
mod models;
pub mod nd;
#[cfg(feature = "object_store")]
pub mod object;
mod progress;
mod reader;
pub mod recover;
mod sink;
pub mod source;
pub mod sparse;
mod sync;
// The directory is not called `target`, which tools take for build output.
#[path = "destination/mod.rs"]
pub mod target;
#[cfg(feature = "tokio")]
pub mod tokio;
mod trace;
pub mod transport;
mod typed;

pub use background::{Settle, settle};
pub use budget::{Acquire, Budget, Permit};
pub use compute::{Pool, block_on};
pub use context::Replaced;
pub use disk::IoMode;
pub use error::{ReadError, WriteError};
pub use integrity::{Finding, FingerprintCheck, VerifyReport};
pub use kind::ErrorKind;
pub use progress::Progress;
pub use reader::{ByteStream, ChecksumPolicy, ChunkStream, FrameReader, FrameStream, OpenEnd, ReadOptions};
pub use sink::{Drive, Driven, Driver, FrameSink, Summary, WriteOptions};
pub use sparse::SharedWriter;

/// The registry given in some options, or else the codecs and filters linked into the program.
fn given_or_linked(
    registry: Option<&oxiblosc_core::Registry>,
) -> Result<oxiblosc_core::Registry, oxiblosc_core::registry::RegistryError> {
    registry.cloned().map_or_else(|| oxiblosc_core::Registry::linked().cloned(), Ok)
}
