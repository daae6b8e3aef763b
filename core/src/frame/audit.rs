//! Checks that take all chunks of a frame.

use std::ops::Range;

use super::{Frame, FrameError};
use crate::chunk::ChunkHeader;

/// Checks what only all chunk headers of a frame together can show. Pass it every one of them, in order.
#[derive(Debug)]
pub struct FrameAudit<'a> {
    frame: &'a Frame,
    nbytes: u64,
    vl_blocks: Option<bool>,
}

impl<'a> FrameAudit<'a> {
    /// Starts with chunk 0.
    pub fn new(frame: &'a Frame) -> Self {
        Self { frame, nbytes: 0, vl_blocks: None }
    }

    /// Records chunk `i`.
    ///
    /// # Errors
    /// Those of [`Frame::check_chunk`]; [`FrameError::MixedBlocks`] when it is the first that has (or lacks) blocks of
    /// variable length.
    pub fn chunk(&mut self, i: u64, chunk: &ChunkHeader) -> Result<(), FrameError> {
        self.chunks(i..i.saturating_add(1), chunk)
    }

    /// Records chunks that have the same header, none of which may be a shorter last chunk.
    ///
    /// # Errors
    /// As [`chunk`](Self::chunk), for the first of them.
    pub fn chunks(&mut self, chunks: Range<u64>, header: &ChunkHeader) -> Result<(), FrameError> {
        self.frame.check_chunk(chunks.start, header)?;
        let variable = header.has_vl_blocks();
        if *self.vl_blocks.get_or_insert(variable) != variable {
            return Err(FrameError::MixedBlocks { chunk: chunks.start, variable });
        }
        let count = chunks.end.saturating_sub(chunks.start);
        self.nbytes = self.nbytes.saturating_add(count.saturating_mul(header.nbytes as u64));
        Ok(())
    }

    /// Ends the check after the last chunk.
    ///
    /// # Errors
    /// [`FrameError::TotalLen`] when the chunks do not add up to what the header says.
    pub fn finish(self) -> Result<(), FrameError> {
        let expected = self.frame.nbytes();
        if self.nbytes != expected {
            return Err(FrameError::TotalLen { expected, found: self.nbytes });
        }
        Ok(())
    }
}
