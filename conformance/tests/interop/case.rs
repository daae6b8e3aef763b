//! The settings of one round trip, for both sides.

use oxiblosc::core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams, SplitMode};
use oxiblosc::core::pipeline::FilterSlots;
use oxiblosc::core::{CodecId, FilterId, Registry};
use serde_json::{Value, json};

/// The five codecs that both sides write, with their names.
pub(crate) const CODECS: [(&str, CodecId); 5] = [
    ("blosclz", CodecId::BLOSCLZ),
    ("lz4", CodecId::LZ4),
    ("lz4hc", CodecId::LZ4HC),
    ("zlib", CodecId::ZLIB),
    ("zstd", CodecId::ZSTD),
];

/// The filter pipelines of the matrix.
pub(crate) const PIPELINES: [&[(FilterId, u8)]; 4] =
    [&[], &[(FilterId::SHUFFLE, 0)], &[(FilterId::BITSHUFFLE, 0)], &[(FilterId::DELTA, 0), (FilterId::SHUFFLE, 0)]];

/// The settings of one round trip.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) codec: CodecId,
    pub(crate) codec_meta: u8,
    pub(crate) level: u8,
    pub(crate) typesize: usize,
    pub(crate) filters: Vec<(FilterId, u8)>,
    /// `None` for automatic.
    pub(crate) block_size: Option<usize>,
    pub(crate) split: SplitMode,
    pub(crate) dict: bool,
}

impl Case {
    pub(crate) fn new(codec: CodecId, level: u8, typesize: usize, filters: &[(FilterId, u8)]) -> Self {
        let filters = filters.to_vec();
        let split = SplitMode::default();
        Self { codec, codec_meta: 0, level, typesize, filters, block_size: None, split, dict: false }
    }

    /// For this side.
    pub(crate) fn params(&self) -> EncodeParams {
        EncodeParams {
            codec: self.codec,
            codec_meta: self.codec_meta,
            level: self.level,
            typesize: self.typesize,
            filters: FilterSlots::from_list(&self.filters).expect("at most six filters"),
            block_size: self.block_size,
            split: self.split,
            use_dict: self.dict,
            ..EncodeParams::default()
        }
    }

    /// For the other side.
    pub(crate) fn to_json(&self) -> Value {
        let split = match self.split {
            SplitMode::Always => "always",
            SplitMode::Never => "never",
            SplitMode::Auto => "auto",
            SplitMode::ForwardCompat => "forward",
        };
        json!({
            "codec": self.codec.0,
            "codec_meta": self.codec_meta,
            "level": self.level,
            "typesize": self.typesize,
            "filters": self.filters.iter().map(|(id, meta)| [id.0, *meta]).collect::<Vec<_>>(),
            "blocksize": self.block_size.unwrap_or(0),
            "split": split,
            "dict": self.dict,
        })
    }

    /// A chunk made by this side.
    #[track_caller]
    pub(crate) fn encode(&self, data: &[u8]) -> Vec<u8> {
        let mut encoder = ChunkEncoder::new(&self.params(), registry()).expect("the plugins are linked");
        match encoder.encode(data, &ChunkContext::default()) {
            Ok(chunk) => chunk,
            Err(error) => panic!("{self:?}, {} bytes: {error}", data.len()),
        }
    }
}

/// What this side makes of a chunk.
pub(crate) fn decode(chunk: &[u8]) -> Result<Vec<u8>, String> {
    ChunkDecoder::new(registry()).decode(chunk, &ChunkContext::default()).map_err(|e| e.to_string())
}

pub(crate) fn registry() -> &'static Registry {
    Registry::linked().expect("the plugins are linked")
}
