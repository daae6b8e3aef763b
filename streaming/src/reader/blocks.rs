//! Decoded bytes of a chunk, block by block.

use std::ops::{Deref, Range};
use std::sync::Arc;

use bytes::Bytes;
use oxiblosc_core::chunk::{BlockMap, ChunkContext, ChunkDecoder, ChunkError};

use super::decoding::{Decoding, out_of_range};
use crate::compute::Buffer;

/// Decodes ranges of the bytes of a chunk. Blocks that are already decoded are copied; others are decoded, those at the
/// ends of a range through a buffer, and kept in the cache if requested.
pub(crate) struct BlockReader<'a, F> {
    decoding: &'a Decoding,
    map: &'a Arc<BlockMap>,
    /// The bytes of a block as stored.
    span: F,
    /// Blocks that are already decoded, in ascending order.
    decoded: &'a [(usize, Bytes)],
    /// The number of the chunk, if its blocks are to be cached.
    keep: Option<u64>,
    /// The first block, once another one has needed it.
    reference: Option<Bytes>,
    /// A block of which only a part was needed. The rest may be needed next.
    cut: Option<(usize, PartialBlock)>,
    /// The last block that was read in part without being kept. Who comes back to it gets all of it decoded.
    begun: Option<usize>,
}

enum PartialBlock {
    Lent(Buffer),
    Kept(Bytes),
}

impl Deref for PartialBlock {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Lent(buffer) => buffer,
            Self::Kept(bytes) => bytes,
        }
    }
}

impl<'a, F: Fn(usize) -> &'a [u8]> BlockReader<'a, F> {
    pub(crate) fn new(decoding: &'a Decoding, map: &'a Arc<BlockMap>, span: F) -> Self {
        Self { decoding, map, span, decoded: &[], keep: None, reference: None, cut: None, begun: None }
    }

    /// Uses these decoded blocks.
    pub(crate) fn with_decoded(self, decoded: &'a [(usize, Bytes)]) -> Self {
        Self { decoded, ..self }
    }

    /// Caches decoded blocks under this chunk number, if there is one.
    pub(crate) fn with_cache(self, keep: Option<u64>) -> Self {
        Self { keep, ..self }
    }

    /// Whether it costs less to read a part of a block than all of it.
    pub(crate) fn reads_ranges(&self, decoder: &ChunkDecoder) -> bool {
        self.keep.is_none() && decoder.decodes_ranges(self.map)
    }

    /// Decodes the bytes `wanted` of the chunk into `dst`, which has their length.
    pub(crate) fn read(
        &mut self,
        wanted: Range<usize>,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
        mut dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        let available = dst.len();
        if self.map.header().special().is_some() {
            // A block of a special value may be half a gigabyte, and there is no point in caching it.
            return decoder.decode_spans_into(self.map, wanted, |_| Some(&[]), ctx, dst);
        }
        for block in self.map.blocks_of_bytes(wanted.clone())? {
            // Blocks of `blocks_of_bytes` exist and are not of variable length.
            let covers = self.map.block_bytes(block).unwrap_or_default();
            let part = covers.start.max(wanted.start)..covers.end.min(wanted.end);
            let Some((place, rest)) = dst.split_at_mut_checked(part.len()) else {
                return Err(out_of_range(&wanted, available));
            };
            dst = rest;
            let within = part.start - covers.start..part.end - covers.start;
            if let Some(known) = known(self.decoded, block) {
                place.copy_from_slice(known.get(within).ok_or_else(|| out_of_range(&wanted, known.len()))?);
                continue;
            }
            if part == covers && self.keep.is_none() {
                self.decode(block, decoder, ctx, place)?;
                continue;
            }
            if self.keep.is_none() && self.map.header().is_stored() {
                // No need to copy the whole block first.
                let stored = (self.span)(block);
                place.copy_from_slice(stored.get(within).ok_or_else(|| out_of_range(&wanted, stored.len()))?);
                continue;
            }
            let is_cut = self.cut.as_ref().is_some_and(|(cut, _)| *cut == block);
            if !is_cut && self.begun != Some(block) && self.reads_ranges(decoder) {
                // Codec or filter do what is wanted and as little more as they can.
                self.begun = Some(block);
                let span = (self.span)(block);
                if decoder.decode_block_range_into(self.map, block, span, within.clone(), ctx, place)? {
                    continue;
                }
            }
            if !is_cut {
                self.cut = Some((block, self.decode_all(block, covers.len(), decoder, ctx)?));
            }
            if let Some((_, decoded)) = &self.cut {
                place.copy_from_slice(&decoded[within]);
            }
        }
        Ok(())
    }

    /// A whole block that is kept, here or in the cache.
    fn decode_all(
        &mut self,
        block: usize,
        len: usize,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
    ) -> Result<PartialBlock, ChunkError> {
        let Some(chunk) = self.keep else {
            let mut buffer = self.decoding.pool.buffers().take(len);
            self.decode(block, decoder, ctx, &mut buffer)?;
            return Ok(PartialBlock::Lent(buffer));
        };
        let mut bytes = vec![0; len];
        self.decode(block, decoder, ctx, &mut bytes)?;
        let bytes = Bytes::from(bytes);
        self.decoding.cache.put(chunk, Some(self.map), block, bytes.clone());
        Ok(PartialBlock::Kept(bytes))
    }

    fn decode(
        &mut self,
        block: usize,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        let (map, span) = (self.map, &self.span);
        if !map.needs_reference(block, &self.decoding.registry) {
            return decoder.decode_block_into(map, block, span(block), None, ctx, dst);
        }
        if self.reference.is_none() {
            self.reference = Some(match known(self.decoded, 0) {
                Some(first) => first.clone(),
                None => decoder.decode_block(map, 0, span(0), None, ctx)?.into(),
            });
        }
        decoder.decode_block_into(map, block, span(block), self.reference.as_deref(), ctx, dst)
    }
}

/// The block with this number, if it is among these.
pub(crate) fn known(decoded: &[(usize, Bytes)], block: usize) -> Option<&Bytes> {
    let found = decoded.binary_search_by_key(&block, |(number, _)| *number).ok()?;
    decoded.get(found).map(|(_, bytes)| bytes)
}

/// The stored bytes of blocks that are in ascending order; nothing for others.
pub(crate) fn stored<'a>(blocks: &'a [(usize, Bytes)]) -> impl Fn(usize) -> &'a [u8] {
    move |block| known(blocks, block).map_or(&[], |bytes| &bytes[..])
}
