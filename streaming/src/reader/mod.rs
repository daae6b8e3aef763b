//! Reading frames.

mod ahead;
mod byte_stream;
mod cache;
mod decoding;
mod forward;
mod frame_reader;
mod options;
mod partial;
mod pieces;
mod shared;
mod spool;

pub(crate) use decoding::{Decoding, Encoded};
pub(crate) use partial::{Wanted, zeroed};
pub(crate) use shared::Shared;

pub use ahead::ChunkStream;
pub use byte_stream::ByteStream;
pub use forward::FrameStream;
pub use frame_reader::FrameReader;
pub use options::{ChecksumPolicy, ReadOptions};
