//! The BloscLZ encoder: one greedy pass with a hash table, after a probe of whether compression pays.
//!
//! Every choice here is C-Blosc2's, so that both write the same bytes. Positions count from the start of the input, and
//! the table starts with zeros: position 0 is the candidate wherever no other was entered.

use std::hint::select_unpredictable;

use super::write::OpWriter;
use super::{CONTINUED, FAR_DISTANCE, LENGTH_BIAS, MAX_LITERALS};
use crate::codecs::input::{Input, UncheckedInput, common};

/// Logarithm of the number of table entries, by level.
const HASH_LOG: [u32; 10] = [12, 12, 13, 14, 14, 14, 14, 14, 14, 14];

/// The largest of [`HASH_LOG`].
const MAX_HASH_LOG: u32 = 14;

/// The part of the input that the probe looks at, by level: the last 1 / 2^n.
const PROBED_LOG: [u32; 10] = [3, 3, 2, 2, 1, 1, 1, 0, 0, 0];

/// The ratio that the probe must predict, by level. Faster levels give up sooner.
const MIN_RATIO: [f64; 10] = [2.0, 2.0, 1.5, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, 1.0];

/// Shorter inputs are not worth compressing.
const MIN_INPUT: usize = 16;

/// Shorter output buffers are refused.
const MIN_OUTPUT: usize = 66;

/// Matches start more than this many bytes before the end of the input.
const MATCH_LIMIT: usize = 12;

/// Distances, counted from 1, stay below this, although the format goes up to 8192 + 65535.
const MAX_DISTANCE: usize = FAR_DISTANCE + 65_535 - 1;

/// By how many bytes a match is cut short, so that the next one can begin there.
const SHIFT: usize = 4;

/// Shorter matches are ignored.
const MIN_LENGTH: usize = 4;

/// Shorter matches at far distances are ignored: they take four bytes.
const MIN_FAR_LENGTH: usize = 6;

/// The tables of where four bytes were last seen, kept from stream to stream.
pub(super) struct Encoder {
    narrow: Box<[u16; 1 << MAX_HASH_LOG]>,
    /// Allocated for the first input above 64 KiB.
    wide: Option<Box<[u32; 1 << MAX_HASH_LOG]>>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { narrow: Box::new([0; _]), wide: None }
    }

    /// Compresses `src` into `dst`, or returns `None` if the result does not fit or the probe predicts too little.
    pub(super) fn compress(&mut self, level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        self.compress_input(level, src, dst, UncheckedInput)
    }

    fn compress_input<'a, I: Input<'a>>(
        &mut self,
        level: u8,
        src: &'a [u8],
        dst: &mut [u8],
        input: fn(&'a [u8]) -> I,
    ) -> Option<usize> {
        // Level 0 only occurs for chunks of variable-length blocks, which cannot be stored.
        let level = usize::from(level.clamp(1, 9));
        if src.len() < MIN_INPUT || dst.len() < MIN_OUTPUT {
            return None;
        }
        let hash_log = HASH_LOG[level];

        // The positions of the probe fit 16 bits, and half the table leaves more of the cache to the data.
        let probed = &src[src.len() - (src.len() >> PROBED_LOG[level])..];
        let probed = &probed[..probed.len().min(1 << hash_log)];
        if Finder::new(&mut self.narrow, hash_log, input(probed)).probe() < MIN_RATIO[level] {
            return None;
        }

        if src.len() <= 1 << 16 {
            Finder::new(&mut self.narrow, hash_log, input(src)).compress(level, dst)
        } else {
            let wide = self.wide.get_or_insert_with(|| Box::new([0; _]));
            Finder::new(wide, hash_log, input(src)).compress(level, dst)
        }
    }
}

/// A position in a table.
///
/// # Safety
/// The position that comes out is not above the one that went in: the encoder reads there without another check.
unsafe trait Entry: Copy {
    /// Whether distances above the largest are possible between two positions.
    const CHECK_DISTANCE: bool;

    fn from_position(at: usize) -> Self;

    fn position(self) -> usize;
}

// SAFETY: cutting off high bits does not make a position larger.
unsafe impl Entry for u16 {
    const CHECK_DISTANCE: bool = false;

    #[inline(always)]
    fn from_position(at: usize) -> Self {
        at as u16
    }

    #[inline(always)]
    fn position(self) -> usize {
        self.into()
    }
}

// SAFETY: as for `u16`.
unsafe impl Entry for u32 {
    const CHECK_DISTANCE: bool = true;

    #[inline(always)]
    fn from_position(at: usize) -> Self {
        at as u32
    }

    #[inline(always)]
    fn position(self) -> usize {
        self as usize
    }
}

/// A match found at a position.
struct Match {
    /// How far back, less 1.
    distance: usize,
    /// The length field.
    len: usize,
}

/// Looks for matches in one input.
struct Finder<'t, I, E> {
    /// Positions of this input alone, or 0.
    table: &'t mut [E; 1 << MAX_HASH_LOG],
    shift: u32,
    input: I,
    /// Length of the input.
    len: usize,
}

impl<'t, 'a, I: Input<'a>, E: Entry> Finder<'t, I, E> {
    /// Creates a finder, and clears the part of `table` that it will use.
    fn new(table: &'t mut [E; 1 << MAX_HASH_LOG], hash_log: u32, input: I) -> Self {
        table[..1 << hash_log].fill(E::from_position(0));
        Self { table, shift: 32 - hash_log, input, len: input.bytes().len() }
    }

