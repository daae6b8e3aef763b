//! The LZ4 block encoder of the codec `lz4`: one greedy pass with a table of where a few bytes were last seen.

use std::hint::select_unpredictable;

use super::sequence::{LAST_LITERALS, MATCH_LIMIT, MAX_DISTANCE, MIN_MATCH, Writer};
use crate::codecs::input::{Input, Trusted, common, common_before};

/// Logarithm of the bytes of a table: half of a usual level 1 data cache, so that the data has room beside it.
const TABLE_LOG: u32 = 14;

/// After this many positions without a match the steps get longer by one (logarithm).
const SKIP_LOG: u32 = 6;

/// The tables of an encoder, kept from one stream to the next.
pub(super) struct FastEncoder {
    narrow: Box<Narrow>,
    wide: Box<Wide>,
    dict: Dict,
}

/// A dictionary, and the tables that hold its positions.
#[derive(Default)]
struct Dict {
    bytes: Vec<u8>,
    narrow: Option<Box<Narrow>>,
    wide: Option<Box<Wide>>,
    /// The dictionary, and behind it the stream that is compressed.
    joined: Vec<u8>,
}

/// All positions below this fit 16 bits.
const NARROW: usize = 1 << 16;

impl FastEncoder {
    pub(super) fn new() -> Self {
        Self { narrow: Box::new(Narrow([0; _])), wide: Box::new(Wide([0; _])), dict: Dict::default() }
    }

    /// Compresses `src` into `dst`, or returns `None` when the result does not fit. Matches may reach back into `dict`,
    /// which stands before `src`. The higher the acceleration, the fewer positions are looked at.
    pub(super) fn compress(&mut self, src: &[u8], dict: &[u8], dst: &mut [u8], acceleration: usize) -> Option<usize> {
        if dict.is_empty() {
            return self.compress_input(Trusted(src), dst, acceleration);
        }
        let Self { narrow, wide, dict: kept } = self;
        if kept.bytes != dict {
            *kept = Dict { bytes: dict.to_vec(), joined: dict.to_vec(), ..Dict::default() };
        }
        kept.joined.truncate(dict.len());
        kept.joined.extend_from_slice(src);
        let input = Trusted(&kept.joined);
        if kept.joined.len() <= NARROW {
            let primed = kept.narrow.get_or_insert_with(|| primed(Trusted(dict), Narrow([0; _])));
            narrow.0.copy_from_slice(&primed.0);
            compress(&mut **narrow, input, dict.len(), dst, acceleration)
        } else {
            let primed = kept.wide.get_or_insert_with(|| primed(Trusted(dict), Wide([0; _])));
            wide.0.copy_from_slice(&primed.0);
            compress(&mut **wide, input, dict.len(), dst, acceleration)
        }
    }

    fn compress_input<'a>(&mut self, src: impl Input<'a>, dst: &mut [u8], acceleration: usize) -> Option<usize> {
        // All positions of 64 KiB fit 16 bits, and the table has twice the entries then.
        if src.bytes().len() <= NARROW {
            self.narrow.0.fill(0);
            compress(&mut *self.narrow, src, 0, dst, acceleration)
        } else {
            self.wide.0.fill(0);
            compress(&mut *self.wide, src, 0, dst, acceleration)
        }
    }
}

/// The empty `table` with all positions of `dict` that have eight bytes.
fn primed<'a, T: Table>(dict: impl Input<'a>, mut table: T) -> Box<T> {
    for at in 0..dict.bytes().len().saturating_sub(7) {
        // SAFETY: at + 8 <= length.
        let word = u64::from_le(unsafe { dict.load8(at) });
        table.exchange(T::slot(word), at);
    }
    Box::new(table)
}

/// A table of positions, by what is found there.
trait Table {
    /// Positions that are further apart than this are not to be compared.
    const CHECK_DISTANCE: bool;

    /// The slot for the bytes in `word`, in memory order from the lowest.
    fn slot(word: u64) -> usize;

    /// The position last entered in `slot`, and `at` entered instead. What was never entered is position 0.
    fn exchange(&mut self, slot: usize, at: usize) -> usize;
}

