//! From a buffer to a chunk.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::block_encoder::{BlockEncoder, Job, grown};
use super::header::{MAX_BLOCKSIZE, VERSION_BLOSC1, VERSION_BLOSC2, flag, flag2};
use super::map::WORD;
use super::plan::Plan;
use super::{ChunkContext, ChunkError, ChunkFormat, ChunkHeader, EncodeParams, SpecialKind};
use crate::codec::CodecTraits;
use crate::executor::{Executor, Inline, PerWorker, locked, try_for_each, unlocked};
use crate::filter::BitshuffleRule;
use crate::id::{CodecId, FilterId, IdRange};
use crate::pipeline::{FilterSlot, Pipeline};
use crate::registry::Registry;

/// Blosc2 stores anything shorter than this.
const MIN_COMPRESSED: usize = 32;
/// Blosc 1 stores anything shorter than this.
const BLOSC1_MIN_COMPRESSED: usize = 128;

/// Encodes buffers into chunks; owned by one worker and reused, so that contexts and scratch space are too.
pub struct ChunkEncoder {
    params: EncodeParams,
    registry: Registry,
    traits: CodecTraits,
    workers: PerWorker<BlockEncoder>,
    /// Chunks are built here and copied out, so that what callers get takes no more memory than it needs.
    scratch: Vec<u8>,
    reference: Vec<u8>,
}

/// What became of the blocks.
enum Outcome {
    /// They are in the output.
    Done { zero: bool },
    /// Together they are longer than the data itself.
    TooLong,
}

/// Why workers stop before the last block.
enum Stop {
    TooLong,
    Failed(ChunkError),
}

