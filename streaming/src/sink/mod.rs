//! Writing frames.

mod driven;
pub(crate) mod emit;
pub(crate) mod encoding;
mod feed;
mod frame_sink;
pub(crate) mod input;
mod options;
mod rechunk;
mod shares;
mod summary;
mod traits;

pub(crate) use encoding::Workshop;
pub(crate) use feed::Feed;
pub(crate) use input::ChunkInput;
pub(crate) use rechunk::Rechunker;

pub use driven::{Drive, Driven, Driver};
pub(crate) use driven::{driven, sealed::Sealed};
pub use frame_sink::FrameSink;
pub use options::WriteOptions;
pub use summary::Summary;
