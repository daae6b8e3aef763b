//! Encodes buffers into chunks.

use std::sync::Mutex;

use super::assemble::{ChunkBuffer, EncodeResult, assemble};
use super::block_encoder::{BlockEncoder, EncodeContext, resized};
use super::check::zeroed;
use super::dict;
use super::header::{
    MAX_BLOCKSIZE, VERSION_BLOSC1, VERSION_BLOSC2, VERSION_EARLY, VERSION_VL_BLOCKS, VL_BLOCKS, flag, flag2,
};
use super::map::WORD;
use super::plan::Blocking;
use super::source::{self, SourceBlock};
use super::{
    ChunkContext, ChunkError, ChunkFormat, ChunkHeader, EncodeParams, SpecialKind, SpecialValue, special_chunk,
};
use crate::codec::CodecTraits;
use crate::executor::{Executor, Inline, PerWorker, locked, try_for_each, unlocked};
use crate::filter::FilterTraits;
use crate::id::{CodecId, FilterId, IdRange};
use crate::pipeline::{FilterSlot, FilterSlots, Pipeline};
use crate::registry::Registry;

/// Blosc2 stores anything shorter than this.
const MIN_COMPRESSED: usize = 32;
/// Blosc 1 stores anything shorter than this.
const BLOSC1_MIN_COMPRESSED: usize = 128;

/// Encodes buffers into chunks. Owned by one worker and reused, together with its contexts and scratch space.
pub struct ChunkEncoder {
    params: EncodeParams,
    registry: Registry,
    traits: CodecTraits,
    /// The filters group bytes, so that splitting blocks pays.
    grouped: bool,
    /// Blocks with the same content may have different streams.
    positional: bool,
    workers: PerWorker<BlockEncoder>,
    /// Where a chunk is built before it is copied into a buffer of the right length.
    scratch: Vec<u8>,
    /// All filtered blocks, if they are needed together to train a dictionary.
    filtered: Vec<u8>,
    /// The first block as decoders will have it, if it differs from the source.
    reference: Vec<u8>,
    /// Whether blocks that are the same memory are encoded once.
    repeats: bool,
}

impl ChunkEncoder {
    /// Creates an encoder with the codec and the filters of `params`.
    ///
    /// # Errors
    /// [`ChunkError::Parameter`] for values out of range or combinations that make no sense; [`ChunkError::Codec`] and
    /// [`ChunkError::Filters`] when there is no provider, except at level 0, where none is needed.
    pub fn new(params: &EncodeParams, registry: &Registry) -> Result<Self, ChunkError> {
        check(params)?;
        let traits = match registry.codec(params.codec) {
            Ok(entry) => entry.info().traits,
            Err(_) if params.level == 0 => unknown_codec(params.codec),
            Err(error) => return Err(error.into()),
        };
        if params.level > 0 && !traits.encode {
            return Err(ChunkError::parameter("codec", params.codec, "a codec that can compress"));
        }
        if params.level > 0 && params.use_dict && !traits.dict {
            let able = registry.codecs().filter(|entry| entry.info().traits.dict).map(|entry| entry.info().name);
            let able = able.collect::<Vec<_>>().join(", ");
            return Err(ChunkError::parameter("use_dict", true, format!("a codec with dictionaries ({able})")));
        }
        check_plugin_params(params, registry)?;
        let mut encoder = Self {
            params: params.clone(),
            registry: registry.clone(),
            traits,
            grouped: filter_traits(params, registry).any(|traits| traits.groups_bytes),
            positional: traits.positional || filter_traits(params, registry).any(|traits| traits.positional),
            workers: PerWorker::new(),
            scratch: Vec::new(),
            filtered: Vec::new(),
            reference: Vec::new(),
            repeats: false,
        };
        if params.level > 0 {
            // Fail now rather than at the first chunk.
            Pipeline::new(&params.filters, registry, &params.plugin_params).map_err(ChunkError::Filters)?;
            encoder.workers.first(1, || new_worker(params, registry))?;
        }
        Ok(encoder)
    }

    /// The parameters.
    pub fn params(&self) -> &EncodeParams {
        &self.params
    }

