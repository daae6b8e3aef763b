//! The LZ4 block encoder of the codec `lz4`: one greedy pass with a table of where a few bytes were last seen.
//!
//! It is keyed by four bytes in inputs of up to 64 KiB, and by five in longer ones. In filtered data, where hardly a byte is
//! left between short matches, as in the high bytes of shuffled numbers, longer ones are to be had: there, the rest of a
//! short input is searched for six. That takes no more time and is up to 5 % smaller.

use std::ops::Range;

use super::sequence::{LAST_LITERALS, MATCH_LIMIT, MAX_DISTANCE, MIN_MATCH, SequenceWriter};
use crate::codecs::greedy::{self, Progress, Rules, Sequences, Table, slot_at};
use crate::codecs::input::{Input, UncheckedInput};

const RULES: Rules =
    Rules { min_match: MIN_MATCH, match_limit: MATCH_LIMIT, last_literals: LAST_LITERALS, run_edges: false };

/// How many bytes of a short input are searched before it is decided how many bytes its table is keyed by.
const FIRST_PART: usize = 1 << 12;

/// Logarithm of the bytes of a table: half of a usual level 1 data cache, to leave room for the data.
const TABLE_LOG: u32 = 14;

/// How to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Higher means that fewer positions are tried.
    pub(super) acceleration: usize,
    /// Whether the bytes have been filtered.
    pub(super) filtered: bool,
}

/// The tables of an encoder, kept from stream to stream.
pub(super) struct FastEncoder {
    narrow: Box<Positions>,
    wide: Box<Wide>,
    dict: Dict,
}

/// A dictionary, and the tables that hold its positions.
#[derive(Default)]
struct Dict {
    bytes: Vec<u8>,
    narrow: Option<Box<Positions>>,
    wide: Option<Box<Wide>>,
    /// The dictionary, followed by the stream to compress.
    joined: Vec<u8>,
}

/// All positions below this fit 16 bits.
const NARROW: usize = 1 << 16;

impl FastEncoder {
    pub(super) fn new() -> Self {
        Self { narrow: Box::new([0; _]), wide: Box::new(Wide([0; _])), dict: Dict::default() }
    }

    /// Compresses `src` into `dst`, or returns `None` if the result does not fit. Matches may reach back into `dict`,
    /// which logically precedes `src`.
    pub(super) fn compress(&mut self, src: &[u8], dict: &[u8], dst: &mut [u8], effort: Effort) -> Option<usize> {
        if dict.is_empty() {
            return self.compress_input(UncheckedInput(src), dst, effort);
        }
        // Under longer keys nothing of a dictionary would be found.
        let effort = Effort { filtered: false, ..effort };
        let Self { narrow, wide, dict: kept } = self;
        if kept.bytes != dict {
            *kept = Dict { bytes: dict.to_vec(), joined: dict.to_vec(), ..Dict::default() };
        }
        kept.joined.truncate(dict.len());
        kept.joined.extend_from_slice(src);
        let input = UncheckedInput(&kept.joined);
        if kept.joined.len() <= NARROW {
            let primed = kept.narrow.get_or_insert_with(|| {
                let mut positions = Box::new([0; _]);
                prime(UncheckedInput(dict), &mut Narrow::<4>(&mut positions));
                positions
            });
            narrow.copy_from_slice(&**primed);
            // SAFETY: the table has just been replaced by that of the dictionary.
            unsafe { compress_short(narrow, input, dict.len(), dst, effort) }
        } else {
            let primed = kept.wide.get_or_insert_with(|| {
                let mut table = Box::new(Wide([0; _]));
                prime(UncheckedInput(dict), &mut *table);
                table
            });
            wide.0.copy_from_slice(&primed.0);
            // SAFETY: the table has just been replaced by that of the dictionary.
            unsafe { compress_long(wide, input, dict.len(), dst, effort) }
        }
    }

    fn compress_input<'a>(&mut self, src: impl Input<'a>, dst: &mut [u8], effort: Effort) -> Option<usize> {
        // All positions of 64 KiB fit 16 bits, and the table has twice the entries then.
        if src.bytes().len() <= NARROW {
            self.narrow.fill(0);
            // SAFETY: the table holds nothing but zeros.
            unsafe { compress_short(&mut self.narrow, src, 0, dst, effort) }
        } else {
            self.wide.0.fill(0);
            // SAFETY: the table holds nothing but zeros.
            unsafe { compress_long(&mut self.wide, src, 0, dst, effort) }
        }
    }
}

