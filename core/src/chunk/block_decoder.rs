//! Decodes the streams of one block.

use std::ops::Range;

use super::check::resized;
use super::error::StreamError;
use super::header::VERSION_BLOSC1;
use super::map::{BlockMap, BlockMapBody, WORD};
use super::plan::{BLOSC1_MAX_STREAMS, BLOSC1_MIN_STREAM};
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
        Self { codecs, pipeline: Pipeline::default(), filtered: Vec::new() }
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
        let Self { codecs, pipeline, filtered } = self;
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

    /// Decodes only the bytes `range` of `block`, which lie in `dst` then, if that is possible without those after it.
    /// Returns whether it was. For blocks whose filters need not be undone.
    pub(crate) fn decode_range(
        &mut self,
        job: &DecodeContext<'_>,
        block: usize,
        span: &[u8],
        range: Range<usize>,
        dst: &mut [u8],
    ) -> Result<bool, ChunkError> {
        let BlockMapBody::Blocks { dict, .. } = job.map.body() else { return Ok(false) };
        let context = job.block(block, &self.codecs.registry);
        let mut streams = Streams { codecs: &mut self.codecs, map: job.map, context, dict: dict.as_deref(), span };
        streams.decode_range(range, dst, &mut self.filtered)
    }

    /// Frees buffers longer than `longest` bytes.
    pub(crate) fn shrink(&mut self, longest: usize) {
        if self.filtered.len() > longest {
            self.filtered = Vec::new();
        }
    }
}

/// The codecs used so far.
struct Codecs {
    registry: Registry,
    /// The parameters of codec and filters.
    params: PluginParams,
    loaded: Vec<LoadedCodec>,
}

struct LoadedCodec {
    info: CodecInfo,
    codec: Box<dyn Codec>,
}

