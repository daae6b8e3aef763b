//! The result of a verification.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use oxiblosc_core::Chain;
use oxiblosc_core::frame::{ChecksumState, Fingerprint, FrameError};
use oxiblosc_core::registry::MissingPlugin;

use crate::error::ReadError;
use crate::recover::ChunkNumbers;

/// The result of a verification; see [`FrameReader::verify`](crate::FrameReader::verify).
#[derive(Debug)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Chunks looked at.
    pub chunks: u64,
    /// Decoded bytes of the chunks that were decoded.
    pub nbytes: u64,
    /// The state of the checksums. [Outdated](ChecksumState::Outdated) ones are no finding: other software has edited
    /// the frame, and all that can be said about the chunks is whether they decode.
    pub checksums: ChecksumState,
    /// The state of the fingerprint.
    pub fingerprint: FingerprintCheck,
    /// Everything that is wrong, chunks first and in order. Empty for a good frame. At most
    /// [`MOST_FINDINGS`](Self::MOST_FINDINGS).
    pub findings: Vec<Finding>,
    /// The number of further findings.
    pub more_findings: u64,
    /// Chunks that could not be decoded because the registry lacks what they need; they are no findings. All else about
    /// them has been verified: their place, length and checksum.
    pub unverified: ChunkNumbers,
    /// Names of the variable-length metalayers of which the same is true.
    pub unverified_metalayers: Vec<String>,
    /// What these chunks and metalayers need and the registry does not have.
    pub missing: Vec<MissingPlugin>,
}

impl VerifyReport {
    /// The most findings that a report holds: a frame of a few hundred bytes may have millions of chunks.
    pub const MOST_FINDINGS: usize = 1 << 16;

    /// Adds a finding.
    pub(super) fn find(&mut self, finding: Finding) {
        if self.findings.len() < Self::MOST_FINDINGS {
            self.findings.push(finding);
        } else {
            self.more_findings += 1;
        }
    }

    /// Whether nothing is wrong, and everything has been verified.
    pub fn is_good(&self) -> bool {
        self.findings.is_empty() && self.is_verified()
    }

    /// Whether everything could be decoded, or would have been if it were not damaged. If not,
    /// [`missing`](Self::missing) says what that takes.
    pub fn is_verified(&self) -> bool {
        self.unverified.is_empty() && self.unverified_metalayers.is_empty()
    }

    /// The numbers of the bad chunks among the findings.
    pub fn bad_chunks(&self) -> impl Iterator<Item = u64> {
        self.findings.iter().flat_map(|finding| match finding {
            Finding::Chunk { chunk, .. } => *chunk..chunk.saturating_add(1),
            Finding::Duplicate { chunks, .. } => chunks.clone(),
            _ => 0..0,
        })
    }
}

/// The state of the fingerprint of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FingerprintCheck {
    /// There is none.
    Absent,
    /// The fingerprint matches: every byte is unchanged.
    Matches(Fingerprint),
    /// The fingerprint does not match, or the frame could not be read to the end.
    Differs,
}

/// Something that is wrong with a frame.
#[derive(Debug)]
#[non_exhaustive]
pub enum Finding {
    /// A chunk cannot be read, does not match its checksum, contradicts the frame, or does not decode.
    Chunk {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong with it.
        source: ReadError,
    },
    /// Chunks share their bytes in the frame, or their entry in the index, with a bad chunk.
    Duplicate {
        /// Their numbers.
        chunks: Range<u64>,
        /// The number of the chunk that was examined.
        of: u64,
    },
    /// A variable-length metalayer does not decode.
    Metalayer {
        /// Its name.
        name: String,
        /// What is wrong with it.
        source: ReadError,
    },
    /// The chunks do not add up to what the header says.
    Totals(FrameError),
    /// Header, index, trailer or the checksums themselves have changed since the checksums were computed, with no sign
    /// that the frame was edited.
    Metadata,
    /// The fingerprint in the trailer does not match the frame.
    Fingerprint {
        /// The one in the trailer.
        expected: Fingerprint,
        /// The one computed.
        found: Fingerprint,
    },
    /// The last bytes of the frame are not a valid fingerprint.
    NoFingerprint {
        /// The first of the bytes, which is 0xd8.
        marker: u8,
        /// The kind: 0 for none, 1, 2 or 3.
        kind: u8,
        /// The rest, zeros for kind 0.
        digest: Fingerprint,
    },
}

impl Finding {
    /// The underlying error, if there is one.
    fn error(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Chunk { source, .. } | Self::Metalayer { source, .. } => Some(source),
            Self::Totals(error) => Some(error),
            _ => None,
        }
    }
}

/// The message of the error alone; its cause is the [source](Error::source).
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chunk { source, .. } | Self::Metalayer { source, .. } => source.fmt(f),
            Self::Totals(error) => error.fmt(f),
            Self::Duplicate { chunks, of, .. } => {
                let last = chunks.end.saturating_sub(1);
                write!(f, "chunks {}..={last}: the same as chunk {of}, which is bad", chunks.start)
            }
            Self::Metadata => f.write_str(
                "header, index or trailer are not what the checksums say: they are damaged, or were changed in place \
                 by software that does not keep checksums",
            ),
            Self::Fingerprint { expected, found } => write!(
                f,
                "the fingerprint of the frame is {found}, expected {expected}: the frame is damaged, or its header was \
                 changed in place by software that does not know of fingerprints"
            ),
            Self::NoFingerprint { marker, kind, digest } => write!(
                f,
                "the last 18 bytes of the frame are no fingerprint: marker {marker:#04x}, kind {kind}, digest {digest}"
            ),
        }
    }
}

impl Error for Finding {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error().and_then(Error::source)
    }
}

/// A line for each finding, then a summary.
impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{}", Chain(finding))?;
        }
        if self.more_findings > 0 {
            writeln!(f, "and {} more findings", self.more_findings)?;
        }
        for missing in &self.missing {
            writeln!(f, "{missing}")?;
        }
        if !self.unverified.is_empty() {
            writeln!(f, "{} of {} chunks are not verified", self.unverified.len(), self.chunks)?;
        }
        for name in &self.unverified_metalayers {
            writeln!(f, "variable-length metalayer {name:?} is not verified")?;
        }
        write!(f, "{} chunks, {} bytes", self.chunks, self.nbytes)?;
        match &self.checksums {
            ChecksumState::Absent => {}
            ChecksumState::Valid(_) => f.write_str(", with checksums")?,
            state => write!(f, "; {state}")?,
        }
        match self.fingerprint {
            FingerprintCheck::Matches(fingerprint) => write!(f, ", fingerprint {fingerprint}"),
            _ => Ok(()),
        }
    }
}
