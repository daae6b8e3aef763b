//! The conformance kit: proves that a filter or codec keeps the promises of its trait.
//!
//! A plugin author calls it from one test:
//!
//! ```
//! use oxiblosc_conformance::{CodecCheck, FilterCheck};
//! use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
//! use oxiblosc_core::{FilterId, Registry, register_filter};
//!
//! /// Adds 1 to every byte.
//! #[derive(Clone)]
//! struct Bump;
//!
//! impl Filter for Bump {
//!     fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
//!         dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_add(1));
//!         Ok(())
//!     }
//!     fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
//!         dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_sub(1));
//!         Ok(())
//!     }
//! }
//!
//! register_filter!(FilterId(201), "bump", FilterTraits::LOSSLESS, || Box::new(Bump));
//!
//! FilterCheck::new(Registry::linked()?, FilterId(201)).run()?.assert_passed();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The promises come from [`Filter`](oxiblosc_core::filter::Filter) and [`Codec`](oxiblosc_core::codec::Codec): every
//! block length is accepted, every output byte is written, no call influences another, clones work concurrently, the
//! inverse restores the data, and damage leads to an error and never to a panic.
//!
//! Authors of a target, a place that frames are written to, find the same in [`target`] (feature `streams`, on by
//! default), and authors of a store, in which frames are edited, a model to compare with in [`edits`]. With the feature
//! `budget` tests can run under a limit of memory and time.
#![forbid(unsafe_code)]

#[cfg(feature = "budget")]
pub mod budget;
mod codec;
pub mod data;
#[cfg(feature = "streams")]
pub mod edits;
mod filter;
mod report;
#[cfg(feature = "streams")]
pub mod target;

pub use codec::CodecCheck;
pub use filter::FilterCheck;
pub use report::Report;
