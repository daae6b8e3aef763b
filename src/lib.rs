//! Blosc2 as a streaming codec framework with an open plugin registry.
pub use oxiblosc_core as core;
pub use oxiblosc_plugins as plugins;
pub use oxiblosc_streaming as streaming;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