/// Enters all positions of `dict` that have eight bytes into the empty `table`.
fn prime<'a, T: Table>(dict: impl Input<'a>, table: &mut T) {
    for at in 0..dict.bytes().len().saturating_sub(7) {
        // SAFETY: at + 8 <= length.
        let word = u64::from_le(unsafe { dict.load8(at) });
        table.exchange(T::slot(word), at);
    }
}

/// The entries of a [`Narrow`] table.
type Positions = [u16; 1 << (TABLE_LOG - 1)];

/// A table that is keyed by `KEY` bytes. What was entered under another key is hardly ever found.
struct Narrow<'t, const KEY: usize>(&'t mut Positions);

// SAFETY: what is returned was entered, and cutting off its high bits did not make it larger.
unsafe impl<const KEY: usize> Table for Narrow<'_, KEY> {
    #[inline(always)]
    fn slot(word: u64) -> usize {
        // Of four bytes, only the lower half of the factor is left in the result.
        ((word << (64 - 8 * KEY)).wrapping_mul(0x9E37_79B1_9E37_79B1) >> (64 - (TABLE_LOG - 1))) as usize
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

// SAFETY: what is returned was entered.
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
        // Positions can be too far apart. No branch on that: where there are no matches, it is as good as random. The bytes
        // of one that is too far away are read all the same: a select would make the load wait for the comparison.
        let far = at.wrapping_sub(candidate) / (MAX_DISTANCE + 1);
        // SAFETY: by the contract.
        unsafe { src.load4(candidate) ^ src.load4(at) | far as u32 == 0 }
    }
}

/// Enters the first position of `src`. In the table of a dictionary that replaces a later one, and what is written depends
/// on it.
#[inline(always)]
fn enter_first<'a, T: Table>(table: &mut T, src: impl Input<'a>) {
    if src.bytes().len() > MATCH_LIMIT {
        // SAFETY: the input is longer than 12 bytes.
        table.exchange(unsafe { slot_at::<T>(src, 0) }, 0);
    }
}

/// Enters every other one of `positions`, which have been entered under another key. Without them, what repeats the first
/// part, as a plane of a mask repeats another, would not be found.
fn enter_again<'a, T: Table>(table: &mut T, src: impl Input<'a>, positions: Range<usize>) {
    let end = positions.end.min(src.bytes().len().saturating_sub(MATCH_LIMIT));
    for at in (positions.start..end).step_by(2) {
        // SAFETY: at + 12 <= length.
        table.exchange(unsafe { slot_at::<T>(src, at) }, at);
    }
}

/// Compresses `src` from `start` on into `dst`, or returns `None` if the result does not fit.
///
/// # Safety
/// The positions in `table` are 0 or below `start`.
unsafe fn compress_long<'a>(
    table: &mut Wide,
    src: impl Input<'a>,
    start: usize,
    dst: &mut [u8],
    effort: Effort,
) -> Option<usize> {
    let mut out = SequenceWriter::new(dst);
    enter_first(table, src);
    let begin = Progress::new(start, effort.acceleration);
    // SAFETY: the positions are those of the contract, and 4 + 5 is less than 12.
    let end = unsafe { greedy::find(table, src, begin, usize::MAX, RULES, &mut out)? };
    out.last(&src.bytes()[end.anchor..])
}

/// The same for at most 64 KiB.
///
/// # Safety
/// The positions in `table` are 0 or below `start`; four bytes are the keys.
unsafe fn compress_short<'a>(
    table: &mut Positions,
    src: impl Input<'a>,
    start: usize,
    dst: &mut [u8],
    effort: Effort,
) -> Option<usize> {
    let mut out = SequenceWriter::new(dst);
    enter_first(&mut Narrow::<4>(table), src);
    let begin = Progress::new(start, effort.acceleration);
    let mut counted = Counted { out: &mut out, sequences: 0, literals: 0 };
    // SAFETY: the positions are those of the contract, and then those of the first part too; 4 + 5 is less than 12.
    let end = unsafe {
        let first = search::<4>(table, src, begin, start + FIRST_PART, &mut counted)?;
        if effort.filtered && counted.is_dense() {
            enter_again(&mut Narrow::<6>(table), src, start..first.anchor);
            search::<6>(table, src, first, usize::MAX, &mut out)?
        } else {
            greedy::find(&mut Narrow::<4>(table), src, first, usize::MAX, RULES, &mut out)?
        }
    };
    out.last(&src.bytes()[end.anchor..])
}

/// Finds sequences, as [`greedy::find`] does. (A function of its own, as one with three copies of the search is slower.)
///
/// # Safety
/// The positions in `table` are 0 or below that of `progress`.
#[inline(never)]
unsafe fn search<'a, const KEY: usize>(
    table: &mut Positions,
    src: impl Input<'a>,
    progress: Progress,
    until: usize,
    out: &mut impl Sequences,
) -> Option<Progress> {
    // SAFETY: by the contract; 4 + 5 is less than 12.
    unsafe { greedy::find(&mut Narrow::<KEY>(table), src, progress, until, RULES, out) }
}

