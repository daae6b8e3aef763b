//! The codecs.
//!
//! | name | id | writes | levels |
//! |---|---|---|---|
//! | `blosclz` | 0 | yes | 1..=9 |
//! | `lz4` | 1 | yes | acceleration 10 - level |
//! | `lz4hc` | 2 | yes | as LZ4's HC levels |
//! | `snappy` | 3 | no | |
//! | `zlib` | 4 | yes | deflate's levels |
//! | `zstd` | 5 | yes | 1, 3, .. 15 and 22 |
//! | `ndlz` | 32 | yes, blocks of 2 dimensions | |
//! | `zfp_acc`, `zfp_prec`, `zfp_rate` | 33, 34, 35 | yes, blocks of 1 to 4 dimensions; lossy | |
//!
//! Zstandard and zfp are features of this crate, on by default, and so is libdeflate, which helps `zlib`. Programs without
//! C leave out the default features and take `pure`, or do without Zstandard.
//!
//! A codec instance belongs to one worker and keeps its tables and contexts between streams; a clone has its own
//! tables. Decoders never write more bytes than the block needs, whatever the stream says, so that they cannot be made
//! to allocate or to run on.

mod blosclz;
mod greedy;
mod input;
mod lz4;
mod match_tables;
mod ndlz;
mod overcopy;
mod sample;
mod snappy;
#[cfg(feature = "zfp")]
mod zfp;
mod zlib;
#[cfg(any(feature = "zstd", feature = "pure"))]
mod zstd;

#[cfg(all(test, unix))]
mod guard_pages;
#[cfg(test)]
mod testing;

pub use blosclz::Blosclz;
pub use lz4::{Lz4, Lz4Hc};
pub use ndlz::Ndlz;
pub use snappy::Snappy;
#[cfg(feature = "zfp")]
pub use zfp::{Zfp, ZfpMode};
pub use zlib::Zlib;
#[cfg(any(feature = "zstd", feature = "pure"))]
pub use zstd::Zstd;
