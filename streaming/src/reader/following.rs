//! Reading an open-ended frame front to back.

use std::mem;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::io::{AsyncRead, AsyncReadExt};
use oxiblosc_core::Registry;
use oxiblosc_core::frame::{Frame, OpenEnded, OpenEndedStep, chunk_checksum};

use super::frame_reader::is_checked;
use super::open_end::{End, Numbered, OpenEnd, follow_error};
use super::{ChecksumPolicy, ReadOptions};
use crate::error::ReadError;

/// A frame without totals, whose chunks are taken as they arrive until there are no more.
pub(super) struct OpenEndedStream<R> {
    reader: R,
    state: OpenEnded,
    registry: Registry,
    options: ReadOptions,
    /// The part read so far of the next chunk, or of index and trailer.
    bytes: Vec<u8>,
    /// The checksum of each chunk, if they are to be compared.
    sums: Vec<u64>,
    end: Arc<OnceLock<End>>,
}

impl<R: AsyncRead + Unpin> OpenEndedStream<R> {
    pub(super) fn new(
        reader: R,
        state: OpenEnded,
        registry: Registry,
        options: ReadOptions,
        end: Arc<OnceLock<End>>,
    ) -> Self {
        Self { reader, state, registry, options, bytes: Vec::new(), sums: Vec::new(), end }
    }

    /// The next chunk; after the last one `None`, or an error of the frame.
    pub(super) async fn next(&mut self) -> Result<Option<Numbered>, ReadError> {
        loop {
            let available = self.bytes.len() as u64;
            match self.state.step(&self.bytes, available, &self.registry).map_err(follow_error)? {
                OpenEndedStep::Needs(needed) => {
                    // Memory is allocated as bytes arrive, not by the length stated.
                    let missing = needed.saturating_sub(available);
                    (&mut self.reader).take(missing).read_to_end(&mut self.bytes).await?;
                    if (self.bytes.len() as u64) < needed {
                        return self.ended_early().map(|()| None);
                    }
                }
                OpenEndedStep::Chunk { number, offset, len } => {
                    // At most one byte after the chunk has been read; it begins the next one. Lossless: it is all in
                    // memory.
                    let rest = self.bytes.split_off(len as usize);
                    let bytes = Bytes::from(mem::replace(&mut self.bytes, rest));
                    if self.options.checksums != ChecksumPolicy::Ignore {
                        self.sums.push(chunk_checksum(&bytes));
                    }
                    return Ok(Some((number, bytes, offset)));
                }
                OpenEndedStep::Closed(frame) => {
                    self.finish(*frame, OpenEnd { closed: true, left_over: 0 })?;
                    return Ok(None);
                }
            }
        }
    }

    /// The stream has ended, without index and trailer.
    fn ended_early(&self) -> Result<(), ReadError> {
        let left_over = self.bytes.len() as u64;
        let (frame, end) = (self.state.to_frame()?, OpenEnd { closed: false, left_over });
        if left_over == 0 {
            self.finish(frame, end)?;
            // The end of a frame that is still being written cannot be distinguished from one that was cut here.
            if self.options.open_ended {
                return Ok(());
            }
        } else {
            // Only set here.
            let _ = self.end.set(End { frame, open: Some(end) });
        }
        Err(ReadError::BreaksOff { chunks: self.state.nchunks(), offset: self.state.end(), left_over })
    }

    /// Called when the stream has ended where a frame can end.
    fn finish(&self, frame: Frame, end: OpenEnd) -> Result<(), ReadError> {
        if is_checked(&frame, self.options.checksums)? {
            for (i, &sum) in (0..).zip(&self.sums) {
                frame.check_chunk_sum(i, sum)?;
            }
        }
        // Only set here.
        let _ = self.end.set(End { frame, open: Some(end) });
        Ok(())
    }
}
