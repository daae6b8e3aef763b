//! Decodes part of a chunk: only the blocks that hold it.

use std::ops::Range;

use super::block_decoder::DecodeContext;
use super::check::{resized, zeroed};
use super::copy::copy;
use super::header::{MAX_BLOCKSIZE, flag, flag2};
use super::map::{BlockMapBody, WORD};
use super::{BlockMap, ChunkContext, ChunkDecoder, ChunkError, ChunkHeader};
use crate::executor::unlocked;
use crate::id::CodecId;
use crate::registry::Registry;

impl BlockMap {
    /// The blocks whose bytes are needed to decode `bytes`: those that hold them, and the first one if it is their
    /// reference ([`BlockMap::needs_reference`]). Empty if nothing is stored per block.
    ///
    /// # Errors
    /// As for [`BlockMap::blocks_of_bytes`].
    pub fn blocks_needed(
        &self,
        bytes: Range<usize>,
        registry: &Registry,
    ) -> Result<impl Iterator<Item = usize> + Clone + use<>, ChunkError> {
        let mut blocks = self.blocks_of_bytes(bytes)?;
        if let BlockMapBody::Special(_) = self.body() {
            blocks = 0..0;
        }
        let reference = (blocks.start > 0 && self.needs_reference(blocks.start, registry)).then_some(0);
        Ok(reference.into_iter().chain(blocks))
    }

    /// Which bytes of a stored chunk are the decoded bytes `bytes`. `None` if the chunk is not stored or does not have
    /// them. Such bytes can be read without decoding.
    pub fn stored_bytes(&self, bytes: Range<usize>) -> Option<Range<usize>> {
        let header = self.header();
        let base = header.header_len();
        (header.is_stored() && bytes.start <= bytes.end && bytes.end <= header.nbytes)
            .then(|| base + bytes.start..base + bytes.end)
    }

    /// The bytes that `items` cover in the decoded chunk. An item is as long as `ctx` says, or else the type size in
    /// the header, which is 1 for items longer than 255 bytes.
    ///
    /// # Errors
    /// [`ChunkError::OutOfRange`] if the chunk has no such items. A remainder shorter than an item does not count.
    pub fn bytes_of_items(&self, items: Range<usize>, ctx: &ChunkContext<'_>) -> Result<Range<usize>, ChunkError> {
        let item = ctx.item_size_or(usize::from(self.header().typesize));
        let available = self.header().nbytes / item;
        if items.start > items.end || items.end > available {
            return Err(ChunkError::OutOfRange { what: "items", start: items.start, end: items.end, available });
        }
        // Both products are at most `nbytes`.
        Ok(items.start * item..items.end * item)
    }
}

/// The data of a stored Blosc2 chunk that is complete and has nothing unusual in its header. Parsing that header would
/// take longer than copying a few bytes.
fn stored(chunk: &[u8]) -> Option<&[u8]> {
    const FLAGS: u8 = flag::EXTENDED | flag::STORED;
    let (header, data) = chunk.split_first_chunk::<{ ChunkHeader::EXTENDED_LEN }>()?;
    let size = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]) as usize;
    let (nbytes, blocksize, cbytes) = (size(4), size(8), size(12));
    let valid = header[2] & FLAGS == FLAGS
        && header[3] != 0
        && header[30] == 0
        && header[31] & !flag2::DICT == 0
        && (1..=MAX_BLOCKSIZE).contains(&blocksize)
        && nbytes <= ChunkHeader::MAX_NBYTES
        && cbytes == nbytes + ChunkHeader::EXTENDED_LEN;
    if valid { data.get(..nbytes) } else { None }
}

impl ChunkDecoder {
    /// Decodes the items `items` of a chunk; see [`BlockMap::bytes_of_items`] for what an item is.
    ///
    /// # Errors
    /// [`ChunkError::OutOfRange`] when the chunk has no such items, [`ChunkError::BlockKind`] when its blocks are of
    /// variable length, and whatever decoding the blocks meets.
    pub fn decode_items(
        &mut self,
        chunk: &[u8],
        items: Range<usize>,
        ctx: &ChunkContext<'_>,
    ) -> Result<Vec<u8>, ChunkError> {
        let map = self.map(chunk)?;
        let bytes = map.bytes_of_items(items, ctx)?;
        let mut dst = zeroed("items", bytes.len())?;
        self.decode_spans_into(&map, bytes, |block| chunk.get(map.span(block)), ctx, &mut dst)?;
        Ok(dst)
    }

