//! Writes the operations of a BloscLZ stream.

use super::{CONTINUED, FAR_DISTANCE, MAX_LITERALS};
use crate::codecs::overcopy;

/// Set in the first byte of a stream.
const MARKER: u8 = 1 << 5;

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
    #[inline(always)]
    pub(super) fn literals(&mut self, src: &[u8], mut anchor: usize, end: usize) -> Option<()> {
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
    #[inline(always)]
    pub(super) fn matched(&mut self, distance: usize, len: usize) -> Option<()> {
        let near = distance.min(FAR_DISTANCE);
        let first = (len.min(CONTINUED) << 5 | near >> 8) as u8;
        if len < CONTINUED {
            self.push(&[first, near as u8])?;
        } else {
            self.push(&[first])?;
            let rest = len - CONTINUED;
            self.dst.get_mut(self.at..self.at + rest / 255)?.fill(255);
            self.at += rest / 255;
            self.push(&[(rest % 255) as u8, near as u8])?;
        }
        if near == FAR_DISTANCE {
            self.push(&((distance - FAR_DISTANCE) as u16).to_be_bytes())?;
        }
        Some(())
    }

    /// Marks the stream and returns its length.
    pub(super) fn finish(self) -> Option<usize> {
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