    /// Encodes `src` into a new chunk, with the blocks spread over the workers of `executor`: `&Inline` for none but
    /// the calling thread. The bytes are the same for any number of workers.
    ///
    /// # Errors
    /// [`ChunkError::Limit`] when `src` is longer than a chunk can be; [`ChunkError::Memory`] when there is not enough
    /// memory; and what the codec and filters report.
    pub fn encode(
        &mut self,
        src: &[u8],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
    ) -> Result<Vec<u8>, ChunkError> {
        let mut chunk = Vec::new();
        self.encode_append(src, ctx, &mut chunk, executor)?;
        Ok(chunk)
    }

    /// Encodes `src` and appends the chunk to `out`, which is left unchanged on error. Returns the length of the chunk,
    /// which is at most that of `src` plus a header.
    ///
    /// # Errors
    /// As for [`encode`](ChunkEncoder::encode).
    pub fn encode_append(
        &mut self,
        src: &[u8],
        ctx: &ChunkContext<'_>,
        out: &mut Vec<u8>,
        executor: &dyn Executor,
    ) -> Result<usize, ChunkError> {
        let mut scratch = self.take_scratch();
        let room = resized(&mut scratch, self.max_encoded_len(src.len()));
        let result = self.encode_into(src, ctx, room, executor);
        if let Ok(len) = &result {
            out.extend_from_slice(&scratch[..*len]);
        }
        self.give_back_scratch(scratch);
        result
    }

    /// The most bytes that a chunk of `nbytes` decoded bytes takes, which is what it takes if it is stored.
    pub fn max_encoded_len(&self, nbytes: usize) -> usize {
        let header = match self.params.format {
            ChunkFormat::Blosc2 | ChunkFormat::Early => ChunkHeader::EXTENDED_LEN,
            ChunkFormat::Blosc1 => ChunkHeader::MIN_LEN,
        };
        nbytes.saturating_add(header)
    }

    /// Encodes `src` into the front of `dst` without an intermediate copy, and returns the length of the chunk. The
    /// rest of `dst` has unspecified contents afterwards.
    ///
    /// # Errors
    /// [`ChunkError::Destination`] when `dst` is shorter than [`max_encoded_len`](ChunkEncoder::max_encoded_len) says,
    /// and those of [`encode`](ChunkEncoder::encode).
    pub fn encode_into(
        &mut self,
        src: &[u8],
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
        executor: &dyn Executor,
    ) -> Result<usize, ChunkError> {
        self.encode_pieces_into(&[src], ctx, dst, executor)
    }

    /// As [`encode_into`](ChunkEncoder::encode_into), for a source in several pieces, whose concatenation is encoded.
    /// Blocks that lie within one piece are encoded from there; each of the others is copied on its own, by the worker
    /// that encodes it.
    ///
    /// # Errors
    /// As for [`encode_into`](ChunkEncoder::encode_into).
    pub fn encode_pieces_into(
        &mut self,
        pieces: &[&[u8]],
        ctx: &ChunkContext<'_>,
        dst: &mut [u8],
        executor: &dyn Executor,
    ) -> Result<usize, ChunkError> {
        let nbytes = source::len_of(pieces);
        let plan = self.plan(nbytes)?;
        let (expected, found) = (self.max_encoded_len(nbytes), dst.len());
        let dst = dst.get_mut(..expected).ok_or(ChunkError::Destination { expected, found })?;
        if self.stores(&plan) {
            self.store(&plan, None, pieces, dst)
        } else {
            self.write(&plan, pieces, ctx, executor, dst)
        }
    }

    /// The block size of a chunk of `nbytes` bytes. The last block may be shorter.
    pub(crate) fn block_size_of(&self, nbytes: usize) -> Result<usize, ChunkError> {
        Ok(self.plan(nbytes)?.blocksize)
    }

