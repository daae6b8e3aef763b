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
        if literals < CONTINUED && anchor + 16 <= src.len() && self.dst.len() - self.at >= 1 + 16 + 2 {
            // SAFETY: 16 bytes are readable at `anchor` and 19 writable at `self.at`, as just checked; the distance goes
            // at most 14 bytes after the token.
            unsafe {
                let to = self.dst.as_mut_ptr().add(self.at);
                *to = (literals << 4 | code.min(CONTINUED)) as u8;
                overcopy::store16(to.add(1), overcopy::load16(src.as_ptr().add(anchor)));
                to.add(1 + literals).cast::<u16>().write_unaligned((distance as u16).to_le());
            }
            self.at += 1 + literals + 2;
        } else {
            self.token(literals, code.min(CONTINUED) as u8)?;
            self.run(src, anchor, start)?;
            self.push(&(distance as u16).to_le_bytes())?;
        }
        self.continued(code)
    }
}
