//! Detecting the kind of a file.

use oxiblosc::chunk::{ChunkError, ChunkHeader};
use oxiblosc::frame::PartialHeader;
use thiserror::Error;

/// Bytes from the start of a file that show its kind; fewer if the file is shorter.
pub(crate) const HEAD_LEN: u64 = PartialHeader::FIXED_LEN as u64;

/// Bytes from the start of a file that show whether it is a frame.
pub(crate) const MAGIC_END: usize = 10;

/// Whether a file that starts with `head` is a contiguous frame.
pub(crate) fn is_frame(head: &[u8]) -> bool {
    // Contiguous frame format document: a msgpack array whose first element is the 8-byte string "b2frame\0". The byte of
    // the array differs between the ages of the format.
    head.get(2..MAGIC_END) == Some(b"b2frame\0")
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A contiguous frame of any age.
    Frame,
    /// A chunk of Blosc 1 or 2.
    Chunk,
}

impl FileKind {
    /// The kind of a file that starts with `head`.
    pub(crate) fn of(head: &[u8]) -> Result<Self, ForeignError> {
        if is_frame(head) {
            return Ok(Self::Frame);
        }
        // A chunk has no magic number. If its header is valid it is taken for one, and the decoder checks the rest.
        match ChunkHeader::parse(head) {
            Ok(_) => Ok(Self::Chunk),
            Err(chunk) => Err(ForeignError { chunk }),
        }
    }
}

/// The file is of no kind that can be read.
#[derive(Debug, Error)]
#[error("neither a frame (no `b2frame` at offset 2) nor a chunk; `oxiblosc compress` makes a frame of anything")]
pub(crate) struct ForeignError {
    #[source]
    chunk: ChunkError,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let kind = |head: &[u8]| FileKind::of(head).ok();
        assert_eq!(kind(b"\x9e\xa8b2frame\0\xd2\0\0\0\x61"), Some(FileKind::Frame));
        assert_eq!(kind(b"\x9b\xa8b2frame\0"), Some(FileKind::Frame));
        // A stored chunk of five bytes from C-Blosc 1, and an empty one from C-Blosc2.
        assert_eq!(kind(b"\x02\x01\x12\x01\x05\0\0\0\x05\0\0\0\x15\0\0\0hello"), Some(FileKind::Chunk));
        let empty = b"\x05\x01\x07\x01\0\0\0\0\x01\0\0\0\x20\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(kind(empty), Some(FileKind::Chunk));
        for foreign in
            [b"".as_slice(), b"b2frame\0", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"plain text, and not too short"]
        {
            assert_eq!(kind(foreign), None, "{foreign:?}");
        }
    }
}
