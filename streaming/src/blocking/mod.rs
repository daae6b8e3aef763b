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
use crate::edit::{EditError, EditOptions};
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
    compact_with_options(path, EditOptions::new())
}

/// As [`compact`], with the registry, limits and durability of `options`; the twin of [`EditOptions::compact`].
///
/// # Errors
/// As that.
pub fn compact_with_options(path: impl AsRef<Path>, options: EditOptions) -> Result<Summary, EditError> {
    crate::block_on(options.io_mode(IoMode::Inline).compact(path))
}

/// Removes the chunk files of a sparse frame that its index does not name; the twin of
/// [`edit::compact_place`](crate::edit::compact_place).
///
/// # Errors
/// As that.
pub fn compact_place(place: impl SparsePlace) -> Result<u64, EditError> {
    compact_place_with_options(place, EditOptions::new())
}

/// As [`compact_place`], with the registry and limits of `options`; the twin of [`EditOptions::compact_place`].
///
/// # Errors
/// As that.
pub fn compact_place_with_options(place: impl SparsePlace, options: EditOptions) -> Result<u64, EditError> {
    crate::block_on(options.compact_place(place))
}

/// Waits for everything that this crate does in the background; the twin of [`settle`](crate::settle()).
pub fn settle() {
    crate::block_on(crate::settle());
}
