//! The encoder of the codec `lz4hc`: what each level does, and dictionaries.

use super::hc::{self, Effort};
use super::mid;
use super::segment::Segment;
use crate::codecs::input::{Input, UncheckedInput};
use crate::codecs::match_tables::HashChains;

/// How a level finds matches.
#[derive(Debug, Clone, Copy)]
enum Strategy {
    /// One greedy pass.
    Mid,
    /// The cheapest path through the matches that are found with this effort.
    Chains(Effort),
}

const fn chains(depth: usize, patience: u32) -> Strategy {
    Strategy::Chains(Effort { depth, patience })
}

/// By level, so that the output is about as long as that of LZ4 HC at the same level, or shorter. (Level 0 only occurs for
/// chunks of variable-length blocks, which cannot be stored.)
const STRATEGIES: [Strategy; 10] = [
    Strategy::Mid,
    Strategy::Mid,
    Strategy::Mid,
    chains(4, 10),
    chains(7, 10),
    chains(16, 10),
    chains(32, 10),
    chains(64, 10),
    chains(128, 10),
    chains(256, 11),
];

/// The last level of [`Strategy::Mid`].
pub(super) const MID: u8 = 2;

/// The tables of an encoder, kept from stream to stream.
#[derive(Default)]
pub(super) struct HighEncoder {
    mid: Option<mid::Tables>,
    chains: Option<HashChains>,
    segment: Segment,
    /// A dictionary, followed by the stream to compress.
    joined: Vec<u8>,
}

