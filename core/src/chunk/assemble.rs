//! Builds the body of a chunk from its blocks, on one worker or several.

use std::sync::{Mutex, PoisonError};

use super::ChunkError;
use super::block_encoder::{BlockEncoder, EncodeContext, resized, write_stored};
use super::map::WORD;
use super::source::SourceBlock;
use crate::executor::{Executor, locked, try_for_each, unlocked};

/// A chunk being built in a buffer that it must not outgrow.
pub(crate) struct ChunkBuffer<'a> {
    bytes: &'a mut [u8],
    /// Length of the header, which is written last.
    header_len: usize,
    /// Length of the chunk so far.
    len: usize,
}

/// The result of encoding the blocks.
pub(crate) enum EncodeResult {
    /// They are in the output. `zero` if all of them are runs of zeros.
    Done { zero: bool },
    /// They do not fit.
    TooLong,
}

/// Why workers stop before the last block.
enum Stop {
    TooLong,
    Failed(ChunkError),
}

impl<'a> ChunkBuffer<'a> {
    /// Starts a chunk whose first `filled` bytes are reserved for the header and the block starts. `None` if they do
    /// not fit.
    pub(crate) fn new(bytes: &'a mut [u8], header_len: usize, filled: usize) -> Option<Self> {
        (filled <= bytes.len()).then_some(Self { bytes, header_len, len: filled })
    }

    /// Length of the chunk so far.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends `bytes` and returns whether they fit.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let room = self.bytes[self.len..].get_mut(..bytes.len());
        let fits = room.is_some();
        if let Some(room) = room {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
        }
        fits
    }

    /// The room for the starts of `count` blocks, and the free room after everything written so far.
    fn rooms(&mut self, count: usize) -> (&mut [u8], &mut [u8]) {
        let (head, room) = self.bytes.split_at_mut(self.len);
        (&mut head[self.header_len..self.header_len + WORD * count], room)
    }
}

