//! Reading frames.

mod ahead;
mod blocks;
mod byte_stream;
mod cache;
mod decoding;
mod following;
mod forward;
mod frame_reader;
mod in_flight;
mod open_end;
mod options;
mod partial;
mod pieces;
pub(crate) mod requests;
mod shared;
mod spool;

pub(crate) use blocks::{BlockReader, known, out_of_range, stored};
pub(crate) use cache::Keep;
pub(crate) use decoding::{Decoding, Encoded, Part, map_of};
pub(crate) use in_flight::{InFlight, Task};
pub(crate) use partial::{Wanted, zeroed};
pub(crate) use shared::{ReadAhead, Shared};

pub use ahead::ChunkStream;
pub use byte_stream::ByteStream;
pub use forward::FrameStream;
pub use frame_reader::FrameReader;
pub use open_end::OpenEnd;
pub use options::{ChecksumPolicy, ReadOptions};