    /// Encodes a source that has been cut into blocks of [`block_size_of`](Self::block_size_of) bytes, which may share
    /// their bytes: it takes the memory of those and of the chunk, however long the source is. The chunk is the one that
    /// [`encode`](Self::encode) makes of the source.
    pub(crate) fn encode_cut(&mut self, blocks: &[&[u8]], ctx: &ChunkContext<'_>) -> Result<Vec<u8>, ChunkError> {
        /// The initial guess of how many source bytes one byte of the chunk holds.
        const EXPECTED: usize = 64;
        self.repeats = true;
        let nbytes = blocks.iter().map(|block| block.len()).sum();
        let plan = self.plan(nbytes)?;
        let most = self.max_encoded_len(nbytes);
        let mut header = self.header(&plan, self.slots(&plan));
        let (header_len, starts_end) = (header.header_len(), header.block_starts_end());
        let mut room = (starts_end + nbytes / EXPECTED).min(most);
        let cut: Vec<_> = blocks.iter().map(|block| SourceBlock::Whole(block)).collect();
        while !self.stores(&plan) && starts_end <= most {
            let mut dst = zeroed("chunk to encode", room)?;
            let Some(mut out) = ChunkBuffer::new(&mut dst, header_len, starts_end) else { break };
            let outcome = self.write_blocks(&plan, &cut, ctx, &Inline, &mut header, &mut out)?;
            header.cbytes = out.len();
            match outcome {
                EncodeResult::TooLong if room < most => {
                    room = room.saturating_mul(8).min(most);
                    header = self.header(&plan, self.slots(&plan));
                }
                // To be stored, or encoded as zeros, they must be contiguous.
                EncodeResult::TooLong | EncodeResult::Done { zero: true } => break,
                EncodeResult::Done { zero: false } => {
                    dst[..header_len].copy_from_slice(&header.to_bytes());
                    dst.truncate(header.cbytes);
                    dst.shrink_to_fit();
                    return Ok(dst);
                }
            }
        }
        self.encode(&blocks.concat(), ctx, &Inline)
    }

    /// Encodes `nbytes` bytes of a single value as a chunk. See [`special_chunk`] for the errors.
    pub fn encode_special(&self, value: SpecialValue<'_>, nbytes: usize) -> Result<Vec<u8>, ChunkError> {
        special_chunk(value, nbytes, self.params.typesize, self.plan(nbytes)?.blocksize)
    }

