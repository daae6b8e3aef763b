//! Open-ended frames: frames without totals.
//!
//! The header of an open-ended frame says neither where its chunks end nor how many there are. The frame itself tells:
//! chunk follows chunk from the end of the header on, and after the last one come index and trailer, once the writer
//! has closed it.

use bytes::Bytes;

use super::chunk_walk::{Ahead, ChunkWalk};
use super::frame::Frame;
use super::header::{ChunkSize, FrameHeader, FrameType};
use super::index::Index;
use super::partial::PartialHeader;
use super::trailer::Trailer;
use super::{ChecksumState, FrameError, FrameLayout, FrameOpener, OpenStep, Sequential};
use crate::chunk::ChunkHeader;
use crate::limits::Limits;
use crate::nd::ArrayMeta;
use crate::registry::Registry;

/// The next part of an open-ended frame.
#[derive(Debug)]
pub enum OpenEndedStep {
    /// Take the [step](OpenEnded::step) again with this many bytes, counted from [`end`](OpenEnded::end). If there are
    /// fewer, the frame ends at `end`, unfinished: what follows is the beginning of a chunk, an index or a trailer that
    /// was never completed.
    Needs(u64),
    /// The next chunk. It is counted already: [`end`](OpenEnded::end) is now after it.
    Chunk {
        /// Its number.
        number: u64,
        /// Where it begins, from the start of the frame.
        offset: u64,
        /// Its bytes as stored.
        len: u64,
    },
    /// Index and trailer: the frame is complete.
    Closed(Box<Frame>),
}

/// An open-ended frame as far as it has been read: a state machine that is fed from front to back, chunk by chunk, and
/// at any time gives the frame that consists of the chunks so far.
///
/// ```
/// use oxiblosc_core::frame::{Frame, FrameError, OpenEnded, OpenEndedStep};
/// use oxiblosc_core::{Limits, Registry};
///
/// /// The frame in `file`, as far as it has been written.
/// fn to_frame(file: &bytes::Bytes, registry: &Registry) -> Result<Option<Frame>, FrameError> {
///     let Some(mut frame) = OpenEnded::begin(file, Limits::default())? else { return Ok(None) };
///     loop {
///         let rest = &file[frame.end() as usize..];
///         match frame.step(rest, rest.len() as u64, registry)? {
///             OpenEndedStep::Chunk { .. } => {}
///             OpenEndedStep::Closed(frame) => return Ok(Some(*frame)),
///             OpenEndedStep::Needs(_) => return frame.to_frame().map(Some),
///         }
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct OpenEnded {
    head: PartialHeader,
    head_bytes: Bytes,
    limits: Limits,
    walk: ChunkWalk,
    nbytes: u64,
    /// Decoded bytes of the last chunk.
    last_len: u64,
    vl_blocks: bool,
}

impl OpenEnded {
    /// Starts a frame whose first bytes are `head`, which must include the whole header; `None` if it has totals, or
    /// does not [promise](Sequential) what it takes to read it without them.
    ///
    /// # Errors
    /// What is wrong with the header.
    pub fn begin(head: &Bytes, limits: Limits) -> Result<Option<Self>, FrameError> {
        let bytes = head;
        let head = PartialHeader::parse(bytes, &limits)?;
        let header = &head.header;
        let plain = header.layout == FrameLayout::Current && header.frame_type == FrameType::Contiguous;
        let open = plain && Sequential::find(&head.metalayers).is_some_and(|promise| promise.is_open(header));
        // Lossless: all of them are there.
        let head_bytes = bytes.slice(..head.header.header_len as usize);
        let walk = ChunkWalk::new(&head, limits);
        Ok(open.then_some(Self { head, head_bytes, limits, walk, nbytes: 0, last_len: 0, vl_blocks: false }))
    }

    /// The header as it is in the file.
    pub fn head_bytes(&self) -> &Bytes {
        &self.head_bytes
    }

    /// Number of chunks so far.
    pub fn nchunks(&self) -> u64 {
        self.walk.nchunks()
    }

    /// Where the last chunk begins, from the start of the frame.
    pub fn last(&self) -> Option<u64> {
        self.walk.last()
    }

    /// Where the next chunk begins, from the start of the frame: the end of what has been seen.
    pub fn end(&self) -> u64 {
        self.walk.end()
    }

    fn header_len(&self) -> u64 {
        self.head.header.header_len.into()
    }

    /// Examines what follows the chunks so far, and takes the next one. `bytes` are those from [`end`](Self::end) on,
    /// as many as have been read; `available` is the number known to exist. For most chunks the header suffices if the
    /// rest exists.
    ///
    /// # Errors
    /// When what follows is neither a valid chunk nor the end of the frame: a chunk that is damaged, too short, of
    /// another length than the frame says, after a short last chunk, or one too many; an index or a trailer that is
    /// damaged.
    pub fn step(&mut self, bytes: &[u8], available: u64, registry: &Registry) -> Result<OpenEndedStep, FrameError> {
        match self.walk.look(bytes, available, registry)? {
            Ahead::Needs(needed) => Ok(OpenEndedStep::Needs(needed)),
            Ahead::Chunk(header) => {
                let (number, offset, len) = (self.nchunks(), self.end(), header.cbytes as u64);
                self.push(&header)?;
                Ok(OpenEndedStep::Chunk { number, offset, len })
            }
            Ahead::Closed { index_len, trailer_len } => {
                let (index, behind) = bytes.split_at(index_len);
                let [index, trailer] = [index, &behind[..trailer_len]].map(Bytes::copy_from_slice);
                Ok(OpenEndedStep::Closed(Box::new(self.to_closed_frame(index, trailer, registry)?)))
            }
        }
    }

