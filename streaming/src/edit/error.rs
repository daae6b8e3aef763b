//! Errors of changing and copying frames.

use std::io;

use oxiblosc_core::chunk::ChunkError;
use oxiblosc_core::frame::{FrameError, FrameWriteError};
use oxiblosc_core::nd::NdError;
use oxiblosc_core::registry::RegistryError;
use thiserror::Error;

use crate::error::{ReadError, WriteError};
use crate::kind::ErrorKind;

/// Why a frame could not be changed or copied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EditError {
    /// The store failed. Calling again may succeed; nothing is lost.
    #[error("the frame could not be accessed")]
    Store(#[from] io::Error),
    /// The frame is damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The requested change is not possible. The frame is as it was.
    #[error(transparent)]
    Change(#[from] FrameWriteError),
    /// A chunk could not be decoded.
    #[error("chunk {chunk} could not be decoded")]
    Decode {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong.
        source: ChunkError,
    },
    /// A chunk could not be encoded.
    #[error("chunk {chunk} could not be encoded")]
    Encode {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong.
        source: ChunkError,
    },
    /// Codec, filters or parameters are not possible.
    #[error("chunks cannot be encoded with these parameters")]
    Params(#[source] ChunkError),
    /// No registry was given and the linked one is not usable.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A commit has failed half-way; it must be called again before anything else is changed.
    #[error("the last commit has not succeeded yet: commit again first")]
    Uncommitted,
    /// Somebody else has committed to the same place since the frame was opened. Nothing has been committed.
    /// [`FrameEditor::rebase`](super::FrameEditor::rebase) and [`NdEditor::rebase`](crate::nd::NdEditor::rebase) move
    /// appended data behind what is there now; any other change has to be made again, in the frame as it is now.
    #[error("somebody else has changed the frame since it was opened")]
    Conflict,
    /// Bytes cannot be appended to an array, whose items are stored by chunk and block.
    #[error("the frame is an array, which has no end to append to: change it as an array")]
    IsArray,
    /// The frame was an array, and its chunks would no longer match the shape.
    #[error("the frame is an array and would contradict its shape")]
    NoArray(#[source] NdError),
    /// The frame to be copied could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The copy could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl EditError {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => ErrorKind::of_io(error),
            Self::Frame(error) => ErrorKind::of_frame(error),
            Self::Change(error) => ErrorKind::of_frame_write(error),
            Self::Decode { source, .. } => ErrorKind::of_chunk(source),
            Self::Encode { source, .. } => ErrorKind::of_encoding(source),
            Self::Params(source) => match ErrorKind::of_chunk(source) {
                ErrorKind::NoProvider => ErrorKind::NoProvider,
                _ => ErrorKind::InvalidInput,
            },
            Self::Registry(_) => ErrorKind::NoProvider,
            Self::Conflict => ErrorKind::Precondition,
            Self::Read(error) => error.kind(),
            Self::Write(error) => error.kind(),
            _ => ErrorKind::InvalidInput,
        }
    }

    /// Whether the same call may succeed later without any other change.
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }
}

impl From<EditError> for io::Error {
    /// The error of the store, source or target unchanged; others with the kind that comes closest and the [`EditError`]
    /// inside.
    fn from(error: EditError) -> Self {
        match error {
            EditError::Store(error) => error,
            EditError::Read(error) => error.into(),
            EditError::Write(error) => error.into(),
            other => Self::new(other.kind().to_io(), other),
        }
    }
}
