//! Decoding what a part of a selection needs, and copying it to its place.

use bytes::Bytes;
use oxiblosc_core::Executor;
use oxiblosc_core::chunk::{BlockMap, ChunkContext, ChunkDecoder, ChunkError, ChunkHeader, SpecialKind};
use oxiblosc_core::nd::{BlockPlan, ChunkPlan, NdError};
use thiserror::Error;

use crate::compute::Buffer;
use crate::reader::{BlockReader, CachePolicy, Decoding, EncodedPart, PartBytes, known, map_of, out_of_range, stored};

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

    /// Takes a chunk that needs no decoding.
    fn simple(&mut self, part: &ChunkPlan<'_>, chunk: Simple) -> Result<(), NdError>;

    /// Takes a block that has no such place.
    fn copy(&mut self, block: &BlockPlan<'_>, decoded: &[u8]) -> Result<(), NdError>;
}

/// A chunk that needs no decoding, so that its blocks, which may be much longer than the selection, are never copied.
pub(super) enum Simple {
    /// All zeros.
    Zeros,
    /// One item of the array, repeated.
    Item(Vec<u8>),
    /// The whole chunk, stored uncompressed.
    Stored(Bytes),
    /// The touched blocks of such a chunk.
    StoredBlocks(Vec<Bytes>),
}

impl Simple {
    /// Copies the items that `part` selects to the buffer of the plan, which is zeroed.
    pub(super) fn copy_out(&self, part: &ChunkPlan<'_>, buffer: &mut [u8]) -> Result<(), NdError> {
        match self {
            Self::Zeros => Ok(()),
            Self::Item(item) => part.blocks().try_for_each(|block| block.fill_out(item, buffer)),
            Self::Stored(chunk) => part.copy_out(chunk, buffer),
            Self::StoredBlocks(blocks) => {
                part.blocks().zip(blocks).try_for_each(|(block, stored)| block.copy_out(stored, buffer))
            }
        }
    }
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
        fetched: &EncodedPart,
        context: ChunkContext<'static>,
        destination: &mut impl Destination,
    ) -> Result<(), DecodeError> {
        let decoding = self.decoding;
        let keep = context.number.filter(|_| fetched.keep != CachePolicy::Nothing);
        decoding.with_context(context, |decoder, ctx| match &fetched.encoded {
            PartBytes::Chunk(bytes) => self.decode_chunk(part, bytes, fetched.keep, decoder, ctx, destination),
            PartBytes::Blocks { map, blocks, decoded } => {
                if let (None, Some(stored)) = (keep, stored_blocks(part, map, blocks)) {
                    decoding.check_limit(map.header())?;
                    return Ok(destination.simple(part, Simple::StoredBlocks(stored))?);
                }
                let blocks = BlockReader::new(decoding, map, stored(blocks));
                self.decode_blocks(part, blocks.with_decoded(decoded).with_cache(keep), decoder, ctx, destination)
            }
            PartBytes::Decoded(chunk) => copy_blocks(part, chunk, destination),
        })
    }

    fn decode_chunk(
        &mut self,
        part: &ChunkPlan<'_>,
        chunk: &Bytes,
        keep: CachePolicy,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
        destination: &mut impl Destination,
    ) -> Result<(), DecodeError> {
        let header = ChunkHeader::parse(chunk)?;
        let simple = match header.special() {
            Some(SpecialKind::Zero | SpecialKind::Uninit) => Some(Simple::Zeros),
            Some(_) => self.item_of(part, chunk, decoder, ctx)?.map(Simple::Item),
            None if header.is_stored() && keep == CachePolicy::Nothing && destination.chunk(part).is_none() => {
                self.decoding.check_limit(&header)?;
                let data = header.header_len()..header.cbytes;
                (data.end <= chunk.len()).then(|| Simple::Stored(chunk.slice(data)))
            }
            None => None,
        };
        if let Some(simple) = simple {
            return Ok(destination.simple(part, simple)?);
        }
        if keep == CachePolicy::Nothing
            && let Some(place) = destination.chunk(part)
        {
            return Ok(decoder.decode_into(chunk, ctx, place, &self.decoding.pool.share())?);
        }
        if header.has_vl_blocks() || keep == CachePolicy::Whole {
            let decoded = self.decoding.decode_chunk(chunk, keep, decoder, ctx)?;
            return copy_blocks(part, &decoded, destination);
        }
        // With workers to spare, the blocks are decoded at the same time; else one after the other.
        let share = self.decoding.pool.share();
        if share.workers() > 1 && part.blocks().nth(1).is_some() && keep == CachePolicy::Nothing {
            self.decoding.check_limit(&header)?;
            // Nothing but what is asked for, which leaves out blocks of padding: whether one of those is damaged must
            // not depend on the number of workers.
            let mut wanted = vec![false; header.block_count()];
            for block in part.blocks() {
                let bytes = block.bytes();
                let blocks = bytes.start / header.blocksize..bytes.end.div_ceil(header.blocksize).min(wanted.len());
                wanted.get_mut(blocks).into_iter().for_each(|blocks| blocks.fill(true));
            }
            let is_wanted = |block: usize| wanted.get(block).is_some_and(|wanted| *wanted);
            let scratch = self.scratch(header.nbytes);
            decoder.decode_blocks_into(chunk, ctx, &is_wanted, scratch, &share)?;
            return copy_blocks(part, scratch, destination);
        }
        let map = map_of(chunk)?;
        let span = |block| chunk.get(map.span(block)).unwrap_or_default();
        let keep = ctx.number.filter(|_| keep != CachePolicy::Nothing);
        let blocks = BlockReader::new(self.decoding, &map, span).with_cache(keep);
        self.decode_blocks(part, blocks, decoder, ctx, destination)
    }

    /// The item of a chunk that repeats one, if it is an item of the array.
    fn item_of(
        &self,
        part: &ChunkPlan<'_>,
        chunk: &[u8],
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
    ) -> Result<Option<Vec<u8>>, ChunkError> {
        let map = map_of(chunk)?;
        let header = map.header();
        let repeated = match header.special() {
            Some(SpecialKind::Value) => header.cbytes - header.header_len(),
            _ => usize::from(header.typesize),
        };
        let item_size = part.item_size();
        if repeated != item_size || header.nbytes < item_size {
            return Ok(None);
        }
        let mut item = vec![0; item_size];
        decoder.decode_bytes_into(chunk, 0..item_size, ctx, &mut item)?;
        Ok(Some(item))
    }

    /// `len` bytes of anything.
    fn scratch(&mut self, len: usize) -> &mut [u8] {
        if self.scratch.as_ref().is_none_or(|scratch| scratch.len() < len) {
            self.scratch = None;
        }
        &mut self.scratch.get_or_insert_with(|| self.decoding.pool.buffers().take(len))[..len]
    }

    /// Decodes one block after the other, each into the cache of the core that copies it on.
    fn decode_blocks<'a>(
        &mut self,
        part: &ChunkPlan<'_>,
        mut blocks: BlockReader<'a, impl Fn(usize) -> &'a [u8]>,
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
            let touched = block.touched();
            if touched.len() <= bytes.len() / 2 && blocks.reads_ranges(decoder) {
                // What is not touched is not copied either.
                let within = bytes.start + touched.start..bytes.start + touched.end;
                blocks.read(within, decoder, ctx, &mut scratch[touched])?;
            } else {
                blocks.read(bytes, decoder, ctx, scratch)?;
            }
            destination.copy(&block, scratch)?;
        }
        Ok(())
    }
}

/// The blocks that `part` touches, if the chunk is stored uncompressed and they are all among `blocks`.
fn stored_blocks(part: &ChunkPlan<'_>, map: &BlockMap, blocks: &[(usize, Bytes)]) -> Option<Vec<Bytes>> {
    let header = map.header();
    let stored = |block: BlockPlan<'_>| {
        let wanted = block.bytes();
        let number = wanted.start / header.blocksize.max(1);
        let start = map.block_bytes(number)?.start;
        let bytes = known(blocks, number)?;
        (wanted.end - start <= bytes.len()).then(|| bytes.slice(wanted.start - start..wanted.end - start))
    };
    if header.is_stored() { part.blocks().map(stored).collect() } else { None }
}

/// Brings the blocks that `part` touches of a decoded chunk to `destination`.
fn copy_blocks(part: &ChunkPlan<'_>, chunk: &[u8], destination: &mut impl Destination) -> Result<(), DecodeError> {
    for block in part.blocks() {
        let decoded = chunk.get(block.bytes()).ok_or_else(|| out_of_range(&block.bytes(), chunk.len()))?;
        destination.copy(&block, decoded)?;
    }
    Ok(())
}
