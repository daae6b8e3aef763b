//! Finds matches for the codec `lz4hc`.

use super::segment::Segment;
use super::sequence::{LAST_LITERALS, MATCH_LIMIT, MIN_MATCH};
use crate::codecs::input::{Input, common, common_before};
use crate::codecs::match_tables::Table;

/// In matches of at least this length, only every [`SPARSE_STEP`]th position is entered. The others are found by
/// searching backwards from these.
const SPARSE_FROM: usize = 32;

/// See [`SPARSE_FROM`].
const SPARSE_STEP: usize = 3;

/// A match: `bytes[start..end]` equals the bytes `distance` before it, and so does every part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MatchInterval {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) distance: usize,
}

/// Looks for matches in one input.
pub(super) struct Finder<'t, I, T> {
    input: I,
    table: &'t mut T,
    /// The first position that has not been entered.
    next: usize,
    /// The last position where a match may start: [`MATCH_LIMIT`] bytes before the end of the input.
    limit: usize,
    /// Where matches must end at the latest: [`LAST_LITERALS`] bytes before the end of the input.
    end: usize,
    /// How many candidates are compared.
    depth: usize,
}

impl<'t, 'a, I: Input<'a>, T: Table> Finder<'t, I, T> {
    /// Creates a finder with an empty `table`, and enters what is before `start`. `None` if there is no room for a
    /// match.
    pub(super) fn new(input: I, start: usize, table: &'t mut T, depth: usize) -> Option<Self> {
        let len = input.bytes().len();
        let limit = len.checked_sub(MATCH_LIMIT).filter(|&limit| start <= limit)?;
        let finder = Self { input, table, next: start, limit, end: len - LAST_LITERALS, depth };
        for at in 0..start {
            // SAFETY: at < start <= limit.
            let word = unsafe { finder.word(at) };
            finder.table.enter(word, at);
        }
        Some(finder)
    }

    /// The last position where a match may start.
    #[inline(always)]
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// The four bytes at `at`, the first one lowest.
    ///
    /// # Safety
    /// `at <= self.limit`.
    #[inline(always)]
    unsafe fn word(&self, at: usize) -> u32 {
        // SAFETY: by the contract `at` is 12 bytes before the end, or earlier.
        u32::from_le(unsafe { self.input.load4(at) })
    }

    /// Enters all positions before `to`, or some if they lie in a long match.
    #[inline(always)]
    pub(super) fn enter(&mut self, to: usize) {
        let to = to.min(self.limit + 1);
        while self.next < to {
            // SAFETY: next < to <= limit + 1.
            let word = unsafe { self.word(self.next) };
            self.table.enter(word, self.next);
            self.next += if to - self.next > SPARSE_FROM { SPARSE_STEP } else { 1 };
        }
    }

    /// Looks for matches that contain the four bytes at `at`, and may begin anywhere from `low` on. Adds to `segment`
    /// those that reach further than all nearer ones, and those that begin before them. Returns the furthest end, or `None`
    /// if there is no match.
    ///
    /// # Panics
    /// Unless `low <= at <= self.limit()`.
    #[inline(always)]
    pub(super) fn search(&mut self, at: usize, low: usize, segment: &mut Segment) -> Option<usize> {
        assert!(low <= at && at <= self.limit, "a match starts before the limit");
        self.enter(at);
        let input = self.input;
        // SAFETY: at <= limit.
        let word = unsafe { self.word(at) };
        let (mut start, mut end) = (at, at + MIN_MATCH - 1);
        for distance in self.table.distances(word, at).take(self.depth) {
            let candidate = at - distance;
            // Most candidates differ in the bytes that would make their match longer than the best so far.
            // SAFETY: end < self.end and start <= at <= limit, so four bytes can be read from `end - 3` and from
            // `start - 1` (which is not before the first byte even `distance` earlier, as the conditions before it
            // check). `end - 3` is not before `at`, and `distance` at most `at` by the contract of the table.
            let longer = unsafe {
                input.load4(end - 3) == input.load4(end - 3 - distance)
                    || (start > low && start > distance && input.load4(start - 1) == input.load4(start - 1 - distance))
            };
            // SAFETY: candidate <= at <= limit.
            if longer && unsafe { input.load4(candidate) == input.load4(at) } {
                // SAFETY: at + 4 <= limit + 4 <= self.end, and the candidate is not behind `at`.
                let len = MIN_MATCH + unsafe { common(input, candidate + MIN_MATCH, at + MIN_MATCH, self.end) };
                // SAFETY: no more than the candidate has before it, which is not behind `at`.
                let before = unsafe { common_before(input, candidate, at, candidate.min(at - low)) };
                let interval = MatchInterval { start: at - before, end: at + len, distance };
                if interval.end > end || interval.start < start {
                    segment.add(interval);
                    (start, end) = (start.min(interval.start), end.max(interval.end));
                    if end == self.end {
                        break;
                    }
                }
            }
        }
        // Whatever was found contains four bytes.
        (end >= at + MIN_MATCH).then_some(end)
    }
}
