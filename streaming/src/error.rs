//! What can go wrong while frames are written and read.

use std::fmt;
use std::io;
use std::sync::Arc;

use oxiblosc_core::chunk::ChunkError;
use oxiblosc_core::frame::{ChecksumState, FrameError, FrameWriteError};
use oxiblosc_core::registry::RegistryError;
use thiserror::Error;

use crate::compute::JobPanicked;
use crate::context::Replaced;
use crate::kind::ErrorKind;

/// Why a frame could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The target failed. Nothing is lost: the sink goes on where it stopped when it is called again
    /// ([`WriteError::is_resumable`]), once what the error says is put right.
    #[error("the target failed")]
    Target(#[from] io::Error),
    /// The target took bytes and answered that it had not, or the other way round, against its contract
    /// ([`target::Target`](crate::target::Target)). Which bytes it has is not known any more: the frame is given up.
    #[error("the target broke its contract: {what}")]
    TargetContract {
        /// What it did.
        what: String,
    },
    /// A chunk could not be encoded.
    #[error("chunk {chunk} could not be encoded")]
    Encode {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong.
        source: Arc<ChunkError>,
    },
    /// A filter or codec panicked on a chunk.
    #[error("chunk {chunk}: a filter or codec {panic}")]
    Panicked {
        /// Number of the chunk.
        chunk: u64,
        /// What it said.
        panic: JobPanicked,
    },
    /// Codec, filters or parameters are not possible.
    #[error("chunks cannot be encoded with these parameters")]
    Params(#[source] Arc<ChunkError>),
    /// The frame cannot hold what it was given.
    #[error(transparent)]
    Frame(Arc<FrameWriteError>),
    /// No registry was given and the linked one is not usable.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The chunk size is not possible.
    #[error("a chunk size of {size} is not possible: expected a multiple of the type size {typesize}, 1..={max}")]
    ChunkSize {
        /// The size asked for.
        size: usize,
        /// The type size.
        typesize: usize,
        /// The largest possible.
        max: usize,
    },
    /// The sink is closed, or being closed.
    #[error("the sink takes no more: it has been closed or aborted")]
    Closed,
}

impl WriteError {
    /// Whether the sink can go on: so when the target failed, after which nothing is lost and every call may be made
    /// again, though it fails again until the cause is gone. All other errors stay: the sink returns them again, and the
    /// frame cannot be finished.
    pub fn is_resumable(&self) -> bool {
        matches!(self, Self::Target(_))
    }

    /// Whether the same call may succeed a little later without anything else being done: so after a connection broke,
    /// a timeout, an answer such as 429 or 503. Not when the bucket does not exist or the disk is full, although the
    /// sink [can go on](Self::is_resumable) then, too, once that is put right.
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Target(error) => ErrorKind::of_io(error),
            Self::TargetContract { .. } => ErrorKind::Other,
            Self::Encode { source, .. } => ErrorKind::of_chunk(source),
            Self::Params(source) => match ErrorKind::of_chunk(source) {
                ErrorKind::NoProvider => ErrorKind::NoProvider,
                _ => ErrorKind::InvalidInput,
            },
            Self::Frame(error) => ErrorKind::of_frame_write(error),
            Self::Panicked { .. } => ErrorKind::Panicked,
            Self::Registry(_) => ErrorKind::NoProvider,
            Self::ChunkSize { .. } => ErrorKind::InvalidInput,
            Self::Closed => ErrorKind::Closed,
        }
    }

    /// The error again, for those that stay.
    pub(crate) fn again(&self) -> Option<Self> {
        Some(match self {
            Self::Target(_) => return None,
            Self::TargetContract { what } => Self::TargetContract { what: what.clone() },
            Self::Encode { chunk, source } => Self::Encode { chunk: *chunk, source: Arc::clone(source) },
            Self::Panicked { chunk, panic } => Self::Panicked { chunk: *chunk, panic: panic.clone() },
            Self::Params(source) => Self::Params(Arc::clone(source)),
            Self::Frame(source) => Self::Frame(Arc::clone(source)),
            Self::Registry(source) => Self::Registry(source.clone()),
            Self::ChunkSize { size, typesize, max } => Self::ChunkSize { size: *size, typesize: *typesize, max: *max },
            Self::Closed => Self::Closed,
        })
    }
}

impl From<FrameWriteError> for WriteError {
    fn from(error: FrameWriteError) -> Self {
        Self::Frame(Arc::new(error))
    }
}

impl From<WriteError> for io::Error {
    /// The target's own error as it is; others as [`io::ErrorKind::Other`], with the [`WriteError`] inside.
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Target(error) => error,
            other => Self::other(other),
        }
    }
}

