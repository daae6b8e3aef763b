//! A bound on what a frame may grow to when it is written again.

use super::RecoverOptions;

/// The bytes of the chunks that a new frame has, and how many it may have. An index of 40 bytes may name one chunk 2^26
/// times, and each of them is written.
#[derive(Debug)]
pub(crate) struct OutputLimit {
    bytes: Option<u64>,
    /// Bytes of the old frame.
    input: u64,
    written: u64,
}

impl OutputLimit {
    /// For an old frame of `input` bytes. `bytes` replaces the usual limit.
    pub(crate) fn new(bytes: Option<u64>, input: u64) -> Self {
        Self { bytes, input, written: 0 }
    }

    /// Adds to the bytes of the old frame: the length of a chunk file is known only when it is read.
    pub(crate) fn read(&mut self, bytes: u64) {
        self.input = self.input.saturating_add(bytes);
    }

    /// Bytes of the old frame.
    pub(super) fn input(&self) -> u64 {
        self.input
    }

    /// Charges bytes to be written. Returns the limit if that is too many.
    pub(crate) fn write(&mut self, bytes: u64) -> Result<(), u64> {
        self.written = self.written.saturating_add(bytes);
        let usual = self.input.saturating_mul(RecoverOptions::OUTPUT_RATIO).max(RecoverOptions::OUTPUT_BYTES);
        let limit = self.bytes.unwrap_or(usual);
        if self.written > limit { Err(limit) } else { Ok(()) }
    }

    /// Bytes charged so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }
}
