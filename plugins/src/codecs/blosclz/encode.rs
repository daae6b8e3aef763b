//! The BloscLZ encoder: a probe of whether compression pays, and one greedy pass with a table of where seven bytes were
//! last seen.
//!
//! What a level promises is C-Blosc2's: the probe looks at the same part of the input, and asks for the same ratio. The
//! search is our own. C-Blosc2 looks for four bytes at every position, drops what is shorter than seven, and ends every
//! match a byte early. This encoder looks for seven, at ever fewer positions where it finds none, and takes a match as far
//! as it reaches in both directions. That writes less, in half the time.

use super::count::OpCounter;
use super::write::OpWriter;
use crate::codecs::input::{Input, UncheckedInput, common, common_before};

/// Logarithm of the bytes of the part of the input that the probe looks at, by level, at most.
const PROBED_MOST_LOG: [u32; 10] = [12, 12, 13, 14, 14, 14, 14, 14, 14, 14];

/// The part of the input in which that part begins, by level: the last 1 / 2^n.
const PROBED_LOG: [u32; 10] = [3, 3, 2, 2, 1, 1, 1, 0, 0, 0];

/// The ratio that the probe must find, by level. Faster levels give up sooner.
///
/// C-Blosc2 asks for 1.0 at level 9, and finds a little more or less than this probe. Noise has 0.97, as one byte in 33
/// begins a run of literals.
const MIN_RATIO: [f64; 10] = [2.0, 2.0, 1.5, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, 0.975];

/// Shorter inputs are not worth compressing.
const MIN_INPUT: usize = 16;

/// Shorter output buffers are refused.
const MIN_OUTPUT: usize = 66;

/// Matches start more than this many bytes before the end of the input.
const MATCH_LIMIT: usize = 12;

/// The last bytes are always literals: a decoder may drop a match that nothing follows.
const LAST_LITERALS: usize = 3;

/// The shortest match. Shorter ones save little: a far one takes four bytes, and the run of literals that it splits another.
/// In records they also hide longer ones that begin a few bytes later.
const MIN_MATCH: usize = 7;

/// Logarithm of the number of table entries: 16 KiB of them leave room for the data in a level 1 cache.
const TABLE_LOG: u32 = 13;

/// After this many positions without a match the steps get longer by one (logarithm).
const SKIP_LOG: u32 = 6;

/// The encoder, with its table, which is kept from stream to stream.
pub(super) struct Encoder {
    table: Box<Table>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { table: Box::new(Table([0; _])) }
    }

    /// Compresses `src` into `dst`, or returns `None` if the result does not fit or the probe finds too little.
    pub(super) fn compress(&mut self, level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        self.compress_input(level, src, dst, UncheckedInput)
    }

    fn compress_input<'a, I: Input<'a>>(
        &mut self,
        level: u8,
        src: &'a [u8],
        dst: &mut [u8],
        input: fn(&'a [u8]) -> I,
    ) -> Option<usize> {
        // Level 0 only occurs for chunks of variable-length blocks, which cannot be stored.
        let level = usize::from(level.clamp(1, 9));
        if src.len() < MIN_INPUT || dst.len() < MIN_OUTPUT {
            return None;
        }
        let probed = &src[src.len() - (src.len() >> PROBED_LOG[level])..];
        let probed = &probed[..probed.len().min(1 << PROBED_MOST_LOG[level])];
        let mut counter = OpCounter::default();
        self.table.operations(input(probed), &mut counter)?;
        if (probed.len() as f64) < MIN_RATIO[level] * counter.written() as f64 {
            return None;
        }
        let mut writer = OpWriter::new(dst);
        self.table.operations(input(src), &mut writer)?;
        writer.finish()
    }
}

/// Takes the operations of a stream, one after the other. All methods return `None` to stop.
pub(super) trait Operations {
    /// Takes the literals `src[anchor..start]`, which may be none, and the match of `len` bytes that follows them.
    fn sequence(&mut self, src: &[u8], anchor: usize, start: usize, distance: usize, len: usize) -> Option<()>;

    /// Takes the literals `src[anchor..]`, which are the last.
    fn last(&mut self, src: &[u8], anchor: usize) -> Option<()>;
}

/// The low 16 bits of the positions where seven bytes were last seen, by their hash.
struct Table([u16; 1 << TABLE_LOG]);

