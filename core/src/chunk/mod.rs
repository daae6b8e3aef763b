//! One compressed buffer: header, block starts, streams.
//!
//! Source: chunk format document (Blosc2) and header format document (Blosc 1).

mod decoder;
mod encoder;
mod error;
mod header;
mod params;

pub use decoder::ChunkDecoder;
pub use encoder::ChunkEncoder;
pub use error::ChunkError;
pub use header::{ChunkHeader, SpecialKind};
pub use params::{ChunkContext, ChunkFormat, EncodeParams, SplitMode};
