//! The cheapest sequences for a stretch of overlapping matches.
//!
//! Of the intervals that are found, only those matter that reach furthest from some position on. A path comes to such a
//! piece from the first one that it overlaps, at the end of that one or where its length stops fitting the token, or through
//! literals from the one before. Three comparisons for each piece, instead of some for each position, find a path that costs
//! at most 1 % more than the cheapest: a test compares it with an exhaustive search.

use super::matches::MatchInterval;
use super::sequence::MIN_MATCH;

/// Costs are counted in fractions of a byte, so that of two paths of the same size the one with fewer sequences, which
/// decodes faster, is cheaper.
const BYTE: u32 = 16;

/// A token and a distance.
const SEQUENCE: u32 = 3 * BYTE + 1;

/// The longest match whose length fits the token.
const SHORT_MATCH: u32 = MIN_MATCH as u32 + 14;

/// The cost of what is not possible: more than that of any segment, and no overflow when more is added.
const NEVER: u32 = u32::MAX / 4;

/// Intervals that overlap, and the path through them.
#[derive(Default)]
pub(super) struct Segment {
    /// Starts and ends ascend. The first one is no interval: it ends where the segment begins.
    pieces: Vec<Piece>,
    /// The path, as the parts of intervals that it takes, the last one first.
    sequences: Vec<MatchInterval>,
}

/// An interval that reaches furthest from some position on, and the path that ends with it.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    start: u32,
    end: u32,
    distance: u32,
    /// Where the path comes to this piece.
    entry: u32,
    /// The cost of the path to the end of the piece.
    cost: u32,
    /// The cost of the path as far as the length fits the token.
    short_cost: u32,
    /// The number of the piece before it on the path.
    before: u32,
    /// Where the path leaves that one.
    cut: u32,
}

impl Segment {
    /// Forgets all intervals.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.pieces.push(Piece::default());
    }

    /// Adds an interval, unless another one reaches as far from an earlier start.
    #[inline(always)]
    pub(super) fn add(&mut self, interval: MatchInterval) {
        let (start, end) = (interval.start as u32, interval.end as u32);
        let piece = Piece { start, end, distance: interval.distance as u32, ..Piece::default() };
        // The first one is never reached: nothing ends at or before 0.
        while let Some(last) = self.pieces.last() {
            if last.start < start || last.end > end || self.pieces.len() == 1 {
                break;
            }
            self.pieces.pop();
        }
        match self.pieces.last() {
            Some(last) if self.pieces.len() > 1 && last.end >= end => {
                if last.start > start {
                    self.insert(piece);
                }
            }
            _ => self.pieces.push(piece),
        }
    }

    /// Adds an interval that does not reach as far as the last one.
    #[cold]
    fn insert(&mut self, piece: Piece) {
        let place = 1 + self.pieces[1..].partition_point(|other| other.start <= piece.start);
        if place > 1 && self.pieces[place - 1].end >= piece.end {
            return;
        }
        // Another one that begins at the same place reaches less far, as do those that begin later and end before.
        let from = place - usize::from(place > 1 && self.pieces[place - 1].start == piece.start);
        let to = from + self.pieces[from..].partition_point(|other| other.end <= piece.end);
        self.pieces.splice(from..to, [piece]);
    }

    /// The sequences of a cheap path from the first start of an interval to the furthest end, with matches that begin at
    /// `limit` or before; the last one first. What they leave out are literals.
    #[inline(always)]
    pub(super) fn solve(&mut self, limit: usize) -> &[MatchInterval] {
        self.sequences.clear();
        if let &[_, Piece { start, end, distance, .. }] = self.pieces.as_slice() {
            self.sequences.push(interval(start, end, distance));
        } else {
            self.link(limit as u32);
            self.trace();
        }
        &self.sequences
    }

    /// Finds the cheapest way to each piece.
    fn link(&mut self, limit: u32) {
        let pieces = self.pieces.as_mut_slice();
        let [origin, first, ..] = pieces else { return };
        (origin.end, origin.entry) = (first.start, first.start);
        // The first piece that ends where the next one can go on.
        let mut overlap = 0;
        for i in 1..pieces.len() {
            let Piece { start, end, .. } = pieces[i];
            while pieces[overlap].end < start && overlap + 1 < i {
                overlap += 1;
            }
            let (other, earlier) = (pieces[overlap], pieces[overlap.saturating_sub(1)]);
            let possible = |entry: u32, cost: u32| {
                if entry + MIN_MATCH as u32 <= end && entry >= start && entry <= limit { cost } else { NEVER }
            };
            // Written so that the comparisons become selections, as no processor can predict which way is the best.
            let literals = possible(start, earlier.cost + start.saturating_sub(earlier.end) * BYTE);
            let (mut cost, mut entry, mut cut, mut before) = (literals, start, earlier.end, overlap.saturating_sub(1));
            // At its end, unless that leaves less than a match, or is too late to begin one.
            let leave = other.end.min(end - MIN_MATCH as u32).min(limit);
            let whole = if leave >= other.entry + MIN_MATCH as u32 { possible(leave, other.cost) } else { NEVER };
            if whole <= cost {
                (cost, entry, cut, before) = (whole, leave, leave, overlap);
            }
            let short_end = other.entry + SHORT_MATCH;
            let short_entry = short_end.max(start);
            let short = possible(short_entry, other.short_cost + (short_entry - short_end) * BYTE);
            if short < cost && other.short_cost < other.cost {
                (cost, entry, cut, before) = (short, short_entry, short_end, overlap);
            }
            let len = end - entry;
            let extra = if len > SHORT_MATCH { 1 + (len - SHORT_MATCH - 1) / 255 } else { 0 };
            let piece = &mut pieces[i];
            (piece.entry, piece.cut, piece.before) = (entry, cut, before as u32);
            piece.short_cost = cost + SEQUENCE;
            piece.cost = piece.short_cost + extra * BYTE;
        }
    }

    /// Collects the path to the last end.
    fn trace(&mut self) {
        let Some(&last) = self.pieces.last() else { return };
        // A last match that adds little costs more than literals.
        let (mut best, mut cost) = (last, last.cost);
        for &other in self.pieces[1..].iter().rev().skip(1).take_while(|other| last.end - other.end < 4) {
            let with_literals = other.cost + (last.end - other.end) * BYTE;
            if with_literals < cost {
                (best, cost) = (other, with_literals);
            }
        }
        let mut end = best.end;
        while end > best.entry {
            self.sequences.push(interval(best.entry, end, best.distance));
            (end, best) = (best.cut, self.pieces[best.before as usize]);
        }
    }
}

