//! What can go wrong while frames are changed.

use std::io;

use oxiblosc_core::chunk::ChunkError;
use oxiblosc_core::frame::{FrameError, FrameWriteError};
use oxiblosc_core::registry::RegistryError;
use thiserror::Error;

use crate::error::{ReadError, WriteError};

/// Why a frame could not be changed or copied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EditError {
    /// The place where the frame is failed. Calling again may succeed; nothing is lost.
    #[error("the frame could not be accessed: {0}")]
    Store(#[from] io::Error),
    /// The frame is damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The frame cannot be changed like this. It is as it was.
    #[error(transparent)]
    Change(#[from] FrameWriteError),
    /// A chunk could not be decoded.
    #[error("chunk {chunk}: {source}")]
    Decode {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong.
        source: ChunkError,
    },
    /// A chunk could not be encoded.
    #[error("chunk {chunk} could not be encoded: {source}")]
    Encode {
        /// Number of the chunk.
        chunk: u64,
        /// What is wrong.
        source: ChunkError,
    },
    /// Codec, filters or parameters are not possible.
    #[error("cannot encode with these parameters: {0}")]
    Params(#[source] ChunkError),
    /// No registry was given and the linked one is not usable.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A commit has failed half-way; it must be called again before anything else is changed.
    #[error("the last commit has not succeeded yet: commit again first")]
    Uncommitted,
    /// The frame to be copied could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The copy could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