/// Why a frame could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The source failed.
    #[error("the source failed")]
    Source(#[source] io::Error),
    /// What the frame is read from was replaced by something else meanwhile: nothing of it is mixed with what was there
    /// before. [Refresh](crate::FrameReader::refresh) the reader, or open it again.
    #[error(transparent)]
    Replaced(Replaced),
    /// There is not enough memory for what was asked for. Read it in parts, or as a stream.
    #[error("there is not enough memory for {what}, which takes {bytes} bytes: read it in parts or as a stream")]
    OutOfMemory {
        /// What was asked for.
        what: &'static str,
        /// Bytes it takes.
        bytes: u64,
    },
    /// The frame is damaged, or does not have what was asked for.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A chunk could not be decoded.
    #[error("chunk {chunk}{} could not be decoded", At(*.offset))]
    Decode {
        /// Number of the chunk.
        chunk: u64,
        /// Where it begins, from the start of the frame; `None` when it is in the index alone.
        offset: Option<u64>,
        /// What is wrong.
        source: ChunkError,
    },
    /// A filter or codec panicked on a chunk.
    #[error("chunk {chunk}: a filter or codec {panic}")]
    Panicked {
        /// Number of the chunk.
        chunk: u64,
        /// What it said.
        panic: JobPanicked,
    },
    /// A filter or codec panicked on a variable-length metalayer.
    #[error("variable-length metalayer {name:?}: a filter or codec {panic}")]
    MetalayerPanicked {
        /// Name of the metalayer.
        name: String,
        /// What it said.
        panic: JobPanicked,
    },
    /// No registry was given and the linked one is not usable.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The file of a chunk of a sparse frame cannot be read, or is not there.
    #[error("chunk {chunk} could not be read from its file")]
    ChunkFile {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong, with the name of the file.
        source: io::Error,
    },
    /// The frame was to be checked while it is read, and has no checksums that would do.
    #[error("the frame is not to be read unchecked: {state}")]
    Checksums {
        /// What its checksums are worth.
        state: ChecksumState,
    },
    /// The chunks are in files of their own, and the source is a single one.
    #[error("this is the index of a sparse frame: its chunks are in other files of the same directory")]
    Sparse,
    /// The chunks of a frame that was decoded as it came are not those that its index names: what was decoded is not
    /// what the frame holds.
    #[error(
        "chunk {chunk} is not where the frame has it: its chunks do not lie in order, although it promised so or was \
         trusted to, and what was decoded is not what it holds"
    )]
    OutOfOrder {
        /// The first chunk that differs.
        chunk: u64,
    },
    /// An open-ended frame breaks off: its writer was interrupted, is still at it, or its end has been cut off. All
    /// complete chunks have been handed out.
    ///
    /// [`seal`](crate::recover::seal()) and [`recover`](crate::recover::recover()) make a whole frame of what is there. With
    /// [`ReadOptions::open_ended`](crate::ReadOptions::open_ended) a stream may end behind any complete chunk.
    #[error(
        "the open-ended frame breaks off before its index: it has {chunks} complete chunks, which end at offset \
         {offset}, and {left_over} bytes behind them are left over (seal or recover the frame, or read it with the \
         option `open_ended` if it may be unfinished)"
    )]
    BreaksOff {
        /// Complete chunks.
        chunks: u64,
        /// Where the last of them ends, from the start of the frame.
        offset: u64,
        /// Bytes behind it; 0 when the frame breaks off between two chunks.
        left_over: u64,
    },
    /// The frame ends before what was asked for.
    #[error("{what} {start}..{end} asked for, the frame has {len}")]
    OutOfRange {
        /// Bytes, items or chunks.
        what: &'static str,
        /// First one asked for.
        start: u64,
        /// End of those asked for.
        end: u64,
        /// How many there are.
        len: u64,
    },
    /// More memory would be needed than the limits allow.
    #[error("{what} would take {needed} bytes, more than the limit of {limit}")]
    Limit {
        /// What was asked for.
        what: &'static str,
        /// Bytes it would take.
        needed: u64,
        /// The limit ([`oxiblosc_core::Limits`]).
        limit: u64,
    },
}

impl ReadError {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Source(source) | Self::ChunkFile { source, .. } => ErrorKind::of_io(source),
            Self::Replaced(_) => ErrorKind::Replaced,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::Frame(error) => ErrorKind::of_frame(error),
            Self::Decode { source, .. } => ErrorKind::of_chunk(source),
            Self::Panicked { .. } | Self::MetalayerPanicked { .. } => ErrorKind::Panicked,
            Self::Registry(_) => ErrorKind::NoProvider,
            Self::Checksums { .. } | Self::OutOfOrder { .. } => ErrorKind::Damaged,
            Self::BreaksOff { .. } => ErrorKind::Unfinished,
            Self::OutOfRange { .. } | Self::Sparse => ErrorKind::InvalidInput,
            Self::Limit { .. } => ErrorKind::Limit,
        }
    }

    /// Whether the same call may succeed a little later without anything else being done: so after a connection broke,
    /// a timeout, an answer such as 429 or 503.
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.downcast() {
            Ok(replaced) => Self::Replaced(replaced),
            Err(error) => Self::Source(error),
        }
    }
}

impl From<ReadError> for io::Error {
    /// The source's own error as it is; damage as [`io::ErrorKind::InvalidData`], requests outside the frame as
    /// [`io::ErrorKind::InvalidInput`], with the [`ReadError`] inside.
    fn from(error: ReadError) -> Self {
        let kind = match error {
            ReadError::Source(error) => return error,
            ReadError::Replaced(replaced) => return replaced.into(),
            ReadError::ChunkFile { ref source, .. } => source.kind(),
            _ => error.kind().to_io(),
        };
        Self::new(kind, error)
    }
}

struct At(Option<u64>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(offset) => write!(f, ", at offset {offset} of the frame,"),
            None => f.write_str(", in the index alone,"),
        }
    }
}
