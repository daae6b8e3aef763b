//! The LZ4 block encoder of the codec `lz4hc` from level 3 on.
//!
//! A match costs the same whatever its distance, and a part of a match is a match. So the finder returns intervals of
//! the input: from any position inside, a sequence can run to the end of the interval. One search, two bytes before the
//! end of the furthest interval so far, finds the next ones that reach beyond; where it finds none, a segment ends. The
//! cheapest path through the intervals of each segment is then computed exactly.

use super::matches::{Finder, MatchInterval};
use super::sequence::{MIN_MATCH, SequenceWriter};
use crate::codecs::input::Input;
use crate::codecs::match_tables::Table;

/// Segments are cut after this many bytes.
const MAX_SEGMENT: usize = 2048;

/// After this many literals the steps from search to search get longer by one (logarithm).
const SKIP_LOG: u32 = 9;

/// How far into a good enough match other paths are considered.
const NICE_MARGIN: usize = 32;

/// Costs are counted in fractions of a byte, so that of two paths of the same size the one with fewer sequences, which
/// decodes faster, is cheaper.
const BYTE: u32 = 16;

/// A token and a distance.
const SEQUENCE: u32 = 3 * BYTE + 1;

/// The longest match whose length fits the token.
const SHORT_MATCH: usize = MIN_MATCH + 14;

/// The search effort.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// How many candidates with the same four bytes are compared.
    pub(super) depth: usize,
    /// A match of this length ends a search.
    pub(super) enough: usize,
    /// A match of this length ends a segment.
    pub(super) nice: usize,
}

/// Compresses `input` from `start` on into `dst`, or returns `None` if the result does not fit. The bytes before
/// `start` are the dictionary. The table is empty.
pub(super) fn compress<'a, const BACK: usize, I: Input<'a>, T: Table>(
    input: I,
    start: usize,
    table: &mut T,
    plan: &mut OptimalParse,
    Effort { depth, enough, nice }: Effort,
    dst: &mut [u8],
) -> Option<usize> {
    let bytes = input.bytes();
    let mut out = SequenceWriter::new(dst);
    let Some(mut finder) = Finder::new(input, start, table, depth, enough) else {
        return out.last(&bytes[start..]);
    };
    let mut anchor = start;
    let mut at = start;
    while at <= finder.limit() {
        plan.intervals.clear();
        let Some(mut end) = finder.search::<BACK>(at, anchor, &mut plan.intervals) else {
            // In a long run of literals matches are rare: enter every position, but do not search at each.
            at += 1 + ((at - anchor) >> SKIP_LOG);
            continue;
        };
        let mut from = at;
        while end - 2 <= finder.limit() && end - from < nice && end - at < MAX_SEGMENT {
            from = end - 2;
            let Some(next) = finder.search::<BACK>(from, anchor, &mut plan.intervals) else {
                break;
            };
            end = next;
        }
        plan.solve(from + NICE_MARGIN, finder.limit());
        for &MatchInterval { start, end, distance } in &plan.sequences {
            out.sequence(bytes, anchor, start, distance, end - start)?;
            anchor = end;
        }
        at = end;
    }
    out.last(&bytes[anchor..])
}

/// The intervals of a segment and the cheapest path through them.
#[derive(Default)]
pub(super) struct OptimalParse {
    intervals: Vec<MatchInterval>,
    /// The interval that reaches furthest, by the position from which it does, in ascending order.
    pieces: Vec<ReachEntry>,
    /// Cost from each position of the segment to its end.
    costs: Vec<u32>,
    /// The cheapest path, as the parts of intervals that it takes.
    sequences: Vec<MatchInterval>,
}

/// From `start` up to the next piece, the interval that ends at `end` reaches furthest.
#[derive(Debug, Clone, Copy)]
struct ReachEntry {
    start: usize,
    end: usize,
    distance: usize,
}

