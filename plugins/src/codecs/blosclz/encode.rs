//! The BloscLZ encoder: a probe of whether compression pays, and one greedy pass with a table of where six bytes were last
//! seen.
//!
//! What a level promises is C-Blosc2's: the probe looks at the same part of the input, and asks for the same ratio. The
//! search is our own. C-Blosc2 looks for four bytes at every position, drops what is shorter than seven, and ends every
//! match a byte early. This encoder looks for six, at ever fewer positions where it finds none, and takes a match as far
//! as it reaches in both directions. That mostly writes less, in half the time.

use super::count::OpCounter;
use super::write::OpWriter;
use crate::codecs::greedy::{self, Progress, Rules, Sequences, Table};
use crate::codecs::input::{Input, UncheckedInput};

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
const MIN_MATCH: usize = 6;

const RULES: Rules =
    Rules { min_match: MIN_MATCH, match_limit: MATCH_LIMIT, last_literals: LAST_LITERALS, run_edges: true };

/// Logarithm of the number of table entries: 16 KiB of them leave room for the data in a level 1 cache.
const TABLE_LOG: u32 = 13;

/// The encoder, with its table, which is kept from stream to stream.
pub(super) struct Encoder {
    table: Box<Recent>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { table: Box::new(Recent([0; _])) }
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
        let rest = self.table.find(input(probed), &mut counter)?;
        let promised = counter.finish(probed.len() - rest);
        if (probed.len() as f64) < MIN_RATIO[level] * promised as f64 {
            return None;
        }
        let mut writer = OpWriter::new(dst);
        let rest = self.table.find(input(src), &mut writer)?;
        writer.finish(src, rest)
    }
}

/// The low 16 bits of the positions where six bytes were last seen, by their hash.
struct Recent([u16; 1 << TABLE_LOG]);

impl Recent {
    /// Clears the table and finds the sequences of `src`; returns where the last literals begin.
    #[inline(always)]
    fn find<'a>(&mut self, src: impl Input<'a>, out: &mut impl Sequences) -> Option<usize> {
        self.0.fill(0);
        // SAFETY: the table holds nothing but zeros, and 6 + 3 is less than 12.
        unsafe { greedy::find(self, src, Progress::new(0, 1), usize::MAX, RULES, out) }.map(|progress| progress.anchor)
    }
}

// SAFETY: the distance is at most 2^16. Where `at` is at most that as well, it is the difference to 0 or to a position entered
// before, both of which are below `at`.
unsafe impl Table for Recent {
    #[inline(always)]
    fn slot(word: u64) -> usize {
        ((word << (64 - 8 * MIN_MATCH)).wrapping_mul(0x9E37_79B1_85EB_CA87) >> (64 - TABLE_LOG)) as usize
    }

    #[inline(always)]
    fn exchange(&mut self, slot: usize, at: usize) -> usize {
        let before = std::mem::replace(&mut self.0[slot], at as u16);
        // 1 to 2^16 before `at`: the planes of many blocks are 2^16 bytes apart.
        let last = at - 1;
        last - usize::from((last as u16).wrapping_sub(before))
    }

    #[inline(always)]
    unsafe fn matches<'a>(src: impl Input<'a>, candidate: usize, at: usize) -> bool {
        // SAFETY: by the contract.
        let difference = unsafe { src.load8(candidate) ^ src.load8(at) }.to_le();
        difference << (64 - 8 * MIN_MATCH) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::input::Checked;
    use crate::codecs::testing::{LENGTHS, Random, data};

    /// The hours of timestamps: runs that are nearly as long as each other, of bytes that go on for a while and jump.
    #[test]
    fn runs_are_found_from_their_edges() {
        let (mut random, mut src, mut byte) = (Random(5), Vec::new(), 0u8);
        while src.len() < 1 << 18 {
            let jump = random.below(4) == 0;
            src.resize(src.len() + if jump { 50 + random.below(37) } else { 87 }, byte);
            byte = byte.wrapping_add(if jump { 12 } else { 1 });
        }
        let written = |rules| {
            let mut counter = OpCounter::default();
            let mut table = Recent([0; _]);
            // SAFETY: the table holds nothing but zeros, and 6 + 3 is less than 12.
            let end = unsafe {
                greedy::find(&mut table, UncheckedInput(&src), Progress::new(0, 1), usize::MAX, rules, &mut counter)
            };
            counter.finish(src.len() - end.expect("it counts on").anchor)
        };
        let (with, without) = (written(RULES), written(Rules { run_edges: false, ..RULES }));
        assert!(with < without * 9 / 10, "{with} bytes, and {without} without");
    }

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