impl Table {
    /// Enters position `at`, where `word` is, and returns how far back the same bytes may be found, or 0 if nowhere.
    ///
    /// That is never more than `at`, as long as nothing but zeros and positions before `at` is in the table: it is below
    /// 2^16, and where `at` is as well, it is the difference to one of those.
    #[inline(always)]
    fn exchange(&mut self, word: u64, at: usize) -> usize {
        let hash = (word << (64 - 8 * MIN_MATCH)).wrapping_mul(0x9E37_79B1_85EB_CA87) >> (64 - TABLE_LOG);
        let before = std::mem::replace(&mut self.0[hash as usize], at as u16);
        (at as u16).wrapping_sub(before).into()
    }

    /// Finds the operations of the stream for `input`.
    #[inline(always)]
    fn operations<'a>(&mut self, input: impl Input<'a>, to: &mut impl Operations) -> Option<()> {
        let src = input.bytes();
        // Where positions are hashed and compared, `MATCH_LIMIT` bytes follow or more.
        let Some(limit) = src.len().checked_sub(MATCH_LIMIT + 1) else {
            return to.last(src, 0);
        };
        self.0.fill(0);
        let end = src.len() - LAST_LITERALS;
        let mut anchor = 0;
        let mut p = 1;
        'sequence: while p <= limit {
            let mut next = p;
            let mut step = 1;
            let mut tries = 1 << SKIP_LOG;
            let mut distance;
            // SAFETY: p <= limit.
            let mut word = unsafe { word_at(input, p) };
            loop {
                p = next;
                next = p + step;
                if next > limit {
                    break 'sequence;
                }
                step = tries >> SKIP_LOG;
                tries += 1;
                distance = self.exchange(word, p);
                // SAFETY: next <= limit, as just checked; p is before it, and the distance is at most p, as positions are
                // entered in ascending order.
                let (found, following) = unsafe { (found(input, word, p, distance), word_at(input, next)) };
                if found {
                    break;
                }
                word = following;
            }
            let most = (p - distance).min(p - anchor);
            let mut before = 0;
            if most > 0 && src[p - 1] == src[p - distance - 1] {
                // SAFETY: `most` is no more than p - distance, which is before p.
                before = unsafe { common_before(input, p - distance, p, most) };
            }
            loop {
                let from = p + MIN_MATCH;
                // SAFETY: the distance is at most p, and p + MIN_MATCH <= limit + MIN_MATCH <= end.
                let len = before + MIN_MATCH + unsafe { common(input, from - distance, from, end) };
                p -= before;
                to.sequence(src, anchor, p, distance, len)?;
                p += len;
                anchor = p;
                if p > limit {
                    break 'sequence;
                }
                before = 0;
                // SAFETY: p <= limit, as just checked, and it is behind a match, which ends after the last position that was
                // entered, with two bytes or more.
                let found = unsafe {
                    self.exchange(word_at(input, p - 2), p - 2);
                    let word = word_at(input, p);
                    distance = self.exchange(word, p);
                    found(input, word, p, distance)
                };
                if !found {
                    break;
                }
            }
            p += 1;
        }
        to.last(src, anchor)
    }
}

/// The eight bytes at `at`, with the first one lowest.
///
/// # Safety
/// `at + 8 <= input.bytes().len()`.
#[inline(always)]
unsafe fn word_at<'a>(input: impl Input<'a>, at: usize) -> u64 {
    // SAFETY: by the contract.
    u64::from_le(unsafe { input.load8(at) })
}

/// Whether a match for `word`, which is at `at`, begins `distance` before it.
///
/// # Safety
/// `distance <= at` and `at + 8 <= input.bytes().len()`.
#[inline(always)]
unsafe fn found<'a>(input: impl Input<'a>, word: u64, at: usize, distance: usize) -> bool {
    // SAFETY: by the contract.
    let earlier = unsafe { word_at(input, at - distance) };
    // One branch for both conditions: where there are no matches, the distance is as good as random.
    (earlier ^ word) << (64 - 8 * MIN_MATCH) | u64::from(distance == 0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::input::Checked;
    use crate::codecs::testing::{LENGTHS, data};

    #[test]
    fn stays_inside_its_input() {
        let mut encoder = Encoder::new();
        for &len in LENGTHS.iter().chain(&[300_000]) {
            for (kind, src) in data(len) {
                for level in [1, 5, 9] {
                    let (mut trusted, mut checked) = (vec![0; len], vec![0; len]);
                    let written = encoder.compress(level, &src, &mut trusted);
                    assert_eq!(written, encoder.compress_input(level, &src, &mut checked, Checked), "{len} of {kind}");
                    let written = written.unwrap_or(0);
                    assert_eq!(trusted[..written], checked[..written], "{len} of {kind}");
                }
            }
        }
    }
}
