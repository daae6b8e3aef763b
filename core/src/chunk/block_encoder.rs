//! Encodes one block into its streams.

use super::map::WORD;
use super::plan::Blocking;
use super::source::SourceBlock;
use super::{ChunkContext, ChunkError, ChunkFormat, EncodeParams};
use crate::codec::{Codec, CodecContext, CodecError};
use crate::filter::{BitshuffleRule, BlockContext};
use crate::pipeline::{FilterSlots, Pipeline, PipelineError};
use crate::plugin::guarded;
use crate::plugin_params::PluginParams;
use crate::registry::{CodecEntry, CodecInfo, Registry, made};

/// Encodes blocks; one per thread. The codec, the filters and the buffers are kept from chunk to chunk.
pub(crate) struct BlockEncoder {
    codec: Box<dyn Codec>,
    info: CodecInfo,
    pipeline: Pipeline,
    /// A block whose source is in several pieces.
    joined: Vec<u8>,
    /// A block with its filters applied.
    filtered: Vec<u8>,
    /// Where the codec writes if the room left in the chunk is shorter than the stream.
    apart: Vec<u8>,
    /// Where this worker puts a block if several work on one chunk.
    pub(crate) finished: Vec<u8>,
    /// Free buffers of that kind for any worker. Only the first worker keeps them.
    pub(crate) spare: Vec<Vec<u8>>,
}

/// A block that fits.
pub(crate) struct EncodedBlock {
    /// Bytes it takes.
    pub(crate) len: usize,
    /// Its streams are all runs of zeros.
    pub(crate) zero: bool,
    /// It is one stored stream, which [`write_stored`] still has to write.
    pub(crate) stored: bool,
}

/// What a block encoder needs to know besides the block.
#[derive(Clone, Copy)]
pub(crate) struct EncodeContext<'a> {
    pub(crate) params: &'a EncodeParams,
    pub(crate) registry: &'a Registry,
    pub(crate) plan: &'a Blocking,
    /// The filters that the header will name, which are not always those of the parameters.
    pub(crate) slots: &'a FilterSlots,
    pub(crate) ctx: &'a ChunkContext<'a>,
    pub(crate) bitshuffle: BitshuffleRule,
    /// The first block as a decoder will have it, for pipelines that use it.
    pub(crate) reference: Option<&'a [u8]>,
    pub(crate) dict: Option<&'a [u8]>,
    /// The filters have been applied already.
    pub(crate) filtered: bool,
    /// A block that is the same memory as the previous one has the same streams.
    pub(crate) repeats: bool,
}

impl<'a> EncodeContext<'a> {
    /// A job without reference and dictionary, with the filters still to be applied.
    pub(crate) fn new(
        params: &'a EncodeParams,
        registry: &'a Registry,
        plan: &'a Blocking,
        slots: &'a FilterSlots,
        ctx: &'a ChunkContext<'a>,
    ) -> Self {
        let rule = match params.format {
            ChunkFormat::Blosc2 => BitshuffleRule::LeadingEights,
            ChunkFormat::Blosc1 | ChunkFormat::Early => BitshuffleRule::WholeBlockOrNothing,
        };
        let bitshuffle = ctx.bitshuffle.unwrap_or(rule);
        Self {
            params,
            registry,
            plan,
            slots,
            ctx,
            bitshuffle,
            reference: None,
            dict: None,
            filtered: false,
            repeats: false,
        }
    }

    /// The most bytes that a block of `len` bytes takes beyond its own. (A run takes five bytes, but no stream is
    /// empty.)
    pub(crate) fn overhead(&self, len: usize) -> usize {
        WORD * self.plan.streams(len)
    }

    fn block(&self, block: usize, len: usize) -> BlockContext<'a> {
        let typesize = usize::from(self.plan.typesize);
        let mut context = BlockContext::new(typesize);
        context.item_size = self.ctx.known_item_size(typesize);
        context.block = block;
        context.offset = (!self.plan.vl).then(|| block * self.plan.blocksize);
        if !self.plan.vl {
            context.last_short = len < self.plan.blocksize;
            context.reference = self.reference.filter(|_| block > 0);
        }
        context.nd = self.ctx.nd.map(Into::into);
        context.bitshuffle = self.bitshuffle;
        context
    }
}

impl BlockEncoder {
    /// An encoder with this codec and its parameters, if there are any.
    ///
    /// # Errors
    /// The codec cannot be made, or does not take the parameters.
    pub(crate) fn new(entry: &CodecEntry, params: &PluginParams) -> Result<Self, ChunkError> {
        let info = *entry.info();
        Ok(Self {
            codec: configured(entry, params)?,
            info,
            pipeline: Pipeline::default(),
            joined: Vec::new(),
            filtered: Vec::new(),
            apart: Vec::new(),
            finished: Vec::new(),
            spare: Vec::new(),
        })
    }

