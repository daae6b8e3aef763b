//! Writes the operations of a BloscLZ stream.

use super::{CONTINUED, FAR_DISTANCE, LENGTH_BIAS, MAX_LITERALS};
use crate::codecs::greedy::Sequences;
use crate::codecs::overcopy;

/// Set in the first byte of a stream.
const MARKER: u8 = 1 << 5;

/// The most bytes that a short sequence writes: a run of literals with its first byte, and a match with one byte of a
/// continued length and a far distance.
const SHORT: usize = 1 + MAX_LITERALS + 5;

/// Writes operations to a buffer until it is full.
pub(super) struct OpWriter<'a> {
    dst: &'a mut [u8],
    at: usize,
}

impl<'a> OpWriter<'a> {
    pub(super) fn new(dst: &'a mut [u8]) -> Self {
        Self { dst, at: 0 }
    }

    /// Writes the literals `src[anchor..end]`; `None` if they do not fit.
    fn literals(&mut self, src: &[u8], mut anchor: usize, end: usize) -> Option<()> {
        while anchor < end {
            let len = (end - anchor).min(MAX_LITERALS);
            if anchor + MAX_LITERALS <= src.len() && self.dst.len() - self.at > MAX_LITERALS {
                // SAFETY: 32 bytes are readable at `anchor`, and 33 writable at `self.at`, as just checked.
                unsafe {
                    let to = self.dst.as_mut_ptr().add(self.at);
                    *to = (len - 1) as u8;
                    overcopy::copy(src.as_ptr().add(anchor), to.add(1), MAX_LITERALS);
                }
                self.at += 1 + len;
            } else {
                self.push(&[(len - 1) as u8])?;
                self.push(src.get(anchor..anchor + len)?)?;
            }
            anchor += len;
        }
        Some(())
    }

    /// Writes a match: its distance less 1, and its length field.
    fn matched(&mut self, distance: usize, len: usize) -> Option<()> {
        let near = distance.min(FAR_DISTANCE);
        self.push(&[first_byte(near, len)])?;
        if let Some(rest) = len.checked_sub(CONTINUED) {
            self.dst.get_mut(self.at..self.at + rest / 255)?.fill(255);
            self.at += rest / 255;
            self.push(&[(rest % 255) as u8])?;
        }
        self.push(&[near as u8])?;
        if near == FAR_DISTANCE {
            self.push(&((distance - FAR_DISTANCE) as u16).to_be_bytes())?;
        }
        Some(())
    }

    /// Writes the last literals, `src[anchor..]`, marks the stream and returns its length.
    pub(super) fn finish(mut self, src: &[u8], anchor: usize) -> Option<usize> {
        // Nothing was found: the result would not fit.
        if anchor == 0 {
            return None;
        }
        self.literals(src, anchor, src.len())?;
        // C-Blosc2 always keeps one byte of the output unused.
        if self.at >= self.dst.len() {
            return None;
        }
        self.dst[0] |= MARKER;
        Some(self.at)
    }

    #[inline(always)]
    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.dst.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }
}

/// The first byte of a match.
#[inline(always)]
fn first_byte(near: usize, len: usize) -> u8 {
    (len.min(CONTINUED) << 5 | near >> 8) as u8
}

impl Sequences for OpWriter<'_> {
    #[inline(always)]
    fn sequence(&mut self, src: &[u8], anchor: usize, start: usize, distance: usize, len: usize) -> Option<()> {
        let (literals, distance, len) = (start - anchor, distance - 1, len - LENGTH_BIAS);
        if literals > MAX_LITERALS
            || src.len() - anchor < MAX_LITERALS
            || self.dst.len() - self.at < SHORT
            || len >= CONTINUED + 255
        {
            self.literals(src, anchor, start)?;
            return self.matched(distance, len);
        }
        // Nobody can predict which of the parts there are, so that all of them are written, each over the one before it if
        // there is none of that.
        let near = distance.min(FAR_DISTANCE);
        let run = literals + usize::from(literals > 0);
        let continued = usize::from(len >= CONTINUED);
        // SAFETY: 32 bytes are readable at `anchor`, and as many as the longest short sequence has are writable at `self.at`,
        // as just checked.
        unsafe {
            let to = self.dst.as_mut_ptr().add(self.at);
            *to = literals.wrapping_sub(1) as u8;
            overcopy::copy(src.as_ptr().add(anchor), to.add(1), MAX_LITERALS);
            let to = to.add(run);
            *to = first_byte(near, len);
            *to.add(1) = len.wrapping_sub(CONTINUED) as u8;
            let to = to.add(1 + continued);
            *to = near as u8;
            to.add(1).cast::<u16>().write_unaligned((distance.wrapping_sub(FAR_DISTANCE) as u16).to_be());
        }
        self.at += run + 2 + continued + if near == FAR_DISTANCE { 2 } else { 0 };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::blosclz::count::OpCounter;
    use crate::codecs::testing::Random;

    /// The counter, and a writer that has just enough room and one that has more, agree on all kinds of sequences; so do the
    /// two ways to write one.
    #[test]
    fn short_sequences_are_written_as_long_ones() {
        let mut random = Random(11);
        let src: Vec<u8> = (0..300).map(|i| i as u8).collect();
        for anchor in [0, 100, 230, 270] {
            for literals in [0, 1, 2, 30, 31, 32, 33, 64, 65].into_iter().filter(|n| anchor + n <= src.len()) {
                for len in [3, 6, 8, 9, 10, 263, 264, 265, 520, 800] {
                    let start = anchor + literals;
                    for distance in [1, 255, 256, 257, 8191, 8192, 8193, 8448, 65_535, 65_536, 1 + random.below(65_535)]
                    {
                        let mut counter = OpCounter::default();
                        counter.sequence(&src, anchor, start, distance, len).expect("it always goes on");
                        let expected = counter.finish(0);
                        let mut parts = vec![0; expected];
                        let mut writer = OpWriter::new(&mut parts);
                        writer.literals(&src, anchor, start).expect("it fits");
                        writer.matched(distance - 1, len - LENGTH_BIAS).expect("it fits");
                        assert_eq!(writer.at, expected);
                        for room in [expected, expected + 200] {
                            let mut whole = vec![0; room];
                            let mut writer = OpWriter::new(&mut whole);
                            let written = writer.sequence(&src, anchor, start, distance, len);
                            assert_eq!((written, writer.at), (Some(()), expected));
                            assert_eq!(whole[..expected], parts, "{literals} literals, {len} at {distance}");
                        }
                        let mut short = vec![0; expected - 1];
                        assert_eq!(OpWriter::new(&mut short).sequence(&src, anchor, start, distance, len), None);
                    }
                }
            }
        }
    }
}
