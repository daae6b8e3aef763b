//! Decodes one block: its streams, then its filters backwards.

use std::ops::Range;

use super::check::resized;
use super::error::StreamError;
use super::map::{BlockMap, BlockMapBody};
use super::streams::Streams;
use super::{ChunkContext, ChunkError};
use crate::codec::{Codec, CodecContext, CodecError};
use crate::filter::BlockContext;
use crate::id::{CodecId, IdRange};
use crate::pipeline::Pipeline;
use crate::plugin::guarded;
use crate::plugin_params::PluginParams;
use crate::registry::{CodecInfo, Registry, made};

/// Decodes blocks; one per thread. Codecs, filters and buffers are kept from chunk to chunk.
pub(crate) struct BlockDecoder {
    codecs: Codecs,
    pipeline: Pipeline,
    /// A second buffer for a block while its filters are undone, or the part of it before the one that is wanted.
    filtered: Vec<u8>,
    /// The part of a block that is wanted, filtered and then not.
    part: [Vec<u8>; 2],
}

/// What a block decoder needs to know besides the block.
#[derive(Clone, Copy)]
pub(crate) struct DecodeContext<'a> {
    pub(crate) map: &'a BlockMap,
    pub(crate) ctx: &'a ChunkContext<'a>,
    /// The decoded first block of the chunk, for blocks that need it. At least as long as any other block.
    pub(crate) reference: Option<&'a [u8]>,
}

impl<'a> DecodeContext<'a> {
    /// What plugins are told of a block.
    fn block(&self, block: usize, registry: &Registry) -> BlockContext<'a> {
        let Self { map, ctx, reference } = *self;
        let typesize = usize::from(map.header().typesize);
        let mut context = BlockContext::new(typesize);
        context.item_size = ctx.known_item_size(typesize);
        context.block = block;
        context.offset = map.block_bytes(block).map(|bytes| bytes.start);
        context.last_short = map.is_last_short(block);
        context.nd = ctx.nd.map(Into::into);
        context.reference = reference.filter(|_| map.needs_reference(block, registry));
        context.bitshuffle = ctx.bitshuffle.unwrap_or_else(|| map.bitshuffle_rule());
        context
    }
}

impl BlockDecoder {
    pub(crate) fn new(registry: Registry, params: PluginParams) -> Self {
        let codecs = Codecs { registry, params, loaded: Vec::new() };
        Self { codecs, pipeline: Pipeline::default(), filtered: Vec::new(), part: Default::default() }
    }

    /// Decodes `block`, whose bytes are `span`, into `dst` of exactly its length.
    pub(crate) fn decode(
        &mut self,
        job: &DecodeContext<'_>,
        block: usize,
        span: &[u8],
        dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        let map = job.map;
        let header = map.header();
        let dict = match map.body() {
            BlockMapBody::Special(fill) => {
                fill.write(block * header.blocksize, dst);
                return Ok(());
            }
            BlockMapBody::Stored => {
                dst.copy_from_slice(span);
                return Ok(());
            }
            BlockMapBody::Blocks { dict, .. } => dict.as_deref(),
        };
        let Self { codecs, pipeline, filtered, .. } = self;
        let failed = |source| ChunkError::Pipeline { block, source };
        pipeline.set(&header.filters, &codecs.registry, &codecs.params).map_err(failed)?;

        let context = job.block(block, &codecs.registry);
        let mut streams = Streams { codecs, map, context, dict, span };
        if pipeline.backward_is_identity() {
            return streams.decode(dst);
        }
        let spare = resized(filtered, dst.len())?;
        // Each filter writes to the other buffer. Start with the one that makes the last filter write to `dst`.
        let (block, spare) = if pipeline.backward_steps().is_multiple_of(2) { (dst, spare) } else { (spare, dst) };
        streams.decode(block)?;
        pipeline.backward_between(&context, block, spare).map_err(failed)
    }