    /// Decodes the bytes `bytes` of the decoded chunk into `dst`, which must be of that length.
    ///
    /// # Errors
    /// As for [`ChunkDecoder::decode_items`], and [`ChunkError::Destination`].
    pub fn decode_bytes_into(
        &mut self,
        chunk: &[u8],
        bytes: Range<usize>,
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        if let Some(stored) = stored(chunk).filter(|stored| stored.len() <= self.limits().chunk_bytes)
            && let Some(found) = stored.get(bytes.clone())
            && found.len() == dst.len()
        {
            copy(found, dst);
            return Ok(());
        }
        if self.decode_in_block(chunk, bytes.clone(), ctx, dst).is_some() {
            return Ok(());
        }
        let map = self.map(chunk)?;
        self.decode_spans_into(&map, bytes, |block| chunk.get(map.span(block)), ctx, dst)
    }

    /// Decodes bytes that lie in one block of an ordinary chunk, without looking where the other blocks begin. `None` if
    /// there is anything unusual, and if anything fails: then `dst` has unspecified contents, and the way over the map of
    /// all blocks decodes the bytes, or tells what is wrong.
    fn decode_in_block(
        &mut self,
        chunk: &[u8],
        bytes: Range<usize>,
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
    ) -> Option<()> {
        let header = ChunkHeader::parse(chunk).ok()?;
        let (block, cbytes) = (bytes.start / header.blocksize.max(1), header.cbytes);
        let blocks_are_usual = !header.has_vl_blocks()
            && !header.has_dict()
            && header.blocksize.is_multiple_of(usize::from(header.typesize).max(1))
            && (block == 0 || !self.registry().needs_reference(&header.filters));
        if !blocks_are_usual || header.nbytes > self.limits().chunk_bytes || bytes.len() != dst.len() {
            return None;
        }
        let start_at = header.header_len() + WORD * block;
        let starts_end = header.block_starts_end();
        let map = BlockMap::without_spans(header)?;
        let covers = map.block_bytes(block).filter(|covers| bytes.start < bytes.end && bytes.end <= covers.end)?;
        let start = usize::try_from(i32::from_le_bytes(*chunk.get(start_at..)?.first_chunk()?)).ok()?;
        // Streams say how long they are, so where the block ends needs not be known.
        let span = chunk.get(start..cbytes).filter(|span| start >= starts_end && span.len() >= WORD)?;
        let inside = bytes.start - covers.start..bytes.end - covers.start;
        let job = DecodeContext { map: &map, ctx, reference: None };
        if inside.len() == covers.len() {
            return unlocked(&mut self.workers(1).ok()?[0]).decode(&job, block, span, dst).ok();
        }
        if unlocked(&mut self.workers(1).ok()?[0]).decode_range(&job, block, span, inside.clone(), dst, false).ok()? {
            return Some(());
        }
        let mut parts = self.take_parts();
        let whole = resized(&mut parts.block, covers.len()).ok();
        let decoded = whole.and_then(|whole| {
            unlocked(&mut self.workers(1).ok()?[0]).decode(&job, block, span, whole).ok()?;
            dst.copy_from_slice(&whole[inside]);
            Some(())
        });
        self.give_back_parts(parts);
        decoded
    }

