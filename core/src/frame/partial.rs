//! What can be read of a frame without an end, because it is cut off or its writer died.

use std::ops::Range;

use bytes::Bytes;

use super::header::{ChunkSize, FrameHeader};
use super::index::{ChunkEntry, ENTRY_LEN, Index, is_special, special_of};
use super::trailer::{TRAILER_TAIL, Trailer};
use super::{FrameError, FrameLayout, Metalayers, Section, Sequential};
use crate::chunk::{ChunkContext, ChunkDecoder, ChunkHeader};
use crate::executor::Inline;
use crate::limits::Limits;
use crate::nd::ArrayMeta;
use crate::registry::Registry;

/// The head of a frame that may be incomplete: its header with the metalayers, whatever the lengths in it say.
#[derive(Debug, Clone)]
pub struct PartialHeader {
    /// The fixed part.
    pub header: FrameHeader,
    /// The metalayers.
    pub metalayers: Metalayers,
}

impl PartialHeader {
    /// At least the length of the fixed part in every layout.
    pub const FIXED_LEN: usize = super::header::FIXED_LEN;

    /// How many bytes of a frame its head takes, as far as `bytes`, its first ones, show. If there are fewer, more must
    /// be read, and passed in again. Never more than the head is asked for.
    ///
    /// # Errors
    /// When no header begins with these bytes.
    pub fn extent(bytes: &[u8]) -> Result<usize, FrameError> {
        let shortest = FrameLayout::Early.min_header_len();
        if bytes.len() < shortest {
            return Ok(shortest);
        }
        // Later headers are longer, and are told apart by later bytes.
        let later = FrameLayout::Beta.min_header_len();
        if FrameLayout::is_later(bytes[0]) && bytes.len() < later {
            return Ok(later);
        }
        let min = FrameLayout::detect(bytes)?.min_header_len();
        if bytes.len() < min {
            return Ok(min);
        }
        Ok(FrameHeader::parse_unfinished(bytes)?.header_len as usize)
    }

    /// Parses the head of a frame, all of which must be in `bytes`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &Bytes, limits: &Limits) -> Result<Self, FrameError> {
        let header = FrameHeader::parse_unfinished(bytes)?;
        let (len, min) = (u64::from(header.header_len), header.layout.min_header_len());
        let max = (bytes.len() as u64).min(limits.header_bytes as u64);
        if len > max || len < min as u64 {
            return Err(FrameError::HeaderLen { found: len as i64, min: min as u64, max });
        }
        // Lossless: no more than there are bytes.
        let bytes = bytes.slice(..len as usize);
        let metalayers = match bytes.len() == min {
            true => Metalayers::new(),
            false => Metalayers::parse_header(&bytes, min)?,
        };
        Ok(Self { header, metalayers })
    }

    /// Whether the frame is unfinished: no length has been written.
    pub fn is_unfinished(&self) -> bool {
        let FrameHeader { frame_len, nbytes, cbytes, .. } = self.header;
        (frame_len, nbytes, cbytes) == (0, 0, 0)
    }

    /// Where the index begins, from the start of the frame, according to the totals. (In an unfinished frame, which has
    /// none, this is the end of the header.)
    pub fn index_offset(&self) -> u64 {
        u64::from(self.header.header_len).saturating_add(self.header.cbytes)
    }

    /// The array metalayer in the trailer, of an array whose rows were counted where the header could not be written
    /// again. It replaces the one in the header, which has the same length.
    pub fn array_from_trailer(&self, vlmetalayers: &Metalayers, registry: &Registry) -> Option<ArrayMeta> {
        let (early, chunk) = (self.metalayers.get(ArrayMeta::NAME)?, vlmetalayers.get(ArrayMeta::NAME)?);
        let header = ChunkHeader::parse(chunk).ok().filter(|header| header.nbytes == early.len())?;
        let content = ChunkDecoder::new(registry).decode(chunk, &ChunkContext::default(), &Inline).ok()?;
        (content.len() == header.nbytes).then(|| ArrayMeta::parse(&content).ok()).flatten()
    }

    /// The header of this frame with the lengths and flags that are known at the end: the one of a sealed frame.
    pub fn sealed(&self, totals: Sequential, vl_blocks: bool, has_vlmetalayers: bool) -> Vec<u8> {
        let Sequential { frame_len, nbytes, cbytes } = totals;
        let mut header = FrameHeader { frame_len, nbytes, cbytes, vl_blocks, has_vlmetalayers, ..self.header.clone() };
        // As for any new frame: an empty one does not say its chunk size, unless it is an array.
        let is_array = self.metalayers.get(ArrayMeta::NAME).is_some();
        if nbytes == 0 && header.chunk_size != ChunkSize::Variable && !is_array {
            header.chunk_size = ChunkSize::Unset;
        }
        let mut metalayers = self.metalayers.clone();
        if metalayers.get(Sequential::NAME).is_some() {
            // It has the length of the one before.
            let _ = metalayers.insert(Sequential::NAME, totals.to_bytes());
        }
        let mut out = header.to_bytes();
        if header.layout.always_has_metalayers() || !metalayers.is_empty() {
            metalayers.write(Section::Header, 0, &mut out);
        }
        out
    }
}

