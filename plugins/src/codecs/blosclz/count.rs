//! Counts the bytes of a BloscLZ stream that nobody writes.

use super::encode::Operations;
use super::{CONTINUED, FAR_DISTANCE, LENGTH_BIAS, MAX_LITERALS};

/// How many bytes the operations so far would take.
#[derive(Default)]
pub(super) struct OpCounter {
    written: usize,
}

impl OpCounter {
    pub(super) fn written(&self) -> usize {
        self.written
    }

    #[inline(always)]
    fn literals(&mut self, len: usize) {
        self.written += len + len.div_ceil(MAX_LITERALS);
    }
}

impl Operations for OpCounter {
    #[inline(always)]
    fn sequence(&mut self, _: &[u8], anchor: usize, start: usize, distance: usize, len: usize) -> Option<()> {
        self.literals(start - anchor);
        self.written += match (len - LENGTH_BIAS).checked_sub(CONTINUED) {
            None => 2,
            Some(rest) => 3 + rest / 255,
        };
        self.written += if distance > FAR_DISTANCE { 2 } else { 0 };
        Some(())
    }

    #[inline(always)]
    fn last(&mut self, src: &[u8], anchor: usize) -> Option<()> {
        self.literals(src.len() - anchor);
        Some(())
    }
}
