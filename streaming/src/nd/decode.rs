//! Decoding what a part of a selection needs, and copying it to its place.

use std::ops::Range;

use bytes::Bytes;
use oxiblosc_core::Executor;
use oxiblosc_core::chunk::{BlockMap, ChunkContext, ChunkDecoder, ChunkError, ChunkHeader, MapProgress, SpecialKind};
use oxiblosc_core::nd::{BlockPlan, ChunkPlan, NdError};
use thiserror::Error;

use crate::compute::Buffer;
use crate::reader::{Decoding, Encoded};

/// Why a chunk did not get to its place.
#[derive(Debug, Error)]
pub(super) enum DecodeError {
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// A buffer has another length than planned.
    #[error(transparent)]
    Nd(#[from] NdError),
}

/// Where decoded blocks go. All of it holds zeros at first.
pub(super) trait Destination {
    /// The place of the whole chunk, where it lands in one piece.
    fn chunk(&mut self, part: &ChunkPlan<'_>) -> Option<&mut [u8]>;

    /// The place of a block, where it lands in one piece.
    fn block(&mut self, block: &BlockPlan<'_>) -> Option<&mut [u8]>;

    /// Takes a block that has no such place.
    fn copy(&mut self, block: &BlockPlan<'_>, decoded: &[u8]) -> Result<(), NdError>;
}

/// Decodes parts of chunks.
pub(super) struct PartDecoder<'d> {
    decoding: &'d Decoding,
    scratch: Option<Buffer>,
}

impl<'d> PartDecoder<'d> {
    pub(super) fn new(decoding: &'d Decoding) -> Self {
        Self { decoding, scratch: None }
    }

    /// Decodes what `part` touches of a chunk and brings it to `destination`.
    pub(super) fn decode(
        &mut self,
        part: &ChunkPlan<'_>,
        encoded: &Encoded,
        context: ChunkContext<'static>,
        destination: &mut impl Destination,
    ) -> Result<(), DecodeError> {
        let decoding = self.decoding;
        decoding.with_context(context, |decoder, ctx| match encoded {
            Encoded::Chunk(bytes) => self.decode_chunk(part, bytes, decoder, ctx, destination),
            Encoded::Blocks { map, blocks } => {
                let span = |block| match blocks.binary_search_by_key(&block, |(number, _)| *number) {
                    Ok(found) => &blocks[found].1[..],
                    Err(_) => &[],
                };
                self.decode_blocks(part, &mut Blocks::new(map, span), decoder, ctx, destination)
            }
        })
    }

    fn decode_chunk(
        &mut self,
        part: &ChunkPlan<'_>,
        chunk: &Bytes,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
        destination: &mut impl Destination,
    ) -> Result<(), DecodeError> {
        let header = ChunkHeader::parse(chunk)?;
        if let Some(SpecialKind::Zero | SpecialKind::Uninit) = header.special() {
            return Ok(());
        }
        if let Some(place) = destination.chunk(part) {
            return Ok(decoder.decode_into_on(chunk, ctx, place, &self.decoding.pool.share())?);
        }
        // With workers to spare, the blocks are decoded at the same time; else one after the other.
        let share = self.decoding.pool.share();
        if share.workers() > 1 && part.blocks().nth(1).is_some() || header.has_vl_blocks() {
            if header.nbytes > self.decoding.limits.chunk_bytes {
                let (limit, found) = (self.decoding.limits.chunk_bytes, header.nbytes);
                return Err(ChunkError::Limit { what: "decoded chunk", limit, found }.into());
            }
            // Nothing but what is asked for, which leaves out blocks of padding: whether one of those is damaged must
            // not depend on the number of workers.
            let mut wanted = vec![false; header.nbytes.div_ceil(header.blocksize)];
            for block in part.blocks() {
                let bytes = block.bytes();
                let blocks = bytes.start / header.blocksize..bytes.end.div_ceil(header.blocksize).min(wanted.len());
                wanted.get_mut(blocks).into_iter().for_each(|blocks| blocks.fill(true));
            }
            let is_wanted = |block: usize| header.has_vl_blocks() || wanted.get(block).is_some_and(|wanted| *wanted);
            let scratch = self.scratch(header.nbytes);
            decoder.decode_blocks_into_on(chunk, ctx, &is_wanted, scratch, &share)?;
            for block in part.blocks() {
                let decoded = scratch.get(block.bytes()).ok_or_else(|| missing(block.bytes(), header.nbytes))?;
                destination.copy(&block, decoded)?;
            }
            return Ok(());
        }
        let MapProgress::Ready(map) = BlockMap::parse(chunk)? else {
            return Err(missing(0..header.nbytes, chunk.len()).into());
        };
        let span = |block| chunk.get(map.span(block)).unwrap_or_default();
        self.decode_blocks(part, &mut Blocks::new(&map, span), decoder, ctx, destination)
    }

    /// `len` bytes of anything.
    fn scratch(&mut self, len: usize) -> &mut [u8] {
        if self.scratch.as_ref().is_none_or(|scratch| scratch.len() < len) {
            self.scratch = None;
        }
        &mut self.scratch.get_or_insert_with(|| self.decoding.buffers.take(len))[..len]
    }

    /// Decodes one block after the other, each into the cache of the core that copies it on.
    fn decode_blocks<'a>(
        &mut self,
        part: &ChunkPlan<'_>,
        blocks: &mut Blocks<'a, impl Fn(usize) -> &'a [u8]>,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
        destination: &mut impl Destination,
    ) -> Result<(), DecodeError> {
        for block in part.blocks() {
            let bytes = block.bytes();
            if let Some(place) = destination.block(&block) {
                blocks.read(bytes, decoder, ctx, place)?;
                continue;
            }
            let scratch = self.scratch(bytes.len());
            blocks.read(bytes, decoder, ctx, scratch)?;
            destination.copy(&block, scratch)?;
        }
        Ok(())
    }
}

/// Decoded bytes of a chunk, block by block. The blocks of the array are those of the chunk, unless someone has
/// encoded it with another block size; the bytes are the same either way.
struct Blocks<'a, F> {
    map: &'a BlockMap,
    span: F,
    /// The first block, once another one needed it.
    reference: Option<Vec<u8>>,
    /// A block of which only a part was wanted. The rest may be wanted next.
    cut: Option<(usize, Vec<u8>)>,
}

impl<'a, F: Fn(usize) -> &'a [u8]> Blocks<'a, F> {
    fn new(map: &'a BlockMap, span: F) -> Self {
        Self { map, span, reference: None, cut: None }
    }

