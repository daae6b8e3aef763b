//! How chunks come out of what the caller hands over.

use bytes::Bytes;

use super::input::ChunkInput;
use super::rechunk::Rechunker;
use crate::nd::Tiler;

/// How chunks come out of what the caller hands over.
pub(crate) enum Feed {
    /// As a stream of bytes, cut into equal parts.
    Stream(Rechunker),
    /// As an array, cut into boxes.
    Array(Tiler),
}

macro_rules! forward {
    ($($(#[$doc:meta])* fn $name:ident(&mut self $(, $arg:ident: $ty:ty)*) $(-> $out:ty)?;)*) => {
        impl Feed {
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
    /// Copies from `bytes` as much as there is room for; the number of bytes.
    fn fill(&mut self, bytes: &[u8]) -> usize;
    /// A whole chunk, if there is one.
    fn next_chunk(&mut self) -> Option<ChunkInput>;
    /// What is left when there is no whole chunk any more.
    fn last_chunk(&mut self) -> Option<ChunkInput>;
}

impl Feed {
    /// Whether everything handed over has been made chunks of, as far as it goes.
    pub(crate) fn wants_more(&self) -> bool {
        match self {
            Self::Stream(feed) => feed.wants_more(),
            Self::Array(feed) => feed.wants_more(),
        }
    }

    /// Bytes held that no chunk has been made of yet.
    pub(crate) fn buffered(&self) -> usize {
        match self {
            Self::Stream(feed) => feed.buffered(),
            Self::Array(feed) => feed.buffered(),
        }
    }
}