    /// As [`ChunkDecoder::decode_bytes_into`], given a map and only the spans that [`BlockMap::blocks_needed`] lists:
    /// `span_of` is called once for each of them.
    ///
    /// # Errors
    /// As above, and [`ChunkError::Truncated`] when `span_of` does not have a span.
    pub fn decode_spans_into<'s>(
        &mut self,
        map: &BlockMap,
        bytes: Range<usize>,
        span_of: impl Fn(usize) -> Option<&'s [u8]>,
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        let blocks = map.blocks_of_bytes(bytes.clone())?;
        if dst.len() != bytes.len() {
            return Err(ChunkError::Destination { expected: bytes.len(), found: dst.len() });
        }
        self.check_limit(map)?;
        if let BlockMapBody::Special(fill) = map.body() {
            fill.write(bytes.start, dst);
            return Ok(());
        }
        let span = |block| {
            span_of(block).ok_or_else(|| {
                let span = map.span(block);
                ChunkError::Truncated { what: "block", offset: span.start, expected: span.len(), found: 0 }
            })
        };
        let mut parts = self.take_parts();
        let result = (|| {
            let mut rest = dst;
            // Decode the first block separately if others refer to it.
            let last_needs_it = blocks.end > blocks.start && map.needs_reference(blocks.end - 1, self.registry());
            let reference = match map.block_bytes(0) {
                Some(first) if last_needs_it => {
                    let reference = resized(&mut parts.reference, first.len())?;
                    self.decode_block_into(map, 0, span(0)?, None, ctx, reference)?;
                    Some(&*reference)
                }
                _ => None,
            };
            for block in blocks {
                let block_bytes = map.block_bytes(block).unwrap_or(0..0);
                let wanted = bytes.start.max(block_bytes.start)..bytes.end.min(block_bytes.end);
                let (part, tail) = std::mem::take(&mut rest).split_at_mut(wanted.len());
                rest = tail;
                let inside = wanted.start - block_bytes.start..wanted.end - block_bytes.start;
                if let BlockMapBody::Stored = map.body() {
                    // There is nothing to decode.
                    let stored = span(block)?;
                    part.copy_from_slice(stored.get(inside).ok_or_else(|| ChunkError::Truncated {
                        what: "block",
                        offset: map.span(block).start,
                        expected: block_bytes.len(),
                        found: stored.len(),
                    })?);
                } else if let (0, Some(first)) = (block, reference) {
                    part.copy_from_slice(&first[inside]);
                } else if inside.len() == block_bytes.len() {
                    self.decode_block_into(map, block, span(block)?, reference, ctx, part)?;
                } else {
                    let span = span(block)?;
                    let job = DecodeContext { map, ctx, reference: None };
                    if unlocked(&mut self.workers(1)?[0]).decode_range(
                        &job,
                        block,
                        span,
                        inside.clone(),
                        part,
                        false,
                    )? {
                        continue;
                    }
                    let whole = resized(&mut parts.block, block_bytes.len())?;
                    self.decode_block_into(map, block, span, reference, ctx, whole)?;
                    part.copy_from_slice(&whole[inside]);
                }
            }
            Ok(())
        })();
        self.give_back_parts(parts);
        result
    }

    /// Whether parts of the blocks can be decoded for less than the whole blocks take: no filter has to be undone and the
    /// codec [decodes ranges](crate::codec::CodecTraits::ranges), or the one filter that there is undoes
    /// [parts](crate::filter::FilterTraits::parts).
    pub fn decodes_ranges(&self, map: &BlockMap) -> bool {
        let header = map.header();
        if header.has_vl_blocks() || !matches!(map.body(), BlockMapBody::Blocks { .. }) {
            return false;
        }
        let mut undone = 0;
        for (_, slot) in header.filters.active() {
            let Ok(filter) = self.registry().filter(slot.id) else { return false };
            let traits = filter.info().traits;
            if !traits.forward_only {
                undone += 1;
                if undone > 1 || !traits.parts || traits.needs_reference {
                    return false;
                }
            }
        }
        let Some(id) = CodecId::from_format_code(header.codec_format(), header.udcodec) else { return false };
        let codec = |id| self.registry().codec(id).map(|codec| codec.info().traits);
        undone == 1 || codec(id).is_ok_and(|traits| traits.ranges)
    }

    /// Decodes the bytes `range` of one block into `dst`, which must be of that length, if that takes
    /// [less](Self::decodes_ranges) than the whole block; returns whether it does. Where it does not, the contents of `dst`
    /// are unspecified, and the whole block is to be [decoded](Self::decode_block_into). `span` holds the bytes of the chunk
    /// that [`BlockMap::span`] names.
    ///
    /// Under a filter, streams are decoded to their end, so that one of another length is an error as it is in the whole
    /// block. [`decode_bytes_into`](Self::decode_bytes_into) may stop before.
    ///
    /// # Errors
    /// [`ChunkError::OutOfRange`] when the block does not have these bytes, and those of
    /// [`decode_block_into`](Self::decode_block_into).
    pub fn decode_block_range_into(
        &mut self,
        map: &BlockMap,
        block: usize,
        span: &[u8],
        range: Range<usize>,
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
    ) -> Result<bool, ChunkError> {
        if !self.decodes_ranges(map) {
            return Ok(false);
        }
        self.check_limit(map)?;
        let available = map.decoded_len(block, span)?;
        if range.start > range.end || range.end > available {
            return Err(ChunkError::OutOfRange { what: "bytes", start: range.start, end: range.end, available });
        }
        if range.len() != dst.len() {
            return Err(ChunkError::Destination { expected: range.len(), found: dst.len() });
        }
        let job = DecodeContext { map, ctx, reference: None };
        unlocked(&mut self.workers(1)?[0]).decode_range(&job, block, span, range, dst, true)
    }

    /// Decodes a chunk of blocks of variable length into those blocks.
    ///
    /// # Errors
    /// [`ChunkError::BlockKind`] when the blocks are of equal length, and whatever decoding them meets.
    pub fn decode_blocks(&mut self, chunk: &[u8], ctx: &ChunkContext<'_>) -> Result<Vec<Vec<u8>>, ChunkError> {
        let map = self.map(chunk)?;
        let lens = map.decoded_lens(chunk)?;
        let decode = |(block, len)| {
            let mut decoded = zeroed("decoded block", len)?;
            self.decode_block_into(&map, block, &chunk[map.span(block)], None, ctx, &mut decoded)?;
            Ok(decoded)
        };
        lens.into_iter().enumerate().map(decode).collect()
    }
}
