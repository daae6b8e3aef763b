//! What can go wrong with arrays.

use std::io;

use oxiblosc_core::nd::NdError;
use thiserror::Error;

use crate::edit::EditError;
use crate::error::{ReadError, WriteError};
use crate::kind::ErrorKind;

/// Why an array could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// The frame could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The frame could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The frame could not be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The shapes make no sense, or not with this frame, or the selection does not with this array.
    #[error(transparent)]
    Nd(#[from] NdError),
    /// The frame has no metalayer that says it is an array.
    #[error("the frame is not an array: it has no metalayer `b2nd`")]
    NotAnArray,
    /// The size of an item must be known to write an array.
    #[error("items of dtype `{dtype}` {}", .expected.map_or("have no known size: specify the item size".into(),
        |expected| format!("have {expected} bytes, not {found}")))]
    ItemSize {
        /// The dtype.
        dtype: String,
        /// What the dtype says, if anything.
        expected: Option<usize>,
        /// The size that was given.
        found: usize,
    },
    /// The items are not of the requested type.
    #[error("the items have dtype `{found}`, requested as `{expected}`")]
    Dtype {
        /// The dtype of the array.
        found: String,
        /// The requested dtype.
        expected: &'static str,
    },
    /// The array is not as long as its shape says.
    #[error("the shape of the array requires {expected} bytes, found {}",
        if .found > .expected { "more".into() } else { found.to_string() })]
    Length {
        /// Bytes that the shape requires.
        expected: u64,
        /// Bytes given. When there are more than required, those up to the end of the write that went too far.
        found: u64,
    },
    /// The last row is incomplete.
    #[error("rows have {row_bytes} bytes, the last one has {found}")]
    PartialRow {
        /// Bytes of a row.
        row_bytes: u64,
        /// Bytes of the last one.
        found: u64,
    },
}

impl ArrayError {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read(error) => error.kind(),
            Self::Write(error) => error.kind(),
            Self::Edit(error) => error.kind(),
            Self::Nd(error) => ErrorKind::of_array(error),
            Self::NotAnArray
            | Self::ItemSize { .. }
            | Self::Dtype { .. }
            | Self::Length { .. }
            | Self::PartialRow { .. } => ErrorKind::InvalidInput,
        }
    }

    /// Whether the same call may succeed later without any other change.
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }
}

impl From<ArrayError> for io::Error {
    /// As of [`ReadError`], [`WriteError`] and [`EditError`]; the others with the kind that comes closest and the
    /// [`ArrayError`] inside.
    fn from(error: ArrayError) -> Self {
        match error {
            ArrayError::Read(error) => error.into(),
            ArrayError::Write(error) => error.into(),
            ArrayError::Edit(error) => error.into(),
            other => io::Error::new(other.kind().to_io(), other),
        }
    }
}
