//! Why a chunk could not be read or written.

use thiserror::Error;

/// Why a chunk could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChunkError {}
