//! Writing frames.

pub(crate) mod encoding;
mod feed;
mod frame_sink;
mod machine;
mod options;
pub(crate) mod rechunk;
mod summary;
mod traits;

pub(crate) use encoding::Workshop;
pub(crate) use feed::Feed;
pub(crate) use rechunk::{ChunkInput, Rechunker};

pub use frame_sink::FrameSink;
pub(crate) use machine::Machine;
pub use options::WriteOptions;
pub use summary::Summary;
