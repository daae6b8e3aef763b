//! Why a frame could not be recovered.

use std::io;

use oxiblosc_core::frame::{FrameError, FrameLayout, FrameWriteError};
use oxiblosc_core::registry::RegistryError;
use thiserror::Error;

use crate::edit::EditError;
use crate::error::ReadError;
use crate::kind::ErrorKind;

/// Why nothing could be recovered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The source or the target failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The header of the frame is damaged or cut off, and without it chunks cannot be distinguished from noise.
    #[error("nothing can be recovered without the header")]
    Head(#[source] FrameError),
    /// The directory has neither an index nor a chunk.
    #[error("there is no file of a sparse frame in the directory")]
    NoFiles,
    /// The index of a sparse frame is damaged. After removing this file, recovering the directory restores what is in
    /// the chunks.
    #[error("the index of the sparse frame is damaged")]
    Index(#[source] Box<ReadError>),
    /// No chunk of a frame that had chunks is complete and intact. Nothing has been written under the name of the output.
    #[error("nothing could be saved: no chunk of the frame is complete and intact")]
    Nothing,
    /// Frames this old can be recovered only if they open.
    #[error("a damaged frame in the {layout:?} layout cannot be recovered")]
    Layout {
        /// The layout.
        layout: FrameLayout,
    },
    /// The frame cannot be sealed in place.
    #[error("the frame cannot be sealed where it is: {reason}; recover it into another file")]
    Seal {
        /// Why not.
        reason: &'static str,
    },
    /// The new frame would exceed its limit.
    #[error(
        "what is left of the frame takes more than {limit} bytes, far more than the frame itself has: an index that names \
         chunks again and again does that; RecoverOptions::output_bytes allows more"
    )]
    Output {
        /// The limit on the bytes of its chunks.
        limit: u64,
    },
    /// It would take more work than allowed.
    #[error(
        "to see what is left of the frame, more than {limit} bytes must be decoded, far more than one of its length holds; \
         RecoverOptions::work_bytes allows more"
    )]
    Work {
        /// The limit on decoded bytes.
        limit: u64,
    },
    /// The deadline has passed.
    #[error("the deadline has passed before everything was recovered")]
    Deadline,
    /// The recovered frame could not be written.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl RecoverError {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io(error) => ErrorKind::of_io(error),
            Self::Head(error) => ErrorKind::of_frame(error),
            Self::Index(error) => error.kind(),
            Self::Edit(error) => error.kind(),
            Self::NoFiles => ErrorKind::NotFound,
            Self::Output { .. } | Self::Work { .. } | Self::Deadline => ErrorKind::Limit,
            _ => ErrorKind::Damaged,
        }
    }

    /// Whether the same call may succeed later without any other change.
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }
}

impl From<FrameWriteError> for RecoverError {
    fn from(error: FrameWriteError) -> Self {
        Self::Edit(error.into())
    }
}

impl From<RegistryError> for RecoverError {
    fn from(error: RegistryError) -> Self {
        Self::Edit(error.into())
    }
}

impl From<RecoverError> for io::Error {
    /// The error of the input or output unchanged; others with the kind that comes closest and the [`RecoverError`]
    /// inside.
    fn from(error: RecoverError) -> Self {
        match error {
            RecoverError::Io(error) => error,
            RecoverError::Edit(error) => error.into(),
            other => Self::new(other.kind().to_io(), other),
        }
    }
}
