//! Reading frames.

mod ahead;
mod byte_stream;
mod cache;
mod decoding;
mod following;
mod forward;
mod frame_reader;
mod open_end;
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
pub use open_end::OpenEnd;
pub use options::{ChecksumPolicy, ReadOptions};
