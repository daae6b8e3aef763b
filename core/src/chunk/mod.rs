//! One compressed buffer: header, block starts, streams.
//!
//! Source: chunk format document (Blosc2) and header format document (Blosc 1).

mod assemble;
mod block_decoder;
mod block_encoder;
mod check;
mod copy;
mod decoder;
mod dict;
mod encoder;
mod error;
mod header;
mod lazy;
mod map;
mod params;
mod plan;
mod range;
mod source;
mod special;
mod streams;
mod variable;

pub use decoder::ChunkDecoder;
pub use encoder::ChunkEncoder;
pub use error::{ChunkError, StreamError};
pub use header::{ChunkHeader, SpecialKind};
pub use lazy::LazyChunk;
pub use map::{BlockMap, MapProgress};
pub use params::{ChunkContext, ChunkFormat, EncodeParams, SplitMode};
pub use special::{SpecialValue, special_chunk};
