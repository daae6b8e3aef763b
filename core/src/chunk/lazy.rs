//! Lazy chunks: a chunk of a frame without its blocks.
//!
//! Source: chunk format document, lazy chunks. After the header, with bit 3 of `blosc2_flags` set, and the block starts
//! come `i32` number of the chunk, `i64` offset of the chunk in the frame and one `i32` length per block. It exists in
//! memory only; C-Blosc2 writes it in the byte order of the host, here it is little-endian.

use std::ops::Range;

use super::header::flag2;
use super::map::{BlockMapBody, WORD};
use super::{BlockMap, ChunkError, ChunkHeader};

/// A chunk without its blocks: header, where the blocks lie in the chunk, and where the chunk lies in its frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LazyChunk {
    header: ChunkHeader,
    number: u32,
    offset: u64,
    spans: Vec<(u32, u32)>,
}

/// Bytes of the number and the offset.
const PLACE_LEN: usize = 4 + 8;

impl LazyChunk {
    /// The lazy form of the chunk that `map` describes: chunk `number` of its frame, `offset` bytes after the frame's
    /// start. (In a sparse frame both are the number of the chunk's file.)
    ///
    /// `None` for the chunks that have no lazy form: special ones, which are as small as they can be, and those with
    /// the 16-byte header of Blosc 1. Numbers above `i32::MAX` and offsets above `i64::MAX` have none either.
    pub fn new(map: &BlockMap, number: u32, offset: u64) -> Option<Self> {
        let mut header = map.header().clone();
        let spans = match map.body() {
            BlockMapBody::Special(_) => return None,
            BlockMapBody::Blocks { spans, .. } => spans.clone(),
            // Spans of a chunk lie below its length, which fits 31 bits.
            BlockMapBody::Stored => (0..map.block_count())
                .map(|block| map.span(block))
                .map(|span| (span.start as u32, span.end as u32))
                .collect(),
        };
        if !header.is_extended() || i32::try_from(number).is_err() || i64::try_from(offset).is_err() {
            return None;
        }
        header.blosc2_flags |= flag2::LAZY;
        Some(Self { header, number, offset, spans })
    }

    /// Parses the lazy form.
    ///
    /// # Errors
    /// [`ChunkError::Invalid`] when the flag is not set or a number is out of its bounds, [`ChunkError::Truncated`]
    /// when the trailer is not whole.
    pub fn parse(bytes: &[u8]) -> Result<Self, ChunkError> {
        let header = ChunkHeader::parse(bytes)?;
        if !header.is_lazy() || header.special().is_some() {
            let expected = "bit 3 set, bits 4..=6 clear in a lazy chunk";
            return Err(ChunkError::invalid("blosc2_flags", 31, expected, header.blosc2_flags));
        }
        // Stored chunks reserve room for block starts that they do not have.
        let count = header.block_count();
        let starts = ChunkHeader::EXTENDED_LEN;
        let trailer = starts.saturating_add(count.saturating_mul(WORD));
        let needed = count.saturating_mul(WORD).saturating_add(PLACE_LEN);
        let Some(trailer_bytes) = bytes.get(trailer..).filter(|bytes| bytes.len() >= needed) else {
            let found = bytes.len().saturating_sub(trailer);
            return Err(ChunkError::Truncated {
                what: "trailer of the lazy chunk",
                offset: trailer,
                expected: needed,
                found,
            });
        };
        let (number, rest) = word(trailer_bytes);
        let number =
            u32::try_from(number).map_err(|_| ChunkError::invalid("chunk number", trailer, "0 or more", number))?;
        let (offset, lens) = rest.split_first_chunk().map_or((0, rest), |(b, rest)| (i64::from_le_bytes(*b), rest));
        let offset = u64::try_from(offset)
            .map_err(|_| ChunkError::invalid("offset of the chunk", trailer + WORD, "0 or more", offset))?;
        let mut spans = Vec::with_capacity(count);
        for block in 0..count {
            let (found, _) = word(&lens[block * WORD..]);
            let at = starts + block * WORD;
            let (stored_start, _) = word(&bytes[at..]);
            let start = match header.is_stored() {
                true => Ok(starts + block * header.blocksize),
                false => usize::try_from(stored_start),
            };
            let start = start.ok().filter(|&start| start >= starts && start < header.cbytes).ok_or_else(|| {
                ChunkError::invalid("block start", at, format!("{starts}..{}", header.cbytes), stored_start)
            })?;
            let most = header.cbytes - start;
            let least = if header.has_vl_blocks() { WORD + 1 } else { 1 };
            let len = usize::try_from(found).ok().filter(|len| (least..=most).contains(len)).ok_or_else(|| {
                let at = trailer + PLACE_LEN + block * WORD;
                ChunkError::invalid("length of a block", at, format!("{least}..={most}"), found)
            })?;
            // Both are at most `cbytes`, which fits 31 bits.
            spans.push((start as u32, (start + len) as u32));
        }
        Ok(Self { header, number, offset, spans })
    }

    /// The bytes of the lazy form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(ChunkHeader::EXTENDED_LEN + PLACE_LEN + 2 * WORD * self.spans.len());
        self.header.write_to(&mut out);
        out.extend(self.spans.iter().flat_map(|(start, _)| start.to_le_bytes()));
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend(self.spans.iter().flat_map(|(start, end)| (end - start).to_le_bytes()));
        out
    }

    /// The header, with the lazy flag set; [`ChunkHeader::cbytes`] is that of the chunk in the frame.
    pub fn header(&self) -> &ChunkHeader {
        &self.header
    }

    /// Number of the chunk in its frame; of its file in a sparse frame.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Where the chunk starts in its frame; the number of its file in a sparse frame.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Which bytes of the chunk hold `block`.
    pub fn span(&self, block: usize) -> Option<Range<usize>> {
        self.spans.get(block).map(|&(start, end)| start as usize..end as usize)
    }

    /// Where the dictionary lies in the chunk: the offset of its length word, which that many bytes follow. `None` if
    /// there is none.
    pub fn dict_offset(&self) -> Option<usize> {
        self.header.has_dict().then(|| self.header.block_starts_end())
    }

    /// The map for decoding the blocks of the chunk, once its dictionary has been fetched if it has one.
    ///
    /// # Errors
    /// [`ChunkError::Invalid`] when a dictionary is missing or not called for.
    pub fn into_map(self, dict: Option<Vec<u8>>) -> Result<BlockMap, ChunkError> {
        let Self { mut header, spans, .. } = self;
        header.blosc2_flags &= !flag2::LAZY;
        BlockMap::from_parts(header, spans, dict)
    }
}

/// The little-endian word at the start of `bytes`, whose length the caller has checked, and what follows it.
fn word(bytes: &[u8]) -> (i32, &[u8]) {
    bytes.split_first_chunk().map_or((0, bytes), |(word, rest)| (i32::from_le_bytes(*word), rest))
}
