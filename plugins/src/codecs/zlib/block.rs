//! Writes the sequences of a stretch of the input as a deflate block.
//!
//! Source: RFC 1951, sections 3.2.3 to 3.2.7.

use super::bits::{BitWriter, Code};
use super::codes::{Codes, DISTANCES, END_OF_BLOCK, FIXED, SYMBOLS, canonical, distance_symbol, length_symbol};
use super::cost::{self, BIT};
use super::huffman;

/// Some literals and the match that follows them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sequence {
    pub(super) literals: u32,
    /// 0 for no match.
    pub(super) len: u16,
    pub(super) distance: u16,
}

/// How often each symbol occurs in a stretch of the input.
#[derive(Clone)]
pub(super) struct Counts {
    pub(super) symbols: [u32; SYMBOLS],
    pub(super) distances: [u32; DISTANCES],
    /// Bits that follow symbols.
    extra: u64,
    /// Bytes of the input.
    pub(super) bytes: usize,
}

/// The longest code of a literal, length or distance.
const LIMIT: usize = 15;

/// The longest code of a code length.
const SHORT_LIMIT: usize = 7;

/// "The code lengths for the code length alphabet, in the order".
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Bytes of a stored piece.
const STORED: usize = 65_535;

impl Counts {
    pub(super) const NONE: Self = Self { symbols: [0; SYMBOLS], distances: [0; DISTANCES], extra: 0, bytes: 0 };

    /// Counts the symbols of `bytes`, which consist of `sequences`.
    pub(super) fn of(mut bytes: &[u8], sequences: &[Sequence]) -> Self {
        let mut counts = Self::NONE;
        for &Sequence { literals, len, distance } in sequences {
            let (run, rest) = bytes.split_at(literals as usize);
            counts.literals(run);
            if len > 0 {
                counts.matched(len.into(), distance.into());
            }
            bytes = &rest[usize::from(len)..];
        }
        counts
    }

    fn literals(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.symbols[usize::from(byte)] += 1;
        }
        self.bytes += bytes.len();
    }

    pub(super) fn matched(&mut self, len: usize, distance: usize) {
        let (length, distance) = (length_symbol(len), distance_symbol(distance));
        self.symbols[END_OF_BLOCK + 1 + length.number] += 1;
        self.distances[distance.number] += 1;
        self.extra += u64::from(length.extra + distance.extra);
        self.bytes += len;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.symbols.iter_mut().zip(&other.symbols) {
            *mine += theirs;
        }
        for (mine, theirs) in self.distances.iter_mut().zip(&other.distances) {
            *mine += theirs;
        }
        self.extra += other.extra;
        self.bytes += other.bytes;
    }

    /// The approximate length of a block of it, in units of 1 / [`BIT`].
    pub(super) fn cost(&self) -> u64 {
        let (symbols, used) = cost::entropy(&self.symbols);
        let (distances, more) = cost::entropy(&self.distances);
        // Equal code lengths are run-length encoded, and then coded themselves.
        let header = 100 + 4 * (used + more);
        let coded = symbols + distances + (self.extra + header) * u64::from(BIT);
        coded.min(stored_bits(self.bytes) * u64::from(BIT))
    }
}

fn stored_bits(bytes: usize) -> u64 {
    let pieces = bytes.div_ceil(STORED).max(1);
    8 * (bytes + 5 * pieces) as u64
}

/// Writes the block of `bytes`, which consist of `sequences`, in the shortest form.
pub(super) fn write(
    out: &mut BitWriter<'_>,
    bytes: &[u8],
    sequences: &[Sequence],
    counts: &mut Counts,
    last: bool,
) -> Option<()> {
    counts.symbols[END_OF_BLOCK] = 1;
    let own = DynamicCodes::new(counts);
    let fixed = fixed_bits(counts);
    let (coded, stored) = (own.bits.min(fixed), stored_bits(bytes.len()));
    if stored < coded {
        return store(out, bytes, last);
    }
    out.put_bits(u64::from(last), 1);
    if fixed <= own.bits {
        out.put_bits(1, 2);
        body(out, bytes, sequences, &FIXED)
    } else {
        out.put_bits(2, 2);
        own.header(out)?;
        body(out, bytes, sequences, &Codes::from_lengths(&own.symbols, &own.distances))
    }
}

