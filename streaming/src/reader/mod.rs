//! Reading frames.

mod ahead;
mod byte_stream;
mod decoding;
mod frame_reader;
mod options;
mod partial;
mod pieces;
mod shared;

pub(crate) use decoding::{Decoding, Encoded};
pub(crate) use partial::{Wanted, zeroed};
pub(crate) use shared::Shared;

pub use ahead::ChunkStream;
pub use byte_stream::ByteStream;
pub use frame_reader::FrameReader;
pub use options::{ChecksumPolicy, ReadOptions};
