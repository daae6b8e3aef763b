//! Finding the end of an open-ended frame.

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::{Frame, FrameError, OpenEnded, OpenEndedStep};

use crate::error::ReadError;
use crate::source::{BufferedSource, RangeSource};

/// The state of an open-ended frame, whose header has no totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OpenEnd {
    /// Whether it has an index and a trailer: its writer has closed it, and nothing more will follow.
    pub closed: bool,
    /// Bytes after the last complete chunk: the beginning of the next one, or of index and trailer, as far as they have
    /// been written.
    pub left_over: u64,
}

/// Bytes of the header of a chunk.
const HEAD: u64 = ChunkHeader::EXTENDED_LEN as u64;

/// An open-ended frame in a source, as far as it has been written.
pub(crate) struct OpenEndedState {
    pub(crate) state: OpenEnded,
    pub(crate) end: OpenEnd,
    /// The header of the last chunk, to recognize the frame later.
    pub(crate) last_header: Option<Bytes>,
}

impl OpenEndedState {
    /// Examines what follows the chunks known to `state`, up to the end of the source. Only the headers of chunks are
    /// read.
    pub(super) async fn follow<S: RangeSource + ?Sized>(
        source: &S,
        start: u64,
        mut state: OpenEnded,
        registry: &Registry,
    ) -> Result<(Self, Frame), ReadError> {
        let size = source.size().await?;
        let len = size.saturating_sub(start);
        let mut window = BufferedSource::for_skipping(source, size);
        let mut needed = HEAD;
        let closed = loop {
            let (at, available) = (state.end(), len.saturating_sub(state.end()));
            // No overflow: the frame lies within the source.
            let bytes = window.get(start + at..start + at + needed.min(available)).await?;
            match state.step(&bytes, available, registry).map_err(follow_error)? {
                OpenEndedStep::Chunk { .. } => needed = HEAD,
                OpenEndedStep::Needs(more) if more > available => break None,
                OpenEndedStep::Needs(more) => needed = more,
                OpenEndedStep::Closed(frame) => break Some(*frame),
            }
        };
        let last_header = match state.last() {
            // A copy, so that the buffer it was read into is not kept.
            Some(at) => Some(Bytes::copy_from_slice(&window.get(start + at..start + at + HEAD).await?)),
            None => None,
        };
        let left_over = if closed.is_some() { 0 } else { len.saturating_sub(state.end()) };
        let end = OpenEnd { closed: closed.is_some(), left_over };
        let frame = match closed {
            Some(frame) => frame,
            None => state.to_frame()?,
        };
        Ok((Self { state, end, last_header }, frame))
    }
}

/// An invalid chunk is the same error in every kind of frame.
pub(super) fn follow_error(error: FrameError) -> ReadError {
    match error {
        FrameError::Chunk { chunk, offset, source } => ReadError::Decode { chunk, offset, source: *source },
        error => error.into(),
    }
}

/// What is known once the end of the frame has been read.
pub(super) struct End {
    pub(super) frame: Frame,
    /// How a frame without totals ended.
    pub(super) open: Option<OpenEnd>,
}

/// A chunk with its number and its offset.
pub(super) type Numbered = (u64, Bytes, u64);
