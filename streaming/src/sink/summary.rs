//! What has been written.

use oxiblosc_core::frame::Fingerprint;

/// What a finished sink has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of chunks.
    pub chunks: u64,
    /// Decoded bytes taken.
    pub nbytes: u64,
    /// Bytes of the chunks as stored.
    pub cbytes: u64,
    /// Bytes of the frame: header, chunks, index and trailer; for a sparse frame, of all its files.
    pub frame_len: u64,
    /// The fingerprint at the end of the frame; [`Fingerprint::NONE`] unless one was asked for.
    pub fingerprint: Fingerprint,
}

impl Summary {
    /// How many times smaller the chunks are than the data: `nbytes / cbytes`. Infinite when chunks took no bytes at
    /// all (zeros do not), 1 for an empty frame.
    pub fn ratio(&self) -> f64 {
        match (self.nbytes, self.cbytes) {
            (0, 0) => 1.0,
            (nbytes, cbytes) => nbytes as f64 / cbytes as f64,
        }
    }
}
