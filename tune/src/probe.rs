//! A first look at plugins: whether they work on this data, and what they make of it.

use std::time::Duration;

use bytes::Bytes;
use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, EncodeParams};
use oxiblosc::registry::CodecInfo;
use oxiblosc::{Inline, Registry};

use crate::filters::Filters;
use crate::sample::{Sample, whole_items};

/// Bytes on which plugins have to show that they are worth trying.
const PROBE: usize = 256 << 10;

/// The beginning of the sample, on which plugins are tried.
pub(crate) struct Probe<'a> {
    bytes: Bytes,
    pub(crate) typesize: usize,
    level: u8,
    pub(crate) registry: &'a Registry,
}

impl<'a> Probe<'a> {
    pub(crate) fn new(sample: &Sample, level: u8, registry: &'a Registry) -> Self {
        let first = sample.pieces.iter().find(|piece| !piece.is_empty()).cloned().unwrap_or_default();
        let len = first.len().min(whole_items(PROBE, sample.typesize));
        Self { bytes: first.slice(..len), typesize: sample.typesize, level, registry }
    }

    /// The encoded length at the lowest level.
    ///
    /// # Errors
    /// What the plugins say, when encoding or decoding.
    pub(crate) fn encoded_len(&self, codec: &CodecInfo, filters: &Filters) -> Result<usize, ChunkError> {
        let params = EncodeParams {
            codec: codec.id,
            level: self.level,
            typesize: self.typesize,
            filters: filters.slots,
            ..EncodeParams::default()
        };
        let context = ChunkContext::default();
        let chunk = ChunkEncoder::new(&params, self.registry)?.encode(&self.bytes, &context, &Inline)?;
        ChunkDecoder::new(self.registry).decode(&chunk, &context, &Inline)?;
        Ok(chunk.len())
    }
    /// What takes this long here takes so long on a sample of so many bytes, which is decoded once more to be compared.
    pub(crate) fn scaled(&self, took: Duration, sample_bytes: usize) -> Duration {
        took.mul_f64(1.5 * sample_bytes as f64 / self.bytes.len().max(1) as f64)
    }
}