impl OptimalParse {
    /// Finds the cheapest path from the first start of an interval to the furthest end, with matches that begin at
    /// `limit` or before. All intervals but those that reach furthest end before `considered`.
    fn solve(&mut self, considered: usize, limit: usize) {
        self.sequences.clear();
        if let &[interval] = self.intervals.as_slice() {
            return self.sequences.push(interval);
        }
        self.find_pieces();
        let (Some(&first), Some(&last)) = (self.pieces.first(), self.pieces.last()) else { return };
        let (origin, end) = (first.start, last.end);
        let stop = considered.min(end);
        self.count_costs(origin, stop, end, limit);

        let mut pieces = self.pieces.iter().peekable();
        let mut piece = first;
        let mut at = origin;
        while at < end {
            while let Some(next) = pieces.next_if(|next| next.start <= at) {
                piece = *next;
            }
            let Some(len) = piece.match_len(at, limit) else {
                at += 1;
                continue;
            };
            // Find the cheapest choice by counting again.
            let taken = match self.costs.get(at - origin).filter(|_| at < stop) {
                Some(&cost) if cost == BYTE + self.costs[at + 1 - origin] => 0,
                Some(&cost) if len > SHORT_MATCH && cost == SEQUENCE + self.costs[at + SHORT_MATCH - origin] => {
                    SHORT_MATCH
                }
                _ => len,
            };
            if taken > 0 {
                self.sequences.push(MatchInterval { start: at, end: at + taken, distance: piece.distance });
            }
            at += taken.max(1);
        }
    }

    fn find_pieces(&mut self) {
        self.pieces.clear();
        // They are nearly in this order.
        self.intervals.sort_unstable_by_key(|interval| interval.start);
        for &MatchInterval { start, end, distance } in &self.intervals {
            match self.pieces.last_mut() {
                Some(last) if last.end >= end => {}
                Some(last) if last.start == start => *last = ReachEntry { start, end, distance },
                _ => self.pieces.push(ReachEntry { start, end, distance }),
            }
        }
    }

    /// Fills `costs` for the positions from `origin` to `stop`, and a few more, on the way to `end`.
    fn count_costs(&mut self, origin: usize, stop: usize, end: usize, limit: usize) {
        let Self { pieces, costs, .. } = self;
        costs.clear();
        costs.resize(stop - origin, 0);
        // Beyond `stop` there is only the rest of the last interval.
        costs.extend((stop..=stop + SHORT_MATCH).map(|at| match end.saturating_sub(at) {
            rest @ 0..MIN_MATCH => rest as u32 * BYTE,
            rest if at > limit => rest as u32 * BYTE,
            _ => SEQUENCE,
        }));
        let mut upper = stop;
        for (i, piece) in pieces.iter().enumerate().rev() {
            let to_end = costs.get(piece.end - origin).copied().filter(|_| piece.end <= stop).unwrap_or(0);
            // Paths lead to the start of the piece, to the end of the previous one, and a few literals or a short match
            // further. Nothing leads beyond that, so an upper bound will do there.
            let before = if i > 0 { pieces[i - 1].end } else { 0 };
            let exact = before.max(piece.start) + NICE_MARGIN;
            let inside = upper.min(piece.end.saturating_sub(MIN_MATCH - 1)).min(limit + 1);
            let whole = |at: usize| {
                let len = piece.end - at;
                let extra = if len > SHORT_MATCH { 1 + (len - SHORT_MATCH - 1) / 255 } else { 0 };
                SEQUENCE + extra as u32 * BYTE + to_end
            };
            let count = |costs: &mut [u32], at: usize| {
                let mut cost = BYTE + costs[at + 1 - origin];
                if let Some(len) = piece.match_len(at, limit) {
                    if len > SHORT_MATCH {
                        cost = cost.min(SEQUENCE + costs[at + SHORT_MATCH - origin]);
                    }
                    cost = cost.min(whole(at));
                }
                costs[at - origin] = cost;
            };
            if exact < inside {
                (inside..upper).rev().for_each(|at| count(costs, at));
                costs[exact - origin..inside - origin].fill(whole(exact));
                (piece.start..exact).rev().for_each(|at| count(costs, at));
            } else {
                (piece.start..upper).rev().for_each(|at| count(costs, at));
            }
            upper = upper.min(piece.start);
        }
    }
}

impl ReachEntry {
    /// The length of the match that can begin at `at`, if there is one.
    #[inline(always)]
    fn match_len(self, at: usize, limit: usize) -> Option<usize> {
        (at <= limit && at + MIN_MATCH <= self.end).then(|| self.end - at)
    }
}