impl ChunkEncoder {
    /// Instantiates the codec and the filters of `params`.
    ///
    /// # Errors
    /// [`ChunkError::Parameter`] for values out of range or combinations without meaning; [`ChunkError::Codec`] and
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
            return Err(ChunkError::parameter("use_dict", true, "a codec with dictionaries (lz4, lz4hc, zstd)"));
        }
        let mut encoder = Self {
            params: params.clone(),
            registry: registry.clone(),
            traits,
            workers: PerWorker::new(),
            scratch: Vec::new(),
            reference: Vec::new(),
        };
        if params.level > 0 {
            // Fails now rather than at the first chunk.
            encoder.workers.first(1, || new_worker(params, registry))?;
        }
        Ok(encoder)
    }

    /// The parameters.
    pub fn params(&self) -> &EncodeParams {
        &self.params
    }

    /// Encodes `src` into a new chunk.
    pub fn encode(&mut self, src: &[u8], ctx: &ChunkContext<'_>) -> Result<Vec<u8>, ChunkError> {
        self.encode_on(src, ctx, &Inline)
    }

    /// Encodes `src` into a new chunk, its blocks spread over the workers of `executor`. The bytes are the same for
    /// any number of workers.
    pub fn encode_on(
        &mut self,
        src: &[u8],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
    ) -> Result<Vec<u8>, ChunkError> {
        let plan = self.plan(src.len())?;
        if self.stores(&plan) {
            let mut out = Vec::with_capacity(self.most(src.len()));
            self.store(&plan, None, src, &mut out);
            return Ok(out);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let chunk = self.append(&plan, src, ctx, executor, &mut scratch).map(|()| scratch.as_slice().to_vec());
        self.scratch = scratch;
        chunk
    }

    /// Encodes `src` and appends the chunk to `out`, which is left as it was when that fails. Returns the length of
    /// the chunk: at most that of `src` and a header.
    pub fn encode_into(&mut self, src: &[u8], ctx: &ChunkContext<'_>, out: &mut Vec<u8>) -> Result<usize, ChunkError> {
        let base = out.len();
        let plan = self.plan(src.len())?;
        if self.stores(&plan) {
            self.store(&plan, None, src, out);
        } else if let Err(error) = self.append(&plan, src, ctx, &Inline, out) {
            out.truncate(base);
            return Err(error);
        }
        Ok(out.len() - base)
    }

    fn plan(&self, nbytes: usize) -> Result<Plan, ChunkError> {
        if nbytes > ChunkHeader::MAX_NBYTES {
            let (what, limit) = ("chunk to encode", ChunkHeader::MAX_NBYTES);
            return Err(ChunkError::Limit { what, limit, found: nbytes });
        }
        Ok(Plan::new(&self.params, &self.traits, nbytes))
    }

    fn header_len(&self) -> usize {
        match self.params.format {
            ChunkFormat::Blosc2 => ChunkHeader::EXTENDED_LEN,
            ChunkFormat::Blosc1 => ChunkHeader::MIN_LEN,
        }
    }

    /// The most that a chunk of `nbytes` bytes may take: what it takes when it is stored.
    fn most(&self, nbytes: usize) -> usize {
        self.header_len() + nbytes
    }

    /// Whether the data is stored without trying to compress it.
    fn stores(&self, plan: &Plan) -> bool {
        let least = match self.params.format {
            ChunkFormat::Blosc2 => MIN_COMPRESSED,
            ChunkFormat::Blosc1 => BLOSC1_MIN_COMPRESSED,
        };
        self.params.level == 0 || plan.nbytes < least || plan.block_count().saturating_mul(WORD) > plan.nbytes
    }

    /// The header, with `cbytes` still zero.
    fn header(&self, plan: &Plan) -> ChunkHeader {
        let params = &self.params;
        let split = if plan.split { 0 } else { flag::DONT_SPLIT };
        let codec = params.codec.format_code() << flag::CODEC_SHIFT;
        let has = |id, bit| if params.filters.contains(id) { bit } else { 0 };
        let (version, filter_flags) = match params.format {
            ChunkFormat::Blosc2 => (VERSION_BLOSC2, flag::EXTENDED | has(FilterId::DELTA, flag::DELTA)),
            ChunkFormat::Blosc1 => {
                (VERSION_BLOSC1, has(FilterId::SHUFFLE, flag::SHUFFLE) | has(FilterId::BITSHUFFLE, flag::BITSHUFFLE))
            }
        };
        ChunkHeader {
            version,
            codec_version: self.traits.version,
            flags: filter_flags | split | codec,
            typesize: plan.typesize,
            nbytes: plan.nbytes,
            blocksize: plan.blocksize,
            cbytes: 0,
            filters: params.filters,
            udcodec: params.codec.0,
            codec_meta: params.codec_meta,
            blosc2_flags2: 0,
            blosc2_flags: 0,
        }
    }

    /// Appends the chunk that holds `src` as it is. `tried` is the header of the attempt to compress it, if there was
    /// one: C-Blosc2 keeps its flags then and clears them otherwise, and Blosc 1 always keeps them.
    fn store(&self, plan: &Plan, tried: Option<ChunkHeader>, src: &[u8], out: &mut Vec<u8>) {
        let mut header = tried.unwrap_or_else(|| {
            let mut header = self.header(plan);
            if self.params.format == ChunkFormat::Blosc2 {
                header.flags = flag::EXTENDED;
            }
            header
        });
        header.flags |= flag::STORED;
        // C-Blosc2 forgets this one and cannot read its own chunk.
        header.blosc2_flags &= !flag2::DICT;
        header.cbytes = header.header_len() + src.len();
        out.reserve(header.cbytes);
        header.write_to(out);
        out.extend_from_slice(src);
    }

    /// Appends a chunk of compressed blocks, or whatever it turns out to be better off as.
    fn append(
        &mut self,
        plan: &Plan,
        src: &[u8],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
        out: &mut Vec<u8>,
    ) -> Result<(), ChunkError> {
        let base = out.len();
        let mut header = self.header(plan);
        out.resize(base + header.header_len() + WORD * plan.block_count(), 0);
        match self.encode_blocks(plan, src, ctx, executor, base, out)? {
            Outcome::TooLong => {
                out.truncate(base);
                self.store(plan, Some(header), src, out);
            }
            Outcome::Done { zero } if zero && self.zeros_decode_to_zeros(src) => {
                // Only the header remains; its flags still tell how the chunk was made.
                header.blosc2_flags |= SpecialKind::Zero.bits();
                header.cbytes = header.header_len();
                out.truncate(base);
                header.write_to(out);
            }
            Outcome::Done { .. } => {
                header.cbytes = out.len() - base;
                out[base..base + header.header_len()].copy_from_slice(&header.to_bytes());
            }
        }
        Ok(())
    }

    /// Appends the blocks to `out`, which holds room for header and block starts from `base` on, and fills in the
    /// latter.
    fn encode_blocks(
        &mut self,
        plan: &Plan,
        src: &[u8],
        ctx: &ChunkContext<'_>,
        executor: &dyn Executor,
        base: usize,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, ChunkError> {
        let most = self.most(src.len());
        let Self { params, registry, workers, reference, .. } = self;
        let count = executor.workers().min(plan.block_count()).max(1);
        let workers = workers.first(count, || new_worker(params, registry))?;
        let blosc2 = params.format == ChunkFormat::Blosc2;
        let rule = if blosc2 { BitshuffleRule::LeadingEights } else { BitshuffleRule::WholeBlockOrNothing };
        let mut job = Job {
            params,
            plan,
            ctx,
            bitshuffle: ctx.bitshuffle.unwrap_or(rule),
            reference: None,
            dict: None,
            runs: blosc2,
            filtered: false,
        };
        if params.filters.contains(FilterId::DELTA) && plan.block_count() > 1 {
            let first = &src[..plan.blocksize];
            let worker = unlocked(&mut workers[0]);
            job.reference = Some(if worker.is_lossy() {
                let decoded = grown(reference, first.len());
                worker.decoded(&job, 0, first, decoded)?;
                decoded
            } else {
                first
            });
        }
        match workers {
            [worker] => encode_here(unlocked(worker), &job, src, base, most, out),
            _ => encode_apart(workers, executor, &job, src, base, most, out),
        }
    }

    /// Whether `src`, which became all zeros in the filters, may be called zeros: the filters that Blosc knows turn
    /// zeros into zeros on the way back, those of users may not.
    fn zeros_decode_to_zeros(&self, src: &[u8]) -> bool {
        self.params.filters.active().all(|(_, slot)| slot.id.range() != IdRange::User) || src.iter().all(|&b| b == 0)
    }
}

/// Encodes the blocks one after the other, straight into `out`.
fn encode_here(
    worker: &mut BlockEncoder,
    job: &Job<'_>,
    src: &[u8],
    base: usize,
    most: usize,
    out: &mut Vec<u8>,
) -> Result<Outcome, ChunkError> {
    let mut zero = true;
    for (block, src) in src.chunks(job.plan.blocksize).enumerate() {
        set_start(job, block, base, out);
        zero &= worker.encode(job, block, src, out)?;
        if out.len() - base > most {
            return Ok(Outcome::TooLong);
        }
    }
    Ok(Outcome::Done { zero: zero && job.runs && job.dict.is_none() })
}

/// Encodes the blocks on several workers, each into a buffer of its own, and puts them together in order.
fn encode_apart(
    workers: &mut [Mutex<BlockEncoder>],
    executor: &dyn Executor,
    job: &Job<'_>,
    src: &[u8],
    base: usize,
    most: usize,
    out: &mut Vec<u8>,
) -> Result<Outcome, ChunkError> {
    for worker in &mut *workers {
        let worker = unlocked(worker);
        worker.out.clear();
        worker.done.clear();
    }
    let zero = AtomicBool::new(true);
    let total = AtomicUsize::new(out.len() - base);
    let result = try_for_each(
        executor,
        job.plan.block_count(),
        src.chunks(job.plan.blocksize).enumerate(),
        |worker, (block, src)| {
            let mut worker = locked(&workers[worker]);
            let mut coded = std::mem::take(&mut worker.out);
            let start = coded.len();
            let result = worker.encode(job, block, src, &mut coded);
            worker.done.push((block, coded.len()));
            let len = coded.len() - start;
            worker.out = coded;
            // Relaxed: the values are only read together after the workers have been joined, and stopping a little
            // late does no harm.
            zero.fetch_and(result.map_err(Stop::Failed)?, Ordering::Relaxed);
            if total.fetch_add(len, Ordering::Relaxed) + len > most { Err(Stop::TooLong) } else { Ok(()) }
        },
    );
    match result {
        Ok(()) => {}
        Err(Stop::TooLong) => return Ok(Outcome::TooLong),
        Err(Stop::Failed(error)) => return Err(error),
    }
    let mut places = vec![(0, 0..0); job.plan.block_count()];
    for (worker, blocks) in workers.iter_mut().enumerate() {
        let mut start = 0;
        for &(block, end) in &unlocked(blocks).done {
            places[block] = (worker, start..end);
            start = end;
        }
    }
    out.reserve(total.into_inner());
    for (block, (worker, range)) in places.into_iter().enumerate() {
        set_start(job, block, base, out);
        out.extend_from_slice(&unlocked(&mut workers[worker]).out[range]);
    }
    Ok(Outcome::Done { zero: zero.into_inner() && job.runs && job.dict.is_none() })
}

/// Writes into the room left for it that `block` starts where `out` ends now.
fn set_start(job: &Job<'_>, block: usize, base: usize, out: &mut [u8]) {
    let header_len =
        if job.params.format == ChunkFormat::Blosc2 { ChunkHeader::EXTENDED_LEN } else { ChunkHeader::MIN_LEN };
    let at = base + header_len + WORD * block;
    // Never longer than the data and a header, whose length fits 31 bits.
    let start = (out.len() - base) as u32;
    out[at..at + WORD].copy_from_slice(&start.to_le_bytes());
}

fn new_worker(params: &EncodeParams, registry: &Registry) -> Result<BlockEncoder, ChunkError> {
    let codec = registry.codec(params.codec)?.instance();
    let pipeline = Pipeline::new(&params.filters, registry).map_err(ChunkError::Filters)?;
    Ok(BlockEncoder::new(codec, pipeline))
}

/// What is assumed of a codec that stores only and has no provider.
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
    if params.format == ChunkFormat::Blosc1 {
        check_blosc1(params)?;
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
        return Err(ChunkError::parameter("filters", format!("{:?}", params.filters), expected));
    }
    Ok(())
}