    /// A buffer with unspecified contents.
    pub(super) fn take_scratch(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.scratch)
    }

    pub(super) fn give_back_scratch(&mut self, scratch: Vec<u8>) {
        self.scratch = scratch;
    }

    fn plan(&self, nbytes: usize) -> Result<Blocking, ChunkError> {
        if nbytes > ChunkHeader::MAX_NBYTES {
            let (what, limit) = ("chunk to encode", ChunkHeader::MAX_NBYTES);
            return Err(ChunkError::Limit { what, limit, found: nbytes });
        }
        Ok(Blocking::new(&self.params, &self.traits, self.grouped, nbytes))
    }

    /// Whether to store the data without trying to compress it.
    fn stores(&self, plan: &Blocking) -> bool {
        let least = match self.params.format {
            ChunkFormat::Blosc2 => MIN_COMPRESSED,
            ChunkFormat::Blosc1 | ChunkFormat::Early => BLOSC1_MIN_COMPRESSED,
        };
        self.params.level == 0 || plan.nbytes < least || plan.block_count().saturating_mul(WORD) > plan.nbytes
    }

    /// The header, with `cbytes` still zero.
    pub(super) fn header(&self, plan: &Blocking, filters: FilterSlots) -> ChunkHeader {
        let params = &self.params;
        let has = |id, bit| if filters.contains(id) { bit } else { 0 };
        let extended = flag::EXTENDED | has(FilterId::DELTA, flag::DELTA);
        let (version, filter_flags) = match params.format {
            ChunkFormat::Blosc2 if plan.vl => (VERSION_VL_BLOCKS, extended),
            ChunkFormat::Blosc2 => (VERSION_BLOSC2, extended),
            ChunkFormat::Early => (VERSION_EARLY, extended),
            ChunkFormat::Blosc1 => {
                (VERSION_BLOSC1, has(FilterId::SHUFFLE, flag::SHUFFLE) | has(FilterId::BITSHUFFLE, flag::BITSHUFFLE))
            }
        };
        let split = if plan.split { 0 } else { flag::DONT_SPLIT };
        ChunkHeader {
            version,
            codec_version: self.traits.version,
            flags: filter_flags | split | params.codec.format_code() << flag::CODEC_SHIFT,
            typesize: plan.typesize,
            nbytes: plan.nbytes,
            blocksize: plan.blocksize,
            cbytes: 0,
            filters,
            // Reserved in 2019.
            udcodec: if params.format == ChunkFormat::Early { 0 } else { params.codec.0 },
            codec_meta: params.codec_meta,
            blosc2_flags2: if plan.vl { VL_BLOCKS } else { 0 },
            blosc2_flags: 0,
        }
    }

    /// Writes the source as a stored chunk. `tried` is the header of the attempt to compress it, if there was one: C-Blosc2
    /// then keeps its flags and otherwise clears them; Blosc 1 always keeps them.
    fn store(
        &self,
        plan: &Blocking,
        tried: Option<ChunkHeader>,
        pieces: &[&[u8]],
        dst: &mut [u8],
    ) -> Result<usize, ChunkError> {
        let mut header = tried.unwrap_or_else(|| {
            let mut header = self.header(plan, self.params.filters);
            if self.params.format == ChunkFormat::Blosc2 {
                header.flags = flag::EXTENDED;
            }
            header
        });
        header.flags |= flag::STORED;
        // C-Blosc2 forgets this one, and then cannot read its own chunk.
        header.blosc2_flags &= !flag2::DICT;
        header.cbytes = header.header_len() + plan.nbytes;
        let (head, body) = dst.split_at_mut(header.header_len());
        head.copy_from_slice(&header.to_checked_bytes()?);
        SourceBlock::Pieces { pieces, skip: 0, len: plan.nbytes }.copy_to(body);
        Ok(header.cbytes)
    }

    /// Writes a chunk of compressed blocks, or a stored or special chunk if that is shorter. `dst` is as long as a
    /// stored one. Returns the length.
    fn write(
        &mut self,
        plan: &Blocking,
        pieces: &[&[u8]],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
        dst: &mut [u8],
    ) -> Result<usize, ChunkError> {
        let mut header = self.header(plan, self.slots(plan));
        let header_len = header.header_len();
        let Some(mut out) = ChunkBuffer::new(dst, header_len, header.block_starts_end()) else {
            return self.store(plan, Some(header), pieces, dst);
        };
        let blocks = source::cut(pieces, plan.blocksize);
        let outcome = self.write_blocks(plan, &blocks, ctx, executor, &mut header, &mut out)?;
        header.cbytes = out.len();
        match outcome {
            EncodeResult::TooLong => return self.store(plan, Some(header), pieces, dst),
            EncodeResult::Done { zero } if zero && header.is_extended() && self.zeros_decode_to_zeros(pieces) => {
                // Only the header remains. Its flags still say how the chunk was made.
                header.blosc2_flags |= SpecialKind::Zero.bits();
                header.cbytes = header_len;
            }
            EncodeResult::Done { .. } => {}
        }
        dst[..header_len].copy_from_slice(&header.to_checked_bytes()?);
        Ok(header.cbytes)
    }

    /// Writes the dictionary, if there is one, and the blocks, and records the dictionary in `header`.
    pub(super) fn write_blocks(
        &mut self,
        plan: &Blocking,
        blocks: &[SourceBlock<'_>],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
        header: &mut ChunkHeader,
        out: &mut ChunkBuffer<'_>,
    ) -> Result<EncodeResult, ChunkError> {
        let slots = header.filters;
        let Self { params, registry, workers, reference, filtered, repeats, positional, .. } = self;
        let count = executor.workers().min(plan.block_count()).max(1);
        let workers = workers.first(count, || new_worker(params, registry))?;
        let mut job = EncodeContext::new(params, registry, plan, &slots, ctx);
        job.repeats = *repeats && !*positional;
        let mut joined = Vec::new();
        if let Some(first) = blocks.first()
            && registry.needs_reference(&slots)
            && plan.block_count() > 1
        {
            job.reference = Some(unlocked(&mut workers[0]).decoded(&job, 0, first.joined(&mut joined), reference)?);
        }
        if !params.use_dict {
            return assemble(workers, executor, &job, blocks, out);
        }
        let filtered = filter_all(workers, executor, &job, blocks, filtered)?;
        job.filtered = true;
        let dict = dict::train(plan, unlocked(&mut workers[0]), registry, &params.plugin_params, filtered)?;
        if let Some(dict) = &dict {
            header.blosc2_flags |= flag2::DICT;
            // "int32 size, then the dictionary"; at most 32 KiB.
            if !out.push(&(dict.len() as u32).to_le_bytes()) || !out.push(dict) {
                return Ok(EncodeResult::TooLong);
            }
            job.dict = Some(dict);
        }
        let mut rest = filtered;
        let filtered: Vec<_> = blocks.iter().map(|src| SourceBlock::Whole(split_off(&mut rest, src.len()))).collect();
        assemble(workers, executor, &job, &filtered, out)
    }

    /// The filters of a regular chunk: those of the parameters, with one exception.
    ///
    /// Under the old bit-shuffle rule, C-Blosc2 forgets the end of a last block that is shorter than an item, or that
    /// ends in part of an item after a multiple of eight whole ones. Blosc 1 does not, but both read the chunk
    /// correctly if byte shuffle or nothing replaces bit shuffle.
    fn slots(&self, plan: &Blocking) -> FilterSlots {
        let mut slots = self.params.filters;
        let typesize = usize::from(plan.typesize);
        let last = plan.nbytes % plan.blocksize;
        let forgotten = !last.is_multiple_of(typesize) && (last < typesize || (last / typesize).is_multiple_of(8));
        if forgotten && self.params.format != ChunkFormat::Blosc2 {
            let shuffle = self.registry.filter(FilterId::SHUFFLE).map_or(FilterId::NONE, |entry| entry.info().id);
            for slot in slots.0.iter_mut().filter(|slot| slot.id == FilterId::BITSHUFFLE) {
                *slot = FilterSlot { id: shuffle, meta: 0 };
            }
        }
        slots
    }

    /// Whether the source, which the filters turned into zeros, may be encoded as zeros.
    fn zeros_decode_to_zeros(&self, pieces: &[&[u8]]) -> bool {
        filter_traits(&self.params, &self.registry).all(|traits| traits.keeps_zeros)
            || pieces.iter().all(|piece| piece.iter().all(|&b| b == 0))
    }
}

