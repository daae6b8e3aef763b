//! The LZ4 block encoder of the codec `lz4hc` at its lowest levels: one greedy pass with two tables, one of where seven
//! bytes were last seen and one for four. The long table finds the best matches, the short one the rest.

use super::sequence::{LAST_LITERALS, MATCH_LIMIT, MAX_DISTANCE, MIN_MATCH, SequenceWriter};
use crate::codecs::greedy::Sequences;
use crate::codecs::input::{Input, common, common_before};
use crate::codecs::match_tables::{multiply, table_log};

/// Logarithm of the entries of a table.
const TABLE_LOG: u32 = 14;

/// After this many positions without a match the steps get longer by one (logarithm).
const SKIP_LOG: u32 = 9;

/// Of bytes that come back after no more than this many, as in runs of items of up to this size, the long table keeps the
/// first position. The last one would hide where the run has been before, and runs that take turns would never be found
/// whole.
const RUN_ITEM: usize = 8;

/// Where bytes were last seen: positions plus 1.
#[derive(Clone)]
pub(super) struct Tables {
    long: Box<[u32; 1 << TABLE_LOG]>,
    short: Box<[u32; 1 << TABLE_LOG]>,
    log: u32,
}

impl Default for Tables {
    fn default() -> Self {
        Self { long: Box::new([0; _]), short: Box::new([0; _]), log: TABLE_LOG }
    }
}

impl Tables {
    /// Clears the tables for an input of `len` bytes.
    pub(super) fn begin(&mut self, len: usize) {
        self.log = table_log(len, TABLE_LOG);
        self.long[..1 << self.log].fill(0);
        self.short[..1 << self.log].fill(0);
    }

    /// Enters the positions of `input` before `end` that have eight bytes.
    pub(super) fn enter<'a>(&mut self, input: impl Input<'a>, end: usize) {
        for at in 0..end.min(input.bytes().len().saturating_sub(7)) {
            // SAFETY: at + 8 <= length.
            let word = u64::from_le(unsafe { input.load8(at) });
            self.exchange_long(word, at);
            self.exchange_short(word, at);
        }
    }

    /// Returns the position where the first seven bytes of `word` were last entered, plus 1, and enters `at` instead.
    #[inline(always)]
    fn exchange_long(&mut self, word: u64, at: usize) -> usize {
        let slot = (word << 8).wrapping_mul(0xCF1B_BCDC_B7A5_6463) >> (64 - self.log);
        std::mem::replace(&mut self.long[slot as usize & ((1 << TABLE_LOG) - 1)], at as u32 + 1) as usize
    }

    /// The same for the first four.
    #[inline(always)]
    fn exchange_short(&mut self, word: u64, at: usize) -> usize {
        let slot = multiply(word as u32) >> (32 - self.log);
        std::mem::replace(&mut self.short[slot as usize & ((1 << TABLE_LOG) - 1)], at as u32 + 1) as usize
    }
}

/// The eight bytes at `at`, the first one lowest.
///
/// # Safety
/// `at + 8 <= input.bytes().len()`.
#[inline(always)]
unsafe fn word_at<'a>(input: impl Input<'a>, at: usize) -> u64 {
    // SAFETY: by the contract.
    u64::from_le(unsafe { input.load8(at) })
}

/// The length of the match of `at` with the position that is entered as `candidate`, up to `end`; 0 if there is none.
///
/// # Safety
/// `at + MIN_MATCH <= end <= input.bytes().len()`.
#[inline(always)]
unsafe fn matched<'a>(input: impl Input<'a>, candidate: usize, at: usize, end: usize) -> usize {
    // A candidate after `at` would appear very far away, too.
    if candidate == 0 || (at + 1).wrapping_sub(candidate) > MAX_DISTANCE {
        return 0;
    }
    // SAFETY: four bytes are at `at` by the contract, and the candidate, as just checked, is not behind it.
    unsafe {
        if input.load4(candidate - 1) != input.load4(at) {
            return 0;
        }
        MIN_MATCH + common(input, candidate - 1 + MIN_MATCH, at + MIN_MATCH, end)
    }
}

/// Compresses `input` from `start` on into `dst`, or returns `None` if the result does not fit. The bytes before
/// `start` are the dictionary, which is already in the tables.
pub(super) fn compress<'a>(input: impl Input<'a>, start: usize, tables: &mut Tables, dst: &mut [u8]) -> Option<usize> {
    let bytes = input.bytes();
    let mut out = SequenceWriter::new(dst);
    let mut anchor = start;
    let Some(limit) = bytes.len().checked_sub(MATCH_LIMIT).filter(|&limit| start <= limit) else {
        return out.last(&bytes[start..]);
    };
    let end = bytes.len() - LAST_LITERALS;
    let mut at = start;
    while at <= limit {
        // SAFETY: at <= limit, which is 12 bytes before the end.
        let word = unsafe { word_at(input, at) };
        let (long, short) = (tables.exchange_long(word, at), tables.exchange_short(word, at));
        // SAFETY: at <= limit, and so at + 4 < end.
        let mut len = unsafe { matched(input, long, at, end) };
        let mut candidate = long;
        if len >= MIN_MATCH {
            if at + 1 - long <= RUN_ITEM {
                tables.exchange_long(word, long - 1);
            }
        } else {
            // SAFETY: as above.
            len = unsafe { matched(input, short, at, end) };
            candidate = short;
            if len < MIN_MATCH {
                at += 1 + ((at - anchor) >> SKIP_LOG);
                continue;
            }
            // A short match may hide a long one at the next position.
            if at < limit {
                // SAFETY: at + 1 <= limit.
                let next = tables.exchange_long(unsafe { word_at(input, at + 1) }, at + 1);
                // SAFETY: as above.
                let next_len = unsafe { matched(input, next, at + 1, end) };
                if next_len > len {
                    (at, len, candidate) = (at + 1, next_len, next);
                }
            }
        }
        let mut candidate = candidate - 1;
        // SAFETY: no more than the candidate has before it, which is not behind `at` where there is a match.
        let before = unsafe { common_before(input, candidate, at, candidate.min(at - anchor)) };
        (at, candidate, len) = (at - before, candidate - before, len + before);
        out.sequence(bytes, anchor, at, at - candidate, len)?;
        let next = at + len;
        // A few positions inside the match: near its start, and the last, from where the next match may continue. The very
        // last would hide farther ones of its seven bytes in runs, and make twice as much of columns of regular times.
        for inside in [at + 1, at + 2, next - 5, next - 3, next - 2, next - 1] {
            if inside > at && inside <= limit {
                // SAFETY: inside <= limit.
                let word = unsafe { word_at(input, inside) };
                if inside + 1 < next {
                    tables.exchange_long(word, inside);
                }
                if inside + 3 >= next {
                    tables.exchange_short(word, inside);
                }
            }
        }
        at = next;
        anchor = next;
    }
    out.last(&bytes[anchor..])
}
