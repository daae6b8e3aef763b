//! The codes of a deflate block.
//!
//! Source: RFC 1951, sections 3.2.2 (codes from their lengths), 3.2.5 (lengths and distances) and 3.2.6 (the fixed codes).

use super::bits::{BitWriter, Code};

/// "The length of a match is 3 to 258 bytes."
pub(super) const MIN_MATCH: usize = 3;

/// See [`MIN_MATCH`].
pub(super) const MAX_MATCH: usize = 258;

/// Distances reach back this far.
pub(super) const MAX_DISTANCE: usize = 1 << 15;

/// Symbol that ends a block.
pub(super) const END_OF_BLOCK: usize = 256;

/// Symbols for literals, the end of the block and lengths, two of which are never used.
pub(super) const SYMBOLS: usize = 288;

/// Symbols for distances.
pub(super) const DISTANCES: usize = 30;

/// The symbol of a length or distance, relative to the first such symbol, and its number of extra bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) number: usize,
    pub(super) extra: u32,
}

/// The symbol of a match length.
#[inline(always)]
pub(super) const fn length_symbol(len: usize) -> Symbol {
    let less = len - MIN_MATCH;
    // Four symbols share each number of extra bits, except the first eight, which have none, and the last, which stands
    // for 258 alone.
    match less {
        0..8 => Symbol { number: less, extra: 0 },
        255 => Symbol { number: 28, extra: 0 },
        _ => {
            let extra = less.ilog2() - 2;
            Symbol { number: 4 * extra as usize + (less >> extra), extra }
        }
    }
}

/// The symbol of a distance.
#[inline(always)]
pub(super) const fn distance_symbol(distance: usize) -> Symbol {
    let less = distance - 1;
    // Two symbols share each number of extra bits; for the first two the formula gives two more.
    let extra = (less | 2).ilog2() - 1;
    Symbol { number: 2 * (extra as usize + 1) + (less >> extra & 1) - 2 * (less < 2) as usize, extra }
}

/// The codes for literals, matches and the end of a block.
pub(super) struct Codes {
    literals: [Code; 256],
    /// By length less 3, with the extra bits.
    lengths: [Code; 256],
    /// By symbol, without the extra bits.
    distances: [Code; 32],
    end: Code,
    /// Bits of the longest code of a literal.
    longest: u8,
}

/// The fixed codes.
pub(super) static FIXED: Codes = {
    let mut symbols = [0; SYMBOLS];
    let mut symbol = 0;
    while symbol < SYMBOLS {
        symbols[symbol] = match symbol {
            0..=143 => 8,
            144..=255 => 9,
            256..=279 => 7,
            _ => 8,
        };
        symbol += 1;
    }
    Codes::from_lengths(&symbols, &[5; DISTANCES])
};

/// The canonical codes with these lengths.
pub(super) const fn canonical<const N: usize>(lengths: &[u8; N]) -> [Code; N] {
    let mut next = [0u32; 17];
    let mut symbol = 0;
    while symbol < N {
        // The first code of each length comes after all shorter ones: the codes taken by shorter ones double with each
        // bit.
        let mut len = lengths[symbol] as usize + 1;
        while lengths[symbol] > 0 && len <= 16 {
            next[len] += 1 << (len - lengths[symbol] as usize);
            len += 1;
        }
        symbol += 1;
    }
    let mut codes = [Code { bits: 0, len: 0 }; N];
    let mut symbol = 0;
    while symbol < N {
        let len = lengths[symbol];
        if len > 0 {
            // Codes are written from their highest bit, everything else from its lowest.
            let bits = (next[len as usize] as u16).reverse_bits() >> (16 - len as u32);
            codes[symbol] = Code { bits: bits as u32, len };
            next[len as usize] += 1;
        }
        symbol += 1;
    }
    codes
}

impl Codes {
    /// The codes whose symbols have these lengths; 0 for symbols that do not occur.
    pub(super) const fn from_lengths(symbols: &[u8; SYMBOLS], distances: &[u8; DISTANCES]) -> Self {
        let none = Code { bits: 0, len: 0 };
        let (symbols, short) = (canonical(symbols), canonical(distances));
        let mut codes = Self {
            literals: [none; 256],
            lengths: [none; 256],
            distances: [none; 32],
            end: symbols[END_OF_BLOCK],
            longest: 0,
        };
        let mut i = 0;
        while i < 256 {
            codes.literals[i] = symbols[i];
            if symbols[i].len > codes.longest {
                codes.longest = symbols[i].len;
            }
            let Symbol { number, extra } = length_symbol(i + MIN_MATCH);
            let code = symbols[END_OF_BLOCK + 1 + number];
            let low = (i & ((1 << extra) - 1)) as u32;
            codes.lengths[i] = Code { bits: code.bits | low << code.len, len: code.len + extra as u8 };
            i += 1;
        }
        let mut i = 0;
        while i < DISTANCES {
            codes.distances[i] = short[i];
            i += 1;
        }
        codes
    }

