//! Decoding on a pool, each job by one of the decoders kept here.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use oxiblosc_core::chunk::{BlockMap, ChunkContext, ChunkDecoder, ChunkError, ChunkHeader, MapProgress};
use oxiblosc_core::filter::BitshuffleRule;
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::{Limits, Registry};

use crate::compute::{Buffers, Job, Pool};

/// Decoders and what they need to know.
pub(crate) struct Decoding {
    pub(crate) registry: Registry,
    pub(crate) limits: Limits,
    pub(crate) pool: Pool,
    pub(crate) geometry: Option<Arc<Geometry>>,
    /// The bit-shuffle rule that the user has asked for, whatever the frame says.
    pub(crate) bitshuffle: Option<BitshuffleRule>,
    /// Decoders not in use. One whose plugin panicked is not among them any more.
    pub(crate) decoders: Mutex<Vec<ChunkDecoder>>,
    /// For chunks that are asked for one by one, and for blocks of which a part is asked for. Streams have buffers of their own, which go when they do.
    pub(crate) buffers: Buffers,
}

pub(crate) type DecodeJob<T> = Job<Result<T, ChunkError>>;

/// The bytes of a chunk that a part of it is decoded from.
pub(crate) enum Encoded {
    /// All of them.
    Chunk(Bytes),
    /// Only some blocks, in increasing order.
    Blocks { map: BlockMap, blocks: Vec<(usize, Bytes)> },
}

impl Decoding {
    pub(crate) fn new(
        registry: Registry,
        limits: Limits,
        pool: Pool,
        geometry: Option<Arc<Geometry>>,
        bitshuffle: Option<BitshuffleRule>,
    ) -> Self {
        let (decoders, buffers) = (Mutex::new(Vec::new()), Buffers::new(pool.threads().max(1)));
        Self { registry, limits, pool, geometry, bitshuffle, decoders, buffers }
    }

    /// Decodes a whole chunk into a buffer from `buffers`.
    pub(crate) fn decode(
        self: &Arc<Self>,
        chunk: Bytes,
        ctx: ChunkContext<'static>,
        buffers: &Buffers,
    ) -> DecodeJob<Bytes> {
        let (this, buffers) = (Arc::clone(self), buffers.clone());
        self.pool.spawn(move || {
            let header = ChunkHeader::parse(&chunk)?;
            if header.nbytes > this.limits.chunk_bytes {
                let (limit, found) = (this.limits.chunk_bytes, header.nbytes);
                return Err(ChunkError::Limit { what: "decoded chunk", limit, found });
            }
            let mut decoded = buffers.take(header.nbytes);
            this.with_context(ctx, |decoder, ctx| {
                decoder.decode_into_on(&chunk, ctx, &mut decoded, &this.pool.share())
            })?;
            Ok(decoded.into())
        })
    }

    /// Decodes the bytes `within` a chunk into `dst`, which has their length, and gives it back.
    pub(crate) fn decode_part(
        self: &Arc<Self>,
        encoded: Encoded,
        within: Range<usize>,
        ctx: ChunkContext<'static>,
        mut dst: BytesMut,
    ) -> DecodeJob<BytesMut> {
        let this = Arc::clone(self);
        self.pool.spawn(move || {
            this.with_context(ctx, |decoder, ctx| match &encoded {
                Encoded::Chunk(chunk) => {
                    let header = ChunkHeader::parse(chunk)?;
                    if within == (0..header.nbytes) {
                        return decoder.decode_into_on(chunk, ctx, &mut dst, &this.pool.share());
                    }
                    if header.has_vl_blocks() {
                        let decoded = decoder.decode(chunk, ctx)?;
                        let part = decoded.get(within.clone()).ok_or(out_of_range(&within, decoded.len()))?;
                        dst.copy_from_slice(part);
                        return Ok(());
                    }
                    let MapProgress::Ready(map) = BlockMap::parse(chunk)? else {
                        return Err(out_of_range(&within, chunk.len()));
                    };
                    let span = |block| chunk.get(map.span(block)).unwrap_or_default();
                    decode_blocks(decoder, &map, span, within.clone(), ctx, &mut dst, &this.buffers)
                }
                Encoded::Blocks { map, blocks } => {
                    let span = |block| match blocks.binary_search_by_key(&block, |(number, _)| *number) {
                        Ok(found) => &blocks[found].1[..],
                        Err(_) => &[],
                    };
                    decode_blocks(decoder, map, span, within.clone(), ctx, &mut dst, &this.buffers)
                }
            })?;
            Ok(dst)
        })
    }

    /// Has `work` done with a decoder and the full context.
    pub(crate) fn with_context<T>(
        &self,
        ctx: ChunkContext<'static>,
        work: impl FnOnce(&mut ChunkDecoder, &ChunkContext<'_>) -> T,
    ) -> T {
        let mut ctx: ChunkContext<'_> = ctx;
        ctx.nd = self.geometry.as_deref();
        ctx.bitshuffle = self.bitshuffle.or(ctx.bitshuffle);
        self.with_decoder(|decoder| work(decoder, &ctx))
    }

    /// Has `work` done with a decoder, which is kept for the next one unless it panics.
    pub(crate) fn with_decoder<T>(&self, work: impl FnOnce(&mut ChunkDecoder) -> T) -> T {
        let kept = self.decoders.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut decoder = kept.unwrap_or_else(|| ChunkDecoder::new(&self.registry).with_limits(self.limits));
        let result = work(&mut decoder);
        self.decoders.lock().unwrap_or_else(PoisonError::into_inner).push(decoder);
        result
    }
}

/// Decodes the blocks that hold `within`, those at its two ends by way of a buffer.
fn decode_blocks<'a>(
    decoder: &mut ChunkDecoder,
    map: &BlockMap,
    span: impl Fn(usize) -> &'a [u8],
    within: Range<usize>,
    ctx: &ChunkContext<'_>,
    dst: &mut [u8],
    buffers: &Buffers,
) -> Result<(), ChunkError> {
    decoder.check_limit(map)?;
    let available = dst.len();
    let mut rest = dst;
    let blocks = map.blocks_of_bytes(within.clone())?;
    let reference = match blocks.clone().any(|block| map.needs_reference(block)) {
        true => Some(decoder.decode_block(map, 0, span(0), None, ctx)?),
        false => None,
    };
    for block in blocks {
        // Blocks of `blocks_of_bytes` exist and are of fixed length.
        let covers = map.block_bytes(block).unwrap_or_default();
        let wanted = covers.start.max(within.start)..covers.end.min(within.end);
        let Some((part, behind)) = rest.split_at_mut_checked(wanted.len()) else {
            return Err(out_of_range(&within, available));
        };
        rest = behind;
        let reference = reference.as_deref().filter(|_| map.needs_reference(block));
        if wanted == covers {
            decoder.decode_block_into(map, block, span(block), reference, ctx, part)?;
        } else {
            let mut decoded = buffers.take(covers.len());
            decoder.decode_block_into(map, block, span(block), reference, ctx, &mut decoded)?;
            part.copy_from_slice(&decoded[wanted.start - covers.start..wanted.end - covers.start]);
        }
    }
    Ok(())
}

fn out_of_range(bytes: &Range<usize>, available: usize) -> ChunkError {
    ChunkError::OutOfRange { what: "bytes", start: bytes.start, end: bytes.end, available }
}
