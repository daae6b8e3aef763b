//! Finds the codec, level, filters and sizes for data by trying them on a sample of it.
//!
//! ```
//! use std::time::Duration;
//! use oxiblosc::Inline;
//! use oxiblosc_tune::{Purpose, Sample, TuneOptions};
//!
//! // Items of four bytes.
//! let data: Vec<u8> = (0..200_000u32).flat_map(|i| (i * 7 / 3).to_le_bytes()).collect();
//! let sample = Sample::new(&data, 4);
//! let tuned = TuneOptions::new().budget(Duration::from_secs(1)).tune(&sample)?;
//!
//! let best = tuned.best_for(Purpose::Archive);
//! println!("{}: {:.1} times smaller", best.candidate, best.ratio());
//! let chunk = oxiblosc::compress(&data, &best.candidate.params(), &Inline)?;
//! assert!(chunk.len() < data.len() / 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is tried
//!
//! Every lossless codec of the [`Registry`](oxiblosc::Registry) that can encode is tried at each level, with the usual
//! combinations of Blosc's filters and with those other filters of the registry that make the beginning of the sample
//! smaller. The best combinations are then tried with other sizes of blocks and chunks. A test compares what this finds
//! with an exhaustive search.
//!
//! - [`TuneOptions::max_error`] allows floats to lose precision, and tries the filter `trunc_prec` as well.
//! - [`Sample::array`] says that the sample is the beginning of an array, so that codecs that need the shape of their
//!   blocks are tried, too.
//! - [`TuneOptions::budget`] limits the time.
//! - [`Sampler`] takes a sample of a stream of any length.
//!
//! # What is best
//!
//! A [`Measurement`] has a ratio and two speeds, and [`Tuned::front`] leaves out those that another one beats in all
//! three. [`Purpose`] names what data are compressed for, and [`Tuned::best_for`] says what is best for it.
//! Speeds are those of one thread unless [`TuneOptions::pool`] says otherwise; [`Measurement::threads`] says what more
//! threads give.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod array;
mod budget;
mod candidate;
mod choice;
mod costs;
mod error;
mod filters;
mod measurement;
mod meter;
mod options;
mod others;
mod probe;
mod purpose;
mod sample;
mod search;
mod skipped;
mod steps;
#[cfg(test)]
mod test_data;
mod threads;
mod tolerance;
mod tuned;

pub use candidate::Candidate;
pub use error::TuneError;
pub use measurement::Measurement;
pub use options::TuneOptions;
pub use purpose::Purpose;
pub use sample::{Sample, Sampler};
pub use skipped::{Skipped, Subject};
pub use steps::TuneProgress;
pub use threads::ThreadSpeed;
pub use tuned::Tuned;
