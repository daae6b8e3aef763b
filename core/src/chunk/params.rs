//! How to encode a chunk, and its place in a frame.

use super::ChunkError;
use crate::filter::BitshuffleRule;
use crate::id::{CodecId, FilterId};
use crate::nd::Geometry;
use crate::pipeline::FilterSlots;
use crate::plugin_params::PluginParams;
use crate::registry::Registry;

/// How to encode a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct EncodeParams {
    /// The codec.
    pub codec: CodecId,
    /// The `compcode_meta` byte, handed to the codec.
    pub codec_meta: u8,
    /// Compression level: 0 stores, 9 compresses best.
    pub level: u8,
    /// Size of an item in bytes, at least 1. Above 255 the header says 1, as C-Blosc2 does.
    pub typesize: usize,
    /// The filters.
    pub filters: FilterSlots,
    /// Bytes of a block; chosen from codec, level and type size when `None`. Rounded down to a multiple of
    /// `typesize`, and taken as it is otherwise (C-Blosc 1 enlarges the blocks of split chunks even when asked for a
    /// size; there are at least 128 bytes in its blocks here too).
    pub block_size: Option<usize>,
    /// Whether blocks are split into one stream per byte of the type.
    pub split: SplitMode,
    /// Train a dictionary for the chunk (codecs that can).
    pub use_dict: bool,
    /// Which layout to write.
    pub format: ChunkFormat,
    /// Parameters of the codec and the filters beyond their bytes of metadata.
    pub plugin_params: PluginParams,
}

impl Default for EncodeParams {
    /// BloscLZ at level 5 on shuffled bytes, like C-Blosc2; set `typesize` to the size of your items.
    fn default() -> Self {
        Self {
            codec: CodecId::BLOSCLZ,
            codec_meta: 0,
            level: 5,
            typesize: 1,
            filters: FilterSlots::SHUFFLE,
            block_size: None,
            split: SplitMode::default(),
            use_dict: false,
            format: ChunkFormat::Blosc2,
            plugin_params: PluginParams::default(),
        }
    }
}

impl EncodeParams {
    /// The same for a chunk that is in no frame: what filters would take from the frame is spelled out. A bytedelta
    /// without metadata has as many channels as items have bytes, which C-Blosc2 knows from the frame alone.
    #[must_use]
    pub fn standalone(mut self) -> Self {
        if let Ok(typesize) = u8::try_from(self.typesize) {
            let slots = self.filters.0.iter_mut();
            slots.filter(|slot| slot.id == FilterId::BYTEDELTA && slot.meta == 0).for_each(|slot| slot.meta = typesize);
        }
        self
    }

    /// Adds the parameters of plugins that a frame records for its chunks, which chunks with these parameters must have
    /// too: readers hand all chunks of a frame the same.
    ///
    /// # Errors
    /// [`ChunkError::Parameter`] when the frame records others for the same codec or filter.
    pub fn with_recorded_params(mut self, recorded: &PluginParams, registry: &Registry) -> Result<Self, ChunkError> {
        let recorded = recorded.of_pipeline(self.codec, &self.filters);
        if self.plugin_params.is_empty() {
            self.plugin_params = recorded;
        } else if self.recorded_params(registry) != recorded {
            let expected = "those that the frame records for its codec and filters";
            return Err(ChunkError::parameter("plugin_params", format!("{:?}", self.plugin_params), expected));
        }
        Ok(self)
    }

    /// The parameters of plugins that readers need too, for the metalayer [`PluginParams::METALAYER`]; none if it is not
    /// needed. `registry` knows what the plugins declare.
    pub fn recorded_params(&self, registry: &Registry) -> PluginParams {
        self.plugin_params.recorded(
            |id| registry.codec(id).map_or(&[], |entry| entry.info().traits.params),
            |id| registry.filter(id).map_or(&[], |entry| entry.info().traits.params),
        )
    }
}

/// Whether blocks are split into one stream per byte of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum SplitMode {
    /// Every whole block is split.
    Always,
    /// No block is split.
    Never,
    /// Split where it usually helps: shuffled data, small types, fast codecs.
    Auto,
    /// The rule that readers of the first Blosc2 releases also expect; the same as [`SplitMode::Auto`] today.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "forward"))]
    ForwardCompat,
}

/// Which layout of a chunk to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum ChunkFormat {
    /// 32-byte header, any codec, six filters.
    #[default]
    Blosc2,
    /// 16-byte header of version 2, at most one of shuffle and bit shuffle, readable by Blosc 1.
    Blosc1,
    /// 32-byte header of version 4, without runs, special values and dictionaries: what the Blosc2 of 2019 reads, for
    /// frames of the early layout. Filters 1 to 4, codecs 0 to 5; bit shuffle by the rule of that time.
    Early,
}

/// The place of a chunk in a frame. All of it is optional; some plugins need it.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ChunkContext<'a> {
    /// Number of the chunk in its frame. Plugins are not told: it changes when chunks are inserted or deleted.
    pub number: Option<u64>,
    /// True item size in bytes when the frame knows it (the chunk header cannot hold more than 255).
    pub item_size: Option<usize>,
    /// Shape of the array, when the frame holds one.
    pub nd: Option<&'a Geometry>,
    /// Forces a bit-shuffle rule; `None` chooses by the chunk's version. Frames of 2019 need
    /// [`BitshuffleRule::WholeBlockOrNothing`].
    pub bitshuffle: Option<BitshuffleRule>,
}

impl ChunkContext<'_> {
    /// The context of chunk `number` of a frame.
    pub fn numbered(number: u64) -> Self {
        Self { number: Some(number), ..Self::default() }
    }

    /// Bytes of an item, at least 1; `typesize` when the frame does not know better.
    pub(crate) fn item_size_or(&self, typesize: usize) -> usize {
        self.item_size.unwrap_or(typesize).max(1)
    }

    /// Bytes of an item, if writer and reader both know them; `typesize` is that of the header, where 1 also stands for
    /// items that are too wide for it.
    pub(crate) fn known_item_size(&self, typesize: usize) -> Option<usize> {
        self.item_size.filter(|&bytes| bytes > 0).or((typesize > 1).then_some(typesize))
    }
}
