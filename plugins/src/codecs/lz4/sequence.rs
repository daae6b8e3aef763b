//! Writing the sequences of an LZ4 block.
//!
//! Source: LZ4 block format, which also gives the end-of-block rules that decoders rely on.

/// "The minimum match length is 4."
pub(super) const MIN_MATCH: usize = 4;

/// "The last 5 bytes of input are always literals."
pub(super) const LAST_LITERALS: usize = 5;

/// "The last match must start at least 12 bytes before the end of block."
pub(super) const MATCH_LIMIT: usize = 12;

/// Distances are 16 bits wide.
pub(super) const MAX_DISTANCE: usize = 65_535;

/// Writes sequences to a buffer until it is full.
pub(super) struct Writer<'a> {
    dst: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(dst: &'a mut [u8]) -> Self {
        Self { dst, at: 0 }
    }

    /// Writes literals and the match that follows them; `None` when they do not fit.
    pub(super) fn sequence(&mut self, literals: &[u8], distance: usize, len: usize) -> Option<()> {
        let code = len - MIN_MATCH;
        self.literals(literals, code.min(15) as u8)?;
        self.push(&(distance as u16).to_le_bytes())?;
        self.continued(code)
    }

    /// Writes the last literals and returns the length of the block.
    pub(super) fn last(mut self, literals: &[u8]) -> Option<usize> {
        self.literals(literals, 0)?;
        Some(self.at)
    }

    fn literals(&mut self, literals: &[u8], low: u8) -> Option<()> {
        self.push(&[(literals.len().min(15) as u8) << 4 | low])?;
        self.continued(literals.len())?;
        self.push(literals)
    }

    fn continued(&mut self, len: usize) -> Option<()> {
        if let Some(mut rest) = len.checked_sub(15) {
            while rest >= 255 {
                self.push(&[255])?;
                rest -= 255;
            }
            self.push(&[rest as u8])?;
        }
        Some(())
    }

    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.dst.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }
}
