//! The same API without async: writers and readers for [`std::io`].
//!
//! They drive the asynchronous ones on the calling thread. Encoding and decoding still happen on a
//! [`Pool`](crate::Pool), with chunks written ahead and read ahead; files are read and written without a hop to another
//! thread.

mod nd;
mod reader;
mod stream;
mod writer;

pub use crate::edit::FrameEditor;
pub use crate::nd::NdEditor;
pub use nd::{NdArray, NdWriter};
pub use reader::{ByteReader, Chunks, FrameReader};
pub use stream::{FrameStream, StreamReader};
pub use writer::{FrameWriter, SeekWriter, SpoolWriter};

/// Waits for everything that this crate does in the background; the twin of [`settle`](crate::settle()).
pub fn settle() {
    crate::block_on(crate::settle());
}
