//! One greedy pass over an input, with a table of where a few bytes were last seen: the search of `lz4` and `blosclz`.
//!
//! Where it finds nothing it looks at ever fewer positions. What it finds it takes, as far as it reaches in both
//! directions, and looks for another match right behind it.

use super::input::{Input, common, common_before};

/// After this many positions without a match the steps get longer by one (logarithm).
const SKIP_LOG: u32 = 6;

/// What a format asks of matches.
pub(super) struct Rules {
    /// The length of the shortest ones.
    pub(super) min_match: usize,
    /// They start more than this many bytes before the end of the input.
    pub(super) match_limit: usize,
    /// They end this many bytes before it, or earlier.
    pub(super) last_literals: usize,
    /// Whether to look for what is behind the edge between two runs under the bytes before it as well. The run behind it
    /// has often been seen last from its middle on, and what begins there ends with the run; what matches on both sides of
    /// the edge goes on behind the run. It takes time where there are many runs.
    pub(super) run_edges: bool,
}

/// A table of positions, keyed by the bytes found there.
///
/// # Safety
/// If `at` is above 0 and above all positions entered before, [`exchange`](Self::exchange) returns a position below `at`: the
/// search reads there without another check.
pub(super) unsafe trait Table {
    /// The slot for the bytes in `word`, in memory order from the lowest.
    fn slot(word: u64) -> usize;

    /// Enters position `at` in `slot`, and returns where the same bytes may be found. An empty table holds position 0.
    fn exchange(&mut self, slot: usize, at: usize) -> usize;

    /// Whether a match can begin at `at`, with the bytes at `candidate`.
    ///
    /// # Safety
    /// `candidate <= at` and `at + 8 <= src.bytes().len()`.
    unsafe fn matches<'a>(src: impl Input<'a>, candidate: usize, at: usize) -> bool;
}

/// Takes what is found, or counts it.
pub(super) trait Sequences {
    /// Takes the literals `src[anchor..start]`, which may be none, and the match of `len` bytes that follows them; `None` if
    /// they do not fit.
    fn sequence(&mut self, src: &[u8], anchor: usize, start: usize, distance: usize, len: usize) -> Option<()>;
}

/// The slot for what is found at `at`.
///
/// # Safety
/// `at + 8 <= src.bytes().len()`.
#[inline(always)]
pub(super) unsafe fn slot_at<'a, T: Table>(src: impl Input<'a>, at: usize) -> usize {
    // SAFETY: by the contract.
    T::slot(u64::from_le(unsafe { src.load8(at) }))
}

/// How far a search has come.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    /// Where the literals begin that no sequence has yet.
    pub(super) anchor: usize,
    /// The next position to look at.
    next: usize,
    /// How far the one after it is.
    step: usize,
    /// What the steps after that follow from.
    tries: usize,
    /// What they begin with after a match. Higher means that fewer positions are tried.
    first_tries: usize,
}

impl Progress {
    /// A search from `start` on. Higher acceleration means that fewer positions are tried.
    pub(super) fn new(start: usize, acceleration: usize) -> Self {
        // Without a dictionary there is nothing that the first position could match.
        let tries = acceleration << SKIP_LOG;
        Self { anchor: start, next: start.max(1), step: 1, tries, first_tries: tries }
    }
}

/// Finds the sequences of `src` that begin before `until`, and says how far it came; `None` if `out` does not take them all.
///
/// # Safety
/// The positions in `table` are 0 or below that of `progress`. `rules` is such that eight bytes can be read at all positions
/// where a match may start and at the next one, and that a shortest match fits there: `match_limit` is 7 or more, and
/// `last_literals + min_match` at most `match_limit + 1`.
#[inline(always)]
pub(super) unsafe fn find<'a, T: Table>(
    table: &mut T,
    src: impl Input<'a>,
    progress: Progress,
    until: usize,
    rules: Rules,
    out: &mut impl Sequences,
) -> Option<Progress> {
    let Rules { min_match, match_limit, last_literals, run_edges } = rules;
    let bytes = src.bytes();
    // Positions that are hashed are at most `limit + 1`, which is `match_limit` bytes before the end. Those that are compared
    // are at most `limit`, and candidates come out of the table, where positions are entered in ascending order.
    let Some(limit) = bytes.len().checked_sub(match_limit + 1) else {
        return Some(progress);
    };
    let (limit, end) = (limit.min(until), bytes.len() - last_literals);
    let Progress { mut anchor, mut next, mut step, mut tries, first_tries } = progress;
    'sequence: while next <= limit {
        let mut p;
        let mut candidate;
        // SAFETY: at most limit.
        let mut slot = unsafe { slot_at::<T>(src, next) };
        loop {
            p = next;
            next = p + step;
            if next > limit + 1 {
                next = p;
                break 'sequence;
            }
            step = tries >> SKIP_LOG;
            tries += 1;
            candidate = table.exchange(slot, p);
            // SAFETY: next <= limit + 1, as just checked; p is before it, and the candidate is not above `p`.
            let found = unsafe {
                slot = slot_at::<T>(src, next);
                T::matches(src, candidate, p)
            };
            if found {
                break;
            }
        }
        // SAFETY: no more than the candidate has before it, which is not above `p`.
        let mut start = p - unsafe { common_before(src, candidate, p, candidate.min(p - anchor)) };
        // How many bytes the candidate is known to match.
        let mut known = min_match;
        loop {
            // From `p` and not from the start, so that the next search need not wait for what is found before `p`.
            // SAFETY: the candidate is not above `p`, and p + known <= end: `known` is what was found up to there, or
            // min_match, with p + min_match <= limit + min_match <= end.
            next = p + known + unsafe { common(src, candidate + known, p + known, end) };
            out.sequence(bytes, anchor, start, p - candidate, next - start)?;
            (p, start, anchor) = (next, next, next);
            if p > limit {
                break;
            }
            // SAFETY: p <= limit, as just checked. It is behind a match, which ends more than two bytes after the last
            // position that was entered, so that p - 2 is above that; the candidate is not above `p`, nor `behind + 2`.
            let found = unsafe {
                let before = u64::from_le(src.load8(p - 2));
                let behind = table.exchange(T::slot(before), p - 2);
                candidate = table.exchange(slot_at::<T>(src, p), p);
                let mut found = T::matches(src, candidate, p);
                known = min_match;
                // An edge: two equal bytes before `p`, and two equal ones behind it.
                if run_edges && (before ^ before >> 8) & 0xFF_00FF == 0 && T::matches(src, behind, p - 2) {
                    let same = common_behind_edge(src, behind + 2, p, end);
                    // A candidate that matches the eight bytes around the end of the other is taken to match farther.
                    if same >= 8 && !(found && src.load8(candidate + same - 7) == src.load8(p + same - 7)) {
                        (candidate, known, found) = (behind + 2, same, true);
                    }
                }
                found
            };
            if !found {
                next = p + 1;
                break;
            }
        }
        (step, tries) = (1, first_tries);
    }
    Some(Progress { anchor, next, step, tries, first_tries })
}

/// [`common`], out of the way of the search.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn common_behind_edge<'a>(src: impl Input<'a>, earlier: usize, later: usize, end: usize) -> usize {
    // SAFETY: by the contract.
    unsafe { common(src, earlier, later, end) }
}
