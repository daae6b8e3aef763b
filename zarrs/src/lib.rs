//! Codecs for [zarrs](https://docs.rs/zarrs) on the engine of oxiblosc.
//!
//! A program that links this crate has two codecs, which zarrs finds by the names in the metadata of an array:
//!
//! | name | codec | chunks are those of |
//! |---|---|---|
//! | `blosc` | [`BloscCodec`] | C-Blosc 1: numcodecs, zarr-python and all other implementations of Zarr read them |
//! | `oxiblosc` | [`Blosc2Codec`] | C-Blosc2; the Python package `oxiblosc` has the same codec |
//!
//! ```
//! use std::sync::Arc;
//!
//! use oxiblosc_zarrs::{Blosc2Codec, Blosc2Configuration, BloscCodec};
//! use zarrs::array::{Array, ArrayBuilder, data_type};
//! use zarrs::storage::store::MemoryStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Once, before arrays are opened: zarrs may have a codec `blosc` of its own.
//! oxiblosc_zarrs::register();
//!
//! let store = Arc::new(MemoryStore::new());
//! let codec = Blosc2Codec::new(Blosc2Configuration {
//!     filters: vec!["delta".into(), "bitshuffle".into()],
//!     typesize: Some(4),
//!     ..Blosc2Configuration::default()
//! })?;
//! let array = ArrayBuilder::new(vec![1000, 1000], vec![250, 500], data_type::int32(), 0)
//!     .bytes_to_bytes_codecs(vec![Arc::new(codec)])
//!     .build(store.clone(), "/numbers")?;
//! array.store_metadata()?;
//! array.store_chunk(&[3, 1], (0..125_000).collect::<Vec<i32>>())?;
//!
//! // Whoever opens it needs no more than its metadata.
//! let array = Array::open(store, "/numbers")?;
//! let row: Vec<i32> = array.retrieve_array_subset(&[750..751, 498..502])?;
//! assert_eq!(row, [0, 0, 0, 1]);
//! # Ok(())
//! # }
//! ```
//!
//! Zarr version 3 only: arrays of version 2 are left to zarrs. A chunk is encoded and decoded as a whole, on the thread
//! that asks for it; zarrs does several chunks at a time.
#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

// Its snippets are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod blosc;
mod blosc2;
mod engine;

pub use blosc::{BloscCodec, BloscConfiguration, Compressor, Shuffle};
pub use blosc2::{Blosc2Codec, Blosc2Configuration};
pub use engine::ConfigurationError;
use zarrs_codec::{CodecRuntimePluginV3, CodecRuntimeRegistryHandleV3, CodecTraitsV3, register_codec_v3};

/// Has zarrs take this engine for the codec `blosc`, even if it was built with its own, which it is by default.
///
/// Arrays that are opened later have this codec. Without the feature `blosc` of zarrs nothing needs to be called.
/// [`unregister_codec_v3`](zarrs_codec::unregister_codec_v3) takes it back.
pub fn register() -> CodecRuntimeRegistryHandleV3 {
    register_codec_v3(CodecRuntimePluginV3::new(|name| name == "blosc", BloscCodec::create))
}
