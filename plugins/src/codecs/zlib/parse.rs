//! The encoder of the highest levels: it takes the matches that save most, and ends blocks where the data changes.
//!
//! The input is parsed region by region. A region has prices for literals and matches, derived from its content and
//! from how the previous region was parsed, so that a match is taken if it is cheaper than its literals and not
//! wherever there is one: most short matches in the byte planes of filtered numbers are not.

use std::ops::Range;

use super::block::{Counts, Sequence};
use super::blocks::Blocks;
use super::codes::{MAX_DISTANCE, MAX_MATCH, MIN_MATCH};
use super::cost::BIT;
use super::prices::{MatchCosts, add_up};
use crate::codecs::input::{Input, UncheckedInput, common};
use crate::codecs::match_tables::HashRows;

/// Bytes that are loaded to look for a match.
const WORD: usize = 4;

/// In matches of at least this length, only the last [`ENTERED`] positions are entered.
const SPARSE_FROM: usize = 64;

/// See [`SPARSE_FROM`].
const ENTERED: usize = 16;

/// How much more, in bits, a match must save that begins one or two positions after another one, as what follows it
/// also begins later.
const MARGIN: [u32; 2] = [2 * BIT, 4 * BIT];

/// Twice as many slots as a distance can reach.
type HashTable = HashRows<32, { 2 * MAX_DISTANCE / 32 }>;

/// The search effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effort {
    /// How many candidates with the same three bytes are compared, up to 32.
    pub(super) depth: usize,
    /// How many positions after the start of a match are searched for a better one, up to 2.
    pub(super) lazy: usize,
}

/// The table and other state of an encoder, kept from stream to stream.
#[derive(Default)]
pub(super) struct ParsingEncoder {
    /// Keyed by three bytes and not four: in a byte plane with few values, most matches that pay are that short.
    table: HashTable,
    sequences: Vec<Sequence>,
    /// The cost of the literals of a region from its start up to each position.
    prices: Vec<u32>,
}

impl ParsingEncoder {
    /// Compresses `src`, which consists of planes of `plane` bytes, into a zlib stream in `dst`, or returns `None` if
    /// it does not fit.
    pub(super) fn compress(&mut self, src: &[u8], plane: usize, dst: &mut [u8], effort: Effort) -> Option<usize> {
        self.compress_input(UncheckedInput(src), plane, dst, effort)
    }

    fn compress_input<'a>(
        &mut self,
        src: impl Input<'a>,
        plane: usize,
        dst: &mut [u8],
        effort: Effort,
    ) -> Option<usize> {
        let bytes = src.bytes();
        let Self { table, sequences, prices } = self;
        table.begin(bytes.len());
        let mut parser = Parser { input: src, table, effort, match_prices: MatchCosts::new(), next: 0 };
        let mut blocks = Blocks::new(bytes, plane, sequences, dst)?;
        let mut before: Option<(usize, Counts)> = None;
        while let Some((region, sequences)) = blocks.region() {
            // Literals of another plane say nothing about those of this one.
            let of_plane = region.start / plane;
            let literals = before.as_ref().filter(|(plane, _)| *plane == of_plane).map(|(_, counts)| counts);
            add_up(bytes, region.start, region.end, literals, prices);
            let reached = parser.region(region, prices, sequences);
            let counts = blocks.end_region(reached)?;
            parser.match_prices.follow(&counts);
            before = Some((of_plane, counts));
        }
        blocks.finish()
    }
}

/// A match, and what it saves.
#[derive(Debug, Clone, Copy)]
struct Match {
    len: usize,
    distance: usize,
    gain: u32,
}

/// Parses one input.
struct Parser<'t, I> {
    input: I,
    table: &'t mut HashTable,
    effort: Effort,
    match_prices: MatchCosts,
    /// The first position that has not been entered in `table`.
    next: usize,
}