impl Codecs {
    /// The codec with this id.
    fn get(&mut self, id: CodecId) -> Result<&mut LoadedCodec, StreamError> {
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
    fn run(
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

/// The streams of one block.
struct Streams<'a> {
    codecs: &'a mut Codecs,
    map: &'a BlockMap,
    context: BlockContext<'a>,
    dict: Option<&'a [u8]>,
    span: &'a [u8],
}

/// A stream, as its length word describes it.
enum EncodedStream<'a> {
    /// The byte that all of it is.
    Run(u8),
    /// The stream itself.
    Stored(&'a [u8]),
    /// The output of the codec.
    Coded(&'a [u8]),
}

impl<'a> Streams<'a> {
    fn decode(&mut self, dst: &mut [u8]) -> Result<(), ChunkError> {
        if self.map.header().has_vl_blocks() {
            return self.decode_vl(dst);
        }
        let (count, other) = self.counts(dst.len());
        match (self.decode_split(count, dst), other) {
            (Err(error), Some(other)) => self.decode_split(other, dst).map_err(|_| error),
            (result, _) => result,
        }
    }

    /// How many streams the block has, and how many it may have if that does not fit.
    ///
    /// Blosc2 splits every block but a short last one into as many streams as an item has bytes, unless the "do not
    /// split" flag is set. Blosc 1 also leaves large types and small blocks whole, and its releases before 1.11 did
    /// not know the flag, so that it is clear in chunks that were never split. Under "always split", though, later
    /// ones wrote what the rule of Blosc2 reads.
    fn counts(&self, len: usize) -> (usize, Option<usize>) {
        let header = self.map.header();
        let typesize = self.context.typesize;
        if !header.is_split() || self.context.last_short || typesize == 1 {
            return (1, None);
        }
        let splits_in_blosc1 = typesize <= BLOSC1_MAX_STREAMS && len / typesize >= BLOSC1_MIN_STREAM;
        if header.version <= VERSION_BLOSC1 && !splits_in_blosc1 { (1, Some(typesize)) } else { (typesize, None) }
    }

    fn decode_split(&mut self, count: usize, dst: &mut [u8]) -> Result<(), ChunkError> {
        let len = dst.len() / count;
        if len * count != dst.len() || len == 0 {
            return Err(self.error(0, 0, StreamError::Split { block_len: dst.len(), streams: count }));
        }
        let mut pos = 0;
        for (stream, dst) in dst.chunks_exact_mut(len).enumerate() {
            let start = pos;
            pos += self.decode_stream(stream, count, start, dst).map_err(|e| self.error(stream, start, e))?;
        }
        Ok(())
    }

    /// Decodes the stream at `start` of the span and returns how many bytes of the span it takes.
    fn decode_stream(
        &mut self,
        stream: usize,
        streams: usize,
        start: usize,
        dst: &mut [u8],
    ) -> Result<usize, StreamError> {
        let (encoded, taken) = self.stream_at(start, dst.len())?;
        match encoded {
            EncodedStream::Run(byte) => dst.fill(byte),
            EncodedStream::Stored(bytes) => dst.copy_from_slice(bytes),
            EncodedStream::Coded(bytes) => self.decompress(stream, streams, bytes, dst)?,
        }
        Ok(taken)
    }

    /// The stream of `len` decoded bytes at `start` of the span, and how many bytes of the span it takes.
    fn stream_at(&self, start: usize, len: usize) -> Result<(EncodedStream<'a>, usize), StreamError> {
        let span = self.span;
        let rest = &span[start.min(span.len())..];
        let (word, rest) = rest.split_first_chunk::<WORD>().ok_or(StreamError::Truncated {
            what: "length word",
            expected: WORD,
            found: rest.len(),
        })?;
        let word = i32::from_le_bytes(*word);
        let Ok(found) = usize::try_from(word) else {
            // "csize < 0: the stream is a run of one byte, whose value is -csize; a token follows, bit 0 of which says
            // that it is a run." There is no other kind of token.
            let byte = u8::try_from(word.unsigned_abs()).map_err(|_| StreamError::Size { found: word })?;
            let token = *rest.first().ok_or(StreamError::Truncated { what: "run token", expected: 1, found: 0 })?;
            if token & 1 == 0 {
                return Err(StreamError::Token { found: token });
            }
            return Ok((EncodedStream::Run(byte), WORD + 1));
        };
        let payload =
            rest.get(..found).ok_or(StreamError::Truncated { what: "stream", expected: found, found: rest.len() })?;
        let encoded = match found {
            0 => EncodedStream::Run(0),
            found if found == len => EncodedStream::Stored(payload),
            _ => EncodedStream::Coded(payload),
        };
        Ok((encoded, WORD + found))
    }

    /// Decodes the bytes `range` of the block into `dst`, without the streams that do not hold any of them. Returns false
    /// if that is not possible. `prefix` is for what comes before the range in its stream.
    fn decode_range(&mut self, range: Range<usize>, dst: &mut [u8], prefix: &mut Vec<u8>) -> Result<bool, ChunkError> {
        let block = self.map.block_bytes(self.context.block).unwrap_or_default();
        let (count, other) = self.counts(block.len());
        let len = block.len() / count;
        if other.is_some() || len * count != block.len() || len == 0 || range.end > block.len() {
            return Ok(false);
        }
        let (mut pos, mut rest) = (0, dst);
        for stream in 0..count {
            let start = pos;
            let here =
                range.start.clamp(stream * len, (stream + 1) * len)..range.end.clamp(stream * len, (stream + 1) * len);
            let (part, tail) = std::mem::take(&mut rest).split_at_mut(here.len());
            rest = tail;
            let within = here.start - stream * len..here.end - stream * len;
            let failed = |this: &Self, source| this.error(stream, start, source);
            let (encoded, taken) = self.stream_at(start, len).map_err(|e| failed(self, e))?;
            pos += taken;
            match encoded {
                _ if within.is_empty() => {}
                EncodedStream::Run(byte) => part.fill(byte),
                EncodedStream::Stored(bytes) => part.copy_from_slice(&bytes[within]),
                EncodedStream::Coded(bytes) => {
                    let decoded = self
                        .codec(stream, count)
                        .and_then(|codec| self.decompress_part(codec, bytes, len, within, part, prefix));
                    if !decoded.map_err(|e| failed(self, e))? {
                        return Ok(false);
                    }
                }
            }
            if here.end == range.end {
                break;
            }
        }
        Ok(true)
    }

    /// Decodes the bytes `range` of the stream `src`, which decodes to `len` bytes, into `dst`; false if the codec wants to
    /// decode all of them.
    fn decompress_part(
        &mut self,
        (id, context): (CodecId, CodecContext<'_>),
        src: &[u8],
        len: usize,
        range: Range<usize>,
        dst: &mut [u8],
        prefix: &mut Vec<u8>,
    ) -> Result<bool, StreamError> {
        let expected = dst.len();
        if range == (0..len) {
            return self.codecs.run(id, &context, expected, |codec| codec.decompress(&context, src, dst).map(Some));
        }
        let traits = self.codecs.get(id)?.info.traits;
        if traits.ranges {
            let decode = |codec: &mut dyn Codec| codec.decompress_range(&context, src, range, len, dst);
            return self.codecs.run(id, &context, expected, decode);
        }
        if !traits.prefixes || range.end == len {
            return Ok(false);
        }
        let Ok(prefix) = resized(prefix, range.end) else { return Ok(false) };
        let decode = |codec: &mut dyn Codec| codec.decompress_range(&context, src, 0..range.end, len, prefix);
        let decoded = self.codecs.run(id, &context, range.end, decode)?;
        dst.copy_from_slice(&prefix[range]);
        Ok(decoded)
    }

    /// A block of variable length is one stream: its decoded length, then either that many raw bytes or the output of
    /// the codec. There are no runs.
    fn decode_vl(&mut self, dst: &mut [u8]) -> Result<(), ChunkError> {
        let decode = |this: &mut Self, dst: &mut [u8]| {
            let (word, payload) = this.span.split_first_chunk::<WORD>().ok_or(StreamError::Truncated {
                what: "length word",
                expected: WORD,
                found: this.span.len(),
            })?;
            let word = i32::from_le_bytes(*word);
            if usize::try_from(word) != Ok(dst.len()) {
                return Err(StreamError::BlockLength { expected: dst.len(), found: word });
            }
            if payload.len() == dst.len() {
                dst.copy_from_slice(payload);
                return Ok(());
            }
            this.decompress(0, 1, payload, dst)
        };
        decode(self, dst).map_err(|e| self.error(0, 0, e))
    }

    fn decompress(&mut self, stream: usize, streams: usize, src: &[u8], dst: &mut [u8]) -> Result<(), StreamError> {
        let (id, context) = self.codec(stream, streams)?;
        let expected = dst.len();
        self.codecs.run(id, &context, expected, |codec| codec.decompress(&context, src, dst).map(Some))?;
        Ok(())
    }

    /// The codec of the chunk, and what it is told of a stream.
    fn codec(&self, stream: usize, streams: usize) -> Result<(CodecId, CodecContext<'a>), StreamError> {
        let header = self.map.header();
        let code = header.codec_format();
        let id = CodecId::from_format_code(code, header.udcodec).ok_or(StreamError::Format { code })?;
        let context = CodecContext {
            block: self.context,
            level: None,
            version: header.codec_version,
            meta: header.codec_meta,
            stream,
            streams,
            filter: header.filters.last(),
            dict: self.dict,
        };
        Ok((id, context))
    }

    fn error(&self, stream: usize, start: usize, source: StreamError) -> ChunkError {
        let block = self.context.block;
        ChunkError::Stream { block, stream, offset: self.map.span(block).start + start, source }
    }
}
