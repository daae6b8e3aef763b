//! The encoder of the levels 2 to 5 for filtered data: it takes the first good match, and hurries through noise.
//!
//! Filtered numbers are planes of noise beside planes that repeat themselves. zlib and libdeflate search each position
//! of the noise; this encoder takes longer steps the longer it finds nothing, and makes up for the matches it misses by
//! ending its blocks where one plane ends and another begins.

use std::ops::Range;

use super::block::Sequence;
use super::blocks::Blocks;
use super::codes::{MAX_DISTANCE, MAX_MATCH, MIN_MATCH};
use crate::codecs::input::{Input, UncheckedInput, common, common_before};
use crate::codecs::match_tables::{multiply, table_log};

/// Logarithm of the entries of the table.
const TABLE_LOG: u32 = 14;

/// Bytes that are hashed. Shorter matches are not found.
const WORD: usize = 4;

/// After this many positions without a match the steps get longer by one (logarithm).
const SKIP_LOG: u32 = 10;

/// See [`SKIP_LOG`]: a step of one.
const FIRST_TRY: usize = 1 << SKIP_LOG;

/// A match of at least this length is taken without a look at the next position.
const GOOD: usize = 32;

/// Of the positions in a match, as many as this are entered, the last ones.
const ENTERED: usize = 16;

/// The table of an encoder, kept from stream to stream.
pub(super) struct GreedyEncoder {
    /// Where four bytes with a hash were last seen: the low 16 bits of four positions, the latest lowest. (A place that
    /// was never used looks like any position, and one out of reach looks like a later one: the bytes there are compared.)
    table: Box<[u64; 1 << TABLE_LOG]>,
    sequences: Vec<Sequence>,
}

/// A match.
#[derive(Debug, Clone, Copy)]
struct Match {
    len: usize,
    distance: usize,
}

impl GreedyEncoder {
    pub(super) fn new() -> Self {
        Self { table: Box::new([0; _]), sequences: Vec::new() }
    }

    /// Compresses `src`, which consists of planes of `plane` bytes, into a zlib stream in `dst`, or returns `None` if it
    /// does not fit. `ways`, 1 to 4, is how many earlier positions are compared at each one.
    pub(super) fn compress(&mut self, src: &[u8], plane: usize, dst: &mut [u8], ways: usize) -> Option<usize> {
        self.compress_input(UncheckedInput(src), plane, dst, ways)
    }

    fn compress_input<'a>(&mut self, src: impl Input<'a>, plane: usize, dst: &mut [u8], ways: usize) -> Option<usize> {
        match ways {
            1 => self.compress_ways::<1>(src, plane, dst),
            2 => self.compress_ways::<2>(src, plane, dst),
            _ => self.compress_ways::<4>(src, plane, dst),
        }
    }

    fn compress_ways<'a, const WAYS: usize>(
        &mut self,
        input: impl Input<'a>,
        plane: usize,
        dst: &mut [u8],
    ) -> Option<usize> {
        let bytes = input.bytes();
        let log = table_log(bytes.len(), TABLE_LOG);
        self.table[..1 << log].fill(0);
        let mut finder = Finder::<_, WAYS> { input, table: &mut self.table, shift: 32 - log, tries: FIRST_TRY };
        let mut blocks = Blocks::new(bytes, plane, &mut self.sequences, dst)?;
        while let Some((region, sequences)) = blocks.region() {
            let reached = finder.region(region, sequences);
            blocks.end_region(reached)?;
        }
        blocks.finish()
    }
}

/// Finds the matches of one input.
struct Finder<'t, I, const WAYS: usize> {
    input: I,
    table: &'t mut [u64; 1 << TABLE_LOG],
    shift: u32,
    /// How long nothing has been found: see [`SKIP_LOG`].
    tries: usize,
}