    /// Writes the streams of `block`, whose bytes are `src`, to the front of `out`. `None` if they do not fit.
    pub(crate) fn encode(
        &mut self,
        job: &EncodeContext<'_>,
        block: usize,
        src: &SourceBlock<'_>,
        out: &mut [u8],
    ) -> Result<Option<EncodedBlock>, ChunkError> {
        let Self { codec, info, pipeline, joined, filtered, apart, .. } = self;
        let src = src.joined(joined);
        let mut coder = StreamEncoder { codec, info, apart, job, block };
        pipeline.set(job.slots, job.registry, &job.params.plugin_params).map_err(|e| failed(block, e))?;
        if job.filtered || pipeline.is_empty() {
            return coder.encode(src, true, out);
        }
        let filtered = resized(filtered, src.len());
        pipeline.forward(&job.block(block, src.len()), src, filtered).map_err(|e| failed(block, e))?;
        // The next block overwrites these bytes.
        coder.encode(filtered, false, out)
    }

    /// Applies the filters and nothing else.
    pub(crate) fn filter(
        &mut self,
        job: &EncodeContext<'_>,
        block: usize,
        src: &SourceBlock<'_>,
        dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        let src = src.joined(&mut self.joined);
        self.pipeline.set(job.slots, job.registry, &job.params.plugin_params).map_err(|e| failed(block, e))?;
        self.pipeline.forward(&job.block(block, src.len()), src, dst).map_err(|e| failed(block, e))
    }

    /// Trains a dictionary with the codec; see [`Codec::train_dict`].
    pub(crate) fn train_dict(
        &mut self,
        registry: &Registry,
        params: &PluginParams,
        samples: &[u8],
        (sample_len, sample_count): (usize, usize),
        max_len: usize,
    ) -> Result<Option<Vec<u8>>, ChunkError> {
        let codec = &mut self.codec;
        guarded(|| codec.train_dict(samples, sample_len, sample_count, max_len)).map_err(|source| {
            renew(&mut self.codec, &self.info, registry, params, &source);
            ChunkError::Dictionary { codec: Box::new(self.info.plugin()), source }
        })
    }

    /// `block` as a decoder will have it: `src` without what the filters discard.
    pub(crate) fn decoded<'b>(
        &mut self,
        job: &EncodeContext<'_>,
        block: usize,
        src: &'b [u8],
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], ChunkError> {
        self.pipeline.set(job.slots, job.registry, &job.params.plugin_params).map_err(|e| failed(block, e))?;
        if !self.pipeline.is_lossy() {
            return Ok(src);
        }
        let context = job.block(block, src.len());
        let filtered = resized(&mut self.filtered, src.len());
        let decoded = resized(buffer, src.len());
        self.pipeline.forward(&context, src, filtered).map_err(|e| failed(block, e))?;
        self.pipeline.backward(&context, filtered, decoded).map_err(|e| failed(block, e))?;
        Ok(decoded)
    }
}

/// Replaces a codec that has panicked: what that leaves in an instance may be anything.
fn renew(codec: &mut Box<dyn Codec>, info: &CodecInfo, registry: &Registry, params: &PluginParams, error: &CodecError) {
    if let CodecError::Panicked(_) = error
        && let Ok(entry) = registry.codec(info.id)
        && let Ok(fresh) = configured(entry, params)
    {
        *codec = fresh;
    }
}

/// An instance of a codec with its parameters.
fn configured(entry: &CodecEntry, params: &PluginParams) -> Result<Box<dyn Codec>, ChunkError> {
    let info = entry.info();
    let mut codec = made(info.plugin(), || entry.instance())?;
    if let Some(params) = params.of_codec(info.id) {
        let failed = |source| ChunkError::Configure { codec: Box::new(info.plugin()), source };
        guarded(|| codec.configure(params)).map_err(failed)?;
    }
    Ok(codec)
}

fn failed(block: usize, source: PipelineError) -> ChunkError {
    ChunkError::Pipeline { block, source }
}

/// Grows a buffer to at least `len` bytes, with unspecified contents. Fresh zero pages cost less than clearing old
/// ones.
pub(crate) fn resized(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if buffer.len() < len {
        *buffer = vec![0; len];
    }
    &mut buffer[..len]
}

/// Turns one filtered block into streams.
struct StreamEncoder<'a> {
    codec: &'a mut Box<dyn Codec>,
    info: &'a CodecInfo,
    apart: &'a mut Vec<u8>,
    job: &'a EncodeContext<'a>,
    block: usize,
}

