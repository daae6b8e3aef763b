//! Decodes whole chunks block by block, in the memory of one block.

use super::block_decoder::DecodeContext;
use super::decoder::BlockScratch;
use super::map::BlockMapBody;
use super::{BlockMap, ChunkContext, ChunkDecoder, ChunkError, ChunkHeader};
use crate::executor::{Executor, Inline, PerWorker, locked, try_for_each, unlocked};
use crate::pipeline::FilterSlots;
use crate::registry::Registry;

/// Workers share a chunk only as long as the blocks decoded at a time have at most this many bytes.
const MOST_AT_ONCE: usize = 64 << 20;
/// Longer buffers are not kept for the next chunk.
const MOST_KEPT: usize = 16 << 20;
/// A special chunk is handed out in pieces of about this length.
const PIECE: usize = 64 << 10;

impl ChunkDecoder {
    /// Checks that a chunk decodes, and returns its decoded length. The bytes are not kept: a check takes the memory of
    /// one block for each worker of `executor` ([`ChunkDecoder::check_bytes`] in all), and next to nothing for stored
    /// chunks and chunks of one value. Very long blocks are decoded one after the other, on the calling thread.
    ///
    /// # Errors
    /// As for [`ChunkDecoder::decode`], except that no memory for the whole chunk is needed.
    pub fn check(
        &mut self,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
    ) -> Result<usize, ChunkError> {
        let map = self.map(chunk)?;
        let nbytes = map.header().nbytes;
        if let BlockMapBody::Blocks { .. } = map.body() {
            let lens = block_lens(&map, chunk)?;
            let longest = lens.iter().copied().max().unwrap_or(0);
            let alone = executor.workers().saturating_mul(longest) > MOST_AT_ONCE;
            self.check_blocks(&map, chunk, ctx, &lens, if alone { &Inline } else { executor })?;
        }
        Ok(nbytes)
    }

    /// The most memory that [`ChunkDecoder::check`] takes with this many workers, in bytes: the blocks being decoded,
    /// a second buffer for each if there are filters, and the first block if others are coded against it. The chunk
    /// itself, its dictionary and the internal state of codecs are not included. `registry` knows the filters.
    pub fn check_bytes(header: &ChunkHeader, registry: &Registry, workers: usize) -> usize {
        if header.special().is_some() || header.is_stored() {
            return 0;
        }
        // A block of variable length may be the whole chunk.
        let longest = if header.has_vl_blocks() { header.nbytes } else { header.blocksize.min(header.nbytes) };
        let together = workers.max(1).saturating_mul(longest).min(MOST_AT_ONCE.max(longest)).min(header.nbytes);
        let filtered = if header.filters == FilterSlots::NONE { 0 } else { together };
        let has_reference = registry.needs_reference(&header.filters) && !header.has_vl_blocks();
        let reference = if has_reference && longest < header.nbytes { longest } else { 0 };
        together.saturating_add(filtered).saturating_add(reference)
    }

    fn check_blocks(
        &mut self,
        map: &BlockMap,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        lens: &[usize],
        executor: &dyn Executor,
    ) -> Result<(), ChunkError> {
        let mut parts = self.take_parts();
        let mut scratch = std::mem::replace(self.scratch(), PerWorker::new());
        let result = (|| {
            let reference = self.reference(map, chunk, ctx, &mut parts.reference)?;
            let count = executor.workers().min(lens.len()).max(1);
            let buffers = &*scratch.first(count, || Ok::<_, ChunkError>(Vec::new()))?;
            let workers = &*self.workers(count)?;
            let job = DecodeContext { map, ctx, reference };
            let first = usize::from(reference.is_some());
            let blocks = lens.iter().copied().enumerate().skip(first);
            try_for_each(executor, lens.len(), blocks, |worker, (block, len)| {
                let mut buffer = locked(&buffers[worker]);
                let span = &chunk[map.span(block)];
                locked(&workers[worker]).decode(&job, block, span, resized(&mut buffer, len)?)
            })
        })();
        scratch.each(|buffer: &mut Vec<u8>| {
            if buffer.len() > MOST_KEPT {
                *buffer = Vec::new();
            }
        });
        *self.scratch() = scratch;
        self.let_go(parts);
        result
    }

