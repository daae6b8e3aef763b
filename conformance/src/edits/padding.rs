//! Headers followed by unused bytes.

use oxiblosc_core::frame::{FrameError, FrameHeader};

/// Offsets of the length of the header and of that of the frame.
const HEADER_LEN: usize = 11;
const FRAME_LEN: usize = 16;

/// A frame, or the index of a sparse one, with `padding` bytes between its header and what follows. C-Blosc2 still
/// reads it, since only the length in the header determines where the chunks begin.
///
/// # Errors
/// When `frame` does not begin with the header of a frame.
pub fn with_padded_header(frame: &[u8], padding: u32) -> Result<Vec<u8>, FrameError> {
    let header = FrameHeader::parse(frame)?;
    let len = frame.len().min(header.header_len as usize);
    let mut padded = [&frame[..len], &vec![0xEE; padding as usize], &frame[len..]].concat();
    padded[HEADER_LEN..HEADER_LEN + 4].copy_from_slice(&(header.header_len + padding).to_be_bytes());
    padded[FRAME_LEN..FRAME_LEN + 8].copy_from_slice(&(header.frame_len + u64::from(padding)).to_be_bytes());
    Ok(padded)
}