    /// Adds the chunk that begins at [`end`](Self::end).
    fn push(&mut self, chunk: &ChunkHeader) -> Result<(), FrameError> {
        let number = self.nchunks();
        let len = chunk.nbytes as u64;
        if self.head.header.chunk_size == ChunkSize::Unset {
            // Lossless: the length of a chunk fits 31 bits.
            self.head.header.chunk_size = ChunkSize::Fixed(chunk.nbytes as u32);
        }
        if let Some(full) = self.head.header.chunk_size.fixed() {
            let expected = full as u64;
            if len == 0 || len > expected {
                return Err(FrameError::ChunkLen { chunk: number, expected, found: len });
            }
            if number > 0 && self.last_len != expected {
                return Err(FrameError::ChunkLen { chunk: number - 1, expected, found: self.last_len });
            }
        }
        self.vl_blocks |= chunk.has_vl_blocks();
        self.walk.push(chunk);
        self.nbytes += len;
        self.last_len = len;
        Ok(())
    }

    /// The chunks so far as a frame that ends with the last of them and has no trailer.
    ///
    /// An array has the rows of its complete slabs, whatever its header says: chunks of an incomplete slab are left
    /// out. (Only the trailer, which has the length of the array, tells padding rows in the last slab from others.)
    ///
    /// # Errors
    /// If a frame cannot have these chunks.
    pub fn to_frame(&self) -> Result<Frame, FrameError> {
        let mut head = self.head.clone();
        let count = trim_to_slabs(&mut head, self.walk.offsets().len());
        let cut = self.walk.offsets().get(count);
        let full = head.header.chunk_size.fixed().unwrap_or(0) as u64;
        // Only arrays are cut, whose chunks are all of the same length.
        let nbytes = cut.map_or(self.nbytes, |_| full.saturating_mul(count as u64));
        let cbytes = cut.copied().unwrap_or(self.walk.cbytes());
        let totals = Sequential { frame_len: self.header_len() + cbytes, nbytes, cbytes };
        let bytes = Bytes::from(head.sealed(totals, self.vl_blocks, false));
        let head = PartialHeader::parse(&bytes, &self.limits)?;
        let index = self.walk.offsets()[..count].iter().copied().collect::<Index>().for_reading();
        let (trailer, sums) = (Trailer::default(), ChecksumState::Absent);
        Frame::new(head.header, bytes, head.metalayers, trailer, index, sums, self.limits)
    }

    /// The complete frame as it will be once it is sealed, with the totals that its header lacks. `index` is what lies
    /// at [`end`](Self::end), empty in a frame without chunks; `trailer` follows it.
    fn to_closed_frame(&self, index: Bytes, trailer: Bytes, registry: &Registry) -> Result<Frame, FrameError> {
        let parsed = Trailer::parse(&trailer, FrameLayout::Current)?;
        let mut head = self.head.clone();
        if let Some(meta) = head.array_from_trailer(&parsed.vlmetalayers, registry)
            && let Ok(content) = meta.to_bytes()
        {
            // The length stays the same.
            let _ = head.metalayers.insert(ArrayMeta::NAME, content);
        }
        let (index_at, trailer_at) = (self.end(), self.end() + index.len() as u64);
        let frame_len = trailer_at + trailer.len() as u64;
        let totals = Sequential { frame_len, nbytes: self.nbytes, cbytes: self.walk.cbytes() };
        let bytes = head.sealed(totals, self.vl_blocks, !parsed.vlmetalayers.is_empty());
        let mut opener = FrameOpener::new(frame_len, registry, self.limits);
        opener.feed(0, bytes.into());
        opener.feed(index_at, index);
        opener.feed(trailer_at, trailer);
        match opener.step()? {
            OpenStep::Done(frame) => Ok(*frame),
            OpenStep::Read(_) => Err(FrameError::MissingBytes { start: index_at, end: frame_len }),
        }
    }
}

/// Sets the rows of an array to those of the complete slabs among `found` chunks, and returns how many chunks that
/// takes: all of them if the frame is not an array.
fn trim_to_slabs(head: &mut PartialHeader, found: usize) -> usize {
    let Some(Ok(mut meta)) = ArrayMeta::find(&head.metalayers) else { return found };
    let FrameHeader { typesize, .. } = head.header;
    let (Some(&rows), Some(&slab_rows)) = (meta.geometry.shape.first(), meta.geometry.chunk_shape.first()) else {
        return found;
    };
    meta.geometry.shape[0] = slab_rows.into();
    let per_slab = meta.geometry.clone().tile(typesize as usize).map_or(0, |tiling| tiling.chunk_count());
    let Some(slabs) = (found as u64).checked_div(per_slab) else { return found };
    let complete = slabs.saturating_mul(slab_rows.into());
    meta.geometry.shape[0] = if rows == 0 { complete } else { complete.min(rows) };
    // The length stays the same: a shape takes the same room whatever it is.
    let replaced = meta.to_bytes().is_ok_and(|content| head.metalayers.insert(ArrayMeta::NAME, content).is_ok());
    // Lossless: no more than were found.
    if replaced { (slabs * per_slab) as usize } else { found }
}
