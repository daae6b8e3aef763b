//! Where an open-ended frame ends.

use std::io;

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::{Frame, OpenEnded, Trailer, TrailerExtent};

use crate::error::ReadError;
use crate::source::{RangeSource, Window};

/// How an open-ended frame ends: one whose header has no totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OpenEnd {
    /// Whether index and trailer are there: its writer has closed it, and nothing more will come.
    pub closed: bool,
    /// Bytes behind the last complete chunk that are none yet, or never will be: what a writer has written of the next
    /// one, or of index and trailer.
    pub left_over: u64,
}

/// An open-ended frame in a source, as far as it has come.
pub(crate) struct Growing {
    pub(crate) state: OpenEnded,
    pub(crate) end: OpenEnd,
    /// The header of the last chunk, by which the frame is known again.
    pub(crate) last_header: Option<Bytes>,
}

impl Growing {
    /// Looks at what follows the chunks that `state` knows of, as far as the source goes. Of chunks only their headers
    /// are read.
    pub(super) async fn follow<S: RangeSource + ?Sized>(
        source: &S,
        start: u64,
        mut state: OpenEnded,
        registry: &Registry,
        most_trailer: usize,
    ) -> Result<(Self, Frame), ReadError> {
        let size = source.size().await?;
        let mut bytes = InFrame { window: Window::for_skipping(source, size), start, len: size.saturating_sub(start) };
        while let Some(next) = bytes.next(&state, registry).await? {
            match next {
                Next::Chunk(header) => state.push(&header)?,
                Next::Tail { index, trailer_at } => match bytes.trailer(trailer_at, most_trailer).await? {
                    Some(trailer) => {
                        let frame = state.closed(index, trailer, registry)?;
                        return Ok((bytes.growing(state, true).await?, frame));
                    }
                    None => break,
                },
            };
        }
        let frame = state.so_far()?;
        Ok((bytes.growing(state, false).await?, frame))
    }
}

/// What follows the chunks that are known.
enum Next {
    Chunk(ChunkHeader),
    Tail { index: Bytes, trailer_at: u64 },
}

/// The bytes of a frame that begins at `start` of a source and has no more than `len` bytes.
struct InFrame<'a, S: ?Sized> {
    window: Window<'a, S>,
    start: u64,
    len: u64,
}

impl<S: RangeSource + ?Sized> InFrame<'_, S> {
    /// `len` bytes from `at` on, or as many as there are.
    async fn get(&mut self, at: u64, len: u64) -> io::Result<Bytes> {
        let end = at.saturating_add(len).min(self.len).max(at);
        // No overflow: the frame lies within the source.
        self.window.get(self.start + at..self.start + end).await
    }

    /// What is known of the frame now.
    async fn growing(&mut self, state: OpenEnded, closed: bool) -> io::Result<Growing> {
        let last_header = match state.last() {
            // A copy, so that what was read around it is not kept.
            Some(at) => Some(Bytes::copy_from_slice(&self.get(at, ChunkHeader::EXTENDED_LEN as u64).await?)),
            None => None,
        };
        let left_over = if closed { 0 } else { self.len.saturating_sub(state.end()) };
        Ok(Growing { state, end: OpenEnd { closed, left_over }, last_header })
    }

    /// What is complete behind the chunks that `state` knows of; `None` when there is nothing, or part of something.
    async fn next(&mut self, state: &OpenEnded, registry: &Registry) -> Result<Option<Next>, ReadError> {
        let at = state.end();
        let head = self.get(at, ChunkHeader::EXTENDED_LEN as u64).await?;
        if state.nchunks() == 0 && head.first().copied().is_some_and(OpenEnded::begins_trailer) {
            return Ok(Some(Next::Tail { index: Bytes::new(), trailer_at: at }));
        }
        if head.len() < ChunkHeader::EXTENDED_LEN {
            return Ok(None);
        }
        let failed = |source| ReadError::Decode { chunk: state.nchunks(), offset: Some(at), source };
        let header = ChunkHeader::parse(&head).map_err(failed)?;
        let len = header.cbytes as u64;
        if len > self.len.saturating_sub(at) {
            return Ok(None);
        }
        if state.may_be_index(&header) {
            let index = self.get(at, len).await?;
            if state.is_index(&index, registry) {
                let trailer_at = at + len;
                match self.get(trailer_at, 1).await?.first() {
                    // A trailer will follow. (A chunk of just these offsets shows once another one has come.)
                    None => return Ok(None),
                    Some(&byte) if OpenEnded::begins_trailer(byte) => {
                        return Ok(Some(Next::Tail { index, trailer_at }));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(Some(Next::Chunk(header)))
    }

    /// The trailer, if all of it is there.
    async fn trailer(&mut self, at: u64, most: usize) -> Result<Option<Bytes>, ReadError> {
        let mut asked = 0;
        loop {
            let bytes = self.get(at, asked as u64).await?;
            if bytes.len() < asked {
                return Ok(None);
            }
            asked = match Trailer::extent(&bytes)? {
                TrailerExtent::Len(len) if len == asked => return Ok(Some(bytes)),
                TrailerExtent::Len(len) | TrailerExtent::Needs(len) => len,
            };
            if asked > most {
                let (needed, limit) = (asked as u64, most as u64);
                return Err(ReadError::Limit { what: "the trailer", needed, limit });
            }
        }
    }
}
