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
//! # The promises of a plugin
//!
//! They come from [`Filter`](oxiblosc_core::filter::Filter) and [`Codec`](oxiblosc_core::codec::Codec). A report names
//! each broken promise once, with the smallest input that was found, the settings, and the byte that differs. A run with
//! the same [seed](CodecCheck::seed), which the report names too, does the same.
//!
//! | promise | what is tried |
//! |---|---|
//! | valid input is accepted | blocks and streams of every length, content, type size and item size are neither an error nor a panic |
//! | claimed lengths are possible | codecs return lengths from 1 to that of the buffer |
//! | a result that does not fit is told by value | `compress` into less room gives a stream that decodes, or `None` |
//! | every byte of the output is written | the result does not depend on what the buffer held |
//! | one call does not influence the next | a used instance does what a new one does, also after damaged data |
//! | clones work side by side | clones on several threads, each with another input, do what they do alone |
//! | slices may begin at any address | source and destination at every distance from a multiple of 64 bytes |
//! | what is not declared lossy comes back | bit by bit |
//! | the loss is within its bound | the bound is what the author says with `max_error` or `tolerance` |
//! | a loss is not total, and does not grow | two blocks do not become one; a filter applied to what it has restored loses nothing more, or stays within the bound again |
//! | the place matters only if positional is declared | number and offset of the block, number of the stream in its block |
//! | needs_reference is declared as it is | the reference makes a difference exactly if it is declared |
//! | needs_array is declared as it is | the shape is needed exactly if that is declared |
//! | keeps_zeros is declared only where it holds | `backward` of zeros is zeros |
//! | forward_only is declared only where it holds | `backward` copies |
//! | the meta byte makes a difference | if the author lists several with `metas` |
//! | every meta byte works or is refused | each of the 256, listed or not |
//! | dictionaries are made, used and declared | within the length asked for, the same for the same samples, with an effect, and with round trips |
//! | a codec that only reads says so | `CodecError::DecodeOnly`, or any error of a filter with `decode_only` |
//! | some streams get smaller | a codec that never compresses has not been checked |
//! | a wrong decoded length is noticed | a whole stream is not said to decode to another number of bytes |
//! | a cut stream is not taken for a whole one | a stream without its end is an error, unless all bytes it decodes to are right |
//! | a range is what the whole has there | `decompress_range` of whole, cut and damaged streams, exactly if `ranges` is declared; `part` of a filter, exactly if `parts` is |
//! | parameters are taken, recorded and refused as declared | what is written with them comes back with those that are recorded; values that make no sense are errors |
//! | damage does not lead to a panic | changed, cut, repeated and random bytes, and wrong dictionaries, lead to errors or other bytes |
//! | every call ends in time | on damaged data too; a call that does not end is reported and left behind |
//! | memory is in proportion | damaged data cannot ask for more than the limit |
//! | frames, arrays and slices come back | written and read on a pool, with the same bytes for any number of threads (feature `streams`) |
//! | C-Blosc2 reads and writes the same | for plugins that it has, if there is a `python` with the package `blosc2` |
//!
//! `groups_bytes`, `high_ratio` and `split_up_to_level` are matters of taste: nothing can be checked.
//!
//! # Targets, stores, budgets
//!
//! Authors of a target, a place that frames are written to, find the same in [`target`] (feature `streams`, on by
//! default), and authors of a store, in which frames are edited, a model to compare with in [`edits`]. With the feature
//! `budget` tests can run under a limit of memory and time.
// Which feature an item takes, on docs.rs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "budget")]
pub mod budget;
pub mod data;
#[cfg(feature = "streams")]
pub mod edits;
mod plugin;
mod report;
#[cfg(feature = "streams")]
pub mod target;

pub use plugin::{CodecCheck, FilterCheck, Promise};
pub use report::Report;