    /// Decodes only the bytes `range` of `block` into `dst`, if that takes less than all of the block. Returns whether it
    /// did. Under a filter, `whole` streams are decoded to their end, which finds those that have another length.
    pub(crate) fn decode_range(
        &mut self,
        job: &DecodeContext<'_>,
        block: usize,
        span: &[u8],
        range: Range<usize>,
        dst: &mut [u8],
        whole: bool,
    ) -> Result<bool, ChunkError> {
        let map = job.map;
        let BlockMapBody::Blocks { dict, .. } = map.body() else { return Ok(false) };
        let Self { codecs, pipeline, filtered, part: [gathered, undone] } = self;
        let failed = |source| ChunkError::Pipeline { block, source };
        pipeline.set(&map.header().filters, &codecs.registry, &codecs.params).map_err(failed)?;
        let context = job.block(block, &codecs.registry);
        let mut streams = Streams { codecs, map, context, dict: dict.as_deref(), span };
        if pipeline.backward_is_identity() {
            return streams.decode_range(range, dst, filtered);
        }
        // Blocks of variable length have no such range.
        let len = map.block_bytes(block).unwrap_or_default().len();
        // To gather more than half of a block takes longer than to undo the rest of it.
        if range.len() > len / 2 {
            return Ok(false);
        }
        let Some(part) = pipeline.part(&context, len, range.clone()).map_err(failed)? else { return Ok(false) };
        let filtered = resized(filtered, len)?;
        if !streams.decode_part(&part, filtered, whole)? {
            return Ok(false);
        }
        let gathered = resized(gathered, part.bytes.len())?;
        for (to, from) in gathered.chunks_exact_mut(part.first.len().max(1)).zip(part.pieces()) {
            to.copy_from_slice(&filtered[from]);
        }
        if part.bytes == range {
            pipeline.backward(&context, gathered, dst).map_err(failed)?;
        } else {
            let undone = resized(undone, part.bytes.len())?;
            pipeline.backward(&context, gathered, undone).map_err(failed)?;
            dst.copy_from_slice(&undone[range.start - part.bytes.start..range.end - part.bytes.start]);
        }
        Ok(true)
    }

    /// Frees buffers longer than `longest` bytes.
    pub(crate) fn shrink(&mut self, longest: usize) {
        let Self { filtered, part: [gathered, undone], .. } = self;
        for buffer in [filtered, gathered, undone] {
            if buffer.len() > longest {
                *buffer = Vec::new();
            }
        }
    }
}

/// The codecs used so far.
pub(super) struct Codecs {
    registry: Registry,
    /// The parameters of codec and filters.
    params: PluginParams,
    loaded: Vec<LoadedCodec>,
}

pub(super) struct LoadedCodec {
    pub(super) info: CodecInfo,
    codec: Box<dyn Codec>,
}

impl Codecs {
    /// The codec with this id.
    pub(super) fn get(&mut self, id: CodecId) -> Result<&mut LoadedCodec, StreamError> {
        let index = match self.loaded.iter().position(|loaded| loaded.info.id == id) {
            Some(index) => index,
            None => {
                let entry = self.registry.codec(id)?;
                let info = *entry.info();
                let mut codec = made(info.plugin(), || entry.instance())?;
                if let Some(params) = self.params.of_codec(id) {
                    let failed = |source| StreamError::Codec { codec: Box::new(info.plugin()), source };
                    guarded(|| codec.configure(params)).map_err(failed)?;
                }
                self.loaded.push(LoadedCodec { info, codec });
                self.loaded.len() - 1
            }
        };
        Ok(&mut self.loaded[index])
    }

    /// Runs `call`, which returns the number of bytes that it has written, with the codec of this id. The number must be
    /// `expected`; `None` passes.
    pub(super) fn run(
        &mut self,
        id: CodecId,
        ctx: &CodecContext<'_>,
        expected: usize,
        call: impl FnOnce(&mut dyn Codec) -> Result<Option<usize>, CodecError>,
    ) -> Result<bool, StreamError> {
        let LoadedCodec { info, codec } = self.get(id)?;
        let (known, plugin) = (info.traits.version, info.plugin());
        // The codecs of the format have one version each, and old writers left other numbers behind.
        if id.range() != IdRange::Blosc && ctx.version > known {
            let source = CodecError::Version { found: ctx.version, known };
            return Err(StreamError::Codec { codec: Box::new(plugin), source });
        }
        match guarded(|| call(&mut **codec)) {
            Ok(None) => Ok(false),
            Ok(Some(found)) if found == expected => Ok(true),
            Ok(Some(found)) => Err(StreamError::Length { codec: Box::new(plugin), expected, found }),
            Err(source) => {
                // What a panic leaves in an instance may be anything.
                if let CodecError::Panicked(_) = source {
                    self.loaded.retain(|loaded| loaded.info.id != id);
                }
                Err(StreamError::Codec { codec: Box::new(plugin), source })
            }
        }
    }
}
