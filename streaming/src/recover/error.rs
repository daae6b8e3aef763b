//! Why a frame could not be recovered.

use std::io;

use oxiblosc_core::frame::{FrameError, FrameWriteError, Layout};
use thiserror::Error;

use crate::edit::EditError;
use crate::error::ReadError;

/// Why nothing could be recovered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The source or the target failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The header of the frame is damaged or cut, and without it there is nothing: no chunk can be told from noise.
    #[error("nothing can be recovered without the header: {0}")]
    Head(#[source] FrameError),
    /// There is neither an index nor a chunk in the directory.
    #[error("there is no file of a sparse frame in the directory")]
    NoFiles,
    /// The index of a sparse frame is damaged. Recovering the directory without this file gives what is in the chunks.
    #[error("the index of the sparse frame is damaged: {0}")]
    Index(#[source] Box<ReadError>),
    /// Frames this old can only be recovered when they open.
    #[error("a damaged frame in the {layout:?} layout cannot be recovered")]
    Layout {
        /// The layout.
        layout: Layout,
    },
    /// The frame in its place cannot be sealed.
    #[error("the frame cannot be sealed where it is: {reason}; recover it into another file")]
    Seal {
        /// Why not.
        reason: &'static str,
    },
    /// The recovered frame could not be written.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl From<FrameWriteError> for RecoverError {
    fn from(error: FrameWriteError) -> Self {
        Self::Edit(error.into())
    }
}