fn interval(start: u32, end: u32, distance: u32) -> MatchInterval {
    MatchInterval { start: start as usize, end: end as usize, distance: distance as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing::Random;

    /// The cost of the cheapest path from `origin` to `end`, looked for at every position.
    fn cheapest(intervals: &[MatchInterval], origin: usize, end: usize, limit: usize) -> u32 {
        let mut costs = vec![0; end - origin + 1];
        for at in (origin..end).rev() {
            let mut cost = BYTE + costs[at + 1 - origin];
            for interval in intervals.iter().filter(|i| i.start <= at && at + MIN_MATCH <= i.end && at <= limit) {
                let lengths = MIN_MATCH..=interval.end - at;
                cost = lengths.map(|len| sequence(len) + costs[at + len - origin]).min().unwrap_or(cost).min(cost);
            }
            costs[at - origin] = cost;
        }
        costs[0]
    }

    fn sequence(len: usize) -> u32 {
        let extra = (len as u32).checked_sub(SHORT_MATCH + 1).map_or(0, |rest| 1 + rest / 255);
        SEQUENCE + extra * BYTE
    }

    #[test]
    fn paths_are_valid_and_hardly_ever_dearer_than_the_cheapest() {
        let (mut found, mut least) = (0, 0);
        for seed in 1..=2000 {
            let mut random = Random(seed);
            let mut segment = Segment::default();
            segment.clear();
            let (mut intervals, mut end) = (Vec::new(), 1000 + MIN_MATCH + random.below(20));
            intervals.push(MatchInterval { start: 1000, end, distance: 1 });
            for distance in 2..2 + random.below(12) {
                // They contain four bytes two before the end so far, and begin anywhere.
                let start = (end - 2).saturating_sub(random.below(30)).max(1000 - random.below(5));
                let longest = if random.below(4) == 0 { 400 } else { 12 };
                let next = end + 2 + random.below(longest);
                intervals.push(MatchInterval { start, end: next, distance });
                // Another one from the same search, which begins earlier and reaches less far.
                if random.below(3) == 0 {
                    let start = start - random.below(start - 990);
                    intervals.push(MatchInterval { start, end: end + 2, distance: distance + 100 });
                }
                end = next;
            }
            intervals.iter().for_each(|&interval| segment.add(interval));
            let limit = end - 2 - random.below(30);
            let origin = intervals.iter().map(|interval| interval.start).min().unwrap();
            if origin > limit || intervals.iter().any(|interval| interval.start > limit) {
                continue;
            }

            let (mut at, mut cost) = (origin, 0);
            for path in segment.solve(limit).iter().rev() {
                assert!(at <= path.start && path.start <= limit && path.start + MIN_MATCH <= path.end, "seed {seed}");
                let inside =
                    |i: &MatchInterval| i.distance == path.distance && i.start <= path.start && path.end <= i.end;
                assert!(intervals.iter().any(inside), "seed {seed}: {path:?} is no part of {intervals:?}");
                cost += (path.start - at) as u32 * BYTE + sequence(path.end - path.start);
                at = path.end;
            }
            cost += (end - at) as u32 * BYTE;
            let cheapest = cheapest(&intervals, origin, end, limit);
            assert!(cost >= cheapest, "seed {seed}");
            (found, least) = (found + cost, least + cheapest);
        }
        assert!(found <= least + least / 100, "{found} where {least} is possible");
    }
}
