//! The Blosc2 formats in Rust: chunks, frames, and the two traits through which filters and codecs join.
//!
//! This crate does no I/O, starts no threads and contains no unsafe code. It names no plugin either: every filter
//! and codec, the built-in ones included, arrives through the [`registry`]. Add `oxiblosc-plugins` (or the facade
//! `oxiblosc`, which links it) to have the usual ones.
//!
//! ```
//! use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
//! use oxiblosc_core::{Inline, Registry};
//!
//! // An explicit registry without any plugin: data can still be stored, and stored chunks read.
//! let registry = Registry::empty();
//! let params = EncodeParams { level: 0, typesize: 4, ..EncodeParams::default() };
//! let mut encoder = ChunkEncoder::new(&params, &registry)?;
//! let chunk = encoder.encode(b"eight by", &ChunkContext::default(), &Inline)?;
//!
//! let mut decoder = ChunkDecoder::new(&registry);
//! assert_eq!(decoder.decode(&chunk, &ChunkContext::default(), &Inline)?, b"eight by");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The noun of each module is a noun of the format:
//!
//! | module | what it holds |
//! |---|---|
//! | [`id`] | filter and codec ids and their ranges |
//! | [`filter`], [`codec`] | the two traits and what they are told about a block |
//! | [`registry`] | who provides which id |
//! | [`plugin`] | how a filter or codec is named in errors |
//! | [`plugin_params`] | parameters of filters and codecs beyond a byte |
//! | [`pipeline`] | the six filter slots |
//! | [`chunk`] | one compressed buffer |
//! | [`frame`] | many chunks in one file |
//! | [`nd`] | n-dimensional arrays on top of a frame |
// Which feature an item takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod chain;
pub mod chunk;
pub mod codec;
pub mod executor;
pub mod filter;
pub mod frame;
pub mod id;
mod io_error;
pub mod limits;
pub mod nd;
pub mod pipeline;
pub mod plugin;
pub mod plugin_params;
pub mod registry;
#[cfg(feature = "serde")]
mod serial;

pub use chain::Chain;
pub use executor::{Executor, Inline};
pub use id::{CodecId, FilterId, IdRange};
pub use limits::Limits;
pub use registry::Registry;

/// What the macros of this crate need from its dependencies; not part of the public interface.
#[doc(hidden)]
pub mod private {
    pub use inventory;
}
