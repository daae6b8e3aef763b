//! Codecs, filters and parameters, the same for all implementations.

use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{CodecId, FilterId};

/// A codec that all implementations have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
#[value(rename_all = "lower")]
pub enum Codec {
    /// BloscLZ.
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4HC.
    Lz4Hc,
    /// Zlib.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Codec {
    /// All of them, the fastest first.
    pub const ALL: [Self; 5] = [Self::BloscLz, Self::Lz4, Self::Lz4Hc, Self::Zlib, Self::Zstd];

    /// Name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BloscLz => "blosclz",
            Self::Lz4 => "lz4",
            Self::Lz4Hc => "lz4hc",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// Its id in the Blosc2 enumeration.
    pub const fn id(self) -> CodecId {
        match self {
            Self::BloscLz => CodecId::BLOSCLZ,
            Self::Lz4 => CodecId::LZ4,
            Self::Lz4Hc => CodecId::LZ4HC,
            Self::Zlib => CodecId::ZLIB,
            Self::Zstd => CodecId::ZSTD,
        }
    }
}

/// A filter pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
#[value(rename_all = "lower")]
pub enum Filter {
    /// No filter.
    None,
    /// Byte shuffle.
    Shuffle,
    /// Bit shuffle.
    Bitshuffle,
    /// Byte shuffle, then byte delta: the second makes sense only after the first.
    Bytedelta,
}

impl Filter {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Shuffle, Self::Bitshuffle, Self::Bytedelta];

    /// Name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Shuffle => "shuffle",
            Self::Bitshuffle => "bitshuffle",
            Self::Bytedelta => "bytedelta",
        }
    }

    /// The slots, filled from the end as C-Blosc2 does.
    pub fn slots(self, typesize: usize) -> FilterSlots {
        match self {
            Self::None => FilterSlots::NONE,
            Self::Shuffle => FilterSlots::SHUFFLE,
            Self::Bitshuffle => FilterSlots::single(FilterId::BITSHUFFLE),
            Self::Bytedelta => {
                let mut slots = FilterSlots::single(FilterId::BYTEDELTA);
                slots.0[4].id = FilterId::SHUFFLE;
                // The meta byte is the number of byte streams the shuffled block consists of.
                slots.0[5].meta = u8::try_from(typesize).unwrap_or(1);
                slots
            }
        }
    }
}

/// How to compress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// The codec.
    pub codec: Codec,
    /// The filters.
    pub filter: Filter,
    /// 0..=9.
    pub level: u8,
    /// Threads for compression and decompression.
    pub threads: usize,
    /// Bytes of an item.
    pub typesize: usize,
    /// Bytes of a block; `None` leaves the choice to the implementation.
    pub block_size: Option<usize>,
}
