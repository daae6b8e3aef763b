//! How long measurements take, going by those before.

use std::collections::BTreeMap;
use std::time::Duration;

use oxiblosc::CodecId;

use crate::candidate::Candidate;

/// By how much longer a higher level may take that has not been measured yet: Zstandard takes thirty times as long at
/// level 9 as at 5, LZ4 at most twice. Too little costs the budget, too much leaves out levels that there was time for.
const HIGHER_LEVEL: u32 = 8;

/// The longest time that a measurement of each codec and level has taken.
#[derive(Debug, Default)]
pub(crate) struct Costs(BTreeMap<(CodecId, u8), Duration>);

impl Costs {
    /// What a measurement with this codec at its lowest level is expected to take.
    pub(crate) fn expect(&mut self, codec: CodecId, level: u8, time: Duration) {
        self.0.insert((codec, level), time);
    }

    /// What a measurement has taken.
    pub(crate) fn record(&mut self, candidate: &Candidate, took: Duration) {
        let longest = self.0.entry((candidate.codec, candidate.level)).or_default();
        *longest = took.max(*longest);
    }

    /// What measuring this combination will take: as long as others of its codec and level, or as those of the next lower
    /// level and a good deal more. Zero if nothing is known.
    pub(crate) fn estimate(&self, candidate: &Candidate) -> Duration {
        let below = (candidate.codec, 0)..=(candidate.codec, candidate.level);
        match self.0.range(below).next_back() {
            Some(((_, level), took)) if *level == candidate.level => *took,
            Some((_, took)) => *took * HIGHER_LEVEL,
            None => Duration::ZERO,
        }
    }
}
