//! Divides a stream into blocks where the data change.
//!
//! An encoder parses the input region by region. Neighbouring regions become one block if that takes less than two, which
//! it hardly ever does where one byte plane ends and another begins.

use std::ops::Range;

use super::bits::BitWriter;
use super::block::{self, Counts, Sequence};

/// Bytes of a region.
const REGION: usize = 1 << 14;

/// Planes shorter than this do not end a region.
const MIN_PLANE: usize = 1 << 12;

/// A stream that is being written.
pub(super) struct Blocks<'s, 'a> {
    bytes: &'s [u8],
    /// Bytes of a byte plane.
    plane: usize,
    out: BitWriter<'a>,
    /// The sequences of the block so far and of the region after it.
    sequences: &'s mut Vec<Sequence>,
    /// How many of them belong to the block.
    in_block: usize,
    /// Where the block begins, what it consists of, and what it costs.
    start: usize,
    counts: Counts,
    cost: u64,
    /// Where the region begins.
    at: usize,
}

impl<'s, 'a> Blocks<'s, 'a> {
    /// Starts a stream of `bytes`, which consist of planes of `plane` bytes; `None` if not even its header fits.
    pub(super) fn new(
        bytes: &'s [u8],
        plane: usize,
        sequences: &'s mut Vec<Sequence>,
        dst: &'a mut [u8],
    ) -> Option<Self> {
        sequences.clear();
        let out = BitWriter::new(dst)?;
        Some(Self { bytes, plane, out, sequences, in_block: 0, start: 0, counts: Counts::NONE, cost: 0, at: 0 })
    }

    /// The next region, and where its sequences go; `None` at the end of the input.
    pub(super) fn region(&mut self) -> Option<(Range<usize>, &mut Vec<Sequence>)> {
        let at = self.at;
        if at == self.bytes.len() {
            return None;
        }
        let end = (at + REGION).min(self.bytes.len());
        let end = if self.plane < MIN_PLANE { end } else { end.min((at / self.plane + 1) * self.plane) };
        Some((at..end, self.sequences))
    }

    /// Ends the region at `reached`, to which its last match extends, and returns what it consists of; `None` if the
    /// stream does not fit.
    pub(super) fn end_region(&mut self, reached: usize) -> Option<Counts> {
        let region = Counts::of(&self.bytes[self.at..reached], &self.sequences[self.in_block..]);
        let mut both = self.counts.clone();
        both.add(&region);
        let (region_cost, both_cost) = (region.cost(), both.cost());
        if self.at == 0 || both_cost <= self.cost + region_cost {
            (self.counts, self.cost) = (both, both_cost);
        } else {
            let bytes = &self.bytes[self.start..self.at];
            block::write(&mut self.out, bytes, &self.sequences[..self.in_block], &mut self.counts, false)?;
            self.sequences.drain(..self.in_block);
            (self.start, self.counts, self.cost) = (self.at, region.clone(), region_cost);
        }
        self.in_block = self.sequences.len();
        self.at = reached;
        Some(region)
    }

    /// Ends the stream, and returns its length; `None` if it does not fit.
    pub(super) fn finish(mut self) -> Option<usize> {
        block::write(&mut self.out, &self.bytes[self.start..], self.sequences, &mut self.counts, true)?;
        self.out.finish(super::library::adler32(self.bytes))
    }
}
