//! From the blocks of a chunk to its body, on one worker or several.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::ChunkError;
use super::block_encoder::{BlockEncoder, Job};
use super::map::WORD;
use crate::executor::{Executor, Inline, locked, try_for_each, unlocked};

/// Below this, handing the copies of blocks to other workers costs more than it saves.
const WORTH_SHARING: usize = 1 << 20;

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

    /// Writes into the room left for it that `block` starts here.
    fn begin(&mut self, block: usize) {
        let at = self.header_len + WORD * block;
        // The length of a chunk fits 31 bits.
        let start = (self.len as u32).to_le_bytes();
        self.bytes[at..at + WORD].copy_from_slice(&start);
    }
}

/// Encodes `blocks` and puts them into `out` in their order, so that the bytes do not depend on the workers.
pub(crate) fn assemble<'s>(
    workers: &mut [Mutex<BlockEncoder>],
    executor: &dyn Executor,
    job: &Job<'_>,
    blocks: impl ExactSizeIterator<Item = (usize, &'s [u8])> + Send,
    out: &mut Output<'_>,
) -> Result<Outcome, ChunkError> {
    match workers {
        [worker] => in_place(unlocked(worker), job, blocks, out),
        _ => side_by_side(workers, executor, job, blocks, out),
    }
}

/// One after the other, straight into the output.
fn in_place<'s>(
    worker: &mut BlockEncoder,
    job: &Job<'_>,
    blocks: impl Iterator<Item = (usize, &'s [u8])>,
    out: &mut Output<'_>,
) -> Result<Outcome, ChunkError> {
    let mut zero = true;
    for (block, src) in blocks {
        out.begin(block);
        let Some(encoded) = worker.encode(job, block, src, &mut out.bytes[out.len..])? else {
            return Ok(Outcome::TooLong);
        };
        out.len += encoded.len;
        zero &= encoded.zero;
    }
    Ok(Outcome::Done { zero })
}

/// On several workers, each into a buffer of its own, which are then put together.
fn side_by_side<'s>(
    workers: &mut [Mutex<BlockEncoder>],
    executor: &dyn Executor,
    job: &Job<'_>,
    blocks: impl ExactSizeIterator<Item = (usize, &'s [u8])> + Send,
    out: &mut Output<'_>,
) -> Result<Outcome, ChunkError> {
    let count = blocks.len();
    let room = out.bytes.len() - out.len;
    let zero = AtomicBool::new(true);
    let total = AtomicUsize::new(0);
    for worker in &mut *workers {
        unlocked(worker).done.clear();
    }
    let result = try_for_each(executor, count, blocks, |worker, (block, src)| {
        let mut worker = locked(&workers[worker]);
        let start = worker.done.last().map_or(0, |(_, end)| *end);
        let mut finished = std::mem::take(&mut worker.finished);
        let needed = start + src.len() + job.overhead(src.len());
        if finished.len() < needed {
            // Never past what a worker can come to need, unless all blocks fall to it.
            finished.resize(needed.max(start.saturating_mul(2)), 0);
        }
        let result = worker.encode(job, block, src, &mut finished[start..]);
        worker.finished = finished;
        let encoded = result.map_err(Stop::Failed)?.ok_or(Stop::TooLong)?;
        worker.done.push((block, start + encoded.len));
        // Relaxed: both are only relied on after the workers have been joined; stopping a little late does no harm.
        zero.fetch_and(encoded.zero, Ordering::Relaxed);
        let total = total.fetch_add(encoded.len, Ordering::Relaxed) + encoded.len;
        if total > room { Err(Stop::TooLong) } else { Ok(()) }
    });
    match result {
        Ok(()) => {}
        Err(Stop::TooLong) => return Ok(Outcome::TooLong),
        Err(Stop::Failed(error)) => return Err(error),
    }
    let mut finished = Vec::with_capacity(workers.len());
    let mut places = vec![(0, 0..0); count];
    for (worker, encoder) in workers.iter_mut().enumerate() {
        let encoder = unlocked(encoder);
        finished.push(std::mem::take(&mut encoder.finished));
        let mut start = 0;
        for &(block, end) in &encoder.done {
            places[block] = (worker, start..end);
            start = end;
        }
    }
    let mut start = out.len;
    for (block, (_, range)) in places.iter().enumerate() {
        out.begin(block);
        out.len += range.len();
    }
    let total = total.into_inner();
    let mut rest = &mut out.bytes[start..];
    start += total;
    debug_assert_eq!(start, out.len);
    let copies = places.into_iter().map(|(worker, range)| {
        let (dst, tail) = std::mem::take(&mut rest).split_at_mut(range.len());
        rest = tail;
        (dst, &finished[worker][range])
    });
    let executor = if total < WORTH_SHARING { &Inline } else { executor };
    let Ok(()) = try_for_each(executor, count, copies, |_, (dst, src)| -> Result<(), std::convert::Infallible> {
        dst.copy_from_slice(src);
        Ok(())
    });
    for (encoder, finished) in workers.iter_mut().zip(finished) {
        unlocked(encoder).finished = finished;
    }
    Ok(Outcome::Done { zero: zero.into_inner() })
}
