//! The same API without async: writers and readers for [`std::io`].
//!
//! They drive the asynchronous ones on the calling thread. Encoding and decoding still happen on a
//! [`Pool`](crate::Pool), with chunks written ahead and read ahead; files are read and written without a hop to another
//! thread.

mod editor;
mod nd;
mod nd_editor;
mod reader;
mod stream;
mod writer;

use std::path::Path;

use crate::disk::IoMode;
use crate::edit::{EditError, compact_on};
use crate::sink::Summary;
use crate::sparse::SparsePlace;
pub use editor::FrameEditor;
pub use nd::{NdArray, NdWriter};
pub use nd_editor::NdEditor;
pub use reader::{ByteReader, Chunks, FrameReader};
pub use stream::{FrameStream, StreamReader};
pub use writer::{FrameWriter, SeekWriter, SpoolWriter};

/// Rewrites a frame without the holes that editing has left; the twin of [`edit::compact`](crate::edit::compact).
///
/// # Errors
/// As that.
pub fn compact(path: impl AsRef<Path>) -> Result<Summary, EditError> {
    crate::block_on(compact_on(path.as_ref(), IoMode::Inline))
}

/// Removes the chunk files of a sparse frame that its index does not name; the twin of
/// [`edit::compact_place`](crate::edit::compact_place).
///
/// # Errors
/// As that.
pub fn compact_place(place: impl SparsePlace) -> Result<u64, EditError> {
    crate::block_on(crate::edit::compact_place(place))
}

/// Waits for everything that this crate does in the background; the twin of [`settle`](crate::settle()).
pub fn settle() {
    crate::block_on(crate::settle());
}
