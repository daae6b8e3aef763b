//! From the blocks of a chunk to its body, on one worker or several.

use std::sync::{Mutex, PoisonError};

use super::ChunkError;
use super::block_encoder::{BlockEncoder, Encoded, Job, grown};
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

/// On several workers, each into a buffer of its own, from which it is copied to its place as soon as all before it are
/// there: while the bytes are still in the cache, most of the time.
fn side_by_side<'s>(
    workers: &mut [Mutex<BlockEncoder>],
    executor: &dyn Executor,
    job: &Job<'_>,
    blocks: impl ExactSizeIterator<Item = (usize, &'s [u8])> + Send,
    out: &mut Output<'_>,
) -> Result<Outcome, ChunkError> {
    let count = blocks.len();
    let spare = workers.first_mut().map(|worker| std::mem::take(&mut unlocked(worker).spare));
    let queue = Mutex::new(Queue::new(out, count, spare.unwrap_or_default()));
    let result = try_for_each(executor, count, blocks, |worker, (block, src)| {
        let mut worker = locked(&workers[worker]);
        let mut buffer = std::mem::take(&mut worker.finished);
        let room = grown(&mut buffer, src.len() + job.overhead(src.len()));
        let encoded = worker.encode(job, block, src, room).map_err(Stop::Failed)?.ok_or(Stop::TooLong)?;
        worker.finished = locked(&queue).put(block, buffer, encoded).ok_or(Stop::TooLong)?;
        Ok(())
    });
    let Queue { zero, mut spare, .. } = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    spare.truncate(workers.len());
    if let Some(worker) = workers.first_mut() {
        unlocked(worker).spare = spare;
    }
    match result {
        Ok(()) => Ok(Outcome::Done { zero }),
        Err(Stop::TooLong) => Ok(Outcome::TooLong),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Finished blocks on their way into the output.
struct Queue<'o, 'a> {
    out: &'o mut Output<'a>,
    /// The block that belongs at the end of the output.
    next: usize,
    /// Those behind it that are finished already: the buffer, and how much of it is the block.
    waiting: Vec<Option<(Vec<u8>, usize)>>,
    /// Bytes of all finished blocks and of what was in the output before.
    total: usize,
    zero: bool,
    /// Buffers that are free again.
    spare: Vec<Vec<u8>>,
}

impl<'o, 'a> Queue<'o, 'a> {
    fn new(out: &'o mut Output<'a>, count: usize, spare: Vec<Vec<u8>>) -> Self {
        let total = out.len;
        Self { out, next: 0, waiting: vec![None; count], total, zero: true, spare }
    }

    /// Takes a finished block and gives a buffer for another one; `None` when the blocks are too long together.
    fn put(&mut self, block: usize, buffer: Vec<u8>, encoded: Encoded) -> Option<Vec<u8>> {
        self.zero &= encoded.zero;
        self.total += encoded.len;
        if self.total > self.out.bytes.len() {
            return None;
        }
        self.waiting[block] = Some((buffer, encoded.len));
        while let Some((buffer, len)) = self.waiting.get_mut(self.next).and_then(Option::take) {
            self.out.begin(self.next);
            if !self.out.push(&buffer[..len]) {
                return None;
            }
            self.next += 1;
            self.spare.push(buffer);
        }
        Some(self.spare.pop().unwrap_or_default())
    }
}
