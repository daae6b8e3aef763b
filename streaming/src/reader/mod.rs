//! Reading frames.

mod blocks;
mod byte_stream;
mod cache;
mod chunk_offsets;
mod chunk_stream;
mod decoding;
mod following;
mod forward;
mod frame_reader;
mod in_flight;
mod inner;
mod open_end;
mod opening;
mod options;
mod part;
mod partial;
pub(crate) mod requests;
mod spool;
mod stored_range;

pub(crate) use blocks::{BlockReader, known, stored};
pub(crate) use cache::CachePolicy;
pub(crate) use decoding::{Decoding, map_of, out_of_range};
pub(crate) use in_flight::{BoundedFutures, Task};
pub(crate) use inner::{ReadAhead, ReaderInner};
pub(crate) use part::{EncodedPart, PartBytes};
pub(crate) use partial::{PartRequest, zeroed};

pub use byte_stream::ByteStream;
pub use chunk_stream::ChunkStream;
pub use forward::FrameStream;
pub use frame_reader::FrameReader;
pub use open_end::OpenEnd;
pub(crate) use opening::drive;
pub use options::{ChecksumPolicy, ReadOptions};
