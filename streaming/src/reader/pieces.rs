//! Which parts of which chunks a range of decoded bytes consists of.

use std::ops::Range;
use std::sync::Arc;

/// Where chunks begin in the decoded bytes.
#[derive(Debug, Clone)]
pub(crate) enum Starts {
    /// All chunks but the last have `chunk_size` bytes.
    Fixed { chunk_size: u64, nbytes: u64 },
    /// Where each chunk begins, and the end of the last one.
    Table(Arc<[u64]>),
}

/// A part of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) chunk: u64,
    /// Which of its decoded bytes.
    pub(crate) within: Range<usize>,
    /// How many decoded bytes it has.
    pub(crate) chunk_len: usize,
}

impl Starts {
    /// The chunk that holds the decoded byte `at`, and which decoded bytes it covers. `None` behind the last one.
    pub(crate) fn chunk_at(&self, at: u64) -> Option<(u64, Range<u64>)> {
        match self {
            Self::Fixed { chunk_size, nbytes } => {
                let chunk = (at < *nbytes).then(|| at / chunk_size)?;
                let start = chunk * chunk_size;
                Some((chunk, start..nbytes.min(&start.saturating_add(*chunk_size)).to_owned()))
            }
            Self::Table(starts) => {
                // The first chunk that begins behind `at` follows the one that holds it; chunks may be empty.
                let chunk = starts.partition_point(|&start| start <= at).checked_sub(1)?;
                let (start, end) = (starts.get(chunk)?, starts.get(chunk + 1)?);
                Some((chunk as u64, *start..*end))
            }
        }
    }

    /// The pieces that `range` consists of; it must lie within the decoded bytes.
    pub(crate) fn pieces(self, range: Range<u64>) -> impl Iterator<Item = Piece> {
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
            Some(Piece { chunk, within, chunk_len: (covers.end - covers.start) as usize })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_both_kinds_agree() {
        for (chunk_size, nbytes) in [(10u64, 0u64), (10, 1), (10, 9), (10, 10), (10, 11), (10, 35), (1, 5)] {
            let fixed = Starts::Fixed { chunk_size, nbytes };
            let mut table: Vec<u64> = (0..nbytes.div_ceil(chunk_size)).map(|i| i * chunk_size).collect();
            table.push(nbytes);
            let table = Starts::Table(table.into());
            for start in 0..=nbytes {
                for end in start..=nbytes {
                    let found: Vec<Piece> = fixed.clone().pieces(start..end).collect();
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
        let starts = Starts::Table(vec![0, 3, 3, 3, 10].into());
        let found: Vec<_> = starts.clone().pieces(2..5).map(|p| (p.chunk, p.within, p.chunk_len)).collect();
        assert_eq!(found, [(0, 2..3, 3), (3, 0..2, 7)]);
        assert_eq!(starts.chunk_at(10), None);
    }
}
