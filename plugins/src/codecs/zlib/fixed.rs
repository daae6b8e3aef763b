//! Writing one zlib stream in a single deflate block with the fixed codes.
//!
//! Source: RFC 1950, section 2.2 (the stream); RFC 1951, sections 3.1.1 (bits fill bytes from the lowest), 3.2.5 (lengths
//! and distances) and 3.2.6 (the fixed codes).

/// "The length of a match is 3 to 258 bytes."
pub(super) const MIN_MATCH: usize = 3;

/// See [`MIN_MATCH`].
pub(super) const MAX_MATCH: usize = 258;

/// Distances reach back this far.
pub(super) const MAX_DISTANCE: usize = 1 << 15;

/// Deflate with a window of 32 KiB, compressed as fast as can be, and check bits that make the two a multiple of 31.
const HEADER: [u8; 2] = [0x78, 0x01];

/// The last block, with fixed codes: one bit and two.
const BLOCK: Code = Code { bits: 0b011, len: 3 };

/// Symbol 256.
const END_OF_BLOCK: Code = symbol(256);

/// Bits to be written, the first lowest.
#[derive(Debug, Clone, Copy)]
struct Code {
    bits: u16,
    len: u8,
}

/// The code of a symbol of the alphabet of literals and lengths.
const fn symbol(symbol: u16) -> Code {
    let (bits, len) = match symbol {
        0..=143 => (0b0011_0000 + symbol, 8),
        144..=255 => (0b1_1001_0000 + symbol - 144, 9),
        256..=279 => (symbol - 256, 7),
        _ => (0b1100_0000 + symbol - 280, 8),
    };
    // Codes are written from their highest bit, everything else from its lowest.
    Code { bits: bits.reverse_bits() >> (16 - len), len: len as u8 }
}

static LITERALS: [Code; 256] = {
    let mut codes = [END_OF_BLOCK; 256];
    let mut byte = 0;
    while byte < 256 {
        codes[byte] = symbol(byte as u16);
        byte += 1;
    }
    codes
};

/// The codes of match lengths with their extra bits, by length less 3.
static LENGTHS: [Code; 256] = {
    let mut codes = [END_OF_BLOCK; 256];
    let mut len = 0;
    while len < 256 {
        // Four symbols share each number of extra bits, but for the first eight, which have none, and the last, which
        // stands for 258 alone.
        let (number, extra) = match len {
            0..8 => (len, 0),
            255 => (28, 0),
            _ => {
                let extra = (len as u16).ilog2() - 2;
                (4 * extra as usize + (len >> extra), extra)
            }
        };
        let code = symbol(257 + number as u16);
        let low = (len & ((1 << extra) - 1)) as u16;
        codes[len] = Code { bits: code.bits | low << code.len, len: code.len + extra as u8 };
        len += 1;
    }
    codes
};

/// Bits of the code of a distance, without the extra ones.
const DISTANCE_LEN: u32 = 5;

/// The codes of the distance symbols.
static DISTANCES: [u8; 32] = {
    let mut codes = [0; 32];
    let mut symbol = 0;
    while symbol < 32 {
        codes[symbol] = (symbol as u8).reverse_bits() >> (8 - DISTANCE_LEN);
        symbol += 1;
    }
    codes
};

/// Writes a stream to a buffer until it is full.
pub(super) struct Writer<'a> {
    dst: &'a mut [u8],
    at: usize,
    /// Bits that are not in `dst` yet, the first lowest: less than 8 between two calls.
    bits: u64,
    count: u32,
}

impl<'a> Writer<'a> {
    /// Begins a stream; `None` when not even that fits.
    pub(super) fn new(dst: &'a mut [u8]) -> Option<Self> {
        dst.get_mut(..HEADER.len())?.copy_from_slice(&HEADER);
        let mut writer = Self { dst, at: HEADER.len(), bits: 0, count: 0 };
        writer.put(BLOCK);
        Some(writer)
    }

    /// Writes bytes as they are; `None` when they do not fit.
    #[inline(always)]
    pub(super) fn literals(&mut self, bytes: &[u8]) -> Option<()> {
        // Six codes of nine bits, with the seven that may be left over, are as many as there is room for.
        let mut groups = bytes.chunks_exact(6);
        for group in &mut groups {
            for &byte in group {
                self.put(LITERALS[usize::from(byte)]);
            }
            self.flush()?;
        }
        for &byte in groups.remainder() {
            self.put(LITERALS[usize::from(byte)]);
        }
        self.flush()
    }

    /// Writes a match of any length from [`MIN_MATCH`] on, in pieces where it is longer than one can be; `None` when it
    /// does not fit. `distance` is 1..=[`MAX_DISTANCE`].
    #[inline(always)]
    pub(super) fn matched(&mut self, mut len: usize, distance: usize) -> Option<()> {
        while len > MAX_MATCH {
            // What is left must be long enough for a match again.
            let piece = MAX_MATCH.min(len - MIN_MATCH);
            self.piece(piece, distance)?;
            len -= piece;
        }
        self.piece(len, distance)
    }

