//! The codec `oxiblosc`: chunks of Blosc2.

use std::any::Any;
use std::sync::Arc;

use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::pipeline::{FilterSlot, FilterSlots, SLOTS};
use oxiblosc_core::{Chain, FilterId};
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

/// The configuration of the codec `oxiblosc`, as the metadata of an array has it and the Python package writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blosc2Configuration {
    /// The name of the codec: any that is linked into the program.
    #[serde(default = "zstd")]
    pub codec: String,
    /// The level, 0 to 9. At 0 chunks are stored.
    #[serde(default = "level")]
    pub clevel: u8,
    /// The names of up to six filters, in the order in which they are applied.
    #[serde(default = "shuffle")]
    pub filters: Vec<String>,
    /// Bytes of an item; 1 if it is not given.
    #[serde(default)]
    pub typesize: Option<usize>,
    /// Bytes of a block; 0 for a choice by the engine.
    #[serde(default)]
    pub blocksize: usize,
}

fn zstd() -> String {
    "zstd".into()
}

fn level() -> u8 {
    5
}

fn shuffle() -> Vec<String> {
    vec!["shuffle".into()]
}

impl Default for Blosc2Configuration {
    fn default() -> Self {
        Self { codec: zstd(), clevel: level(), filters: shuffle(), typesize: None, blocksize: 0 }
    }
}

/// The codec `oxiblosc`. Each of its chunks is a chunk of Blosc2, which C-Blosc2 reads.
#[derive(Debug, Clone)]
pub struct Blosc2Codec {
    configuration: Blosc2Configuration,
    params: EncodeParams,
}

impl Blosc2Codec {
    /// A codec of this configuration.
    ///
    /// # Errors
    /// When a codec or filter is not known, or a value is out of range.
    pub fn new(configuration: Blosc2Configuration) -> Result<Self, ConfigurationError> {
        let registry = engine::registry()?;
        let names = &configuration.filters;
        if names.len() > SLOTS {
            return Err(ConfigurationError::Filters { found: names.len(), most: SLOTS });
        }
        let mut filters = FilterSlots::NONE;
        // Fewer filters go to the last slots, as in python-blosc2.
        for (slot, name) in filters.0[SLOTS - names.len()..].iter_mut().zip(names) {
            let id = match name.to_lowercase().as_str() {
                "nofilter" | "none" => FilterId::NONE,
                name => registry.filter_by_name(name)?.info().id,
            };
            *slot = FilterSlot { id, meta: 0 };
        }
        let params = EncodeParams {
            codec: registry.codec_by_name(&configuration.codec.to_lowercase())?.info().id,
            level: configuration.clevel,
            typesize: configuration.typesize.unwrap_or(1),
            filters,
            block_size: (configuration.blocksize > 0).then_some(configuration.blocksize),
            ..EncodeParams::default()
        }
        .standalone();
        engine::check(&params)?;
        Ok(Self { configuration, params })
    }

    fn params(&self) -> Result<&EncodeParams, CodecError> {
        Ok(&self.params)
    }
}

engine::codec!(Blosc2Codec, Blosc2Configuration, "oxiblosc");
