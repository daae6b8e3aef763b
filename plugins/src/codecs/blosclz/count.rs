//! Counts the bytes of a BloscLZ stream that nobody writes.

use super::{CONTINUED, FAR_DISTANCE, LENGTH_BIAS, MAX_LITERALS};
use crate::codecs::greedy::Sequences;

/// How many bytes the sequences so far would take.
#[derive(Default)]
pub(super) struct OpCounter {
    written: usize,
}

impl OpCounter {
    /// The length of the stream, which ends with so many literals.
    pub(super) fn finish(self, literals: usize) -> usize {
        self.written + with_lengths(literals)
    }
}

impl Sequences for OpCounter {
    #[inline(always)]
    fn sequence(&mut self, _: &[u8], anchor: usize, start: usize, distance: usize, len: usize) -> Option<()> {
        let lengths = match (len - LENGTH_BIAS).checked_sub(CONTINUED) {
            None => 1,
            Some(rest) => 2 + rest / 255,
        };
        let distance = if distance > FAR_DISTANCE { 3 } else { 1 };
        self.written += with_lengths(start - anchor) + lengths + distance;
        Some(())
    }
}

/// What so many literals take, with the bytes that begin their runs.
#[inline(always)]
fn with_lengths(literals: usize) -> usize {
    literals + literals.div_ceil(MAX_LITERALS)
}