impl<'a, I: Input<'a>> Parser<'_, I> {
    /// Parses a region, up to its end or to the end of a match that extends beyond it, which is returned.
    fn region(&mut self, region: Range<usize>, prices: &[u32], sequences: &mut Vec<Sequence>) -> usize {
        let Range { start, end } = region;
        let (mut anchor, mut at) = (start, start);
        // Searches end after the last position with as many bytes as a load takes.
        let limit = end.min((self.input.bytes().len() + 1).saturating_sub(WORD));
        while at < limit {
            let Some(mut best) = self.search(at, self.effort.depth, 0, &prices[at - start..]) else {
                at += 1;
                continue;
            };
            let mut ahead = 1;
            while ahead <= self.effort.lazy && best.len < MAX_MATCH && at + ahead < limit {
                let least = best.gain + MARGIN[ahead - 1];
                match self.search(at + ahead, self.effort.depth >> ahead, least, &prices[at + ahead - start..]) {
                    Some(later) => {
                        at += ahead;
                        best = later;
                        ahead = 1;
                    }
                    None => ahead += 1,
                }
            }
            let literals = (at - anchor) as u32;
            sequences.push(Sequence { literals, len: best.len as u16, distance: best.distance as u16 });
            at += best.len;
            anchor = at;
        }
        if anchor < end {
            sequences.push(Sequence { literals: (end - anchor) as u32, len: 0, distance: 0 });
        }
        anchor.max(end)
    }

    /// The match at `at` that saves most, if that is more than `least`. `prices` begin there.
    ///
    /// # Panics
    /// When there are not four bytes at `at`.
    #[inline(always)]
    fn search(&mut self, at: usize, depth: usize, least: u32, prices: &[u32]) -> Option<Match> {
        let input = self.input;
        let end = input.bytes().len().min(at + MAX_MATCH);
        assert!(at + WORD <= end, "four bytes are there to be looked for");
        self.enter(at);
        // SAFETY: at + 4 <= end, as just checked.
        let word = u32::from_le(unsafe { input.load4(at) });
        let mut best = Match { len: 0, distance: 0, gain: least };
        // Only a longer match can save more than a nearer one.
        let mut longest = MIN_MATCH - 1;
        for distance in self.table.distances(word << 8, at).take(depth) {
            if distance > MAX_DISTANCE {
                break;
            }
            let candidate = at - distance;
            let last = (at + longest).max(at + WORD - 1) - (WORD - 1);
            // SAFETY: at + longest < end, so four bytes end there at the latest; four are at `at`, and so they are before it.
            // The distance is at most `at` by the contract of the table.
            let promising = unsafe {
                (longest < MIN_MATCH || input.load4(last) == input.load4(last - distance))
                    && (u32::from_le(input.load4(candidate)) ^ word) << 8 == 0
            };
            if promising {
                // SAFETY: at + MIN_MATCH <= end, which is inside, and the candidate is not behind `at`.
                let len = MIN_MATCH + unsafe { common(input, candidate + MIN_MATCH, at + MIN_MATCH, end) };
                if len > longest {
                    longest = len;
                    let (saved, cost) = (prices[len] - prices[0], self.match_prices.of(len, distance));
                    if saved > cost + best.gain {
                        best = Match { len, distance, gain: saved - cost };
                    }
                    if at + len == end {
                        break;
                    }
                }
            }
        }
        (best.distance != 0).then_some(best)
    }

    /// Enters all positions before `to` that have four bytes, or the last ones if they lie in a long match.
    #[inline(always)]
    fn enter(&mut self, to: usize) {
        let to = to.min((self.input.bytes().len() + 1).saturating_sub(WORD));
        while self.next < to {
            // SAFETY: next < to, so next + 4 <= length.
            let word = u32::from_le(unsafe { self.input.load4(self.next) });
            self.table.enter(word << 8, self.next);
            self.next = if to - self.next > SPARSE_FROM { to - ENTERED } else { self.next + 1 };
        }
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
        let mut encoder = ParsingEncoder::default();
        for &len in LENGTHS.iter().chain(&[100_000]) {
            for (kind, src) in testing::data(len) {
                for (depth, lazy) in [(4, 0), (16, 1), (32, 2)] {
                    let what = format!("{len} bytes of {kind}, {depth} places, {lazy} ahead");
                    let (plane, effort) = ((len / 4).max(1), Effort { depth, lazy });
                    let mut dst = vec![0; len + 16 + len / 1000];
                    let packed =
                        encoder.compress_input(Checked(&src), plane, &mut dst, effort).expect("stored at worst");
                    let mut trusted = vec![0; packed];
                    assert_eq!(encoder.compress(&src, plane, &mut trusted, effort), Some(packed), "{what}");
                    assert!(dst[..packed] == trusted, "{what}");
                    let mut back = vec![0; len];
                    assert_eq!(Decompressor::new().zlib_decompress(&trusted, &mut back), Ok(len), "{what}");
                    assert!(back == src, "{what}");
                    assert_eq!(encoder.compress(&src, plane, &mut trusted[..packed - 1], effort), None);
                }
            }
        }
    }

    #[test]
    fn blocks_end_where_the_data_changes() {
        let noise: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect();
        let low: Vec<u8> = noise.iter().map(|&byte| byte & 3).collect();
        let compress = |src: &[u8]| {
            let mut dst = vec![0; 2 * src.len()];
            let effort = Effort { depth: 16, lazy: 1 };
            ParsingEncoder::default().compress(src, usize::MAX, &mut dst, effort).expect("there is room")
        };
        let both = compress(&[&noise[..], &low].concat());
        assert!(both < compress(&noise) + compress(&low) + 600);
    }
}
