//! Decoding parts of chunks.

use crate::trace::span;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use oxiblosc_core::chunk::{BlockMap, ChunkContext, ChunkDecoder, ChunkError, ChunkHeader};

use super::blocks::{BlockReader, stored};
use super::cache::CachePolicy;
use super::decoding::{DecodeJob, Decoding, map_of, out_of_range};

/// What a part of a chunk is decoded from.
pub(crate) struct EncodedPart {
    pub(crate) encoded: PartBytes,
    pub(crate) keep: CachePolicy,
}

/// The bytes of a chunk that a part of it is decoded from.
pub(crate) enum PartBytes {
    /// All of them.
    Chunk(Bytes),
    /// Only some blocks, and others that are already decoded; both in ascending order.
    Blocks { map: Arc<BlockMap>, blocks: Vec<(usize, Bytes)>, decoded: Vec<(usize, Bytes)> },
    /// None: the chunk is already decoded.
    Decoded(Bytes),
}

impl Decoding {
    /// Decodes the bytes `within` a chunk into `dst`, which has their length, and returns it.
    pub(crate) fn decode_part(
        self: &Arc<Self>,
        part: EncodedPart,
        within: Range<usize>,
        ctx: ChunkContext<'static>,
        mut dst: BytesMut,
    ) -> DecodeJob<BytesMut> {
        let this = Arc::clone(self);
        let span = span!("decode_part", chunk = ctx.number, bytes = within.len());
        let work = move || {
            this.with_context(ctx, |decoder, ctx| this.read_part(&part, within, decoder, ctx, &mut dst))?;
            Ok(dst)
        };
        self.pool.spawn(move || span.in_scope(work))
    }

    fn read_part(
        &self,
        part: &EncodedPart,
        within: Range<usize>,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        let copy = |decoded: &[u8], dst: &mut [u8]| {
            dst.copy_from_slice(decoded.get(within.clone()).ok_or_else(|| out_of_range(&within, decoded.len()))?);
            Ok(())
        };
        let keep = ctx.number.filter(|_| part.keep != CachePolicy::Nothing);
        match &part.encoded {
            PartBytes::Decoded(decoded) => copy(decoded, dst),
            PartBytes::Chunk(chunk) => {
                let header = ChunkHeader::parse(chunk)?;
                if keep.is_none() && within == (0..header.nbytes) {
                    return decoder.decode_into(chunk, ctx, dst, &self.pool.share());
                }
                if header.special().is_some() || keep.is_none() && !header.has_vl_blocks() {
                    return decoder.decode_bytes_into(chunk, within, ctx, dst);
                }
                if header.has_vl_blocks() || part.keep == CachePolicy::Whole {
                    return copy(&self.decode_chunk(chunk, part.keep, decoder, ctx)?, dst);
                }
                let map = map_of(chunk)?;
                decoder.check_limit(&map)?;
                let span = |block| chunk.get(map.span(block)).unwrap_or_default();
                BlockReader::new(self, &map, span).with_cache(keep).read(within, decoder, ctx, dst)
            }
            PartBytes::Blocks { map, blocks, decoded } => {
                decoder.check_limit(map)?;
                let reader = BlockReader::new(self, map, stored(blocks));
                reader.with_decoded(decoded).with_cache(keep).read(within, decoder, ctx, dst)
            }
        }
    }
}
