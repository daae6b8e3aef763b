//! From the blocks of a chunk to its body, on one worker or several.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::ChunkError;
use super::block_encoder::{BlockEncoder, Job};
use super::map::WORD;
use crate::executor::{Executor, locked, try_for_each, unlocked};

/// Where a chunk is built.
pub(crate) struct Output<'a> {
    /// Receives the blocks. Holds the header and the block starts already, or room for them.
    pub(crate) bytes: &'a mut Vec<u8>,
    /// Where in `bytes` the chunk begins.
    pub(crate) base: usize,
    /// Length of the header.
    pub(crate) header_len: usize,
    /// The chunk is worth having as long as it is no longer than this.
    pub(crate) most: usize,
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

impl Output<'_> {
    /// How long the chunk is so far.
    fn len(&self) -> usize {
        self.bytes.len() - self.base
    }

    /// Writes into the room left for it that `block` starts here.
    fn begin(&mut self, block: usize) {
        let at = self.base + self.header_len + WORD * block;
        // `most` is a length that fits 31 bits, and no block begins after it.
        let start = (self.len() as u32).to_le_bytes();
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
        zero &= worker.encode(job, block, src, out.bytes)?;
        if out.len() > out.most {
            return Ok(Outcome::TooLong);
        }
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
    for worker in &mut *workers {
        let worker = unlocked(worker);
        worker.out.clear();
        worker.done.clear();
    }
    let count = blocks.len();
    let zero = AtomicBool::new(true);
    let total = AtomicUsize::new(out.len());
    let result = try_for_each(executor, count, blocks, |worker, (block, src)| {
        let mut worker = locked(&workers[worker]);
        let mut coded = std::mem::take(&mut worker.out);
        let start = coded.len();
        let result = worker.encode(job, block, src, &mut coded);
        worker.done.push((block, coded.len()));
        let len = coded.len() - start;
        worker.out = coded;
        // Relaxed: both are only relied on after the workers have been joined; stopping a little late does no harm.
        zero.fetch_and(result.map_err(Stop::Failed)?, Ordering::Relaxed);
        let total = total.fetch_add(len, Ordering::Relaxed) + len;
        if total > out.most { Err(Stop::TooLong) } else { Ok(()) }
    });
    match result {
        Ok(()) => {}
        Err(Stop::TooLong) => return Ok(Outcome::TooLong),
        Err(Stop::Failed(error)) => return Err(error),
    }
    let mut places = vec![(0, 0..0); count];
    for (worker, blocks) in workers.iter_mut().enumerate() {
        let mut start = 0;
        for &(block, end) in &unlocked(blocks).done {
            places[block] = (worker, start..end);
            start = end;
        }
    }
    out.bytes.reserve(total.into_inner() - out.len());
    for (block, (worker, range)) in places.into_iter().enumerate() {
        out.begin(block);
        out.bytes.extend_from_slice(&unlocked(&mut workers[worker]).out[range]);
    }
    Ok(Outcome::Done { zero: zero.into_inner() })
}
