//! Opening a frame: which bytes that takes, and what they say.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::frame::Frame;
use super::header::{ChunkSize, FIXED_LEN, FrameHeader, FrameType};
use super::index::{Index, MIN_INDEX};
use super::metalayers::Metalayers;
use super::trailer::{TRAILER_TAIL, Trailer};
use super::{ChecksumState, Checksums, FrameError, FrameLayout};
use crate::chunk::{ChunkDecoder, ChunkHeader};
use crate::limits::Limits;
use crate::registry::Registry;

/// How much of head and tail is read first. Most headers, trailers and indexes fit.
const PROBE: u64 = 16 << 10;
/// The bytes between the chunks and the end of the frame are read as a whole up to this size, and piece by piece above
/// it.
const MAX_TAIL_READ: u64 = 4 << 20;

/// What an opener needs next.
#[derive(Debug)]
pub enum OpenStep {
    /// Read these ranges (in bytes from the start of the frame, all within its length) and [`feed`](FrameOpener::feed)
    /// each of them.
    Read(Vec<Range<u64>>),
    /// The frame is open.
    Done(Box<Frame>),
}

/// Opens a frame: a state machine that says which bytes it needs.
///
/// It asks once for the head and the tail and, if these were not enough, a second time for the rest of header, index
/// and trailer. If the head is fed before the first step (a remote source may return it together with the length), it
/// asks for the rest at once. (Frames with megabytes of dead bytes between index and trailer may take a third and a
/// fourth.)
///
/// ```
/// use oxiblosc_core::frame::{FrameOpener, OpenStep};
/// use oxiblosc_core::{Limits, Registry};
///
/// # fn open(file: &bytes::Bytes) -> Result<(), oxiblosc_core::frame::FrameError> {
/// let mut opener = FrameOpener::new(file.len() as u64, Registry::linked().unwrap(), Limits::default());
/// let frame = loop {
///     match opener.step()? {
///         OpenStep::Read(ranges) => {
///             for range in ranges {
///                 let bytes = file.slice(range.start as usize..range.end as usize);
///                 opener.feed(range.start, bytes);
///             }
///         }
///         OpenStep::Done(frame) => break frame,
///     }
/// };
/// println!("{} chunks", frame.nchunks());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FrameOpener {
    /// Bytes from the start of the frame to the end of what it is in.
    available: u64,
    frame_type: FrameType,
    limits: Limits,
    registry: Registry,
    /// What has been fed, in any order.
    pieces: Vec<(u64, Bytes)>,
    /// What has been asked for.
    asked: Vec<Range<u64>>,
}

