//! How data are encoded: the options that `compress` and `recompress` share. Their defaults differ, so the help says
//! both.

use clap::{Args, ValueEnum};
use oxiblosc::chunk::{ChunkContext, ChunkEncoder, ChunkError, ChunkHeader, EncodeParams, SplitMode};
use oxiblosc::codec::CodecError;
use oxiblosc::filter::FilterError;
use oxiblosc::pipeline::{FilterSlots, PipelineError};
use oxiblosc::{Inline, Registry};

use crate::error::{CliError, one_line};
use crate::select::{CodecChoice, FilterChoice, resolve_filters};
use crate::units::parse_bytes;

/// How data are encoded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Encoding")]
pub(crate) struct EncodingArgs {
    /// Size of an item in bytes [default: from the .npy file, --dtype or the input of recompress, otherwise 1]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=MAX_TYPESIZE))]
    pub(crate) typesize: Option<u32>,
    /// Codec, by name or id (see `oxiblosc plugins`), with its parameters if it takes any [default: zstd, or as the input
    /// of recompress]
    #[arg(long, value_name = "NAME|ID[:PARAM=VALUE,...]")]
    codec: Option<CodecChoice>,
    /// Meta byte of the codec [default: 0, or as the input of recompress if the codec stays]
    #[arg(long, value_name = "N")]
    codec_meta: Option<u8>,
    /// Compression level: 0 stores, 9 compresses best [default: 5, or as the input of recompress]
    #[arg(long, value_name = "0-9", value_parser = clap::value_parser!(u8).range(0..=9))]
    level: Option<u8>,
    /// Filter, by name or id, with an optional meta byte and its parameters if it takes any; repeat for up to six filters in order, `none` for no filter
    /// [default: shuffle, or as the input of recompress]
    #[arg(long = "filter", value_name = "NAME[=META][:PARAM=VALUE,...]")]
    filters: Vec<FilterChoice>,
    /// Decoded bytes per chunk, as in 500000, 256K or 4M; for an array the maximum [default: 4M, or as the input of
    /// recompress]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) chunk_size: Option<usize>,
    /// Decoded bytes per block; for an array the maximum [default: chosen by codec, level and type size; recompress keeps
    /// the blocks of an array]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) block_size: Option<usize>,
    /// Whether blocks are split into one stream per byte of the type [default: forward, or as the input of
    /// recompress]
    #[arg(long, value_enum, value_name = "WHEN")]
    split: Option<Split>,
    /// Train a dictionary for each chunk (zstd, lz4 and lz4hc) [recompress: as the input if the codec stays]
    #[arg(long)]
    dict: bool,
}

/// Bytes on which filters are tried: enough for each of them to apply.
const SAMPLE: usize = 4096;

/// The largest type size that fits the header of a frame.
const MAX_TYPESIZE: i64 = i32::MAX as i64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Split {
    Auto,
    Always,
    Never,
    Forward,
}

impl EncodingArgs {
    /// The requested parameters, and those of `base` where none are requested. The block size is chosen for them unless
    /// it is requested.
    pub(crate) fn params(&self, base: EncodeParams, registry: &Registry) -> Result<EncodeParams, CliError> {
        if self.chunk_size.is_some_and(|size| size > ChunkHeader::MAX_NBYTES) {
            let most = ChunkHeader::MAX_NBYTES;
            return Err(CliError::Usage(format!("--chunk-size: a chunk holds at most {most} bytes")));
        }
        let mut params = EncodeParams { block_size: self.block_size, ..base };
        if let Some(codec) = &self.codec {
            let (codec, given) = codec.resolve(registry)?;
            params.codec = codec;
            params.plugin_params = std::mem::take(&mut params.plugin_params).codec(codec, given);
            // Metadata and dictionaries belong to one codec and mean nothing to another.
            params.codec_meta = 0;
            params.use_dict = false;
        }
        params.codec_meta = self.codec_meta.unwrap_or(params.codec_meta);
        params.level = self.level.unwrap_or(params.level);
        if !self.filters.is_empty() {
            let codec = std::mem::take(&mut params.plugin_params).codec_only();
            (params.filters, params.plugin_params) = resolve_filters(&self.filters, codec, registry)?;
        }
        params.typesize = self.typesize.map_or(params.typesize, |size| size as usize);
        params.split = self.split.map_or(params.split, Split::mode);
        params.use_dict |= self.dict;
        Ok(params)
    }

    /// Refuses requested filters and codecs that cannot work, before anything is read: their metadata may be invalid,
    /// they may not support the size of items, or they may need an array.
    pub(crate) fn check(&self, params: &EncodeParams, is_array: bool, registry: &Registry) -> Result<(), CliError> {
        let mut params = EncodeParams { block_size: None, ..params.clone() };
        if self.filters.is_empty() {
            if self.codec.is_none() && self.codec_meta.is_none() {
                return Ok(());
            }
            // What was not requested is not refused here.
            params = EncodeParams { typesize: 1, filters: FilterSlots::NONE, ..params };
        }
        // Invalid parameters are refused when the real encoder is made.
        let Ok(mut encoder) = ChunkEncoder::new(&params, registry) else { return Ok(()) };
        // Not a repeated value, which needs no filters.
        let sample: Vec<u8> =
            (0..params.typesize.max(SAMPLE).next_multiple_of(params.typesize)).map(|i| i as u8).collect();
        match encoder.encode(&sample, &ChunkContext::default(), &Inline) {
            Err(ChunkError::Pipeline { source: PipelineError::Filter { filter, source, .. }, .. })
                if matches!(source, FilterError::Meta { .. } | FilterError::TypeSize { .. }) =>
            {
                Err(CliError::Usage(format!("--filter {}: {}", filter.name, one_line(&source))))
            }
            Err(ChunkError::Encode { codec, source, .. })
                if matches!(source, CodecError::Meta { .. })
                    || !is_array && self.codec.is_some() && matches!(source, CodecError::Geometry { .. }) =>
            {
                Err(CliError::Usage(format!("--codec {}: {}", codec.name, one_line(&source))))
            }
            // Others need an array, or data of a certain kind.
            _ => Ok(()),
        }
    }

    /// The requested chunk size, in whole items.
    pub(crate) fn chunk_size_of(&self, typesize: usize) -> Option<usize> {
        self.chunk_size.map(|size| whole_items(size, typesize))
    }
}

/// The largest multiple of the item size that is not above `size`; at least one item.
pub(crate) fn whole_items(size: usize, typesize: usize) -> usize {
    (size / typesize).max(1).saturating_mul(typesize)
}

impl Split {
    fn mode(self) -> SplitMode {
        match self {
            Self::Auto => SplitMode::Auto,
            Self::Always => SplitMode::Always,
            Self::Never => SplitMode::Never,
            Self::Forward => SplitMode::ForwardCompat,
        }
    }
}
