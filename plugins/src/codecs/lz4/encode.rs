//! The LZ4 block encoder of the codec `lz4`: one greedy pass with a table of where a few bytes were last seen.

use std::hint::select_unpredictable;

use super::sequence::{LAST_LITERALS, MATCH_LIMIT, MAX_DISTANCE, MIN_MATCH, SequenceWriter};
use crate::codecs::input::{Input, UncheckedInput, common, common_before};

/// Logarithm of the bytes of a table: half of a usual level 1 data cache, to leave room for the data.
const TABLE_LOG: u32 = 14;

/// After this many positions without a match the steps get longer by one (logarithm).
const SKIP_LOG: u32 = 6;

/// The tables of an encoder, kept from stream to stream.
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
    /// The dictionary, followed by the stream to compress.
    joined: Vec<u8>,
}

/// All positions below this fit 16 bits.
const NARROW: usize = 1 << 16;

impl FastEncoder {
    pub(super) fn new() -> Self {
        Self { narrow: Box::new(Narrow([0; _])), wide: Box::new(Wide([0; _])), dict: Dict::default() }
    }

    /// Compresses `src` into `dst`, or returns `None` if the result does not fit. Matches may reach back into `dict`,
    /// which logically precedes `src`. Higher acceleration means that fewer positions are tried.
    pub(super) fn compress(&mut self, src: &[u8], dict: &[u8], dst: &mut [u8], acceleration: usize) -> Option<usize> {
        if dict.is_empty() {
            return self.compress_input(UncheckedInput(src), dst, acceleration);
        }
        let Self { narrow, wide, dict: kept } = self;
        if kept.bytes != dict {
            *kept = Dict { bytes: dict.to_vec(), joined: dict.to_vec(), ..Dict::default() };
        }
        kept.joined.truncate(dict.len());
        kept.joined.extend_from_slice(src);
        let input = UncheckedInput(&kept.joined);
        if kept.joined.len() <= NARROW {
            let primed = kept.narrow.get_or_insert_with(|| primed(UncheckedInput(dict), Narrow([0; _])));
            narrow.0.copy_from_slice(&primed.0);
            // SAFETY: the table has just been replaced by that of the dictionary.
            unsafe { compress(&mut **narrow, input, dict.len(), dst, acceleration) }
        } else {
            let primed = kept.wide.get_or_insert_with(|| primed(UncheckedInput(dict), Wide([0; _])));
            wide.0.copy_from_slice(&primed.0);
            // SAFETY: the table has just been replaced by that of the dictionary.
            unsafe { compress(&mut **wide, input, dict.len(), dst, acceleration) }
        }
    }

    fn compress_input<'a>(&mut self, src: impl Input<'a>, dst: &mut [u8], acceleration: usize) -> Option<usize> {
        // All positions of 64 KiB fit 16 bits, and the table has twice the entries then.
        if src.bytes().len() <= NARROW {
            self.narrow.0.fill(0);
            // SAFETY: the table holds nothing but zeros.
            unsafe { compress(&mut *self.narrow, src, 0, dst, acceleration) }
        } else {
            self.wide.0.fill(0);
            // SAFETY: the table holds nothing but zeros.
            unsafe { compress(&mut *self.wide, src, 0, dst, acceleration) }
        }
    }
}

/// Enters all positions of `dict` that have eight bytes into the empty `table`.
fn primed<'a, T: Table>(dict: impl Input<'a>, mut table: T) -> Box<T> {
    for at in 0..dict.bytes().len().saturating_sub(7) {
        // SAFETY: at + 8 <= length.
        let word = u64::from_le(unsafe { dict.load8(at) });
        table.exchange(T::slot(word), at);
    }
    Box::new(table)
}

/// A table of positions, keyed by the bytes found there.
///
/// # Safety
/// [`exchange`](Self::exchange) returns 0 or a number that is not above a position entered before: encoders read there
/// without another check.
unsafe trait Table {
    /// Whether positions can be too far apart for a match.
    const CHECK_DISTANCE: bool;

    /// The slot for the bytes in `word`, in memory order from the lowest.
    fn slot(word: u64) -> usize;

    /// Returns the position last entered in `slot` and enters `at` instead. An empty slot holds position 0.
    fn exchange(&mut self, slot: usize, at: usize) -> usize;
}

struct Narrow([u16; 1 << (TABLE_LOG - 1)]);

// SAFETY: what is returned was entered, and cutting off its high bits did not make it larger.
unsafe impl Table for Narrow {
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

// SAFETY: as for `Narrow`.
unsafe impl Table for Wide {
    const CHECK_DISTANCE: bool = true;

    #[inline(always)]
    fn slot(word: u64) -> usize {
        // Five bytes: in a long input, too many matches of four differ in the fifth.
        ((word << 24).wrapping_mul(889_523_592_379) >> (64 - (TABLE_LOG - 2))) as usize
    }

    #[inline(always)]
    fn exchange(&mut self, slot: usize, at: usize) -> usize {
        std::mem::replace(&mut self.0[slot], at as u32) as usize
    }
}

/// The slot for what is found at `at`.
///
/// # Safety
/// `at + 8 <= src.bytes().len()`.
#[inline(always)]
unsafe fn slot_at<'a, T: Table>(src: impl Input<'a>, at: usize) -> usize {
    // SAFETY: by the contract.
    T::slot(u64::from_le(unsafe { src.load8(at) }))
}

