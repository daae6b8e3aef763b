//! The chunk header, 16 bytes (Blosc 1) or 32 bytes (Blosc2).

use super::ChunkError;
use crate::id::CodecId;
use crate::pipeline::FilterSlots;

/// A parsed and validated chunk header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkHeader {
    /// Format version, byte 0.
    pub version: u8,
    /// Version of the codec's payload format, byte 1.
    pub codec_version: u8,
    /// Flags, byte 2.
    pub flags: u8,
    /// Type size, byte 3; 1..=255.
    pub typesize: u8,
    /// Decoded bytes.
    pub nbytes: usize,
    /// Bytes of a block; the number of blocks when the blocks are of variable length.
    pub blocksize: usize,
    /// Bytes of the whole chunk, header included.
    pub cbytes: usize,
    /// The filter pipeline.
    pub filters: FilterSlots,
    /// The `udcodec` byte (extended header only).
    pub udcodec: u8,
    /// The `compcode_meta` byte (extended header only).
    pub codec_meta: u8,
    /// Byte 30 (extended header only).
    pub blosc2_flags2: u8,
    /// Byte 31 (extended header only).
    pub blosc2_flags: u8,
}

/// What a chunk that stores no blocks decodes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpecialKind {
    /// All bytes zero.
    Zero,
    /// All items a quiet NaN (4- and 8-byte items).
    Nan,
    /// All items equal to the value after the header.
    Value,
    /// Never written; decodes to zeros here.
    Uninit,
}

impl ChunkHeader {
    /// Bytes of the header of Blosc 1, and the least that can be parsed.
    pub const MIN_LEN: usize = 16;
    /// Bytes of the extended header of Blosc2.
    pub const EXTENDED_LEN: usize = 32;

    /// Parses the header at the start of `bytes`, which must hold the whole header but not the whole chunk.
    pub fn parse(bytes: &[u8]) -> Result<Self, ChunkError> {
        let _ = bytes;
        todo!()
    }

    /// 16 or 32.
    pub fn header_len(&self) -> usize {
        todo!()
    }

    /// The codec that decodes the streams.
    pub fn codec(&self) -> Result<CodecId, ChunkError> {
        todo!()
    }

    /// Which special value the chunk stands for, if any.
    pub fn special(&self) -> Option<SpecialKind> {
        todo!()
    }
}
