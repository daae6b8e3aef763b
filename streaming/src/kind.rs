//! Kinds of errors, for programs that react to them.

use std::error::Error;
use std::io;

use oxiblosc_core::chunk::{ChunkError, StreamError};
use oxiblosc_core::codec::CodecError;
use oxiblosc_core::filter::FilterError;
use oxiblosc_core::frame::{FrameError, FrameWriteError};
use oxiblosc_core::nd::NdError;
use oxiblosc_core::pipeline::PipelineError;
use oxiblosc_core::registry::RegistryError;

use crate::compute::JobPanicked;
use crate::context::{Replaced, SharedError};
use crate::edit::EditError;
use crate::error::{ReadError, WriteError};
use crate::nd::ArrayError;
use crate::progress::Cancelled;
use crate::recover::RecoverError;
use crate::sparse::ShareError;

/// The kind of an error, whatever layer it comes from.
///
/// Every error of this crate has one (`kind()`); [`ErrorKind::of`] finds that of any other error with one of them inside,
/// such as the [`io::Error`] that `AsyncRead` and `AsyncWrite` give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such file or object.
    NotFound,
    /// There is no such bucket or container.
    NoSuchBucket,
    /// The file system or the store denies access.
    PermissionDenied,
    /// What was to be created already exists: another writer has written or committed it.
    AlreadyExists,
    /// The store refused a conditional request: the object has been changed.
    Precondition,
    /// The object was replaced while it was read. Open it again, or [refresh](crate::FrameReader::refresh) the reader.
    Replaced,
    /// The place does not support the operation.
    Unsupported,
    /// The place cannot be reached at the moment or is too busy: a connection broke, a server responded with 429 or
    /// 5xx, a call was interrupted. A retry may succeed.
    Transient,
    /// No response came in time. A retry may succeed.
    TimedOut,
    /// The disk or a quota is full. A retry may succeed once there is room.
    StorageFull,
    /// There is not enough memory.
    OutOfMemory,
    /// The work was cancelled, by [`Progress::cancel`](crate::Progress::cancel) or because the runtime that did it is
    /// shutting down.
    Cancelled,
    /// The frame has not been finished. [`recover::seal`](crate::recover::seal()) or
    /// [`recover::recover`](crate::recover::recover()) makes a complete one of it, and
    /// [`ReadOptions::open_ended`](crate::ReadOptions::open_ended) reads an open-ended one without that.
    Unfinished,
    /// The bytes are not a frame, or the frame is damaged.
    Damaged,
    /// The source ends before the frame does, or another stream before it should.
    UnexpectedEnd,
    /// More would be needed than [`Limits`](oxiblosc_core::Limits) allow.
    Limit,
    /// What was asked for does not exist or makes no sense.
    InvalidInput,
    /// A filter or codec has no provider in the registry.
    NoProvider,
    /// A filter or codec panicked, or the work of another job.
    Panicked,
    /// The sink or writer is closed already.
    Closed,
    /// Anything else.
    Other,
}

