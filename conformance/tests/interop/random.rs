//! Repeatable randomness.

use std::env;
use std::ops::Range;

/// Where the seeds of a run start.
const SEED: u64 = 20_190_819;

/// The seeds of the cases of a test: `OXIBLOSC_INTEROP_CASES` of them (or as many as given), from
/// `OXIBLOSC_INTEROP_SEED` on.
pub(crate) fn seeds(cases: u64) -> Range<u64> {
    let number = |name: &str, default| {
        env::var(name).map_or(default, |value| value.parse().unwrap_or_else(|e| panic!("{name}: {value:?}: {e}")))
    };
    let first = number("OXIBLOSC_INTEROP_SEED", SEED);
    first..first + number("OXIBLOSC_INTEROP_CASES", cases)
}

/// SplitMix64: small, fast, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number up to `max`, small ones as likely as large ones.
    pub(crate) fn spread(&mut self, max: usize) -> usize {
        let bits = self.below(max.checked_ilog2().map_or(1, |n| n as usize + 2)) as u32;
        self.below((1 << bits).min(max) + 1)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}