fn body(out: &mut BitWriter<'_>, mut bytes: &[u8], sequences: &[Sequence], codes: &Codes) -> Option<()> {
    out.flush()?;
    for &Sequence { literals, len, distance } in sequences {
        let (run, rest) = bytes.split_at_checked(literals as usize)?;
        codes.literals(out, run)?;
        if len > 0 {
            codes.matched(out, len.into(), distance.into())?;
        }
        bytes = rest.get(usize::from(len)..)?;
    }
    codes.end(out)
}

fn store(out: &mut BitWriter<'_>, bytes: &[u8], last: bool) -> Option<()> {
    let mut pieces = bytes.chunks(STORED).peekable();
    while let Some(piece) = pieces.next() {
        out.put_bits(u64::from(last && pieces.peek().is_none()), 3);
        out.align()?;
        let len = piece.len() as u16;
        out.bytes(&len.to_le_bytes())?;
        out.bytes(&(!len).to_le_bytes())?;
        out.bytes(piece)?;
    }
    Some(())
}

/// Bits of a block with the fixed codes.
fn fixed_bits(counts: &Counts) -> u64 {
    let of = |range: std::ops::Range<usize>| counts.symbols[range].iter().map(|&count| u64::from(count)).sum::<u64>();
    let distances: u64 = counts.distances.iter().map(|&count| u64::from(count)).sum();
    8 * of(0..144) + 9 * of(144..256) + 7 * of(256..280) + 8 * of(280..SYMBOLS) + 5 * distances + counts.extra
}

/// The dynamic codes of a block, and how they are written.
struct DynamicCodes {
    symbols: [u8; SYMBOLS],
    distances: [u8; DISTANCES],
    /// How many symbols are written.
    symbol_count: usize,
    distance_count: usize,
    /// The run-length encoded code lengths: symbols of their alphabet with extra bits.
    runs: Vec<(u8, Code)>,
    /// The codes of that alphabet, and how many of their lengths are written.
    short: [Code; 19],
    short_count: usize,
    /// Bits of header and block.
    bits: u64,
}

impl DynamicCodes {
    fn new(counts: &Counts) -> Self {
        let symbols = huffman::lengths(&counts.symbols, LIMIT);
        let distances = huffman::lengths(&counts.distances, LIMIT);
        let used = |lengths: &[u8]| lengths.iter().rposition(|&len| len > 0).map_or(0, |last| last + 1);
        let (symbol_count, distance_count) = (used(&symbols).max(END_OF_BLOCK + 1), used(&distances).max(1));
        let runs = runs(symbols[..symbol_count].iter().chain(&distances[..distance_count]).copied());
        let mut frequencies = [0; 19];
        for (symbol, _) in &runs {
            frequencies[usize::from(*symbol)] += 1;
        }
        let short = canonical(&huffman::lengths(&frequencies, SHORT_LIMIT));
        let short_count = ORDER.iter().rposition(|&symbol| short[symbol].len > 0).map_or(4, |last| (last + 1).max(4));
        let of_runs = |&(symbol, more): &(u8, Code)| u64::from(short[usize::from(symbol)].len + more.len);
        let header = 14 + 3 * short_count as u64 + runs.iter().map(of_runs).sum::<u64>();
        let body = |counts: &[u32], lengths: &[u8]| -> u64 {
            counts.iter().zip(lengths).map(|(&count, &len)| u64::from(count) * u64::from(len)).sum()
        };
        let bits = header + body(&counts.symbols, &symbols) + body(&counts.distances, &distances) + counts.extra;
        Self { symbols, distances, symbol_count, distance_count, runs, short, short_count, bits }
    }

    fn header(&self, out: &mut BitWriter<'_>) -> Option<()> {
        out.put_bits((self.symbol_count - 257) as u64, 5);
        out.put_bits((self.distance_count - 1) as u64, 5);
        out.put_bits((self.short_count - 4) as u64, 4);
        for &symbol in &ORDER[..self.short_count] {
            out.flush()?;
            out.put_bits(self.short[symbol].len.into(), 3);
        }
        for &(symbol, more) in &self.runs {
            out.flush()?;
            out.put(self.short[usize::from(symbol)]);
            out.put(more);
        }
        out.flush()
    }
}

