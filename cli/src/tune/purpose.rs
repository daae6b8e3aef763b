//! What people compress for, and what is best for it.

use super::measure::Measurement;

/// What data are compressed for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Purpose {
    /// The least time to compress, transfer and decompress, through something of this speed in bytes per second.
    Channel(&'static str, f64),
    /// The least room, whatever time it takes.
    Archive,
}

impl Purpose {
    pub(super) const ALL: [Self; 4] = [
        Self::Channel("a network of 100 MB/s", 1e8),
        Self::Channel("a disk of 1 GB/s", 1e9),
        Self::Channel("memory, 10 GB/s", 1e10),
        Self::Archive,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Channel(name, _) => name,
            Self::Archive => "the smallest result",
        }
    }

    /// What it costs to use a combination for this, for each byte of the sample: less is better.
    pub(super) fn cost(self, result: &Measurement) -> f64 {
        let cost = match self {
            Self::Channel(_, speed) => result.seconds_through(speed),
            Self::Archive => result.cbytes as f64,
        };
        // Slow combinations are measured on fewer pieces.
        cost / result.nbytes.max(1) as f64
    }
}

/// The best for each purpose.
pub(super) fn recommended(results: &[Measurement]) -> impl Iterator<Item = (Purpose, &Measurement)> {
    Purpose::ALL.into_iter().filter_map(|purpose| {
        let best = results.iter().min_by(|a, b| purpose.cost(a).total_cmp(&purpose.cost(b)));
        best.map(|best| (purpose, best))
    })
}
