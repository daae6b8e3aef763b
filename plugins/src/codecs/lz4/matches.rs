//! Finds matches for the codec `lz4hc`.

use super::segment::Segment;
use super::sequence::{LAST_LITERALS, MATCH_LIMIT, MAX_DISTANCE, MIN_MATCH};
use crate::codecs::input::{Input, common, common_before};
use crate::codecs::match_tables::HashChains;

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

/// What a search has found.
struct Found {
    /// The matches contain the four bytes here.
    at: usize,
    /// They do not begin before this.
    low: usize,
    /// Where the one begins that begins first, and where the one ends that ends last.
    start: usize,
    end: usize,
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

    /// Passes over the positions of a run, up to `to`, but for the last one with four equal bytes: they have a chain of
    /// their own, with one position for each run.
    ///
    /// # Safety
    /// `self.next < to <= self.limit + 1`.
    #[inline(always)]
    unsafe fn skip_run(&mut self, to: usize) {
        let (input, at) = (self.input, self.next);
        // SAFETY: by the contract `at` is 12 bytes before the end, or earlier.
        if unsafe { input.load4(at) == input.load4(at + 1) } {
            // SAFETY: at + 1 <= to < to + 4, which is at most nine bytes after the limit, and so inside.
            let same = unsafe { common(input, at, at + 1, to + 4) };
            self.next = at + same - (MIN_MATCH - 1);
        }
    }

    /// Enters all positions before `to` where a match may start.
    #[inline(always)]
    fn enter_all(&mut self, to: usize) {
        let to = to.min(self.limit + 1);
        while self.next < to {
            // SAFETY: next < to <= limit + 1.
            unsafe { self.skip_run(to) };
            if self.next < to {
                // SAFETY: next < to <= limit + 1.
                unsafe { self.enter_next() };
            }
        }
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
        self.enter_all(at);
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
        let input = self.input;
        // SAFETY: at <= limit, which is 12 bytes before the end.
        let word = unsafe { input.load4(at) };
        let mut found = Found { at, low, start: at, end: at + MIN_MATCH - 1 };
        if word == word.rotate_left(8) {
            self.search_run(word, &mut found, segment);
        } else {
            // SAFETY: at <= limit.
            let distance = unsafe { self.chain(at) };
            for distance in self.table.distances(at, distance).take(self.depth) {
                // SAFETY: at <= limit, and the distance is at most `at` by the contract of the table.
                if unsafe { self.compare(distance, &mut found, segment) } {
                    break;
                }
            }
        }
        // Whatever was found contains four bytes.
        (found.end >= at + MIN_MATCH).then_some(found.end)
    }

    /// Looks for matches of the run that begins with the four equal bytes `word`: with what is before it, if the run began
    /// earlier, and with other runs. Those that are long enough are laid so that both end at the same place, where a match
    /// goes on; others so that both begin there.
    #[inline(never)]
    fn search_run(&mut self, word: u32, found: &mut Found, segment: &mut Segment) {
        let (input, at) = (self.input, found.at);
        if self.next <= at {
            let near = at - self.next < NEAR;
            self.enter_all(at);
            if near {
                self.enter_all(at + AHEAD);
            }
        }
        // SAFETY: at + 1 <= limit + 1 < end.
        let ahead = 1 + unsafe { common(input, at, at + 1, self.end) };
        let mut behind = 0;
        if at > 0 && input.bytes()[at - 1] == word as u8 {
            // SAFETY: at - 1 bytes are before the first of the two, which is not behind the other.
            behind = 1 + unsafe { common_before(input, at - 1, at, (at - 1).min(at - found.low)) };
            // SAFETY: at <= limit, and 1 <= at.
            if unsafe { self.compare(1, found, segment) } {
                return;
            }
        }
        for distance in self.table.distances(at, self.table.before(word.to_le(), at)).take(self.depth) {
            let last = at - distance;
            // SAFETY: last < at <= limit.
            if unsafe { input.load4(last) } != word {
                continue;
            }
            // SAFETY: no more than `last` bytes are compared before it.
            let run = MIN_MATCH + unsafe { common_before(input, last, last + 1, last.min(ahead)) };
            let candidate = if run >= ahead {
                last + MIN_MATCH - ahead
            } else {
                last + MIN_MATCH - run + if behind + MIN_MATCH <= run { behind } else { 0 }
            };
            // SAFETY: at <= limit; the candidate is at most `last`, as neither `ahead` nor what is left of the run is less than
            // four, and not before the first byte, as the run is not.
            if at - candidate <= MAX_DISTANCE && unsafe { self.compare(at - candidate, found, segment) } {
                return;
            }
        }
    }

    /// Adds the match of what is found at `distance` to `segment` if it reaches further or begins earlier than those that
    /// were found so far. Returns whether it ends where matches must.
    ///
    /// # Safety
    /// `1 <= distance <= found.at <= self.limit`, and `found` is of this search.
    #[inline(always)]
    unsafe fn compare(&self, distance: usize, found: &mut Found, segment: &mut Segment) -> bool {
        let input = self.input;
        let &mut Found { at, low, start, end } = found;
        let candidate = at - distance;
        // Most candidates differ in the bytes that would make their match longer than the best so far.
        // SAFETY: end < self.end and start <= at <= limit, so four bytes can be read from `end - 3` and from
        // `start - 1` (which is not before the first byte even `distance` earlier, as the conditions before it
        // check). `end - 3` is not before `at`, and `distance` at most `at` by the contract.
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
                (found.start, found.end) = (start.min(interval.start), end.max(interval.end));
            }
        }
        found.end == self.end
    }
}