/// Encodes `blocks`, numbered from 0, and puts them into `out` in order, so that the bytes do not depend on the number
/// of workers.
pub(crate) fn assemble(
    workers: &mut [Mutex<BlockEncoder>],
    executor: &dyn Executor,
    job: &EncodeContext<'_>,
    blocks: &[SourceBlock<'_>],
    out: &mut ChunkBuffer<'_>,
) -> Result<EncodeResult, ChunkError> {
    let result = match workers {
        [worker] => in_place(unlocked(worker), job, blocks, out),
        _ => side_by_side(workers, executor, job, blocks, out),
    };
    match result {
        Ok(zero) => Ok(EncodeResult::Done { zero }),
        Err(Stop::TooLong) => Ok(EncodeResult::TooLong),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Encodes one block after another straight into the output. Returns whether all are runs of zeros.
fn in_place(
    worker: &mut BlockEncoder,
    job: &EncodeContext<'_>,
    blocks: &[SourceBlock<'_>],
    out: &mut ChunkBuffer<'_>,
) -> Result<bool, Stop> {
    let base = out.len;
    let (starts, room) = out.rooms(blocks.len());
    let mut run = BlockRun { first: 0, blocks, starts };
    let encoded = run.encode(worker, job, room)?;
    if encoded.stored {
        store(blocks, room);
    }
    run.begin_at(base);
    out.len += encoded.len;
    Ok(encoded.zero)
}

/// Encodes on several workers, each into its own buffer. A run is copied to its place as soon as everything before it
/// is there, most of the time while the bytes are still in the cache. Returns whether all are runs of zeros.
fn side_by_side(
    workers: &mut [Mutex<BlockEncoder>],
    executor: &dyn Executor,
    job: &EncodeContext<'_>,
    blocks: &[SourceBlock<'_>],
    out: &mut ChunkBuffer<'_>,
) -> Result<bool, Stop> {
    let spare = workers.first_mut().map(|worker| std::mem::take(&mut unlocked(worker).spare)).unwrap_or_default();
    let per_run = blocks_per_run(blocks, workers.len());
    let base = out.len;
    let (starts, room) = out.rooms(blocks.len());
    let count = blocks.len().div_ceil(per_run);
    let queue = Mutex::new(Reorder::new(room, base, count, spare));
    let runs = blocks.chunks(per_run).zip(starts.chunks_mut(WORD * per_run)).enumerate();
    let runs = runs.map(|(i, (blocks, starts))| BlockRun { first: i * per_run, blocks, starts });
    let result = try_for_each(executor, count, runs, |worker, mut run| {
        let mut worker = locked(&workers[worker]);
        let mut buffer = std::mem::take(&mut worker.finished);
        let most = run.blocks.iter().map(|block| block.len() + job.overhead(block.len())).sum();
        let encoded = run.encode(&mut worker, job, resized(&mut buffer, most))?;
        let i = run.first / per_run;
        if encoded.stored {
            worker.finished = std::mem::take(&mut buffer);
        }
        let ready = locked(&queue).put(i, EncodedRun { run, encoded, buffer }).ok_or(Stop::TooLong)?;
        // Copy without holding the lock.
        let free: Vec<_> = ready.into_iter().map(PlacedRun::fill).filter(|buffer| !buffer.is_empty()).collect();
        let mut queue = locked(&queue);
        queue.spare.extend(free);
        if worker.finished.is_empty() {
            worker.finished = queue.spare.pop().unwrap_or_default();
        }
        Ok(())
    });
    let Reorder { held, at, zero, mut spare, .. } = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    spare.truncate(workers.len());
    if let Some(worker) = workers.first_mut() {
        unlocked(worker).spare = spare;
    }
    result?;
    held.into_iter().for_each(|placed| drop(placed.fill()));
    out.len = at;
    Ok(zero)
}

/// How many blocks a worker takes at a time. Small ones take less time than the lock that hands them out.
fn blocks_per_run(blocks: &[SourceBlock<'_>], workers: usize) -> usize {
    const RUN: usize = 64 << 10;
    let len = blocks.first().map_or(RUN, |block| block.len().max(1));
    (RUN / len).min(blocks.len() / (2 * workers)).max(1)
}

/// Writes `blocks`, none of which is worth compressing, as stored streams.
fn store(blocks: &[SourceBlock<'_>], mut out: &mut [u8]) {
    for block in blocks {
        let (room, rest) = std::mem::take(&mut out).split_at_mut(WORD + block.len());
        write_stored(block, room);
        out = rest;
    }
}

/// Neighbouring blocks, which one worker encodes one after the other.
struct BlockRun<'r> {
    /// The number of the first one.
    first: usize,
    blocks: &'r [SourceBlock<'r>],
    /// Their starts: relative to the run at first, relative to the chunk once the place of the run is known.
    starts: &'r mut [u8],
}

/// An encoded run.
struct RunResult {
    len: usize,
    zero: bool,
    /// No block got shorter, and none has been written.
    stored: bool,
}

impl BlockRun<'_> {
    /// Encodes the blocks into the front of `out`.
    ///
    /// Blocks to be stored are not written until there is one that is compressed: if none in the whole chunk is, the
    /// chunk is stored as a whole, and the data is copied once instead of three times.
    fn encode(
        &mut self,
        worker: &mut BlockEncoder,
        job: &EncodeContext<'_>,
        out: &mut [u8],
    ) -> Result<RunResult, Stop> {
        let mut run = RunResult { len: 0, zero: true, stored: true };
        // Where the previous block begins, unless it is stored.
        let mut last = None;
        for (i, (src, start)) in self.blocks.iter().zip(self.starts.chunks_exact_mut(WORD)).enumerate() {
            start.copy_from_slice(&(run.len as u32).to_le_bytes());
            let (before, room) = out.split_at_mut(run.len);
            if let (true, Some(at), Some(other)) = (job.repeats, last, i.checked_sub(1).map(|i| self.blocks[i]))
                && src.is(&other)
            {
                // It cannot be all zeros if the previous block is not.
                let streams = &before[at..];
                room.get_mut(..streams.len()).ok_or(Stop::TooLong)?.copy_from_slice(streams);
                last = Some(run.len);
                run.len += streams.len();
                continue;
            }
            let encoded = worker.encode(job, self.first + i, src, room).map_err(Stop::Failed)?.ok_or(Stop::TooLong)?;
            match (run.stored, encoded.stored) {
                (true, true) => {}
                (true, false) => store(&self.blocks[..i], before),
                (false, true) => write_stored(src, room),
                (false, false) => {}
            }
            last = (!encoded.stored).then_some(run.len);
            run.len += encoded.len;
            run.zero &= encoded.zero;
            run.stored &= encoded.stored;
        }
        Ok(run)
    }

    /// Shifts the starts by `base`, the offset of the run in the chunk. The length of a chunk fits 31 bits.
    fn begin_at(&mut self, base: usize) {
        for start in self.starts.as_chunks_mut::<WORD>().0 {
            *start = (u32::from_le_bytes(*start) + base as u32).to_le_bytes();
        }
    }
}

/// A run that has been encoded.
struct EncodedRun<'r> {
    run: BlockRun<'r>,
    encoded: RunResult,
    /// Where it is, unless it is stored.
    buffer: Vec<u8>,
}

/// A run whose place in the chunk is known.
struct PlacedRun<'q, 'r> {
    finished: EncodedRun<'r>,
    at: usize,
    room: &'q mut [u8],
}

impl PlacedRun<'_, '_> {
    /// Copies the run to its place and returns the buffer for reuse.
    fn fill(self) -> Vec<u8> {
        let EncodedRun { mut run, encoded, buffer } = self.finished;
        run.begin_at(self.at);
        if encoded.stored {
            store(run.blocks, self.room);
        } else {
            self.room.copy_from_slice(&buffer[..encoded.len]);
        }
        buffer
    }
}

/// Encoded runs on their way into the output.
struct Reorder<'q, 'r> {
    /// The room that is still free.
    room: &'q mut [u8],
    /// Where it begins in the chunk.
    at: usize,
    /// The run that belongs there.
    next: usize,
    /// Runs after it that are already finished.
    waiting: Vec<Option<EncodedRun<'r>>>,
    /// The leading stored runs, which have a place but have not been copied there; see [`BlockRun::encode`].
    held: Vec<PlacedRun<'q, 'r>>,
    /// A run that is not stored has been seen.
    shorter: bool,
    /// Bytes of the finished runs that wait.
    pending: usize,
    zero: bool,
    /// Buffers that are free again.
    spare: Vec<Vec<u8>>,
}

impl<'q, 'r> Reorder<'q, 'r> {
    fn new(room: &'q mut [u8], at: usize, count: usize, spare: Vec<Vec<u8>>) -> Self {
        let waiting = (0..count).map(|_| None).collect();
        Self { room, at, next: 0, waiting, held: Vec::new(), shorter: false, pending: 0, zero: true, spare }
    }

    /// Takes run `i` and returns the runs that can now be copied to their places. `None` if the chunk does not fit.
    fn put(&mut self, i: usize, finished: EncodedRun<'r>) -> Option<Vec<PlacedRun<'q, 'r>>> {
        self.zero &= finished.encoded.zero;
        self.shorter |= !finished.encoded.stored;
        self.pending += finished.encoded.len;
        if self.pending > self.room.len() {
            return None;
        }
        self.waiting[i] = Some(finished);
        while let Some(finished) = self.waiting.get_mut(self.next).and_then(Option::take) {
            let len = finished.encoded.len;
            let (room, rest) = std::mem::take(&mut self.room).split_at_mut_checked(len)?;
            self.held.push(PlacedRun { finished, at: self.at, room });
            self.room = rest;
            self.at += len;
            self.pending -= len;
            self.next += 1;
        }
        Some(if self.shorter { std::mem::take(&mut self.held) } else { Vec::new() })
    }
}