impl ErrorKind {
    /// Whether the same call may succeed later without any other change.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Transient | Self::TimedOut)
    }

    /// The kind of any error: that of the first error in its chain of sources that has one.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(kind) = Self::of_one(error) {
                return kind;
            }
            next = error.source();
        }
        Self::Other
    }

    /// The kind of this error itself, if its type is known.
    fn of_one(error: &(dyn Error + 'static)) -> Option<Self> {
        macro_rules! first {
            ($($error:ty => $kind:expr),* $(,)?) => {
                $(if let Some(error) = error.downcast_ref::<$error>() {
                    let kind: fn(&$error) -> ErrorKind = $kind;
                    return Some(kind(error));
                })*
            };
        }
        first! {
            io::Error => Self::of_io,
            ReadError => ReadError::kind,
            WriteError => WriteError::kind,
            ArrayError => ArrayError::kind,
            EditError => EditError::kind,
            RecoverError => RecoverError::kind,
            ShareError => ShareError::kind,
            Replaced => |_| Self::Replaced,
            SharedError => SharedError::kind,
            Cancelled => |_| Self::Cancelled,
            FrameError => Self::of_frame,
            FrameWriteError => Self::of_frame_write,
            ChunkError => Self::of_chunk,
            NdError => Self::of_array,
            RegistryError => |_| Self::NoProvider,
            JobPanicked => |_| Self::Panicked,
        }
        #[cfg(feature = "object_store")]
        first! {
            crate::object::StoreError => crate::object::StoreError::kind,
            tokio::task::JoinError => |error| if error.is_cancelled() { Self::Cancelled } else { Self::Panicked },
        }
        None
    }

    /// The kind of an I/O error: that of the error inside, or else the one the system reports.
    pub(crate) fn of_io(error: &io::Error) -> Self {
        let inner = error.get_ref().map(|inner| Self::of(inner)).filter(|&kind| kind != Self::Other);
        inner.unwrap_or_else(|| Self::of_system(error.kind()))
    }

    const fn of_system(kind: io::ErrorKind) -> Self {
        use io::ErrorKind as Io;
        match kind {
            Io::NotFound | Io::NotADirectory => Self::NotFound,
            Io::PermissionDenied | Io::ReadOnlyFilesystem => Self::PermissionDenied,
            Io::AlreadyExists | Io::DirectoryNotEmpty => Self::AlreadyExists,
            Io::StaleNetworkFileHandle => Self::Replaced,
            Io::Unsupported => Self::Unsupported,
            Io::TimedOut => Self::TimedOut,
            Io::Interrupted
            | Io::WouldBlock
            | Io::ResourceBusy
            | Io::ConnectionRefused
            | Io::ConnectionReset
            | Io::ConnectionAborted
            | Io::NotConnected
            | Io::HostUnreachable
            | Io::NetworkUnreachable
            | Io::NetworkDown => Self::Transient,
            Io::StorageFull | Io::QuotaExceeded => Self::StorageFull,
            Io::OutOfMemory => Self::OutOfMemory,
            Io::InvalidData => Self::Damaged,
            Io::UnexpectedEof => Self::UnexpectedEnd,
            Io::InvalidInput => Self::InvalidInput,
            _ => Self::Other,
        }
    }

    /// The corresponding [`std::io`] kind.
    pub(crate) const fn to_io(self) -> io::ErrorKind {
        use io::ErrorKind as Io;
        match self {
            Self::NotFound | Self::NoSuchBucket => Io::NotFound,
            Self::PermissionDenied => Io::PermissionDenied,
            Self::AlreadyExists => Io::AlreadyExists,
            Self::Replaced => Io::StaleNetworkFileHandle,
            Self::Unsupported => Io::Unsupported,
            Self::Transient => Io::ResourceBusy,
            Self::TimedOut => Io::TimedOut,
            Self::StorageFull => Io::StorageFull,
            Self::OutOfMemory => Io::OutOfMemory,
            Self::Unfinished | Self::Damaged => Io::InvalidData,
            Self::UnexpectedEnd => Io::UnexpectedEof,
            Self::InvalidInput => Io::InvalidInput,
            Self::Precondition
            | Self::Cancelled
            | Self::Limit
            | Self::NoProvider
            | Self::Panicked
            | Self::Closed
            | Self::Other => Io::Other,
        }
    }

    pub(crate) fn of_frame(error: &FrameError) -> Self {
        match error {
            FrameError::Unfinished => Self::Unfinished,
            FrameError::NoSuchChunk { .. } => Self::InvalidInput,
            FrameError::TooManyChunks { .. } | FrameError::VlmetalayerLimit { .. } => Self::Limit,
            FrameError::Chunk { source, .. } => Self::of_chunk(source),
            FrameError::Index { source, .. } | FrameError::Vlmetalayer { source, .. } => Self::of_chunk(source),
            _ => Self::Damaged,
        }
    }

    pub(crate) fn of_frame_write(error: &FrameWriteError) -> Self {
        match error {
            FrameWriteError::Frame(error) | FrameWriteError::Unreadable(error) => Self::of_frame(error),
            FrameWriteError::Checksums => Self::Damaged,
            FrameWriteError::InFlight { .. } => Self::Limit,
            FrameWriteError::Finished => Self::Closed,
            _ => Self::InvalidInput,
        }
    }

    pub(crate) fn of_chunk(error: &ChunkError) -> Self {
        match error {
            ChunkError::Stream { source: StreamError::Codec { source: CodecError::Panicked(_), .. }, .. }
            | ChunkError::Encode { source: CodecError::Panicked(_), .. }
            | ChunkError::Dictionary { source: CodecError::Panicked(_), .. }
            | ChunkError::Pipeline { source: PipelineError::Filter { source: FilterError::Panicked(_), .. }, .. }
            | ChunkError::Codec(RegistryError::Constructor { .. }) => Self::Panicked,
            ChunkError::Codec(_)
            | ChunkError::Filters(PipelineError::Registry { .. })
            | ChunkError::Pipeline { source: PipelineError::Registry { .. }, .. }
            | ChunkError::Stream { source: StreamError::Registry(_), .. } => Self::NoProvider,
            ChunkError::Limit { .. } => Self::Limit,
            ChunkError::Memory { .. } => Self::OutOfMemory,
            ChunkError::Parameter { .. }
            | ChunkError::PluginParams { .. }
            | ChunkError::Destination { .. }
            | ChunkError::OutOfRange { .. } => Self::InvalidInput,
            _ => Self::Damaged,
        }
    }

    /// The kind of an error of encoding a chunk: there are no bytes yet that could be damaged.
    pub(crate) fn of_encoding(error: &ChunkError) -> Self {
        match error {
            ChunkError::Configure { .. }
            | ChunkError::Encode { source: CodecError::Meta { .. } | CodecError::Geometry { .. }, .. }
            | ChunkError::Pipeline {
                source:
                    PipelineError::Filter {
                        source: FilterError::Meta { .. } | FilterError::TypeSize { .. } | FilterError::Geometry { .. },
                        ..
                    },
                ..
            } => Self::InvalidInput,
            error => match Self::of_chunk(error) {
                Self::Damaged => Self::Other,
                kind => kind,
            },
        }
    }

    pub(crate) fn of_array(error: &NdError) -> Self {
        match error {
            NdError::Truncated { .. } | NdError::Marker { .. } | NdError::DtypeText { .. } | NdError::Frame { .. } => {
                Self::Damaged
            }
            _ => Self::InvalidInput,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_survive_every_wrapper() {
        let busy = || io::Error::from(io::ErrorKind::ResourceBusy);
        assert_eq!(ErrorKind::of(&busy()), ErrorKind::Transient);
        let read: ArrayError = ReadError::from(busy()).into();
        assert_eq!(read.kind(), ErrorKind::Transient);
        let wrapped = io::Error::other(io::Error::other(read));
        assert_eq!(ErrorKind::of(&wrapped), ErrorKind::Transient);
        assert_eq!(ErrorKind::of(&io::Error::other("who knows")), ErrorKind::Other);
        let sealed = io::Error::from(ReadError::from(FrameError::Unfinished));
        assert_eq!((sealed.kind(), ErrorKind::of(&sealed)), (io::ErrorKind::InvalidData, ErrorKind::Unfinished));
    }

    #[test]
    fn only_what_passes_by_itself_is_retryable() {
        use io::ErrorKind as Io;
        for (kind, retryable) in [
            (Io::Interrupted, true),
            (Io::TimedOut, true),
            (Io::ConnectionReset, true),
            (Io::ResourceBusy, true),
            (Io::NotFound, false),
            (Io::PermissionDenied, false),
            (Io::StorageFull, false),
            (Io::OutOfMemory, false),
            (Io::UnexpectedEof, false),
            (Io::Other, false),
        ] {
            assert_eq!(ReadError::from(io::Error::from(kind)).is_retryable(), retryable, "{kind:?}");
            let write = WriteError::from(io::Error::from(kind));
            assert_eq!((write.is_retryable(), write.is_resumable()), (retryable, true), "{kind:?}");
        }
        assert!(!WriteError::Closed.is_retryable() && !WriteError::Closed.is_resumable());
    }
}
