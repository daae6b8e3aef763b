//! The LZ4 block encoder of the codec `lz4hc` from level 3 on.
//!
//! A match costs the same whatever its distance, and a part of a match is a match. So the finder returns intervals of
//! the input: from any position inside, a sequence can run to the end of the interval. One search, two bytes before the
//! end of the furthest interval so far, finds the next ones that reach beyond; where it finds none, a segment ends. The
//! cheapest path through the intervals of each [`Segment`] is then computed.

use super::matches::{Finder, MatchInterval};
use super::segment::Segment;
use super::sequence::SequenceWriter;
use crate::codecs::greedy::Sequences;
use crate::codecs::input::Input;
use crate::codecs::match_tables::HashChains;

/// Segments are cut after this many bytes.
const MAX_SEGMENT: usize = 2048;

/// How hard to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// How many candidates a search compares.
    pub(super) depth: usize,
    /// After this many literals the steps from search to search get longer by one (logarithm).
    pub(super) patience: u32,
}

/// How many bytes before the end of a match the search for the next one begins.
const OVERLAP: usize = 2;

/// Compresses `input` from `start` on into `dst`, or returns `None` if the result does not fit. The bytes before
/// `start` are the dictionary. The table is empty.
pub(super) fn compress<'a>(
    input: impl Input<'a>,
    start: usize,
    table: &mut HashChains,
    segment: &mut Segment,
    Effort { depth, patience }: Effort,
    dst: &mut [u8],
) -> Option<usize> {
    let bytes = input.bytes();
    let mut out = SequenceWriter::new(dst);
    let Some(mut finder) = Finder::new(input, start, table, depth) else {
        return out.last(&bytes[start..]);
    };
    let mut anchor = start;
    let mut at = start;
    while at <= finder.limit() {
        segment.clear();
        let Some(mut end) = finder.search(at, anchor, segment) else {
            // In a long run of literals matches are rare: enter every position, but do not search at each.
            at += 1 + ((at - anchor) >> patience);
            continue;
        };
        while end - OVERLAP <= finder.limit() && end - at < MAX_SEGMENT {
            let Some(next) = finder.search(end - OVERLAP, anchor, segment) else {
                break;
            };
            end = next;
        }
        for &MatchInterval { start, end, distance } in segment.solve(finder.limit()).iter().rev() {
            out.sequence(bytes, anchor, start, distance, end - start)?;
            anchor = end;
        }
        at = end;
    }
    out.last(&bytes[anchor..])
}