/// Counts what it writes.
struct Counted<'w, 'd> {
    out: &'w mut SequenceWriter<'d>,
    sequences: usize,
    literals: usize,
}

impl Counted<'_, '_> {
    /// Whether the first part is matches of fewer than eight bytes on average, with hardly a byte between them. Where
    /// they are longer, as in runs, keys of four bytes serve as well, and find better what repeats from afar.
    fn is_dense(&self) -> bool {
        self.sequences > FIRST_PART / 8 && self.literals < self.sequences
    }
}

impl Sequences for Counted<'_, '_> {
    #[inline(always)]
    fn sequence(&mut self, src: &[u8], anchor: usize, start: usize, distance: usize, len: usize) -> Option<()> {
        self.sequences += 1;
        self.literals += start - anchor;
        self.out.sequence(src, anchor, start, distance, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::input::Checked;
    use crate::codecs::testing::{LENGTHS, Random, data};

    #[test]
    fn stays_inside_its_input() {
        let mut encoder = FastEncoder::new();
        for &len in LENGTHS.iter().chain(&[300_000]) {
            for (kind, src) in data(len) {
                for acceleration in [1, 5, 9] {
                    let effort = Effort { acceleration, filtered: acceleration < 9 };
                    let room = len + len / 255 + 16;
                    let (mut trusted, mut checked) = (vec![0; room], vec![0; room]);
                    let written = encoder.compress_input(UncheckedInput(&src), &mut trusted, effort);
                    let again = encoder.compress_input(Checked(&src), &mut checked, effort);
                    assert!(written.is_some(), "{len} of {kind}, acceleration {acceleration}: it always fits");
                    assert_eq!(written, again, "{len} of {kind}, acceleration {acceleration}");
                    assert!(trusted == checked, "{len} of {kind}, acceleration {acceleration}");
                }
            }
        }
    }

    /// The longer keys are used, and pay, where a few letters follow each other in any order.
    #[test]
    fn dense_inputs_are_searched_for_longer_matches() {
        for (kind, src) in data(60_000) {
            let mut dst = vec![0; src.len() + 300];
            let mut compress = |filtered| {
                let effort = Effort { acceleration: 1, filtered };
                FastEncoder::new().compress(&src, &[], &mut dst, effort).expect("it fits")
            };
            let (plain, filtered) = (compress(false), compress(true));
            if kind == "letters" {
                assert!(filtered < plain * 97 / 100, "{filtered} bytes with longer keys, and {plain} without");
            } else {
                assert!(filtered <= plain, "{kind}: {filtered} bytes with longer keys, and {plain} without");
            }
        }
    }

    /// Where planes of bits are as long as the first part and repeat each other, it is found again under the longer keys.
    #[test]
    fn what_repeats_the_first_part_is_found() {
        for shortest in [1, 2] {
            let mut random = Random(1);
            let mut plane = Vec::new();
            while plane.len() < FIRST_PART {
                let bits = random.below(16);
                plane.resize(plane.len() + shortest + random.below(16), (0xFF00u16 >> bits) as u8);
            }
            plane.truncate(FIRST_PART);
            let src = plane.repeat(8);
            let mut dst = vec![0; src.len() + 300];
            let mut compress = |filtered| {
                let effort = Effort { acceleration: 1, filtered };
                FastEncoder::new().compress(&src, &[], &mut dst, effort).expect("it fits")
            };
            let (plain, filtered) = (compress(false), compress(true));
            assert_ne!(filtered, plain, "runs of {shortest} and more: the keys are longer");
            assert!(
                filtered < plain + plain / 20,
                "runs of {shortest} and more: {filtered} bytes, and {plain} without"
            );
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
                    let effort = Effort { acceleration: 1, filtered: false };
                    let mut table = Wide([0; _]);
                    prime(UncheckedInput(&src[..start]), &mut table);
                    let mut other = Wide(table.0);
                    // SAFETY: the table holds positions before `start`.
                    let written =
                        unsafe { compress_long(&mut table, UncheckedInput(&src), start, &mut trusted, effort) };
                    // SAFETY: as above.
                    let again = unsafe { compress_long(&mut other, Checked(&src), start, &mut checked, effort) };
                    assert_eq!(written, again, "{len} of {kind} from {start}");
                    assert!(trusted == checked, "{len} of {kind} from {start}");
                }
            }
        }
    }
}
