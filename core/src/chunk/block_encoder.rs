//! From the bytes of one block to its streams.

use super::map::WORD;
use super::plan::Plan;
use super::{ChunkContext, ChunkError, EncodeParams};
use crate::codec::{Codec, CodecContext};
use crate::filter::{BitshuffleRule, BlockContext};
use crate::pipeline::Pipeline;

/// Encodes blocks; one per thread. The codec, the filters and the buffers stay from chunk to chunk.
pub(crate) struct BlockEncoder {
    codec: Box<dyn Codec>,
    pipeline: Pipeline,
    /// A block with its filters applied.
    filtered: Vec<u8>,
    /// What the codec made of a stream.
    coded: Vec<u8>,
    /// Blocks finished by this worker when several work on one chunk...
    pub(crate) out: Vec<u8>,
    /// ... and which they are, with where each of them ends in `out`.
    pub(crate) done: Vec<(usize, usize)>,
}

/// What a block encoder is told besides the block itself.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) params: &'a EncodeParams,
    pub(crate) plan: &'a Plan,
    pub(crate) ctx: &'a ChunkContext<'a>,
    pub(crate) bitshuffle: BitshuffleRule,
    /// What a decoder will have as the first block, for the pipelines that use it.
    pub(crate) reference: Option<&'a [u8]>,
    pub(crate) dict: Option<&'a [u8]>,
    /// Streams of one repeated byte become runs (Blosc2); otherwise the codec sees them (Blosc 1).
    pub(crate) runs: bool,
    /// The filters have been applied already.
    pub(crate) filtered: bool,
}

impl<'a> Job<'a> {
    fn block(&self, block: usize, len: usize) -> BlockContext<'a> {
        let mut context = BlockContext::new(usize::from(self.plan.typesize));
        context.item_size = self.ctx.item_size.unwrap_or(self.params.typesize);
        context.chunk = self.ctx.number;
        context.block = block;
        context.offset = block * self.plan.blocksize;
        context.last_short = len < self.plan.blocksize;
        context.nd = self.ctx.nd;
        context.reference = self.reference.filter(|_| block > 0);
        context.bitshuffle = self.bitshuffle;
        context
    }
}

impl BlockEncoder {
    pub(crate) fn new(codec: Box<dyn Codec>, pipeline: Pipeline) -> Self {
        Self { codec, pipeline, filtered: Vec::new(), coded: Vec::new(), out: Vec::new(), done: Vec::new() }
    }

    /// Appends the streams of `block`, whose bytes are `src`, to `out`; returns whether all of them are zeros.
    pub(crate) fn encode(
        &mut self,
        job: &Job<'_>,
        block: usize,
        src: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, ChunkError> {
        let Self { codec, pipeline, filtered, coded, .. } = self;
        if job.filtered || pipeline.is_empty() {
            return Coder { codec: &mut **codec, coded, job, block }.encode(src, out);
        }
        let filtered = grown(filtered, src.len());
        pipeline.forward(&job.block(block, src.len()), src, filtered).map_err(|e| failed(block, e))?;
        Coder { codec: &mut **codec, coded, job, block }.encode(filtered, out)
    }

    /// What a decoder will make of `block`: the bytes with everything lost that the filters discard.
    pub(crate) fn decoded(
        &mut self,
        job: &Job<'_>,
        block: usize,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<(), ChunkError> {
        let context = job.block(block, src.len());
        let filtered = grown(&mut self.filtered, src.len());
        self.pipeline.forward(&context, src, filtered).map_err(|e| failed(block, e))?;
        self.pipeline.backward(&context, filtered, dst).map_err(|e| failed(block, e))
    }

    /// Whether any filter discards information.
    pub(crate) fn is_lossy(&self) -> bool {
        self.pipeline.is_lossy()
    }
}

fn failed(block: usize, source: crate::pipeline::PipelineError) -> ChunkError {
    ChunkError::Pipeline { block, source }
}

/// A buffer of at least `len` bytes with whatever it held before; fresh zero pages cost less than clearing old ones.
pub(crate) fn grown(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if buffer.len() < len {
        *buffer = vec![0; len];
    }
    &mut buffer[..len]
}

/// Turns one filtered block into streams.
struct Coder<'a> {
    codec: &'a mut dyn Codec,
    coded: &'a mut Vec<u8>,
    job: &'a Job<'a>,
    block: usize,
}

impl Coder<'_> {
    fn encode(&mut self, filtered: &[u8], out: &mut Vec<u8>) -> Result<bool, ChunkError> {
        let streams = self.job.plan.streams(filtered.len());
        let len = filtered.len() / streams;
        let context = self.job.block(self.block, filtered.len());
        let mut zero = true;
        for (stream, src) in filtered.chunks_exact(len).enumerate() {
            if self.job.runs
                && let Some(byte) = repeated(src)
            {
                // "csize is 0 for a run of zeros; for a run of another byte it is the negated byte, and a token
                // with bit 0 set follows."
                out.extend_from_slice(&(-i32::from(byte)).to_le_bytes());
                if byte != 0 {
                    out.push(1);
                    zero = false;
                }
                continue;
            }
            zero = false;
            let context = CodecContext {
                block: context,
                level: self.job.params.level,
                meta: self.job.params.codec_meta,
                stream,
                streams,
                dict: self.job.dict,
            };
            self.code(&context, src, out)?;
        }
        Ok(zero)
    }

    /// One stream: its length, then what the codec made of it, or the bytes themselves when that is not shorter. A
    /// length equal to the decoded one means raw bytes.
    fn code(&mut self, context: &CodecContext<'_>, src: &[u8], out: &mut Vec<u8>) -> Result<(), ChunkError> {
        let coded = grown(self.coded, src.len());
        let len = self.codec.compress(context, src, coded).map_err(|source| ChunkError::Encode {
            block: self.block,
            stream: context.stream,
            codec: self.job.params.codec,
            source,
        })?;
        let payload = match len {
            Some(len) if (1..src.len()).contains(&len) => &coded[..len],
            _ => src,
        };
        // Streams are shorter than a chunk, whose length fits 31 bits.
        out.reserve(WORD + payload.len());
        out.extend_from_slice(&(payload.len() as i32).to_le_bytes());
        out.extend_from_slice(payload);
        Ok(())
    }
}

/// The byte that all of `bytes` are equal to.
fn repeated(bytes: &[u8]) -> Option<u8> {
    let (&first, rest) = bytes.split_first()?;
    // All are equal when each equals its neighbour: one comparison of overlapping slices, which stops early.
    (bytes[..rest.len()] == *rest).then_some(first)
}