    /// Writes literals with codes of any length.
    #[inline(always)]
    pub(super) fn literals(&self, out: &mut BitWriter<'_>, bytes: &[u8]) -> Option<()> {
        match self.longest {
            ..=9 => self.groups::<6>(out, bytes),
            10..=14 => self.groups::<4>(out, bytes),
            _ => self.groups::<3>(out, bytes),
        }
    }

    /// Writes literals, `GROUP` of them between two flushes.
    #[inline(always)]
    pub(super) fn groups<const GROUP: usize>(&self, out: &mut BitWriter<'_>, bytes: &[u8]) -> Option<()> {
        debug_assert!(GROUP as u32 * u32::from(self.longest) <= BitWriter::ROOM);
        let mut groups = bytes.chunks_exact(GROUP);
        for group in &mut groups {
            for &byte in group {
                out.put(self.literals[usize::from(byte)]);
            }
            out.flush()?;
        }
        for &byte in groups.remainder() {
            out.put(self.literals[usize::from(byte)]);
        }
        out.flush()
    }

    /// Writes a match. `len` is 3 to 258, `distance` 1 to [`MAX_DISTANCE`].
    #[inline(always)]
    pub(super) fn matched(&self, out: &mut BitWriter<'_>, len: usize, distance: usize) -> Option<()> {
        // 15 bits and 5, 15 bits and 13.
        out.put(self.lengths[(len - MIN_MATCH) & 0xFF]);
        let Symbol { number, extra } = distance_symbol(distance);
        let code = self.distances[number & 31];
        let low = (distance - 1) & ((1 << extra) - 1);
        out.put_bits(u64::from(code.bits) | (low as u64) << code.len, u32::from(code.len) + extra);
        out.flush()
    }

    /// Writes a match of any length from 3 on, as several if it is longer than a single one can be.
    #[inline(always)]
    pub(super) fn long_match(&self, out: &mut BitWriter<'_>, mut len: usize, distance: usize) -> Option<()> {
        while len > MAX_MATCH {
            // The rest must be long enough for a match.
            let piece = MAX_MATCH.min(len - MIN_MATCH);
            self.matched(out, piece, distance)?;
            len -= piece;
        }
        self.matched(out, len, distance)
    }

    /// Ends the block.
    pub(super) fn end(&self, out: &mut BitWriter<'_>) -> Option<()> {
        out.put(self.end);
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_the_tables_in_the_rfc() {
        let length = |len| length_symbol(len);
        for (len, number, extra) in
            [(3, 0, 0), (10, 7, 0), (11, 8, 1), (18, 11, 1), (19, 12, 2), (257, 27, 5), (258, 28, 0)]
        {
            assert_eq!(length(len), Symbol { number, extra }, "length {len}");
        }
        for (distance, number, extra) in [
            (1, 0, 0),
            (2, 1, 0),
            (4, 3, 0),
            (5, 4, 1),
            (6, 4, 1),
            (7, 5, 1),
            (193, 15, 6),
            (24577, 29, 13),
            (32768, 29, 13),
        ] {
            assert_eq!(distance_symbol(distance), Symbol { number, extra }, "distance {distance}");
        }
    }

    #[test]
    fn fixed_codes_are_those_of_the_rfc() {
        let code = |bits: u16, len| Code { bits: u32::from(bits.reverse_bits() >> (16 - len)), len };
        assert_eq!(FIXED.literals[0], code(0b0011_0000, 8));
        assert_eq!(FIXED.literals[143], code(0b1011_1111, 8));
        assert_eq!(FIXED.literals[144], code(0b1_1001_0000, 9));
        assert_eq!(FIXED.literals[255], code(0b1_1111_1111, 9));
        assert_eq!(FIXED.end, code(0, 7));
        assert_eq!(FIXED.lengths[255], code(0b1100_0101, 8));
        assert_eq!(FIXED.distances[29], code(0b11101, 5));
    }
}
