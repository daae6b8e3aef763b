//! The encoder of level 1: one greedy pass, one candidate per hash, the fixed codes.
//!
//! Building codes for a block takes a second pass over the matches, and choosing among matches takes a look at each.
//! This level does neither, and nor does level 1 of zlib-ng.

use std::hint::select_unpredictable;

use super::bits::BitWriter;
use super::codes::{FIXED, MAX_DISTANCE};
use crate::codecs::input::{Input, UncheckedInput, common, common_before};
use crate::codecs::match_tables::{multiply, table_log};

/// Logarithm of the entries of the table.
const TABLE_LOG: u32 = 15;

/// Shorter matches save next to nothing, and most of those found are accidental.
const MIN_MATCH: usize = 4;

/// After this many positions without a match the steps get longer by one (logarithm).
const SKIP_LOG: u32 = 10;

/// "This is the last block" and "compressed with the fixed codes": one bit and two, the first lowest.
const LAST_FIXED: u64 = 0b011;

/// As many of the fixed codes, of at most nine bits each, as there is room for.
const GROUP: usize = 6;

/// The table of an encoder, kept from stream to stream.
pub(super) struct QuickEncoder {
    /// Where four bytes with a hash were last seen: the low 16 bits of the position. (A slot that was never used looks
    /// like any position, and one out of reach looks like a later one: the bytes there are compared.)
    table: Box<[u16; 1 << TABLE_LOG]>,
}

impl QuickEncoder {
    pub(super) fn new() -> Self {
        Self { table: Box::new([0; _]) }
    }

    /// Compresses `src` into a zlib stream in `dst`, or returns `None` if it does not fit.
    pub(super) fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        self.compress_input(UncheckedInput(src), dst)
    }

    fn compress_input<'a>(&mut self, src: impl Input<'a>, dst: &mut [u8]) -> Option<usize> {
        let bytes = src.bytes();
        let log = table_log(bytes.len(), TABLE_LOG);
        self.table[..1 << log].fill(0);
        let mut out = BitWriter::new(dst)?;
        out.put_bits(LAST_FIXED, 3);
        let anchor = self.sequences(src, 32 - log, &mut out)?;
        FIXED.groups::<GROUP>(&mut out, &bytes[anchor..])?;
        FIXED.end(&mut out)?;
        out.finish(super::library::adler32(bytes))
    }

    /// Writes everything up to the end of the last match, which is returned.
    #[inline(always)]
    fn sequences<'a>(&mut self, src: impl Input<'a>, shift: u32, out: &mut BitWriter<'_>) -> Option<usize> {
        let bytes = src.bytes();
        let Some(limit) = bytes.len().checked_sub(MIN_MATCH) else {
            return Some(0);
        };
        // Enters position `at`, and returns the distance to the previous position with the same hash; 0 if there is
        // none within reach.
        let mut exchange = |at: usize, word: u32| {
            let slot = (multiply(word.to_le()) >> shift) as usize & ((1 << TABLE_LOG) - 1);
            let place = std::mem::replace(&mut self.table[slot], at as u16);
            let distance = usize::from((at as u16).wrapping_sub(place));
            // No branch: where there are no matches, it is as good as random.
            select_unpredictable(distance <= at.min(MAX_DISTANCE), distance, 0)
        };
        let mut anchor = 0;
        let mut p = 0;
        while p <= limit {
            let mut tries = 1 << SKIP_LOG;
            let mut distance;
            loop {
                // SAFETY: p <= limit, which is four bytes before the end.
                let word = unsafe { src.load4(p) };
                distance = exchange(p, word);
                // SAFETY: the distance is at most `p`.
                if unsafe { src.load4(p - distance) } == word && distance != 0 {
                    break;
                }
                p += tries >> SKIP_LOG;
                tries += 1;
                if p > limit {
                    return Some(anchor);
                }
            }
            // SAFETY: what is compared ends at `p - distance`, which is not below 0, and at `p`.
            let before = unsafe { common_before(src, p - distance, p, (p - distance).min(p - anchor)) };
            // SAFETY: p + MIN_MATCH <= limit + MIN_MATCH, the end.
            let after = unsafe { common(src, p - distance + MIN_MATCH, p + MIN_MATCH, bytes.len()) };
            FIXED.groups::<GROUP>(out, &bytes[anchor..p - before])?;
            FIXED.long_match(out, before + MIN_MATCH + after, distance)?;
            p += MIN_MATCH + after;
            anchor = p;
        }
        Some(anchor)
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
        let mut encoder = QuickEncoder::new();
        for &len in LENGTHS.iter().chain(&[100_000, 200_000]) {
            for (kind, src) in testing::data(len) {
                let mut dst = vec![0; len + len / 8 + 16];
                let packed = encoder.compress_input(Checked(&src), &mut dst).expect("nine bits a byte are enough");
                let mut trusted = vec![0; packed];
                assert_eq!(encoder.compress(&src, &mut trusted), Some(packed), "{len} bytes of {kind}");
                assert!(dst[..packed] == trusted);
                let mut back = vec![0; len];
                assert_eq!(Decompressor::new().zlib_decompress(&trusted, &mut back), Ok(len), "{len} bytes of {kind}");
                assert!(back == src, "{len} bytes of {kind}");
                assert_eq!(encoder.compress(&src, &mut trusted[..packed - 1]), None);
            }
        }
    }

    #[test]
    fn finds_what_is_far_back() {
        let mut random = testing::Random(7);
        let noise: Vec<u8> = (0..MAX_DISTANCE).map(|_| (random.next() >> 56) as u8).collect();
        let twice = [&noise[..], &noise[..]].concat();
        let mut dst = vec![0; 2 * twice.len()];
        let len = QuickEncoder::new().compress(&twice, &mut dst).expect("there is room");
        assert!(len < MAX_DISTANCE * 9 / 8, "{len}");
    }
}