impl FrameOpener {
    /// Opens a contiguous frame that starts at the first of `available` bytes. More bytes may follow the frame: they
    /// are ignored, as C-Blosc2 does for files.
    ///
    /// `registry` provides the codec and the filter of the index.
    pub fn new(available: u64, registry: &Registry, limits: Limits) -> Self {
        Self {
            available,
            frame_type: FrameType::Contiguous,
            limits,
            registry: registry.clone(),
            pieces: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// Opens the index of a sparse frame, the file `chunks.b2frame` of its directory.
    pub fn sparse(available: u64, registry: &Registry, limits: Limits) -> Self {
        Self { frame_type: FrameType::Sparse, ..Self::new(available, registry, limits) }
    }

    /// Provides the bytes of the frame from `start` on.
    pub fn feed(&mut self, start: u64, bytes: Bytes) {
        self.pieces.push((start, bytes));
    }

    /// Proceeds as far as the bytes allow.
    ///
    /// # Errors
    /// What is wrong with the frame; [`FrameError::MissingBytes`] when called again without the bytes asked for.
    pub fn step(&mut self) -> Result<OpenStep, FrameError> {
        if self.asked.is_empty() {
            let min = FrameLayout::Early.min_header_len() as u64;
            if self.available < min {
                return Err(FrameError::TooShort { len: self.available, min });
            }
            // A caller that already has the head is asked for exactly what else is needed: the tail need not be
            // guessed.
            if self.get(0..(FIXED_LEN as u64).min(self.available)).is_none() {
                let head = 0..PROBE.min(self.available);
                let tail = self.available.saturating_sub(PROBE).max(head.end)..self.available;
                self.asked = [head, tail].into_iter().filter(|range| !range.is_empty()).collect();
                return Ok(OpenStep::Read(self.asked.clone()));
            }
        }
        let mut missing = Vec::new();
        if let Some(frame) = self.open(&mut missing)? {
            return Ok(OpenStep::Done(Box::new(frame)));
        }
        // Asking again would never end with a source that is shorter than it said.
        let again = |range: &&Range<u64>| self.asked.iter().any(|a| a.start <= range.start && range.end <= a.end);
        if let Some(&Range { start, end }) = missing.iter().find(again) {
            return Err(FrameError::MissingBytes { start, end });
        }
        self.asked.extend(missing.iter().cloned());
        Ok(OpenStep::Read(missing))
    }

    /// Opens the frame, or records the missing ranges: all of those that can be requested at once.
    fn open(&self, missing: &mut Vec<Range<u64>>) -> Result<Option<Frame>, FrameError> {
        let head_len = (FIXED_LEN as u64).min(self.available);
        let head = self.get(0..head_len).ok_or(FrameError::MissingBytes { start: 0, end: head_len })?;
        let header = FrameHeader::parse(&head)?;
        let plan = Extents::new(&header, self.available, self.frame_type, &self.limits)?;

        let mut want = |range: Range<u64>| {
            let found = self.get(range.clone());
            if found.is_none() {
                let rest = self.uncovered(range);
                if !missing.iter().any(|m: &Range<u64>| m.start <= rest.start && rest.end <= m.end) {
                    missing.push(rest);
                }
            }
            found
        };
        // Copy, so that the frame does not keep the rest of what was read alive.
        let header_bytes = want(0..header.header_len.into()).map(|bytes| Bytes::copy_from_slice(&bytes));
        // Without the tail it is not known where the index ends. If there is little between the chunks and the end of
        // the frame, read all of it at once; otherwise first read what says where the parts are.
        let end = plan.index_at..header.frame_len;
        if end.end - end.start <= MAX_TAIL_READ {
            want(end);
        }
        let trailer = self.trailer(&header, &plan, &mut want)?;
        let index = self.index(&header, &plan, trailer.as_ref().map(|t| t.start), &mut want)?;

        let (Some(header_bytes), Some(trailer), Some(index)) = (header_bytes, trailer, index) else {
            return Ok(None);
        };
        let metalayers = Metalayers::of_header(&header_bytes, header.layout)?;
        let (index, index_bytes) = index;
        let (trailer, checksums) = match trailer.bytes {
            Some(bytes) => {
                let trailer = Trailer::parse(&bytes, header.layout)?;
                let sums = Checksums::examine(&header, &header_bytes, &index_bytes, index.len(), &trailer, &bytes);
                (trailer, sums)
            }
            None => (Trailer::default(), ChecksumState::Absent),
        };
        Frame::new(header, header_bytes, metalayers, trailer, index, checksums, self.limits).map(Some)
    }

    /// Where the trailer starts, and its bytes; early frames have none.
    pub(super) fn trailer(
        &self,
        header: &FrameHeader,
        plan: &Extents,
        want: &mut impl FnMut(Range<u64>) -> Option<Bytes>,
    ) -> Result<Option<Located>, FrameError> {
        let end = header.frame_len;
        if !header.layout.has_trailer() {
            return Ok(Some(Located { start: end, bytes: None }));
        }
        let room = end - plan.index_at;
        if room < TRAILER_TAIL as u64 {
            return Err(FrameError::FrameLen {
                found: end,
                min: plan.index_at + TRAILER_TAIL as u64,
                max: self.available,
            });
        }
        let Some(tail) = want(end - TRAILER_TAIL as u64..end) else { return Ok(None) };
        let room = room.min(self.limits.trailer_bytes as u64);
        let len = Trailer::len_from_tail(&tail, end, room, header.layout)?;
        // C-Blosc2 looks for the trailer of an empty frame right behind the header.
        if header.nbytes == 0 && header.layout == FrameLayout::Current && len != end - plan.index_at {
            let found = len;
            let (min, max) = (end - plan.index_at, end - plan.index_at);
            return Err(FrameError::TrailerLen { offset: end - TRAILER_TAIL as u64 + 1, found, min, max });
        }
        let bytes = want(end - len..end);
        Ok(bytes.map(|bytes| Located { start: end - len, bytes: Some(Bytes::copy_from_slice(&bytes)) }))
    }

    /// The index, decoded and as it is in the file.
    pub(super) fn index(
        &self,
        header: &FrameHeader,
        plan: &Extents,
        trailer_at: Option<u64>,
        want: &mut impl FnMut(Range<u64>) -> Option<Bytes>,
    ) -> Result<Option<(Index, Bytes)>, FrameError> {
        let at = plan.index_at;
        if header.nbytes == 0 {
            if header.layout == FrameLayout::Early && at != header.frame_len {
                return Err(FrameError::EarlyEnd { expected: at, found: header.frame_len });
            }
            return Ok(Some((Index::EMPTY, Bytes::new())));
        }
        // Until the trailer is known, the index must leave room for at least its tail.
        let least_tail = if header.layout.has_trailer() { TRAILER_TAIL as u64 } else { 0 };
        let end = trailer_at.unwrap_or(header.frame_len - least_tail);
        let room = end - at;
        if room < MIN_INDEX {
            return Err(FrameError::NoIndex { offset: at, room });
        }
        let head_len = (ChunkHeader::EXTENDED_LEN as u64).min(room);
        let Some(head) = want(at..at + head_len) else { return Ok(None) };
        let chunk = ChunkHeader::parse(&head).map_err(|source| FrameError::Index { offset: at, source })?;
        let count = Index::check_header(&chunk, at, room, plan.nchunks, &self.limits)?;
        let index_end = at + chunk.cbytes as u64;
        if header.layout == FrameLayout::Early && index_end != header.frame_len {
            return Err(FrameError::EarlyEnd { expected: index_end, found: header.frame_len });
        }
        let Some(bytes) = want(at..index_end) else { return Ok(None) };
        let limits = Limits { chunk_bytes: chunk.nbytes, ..self.limits };
        let mut decoder = ChunkDecoder::new(&self.registry).with_limits(limits);
        let index = Index::decode(&bytes, &chunk, count, at, &mut decoder)?;
        Ok(Some((index, bytes)))
    }

    /// The bytes of a range, if they have been fed: a view of one piece, or several pieces joined.
    pub(super) fn get(&self, range: Range<u64>) -> Option<Bytes> {
        let len = usize::try_from(range.end - range.start).ok()?;
        let mut found = BytesMut::new();
        let mut at = range.start;
        loop {
            let rest = self.pieces.iter().find_map(|(start, bytes)| {
                let skip = usize::try_from(at.checked_sub(*start)?).ok()?;
                (skip < bytes.len()).then(|| bytes.slice(skip..bytes.len().min(skip.saturating_add(len - found.len()))))
            });
            match rest {
                _ if at == range.end => return Some(found.freeze()),
                None => return None,
                Some(rest) if rest.len() == len => return Some(rest),
                Some(rest) => {
                    at += rest.len() as u64;
                    found.extend_from_slice(&rest);
                }
            }
        }
    }
}

impl FrameOpener {
    /// A range without the parts at both ends that have already been fed.
    fn uncovered(&self, mut range: Range<u64>) -> Range<u64> {
        loop {
            let before = range.clone();
            for (start, bytes) in &self.pieces {
                let end = start.saturating_add(bytes.len() as u64);
                if *start <= range.start && end > range.start {
                    range.start = end.min(range.end);
                }
                if *start < range.end && end >= range.end {
                    range.end = (*start).max(range.start);
                }
            }
            if range == before {
                return range;
            }
        }
    }
}

pub(super) struct Located {
    pub(super) start: u64,
    pub(super) bytes: Option<Bytes>,
}

/// What the header alone says about the rest.
pub(super) struct Extents {
    /// Where the index starts.
    index_at: u64,
    /// Number of chunks; `None` when only the index tells.
    nchunks: Option<u64>,
}

impl Extents {
    pub(super) fn new(
        header: &FrameHeader,
        available: u64,
        expected: FrameType,
        limits: &Limits,
    ) -> Result<Self, FrameError> {
        if header.frame_type != expected {
            let (found, expected) = (header.frame_type.to_u8(), expected.to_u8());
            return Err(FrameError::FrameType { found, expected });
        }
        let header_len = u64::from(header.header_len);
        let frame_len = header.frame_len;
        let max = frame_len.min(limits.header_bytes as u64);
        if header_len > max {
            let min = header.layout.min_header_len() as u64;
            return Err(FrameError::HeaderLen { found: header_len as i64, min, max });
        }
        if frame_len > available {
            return Err(FrameError::FrameLen { found: frame_len, min: header_len, max: available });
        }
        // Deleting all chunks leaves the length of the chunks section unchanged. Ignore it.
        let in_frame = header.nbytes > 0 && header.frame_type == FrameType::Contiguous;
        let section = if in_frame { header.cbytes } else { 0 };
        let index_at = match header_len.checked_add(section) {
            Some(at) if at <= frame_len => at,
            _ => return Err(FrameError::ChunksSection { header_len, cbytes: header.cbytes, end: frame_len }),
        };
        let nchunks = match header.chunk_size {
            _ if header.nbytes == 0 => Some(0),
            // Early writers stored 0 for frames of fixed chunks with a short last one, so the index decides there.
            ChunkSize::Fixed(n) if header.layout != FrameLayout::Early => Some(header.nbytes.div_ceil(n.into())),
            _ => None,
        };
        match nchunks {
            Some(n) if n > limits.chunks => Err(FrameError::TooManyChunks { found: n, limit: limits.chunks }),
            _ => Ok(Self { index_at, nchunks }),
        }
    }
}
