//! The codec `blosc` of Zarr.
//!
//! Source: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/blosc/index.html>.

use std::any::Any;
use std::sync::Arc;

use oxiblosc_core::chunk::{ChunkFormat, EncodeParams, SplitMode};
use oxiblosc_core::pipeline::{FilterSlot, FilterSlots, SLOTS};
use oxiblosc_core::{Chain, CodecId, FilterId};
use serde::{Deserialize, Serialize};
use zarrs_codec::{
    ArrayBytesRaw, BytesRepresentation, BytesToBytesCodecTraits, Codec, CodecError, CodecMetadataOptions, CodecOptions,
    CodecPluginV3, CodecTraits, CodecTraitsV3, PartialDecoderCapability, PartialEncoderCapability,
    RecommendedConcurrency,
};
use zarrs_metadata::Configuration;
use zarrs_metadata::v3::MetadataV3;
use zarrs_plugin::{PluginCreateError, ZarrVersion};

use crate::engine::{self, ConfigurationError};

/// "A string identifying the internal compression algorithm to be used."
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Compressor {
    /// BloscLZ.
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4HC.
    Lz4Hc,
    /// Snappy, for reading.
    Snappy,
    /// zlib.
    Zlib,
    /// Zstandard.
    Zstd,
}

/// "A string [...] specifying the type of shuffling to be performed."
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shuffle {
    /// None.
    #[default]
    NoShuffle,
    /// By bytes.
    Shuffle,
    /// By bits.
    BitShuffle,
}

/// The configuration of the codec `blosc`, as the metadata of an array has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BloscConfiguration {
    /// The compressor.
    pub cname: Compressor,
    /// The level, 0 to 9. At 0 chunks are stored.
    pub clevel: u8,
    /// How items are shuffled.
    #[serde(default)]
    pub shuffle: Shuffle,
    /// Bytes of an item. "Required unless shuffle is noshuffle, in which case the value is ignored."
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typesize: Option<usize>,
    /// Bytes of a block; 0 for a choice by the engine.
    #[serde(default)]
    pub blocksize: usize,
}

/// The codec `blosc`. Its chunks are read by all implementations of Zarr, and it reads theirs.
#[derive(Debug, Clone)]
pub struct BloscCodec {
    configuration: BloscConfiguration,
    /// None of a compressor that is read and not written.
    params: Option<EncodeParams>,
}

impl BloscCodec {
    /// A codec of this configuration. One with Snappy decodes, and its encoding is an error.
    ///
    /// # Errors
    /// When a value is out of range, or the type size is missing where items are shuffled.
    pub fn new(configuration: BloscConfiguration) -> Result<Self, ConfigurationError> {
        let shuffled = configuration.shuffle != Shuffle::NoShuffle;
        let typesize = match configuration.typesize {
            Some(0) | None if shuffled => {
                let expected = "at least 1, since items are shuffled";
                return Err(ConfigurationError::Field { field: "typesize", found: 0, expected });
            }
            // C-Blosc takes larger items for bytes.
            Some(size) if (1..=255).contains(&size) => size,
            _ => 1,
        };
        let codec = match configuration.cname {
            Compressor::BloscLz => CodecId::BLOSCLZ,
            Compressor::Lz4 => CodecId::LZ4,
            Compressor::Lz4Hc => CodecId::LZ4HC,
            Compressor::Zlib => CodecId::ZLIB,
            Compressor::Zstd => CodecId::ZSTD,
            Compressor::Snappy => return Ok(Self { configuration, params: None }),
        };
        let filter = match configuration.shuffle {
            Shuffle::NoShuffle => FilterId::NONE,
            Shuffle::Shuffle => FilterId::SHUFFLE,
            Shuffle::BitShuffle => FilterId::BITSHUFFLE,
        };
        let mut filters = FilterSlots::NONE;
        filters.0[SLOTS - 1] = FilterSlot { id: filter, meta: 0 };
        let params = EncodeParams {
            codec,
            level: configuration.clevel,
            typesize,
            filters,
            block_size: (configuration.blocksize > 0).then_some(configuration.blocksize),
            // As C-Blosc does by itself.
            split: SplitMode::ForwardCompat,
            format: ChunkFormat::Blosc1,
            ..EncodeParams::default()
        };
        engine::check(&params)?;
        Ok(Self { configuration, params: Some(params) })
    }

    fn params(&self) -> Result<&EncodeParams, CodecError> {
        self.params.as_ref().ok_or_else(|| CodecError::Other("chunks of snappy are read and not written".into()))
    }
}

engine::codec!(BloscCodec, BloscConfiguration, "blosc");