impl<'a, I: Input<'a>, const WAYS: usize> Finder<'_, I, WAYS> {
    /// Parses a region, up to its end or to the end of a match that extends beyond it, which is returned.
    fn region(&mut self, region: Range<usize>, sequences: &mut Vec<Sequence>) -> usize {
        let input = self.input;
        let total = input.bytes().len();
        // The first position with fewer than four bytes, and the first that is not searched.
        let last = (total + 1).saturating_sub(WORD);
        let limit = region.end.min(last);
        let (mut anchor, mut at) = (region.start, region.start);
        while at < limit {
            let Some(mut best) = self.search(at, 0) else {
                at += self.tries >> SKIP_LOG;
                self.tries += 1;
                continue;
            };
            self.tries = FIRST_TRY;
            let mut next = at + 1;
            while best.len < GOOD && next < limit {
                let later = self.search(next, best.len);
                next += 1;
                let Some(later) = later else {
                    break;
                };
                (best, at) = (later, next - 1);
            }
            let Match { mut len, distance } = best;
            if len == MAX_MATCH {
                // SAFETY: the match ends at `at + len`, which is at most `total`, and begins at least `distance` after the
                // start.
                len += unsafe { common(input, at + len - distance, at + len, total) };
            }
            // SAFETY: `at - distance` is a position, as far from the start as is allowed here.
            let before = unsafe { common_before(input, at - distance, at, (at - distance).min(at - anchor)) };
            push(sequences, at - before - anchor, before + len, distance);
            at += len;
            anchor = at;
            for entered in next.max(at.saturating_sub(ENTERED))..at.min(last) {
                self.exchange(entered);
            }
        }
        if anchor < region.end {
            sequences.push(Sequence { literals: (region.end - anchor) as u32, len: 0, distance: 0 });
        }
        anchor.max(region.end)
    }

    /// Enters position `at`, and returns the four bytes there and the places that had their hash before.
    ///
    /// # Panics
    /// When there are not four bytes at `at`.
    #[inline(always)]
    fn exchange(&mut self, at: usize) -> (u32, u64) {
        assert!(at + WORD <= self.input.bytes().len(), "four bytes are there to be hashed");
        // SAFETY: as just checked.
        let word = unsafe { self.input.load4(at) };
        let slot = (multiply(word.to_le()) >> self.shift) as usize & ((1 << TABLE_LOG) - 1);
        let places = self.table[slot];
        self.table[slot] = places << 16 | at as u64 & 0xFFFF;
        (word, places)
    }

    /// The longest match at `at` that is longer than `longer`. The position is entered.
    ///
    /// # Panics
    /// When there are not four bytes at `at`.
    #[inline(always)]
    fn search(&mut self, at: usize, longer: usize) -> Option<Match> {
        let (word, places) = self.exchange(at);
        let (input, reach) = (self.input, at.min(MAX_DISTANCE));
        let end = input.bytes().len().min(at + MAX_MATCH);
        let mut best = Match { len: longer, distance: 0 };
        for way in 0..WAYS {
            let distance = usize::from((at as u16).wrapping_sub((places >> (16 * way)) as u16));
            if distance == 0 || distance > reach {
                break;
            }
            // SAFETY: the distance is at most `at`, where four bytes are.
            if unsafe { input.load4(at - distance) } != word {
                continue;
            }
            // SAFETY: four bytes are at `at`, so at + 4 <= end, which is inside; the distance is at most `at`.
            let len = WORD + unsafe { common(input, at - distance + WORD, at + WORD, end) };
            if len > best.len {
                best = Match { len, distance };
            }
        }
        (best.distance != 0).then_some(best)
    }
}

/// Adds `literals` and a match of any length.
fn push(sequences: &mut Vec<Sequence>, literals: usize, mut len: usize, distance: usize) {
    let mut literals = literals as u32;
    while len > 0 {
        // The rest must be long enough for a match.
        let piece = if len > MAX_MATCH { MAX_MATCH.min(len - MIN_MATCH) } else { len };
        sequences.push(Sequence { literals, len: piece as u16, distance: distance as u16 });
        literals = 0;
        len -= piece;
    }
}

#[cfg(test)]
mod tests {
    use libdeflater::Decompressor;

    use super::*;
    use crate::codecs::input::Checked;
    use crate::codecs::testing::{self, LENGTHS};

    #[test]
    fn reads_nothing_outside_and_comes_back() {
        let mut encoder = GreedyEncoder::new();
        for &len in LENGTHS.iter().chain(&[100_000, 200_000]) {
            for (kind, src) in testing::data(len) {
                for ways in [1, 2, 4] {
                    let what = format!("{len} bytes of {kind}, {ways} ways");
                    let plane = (len / 4).max(1);
                    let mut dst = vec![0; len + 16 + len / 1000];
                    let packed = encoder.compress_input(Checked(&src), plane, &mut dst, ways).expect("stored at worst");
                    let mut trusted = vec![0; packed];
                    assert_eq!(encoder.compress(&src, plane, &mut trusted, ways), Some(packed), "{what}");
                    assert!(dst[..packed] == trusted, "{what}");
                    let mut back = vec![0; len];
                    assert_eq!(Decompressor::new().zlib_decompress(&trusted, &mut back), Ok(len), "{what}");
                    assert!(back == src, "{what}");
                    assert_eq!(encoder.compress(&src, plane, &mut trusted[..packed - 1], ways), None, "{what}");
                }
            }
        }
    }

    #[test]
    fn long_matches_are_cut_where_the_rest_is_a_match_too() {
        for len in MIN_MATCH..4 * MAX_MATCH {
            let mut sequences = Vec::new();
            push(&mut sequences, 7, len, 1);
            assert!(sequences.iter().all(|one| (MIN_MATCH..=MAX_MATCH).contains(&one.len.into())), "{len}");
            assert_eq!(sequences.iter().map(|one| usize::from(one.len)).sum::<usize>(), len);
            assert_eq!(sequences.iter().map(|one| one.literals).sum::<u32>(), 7);
        }
    }
}
