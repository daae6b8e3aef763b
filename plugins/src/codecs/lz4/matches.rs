//! Finds matches for the codec `lz4hc`.

use super::segment::Segment;
use super::sequence::{LAST_LITERALS, MATCH_LIMIT, MIN_MATCH};
use crate::codecs::input::{Input, common, common_before};
use crate::codecs::match_tables::HashChains;

/// In matches of at least this length, only every [`SPARSE_STEP`]th position is entered. The others are found by
/// searching backwards from these.
const SPARSE_FROM: usize = 32;

/// See [`SPARSE_FROM`].
const SPARSE_STEP: usize = 3;

/// So many positions are entered at once where searches follow close upon each other, so that they need not wait for what
/// was entered just before, and few of them branch on how many there are.
const AHEAD: usize = 96;

/// A search follows close upon the one before if fewer positions than this have not been entered.
const NEAR: usize = 20;

/// A match: `bytes[start..end]` equals the bytes `distance` before it, and so does every part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MatchInterval {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) distance: usize,
}

/// Looks for matches in one input.
pub(super) struct Finder<'t, I> {
    input: I,
    table: &'t mut HashChains,
    /// The first position that has not been entered.
    next: usize,
    /// The last position where a match may start: [`MATCH_LIMIT`] bytes before the end of the input.
    limit: usize,
    /// Where matches must end at the latest: [`LAST_LITERALS`] bytes before the end of the input.
    end: usize,
    /// How many candidates are compared.
    depth: usize,
}

impl<'t, 'a, I: Input<'a>> Finder<'t, I> {
    /// Creates a finder with an empty `table`, and enters what is before `start`. `None` if there is no room for a
    /// match.
    pub(super) fn new(input: I, start: usize, table: &'t mut HashChains, depth: usize) -> Option<Self> {
        let len = input.bytes().len();
        let limit = len.checked_sub(MATCH_LIMIT).filter(|&limit| start <= limit)?;
        let mut finder = Self { input, table, next: 0, limit, end: len - LAST_LITERALS, depth };
        finder.enter_all(start);
        Some(finder)
    }

    /// The last position where a match may start.
    #[inline(always)]
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Enters position `next`, and returns how far back its chain begins.
    ///
    /// # Safety
    /// `self.next <= self.limit`.
    #[inline(always)]
    unsafe fn enter_next(&mut self) -> usize {
        let at = self.next;
        self.next += 1;
        // SAFETY: by the contract `at` is 12 bytes before the end, or earlier.
        let word = u32::from_le(unsafe { self.input.load4(at) });
        self.table.enter(word, at)
    }

    /// Enters all positions before `to` where a match may start.
    #[inline(always)]
    fn enter_all(&mut self, to: usize) {
        let to = to.min(self.limit + 1);
        while self.next < to {
            // SAFETY: next < to <= limit + 1.
            unsafe { self.enter_next() };
        }
    }

    /// Enters all positions before `to` where a match may start, or some if they lie in a long match.
    #[inline(always)]
    fn enter_sparsely(&mut self, to: usize) {
        let to = to.min(self.limit + 1);
        while self.next + SPARSE_FROM < to {
            // SAFETY: next < to <= limit + 1.
            unsafe { self.enter_next() };
            self.next += SPARSE_STEP - 1;
        }
        self.enter_all(to);
    }

    /// How far back the chain of `at` begins. Enters what is before `at`, `at` itself, and what is close behind it if the
    /// next searches are likely to be there.
    ///
    /// # Safety
    /// `at <= self.limit`.
    #[inline(always)]
    unsafe fn chain(&mut self, at: usize) -> usize {
        if at < self.next {
            return self.table.link(at);
        }
        let near = at - self.next < NEAR;
        self.enter_sparsely(at);
        // SAFETY: what is before `at` has been entered, so that `at` is next.
        let distance = unsafe { self.enter_next() };
        if near {
            self.enter_all(at + AHEAD);
        }
        distance
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
        // SAFETY: at <= limit.
        let distance = unsafe { self.chain(at) };
        let input = self.input;
        let (mut start, mut end) = (at, at + MIN_MATCH - 1);
        for distance in self.table.distances(at, distance).take(self.depth) {
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
