//! Errors of writing and reading frames.

use std::fmt;
use std::io;
use std::sync::Arc;

use oxiblosc_core::chunk::ChunkError;
use oxiblosc_core::frame::{ChecksumState, FrameError, FrameWriteError};
use oxiblosc_core::plugin_params::InvalidPluginParams;
use oxiblosc_core::registry::RegistryError;
use thiserror::Error;

use crate::compute::JobPanicked;
use crate::context::Replaced;
use crate::kind::ErrorKind;

/// Why a frame could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The target failed. Nothing is lost: once the cause is fixed, the sink continues where it stopped when it is
    /// called again ([`WriteError::is_resumable`]).
    #[error("the target failed")]
    Target(#[from] io::Error),
    /// The target violated its contract ([`target::Target`](crate::target::Target)): it took bytes and reported that it
    /// had not, or the other way round. It is no longer known which bytes it has, so the frame is lost.
    #[error("the target violated its contract: {what}")]
    TargetContract {
        /// The violation.
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
    /// The job that encodes or places a chunk panicked. No filter or codec did: that is an
    /// [`Encode`](Self::Encode) error, which names it.
    #[error("chunk {chunk} could not be written: {panic}")]
    Panicked {
        /// Number of the chunk.
        chunk: u64,
        /// The panic.
        panic: JobPanicked,
    },
    /// Codec, filters or parameters are not possible.
    #[error("chunks cannot be encoded with these parameters")]
    Params(#[source] Arc<ChunkError>),
    /// The frame cannot hold the given data.
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
    /// Items are not as long as the values given, of which none has been taken. The sink goes on.
    #[error("items have {found} bytes, and values of dtype `{dtype}` {expected}: set the type size")]
    ItemSize {
        /// Bytes of an item, as the sink was told.
        found: usize,
        /// Bytes of a value.
        expected: usize,
        /// The dtype of the values.
        dtype: &'static str,
    },
    /// The sink is closed, or being closed.
    #[error("the sink has been closed or aborted")]
    Closed,
}

impl WriteError {
    /// Whether the sink can continue. It can if the target failed: nothing is lost then and every call may be repeated,
    /// though it fails again until the cause is fixed. All other errors are permanent: the sink returns them again, and
    /// the frame cannot be finished.
    pub fn is_resumable(&self) -> bool {
        matches!(self, Self::Target(_))
    }

    /// Whether the same call may succeed later without any other change, as after a broken connection, a timeout, or a
    /// response such as 429 or 503. Not when the bucket does not exist or the disk is full, although the sink [can
    /// continue](Self::is_resumable) then, too, once that is fixed.
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Target(error) => ErrorKind::of_io(error),
            Self::TargetContract { .. } => ErrorKind::Other,
            Self::Encode { source, .. } => ErrorKind::of_encoding(source),
            Self::Params(source) => match ErrorKind::of_chunk(source) {
                ErrorKind::NoProvider => ErrorKind::NoProvider,
                _ => ErrorKind::InvalidInput,
            },
            Self::Frame(error) => ErrorKind::of_frame_write(error),
            Self::Panicked { .. } => ErrorKind::Panicked,
            Self::Registry(_) => ErrorKind::NoProvider,
            Self::ChunkSize { .. } | Self::ItemSize { .. } => ErrorKind::InvalidInput,
            Self::Closed => ErrorKind::Closed,
        }
    }

    /// The error again, if it is permanent.
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
            Self::ItemSize { found, expected, dtype } => Self::ItemSize { found: *found, expected: *expected, dtype },
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
    /// The target's own error unchanged; others as [`io::ErrorKind::Other`], with the [`WriteError`] inside.
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
    /// The source of the frame was replaced meanwhile. Old and new bytes are never mixed.
    /// [Refresh](crate::FrameReader::refresh) the reader, or open it again.
    #[error(transparent)]
    Replaced(Replaced),
    /// Items are not as long as the requested values.
    #[error("items have {found} bytes, and values of dtype `{dtype}` {expected}")]
    ItemSize {
        /// Bytes of an item of the frame.
        found: usize,
        /// Bytes of a value.
        expected: usize,
        /// The dtype of the values.
        dtype: &'static str,
    },
    /// There is not enough memory for what was asked for. Read it in parts, or as a stream.
    #[error("there is not enough memory for {what}, which takes {bytes} bytes: read it in parts or as a stream")]
    OutOfMemory {
        /// What was asked for.
        what: &'static str,
        /// Bytes it takes.
        bytes: u64,
    },
    /// The frame is damaged, or does not contain what was asked for.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A chunk could not be decoded.
    #[error("chunk {chunk}{} could not be decoded", At(*.offset))]
    Decode {
        /// Number of the chunk.
        chunk: u64,
        /// Its offset from the start of the frame; `None` if it exists only in the index.
        offset: Option<u64>,
        /// What is wrong.
        source: ChunkError,
    },
    /// The job that decodes a chunk panicked. No filter or codec did: that is a [`Decode`](Self::Decode) error, which
    /// names it.
    #[error("chunk {chunk} could not be decoded: {panic}")]
    Panicked {
        /// Number of the chunk.
        chunk: u64,
        /// The panic.
        panic: JobPanicked,
    },
    /// The metalayer with the parameters of the plugins cannot be read, so that chunks might be decoded wrongly.
    #[error(transparent)]
    PluginParams(#[from] InvalidPluginParams),
    /// The job that decodes a variable-length metalayer panicked, and no filter or codec did.
    #[error("variable-length metalayer {name:?} could not be decoded: {panic}")]
    MetalayerPanicked {
        /// Name of the metalayer.
        name: String,
        /// The panic.
        panic: JobPanicked,
    },
    /// No registry was given and the linked one is not usable.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The file of a chunk of a sparse frame cannot be read, or does not exist.
    #[error("chunk {chunk} could not be read from its file")]
    ChunkFile {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong, with the name of the file.
        source: io::Error,
    },
    /// The frame was to be verified while it is read, and has no usable checksums.
    #[error("the frame cannot be verified while it is read: {state}")]
    Checksums {
        /// The state of its checksums.
        state: ChecksumState,
    },
    /// The frame is sparse, with its chunks in separate files, and the source is a single file.
    #[error("this is the index of a sparse frame: its chunks are in other files of the same directory")]
    Sparse,
    /// A frame was decoded as it arrived, and its chunks turned out not to be those of its index: what was decoded is
    /// not the content of the frame.
    #[error(
        "chunk {chunk} is not where the frame has it: its chunks do not lie in order, although the frame promised so, \
         or was trusted to, and what was decoded is not what it holds"
    )]
    OutOfOrder {
        /// The first chunk that differs.
        chunk: u64,
    },
    /// An open-ended frame is incomplete: its writer was interrupted, is still writing, or its end has been cut off.
    /// All complete chunks have been returned.
    ///
    /// [`seal`](crate::recover::seal()) and [`recover`](crate::recover::recover()) make a complete frame of it. With
    /// [`ReadOptions::open_ended`](crate::ReadOptions::open_ended) a stream may end after any complete chunk.
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
        /// Bytes after it; 0 if the frame breaks off between two chunks.
        left_over: u64,
    },
    /// The frame ends before what was asked for.
    #[error("{what} {start}..{end} requested, but the frame has {len}")]
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
    /// More bytes would be needed than the limits allow.
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
            Self::Checksums { .. } | Self::OutOfOrder { .. } | Self::PluginParams(_) => ErrorKind::Damaged,
            Self::BreaksOff { .. } => ErrorKind::Unfinished,
            Self::OutOfRange { .. } | Self::Sparse | Self::ItemSize { .. } => ErrorKind::InvalidInput,
            Self::Limit { .. } => ErrorKind::Limit,
        }
    }

    /// Whether the same call may succeed later without any other change, as after a broken connection, a timeout, or a
    /// response such as 429 or 503.
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
    /// The source's own error unchanged; damage as [`io::ErrorKind::InvalidData`], requests outside the frame as
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
            None => f.write_str(", which is only in the index,"),
        }
    }
}