impl HighEncoder {
    /// Compresses `src` into `dst`, or returns `None` if the result does not fit. Matches may reach back into `dict`,
    /// which logically precedes `src`.
    pub(super) fn compress(&mut self, src: &[u8], dict: &[u8], dst: &mut [u8], level: u8) -> Option<usize> {
        if dict.is_empty() {
            return self.compress_input(UncheckedInput(src), 0, dst, level);
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend_from_slice(dict);
        joined.extend_from_slice(src);
        let result = self.compress_input(UncheckedInput(&joined), dict.len(), dst, level);
        self.joined = joined;
        result
    }

    /// Compresses `input` from `start` on. The bytes before it are the dictionary.
    fn compress_input<'a>(&mut self, input: impl Input<'a>, start: usize, dst: &mut [u8], level: u8) -> Option<usize> {
        let len = input.bytes().len();
        match STRATEGIES[usize::from(level.min(9))] {
            Strategy::Mid => {
                let tables = self.mid.get_or_insert_default();
                tables.begin(len);
                tables.enter(input, start);
                mid::compress(input, start, tables, dst)
            }
            Strategy::Chains(effort) => {
                let table = self.chains.get_or_insert_default();
                table.begin(len);
                hc::compress(input, start, table, &mut self.segment, effort, dst)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::input::Checked;
    use crate::codecs::lz4::decode;
    use crate::codecs::testing::{LENGTHS, Random, data};

    #[test]
    fn stays_inside_its_input() {
        let mut encoder = HighEncoder::default();
        for &len in LENGTHS {
            for (kind, src) in data(len) {
                for level in [1, 3, 5, 9] {
                    for start in [0, len / 3] {
                        let (mut trusted, mut checked) = (vec![0; len], vec![0; len]);
                        let written = encoder.compress_input(UncheckedInput(&src), start, &mut trusted, level);
                        let again = encoder.compress_input(Checked(&src), start, &mut checked, level);
                        assert_eq!(written, again, "{len} of {kind} from {start} at level {level}");
                        assert!(trusted == checked, "{len} of {kind} from {start} at level {level}");
                    }
                }
            }
        }
    }

    /// Data of random structure: copies from near and far of random length, literals between.
    fn random_data(random: &mut Random, len: usize) -> Vec<u8> {
        let mut bytes = vec![0];
        let (alphabet, longest) = (1 + random.below(255), 1 << (2 + random.below(9)));
        while bytes.len() < len {
            for _ in 0..random.below(8) {
                bytes.push(random.below(alphabet) as u8);
            }
            let magnitude = 1 + random.below(17);
            let distance = 1 + random.below(bytes.len().min(1 << magnitude));
            for _ in 0..random.below(longest) {
                bytes.push(bytes[bytes.len() - distance]);
            }
        }
        bytes.truncate(len);
        bytes
    }

    #[test]
    fn everything_comes_back() {
        let mut encoder = HighEncoder::default();
        for seed in 1..=300 {
            let mut random = Random(seed);
            let magnitude = 1 + random.below(18);
            let len = 1 + random.below(1 << magnitude);
            let src = random_data(&mut random, len);
            let start = if random.below(2) == 0 { 0 } else { random.below(len.min(32_768)) };
            let (dict, src) = src.split_at(start);
            for level in 0..=9 {
                let mut packed = vec![0; src.len() + src.len() / 255 + 16];
                let written = encoder.compress(src, dict, &mut packed, level).expect("it always fits");
                let mut back = vec![0; src.len()];
                let result = decode::decompress(&packed[..written], &mut back, dict);
                assert!(result.is_ok(), "seed {seed}, level {level}: {result:?}");
                assert!(back == src, "seed {seed}, level {level}");
                // "The last 5 bytes are always literals", "the last match must start at least 12 bytes before the end".
                check_end(&packed[..written], src.len());
            }
        }
    }

    /// What follows a run is found behind an earlier one of the same byte, though there are thousands of positions in runs
    /// between the two.
    #[test]
    fn runs_are_found_by_their_ends() {
        let mut random = Random(3);
        let mut noise = |len| (0..len).map(|_| 1 + random.below(255) as u8).collect::<Vec<_>>();
        for (level, between) in [(3, 3), (5, 15), (9, 100)] {
            for (run, other) in [(40, 500), (40, 20), (6, 300), (300, 301)] {
                let behind = noise(100);
                let mut src = [noise(50), vec![0; run], behind.clone(), noise(50)].concat();
                (0..between).for_each(|_| src.extend([vec![0; other], noise(20)].concat()));
                let len = |src: &[u8]| {
                    let mut packed = vec![0; 2 * src.len()];
                    HighEncoder::default().compress(src, &[], &mut packed, level).expect("there is room")
                };
                let without = len(&[&src[..], &noise(12)].concat());
                src.extend([vec![0; run], behind, noise(12)].concat());
                let more = len(&src) - without;
                assert!(more < 10, "{more} bytes for a run of {run} after {between} of {other} at level {level}");
            }
        }
    }

    /// Differences of the second bytes of numbers in regular steps: zeros and ones, in patterns that come back from far.
    #[test]
    fn regular_columns_shrink_at_low_levels() {
        let mut encoder = HighEncoder::default();
        for (step, most) in [(0.033, 1300), (0.0618, 1300), (0.081, 1000)] {
            let carries: Vec<u8> = (0..1 << 15)
                .map(|i| ((f64::from(i) + 1.0) * step).floor() - (f64::from(i) * step).floor())
                .map(|carry| carry as u8)
                .collect();
            let mut packed = vec![0; 2 * carries.len()];
            for level in [1, 2] {
                let len = encoder.compress(&carries, &[], &mut packed, level).expect("there is room");
                assert!(len < most, "{len} for steps of {step} at level {level}");
            }
        }
    }

    /// A saw tooth: runs of each of 40 numbers, over and over.
    #[test]
    fn runs_that_come_back_are_found_from_their_first_item() {
        for (typesize, run) in [(1, 20), (2, 40), (4, 100), (8, 100)] {
            let src: Vec<u8> = (0..(1 << 18) / typesize)
                .flat_map(|i| u64::to_le_bytes((i / run % 40) as u64)[..typesize].to_vec())
                .collect();
            let mut packed = vec![0; src.len()];
            for level in [1, 2] {
                let len = HighEncoder::default().compress(&src, &[], &mut packed, level).expect("there is room");
                let most = src.len() / 100;
                assert!(len < most, "{len} of {most} for runs of {run} items of {typesize} bytes at level {level}");
            }
        }
    }

    /// Checks the end-of-block rules that other decoders rely on.
    fn check_end(packed: &[u8], len: usize) {
        let (mut at, mut output) = (0, 0);
        loop {
            let token = packed[at];
            at += 1;
            let literals = length(packed, &mut at, token >> 4);
            at += literals;
            output += literals;
            if at == packed.len() {
                assert!(output == len && (literals >= 5 || literals == len), "ends with {literals} literals");
                return;
            }
            assert!(output + 12 <= len, "a match starts {} bytes before the end", len - output);
            at += 2;
            output += 4 + length(packed, &mut at, token & 15);
        }
    }

    /// The length that `nibble` begins.
    fn length(packed: &[u8], at: &mut usize, nibble: u8) -> usize {
        let mut length = usize::from(nibble);
        if nibble == 15 {
            loop {
                length += usize::from(packed[*at]);
                *at += 1;
                if packed[*at - 1] != 255 {
                    break;
                }
            }
        }
        length
    }
}
