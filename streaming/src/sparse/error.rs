//! Errors of several writers that fill one frame.

use std::fmt;
use std::io;

use oxiblosc_core::frame::FrameWriteError;
use oxiblosc_core::nd::NdError;
use thiserror::Error;

use super::place::ConditionalPutsIgnored;
use crate::error::WriteError;
use crate::kind::ErrorKind;
use crate::nd::ArrayError;

/// Why a shared frame could not be filled or committed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShareError {
    /// There is no such chunk.
    #[error("there is no chunk {chunk}: the frame has {nchunks}")]
    NoSuchChunk {
        /// The requested number.
        chunk: u64,
        /// How many there are.
        nchunks: u64,
    },
    /// The data are not as long as the chunk.
    #[error("chunk {chunk} takes {expected} bytes, there are {found}")]
    Length {
        /// Number of the chunk.
        chunk: u64,
        /// Bytes that it takes.
        expected: u64,
        /// Bytes given, or the decoded length of the existing chunk.
        found: u64,
    },
    /// Chunks that have not been written.
    #[error("{count} of {nchunks} chunks have not been written: {}", List(.chunks, *.count))]
    Missing {
        /// The first of them.
        chunks: Vec<u64>,
        /// How many there are.
        count: u64,
        /// How many there should be.
        nchunks: u64,
    },
    /// A chunk file is incomplete or not a chunk.
    #[error("the file of chunk {chunk} is damaged")]
    Damaged {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong.
        source: FrameWriteError,
    },
    /// The frame has been committed, by another writer or through this one: what was written is not part of it, and
    /// nothing can be added.
    #[error(
        "this frame is committed already, and nothing can be added to it: write to another place, or remove it first"
    )]
    Committed(#[source] io::Error),
    /// A commit is in progress, and it is not known whether the chunk is part of it. Repeat the call: once the commit has
    /// succeeded or failed, it reports whether the frame holds the chunk.
    #[error("somebody is committing this frame, and has not finished yet")]
    Committing,
    /// There is no plan: nobody has created the frame.
    #[error("nobody has created a frame here that several writers fill: `SharedWriter::create` does")]
    NoPlan,
    /// There are chunk files, but neither a plan nor an index: not what an unfinished writer leaves.
    #[error("there are chunks without an index, which no writer has left behind: `recover` saves what they hold")]
    NoIndex,
    /// The plan of this writer is gone without a frame having been committed: it was cleared, perhaps to start over
    /// with another plan.
    #[error("the plan of this writer has been cleared: what it has written is not part of any frame")]
    PlanGone,
    /// There is already a different plan.
    #[error("all writers of a frame must agree on its {}: it was begun with {there}, and this writer has {here}", Parameter(.what, .here))]
    PlanDiffers {
        /// The first parameter that differs.
        what: String,
        /// Its value here.
        here: String,
        /// Its value in the existing plan.
        there: String,
    },
    /// The existing plan cannot be read: it is damaged, or was written by a later release.
    #[error("the plan of the writers that have begun this frame cannot be read: {reason}")]
    BadPlan {
        /// What is wrong.
        reason: String,
    },
    /// A single writer is writing here, or was interrupted.
    #[error("a single writer is at work here, or was interrupted: `sparse::clear` removes what it has left")]
    Taken,
    /// A chunk has been written so often that no file number is left for it.
    #[error("chunk {chunk} has been written {times} times, and no number is left for another file")]
    WrittenTooOften {
        /// Number of the chunk.
        chunk: u64,
        /// How often it has been written.
        times: u64,
    },
    /// There are more chunks than file numbers.
    #[error("{nchunks} chunks need more numbers of files than are left at this place")]
    TooManyChunks {
        /// Chunks of the frame.
        nchunks: u64,
    },
    /// The store cannot keep writers from overwriting each other's chunks.
    #[error(transparent)]
    ConditionalPutsIgnored(#[from] ConditionalPutsIgnored),
    /// The place failed. The call may be repeated.
    #[error("a file or object of the frame could not be read or written")]
    Place(#[from] io::Error),
    /// A chunk or the index could not be encoded, or the options are invalid.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The options of an array are invalid.
    #[error(transparent)]
    Array(#[from] Box<ArrayError>),
    /// The window of a chunk is invalid.
    #[error(transparent)]
    Nd(#[from] NdError),
}

/// A parameter of a plan, and its value.
struct Parameter<'a>(&'a str, &'a str);

impl fmt::Display for Parameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            "bytes" => "length in bytes",
            "array" => "kind",
            "codec meta" => "meta byte of the codec",
            "level" => "compression level",
            "metalayer" if self.1.starts_with("shape ") => "shape or dtype",
            "metalayer" => "metalayers",
            "vlmetalayer" => "variable-length metalayers",
            "vlmetalayer codec" => "codec of variable-length metalayers",
            "split" => "split mode",
            "format" => "chunk format",
            other => other,
        })
    }
}

struct List<'a>(&'a [u64], u64);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join(", "))?;
        if self.1 > self.0.len() as u64 { f.write_str(", ...") } else { Ok(()) }
    }
}

impl ShareError {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Committed(_) | Self::Taken => ErrorKind::AlreadyExists,
            Self::Committing => ErrorKind::Transient,
            Self::NoPlan | Self::PlanGone => ErrorKind::NotFound,
            Self::ConditionalPutsIgnored(_) => ErrorKind::Unsupported,
            Self::Place(error) => ErrorKind::of_io(error),
            Self::Write(error) => error.kind(),
            Self::Array(error) => error.kind(),
            Self::Nd(error) => ErrorKind::of_array(error),
            Self::Missing { .. } => ErrorKind::Unfinished,
            Self::Damaged { .. } | Self::BadPlan { .. } | Self::NoIndex => ErrorKind::Damaged,
            Self::WrittenTooOften { .. } | Self::TooManyChunks { .. } => ErrorKind::Limit,
            Self::NoSuchChunk { .. } | Self::Length { .. } | Self::PlanDiffers { .. } => ErrorKind::InvalidInput,
        }
    }

    /// Whether the same call may succeed later without any other change.
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }
}

impl From<FrameWriteError> for ShareError {
    fn from(error: FrameWriteError) -> Self {
        Self::Write(error.into())
    }
}

impl From<ShareError> for io::Error {
    /// The error of the place unchanged; others with the kind that comes closest and the [`ShareError`] inside.
    fn from(error: ShareError) -> Self {
        match error {
            ShareError::Place(error) => error,
            ShareError::Write(error) => error.into(),
            ShareError::Array(error) => (*error).into(),
            other => Self::new(other.kind().to_io(), other),
        }
    }
}