/// Whether a match can begin at `at`, with the bytes at `candidate`.
///
/// # Safety
/// `candidate <= at` and `at + 4 <= src.bytes().len()`.
#[inline(always)]
unsafe fn matches<'a, T: Table>(src: impl Input<'a>, candidate: usize, at: usize) -> bool {
    // No branch on the distance: where there are no matches, it is as good as random.
    let far = if T::CHECK_DISTANCE { at.wrapping_sub(candidate) / (MAX_DISTANCE + 1) } else { 0 };
    let candidate = select_unpredictable(far == 0, candidate, 0);
    // SAFETY: by the contract; 0 is not behind `at` either.
    unsafe { src.load4(candidate) ^ src.load4(at) | far as u32 == 0 }
}

/// Compresses `src` from `start` on into `dst`, or returns `None` if the result does not fit.
///
/// # Safety
/// The positions in `table` are 0 or below `start`.
#[inline(always)]
unsafe fn compress<'a, T: Table>(
    table: &mut T,
    src: impl Input<'a>,
    start: usize,
    dst: &mut [u8],
    acceleration: usize,
) -> Option<usize> {
    let bytes = src.bytes();
    let mut out = SequenceWriter::new(dst);
    let mut anchor = start;
    // Positions that are hashed are at most `limit + 1`, which is 12 bytes before the end. Those that are compared are at
    // most `limit`, and candidates come out of the table, where positions are entered in ascending order.
    if let Some(limit) = bytes.len().checked_sub(MATCH_LIMIT + 1) {
        let end = bytes.len() - LAST_LITERALS;
        // Without a dictionary there is nothing that the first position could match.
        // SAFETY: the input is longer than 12 bytes.
        table.exchange(unsafe { slot_at::<T>(src, 0) }, 0);
        let mut p = start.max(1);
        // SAFETY: at most limit + 1.
        let mut slot = unsafe { slot_at::<T>(src, p.min(limit + 1)) };
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
                // SAFETY: next <= limit + 1, as just checked; p is before it, and the candidate was entered before `p`.
                let found = unsafe {
                    slot = slot_at::<T>(src, next);
                    matches::<T>(src, candidate, p)
                };
                if found {
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
                // SAFETY: the candidate is before `p`, and p + MIN_MATCH <= limit + 4 <= end.
                let len = MIN_MATCH + unsafe { common(src, candidate + MIN_MATCH, p + MIN_MATCH, end) };
                out.sequence(bytes, anchor, p, distance, len)?;
                p += len;
                anchor = p;
                if p > limit {
                    break 'sequence;
                }
                // SAFETY: p <= limit, as just checked, and it is behind a match; the candidate was entered before `p`.
                let found = unsafe {
                    table.exchange(slot_at::<T>(src, p - 2), p - 2);
                    candidate = table.exchange(slot_at::<T>(src, p), p);
                    matches::<T>(src, candidate, p)
                };
                if !found {
                    break;
                }
            }
            p += 1;
            // SAFETY: at most limit + 1.
            slot = unsafe { slot_at::<T>(src, p.min(limit + 1)) };
        }
    }
    out.last(&bytes[anchor..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::input::Checked;
    use crate::codecs::testing::{LENGTHS, data};

    #[test]
    fn stays_inside_its_input() {
        let mut encoder = FastEncoder::new();
        for &len in LENGTHS.iter().chain(&[300_000]) {
            for (kind, src) in data(len) {
                for acceleration in [1, 5, 9] {
                    let room = len + len / 255 + 16;
                    let (mut trusted, mut checked) = (vec![0; room], vec![0; room]);
                    let written = encoder.compress_input(UncheckedInput(&src), &mut trusted, acceleration);
                    let again = encoder.compress_input(Checked(&src), &mut checked, acceleration);
                    assert!(written.is_some(), "{len} of {kind}, acceleration {acceleration}: it always fits");
                    assert_eq!(written, again, "{len} of {kind}, acceleration {acceleration}");
                    assert!(trusted == checked, "{len} of {kind}, acceleration {acceleration}");
                }
            }
        }
    }

    /// Starts after a dictionary, with tables that hold its positions.
    #[test]
    fn stays_inside_with_a_dictionary() {
        for len in [13, 14, 40, 300, 5000, 70_000] {
            for (kind, src) in data(len) {
                for start in [1, 8, 9, len / 3, len - 1] {
                    let room = len + len / 255 + 16;
                    let (mut trusted, mut checked) = (vec![0; room], vec![0; room]);
                    let table = || primed(UncheckedInput(&src[..start]), Wide([0; _]));
                    // SAFETY: the table holds positions before `start`.
                    let written = unsafe { compress(&mut *table(), UncheckedInput(&src), start, &mut trusted, 1) };
                    // SAFETY: as above.
                    let again = unsafe { compress(&mut *table(), Checked(&src), start, &mut checked, 1) };
                    assert_eq!(written, again, "{len} of {kind} from {start}");
                    assert!(trusted == checked, "{len} of {kind} from {start}");
                }
            }
        }
    }
}
