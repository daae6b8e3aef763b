//! Decoding on a pool, with decoders that are reused.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use oxiblosc_core::chunk::{BlockMap, ChunkContext, ChunkDecoder, ChunkError, ChunkHeader, MapProgress};
use oxiblosc_core::filter::BitshuffleRule;
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::plugin_params::PluginParams;
use oxiblosc_core::{Inline, Limits, Registry};

use super::cache::{BlockCache, CachePolicy};
use crate::compute::{Buffer, Job, Pool};
use crate::sync::Mutex;
use crate::trace::span;

/// Decoders and the parameters they need.
pub(crate) struct Decoding {
    pub(crate) registry: Registry,
    /// The parameters of plugins that the frame records.
    pub(crate) plugin_params: PluginParams,
    pub(crate) limits: Limits,
    pub(crate) pool: Pool,
    pub(crate) geometry: Option<Arc<Geometry>>,
    /// The bit-shuffle rule requested by the user, which overrides the frame.
    pub(crate) bitshuffle: Option<BitshuffleRule>,
    /// Idle decoders. One whose job has panicked is discarded.
    pub(crate) decoders: Mutex<Vec<ChunkDecoder>>,
    /// The cache of decoded blocks.
    pub(crate) cache: Arc<BlockCache>,
}

pub(crate) type DecodeJob<T> = Job<Result<T, ChunkError>>;

impl Decoding {
    pub(crate) fn new(
        registry: Registry,
        plugin_params: PluginParams,
        limits: Limits,
        pool: Pool,
        geometry: Option<Arc<Geometry>>,
        bitshuffle: Option<BitshuffleRule>,
        cache: Arc<BlockCache>,
    ) -> Self {
        Self { registry, plugin_params, limits, pool, geometry, bitshuffle, decoders: Mutex::new(Vec::new()), cache }
    }

    /// Decodes a whole chunk.
    pub(crate) fn decode(self: &Arc<Self>, chunk: Bytes, ctx: ChunkContext<'static>) -> DecodeJob<Bytes> {
        let this = Arc::clone(self);
        let span = span!("decode_chunk", chunk = ctx.number);
        let work = move || {
            let header = ChunkHeader::parse(&chunk)?;
            this.check_limit(&header)?;
            let mut decoded = this.buffer(header.nbytes)?;
            this.with_context(ctx, |decoder, ctx| decoder.decode_into(&chunk, ctx, &mut decoded, &this.pool.share()))?;
            Ok(decoded.into())
        };
        self.pool.spawn(move || span.in_scope(work))
    }

    /// Checks that a whole chunk decodes, and returns the number of decoded bytes, which are discarded. With `alone`, one
    /// worker does all of it, which takes less memory.
    pub(crate) fn check(self: &Arc<Self>, chunk: Bytes, ctx: ChunkContext<'static>, alone: bool) -> DecodeJob<usize> {
        let this = Arc::clone(self);
        let span = span!("check_chunk", chunk = ctx.number);
        let work = move || {
            this.with_context(ctx, |decoder, ctx| match alone {
                true => decoder.check(&chunk, ctx, &Inline),
                false => decoder.check(&chunk, ctx, &this.pool.share()),
            })
        };
        self.pool.spawn(move || span.in_scope(work))
    }

    /// Checks the chunk against the limits before a buffer is allocated for it.
    pub(crate) fn check_limit(&self, header: &ChunkHeader) -> Result<(), ChunkError> {
        let (limit, found) = (self.limits.chunk_bytes, header.nbytes);
        if found > limit { Err(ChunkError::Limit { what: "decoded chunk", limit, found }) } else { Ok(()) }
    }

    /// A buffer for `len` decoded bytes, or an error if there is not enough memory.
    fn buffer(&self, len: usize) -> Result<Buffer, ChunkError> {
        /// Checking for memory first costs a system call.
        const LARGE: usize = 64 << 20;
        if len > LARGE && Vec::<u8>::new().try_reserve_exact(len).is_err() {
            return Err(ChunkError::Memory { what: "decoded chunk", needed: len });
        }
        Ok(self.pool.buffers().take(len))
    }

    /// All bytes of a chunk; its blocks are cached if requested.
    pub(crate) fn decode_chunk(
        &self,
        chunk: &Bytes,
        keep: CachePolicy,
        decoder: &mut ChunkDecoder,
        ctx: &ChunkContext<'_>,
    ) -> Result<Buffer, ChunkError> {
        let header = ChunkHeader::parse(chunk)?;
        self.check_limit(&header)?;
        let mut decoded = self.buffer(header.nbytes)?;
        decoder.decode_into(chunk, ctx, &mut decoded, &self.pool.share())?;
        let Some(number) = ctx.number.filter(|_| keep != CachePolicy::Nothing) else { return Ok(decoded) };
        if header.has_vl_blocks() {
            self.cache.put(number, None, 0, Bytes::copy_from_slice(&decoded));
            return Ok(decoded);
        }
        let map = map_of(chunk)?;
        for block in 0..map.block_count() {
            // Copies, so that evicting a block frees its memory.
            if let Some(bytes) = map.block_bytes(block).and_then(|bytes| decoded.get(bytes)) {
                self.cache.put(number, Some(&map), block, Bytes::copy_from_slice(bytes));
            }
        }
        Ok(decoded)
    }

    /// Runs `work` with a decoder and the full context.
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

    /// A new decoder.
    pub(crate) fn decoder(&self) -> ChunkDecoder {
        let decoder = ChunkDecoder::new(&self.registry).with_limits(self.limits);
        decoder.with_plugin_params(self.plugin_params.clone())
    }

    /// Runs `work` with a decoder, which is kept for reuse unless it panics.
    pub(crate) fn with_decoder<T>(&self, work: impl FnOnce(&mut ChunkDecoder) -> T) -> T {
        let kept = self.decoders.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut decoder = kept.unwrap_or_else(|| self.decoder());
        let result = work(&mut decoder);
        self.decoders.lock().unwrap_or_else(PoisonError::into_inner).push(decoder);
        result
    }
}

/// The block map of a chunk that was fetched as a whole.
pub(crate) fn map_of(chunk: &[u8]) -> Result<Arc<BlockMap>, ChunkError> {
    match BlockMap::parse(chunk)? {
        MapProgress::Ready(map) => Ok(Arc::new(map)),
        MapProgress::NeedPrefix(end) => Err(out_of_range(&(0..end), chunk.len())),
    }
}

pub(crate) fn out_of_range(bytes: &Range<usize>, available: usize) -> ChunkError {
    ChunkError::OutOfRange { what: "bytes", start: bytes.start, end: bytes.end, available }
}