    fn read(
        &mut self,
        wanted: Range<usize>,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
        mut dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        for block in self.map.blocks_of_bytes(wanted.clone())? {
            // Blocks of `blocks_of_bytes` exist and are not of variable length.
            let covers = self.map.block_bytes(block).unwrap_or_default();
            let part = covers.start.max(wanted.start)..covers.end.min(wanted.end);
            let Some((place, rest)) = dst.split_at_mut_checked(part.len()) else {
                return Err(missing(wanted, covers.end));
            };
            dst = rest;
            if part == covers {
                self.decode(block, decoder, ctx, place)?;
                continue;
            }
            if self.cut.as_ref().is_none_or(|(cut, _)| *cut != block) {
                let mut decoded = vec![0; covers.len()];
                self.decode(block, decoder, ctx, &mut decoded)?;
                self.cut = Some((block, decoded));
            }
            if let Some((_, decoded)) = &self.cut {
                place.copy_from_slice(&decoded[part.start - covers.start..part.end - covers.start]);
            }
        }
        Ok(())
    }

    fn decode(
        &mut self,
        block: usize,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        let (map, span) = (self.map, &self.span);
        if !map.needs_reference(block) {
            return decoder.decode_block_into(map, block, span(block), None, ctx, dst);
        }
        if self.reference.is_none() {
            self.reference = Some(decoder.decode_block(map, 0, span(0), None, ctx)?);
        }
        decoder.decode_block_into(map, block, span(block), self.reference.as_deref(), ctx, dst)
    }
}

fn missing(bytes: Range<usize>, available: usize) -> ChunkError {
    ChunkError::OutOfRange { what: "bytes", start: bytes.start, end: bytes.end, available }
}