    /// Keeps the buffers for the next chunk, except for large ones, which few chunks need.
    fn let_go(&mut self, mut parts: BlockScratch) {
        for buffer in [&mut parts.block, &mut parts.reference] {
            if buffer.len() > MOST_KEPT {
                *buffer = Vec::new();
            }
        }
        self.give_back_parts(parts);
        self.each_worker(|worker| worker.shrink(MOST_KEPT));
    }

    /// Decodes a whole chunk and hands it to `each` in pieces, from front to back: its blocks, or pieces of any length
    /// when nothing is stored per block. It takes the memory of one block.
    ///
    /// # Errors
    /// As for [`ChunkDecoder::check`], and the first that `each` reports.
    pub fn decode_pieces<E: From<ChunkError>>(
        &mut self,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let map = self.map(chunk)?;
        let header = map.header();
        let fill = match map.body() {
            BlockMapBody::Stored => return each(&chunk[header.header_len()..header.cbytes]),
            BlockMapBody::Special(fill) => fill,
            BlockMapBody::Blocks { .. } => {
                let mut parts = self.take_parts();
                let result = self.each_block(&map, chunk, ctx, &mut parts.block, &mut parts.reference, each);
                self.let_go(parts);
                return result;
            }
        };
        // Every piece is a whole number of items, so that they all begin alike.
        let item = fill.period();
        let len = item.max(PIECE / item * item).min(header.nbytes);
        let mut piece = zeroed("special chunk", len)?;
        fill.write(0, &mut piece);
        let mut left = header.nbytes;
        while left > 0 {
            let part = left.min(len);
            each(&piece[..part])?;
            left -= part;
        }
        Ok(())
    }

    fn each_block<E: From<ChunkError>>(
        &mut self,
        map: &BlockMap,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        block_buffer: &mut Vec<u8>,
        reference: &mut Vec<u8>,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let lens = block_lens(map, chunk)?;
        let reference = self.reference(map, chunk, ctx, reference)?;
        for (block, len) in lens.into_iter().enumerate() {
            if let (0, Some(first)) = (block, reference) {
                each(first)?;
                continue;
            }
            let place = resized(block_buffer, len)?;
            let job = DecodeContext { map, ctx, reference };
            unlocked(&mut self.workers(1)?[0]).decode(&job, block, &chunk[map.span(block)], place)?;
            each(place)?;
        }
        Ok(())
    }

    /// The decoded first block, if the others refer to it.
    fn reference<'b>(
        &mut self,
        map: &BlockMap,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<&'b [u8]>, ChunkError> {
        let Some(first) = map.block_bytes(0).filter(|_| map.needs_reference(1, self.registry())) else {
            return Ok(None);
        };
        let place = resized(buffer, first.len())?;
        let job = DecodeContext { map, ctx, reference: None };
        unlocked(&mut self.workers(1)?[0]).decode(&job, 0, &chunk[map.span(0)], place)?;
        Ok(Some(place))
    }
}

/// The decoded length of each block.
fn block_lens(map: &BlockMap, chunk: &[u8]) -> Result<Vec<usize>, ChunkError> {
    if map.header().has_vl_blocks() {
        return map.decoded_lens(chunk);
    }
    Ok((0..map.block_count()).map(|block| map.block_bytes(block).map_or(0, |bytes| bytes.len())).collect())
}

/// `len` zeros, or an error where there is no such memory.
pub(super) fn zeroed(what: &'static str, len: usize) -> Result<Vec<u8>, ChunkError> {
    /// A system that cannot provide this little is out of memory everywhere.
    const SMALL: usize = 1 << 20;
    // `vec!` gets pages that the system has already cleared, but aborts if there are none, so ask first.
    if len > SMALL && Vec::<u8>::new().try_reserve_exact(len).is_err() {
        return Err(ChunkError::Memory { what, needed: len });
    }
    Ok(vec![0; len])
}

/// The first `len` bytes of a buffer, with unspecified contents.
pub(super) fn resized(buffer: &mut Vec<u8>, len: usize) -> Result<&mut [u8], ChunkError> {
    if buffer.len() < len {
        // Free the old buffer first, so that the two never exist at the same time.
        *buffer = Vec::new();
        *buffer = zeroed("decoded block", len)?;
    }
    Ok(&mut buffer[..len])
}

/// Buffers for blocks that are checked and discarded, one for each worker.
pub(super) type Scratch = PerWorker<Vec<u8>>;
