//! Walking over chunks that follow each other, without an index.
//!
//! This works for frames that [promise](super::Sequential) to have their chunks in order and without holes, even if
//! their header has no totals or their end is missing. It looks at headers of chunks only and does not judge their
//! content: a reader refuses a chunk of the wrong length, a recovery continues after it.

use bytes::Bytes;

use super::partial::{index_entries, index_entry_count};
use super::trailer::{Trailer, TrailerExtent};
use super::{ChunkEntry, FrameError, FrameLayout};
use crate::chunk::ChunkHeader;
use crate::limits::Limits;
use crate::registry::Registry;

/// What lies at the [end](ChunkWalk::end) of a walk.
#[derive(Debug)]
pub enum ChunkWalkStep {
    /// Take the [step](ChunkWalk::step) again with this many bytes, counted from [`end`](ChunkWalk::end). If there are
    /// fewer, the frame ends at `end`, unfinished: what follows is the beginning of a chunk, an index or a trailer that
    /// was never completed.
    Needs(u64),
    /// The next chunk. It is counted already: [`end`](ChunkWalk::end) is now after it.
    Chunk {
        /// Its number.
        number: u64,
        /// Where it begins, from the start of the frame.
        offset: u64,
        /// Its header. `cbytes` is its length as stored.
        header: ChunkHeader,
    },
    /// Index and trailer. They begin at [`end`](ChunkWalk::end).
    Closed {
        /// Bytes of the index; 0 in a frame without chunks.
        index_len: u64,
        /// Bytes of the trailer, which follows the index.
        trailer_len: u64,
        /// The trailer.
        trailer: Box<Trailer>,
    },
}

/// A walk from the first chunk of a frame to its index: a state machine that is fed from front to back.
///
/// ```
/// use oxiblosc_core::frame::{ChunkWalk, ChunkWalkStep, FrameError, PartialHeader};
/// use oxiblosc_core::{Limits, Registry};
///
/// /// The number of complete chunks in `file`, and whether an index follows them.
/// fn count(file: &bytes::Bytes, registry: &Registry) -> Result<(u64, bool), FrameError> {
///     let limits = Limits::default();
///     let mut walk = ChunkWalk::new(&PartialHeader::parse(file, &limits)?, limits);
///     loop {
///         let rest = file.get(walk.end() as usize..).unwrap_or_default();
///         match walk.step(rest, rest.len() as u64, registry)? {
///             ChunkWalkStep::Chunk { .. } => {}
///             ChunkWalkStep::Closed { .. } => return Ok((walk.nchunks(), true)),
///             ChunkWalkStep::Needs(_) => return Ok((walk.nchunks(), false)),
///         }
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct ChunkWalk {
    header_len: u64,
    limits: Limits,
    /// Where each chunk begins, from the end of the header.
    offsets: Vec<u64>,
    cbytes: u64,
    /// The chunk at the end has been found to hold the offsets of all chunks.
    at_index: bool,
}

/// What lies at the end of a walk, before it is counted.
pub(super) enum Ahead {
    Needs(u64),
    Chunk(ChunkHeader),
    Closed { index_len: usize, trailer_len: usize },
}

impl ChunkWalk {
    /// Starts at the end of this head. The walk takes as many chunks as `limits` allow.
    pub fn new(head: &super::PartialHeader, limits: Limits) -> Self {
        Self { header_len: head.header.header_len.into(), limits, offsets: Vec::new(), cbytes: 0, at_index: false }
    }

    /// Number of chunks so far.
    pub fn nchunks(&self) -> u64 {
        self.offsets.len() as u64
    }

    /// Where the last chunk begins, from the start of the frame.
    pub fn last(&self) -> Option<u64> {
        self.offsets.last().map(|offset| self.header_len + offset)
    }

    /// Where the next chunk begins, from the start of the frame: the end of what has been seen.
    pub fn end(&self) -> u64 {
        self.header_len + self.cbytes
    }

    /// Bytes of the chunks so far.
    pub(super) fn cbytes(&self) -> u64 {
        self.cbytes
    }

    /// Where each chunk begins, from the end of the header.
    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Examines what follows the chunks so far, and takes the next one. `bytes` are those from [`end`](Self::end) on,
    /// as many as have been read; `available` is the number known to exist. For most chunks the header suffices if the
    /// rest exists.
    ///
    /// # Errors
    /// When neither a chunk nor the end of the frame follows, and when there would be more chunks than allowed. The
    /// walk is then where it was.
    pub fn step(&mut self, bytes: &[u8], available: u64, registry: &Registry) -> Result<ChunkWalkStep, FrameError> {
        match self.look(bytes, available, registry)? {
            Ahead::Needs(needed) => Ok(ChunkWalkStep::Needs(needed)),
            Ahead::Chunk(header) => {
                let (number, offset) = (self.nchunks(), self.end());
                self.push(&header);
                Ok(ChunkWalkStep::Chunk { number, offset, header })
            }
            Ahead::Closed { index_len, trailer_len } => {
                let trailer = bytes.get(index_len..index_len + trailer_len).unwrap_or_default();
                let trailer = Box::new(Trailer::parse(&Bytes::copy_from_slice(trailer), FrameLayout::Current)?);
                Ok(ChunkWalkStep::Closed { index_len: index_len as u64, trailer_len: trailer_len as u64, trailer })
            }
        }
    }

