//! Writes a zlib stream bit by bit.
//!
//! Source: RFC 1950, section 2.2 (what is around the blocks); RFC 1951, section 3.1.1 (bits fill bytes from the lowest).

/// Deflate with a window of 32 KiB, and check bits that make the two a multiple of 31.
const HEADER: [u8; 2] = [0x78, 0x01];

/// A code: bits to write, the first lowest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) bits: u32,
    pub(super) len: u8,
}

/// Writes a stream to a buffer until it is full.
pub(super) struct BitWriter<'a> {
    dst: &'a mut [u8],
    at: usize,
    /// Bits that are not in `dst` yet, the first lowest: less than 8 after a [`flush`](BitWriter::flush).
    bits: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// Bits that fit between two flushes.
    pub(super) const ROOM: u32 = 64 - 8;

    /// Starts a stream; `None` if not even that fits.
    pub(super) fn new(dst: &'a mut [u8]) -> Option<Self> {
        dst.get_mut(..HEADER.len())?.copy_from_slice(&HEADER);
        Some(Self { dst, at: HEADER.len(), bits: 0, count: 0 })
    }

    /// Adds a code, with room for it: see [`ROOM`](Self::ROOM).
    #[inline(always)]
    pub(super) fn put(&mut self, code: Code) {
        self.put_bits(u64::from(code.bits), u32::from(code.len));
    }

    /// Adds the lowest `count` bits of `bits`, all others of which are 0, with room for them.
    #[inline(always)]
    pub(super) fn put_bits(&mut self, bits: u64, count: u32) {
        debug_assert!(self.count + count < 64 && bits >> count == 0);
        self.bits |= bits << (self.count & 63);
        self.count += count;
    }

    /// Moves whole bytes to the buffer; `None` if they do not fit.
    #[inline(always)]
    pub(super) fn flush(&mut self) -> Option<()> {
        match self.dst.get_mut(self.at..self.at + 8) {
            // The rest after the whole bytes is written again the next time.
            Some(room) => room.copy_from_slice(&self.bits.to_le_bytes()),
            None => self.flush_exactly()?,
        }
        self.at += self.count as usize / 8;
        self.bits >>= self.count & 56;
        self.count &= 7;
        Some(())
    }

    #[cold]
    fn flush_exactly(&mut self) -> Option<()> {
        let whole = self.count as usize / 8;
        self.dst.get_mut(self.at..self.at + whole)?.copy_from_slice(&self.bits.to_le_bytes()[..whole]);
        Some(())
    }

    /// Fills up the last byte, and flushes.
    pub(super) fn align(&mut self) -> Option<()> {
        self.count = self.count.next_multiple_of(8);
        self.flush()
    }

    /// Adds whole bytes, after [`align`](Self::align).
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.dst.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }

    /// Ends the stream of bytes whose Adler-32 is `sum`, and returns its length.
    pub(super) fn finish(mut self, sum: u32) -> Option<usize> {
        self.align()?;
        self.bytes(&sum.to_be_bytes())?;
        Some(self.at)
    }
}