/// Consecutive chunks with the same index entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRun {
    /// Their numbers.
    pub chunks: Range<u64>,
    /// The entry.
    pub entry: ChunkEntry,
}

/// How many entries a chunk with this header has if it is an index, and `None` if it cannot be one. Data can look like
/// an index too.
pub fn index_entry_count(chunk: &ChunkHeader) -> Option<u64> {
    let possible =
        usize::from(chunk.typesize) == ENTRY_LEN && chunk.nbytes > 0 && chunk.nbytes.is_multiple_of(ENTRY_LEN);
    possible.then_some((chunk.nbytes / ENTRY_LEN) as u64)
}

/// The entries of `chunk`, which lies at `at`, if it can be the index of a frame whose header has `header_len` bytes.
///
/// Chunks of 8-byte items can look like one: the caller has to check that the offsets are those of chunks.
pub fn index_entries(
    chunk: &[u8],
    at: u64,
    header_len: u64,
    registry: &Registry,
    limits: &Limits,
) -> Option<Vec<EntryRun>> {
    let header = ChunkHeader::parse(chunk).ok()?;
    let count = Index::check_header(&header, at, chunk.len() as u64, None, limits).ok()?;
    // Every entry belongs to a chunk or to the index alone, and frames filled with one value are never cut off.
    if count > limits.chunks.min(FREE_ENTRIES.max(at)) {
        return None;
    }
    let mut decoder = ChunkDecoder::new(registry).with_limits(Limits { chunk_bytes: header.nbytes, ..*limits });
    let index = Index::decode(chunk, &header, count, at, &mut decoder).ok()?;
    let run = |(chunks, entry): (Range<u64>, u64)| {
        let entry = match is_special(entry) {
            true => ChunkEntry::Special(special_of(entry)?),
            false => ChunkEntry::Stored { offset: entry.checked_add(header_len)? },
        };
        Some(EntryRun { chunks, entry })
    };
    index.runs().map(run).collect()
}

/// An index of up to this many entries is believed without the chunks to go with it.
const FREE_ENTRIES: u64 = 1 << 20;

/// The trailer at the start of `bytes`, and its length. Anything may follow it.
///
/// A trailer is normally found from its end, which holds its length. Finding it from its start is for frames that do
/// not end where the file does.
pub fn find_trailer(bytes: &Bytes) -> Option<(Trailer, u64)> {
    // "trailer": its length is a uint32, followed by a fixext16.
    const LEN_MARKER: u8 = 0xCE;
    const FINGERPRINT_MARKER: u8 = 0xD8;

    if !bytes.first().copied().is_some_and(Trailer::begins_with) {
        return None;
    }
    let ends = bytes.windows(6).enumerate().filter(|(_, w)| w[0] == LEN_MARKER && w[5] == FINGERPRINT_MARKER);
    ends.filter_map(|(at, w)| {
        let len = u32::from_be_bytes([w[1], w[2], w[3], w[4]]) as usize;
        let whole = len == at + TRAILER_TAIL && len <= bytes.len();
        let trailer =
            Trailer::parse(&bytes.slice(..len.min(bytes.len())), FrameLayout::Current).ok().filter(|_| whole)?;
        Some((trailer, len as u64))
    })
    .next()
}
