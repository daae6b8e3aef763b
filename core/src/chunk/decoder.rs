//! Decodes chunks.

use std::sync::Mutex;

use super::block_decoder::{BlockDecoder, DecodeContext};
use super::check::{Scratch, zeroed};
use super::copy::copy;
use super::header::ChunkHeader;
use super::map::{BlockMap, BlockMapBody};
use super::{ChunkContext, ChunkError};
use crate::executor::{Executor, PerWorker, locked, try_for_each, unlocked};
use crate::limits::Limits;
use crate::plugin_params::PluginParams;
use crate::registry::Registry;

/// Decodes chunks. Owned by one worker and reused, together with its contexts and scratch space.
///
/// Codecs and filters are looked up when a block needs them: stored and special chunks decode without any.
pub struct ChunkDecoder {
    registry: Registry,
    limits: Limits,
    params: PluginParams,
    workers: PerWorker<BlockDecoder>,
    parts: BlockScratch,
    scratch: Scratch,
}

/// Buffers for blocks of which only a part is wanted, or to which other blocks refer.
#[derive(Default)]
pub(super) struct BlockScratch {
    pub(super) block: Vec<u8>,
    pub(super) reference: Vec<u8>,
}

impl ChunkDecoder {
    /// Creates a decoder with the codecs and filters of `registry` and the default [`Limits`].
    pub fn new(registry: &Registry) -> Self {
        Self {
            registry: registry.clone(),
            limits: Limits::default(),
            params: PluginParams::default(),
            workers: PerWorker::new(),
            parts: BlockScratch::default(),
            scratch: Scratch::new(),
        }
    }

    /// Replaces the limits.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Hands these parameters to the plugins that they are for: those that the frame of the chunks records
    /// ([`PluginParams::METALAYER`]).
    pub fn with_plugin_params(mut self, params: PluginParams) -> Self {
        self.params = params;
        self.workers = PerWorker::new();
        self
    }

    /// Decodes a whole chunk into a new buffer, with the blocks spread over the workers of `executor`: `&Inline` for
    /// none but the calling thread.
    ///
    /// # Errors
    /// [`ChunkError::Limit`] when the decoded chunk would be longer than the limits allow; [`ChunkError::Memory`] when
    /// there is not enough memory; and what is wrong with the chunk, or missing in the registry to decode it.
    pub fn decode(
        &mut self,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
    ) -> Result<Vec<u8>, ChunkError> {
        let map = self.map(chunk)?;
        let mut dst = zeroed("decoded chunk", map.header().nbytes)?;
        self.decode_wanted(&map, chunk, ctx, &|_| true, &mut dst, executor)?;
        Ok(dst)
    }

    /// Decodes a whole chunk into `dst`, which must have exactly the decoded length, with the blocks spread over the
    /// workers of `executor`.
    ///
    /// # Errors
    /// [`ChunkError::Destination`] when `dst` has another length, and those of [`decode`](ChunkDecoder::decode).
    pub fn decode_into(
        &mut self,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
        executor: &dyn Executor,
    ) -> Result<(), ChunkError> {
        self.decode_blocks_into(chunk, ctx, &|_| true, dst, executor)
    }

    /// Decodes the blocks whose numbers are `wanted`, each into its place in `dst`, which must be exactly as long as the
    /// decoded chunk. The places of the other blocks have unspecified contents afterwards. The blocks are spread over
    /// the workers of `executor`.
    ///
    /// # Errors
    /// As for [`decode_into`](ChunkDecoder::decode_into).
    pub fn decode_blocks_into(
        &mut self,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        wanted: &(dyn Fn(usize) -> bool + Sync),
        dst: &mut [u8],
        executor: &dyn Executor,
    ) -> Result<(), ChunkError> {
        let header = BlockMap::header_of_chunk(chunk)?;
        self.check_decoded_len(&header)?;
        if header.is_stored() {
            // Making a map would take as long as copying ten kilobytes.
            return copy_stored(&header, chunk, dst);
        }
        let map = BlockMap::of_chunk(header, chunk)?;
        self.decode_wanted(&map, chunk, ctx, wanted, dst, executor)
    }

    /// Decodes one block into `dst`, which must have exactly the length of the decoded block
    /// ([`BlockMap::decoded_len`]). `span` holds the bytes of the chunk that [`BlockMap::span`] names, and
    /// `reference` the decoded first block when [`BlockMap::needs_reference`] says so.
    pub fn decode_block_into(
        &mut self,
        map: &BlockMap,
        block: usize,
        span: &[u8],
        reference: Option<&[u8]>,
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        self.check_limit(map)?;
        let expected = map.decoded_len(block, span)?;
        if dst.len() != expected {
            return Err(ChunkError::Destination { expected, found: dst.len() });
        }
        let needed = map.span(block);
        if span.len() != needed.len() {
            return Err(ChunkError::Truncated {
                what: "block",
                offset: needed.start,
                expected: needed.len(),
                found: span.len(),
            });
        }
        let found = reference.map_or(0, <[u8]>::len);
        if map.needs_reference(block, &self.registry) && found < expected {
            return Err(ChunkError::Reference { block, expected, found });
        }
        let job = DecodeContext { map, ctx, reference };
        unlocked(&mut self.workers(1)?[0]).decode(&job, block, span, dst)
    }

