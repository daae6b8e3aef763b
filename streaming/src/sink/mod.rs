//! Writing frames.

mod chunk_permits;
mod chunker;
mod driven;
pub(crate) mod emit;
pub(crate) mod encoding;
mod frame_sink;
pub(crate) mod input;
mod options;
mod rechunk;
mod summary;
mod tiler;
mod traits;

pub(crate) use chunker::Chunker;
pub(crate) use encoding::ChunkEncoders;
pub(crate) use input::ChunkInput;
pub(crate) use rechunk::Rechunker;
pub(crate) use tiler::{Tiler, row_bytes};

pub use driven::{Drive, Driven, Driver};
pub(crate) use driven::{driven, sealed::Sealed};
pub use frame_sink::FrameSink;
pub use options::WriteOptions;
pub use summary::Summary;
