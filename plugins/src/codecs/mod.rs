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
//!
//! A codec instance belongs to one worker and keeps its tables and contexts between streams; cloning one gives the
//! clone tables of its own. Decoders write exactly as many bytes as the stream must have, whatever it says, and so
//! cannot be made to allocate or to run on.

mod blosclz;
mod input;
mod lz4;
mod snappy;
mod wild;
mod zlib;
mod zstd;

#[cfg(test)]
mod testing;

pub use blosclz::Blosclz;
pub use lz4::{Lz4, Lz4Hc};
pub use snappy::Snappy;
pub use zlib::Zlib;
pub use zstd::Zstd;
