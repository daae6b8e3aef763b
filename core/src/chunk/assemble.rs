//! From the blocks of a chunk to its body, on one worker or several.

use std::sync::{Mutex, PoisonError};

use super::ChunkError;
use super::block_encoder::{BlockEncoder, Job, grown, write_stored};
use super::map::WORD;
use crate::executor::{Executor, locked, try_for_each, unlocked};

/// A chunk being built. It may take all of the buffer and no more.
pub(crate) struct Output<'a> {
    bytes: &'a mut [u8],
    /// Length of the header, which is written last.
    header_len: usize,
    /// How long the chunk is so far.
    len: usize,
}

/// What became of the blocks.
pub(crate) enum Outcome {
    /// They are in the output; `zero` when they are nothing but runs of zeros.
    Done { zero: bool },
    /// Together they are too long.
    TooLong,
}

/// Why workers stop before the last block.
enum Stop {
    TooLong,
    Failed(ChunkError),
}

impl<'a> Output<'a> {
    /// A chunk of which the first `filled` bytes, header and block starts, have their room already; `None` when they
    /// do not fit.
    pub(crate) fn new(bytes: &'a mut [u8], header_len: usize, filled: usize) -> Option<Self> {
        (filled <= bytes.len()).then_some(Self { bytes, header_len, len: filled })
    }

    /// How long the chunk is so far.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends `bytes`; whether they fitted.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let room = self.bytes[self.len..].get_mut(..bytes.len());
        let fits = room.is_some();
        if let Some(room) = room {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
        }
        fits
    }

    /// The room for the starts of `count` blocks, and the room behind all that is there already.
    fn rooms(&mut self, count: usize) -> (&mut [u8], &mut [u8]) {
        let (head, room) = self.bytes.split_at_mut(self.len);
        (&mut head[self.header_len..self.header_len + WORD * count], room)
    }
}

/// Encodes `blocks`, of which there are those numbered from 0 on, and puts them into `out` in their order, so that the
/// bytes do not depend on the workers.
pub(crate) fn assemble(
    workers: &mut [Mutex<BlockEncoder>],
    executor: &dyn Executor,
    job: &Job<'_>,
    blocks: &[&[u8]],
    out: &mut Output<'_>,
) -> Result<Outcome, ChunkError> {
    let result = match workers {
        [worker] => in_place(unlocked(worker), job, blocks, out),
        _ => side_by_side(workers, executor, job, blocks, out),
    };
    match result {
        Ok(zero) => Ok(Outcome::Done { zero }),
        Err(Stop::TooLong) => Ok(Outcome::TooLong),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// One after the other, straight into the output. Whether they are nothing but runs of zeros.
fn in_place(worker: &mut BlockEncoder, job: &Job<'_>, blocks: &[&[u8]], out: &mut Output<'_>) -> Result<bool, Stop> {
    let base = out.len;
    let (starts, room) = out.rooms(blocks.len());
    let mut run = Run { first: 0, blocks, starts };
    let encoded = run.encode(worker, job, room)?;
    if encoded.stored {
        store(blocks, room);
    }
    run.begin_at(base);
    out.len += encoded.len;
    Ok(encoded.zero)
}

/// On several workers, each into a buffer of its own, from which it is copied to its place as soon as all before it are
/// there: while the bytes are still in the cache, most of the time. Whether they are nothing but runs of zeros.
fn side_by_side(
    workers: &mut [Mutex<BlockEncoder>],
    executor: &dyn Executor,
    job: &Job<'_>,
    blocks: &[&[u8]],
    out: &mut Output<'_>,
) -> Result<bool, Stop> {
    let spare = workers.first_mut().map(|worker| std::mem::take(&mut unlocked(worker).spare)).unwrap_or_default();
    let per_run = blocks_per_run(blocks, workers.len());
    let base = out.len;
    let (starts, room) = out.rooms(blocks.len());
    let count = blocks.len().div_ceil(per_run);
    let queue = Mutex::new(Queue::new(room, base, count, spare));
    let runs = blocks.chunks(per_run).zip(starts.chunks_mut(WORD * per_run)).enumerate();
    let runs = runs.map(|(i, (blocks, starts))| Run { first: i * per_run, blocks, starts });
    let result = try_for_each(executor, count, runs, |worker, mut run| {
        let mut worker = locked(&workers[worker]);
        let mut buffer = std::mem::take(&mut worker.finished);
        let most = run.blocks.iter().map(|block| block.len() + job.overhead(block.len())).sum();
        let encoded = run.encode(&mut worker, job, grown(&mut buffer, most))?;
        let i = run.first / per_run;
        if encoded.stored {
            worker.finished = std::mem::take(&mut buffer);
        }
        let ready = locked(&queue).put(i, Finished { run, encoded, buffer }).ok_or(Stop::TooLong)?;
        // Nobody waits while this one copies.
        let free: Vec<_> = ready.into_iter().map(Placed::fill).filter(|buffer| !buffer.is_empty()).collect();
        let mut queue = locked(&queue);
        queue.spare.extend(free);
        if worker.finished.is_empty() {
            worker.finished = queue.spare.pop().unwrap_or_default();
        }
        Ok(())
    });
    let Queue { held, at, zero, mut spare, .. } = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    spare.truncate(workers.len());
    if let Some(worker) = workers.first_mut() {
        unlocked(worker).spare = spare;
    }
    result?;
    held.into_iter().for_each(|placed| drop(placed.fill()));
    out.len = at;
    Ok(zero)
}

/// How many blocks a worker takes at a time: small ones are done sooner than two workers have agreed on who takes which.
fn blocks_per_run(blocks: &[&[u8]], workers: usize) -> usize {
    const RUN: usize = 64 << 10;
    let len = blocks.first().map_or(RUN, |block| block.len().max(1));
    (RUN / len).min(blocks.len() / (2 * workers)).max(1)
}

/// Writes the streams of `blocks` of which none is worth compressing.
fn store(blocks: &[&[u8]], mut out: &mut [u8]) {
    for block in blocks {
        let (room, rest) = std::mem::take(&mut out).split_at_mut(WORD + block.len());
        write_stored(block, room);
        out = rest;
    }
}

/// Neighbouring blocks, which one worker encodes one after the other.
struct Run<'r> {
    /// The number of the first one.
    first: usize,
    blocks: &'r [&'r [u8]],
    /// Where they start: in the run at first, in the chunk when its place there is known.
    starts: &'r mut [u8],
}