    /// What follows the chunks so far; `bytes` and `available` are those of [`step`](Self::step).
    pub(super) fn look(&mut self, bytes: &[u8], available: u64, registry: &Registry) -> Result<Ahead, FrameError> {
        // A trailer is longer than the header of a chunk, so no bytes after the frame are requested.
        let Some(&first) = bytes.first().filter(|_| bytes.len() >= ChunkHeader::EXTENDED_LEN) else {
            return Ok(Ahead::Needs(ChunkHeader::EXTENDED_LEN as u64));
        };
        if self.nchunks() == 0 && Trailer::begins_with(first) {
            return self.look_at_trailer(0, bytes);
        }
        let (chunk, offset) = (self.nchunks(), self.end());
        let failed = |source| FrameError::Chunk { chunk, offset: Some(offset), source: Box::new(source) };
        let header = ChunkHeader::parse(bytes).map_err(failed)?;
        let len = header.cbytes as u64;
        if available < len {
            return Ok(Ahead::Needs(len));
        }
        if self.may_be_index(&header) {
            let Some((index, behind)) = bytes.split_at_checked(header.cbytes) else {
                return Ok(Ahead::Needs(len));
            };
            // A chunk may happen to hold the offsets of all others. But no chunk begins like a trailer, so the trailer
            // tells the index from a chunk, even if the index is damaged.
            match behind.first() {
                Some(&byte) if Trailer::begins_with(byte) => return self.look_at_trailer(index.len(), behind),
                None if available > len => return Ok(Ahead::Needs(len + 1)),
                // A stream may have nothing to follow yet. Waiting for it would hold up a chunk.
                None => {
                    self.at_index = self.at_index || self.is_index(index, registry);
                    if self.at_index {
                        return Ok(Ahead::Needs(len + 1));
                    }
                }
                Some(_) => {}
            }
        }
        if chunk >= self.limits.chunks {
            return Err(FrameError::TooManyChunks { found: chunk + 1, limit: self.limits.chunks });
        }
        let (found, min) = (len, ChunkHeader::EXTENDED_LEN as u64);
        if found < min {
            return Err(FrameError::ChunkTooSmall { chunk, offset, found, min });
        }
        Ok(Ahead::Chunk(header))
    }

    /// `trailer` follows an index of `index_len` bytes.
    fn look_at_trailer(&self, index_len: usize, trailer: &[u8]) -> Result<Ahead, FrameError> {
        let needed = match Trailer::extent(trailer)? {
            TrailerExtent::Len(len) if len <= trailer.len() => {
                return Ok(Ahead::Closed { index_len, trailer_len: len });
            }
            TrailerExtent::Len(len) | TrailerExtent::Needs(len) => len,
        };
        if needed > self.limits.trailer_bytes {
            let (found, max) = (needed as u64, self.limits.trailer_bytes as u64);
            return Err(FrameError::TrailerLen { offset: self.end() + index_len as u64, found, min: 0, max });
        }
        Ok(Ahead::Needs((index_len + needed) as u64))
    }

    /// Counts the chunk that begins at [`end`](Self::end).
    pub(super) fn push(&mut self, chunk: &ChunkHeader) {
        self.offsets.push(self.cbytes);
        // No overflow: 2^31 bytes for each of the offsets, which are in memory.
        self.cbytes += chunk.cbytes as u64;
        self.at_index = false;
    }

    /// Whether a chunk with this header may be the index of the chunks so far.
    fn may_be_index(&self, chunk: &ChunkHeader) -> bool {
        index_entry_count(chunk) == Some(self.nchunks())
    }

    /// Whether `chunk`, which begins at [`end`](Self::end), holds the offsets of all chunks so far. If a trailer
    /// follows, it is the index, otherwise a chunk like any other.
    fn is_index(&self, chunk: &[u8], registry: &Registry) -> bool {
        let expected = self.offsets.iter().map(|offset| ChunkEntry::Stored { offset: self.header_len + offset });
        index_entries(chunk, self.end(), self.header_len, registry, &self.limits)
            .is_some_and(|runs| runs.into_iter().flat_map(|run| run.chunks.map(move |_| run.entry)).eq(expected))
    }
}