/// The traits of the filters, as far as they have a provider.
fn filter_traits<'a>(params: &'a EncodeParams, registry: &'a Registry) -> impl Iterator<Item = FilterTraits> + 'a {
    params
        .filters
        .active()
        .map(|(_, slot)| registry.filter(slot.id).map_or(FilterTraits::LOSSLESS, |e| e.info().traits))
}

/// Applies the filters to all blocks and returns the results in one buffer.
fn filter_all<'b>(
    workers: &[Mutex<BlockEncoder>],
    executor: &dyn Executor,
    job: &EncodeContext<'_>,
    blocks: &[SourceBlock<'_>],
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8], ChunkError> {
    let buffer = resized(buffer, job.plan.nbytes);
    let mut rest = &mut *buffer;
    let mut pairs = Vec::with_capacity(job.plan.block_count());
    for (block, src) in blocks.iter().enumerate() {
        let (dst, tail) = std::mem::take(&mut rest).split_at_mut(src.len());
        pairs.push((block, src, dst));
        rest = tail;
    }
    try_for_each(executor, pairs.len(), pairs.into_iter(), |worker, (block, src, dst)| {
        locked(&workers[worker]).filter(job, block, src, dst)
    })?;
    Ok(buffer)
}

fn split_off<'b>(rest: &mut &'b [u8], len: usize) -> &'b [u8] {
    let (head, tail) = rest.split_at(len);
    *rest = tail;
    head
}

pub(super) fn new_worker(params: &EncodeParams, registry: &Registry) -> Result<BlockEncoder, ChunkError> {
    BlockEncoder::new(registry.codec(params.codec)?, &params.plugin_params)
}

