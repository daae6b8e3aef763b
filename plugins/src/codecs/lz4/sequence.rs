//! Writes the sequences of an LZ4 block.
//!
//! Source: LZ4 block format, which also gives the end-of-block rules that decoders rely on.

use crate::codecs::greedy::Sequences;
use crate::codecs::overcopy::{self, SLACK};

/// "The minimum match length is 4."
pub(super) const MIN_MATCH: usize = 4;

/// "The last 5 bytes of input are always literals."
pub(super) const LAST_LITERALS: usize = 5;

/// "The last match must start at least 12 bytes before the end of block."
pub(super) const MATCH_LIMIT: usize = 12;

/// Distances are 16 bits wide.
pub(super) const MAX_DISTANCE: usize = 65_535;

/// The value of a nibble whose length continues in the following bytes.
const CONTINUED: usize = 15;

/// The most literals of a short sequence.
const MOST: usize = 32;

/// The most bytes that a short sequence writes: a token, literals, a distance, and a byte more for each length.
const SHORT: usize = 1 + 1 + MOST + 2 + 1;

/// Writes sequences to a buffer until it is full.
pub(super) struct SequenceWriter<'a> {
    dst: &'a mut [u8],
    at: usize,
}

impl<'a> SequenceWriter<'a> {
    pub(super) fn new(dst: &'a mut [u8]) -> Self {
        Self { dst, at: 0 }
    }

    /// Writes the last literals and returns the length of the block.
    pub(super) fn last(mut self, literals: &[u8]) -> Option<usize> {
        self.token(literals.len(), 0)?;
        self.push(literals)?;
        Some(self.at)
    }

    /// Writes a token, and what continues its number of literals.
    fn token(&mut self, literals: usize, low: u8) -> Option<()> {
        self.push(&[(literals.min(CONTINUED) as u8) << 4 | low])?;
        self.continued(literals)
    }

    /// Writes the literals `src[anchor..start]`. A call of `memcpy` takes longer for a few hundred bytes: it branches on the
    /// length, which is hard to predict.
    #[inline(always)]
    fn run(&mut self, src: &[u8], anchor: usize, start: usize) -> Option<()> {
        let literals = src.get(anchor..start)?;
        if src.len() - start < SLACK || self.dst.len() - self.at < literals.len() + SLACK {
            return self.push(literals);
        }
        // SAFETY: both buffers hold SLACK bytes after the literals, as just checked; they are different allocations, one
        // borrowed mutably.
        unsafe { overcopy::copy(literals.as_ptr(), self.dst.as_mut_ptr().add(self.at), literals.len()) };
        self.at += literals.len();
        Some(())
    }

    /// Writes the bytes that continue a length of `len` after its nibble.
    #[inline(always)]
    fn continued(&mut self, len: usize) -> Option<()> {
        match len.checked_sub(CONTINUED) {
            None => Some(()),
            Some(rest @ 0..255) => self.push(&[rest as u8]),
            Some(rest) => self.continuation(rest),
        }
    }

    fn continuation(&mut self, rest: usize) -> Option<()> {
        let full = rest / 255;
        self.dst.get_mut(self.at..self.at + full)?.fill(255);
        self.at += full;
        self.push(&[(rest % 255) as u8])
    }

    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.dst.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }
}

impl Sequences for SequenceWriter<'_> {
    #[inline(always)]
    fn sequence(&mut self, src: &[u8], anchor: usize, start: usize, distance: usize, len: usize) -> Option<()> {
        let literals = start - anchor;
        let code = len - MIN_MATCH;
        if literals > MOST || anchor + MOST > src.len() || self.dst.len() - self.at < SHORT || code >= CONTINUED + 255 {
            self.token(literals, code.min(CONTINUED) as u8)?;
            self.run(src, anchor, start)?;
            self.push(&(distance as u16).to_le_bytes())?;
            return self.continued(code);
        }
        // Nobody can predict which of the lengths are continued, so that both are, each under what follows if it is not.
        let long_run = usize::from(literals >= CONTINUED);
        let long_match = usize::from(code >= CONTINUED);
        // SAFETY: as many bytes as are copied are readable at `anchor`, and as many as the longest short sequence has are
        // writable at `self.at`, as just checked.
        unsafe {
            let to = self.dst.as_mut_ptr().add(self.at);
            *to = (literals.min(CONTINUED) << 4 | code.min(CONTINUED)) as u8;
            *to.add(1) = literals.wrapping_sub(CONTINUED) as u8;
            let to = to.add(1 + long_run);
            overcopy::copy(src.as_ptr().add(anchor), to, MOST);
            let to = to.add(literals);
            to.cast::<u16>().write_unaligned((distance as u16).to_le());
            *to.add(2) = code.wrapping_sub(CONTINUED) as u8;
        }
        self.at += 1 + long_run + literals + 2 + long_match;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways to write a sequence write the same, and neither more than there is room for.
    #[test]
    fn short_sequences_are_written_as_long_ones() {
        let src: Vec<u8> = (0..600).map(|i| i as u8).collect();
        for anchor in [0, 100, 560, 570] {
            for literals in [0, 1, 14, 15, 16, 31, 32, 33, 300].into_iter().filter(|n| anchor + n <= src.len()) {
                for len in [4, 5, 18, 19, 20, 273, 274, 275, 600] {
                    let start = anchor + literals;
                    // As much room as it takes sends all but the longest down the long way, and more room the short way.
                    let extra = |length: usize| length.checked_sub(15).map_or(0, |rest| 1 + rest / 255);
                    let expected = 1 + extra(literals) + literals + 2 + extra(len - MIN_MATCH);
                    let mut exact = vec![0; expected];
                    let mut writer = SequenceWriter::new(&mut exact);
                    assert_eq!(writer.sequence(&src, anchor, start, 0x1234, len), Some(()));
                    assert_eq!(writer.at, expected);
                    let mut more = vec![0; expected + 100];
                    let mut writer = SequenceWriter::new(&mut more);
                    assert_eq!(writer.sequence(&src, anchor, start, 0x1234, len), Some(()));
                    assert_eq!(writer.at, expected);
                    assert_eq!(exact, more[..expected], "{literals} literals from {anchor}, a match of {len}");
                    let mut short = vec![0; expected - 1];
                    assert_eq!(SequenceWriter::new(&mut short).sequence(&src, anchor, start, 0x1234, len), None);
                }
            }
        }
    }
}