    /// As [`ChunkDecoder::decode_block_into`], into a new buffer.
    pub fn decode_block(
        &mut self,
        map: &BlockMap,
        block: usize,
        span: &[u8],
        reference: Option<&[u8]>,
        ctx: &ChunkContext<'_>,
    ) -> Result<Vec<u8>, ChunkError> {
        self.check_limit(map)?;
        let mut dst = zeroed("decoded block", map.decoded_len(block, span)?)?;
        self.decode_block_into(map, block, span, reference, ctx, &mut dst)?;
        Ok(dst)
    }

    pub(super) fn map(&self, chunk: &[u8]) -> Result<BlockMap, ChunkError> {
        let header = BlockMap::header_of_chunk(chunk)?;
        self.check_decoded_len(&header)?;
        BlockMap::of_chunk(header, chunk)
    }

    pub(super) fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn take_parts(&mut self) -> BlockScratch {
        std::mem::take(&mut self.parts)
    }

    pub(super) fn give_back_parts(&mut self, parts: BlockScratch) {
        self.parts = parts;
    }

    /// Checks that the limits allow decoding parts of the chunk, for callers that provide the memory.
    pub fn check_limit(&self, map: &BlockMap) -> Result<(), ChunkError> {
        self.check_decoded_len(map.header())
    }

    #[inline]
    fn check_decoded_len(&self, header: &ChunkHeader) -> Result<(), ChunkError> {
        let (limit, found) = (self.limits.chunk_bytes, header.nbytes);
        if found > limit {
            return Err(ChunkError::Limit { what: "decoded chunk", limit, found });
        }
        Ok(())
    }

    pub(super) fn workers(&mut self, count: usize) -> Result<&mut [Mutex<BlockDecoder>], ChunkError> {
        let Self { registry, params, workers, .. } = self;
        workers.first(count, || Ok(BlockDecoder::new(registry.clone(), params.clone())))
    }

    pub(super) fn each_worker(&mut self, change: impl FnMut(&mut BlockDecoder)) {
        self.workers.each(change);
    }

    fn decode_wanted(
        &mut self,
        map: &BlockMap,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        wanted: &(dyn Fn(usize) -> bool + Sync),
        dst: &mut [u8],
        executor: &dyn Executor,
    ) -> Result<(), ChunkError> {
        let header = map.header();
        check_destination(header, dst)?;
        match map.body() {
            BlockMapBody::Special(fill) => fill.write(0, dst),
            BlockMapBody::Stored => copy_stored(header, chunk, dst)?,
            BlockMapBody::Blocks { .. } if header.has_vl_blocks() => {
                let blocks = split_vl(map, chunk, dst)?;
                let blocks = blocks.into_iter().filter(|(block, _)| wanted(*block));
                self.decode_each(map, chunk, ctx, None, blocks, executor)?;
            }
            BlockMapBody::Blocks { .. } => {
                let mut blocks = dst.chunks_mut(header.blocksize).enumerate();
                let mut reference = None;
                if map.needs_reference(1, &self.registry) {
                    // The other blocks refer to this one.
                    if let Some((block, dst)) = blocks.next() {
                        let job = DecodeContext { map, ctx, reference: None };
                        unlocked(&mut self.workers(1)?[0]).decode(&job, block, &chunk[map.span(block)], dst)?;
                        reference = Some(&*dst);
                    }
                }
                self.decode_each(map, chunk, ctx, reference, blocks.filter(|(block, _)| wanted(*block)), executor)?;
            }
        }
        Ok(())
    }

    fn decode_each<'d>(
        &mut self,
        map: &BlockMap,
        chunk: &[u8],
        ctx: &ChunkContext<'_>,
        reference: Option<&[u8]>,
        blocks: impl Iterator<Item = (usize, &'d mut [u8])> + Send,
        executor: &dyn Executor,
    ) -> Result<(), ChunkError> {
        // An upper bound.
        let count = blocks.size_hint().1.unwrap_or(usize::MAX);
        let workers = &*self.workers(executor.workers().min(count).max(1))?;
        let job = DecodeContext { map, ctx, reference };
        try_for_each(executor, count, blocks, |worker, (block, dst)| {
            locked(&workers[worker]).decode(&job, block, &chunk[map.span(block)], dst)
        })
    }
}

fn check_destination(header: &ChunkHeader, dst: &[u8]) -> Result<(), ChunkError> {
    if dst.len() != header.nbytes {
        return Err(ChunkError::Destination { expected: header.nbytes, found: dst.len() });
    }
    Ok(())
}

/// Copies the data of a stored chunk, of which all bytes are there.
fn copy_stored(header: &ChunkHeader, chunk: &[u8], dst: &mut [u8]) -> Result<(), ChunkError> {
    check_destination(header, dst)?;
    copy(&chunk[header.header_len()..header.cbytes], dst);
    Ok(())
}

/// Splits the decoded chunk into its blocks of variable length.
fn split_vl<'d>(map: &BlockMap, chunk: &[u8], dst: &'d mut [u8]) -> Result<Vec<(usize, &'d mut [u8])>, ChunkError> {
    let mut rest = dst;
    let lens = map.decoded_lens(chunk)?;
    Ok(lens
        .into_iter()
        .enumerate()
        .map(|(block, len)| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(len);
            rest = tail;
            (block, head)
        })
        .collect())
}
