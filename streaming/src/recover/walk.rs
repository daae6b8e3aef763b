//! Finding the chunks of a frame that promises to have them in order and without holes.

use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::{ChunkWalk, ChunkWalkStep, FrameError, FrameWriteError};
use oxiblosc_core::{Limits, Registry};

use super::chunk_checker::{CheckResult, ChunkChecker};
use super::error::RecoverError;
use super::items::{ChunkContent, RecoveredChunk};
use super::scan::{IndexAndTrailer, Scan};
use super::work_limit::WorkLimit;
use crate::source::{BufferedSource, RangeSource};

/// Bytes of the header of a chunk.
const HEAD: u64 = ChunkHeader::EXTENDED_LEN as u64;

/// Walks from the end of the header to the index, or to the first thing that is neither a chunk nor an index: what
/// comes after that cannot be numbered.
///
/// A reader of an open-ended frame takes the same steps and refuses a damaged chunk. Here it is counted as lost if the
/// walk continues after it.
pub(super) async fn walk<S: RangeSource + ?Sized>(
    scan: &mut Scan,
    window: &mut BufferedSource<'_, S>,
    registry: &Registry,
    limits: &Limits,
    budget: &mut WorkLimit,
) -> Result<(), RecoverError> {
    let size = window.size();
    let mut checker = ChunkChecker::new(&scan.head, registry, limits);
    let mut walk = ChunkWalk::new(&scan.head, *limits);
    let full = scan.head.header.chunk_size.fixed().map(|full| full as u64);
    // Where the chunks end that were found, and how many after them are chunks only if something better follows.
    let (mut end, mut doubtful) = (walk.end(), 0);
    let mut needed = HEAD;
    loop {
        let (at, available) = (walk.end(), size.saturating_sub(walk.end()));
        let bytes = window.get(at..at + needed.min(available)).await?;
        let step = match walk.step(&bytes, available, registry) {
            Ok(step) => step,
            Err(error @ FrameError::TooManyChunks { .. }) => return Err(FrameWriteError::from(error).into()),
            Err(_) => break,
        };
        match (step, full) {
            (ChunkWalkStep::Needs(more), _) if more > available => break,
            (ChunkWalkStep::Needs(more), _) => needed = more,
            (ChunkWalkStep::Chunk { number, offset, header }, _) if checker.fits(&header) => {
                let len = header.cbytes as u64;
                let chunk = window.get(offset..offset + len).await?;
                let content = match checker.check(number, &header, &chunk, budget)? {
                    CheckResult::Damaged => ChunkContent::Lost,
                    verdict => ChunkContent::Stored { offset, len, checked: verdict == CheckResult::Holds },
                };
                lose(scan, full, doubtful);
                scan.vl_blocks |= header.has_vl_blocks();
                scan.items.push(RecoveredChunk { content, nbytes: header.nbytes as u64 });
                (end, doubtful, needed) = (walk.end(), 0, HEAD);
            }
            // Only the length of this chunk is known, as that of all chunks.
            (ChunkWalkStep::Chunk { .. }, Some(_)) => (doubtful, needed) = (doubtful + 1, HEAD),
            (ChunkWalkStep::Chunk { .. }, None) => break,
            (ChunkWalkStep::Closed { index_len, trailer_len, trailer }, _) => {
                if doubtful > 0 {
                    lose(scan, full, doubtful);
                }
                end = at + index_len + trailer_len;
                scan.tail = Some(IndexAndTrailer { index_at: at, end });
                scan.fingerprint = trailer.fingerprint;
                scan.vlmetalayers = trailer.vlmetalayers;
                break;
            }
        }
    }
    scan.unused = size.saturating_sub(end);
    Ok(())
}

/// Counts `doubtful` damaged chunks, after which there is another. A shorter chunk before them is damaged too, since
/// only the last one is shorter.
fn lose(scan: &mut Scan, full: Option<u64>, doubtful: u64) {
    let Some(full) = full else { return };
    let lost = RecoveredChunk { content: ChunkContent::Lost, nbytes: full };
    if scan.items.last().is_some_and(|last| last.nbytes < full) {
        scan.items.truncate(scan.items.len() - 1);
        scan.items.push(lost);
    }
    scan.items.push_run(lost, doubtful);
}