    /// The four bytes at `at`, with the first one lowest.
    ///
    /// # Safety
    /// `at + 4 <= self.len`.
    #[inline(always)]
    unsafe fn word(&self, at: usize) -> u32 {
        // SAFETY: by the contract.
        u32::from_le(unsafe { self.input.load4(at) })
    }

    /// Enters position `at` for the bytes in `word` and returns the position that was there.
    #[inline(always)]
    fn exchange(&mut self, word: u32, at: usize) -> usize {
        // The mask has no effect, as the shift is at least 32 - MAX_HASH_LOG, but shows the compiler that the index is
        // in range.
        let slot = word.wrapping_mul(2_654_435_761) >> self.shift & ((1 << MAX_HASH_LOG) - 1);
        std::mem::replace(&mut self.table[slot as usize], E::from_position(at)).position()
    }

    /// Looks for a match at `p` and enters `p`.
    ///
    /// # Safety
    /// `0 < p` and `p + MATCH_LIMIT < self.len`; all positions entered so far are before `p`.
    #[inline(always)]
    unsafe fn find(&mut self, p: usize) -> Option<Match> {
        // SAFETY: p + 12 < len.
        let word = unsafe { self.word(p) };
        let candidate = self.exchange(word, p);
        let distance = p - candidate;
        let far = E::CHECK_DISTANCE && distance >= MAX_DISTANCE;
        // No branch on the distance: where there are no matches, it is as good as random.
        let nearest = select_unpredictable(far, 0, candidate);
        // SAFETY: the candidate is 0 or was entered, and thus before `p`.
        if unsafe { self.word(nearest) } ^ word | u32::from(far) != 0 {
            return None;
        }
        let bound = self.len - 1;
        // SAFETY: p + 4 < bound < len, and the candidate is before `p`.
        let mut end = p + 4 + unsafe { common(self.input, candidate + 4, p + 4, bound) };
        // C-Blosc2 steps over the first byte that differs. The shift shortens the match again.
        if end < bound {
            end += 1;
        }
        let len = end - SHIFT - p;
        (len >= MIN_LENGTH).then_some(Match { distance: distance - 1, len })
    }

    /// Compresses the input into `dst`.
    #[inline(always)]
    fn compress(mut self, level: usize, dst: &mut [u8]) -> Option<usize> {
        let src = self.input.bytes();
        let mut out = OpWriter::new(dst);
        let mut anchor = 0;
        let mut p = 4;
        while p + MATCH_LIMIT < self.len {
            // SAFETY: the loop condition; p is at least 4, and what is entered below is before the next `p`.
            let found = unsafe { self.find(p) };
            let Some(Match { distance, len }) =
                found.filter(|found| found.len >= MIN_FAR_LENGTH || found.distance < FAR_DISTANCE)
            else {
                p += 1;
                continue;
            };
            out.literals(src, anchor, p)?;
            out.matched(distance, len)?;
            p += len;
            // SAFETY: a match ends SHIFT = 4 bytes before the bound or earlier, and that is before the end.
            let word = unsafe { self.word(p) };
            self.exchange(word, p);
            if level == 9 {
                self.exchange(word >> 8, p + 1);
            }
            p += LENGTH_BIAS;
            anchor = p;
        }
        out.literals(src, anchor, src.len())?;
        out.finish()
    }

    /// Estimates the compression ratio of the input.
    fn probe(mut self) -> f64 {
        let mut written = 5;
        let mut pending = 4;
        let mut p = 0;
        while p + MATCH_LIMIT < self.len {
            // Position 0 has nothing before it, and is what the table holds anyway.
            // SAFETY: the loop condition; p is not 0, and what is entered below is before the next `p`.
            let found = if p == 0 { None } else { unsafe { self.find(p) } };
            let Some(Match { distance, len }) = found else {
                p += 1;
                written += 1;
                pending += 1;
                if pending == MAX_LITERALS {
                    pending = 0;
                    written += 1;
                }
                continue;
            };
            if pending == 0 {
                written -= 1;
            }
            pending = 0;
            written += if distance < FAR_DISTANCE { 2 } else { 4 };
            if len >= CONTINUED {
                written += (len - CONTINUED) / 255 + 1;
            }
            p += len;
            // SAFETY: as in `compress`.
            let word = unsafe { self.word(p) };
            self.exchange(word, p);
            p += LENGTH_BIAS;
            written += 1;
        }
        p as f64 / written as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::input::Checked;
    use crate::codecs::testing::{LENGTHS, data};

    #[test]
    fn stays_inside_its_input() {
        let mut encoder = Encoder::new();
        for &len in LENGTHS {
            for (kind, src) in data(len) {
                for level in [1, 5, 9] {
                    let (mut trusted, mut checked) = (vec![0; len], vec![0; len]);
                    let written = encoder.compress(level, &src, &mut trusted);
                    assert_eq!(written, encoder.compress_input(level, &src, &mut checked, Checked), "{len} of {kind}");
                    let written = written.unwrap_or(0);
                    assert_eq!(trusted[..written], checked[..written], "{len} of {kind}");
                }
            }
        }
    }
}