    #[inline(always)]
    fn piece(&mut self, len: usize, distance: usize) -> Option<()> {
        self.put(LENGTHS[(len - MIN_MATCH) & 0xFF]);
        // Two symbols share each number of extra bits from distance 3 on: for the first two symbols the formula gives
        // two more.
        let less = (distance - 1) as u32;
        let extra = (less | 2).ilog2() - 1;
        let number = 2 * (extra + 1) + (less >> extra & 1) - 2 * u32::from(less < 2);
        let low = u64::from(less & ((1 << extra) - 1));
        self.bits |= (u64::from(DISTANCES[number as usize & 31]) | low << DISTANCE_LEN) << self.count;
        self.count += DISTANCE_LEN + extra;
        self.flush()
    }

    /// Ends the stream of bytes whose Adler-32 is `sum`, and returns its length.
    pub(super) fn finish(mut self, sum: u32) -> Option<usize> {
        self.put(END_OF_BLOCK);
        self.count = self.count.next_multiple_of(8);
        self.flush()?;
        self.dst.get_mut(self.at..self.at + 4)?.copy_from_slice(&sum.to_be_bytes());
        Some(self.at + 4)
    }

    /// Adds bits that there is room for: 64 in all.
    #[inline(always)]
    fn put(&mut self, code: Code) {
        self.bits |= u64::from(code.bits) << self.count;
        self.count += u32::from(code.len);
    }

    /// Moves whole bytes to the buffer.
    #[inline(always)]
    fn flush(&mut self) -> Option<()> {
        match self.dst.get_mut(self.at..self.at + 8) {
            // What is behind the whole bytes is written again the next time.
            Some(room) => room.copy_from_slice(&self.bits.to_le_bytes()),
            None => self.flush_exactly()?,
        }
        self.at += self.count as usize / 8;
        self.bits >>= self.count & !7;
        self.count &= 7;
        Some(())
    }

    #[cold]
    fn flush_exactly(&mut self) -> Option<()> {
        let whole = self.count as usize / 8;
        self.dst.get_mut(self.at..self.at + whole)?.copy_from_slice(&self.bits.to_le_bytes()[..whole]);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use libdeflater::Decompressor;

    use super::*;

    /// What a reader makes of the stream that `write` writes; the stream must fit exactly.
    fn read(expected: &[u8], write: impl Fn(&mut Writer<'_>) -> Option<()>) {
        let encode = |dst: &mut [u8]| {
            let mut writer = Writer::new(dst)?;
            write(&mut writer)?;
            writer.finish(libdeflater::adler32(expected))
        };
        let mut room = vec![0; 2 * expected.len() + 64];
        let len = encode(&mut room).expect("there is room");
        let mut exact = vec![0xEE; len];
        assert_eq!(encode(&mut exact), Some(len));
        assert_eq!(exact, room[..len]);
        for less in 0..len {
            assert_eq!(encode(&mut vec![0; less]), None, "{less} of {len} bytes");
        }
        let mut back = vec![0; expected.len()];
        assert_eq!(Decompressor::new().zlib_decompress(&exact, &mut back), Ok(expected.len()));
        assert!(back == expected);
    }

    #[test]
    fn every_literal() {
        for count in 0..=256 {
            let bytes: Vec<u8> = (0..count).map(|i| (i * 37) as u8).collect();
            read(&bytes, |out| out.literals(&bytes));
        }
    }

    #[test]
    fn every_length() {
        for len in MIN_MATCH..=2 * MAX_MATCH + 10 {
            let bytes: Vec<u8> = (0..5 + len).map(|i| (i % 5) as u8).collect();
            read(&bytes, |out| {
                out.literals(&bytes[..5])?;
                out.matched(len, 5)
            });
        }
    }

    #[test]
    fn distances_of_every_code() {
        let noise: Vec<u8> = (0..MAX_DISTANCE as u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect();
        for log in 0..=15 {
            for distance in [1 << log, (1 << log) + 1, (1 << log) * 3 / 2, (1 << log) * 3 / 2 + 1, (2 << log) - 1] {
                if distance > MAX_DISTANCE {
                    continue;
                }
                let mut bytes = noise[..distance].to_vec();
                for i in 0..7 {
                    bytes.push(bytes[i]);
                }
                let encode = |dst: &mut [u8]| {
                    let mut writer = Writer::new(dst)?;
                    writer.literals(&bytes[..distance])?;
                    writer.matched(7, distance)?;
                    writer.finish(libdeflater::adler32(&bytes))
                };
                let mut dst = vec![0; 2 * bytes.len() + 64];
                let len = encode(&mut dst).expect("there is room");
                let mut back = vec![0; bytes.len()];
                let result = Decompressor::new().zlib_decompress(&dst[..len], &mut back);
                assert_eq!(result, Ok(bytes.len()), "distance {distance}");
                assert!(back == bytes, "distance {distance}");
            }
        }
    }
}