/// The traits assumed for a codec without a provider, when all data is stored.
fn unknown_codec(id: CodecId) -> CodecTraits {
    // "versionlz" is 1 for all codecs of the format, 255 where C-Blosc2 does not know either.
    let version = if id.range() == IdRange::Blosc { 1 } else { 255 };
    CodecTraits { version, ..CodecTraits::PLAIN }
}

fn check(params: &EncodeParams) -> Result<(), ChunkError> {
    if params.level > 9 {
        return Err(ChunkError::parameter("level", params.level, "0..=9"));
    }
    if !(1..=MAX_BLOCKSIZE).contains(&params.typesize) {
        return Err(ChunkError::parameter("typesize", params.typesize, format!("1..={MAX_BLOCKSIZE}")));
    }
    if params.block_size == Some(0) {
        return Err(ChunkError::parameter("block_size", 0, "at least 1"));
    }
    match params.format {
        ChunkFormat::Blosc2 => Ok(()),
        ChunkFormat::Blosc1 => check_blosc1(params),
        ChunkFormat::Early => check_early(params),
    }
}

/// Checks that `params` need nothing that was added after 2019.
fn check_early(params: &EncodeParams) -> Result<(), ChunkError> {
    if params.codec > CodecId::ZSTD {
        return Err(ChunkError::parameter("codec", params.codec, "a codec of Blosc 1"));
    }
    if params.typesize > 255 {
        return Err(ChunkError::parameter("typesize", params.typesize, "1..=255 in an early chunk"));
    }
    if params.use_dict {
        return Err(ChunkError::parameter("use_dict", true, "no dictionary in an early chunk"));
    }
    if params.filters.active().any(|(_, slot)| slot.id > FilterId::TRUNC_PREC) {
        let expected = "filters 1 to 4 in an early chunk";
        return Err(ChunkError::parameter("filters", params.filters, expected));
    }
    Ok(())
}

/// Checks that the parameters of plugins are for the codec and the filters that will be used, and declared by them.
fn check_plugin_params(params: &EncodeParams, registry: &Registry) -> Result<(), ChunkError> {
    let refused = |plugin| move |source| ChunkError::PluginParams { plugin: Box::new(plugin), source };
    let (codec, filters) = params.plugin_params.subjects();
    if let Some(id) = codec {
        if id != params.codec {
            return Err(ChunkError::parameter("plugin_params", id, format!("those of codec {}", params.codec)));
        }
        // Nothing is encoded at level 0, nor need the codec have a provider.
        if let (Some(given), Ok(entry)) = (params.plugin_params.of_codec(id), registry.codec(id)) {
            given.check(entry.info().traits.params).map_err(refused(entry.info().plugin()))?;
        }
    }
    for (slot, id) in filters {
        if params.filters.0.get(usize::from(slot)).is_none_or(|filter| filter.id != id) {
            let expected = format!("those of a filter in its slot: {}", params.filters);
            return Err(ChunkError::parameter("plugin_params", format!("filter {id} in slot {slot}"), expected));
        }
        if let (Some(given), Ok(entry)) = (params.plugin_params.of_filter(slot, id), registry.filter(id)) {
            given.check(entry.info().traits.params).map_err(refused(entry.info().plugin()))?;
        }
    }
    Ok(())
}

/// The 16-byte header has room for one codec of five and one bit per filter.
fn check_blosc1(params: &EncodeParams) -> Result<(), ChunkError> {
    if params.codec.format_code() == CodecId::UDCODEC_FORMAT {
        return Err(ChunkError::parameter("codec", params.codec, "a codec of Blosc 1"));
    }
    if params.use_dict {
        return Err(ChunkError::parameter("use_dict", true, "no dictionary in a Blosc 1 chunk"));
    }
    let valid = match params.filters.active().map(|(_, slot)| slot).collect::<Vec<_>>()[..] {
        [] => true,
        [FilterSlot { id: FilterId::SHUFFLE, meta }] => meta == 0 || usize::from(meta) == params.typesize,
        [FilterSlot { id: FilterId::BITSHUFFLE, .. }] => true,
        _ => false,
    };
    if !valid {
        let expected = "nothing, shuffle or bit shuffle in a Blosc 1 chunk";
        return Err(ChunkError::parameter("filters", params.filters, expected));
    }
    Ok(())
}
