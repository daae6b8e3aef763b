//! The header of an existing frame, byte for byte.

use super::fields::put;
use super::header::{ChunkSize, FrameHeader, at, bool_marker};
use super::metalayers::Offsets;
use super::{Frame, FrameError, FrameWriteError};

/// "general_flags", bits 4 and 5: how wide the offsets of the index are, which no edit changes.
const OFFSET_BITS: u8 = 0x30;

/// The header of an existing frame, byte for byte.
///
/// Other writers leave room in a header, arrange its parts differently, or let two names share a value, and every
/// reader copes: only the length in the header says where the chunks begin. Serialised again, such a header would have
/// another length. So an edit changes what it must in place and keeps the rest.
#[derive(Debug, Clone)]
pub(super) struct RawHeader {
    bytes: Vec<u8>,
    /// The parsed header.
    header: FrameHeader,
    places: Offsets,
}

impl RawHeader {
    /// The header of a frame of the current layout.
    pub(super) fn new(frame: &Frame) -> Result<Self, FrameError> {
        let bytes = frame.header_bytes().to_vec();
        Ok(Self { places: Offsets::of_header(&bytes)?, header: frame.header().clone(), bytes })
    }

    /// The header with the lengths, the chunk size and the flags of `header`.
    pub(super) fn with(&self, header: &FrameHeader) -> Vec<u8> {
        let mut out = self.bytes.clone();
        put(&mut out, at::FRAME_LEN, &header.frame_len.to_be_bytes());
        put(&mut out, at::NBYTES, &header.nbytes.to_be_bytes());
        put(&mut out, at::CBYTES, &header.cbytes.to_be_bytes());
        let kind = |header: &FrameHeader| (header.chunk_size == ChunkSize::Variable, header.vl_blocks);
        if kind(header) != kind(&self.header) {
            out[at::FLAGS] = header.general_flags() & !OFFSET_BITS | out[at::FLAGS] & OFFSET_BITS;
        }
        if header.chunk_size != self.header.chunk_size {
            put(&mut out, at::CHUNKSIZE, &header.chunk_size.to_field().to_be_bytes());
        }
        if header.has_vlmetalayers != self.header.has_vlmetalayers {
            out[at::HAS_VLMETALAYERS] = bool_marker(header.has_vlmetalayers);
        }
        out
    }

    /// Replaces the content of an existing metalayer by one of the same length.
    pub(super) fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        let reason = "its bytes are shared with another part of the header: copy the frame first";
        let place = self.places.unique_content_range(&self.bytes, name).filter(|place| place.len() == content.len());
        let place = place.ok_or_else(|| FrameWriteError::Metalayer { name: name.to_owned(), reason })?;
        put(&mut self.bytes, place.start, content);
        Ok(())
    }
}
