//! What people compress for, and what is best for it.

use std::fmt;

use crate::measurement::Measurement;

/// Another size of chunks is recommended only if it makes this much of the cost, or less: chunks are also what is read
/// and rewritten as one, so that the usual sizes are better unless there is something to gain.
const CLEARLY_LESS: f64 = 0.95;

/// What data are compressed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// The least time to compress, transfer at 100 MB/s, and decompress.
    Network,
    /// The same at 1 GB/s.
    Disk,
    /// The same at 10 GB/s.
    Memory,
    /// The least room, whatever time it takes.
    Archive,
}

impl Purpose {
    /// All purposes, from the slowest transfer to the fastest, and the smallest result.
    pub const ALL: [Self; 4] = [Self::Network, Self::Disk, Self::Memory, Self::Archive];

    /// What it costs to use a combination for this, for each byte of the sample: less is better.
    pub(crate) fn cost(self, result: &Measurement) -> f64 {
        let cost = match self {
            Self::Network => result.seconds_through(1e8),
            Self::Disk => result.seconds_through(1e9),
            Self::Memory => result.seconds_through(1e10),
            Self::Archive => result.cbytes as f64,
        };
        // Slow combinations are measured on fewer pieces.
        cost / result.nbytes.max(1) as f64
    }

    /// The number of the best result, if there are any.
    pub(crate) fn best(self, results: &[Measurement]) -> Option<usize> {
        let costs = || results.iter().map(|result| self.cost(result)).enumerate();
        let least = |(_, a): &(usize, f64), (_, b): &(usize, f64)| a.total_cmp(b);
        let (best, cost) = costs().min_by(least)?;
        let with_usual_chunks = costs().filter(|(place, _)| results[*place].candidate.chunk_size.is_none());
        match with_usual_chunks.min_by(least) {
            Some((usual, usual_cost)) if cost > CLEARLY_LESS * usual_cost => Some(usual),
            _ => Some(best),
        }
    }
}

/// `a disk of 1 GB/s`.
impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Network => "a network of 100 MB/s",
            Self::Disk => "a disk of 1 GB/s",
            Self::Memory => "memory, 10 GB/s",
            Self::Archive => "the smallest result",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::candidate;

    fn result(cbytes: usize, seconds: f64, chunk_size: Option<usize>) -> Measurement {
        let candidate = crate::Candidate { chunk_size, ..candidate(1) };
        Measurement::new(candidate, 1000, cbytes, seconds, seconds)
    }

    #[test]
    fn each_purpose_has_its_best() {
        let results = [result(500, 1e-7, None), result(200, 1e-6, None), result(100, 1e-4, None)];
        assert_eq!(Purpose::ALL.map(|purpose| purpose.best(&results)), [Some(1), Some(0), Some(0), Some(2)]);
        assert_eq!(Purpose::Disk.best(&[]), None);
    }

    #[test]
    fn other_chunks_must_be_clearly_better() {
        let usual = result(100, 1e-6, None);
        for (cbytes, best) in [(99, 0), (96, 0), (94, 1)] {
            let results = [usual.clone(), result(cbytes, 1e-6, Some(1 << 18))];
            assert_eq!(Purpose::Archive.best(&results), Some(best), "{cbytes}");
        }
    }
}