/// What has become of a run.
struct EncodedRun {
    len: usize,
    zero: bool,
    /// No block has become shorter, and none has been written.
    stored: bool,
}

impl Run<'_> {
    /// Encodes the blocks into the front of `out`.
    ///
    /// Blocks that are going to be stored are not written before there is one that is not: when there is none in all the
    /// chunk, the whole chunk is stored instead, and they are copied once and not three times.
    fn encode(&mut self, worker: &mut BlockEncoder, job: &Job<'_>, out: &mut [u8]) -> Result<EncodedRun, Stop> {
        let mut run = EncodedRun { len: 0, zero: true, stored: true };
        // Where the block before begins, unless it is stored.
        let mut last = None;
        for (i, (src, start)) in self.blocks.iter().zip(self.starts.chunks_exact_mut(WORD)).enumerate() {
            start.copy_from_slice(&(run.len as u32).to_le_bytes());
            let (before, room) = out.split_at_mut(run.len);
            if let (true, Some(at), Some(other)) = (job.repeats, last, i.checked_sub(1).map(|i| self.blocks[i]))
                && std::ptr::eq(*src, other)
            {
                // It cannot be zeros alone if the one before is not.
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

    /// The run starts at `base` in the chunk, whose length fits 31 bits.
    fn begin_at(&mut self, base: usize) {
        for start in self.starts.as_chunks_mut::<WORD>().0 {
            *start = (u32::from_le_bytes(*start) + base as u32).to_le_bytes();
        }
    }
}

/// A run that has been encoded.
struct Finished<'r> {
    run: Run<'r>,
    encoded: EncodedRun,
    /// Where it is, unless it is stored.
    buffer: Vec<u8>,
}

/// A run whose place in the chunk is known.
struct Placed<'q, 'r> {
    finished: Finished<'r>,
    at: usize,
    room: &'q mut [u8],
}

impl Placed<'_, '_> {
    /// Copies the run to its place; its buffer is free then.
    fn fill(self) -> Vec<u8> {
        let Finished { mut run, encoded, buffer } = self.finished;
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
struct Queue<'q, 'r> {
    /// The room that has not been given away.
    room: &'q mut [u8],
    /// Where it begins in the chunk.
    at: usize,
    /// The run that belongs there.
    next: usize,
    /// Those behind it that are finished already.
    waiting: Vec<Option<Finished<'r>>>,
    /// Stored runs from the first one on that have a place but have not been copied there, see [`Run::encode`].
    held: Vec<Placed<'q, 'r>>,
    /// A run has been found that is not stored.
    shorter: bool,
    /// Bytes of the finished runs that wait.
    pending: usize,
    zero: bool,
    /// Buffers that are free again.
    spare: Vec<Vec<u8>>,
}

impl<'q, 'r> Queue<'q, 'r> {
    fn new(room: &'q mut [u8], at: usize, count: usize, spare: Vec<Vec<u8>>) -> Self {
        let waiting = (0..count).map(|_| None).collect();
        Self { room, at, next: 0, waiting, held: Vec::new(), shorter: false, pending: 0, zero: true, spare }
    }

    /// Takes run `i`, and says which runs are to be copied to which places now; `None` when they are too long together.
    fn put(&mut self, i: usize, finished: Finished<'r>) -> Option<Vec<Placed<'q, 'r>>> {
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
            self.held.push(Placed { finished, at: self.at, room });
            self.room = rest;
            self.at += len;
            self.pending -= len;
            self.next += 1;
        }
        Some(if self.shorter { std::mem::take(&mut self.held) } else { Vec::new() })
    }
}