struct Narrow([u16; 1 << (TABLE_LOG - 1)]);

impl Table for Narrow {
    const CHECK_DISTANCE: bool = false;

    #[inline(always)]
    fn slot(word: u64) -> usize {
        ((word as u32).wrapping_mul(2_654_435_761) >> (32 - (TABLE_LOG - 1))) as usize
    }

    #[inline(always)]
    fn exchange(&mut self, slot: usize, at: usize) -> usize {
        std::mem::replace(&mut self.0[slot], at as u16).into()
    }
}

struct Wide([u32; 1 << (TABLE_LOG - 2)]);

impl Table for Wide {
    const CHECK_DISTANCE: bool = true;

    #[inline(always)]
    fn slot(word: u64) -> usize {
        // Five bytes: in a long input four are found too often where the fifth differs.
        ((word << 24).wrapping_mul(889_523_592_379) >> (64 - (TABLE_LOG - 2))) as usize
    }

    #[inline(always)]
    fn exchange(&mut self, slot: usize, at: usize) -> usize {
        std::mem::replace(&mut self.0[slot], at as u32) as usize
    }
}

#[inline(always)]
fn compress<'a, T: Table>(
    table: &mut T,
    src: impl Input<'a>,
    start: usize,
    dst: &mut [u8],
    acceleration: usize,
) -> Option<usize> {
    let bytes = src.bytes();
    let mut out = Writer::new(dst);
    let mut anchor = start;
    // SAFETY (of every load below): positions that are hashed or compared are at most `limit + 1`, which is 11 bytes
    // before the end, and candidates are before them.
    if let Some(limit) = bytes.len().checked_sub(MATCH_LIMIT + 1) {
        let end = bytes.len() - LAST_LITERALS;
        let hash = |at: usize| {
            debug_assert!(at <= limit + 2);
            // SAFETY: see above.
            T::slot(u64::from_le(unsafe { src.load8(at) }))
        };
        let matches = |candidate: usize, at: usize| {
            // No branch on the distance: where there is nothing to be found, it is as good as random.
            let far = if T::CHECK_DISTANCE { at.wrapping_sub(candidate) / (MAX_DISTANCE + 1) } else { 0 };
            let candidate = select_unpredictable(far == 0, candidate, 0);
            // SAFETY: see above.
            unsafe { src.load4(candidate) ^ src.load4(at) | far as u32 == 0 }
        };
        // Without a dictionary there is nothing that the first position could match.
        table.exchange(hash(0), 0);
        let mut p = start.max(1);
        let mut slot = hash(p.min(limit + 1));
        'sequence: while p <= limit {
            let mut next = p;
            let mut step = 1;
            let mut tries = acceleration << SKIP_LOG;
            let mut candidate;
            loop {
                p = next;
                next = p + step;
                if next > limit + 1 {
                    break 'sequence;
                }
                step = tries >> SKIP_LOG;
                tries += 1;
                candidate = table.exchange(slot, p);
                slot = hash(next);
                if matches(candidate, p) {
                    break;
                }
            }
            let most = candidate.min(p - anchor);
            if most > 0 && bytes[p - 1] == bytes[candidate - 1] {
                // SAFETY: `most` is no more than the candidate, which is before `p`.
                let before = unsafe { common_before(src, candidate, p, most) };
                p -= before;
                candidate -= before;
            }
            loop {
                let distance = p - candidate;
                // SAFETY: candidate < p, and p + MIN_MATCH <= limit + 5 <= end.
                let len = MIN_MATCH + unsafe { common(src, candidate + MIN_MATCH, p + MIN_MATCH, end) };
                out.sequence(bytes, anchor, p, distance, len)?;
                p += len;
                anchor = p;
                if p > limit {
                    break 'sequence;
                }
                table.exchange(hash(p - 2), p - 2);
                candidate = table.exchange(hash(p), p);
                if !matches(candidate, p) {
                    break;
                }
            }
            p += 1;
            slot = hash(p.min(limit + 1));
        }
    }
    out.last(&bytes[anchor..])
}
