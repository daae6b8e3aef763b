//! What trying a combination has shown.

use crate::candidate::Candidate;
use crate::threads::ThreadSpeed;

/// The result of trying a combination.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// What was tried.
    pub candidate: Candidate,
    /// Bytes on which it was tried: fewer than the sample has if it is slow.
    pub nbytes: usize,
    /// Bytes of the chunks that were made of them.
    pub cbytes: usize,
    /// Seconds to compress them.
    pub encode_seconds: f64,
    /// Seconds to decompress them.
    pub decode_seconds: f64,
    /// The speeds with several numbers of threads, if the combination is the best for some purpose.
    pub threads: Vec<ThreadSpeed>,
}

impl Measurement {
    pub(crate) fn new(candidate: Candidate, nbytes: usize, cbytes: usize, encode: f64, decode: f64) -> Self {
        let threads = Vec::new();
        Self { candidate, nbytes, cbytes, encode_seconds: encode, decode_seconds: decode, threads }
    }

    /// How many times smaller the data become.
    pub fn ratio(&self) -> f64 {
        self.nbytes as f64 / self.cbytes as f64
    }

    /// Decoded bytes per second, when compressing.
    pub fn encode_speed(&self) -> f64 {
        self.nbytes as f64 / self.encode_seconds
    }

    /// Decoded bytes per second, when decompressing.
    pub fn decode_speed(&self) -> f64 {
        self.nbytes as f64 / self.decode_seconds
    }

    /// Seconds to compress the bytes, transfer them at `speed` (in bytes per second), and decompress them.
    pub fn seconds_through(&self, speed: f64) -> f64 {
        self.encode_seconds + self.cbytes as f64 / speed + self.decode_seconds
    }

    /// Whether another result is better in ratio and both speeds.
    pub(crate) fn is_beaten_by(&self, other: &Self) -> bool {
        other.ratio() > self.ratio()
            && other.encode_speed() > self.encode_speed()
            && other.decode_speed() > self.decode_speed()
    }
}
