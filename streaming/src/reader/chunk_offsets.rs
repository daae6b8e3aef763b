//! Mapping ranges of decoded bytes to parts of chunks.

use std::ops::Range;
use std::sync::Arc;

/// The offsets of chunks in the decoded bytes.
#[derive(Debug, Clone)]
pub(crate) enum ChunkOffsets {
    /// All chunks but the last have `chunk_size` bytes.
    Fixed { chunk_size: u64, nbytes: u64 },
    /// The offsets of chunks that differ in length.
    Table(Arc<[OffsetRun]>),
}

/// The start of a run of chunks of the same length; after the last one, the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OffsetRun {
    pub(crate) byte: u64,
    pub(crate) chunk: u64,
}

/// Builds the table of chunk offsets front to back.
#[derive(Debug)]
pub(crate) struct OffsetTable {
    /// The starts so far, with the end.
    starts: Vec<OffsetRun>,
    /// The length of the most recent chunks.
    len: u64,
}

impl OffsetTable {
    pub(crate) fn new() -> Self {
        Self { starts: vec![OffsetRun { byte: 0, chunk: 0 }], len: u64::MAX }
    }

    /// Adds `count` chunks of `len` decoded bytes. Returns the end of all chunks so far.
    pub(crate) fn push(&mut self, len: u64, count: u64) -> u64 {
        let Some(&end) = self.starts.last() else { return 0 };
        let next = OffsetRun {
            byte: end.byte.saturating_add(len.saturating_mul(count)),
            chunk: end.chunk.saturating_add(count),
        };
        if len == self.len {
            self.starts.pop();
        }
        self.starts.push(next);
        self.len = len;
        next.byte
    }

    pub(crate) fn finish(self) -> Arc<[OffsetRun]> {
        self.starts.into()
    }
}

/// A part of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkPart {
    pub(crate) chunk: u64,
    /// The range of its decoded bytes.
    pub(crate) within: Range<usize>,
    /// The number of its decoded bytes.
    pub(crate) chunk_len: usize,
}

impl ChunkOffsets {
    /// The chunk that holds the decoded byte `at`, and which decoded bytes it covers. `None` after the last one.
    pub(crate) fn chunk_at(&self, at: u64) -> Option<(u64, Range<u64>)> {
        match self {
            Self::Fixed { chunk_size, nbytes } => {
                let chunk = (at < *nbytes).then(|| at / chunk_size)?;
                let start = chunk * chunk_size;
                Some((chunk, start..nbytes.min(&start.saturating_add(*chunk_size)).to_owned()))
            }
            Self::Table(starts) => {
                // The first run that begins after `at` follows the one that holds it; chunks may be empty.
                let run = starts.partition_point(|start| start.byte <= at).checked_sub(1)?;
                let (first, behind) = (starts.get(run)?, starts.get(run + 1)?);
                let len = (behind.byte - first.byte).checked_div(behind.chunk - first.chunk)?;
                let nth = (at - first.byte).checked_div(len)?;
                let start = first.byte + nth * len;
                Some((first.chunk + nth, start..start + len))
            }
        }
    }

    /// The pieces that `range` consists of; it must lie within the decoded bytes.
    pub(crate) fn pieces(self, range: Range<u64>) -> impl Iterator<Item = ChunkPart> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let (chunk, covers) = self.chunk_at(at)?;
            let end = covers.end.min(range.end);
            // Lossless: the length of a chunk fits 31 bits.
            let within = (at - covers.start) as usize..(end - covers.start) as usize;
            at = end;
            Some(ChunkPart { chunk, within, chunk_len: (covers.end - covers.start) as usize })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_both_kinds_agree() {
        for (chunk_size, nbytes) in [(10u64, 0u64), (10, 1), (10, 9), (10, 10), (10, 11), (10, 35), (1, 5)] {
            let fixed = ChunkOffsets::Fixed { chunk_size, nbytes };
            let mut table = OffsetTable::new();
            for start in (0..nbytes.div_ceil(chunk_size)).map(|i| i * chunk_size) {
                table.push(chunk_size.min(nbytes - start), 1);
            }
            let table = ChunkOffsets::Table(table.finish());
            for start in 0..=nbytes {
                for end in start..=nbytes {
                    let found: Vec<ChunkPart> = fixed.clone().pieces(start..end).collect();
                    assert_eq!(found, table.clone().pieces(start..end).collect::<Vec<_>>());
                    let mut at = start;
                    for piece in &found {
                        let begin = piece.chunk * chunk_size;
                        assert_eq!(at, begin + piece.within.start as u64);
                        assert!(piece.within.end <= piece.chunk_len && !piece.within.is_empty());
                        at = begin + piece.within.end as u64;
                    }
                    assert_eq!(at, end);
                }
            }
        }
    }

    #[test]
    fn chunks_of_varying_and_no_length() {
        let mut table = OffsetTable::new();
        for (len, count, end) in [(3, 1, 3), (0, 1, 3), (0, 1, 3), (7, 1, 10), (2, 1 << 40, (1 << 41) + 10)] {
            assert_eq!(table.push(len, count), end);
        }
        assert_eq!(table.push(1, 1), (1 << 41) + 11);
        let starts = ChunkOffsets::Table(table.finish());
        let found: Vec<_> = starts.clone().pieces(2..5).map(|p| (p.chunk, p.within, p.chunk_len)).collect();
        assert_eq!(found, [(0, 2..3, 3), (3, 0..2, 7)]);
        assert_eq!(starts.chunk_at(1 << 41), Some(((1 << 40) - 1, (1 << 41)..(1 << 41) + 2)));
        assert_eq!(starts.chunk_at((1 << 41) + 11), None);
    }
}
