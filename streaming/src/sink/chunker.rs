//! How the caller's bytes are turned into chunks.

use bytes::Bytes;

use super::input::ChunkInput;
use super::rechunk::Rechunker;
use super::tiler::Tiler;

/// How the caller's bytes are turned into chunks.
pub(crate) enum Chunker {
    /// As a stream of bytes, cut into equal parts.
    Stream(Rechunker),
    /// As an array, cut into boxes.
    Array(Tiler),
}

macro_rules! forward {
    ($($(#[$doc:meta])* fn $name:ident(&mut self $(, $arg:ident: $ty:ty)*) $(-> $out:ty)?;)*) => {
        impl Chunker {
            $($(#[$doc])* pub(crate) fn $name(&mut self $(, $arg: $ty)*) $(-> $out)? {
                match self {
                    Self::Stream(feed) => feed.$name($($arg),*),
                    Self::Array(feed) => feed.$name($($arg),*),
                }
            })*
        }
    };
}

forward! {
    /// Takes any number of bytes.
    fn push(&mut self, bytes: Bytes);
    /// Copies as much of `bytes` as there is room for, and returns the number of bytes.
    fn fill(&mut self, bytes: &[u8]) -> usize;
    /// The next complete chunk, if there is one.
    fn next_chunk(&mut self) -> Option<ChunkInput>;
    /// The short last chunk, if bytes are left.
    fn last_chunk(&mut self) -> Option<ChunkInput>;
}

impl Chunker {
    /// Whether there is no complete chunk left, so that more bytes are needed.
    pub(crate) fn wants_more(&self) -> bool {
        match self {
            Self::Stream(feed) => feed.wants_more(),
            Self::Array(feed) => feed.wants_more(),
        }
    }

    /// Bytes held that are not part of a chunk yet.
    pub(crate) fn buffered(&self) -> usize {
        match self {
            Self::Stream(feed) => feed.buffered(),
            Self::Array(feed) => feed.buffered(),
        }
    }
}