/// Code lengths in the alphabet for them: 16 repeats the last one 3 to 6 times, 17 and 18 stand for 3 to 10 and for 11 to 138
/// zeros.
fn runs(lengths: impl Iterator<Item = u8>) -> Vec<(u8, Code)> {
    let mut runs = Vec::new();
    let mut lengths = lengths.peekable();
    while let Some(len) = lengths.next() {
        let mut count = 1;
        while lengths.next_if_eq(&len).is_some() {
            count += 1;
        }
        let none = Code::default();
        if len > 0 {
            runs.push((len, none));
            count -= 1;
        }
        while count >= 3 {
            let (symbol, least, most, bits) = match (len, count) {
                (1.., _) => (16, 3, 6, 2),
                (0, ..=10) => (17, 3, 10, 3),
                (0, _) => (18, 11, 138, 7),
            };
            let piece = count.min(most);
            runs.push((symbol, Code { bits: piece - least, len: bits }));
            count -= piece;
        }
        runs.extend((0..count).map(|_| (len, none)));
    }
    runs
}

#[cfg(test)]
mod tests {
    use libdeflater::Decompressor;

    use super::*;
    use crate::codecs::zlib::codes::{MAX_DISTANCE, MAX_MATCH, MIN_MATCH};

    fn round_trip(bytes: &[u8], sequences: &[Sequence]) -> usize {
        let counts = Counts::of(bytes, sequences);
        let at: usize = sequences.iter().map(|one| one.literals as usize + usize::from(one.len)).sum();
        assert_eq!((at, counts.bytes), (bytes.len(), bytes.len()));
        let encode = |dst: &mut [u8]| {
            let mut out = BitWriter::new(dst)?;
            write(&mut out, bytes, sequences, &mut counts.clone(), true)?;
            out.finish(crate::codecs::zlib::library::adler32(bytes))
        };
        let mut dst = vec![0; 2 * bytes.len() + 400];
        let len = encode(&mut dst).expect("there is room");
        let mut back = vec![0; bytes.len()];
        assert_eq!(Decompressor::new().zlib_decompress(&dst[..len], &mut back), Ok(bytes.len()));
        assert!(back == bytes);
        for less in 0..len {
            assert_eq!(encode(&mut dst[..less]), None);
        }
        len
    }

    fn literals(count: usize) -> Sequence {
        Sequence { literals: count as u32, len: 0, distance: 0 }
    }

    #[test]
    fn each_form_where_it_is_shortest() {
        let noise: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 21) as u8).collect();
        assert_eq!(round_trip(&noise, &[literals(1000)]), 1000 + 5 + 6);
        assert_eq!(round_trip(b"abc", &[literals(3)]), (3 + 3 * 8 + 7usize).div_ceil(8) + 6);
        let skewed: Vec<u8> = noise.iter().map(|&byte| byte >> (byte & 7)).collect();
        assert!(round_trip(&skewed, &[literals(1000)]) < 800);
    }

    #[test]
    fn every_length_and_many_distances() {
        let mut bytes: Vec<u8> = (0..40_000u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect();
        let mut sequences = vec![literals(bytes.len())];
        for len in MIN_MATCH..=MAX_MATCH {
            let distance = 1 + len * 7919 % MAX_DISTANCE;
            bytes.push(len as u8);
            for _ in 0..len {
                bytes.push(bytes[bytes.len() - distance]);
            }
            sequences.push(Sequence { literals: 1, len: len as u16, distance: distance as u16 });
        }
        round_trip(&bytes, &sequences);
    }

    #[test]
    fn code_lengths_are_run_together() {
        let expand = |lengths: &[u8]| {
            let mut back: Vec<u8> = Vec::new();
            for (symbol, more) in runs(lengths.iter().copied()) {
                let (value, count) = match symbol {
                    16 => (*back.last().expect("16 repeats something"), 3 + more.bits),
                    17 => (0, 3 + more.bits),
                    18 => (0, 11 + more.bits),
                    len => (len, 1),
                };
                assert!(more.bits < 1 << more.len || more.len == 0);
                back.extend((0..count).map(|_| value));
            }
            back
        };
        for count in 0..300 {
            for len in [0, 9] {
                let lengths = [&vec![len; count][..], &[3, 3], &vec![0; count % 13], &[1]].concat();
                assert_eq!(expand(&lengths), lengths);
            }
        }
    }
}