impl StreamEncoder<'_> {
    /// `lasting` if the bytes are still available later, in the source of the block.
    fn encode(&mut self, filtered: &[u8], lasting: bool, out: &mut [u8]) -> Result<Option<EncodedBlock>, ChunkError> {
        // Blosc 1, the Blosc2 of 2019 and blocks of variable length have no runs, so that the codec gets them.
        let runs = self.job.params.format == ChunkFormat::Blosc2 && !self.job.plan.vl;
        let streams = self.job.plan.streams(filtered.len());
        let len = filtered.len() / streams;
        let context = self.job.block(self.block, filtered.len());
        let mut encoded = EncodedBlock { len: 0, zero: true, stored: false };
        for (stream, src) in filtered.chunks_exact(len).enumerate() {
            let out = &mut out[encoded.len..];
            let written = if runs && let Some(byte) = repeated(src) {
                encoded.zero &= byte == 0;
                run(byte, out)
            } else {
                encoded.zero = false;
                let context = CodecContext {
                    block: context,
                    level: Some(self.job.params.level),
                    version: self.info.traits.version,
                    meta: self.job.params.codec_meta,
                    stream,
                    streams,
                    filter: self.job.slots.last(self.job.plan.typesize.into()),
                    dict: self.job.dict,
                };
                match self.code(&context, src, out)? {
                    None if out.len() < WORD + src.len() => None,
                    None => {
                        encoded.stored = lasting && streams == 1;
                        if !encoded.stored {
                            write_stored(&SourceBlock::Whole(src), out);
                        }
                        Some(WORD + src.len())
                    }
                    written => written,
                }
            };
            let Some(written) = written else { return Ok(None) };
            encoded.len += written;
        }
        Ok(Some(encoded))
    }

    /// Writes one stream: its length, then the output of the codec. `None` if that is not shorter than the input. (A
    /// block of variable length has its decoded length in front, and its place in the chunk tells the other.)
    ///
    /// The codec writes into the chunk itself when the room left there is as long as the stream. Codecs give up early
    /// in a short buffer, so their result may depend on its length; but a stream must not depend on which worker
    /// encoded the blocks before it, and where.
    fn code(&mut self, context: &CodecContext<'_>, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, ChunkError> {
        let Some((word, room)) = out.split_first_chunk_mut::<WORD>() else { return Ok(None) };
        let Self { codec, info, apart, job, block } = self;
        let mut compress = |dst: &mut [u8]| {
            let room = dst.len();
            let written = guarded(|| codec.compress(context, src, dst)).and_then(|written| match written {
                Some(found) if !(1..=room).contains(&found) => Err(CodecError::Written { found, room }),
                written => Ok(written.filter(|&len| len < src.len())),
            });
            written.map_err(|source| {
                renew(codec, info, job.registry, &job.params.plugin_params, &source);
                ChunkError::Encode { block: *block, stream: context.stream, codec: Box::new(info.plugin()), source }
            })
        };
        let len = if let Some(room) = room.get_mut(..src.len()) {
            compress(room)?
        } else {
            let apart = resized(apart, src.len());
            compress(apart)?.filter(|&len| match room.get_mut(..len) {
                Some(room) => {
                    room.copy_from_slice(&apart[..len]);
                    true
                }
                None => false,
            })
        };
        let Some(len) = len else { return Ok(None) };
        // Streams are shorter than a chunk, whose length fits 31 bits.
        *word = (if self.job.plan.vl { src.len() } else { len } as u32).to_le_bytes();
        Ok(Some(WORD + len))
    }
}

/// Writes a stored stream, known by a length equal to the decoded one. `out` has room for it.
pub(crate) fn write_stored(src: &SourceBlock<'_>, out: &mut [u8]) {
    let (word, room) = out.split_at_mut(WORD);
    word.copy_from_slice(&(src.len() as u32).to_le_bytes());
    src.copy_to(&mut room[..src.len()]);
}

/// "csize is 0 for a run of zeros; for a run of another byte it is the negated byte, and a token with bit 0 set
/// follows." Returns its length, or `None` if it does not fit.
fn run(byte: u8, out: &mut [u8]) -> Option<usize> {
    let word = (-i32::from(byte)).to_le_bytes();
    if byte == 0 {
        *out.first_chunk_mut()? = word;
        return Some(WORD);
    }
    let (first, rest) = out.split_first_chunk_mut()?;
    *rest.first_mut()? = 1;
    *first = word;
    Some(WORD + 1)
}

/// The byte that all of `bytes` equal, if there is one.
pub(crate) fn repeated(bytes: &[u8]) -> Option<u8> {
    let (&first, rest) = bytes.split_first()?;
    // All are equal when each equals its neighbour: one comparison of overlapping slices, which stops early.
    (bytes[..rest.len()] == *rest).then_some(first)
}
