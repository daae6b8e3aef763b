//! The BloscLZ encoder: one greedy pass with a hash table, after a probe that tells whether it is worth while.
//!
//! Every choice here is C-Blosc2's, so that both write the same bytes. Positions are numbered from the start of the
//! input, and the table begins with all zeros: position 0 is a candidate wherever none other was entered.

use super::{FAR_DISTANCE, MAX_LITERALS};

/// Logarithm of the number of table entries, by level.
const HASH_LOG: [u32; 10] = [12, 12, 13, 14, 14, 14, 14, 14, 14, 14];

/// The largest of [`HASH_LOG`].
const MAX_HASH_LOG: u32 = 14;

/// The ratio that the probe must promise, by level; the faster the level, the sooner it gives up.
const MIN_RATIO: [f64; 10] = [2.0, 2.0, 1.5, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, 1.0];

/// Inputs below this are not worth a stream.
const MIN_INPUT: usize = 16;

/// Outputs below this are refused.
const MIN_OUTPUT: usize = 66;

/// Matches start at least this many bytes before the end of the input.
const MATCH_LIMIT: usize = 12;

/// The largest distance that is used, plus 1: 8191 + 65535 would fit.
const MAX_DISTANCE: usize = FAR_DISTANCE + 65_535 - 1;

/// The length field of a match counts from here: it says L for a match of L + 2.
const LENGTH_BIAS: usize = 2;

/// Length fields from here on are continued in more bytes.
const CONTINUED: usize = 7;

/// How many bytes a match is cut short, so that the next one can begin in them.
const SHIFT: usize = 4;

/// The table of where four bytes were last seen.
pub(super) struct Encoder {
    table: Vec<u32>,
}

/// What the search found at a position.
struct Match {
    /// How far back, less 1.
    distance: usize,
    /// The length field.
    len: usize,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { table: vec![0; 1 << MAX_HASH_LOG] }
    }

    /// Compresses `src` into `dst`, or returns `None` when the result does not fit or the probe promises too little.
    pub(super) fn compress(&mut self, level: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        let level = level.clamp(1, 9);
        if src.len() < MIN_INPUT || dst.len() < MIN_OUTPUT {
            return None;
        }
        let mut finder = Finder::new(&mut self.table, HASH_LOG[usize::from(level)]);
        let probed = src.len()
            >> match level {
                1 => 3,
                2..=3 => 2,
                4..=6 => 1,
                _ => 0,
            };
        if finder.probe(&src[src.len() - probed..]) < MIN_RATIO[usize::from(level)] {
            return None;
        }
        finder.clear();
        let mut out = Writer { dst, at: 0 };
        let mut anchor = 0;
        let mut p = 4;
        while p < src.len() - MATCH_LIMIT {
            let found = finder.find(src, p, src.len() - 1);
            // A far match is four bytes long and has to be longer to gain anything.
            let Some(Match { distance, len }) = found.filter(|m| m.len > 5 || m.distance < FAR_DISTANCE) else {
                p += 1;
                continue;
            };
            out.literals(&src[anchor..p])?;
            out.matched(distance, len)?;
            p += len;
            finder.enter(load4(src, p), p);
            if level == 9 {
                finder.enter(load4(src, p) >> 8, p + 1);
            }
            p += LENGTH_BIAS;
            anchor = p;
        }
        out.literals(&src[anchor..])?;
        // C-Blosc2 keeps one byte of the output unused.
        if out.at >= out.dst.len() {
            return None;
        }
        // "The first byte carries a marker."
        out.dst[0] |= 1 << 5;
        Some(out.at)
    }
}

struct Finder<'a> {
    table: &'a mut [u32],
    shift: u32,
}

fn load4(src: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(src[at..at + 4].try_into().expect("a slice of 4"))
}

impl<'a> Finder<'a> {
    fn new(table: &'a mut [u32], hash_log: u32) -> Self {
        Self { table: &mut table[..1 << hash_log], shift: 32 - hash_log }
    }

    fn clear(&mut self) {
        self.table.fill(0);
    }

    fn slot(&mut self, word: u32) -> &mut u32 {
        &mut self.table[(word.wrapping_mul(2_654_435_761) >> self.shift) as usize]
    }

    fn enter(&mut self, word: u32, at: usize) {
        *self.slot(word) = at as u32;
    }

    /// Looks for a match at `p` that ends before `bound`, and enters `p`.
    fn find(&mut self, src: &[u8], p: usize, bound: usize) -> Option<Match> {
        let word = load4(src, p);
        let slot = self.slot(word);
        let candidate = *slot as usize;
        *slot = p as u32;
        let distance = p - candidate;
        if distance == 0 || distance >= MAX_DISTANCE || load4(src, candidate) != word {
            return None;
        }
        let mut end = p + 4;
        while end < bound && src[end] == src[end - distance] {
            end += 1;
        }
        // C-Blosc2 steps over the first byte that differs; the shift makes the match too short in the end.
        if end < bound {
            end += 1;
        }
        let len = (end - SHIFT).checked_sub(p).filter(|&len| len >= 4)?;
        Some(Match { distance: distance - 1, len })
    }

    /// Estimates how much smaller `src` gets, from its first few thousand bytes.
    fn probe(&mut self, src: &[u8]) -> f64 {
        self.clear();
        let src = &src[..src.len().min(self.table.len())];
        let mut written = 5;
        let mut pending = 4;
        let mut p = 0;
        while p + MATCH_LIMIT < src.len() {
            let Some(Match { distance, len }) = self.find(src, p, src.len() - 1) else {
                p += 1;
                written += 1;
                pending += 1;
                if pending == MAX_LITERALS {
                    pending = 0;
                    written += 1;
                }
                continue;
            };
            if pending == 0 {
                written -= 1;
            }
            pending = 0;
            written += if distance < FAR_DISTANCE { 2 } else { 4 };
            if len >= CONTINUED {
                written += (len - CONTINUED) / 255 + 1;
            }
            p += len;
            self.enter(load4(src, p), p);
            p += LENGTH_BIAS;
            written += 1;
        }
        p as f64 / written as f64
    }
}

struct Writer<'a> {
    dst: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn literals(&mut self, literals: &[u8]) -> Option<()> {
        for run in literals.chunks(MAX_LITERALS) {
            self.push(&[(run.len() - 1) as u8])?;
            self.push(run)?;
        }
        Some(())
    }

    fn matched(&mut self, distance: usize, len: usize) -> Option<()> {
        let near = distance.min(FAR_DISTANCE);
        self.push(&[(len.min(CONTINUED) << 5 | near >> 8) as u8])?;
        if let Some(mut rest) = len.checked_sub(CONTINUED) {
            while rest >= 255 {
                self.push(&[255])?;
                rest -= 255;
            }
            self.push(&[rest as u8])?;
        }
        self.push(&[near as u8])?;
        if near == FAR_DISTANCE {
            self.push(&((distance - FAR_DISTANCE) as u16).to_be_bytes())?;
        }
        Some(())
    }

    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.dst.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }
}
