//! The LZ4 block encoder of the codec `lz4`: one greedy pass with a table of where a few bytes were last seen.

use std::hint::select_unpredictable;

use super::sequence::{LAST_LITERALS, MATCH_LIMIT, MAX_DISTANCE, MIN_MATCH, SequenceWriter};
use crate::codecs::greedy::{self, Rules, Table, slot_at};
use crate::codecs::input::{Input, UncheckedInput};

/// Logarithm of the bytes of a table: half of a usual level 1 data cache, to leave room for the data.
const TABLE_LOG: u32 = 14;

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

struct Narrow([u16; 1 << (TABLE_LOG - 1)]);

// SAFETY: what is returned was entered, and cutting off its high bits did not make it larger.
unsafe impl Table for Narrow {
    #[inline(always)]
    fn slot(word: u64) -> usize {
        ((word as u32).wrapping_mul(2_654_435_761) >> (32 - (TABLE_LOG - 1))) as usize
    }

    #[inline(always)]
    fn exchange(&mut self, slot: usize, at: usize) -> usize {
        std::mem::replace(&mut self.0[slot], at as u16).into()
    }

    #[inline(always)]
    unsafe fn matches<'a>(src: impl Input<'a>, candidate: usize, at: usize) -> bool {
        // SAFETY: by the contract.
        unsafe { src.load4(candidate) == src.load4(at) }
    }
}

struct Wide([u32; 1 << (TABLE_LOG - 2)]);

// SAFETY: as for `Narrow`.
unsafe impl Table for Wide {
    #[inline(always)]
    fn slot(word: u64) -> usize {
        // Five bytes: in a long input, too many matches of four differ in the fifth.
        ((word << 24).wrapping_mul(889_523_592_379) >> (64 - (TABLE_LOG - 2))) as usize
    }

    #[inline(always)]
    fn exchange(&mut self, slot: usize, at: usize) -> usize {
        std::mem::replace(&mut self.0[slot], at as u32) as usize
    }

    #[inline(always)]
    unsafe fn matches<'a>(src: impl Input<'a>, candidate: usize, at: usize) -> bool {
        // Positions can be too far apart. No branch on that: where there are no matches, it is as good as random.
        let far = at.wrapping_sub(candidate) / (MAX_DISTANCE + 1);
        let candidate = select_unpredictable(far == 0, candidate, 0);
        // SAFETY: by the contract; 0 is not behind `at` either.
        unsafe { src.load4(candidate) ^ src.load4(at) | far as u32 == 0 }
    }
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
    if bytes.len() > MATCH_LIMIT {
        // In the table of a dictionary this replaces a later position, and what is written depends on it.
        // SAFETY: the input is longer than 12 bytes.
        table.exchange(unsafe { slot_at::<T>(src, 0) }, 0);
    }
    let rules = Rules { min_match: MIN_MATCH, match_limit: MATCH_LIMIT, last_literals: LAST_LITERALS };
    // SAFETY: the positions are those of the contract, and 4 + 5 is less than 12.
    let anchor = unsafe { greedy::find(table, src, start, acceleration, rules, &mut out)? };
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
