//! An open frame.

use std::ops::Range;

use bytes::Bytes;

use super::header::{ChunkSize, FrameHeader, FrameType};
use super::index::{ChunkEntry, Index, is_special, special_of};
use super::layout::BitshuffleAge;
use super::stored::special_chunk;
use super::{ChecksumState, Fingerprint, FrameError, FrameLayout, Metalayers, Trailer, chunk_checksum};
use crate::chunk::{ChunkContext, ChunkDecoder, ChunkHeader, SpecialKind};
use crate::executor::Inline;
use crate::limits::Limits;

/// The least room that C-Blosc2 expects for a chunk at any offset.
const MIN_ROOM: u64 = ChunkHeader::EXTENDED_LEN as u64;
/// How much longer than its decoded bytes a chunk is assumed to be at most. Stored chunks are 32 bytes longer; chunks
/// that were not allowed to be stored can exceed this, and their header then says so.
const USUAL_OVERHEAD: u64 = 4 << 10;

/// An open frame: everything but the chunks themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    header: FrameHeader,
    header_bytes: Bytes,
    metalayers: Metalayers,
    trailer: Trailer,
    index: Index,
    /// The offsets in increasing order, each once; `None` if the index is already in that order.
    sorted: Option<Vec<u64>>,
    /// Whether some chunks lie at the same offset, or in the same file.
    shared: bool,
    checksums: ChecksumState,
    limits: Limits,
}

impl Frame {
    pub(super) fn new(
        mut header: FrameHeader,
        header_bytes: Bytes,
        metalayers: Metalayers,
        trailer: Trailer,
        index: Index,
        checksums: ChecksumState,
        limits: Limits,
    ) -> Result<Self, FrameError> {
        // Early frames stored 0 for some frames of fixed chunks, and all of them take the count from the index.
        if let ChunkSize::Fixed(n) = header.chunk_size
            && header.nbytes.div_ceil(n.into()) != index.len()
        {
            header.chunk_size = ChunkSize::Variable;
        }
        check_entries(&header, &index)?;
        let (sorted, shared) = sorted_offsets(&index);
        Ok(Self { header, header_bytes, metalayers, trailer, index, sorted, shared, checksums, limits })
    }

    /// The fixed part of the header.
    pub fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// The header as it is in the file, with the metalayers.
    pub fn header_bytes(&self) -> &Bytes {
        &self.header_bytes
    }

    /// The metalayers of the header.
    pub fn metalayers(&self) -> &Metalayers {
        &self.metalayers
    }

    /// The trailer; empty for early frames.
    pub fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// The fingerprint in the trailer.
    pub fn fingerprint(&self) -> Fingerprint {
        self.trailer.fingerprint
    }

    /// The checksums of the chunks, and whether they are to be trusted.
    pub fn checksums(&self) -> &ChecksumState {
        &self.checksums
    }

    /// Compares the bytes of chunk `i` as stored with their checksum, if there is a valid one.
    ///
    /// # Errors
    /// [`FrameError::ChunkChecksum`] when they differ.
    pub fn check_chunk_bytes(&self, i: u64, chunk: &[u8]) -> Result<(), FrameError> {
        // Compute nothing if there is nothing to compare it with.
        if self.checksums.valid().is_none() { Ok(()) } else { self.check_chunk_sum(i, chunk_checksum(chunk)) }
    }

    /// As [`check_chunk_bytes`](Self::check_chunk_bytes), given the [checksum](chunk_checksum) of the bytes.
    ///
    /// # Errors
    /// [`FrameError::ChunkChecksum`] if they differ.
    pub fn check_chunk_sum(&self, i: u64, found: u64) -> Result<(), FrameError> {
        let Some(expected) = self.checksums.valid().and_then(|checksums| checksums.chunk(i)) else { return Ok(()) };
        // Chunks that are in the index alone have no bytes to check.
        let offset = match self.entry(i)? {
            ChunkEntry::Special(_) => return Ok(()),
            ChunkEntry::Stored { offset } => Some(offset),
            ChunkEntry::File { .. } => None,
        };
        if found == expected { Ok(()) } else { Err(FrameError::ChunkChecksum { chunk: i, offset, expected, found }) }
    }

    /// Number of chunks.
    pub fn nchunks(&self) -> u64 {
        self.index.len()
    }

    /// Decoded bytes of all chunks.
    pub fn nbytes(&self) -> u64 {
        self.header.nbytes
    }

    /// Bytes of the frame.
    pub fn frame_len(&self) -> u64 {
        self.header.frame_len
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        self.header.typesize as usize
    }

    /// Decoded bytes of every chunk but the last; `None` when chunks differ in size, or the frame is empty.
    pub fn chunk_size(&self) -> Option<usize> {
        self.header.chunk_size.fixed()
    }

    /// Whether the chunks are in files of their own.
    pub fn is_sparse(&self) -> bool {
        self.header.frame_type == FrameType::Sparse
    }

    /// What the index says about chunk `i`.
    ///
    /// # Errors
    /// [`FrameError::NoSuchChunk`]; [`FrameError::SpecialEntry`], [`FrameError::NanTypesize`] or
    /// [`FrameError::SpecialInVariable`] when the entry is special but cannot be understood.
    pub fn entry(&self, i: u64) -> Result<ChunkEntry, FrameError> {
        let entry = self.index.get(i).ok_or(FrameError::NoSuchChunk { chunk: i, nchunks: self.nchunks() })?;
        if !is_special(entry) {
            return Ok(match self.header.frame_type {
                FrameType::Contiguous => ChunkEntry::Stored { offset: self.header_len() + entry },
                // Checked when the frame was opened.
                FrameType::Sparse => ChunkEntry::File { id: entry as u32 },
            });
        }
        let kind = special_of(entry).ok_or(FrameError::SpecialEntry { chunk: i, found: entry })?;
        if self.chunk_size().is_none() {
            return Err(FrameError::SpecialInVariable { chunk: i });
        }
        if kind == SpecialKind::Nan && !matches!(self.header.typesize, 4 | 8) {
            return Err(FrameError::NanTypesize { chunk: i, typesize: self.header.typesize });
        }
        Ok(ChunkEntry::Special(kind))
    }

    /// The chunks from `i` on that are known to be alike without looking at each of them: they have the same entry and,
    /// as far as the frame says, the same length. At least `i` itself; empty if there is no such chunk.
    ///
    /// A frame that was filled with one value has an index of a few bytes for millions of chunks. Code that visits all
    /// chunks has to look at each run only once.
    pub fn run_of(&self, i: u64) -> Range<u64> {
        let end = self.index.run_end(i).max(i);
        // The last chunk may be shorter.
        let last = end == self.nchunks() && end - i > 1 && self.chunk_len(end - 1) != self.chunk_len(i);
        i..if last { end - 1 } else { end }
    }

    /// Whether some chunks share their bytes in the frame, or their file. No known writer makes such frames.
    pub fn shares_chunks(&self) -> bool {
        self.shared
    }

    /// Decoded bytes of chunk `i`; `None` if only the chunk itself says, or there is no such chunk.
    pub fn chunk_len(&self, i: u64) -> Option<usize> {
        let chunk_size = self.chunk_size()?;
        match self.nchunks().checked_sub(i)? {
            0 => None,
            1 => usize::try_from(self.header.nbytes - i * chunk_size as u64).ok(),
            _ => Some(chunk_size),
        }
    }

    /// Where chunk `i` of a contiguous frame is, in bytes from the start of the frame: a range that contains all of it,
    /// and not much more. `None` if it is not stored here.
    ///
    /// The range ends at the next chunk, or where a chunk of that decoded length must have ended. Only a chunk whose
    /// writer was not allowed to store incompressible data can be longer than that; compare with
    /// [`exact_span`](Self::exact_span).
    ///
    /// # Errors
    /// Those of [`entry`](Self::entry).
    pub fn span(&self, i: u64) -> Result<Option<Range<u64>>, FrameError> {
        let ChunkEntry::Stored { offset } = self.entry(i)? else { return Ok(None) };
        let end = self.next_offset(i, offset);
        let end = match self.chunk_len(i) {
            Some(len) => end.min(offset + len as u64 + len as u64 / 8 + USUAL_OVERHEAD),
            None => end,
        };
        Ok(Some(offset..end))
    }

    /// Where chunk `i` of a contiguous frame is, given its header.
    ///
    /// # Errors
    /// Those of [`check_chunk`](Self::check_chunk).
    pub fn exact_span(&self, i: u64, chunk: &ChunkHeader) -> Result<Option<Range<u64>>, FrameError> {
        self.check_chunk(i, chunk)?;
        let ChunkEntry::Stored { offset } = self.entry(i)? else { return Ok(None) };
        Ok(Some(offset..offset + chunk.cbytes as u64))
    }

    /// Checks the header of chunk `i` against what the frame says about it.
    ///
    /// # Errors
    /// [`FrameError::ChunkLen`] when it decodes to another length; [`FrameError::ChunkBounds`] or
    /// [`FrameError::ChunkTooSmall`] when a contiguous frame has no room for it there.
    pub fn check_chunk(&self, i: u64, chunk: &ChunkHeader) -> Result<(), FrameError> {
        if let Some(expected) = self.chunk_len(i)
            && chunk.nbytes != expected
        {
            let (expected, found) = (expected as u64, chunk.nbytes as u64);
            return Err(FrameError::ChunkLen { chunk: i, expected, found });
        }
        let ChunkEntry::Stored { offset } = self.entry(i)? else { return Ok(()) };
        let (found, room) = (chunk.cbytes as u64, self.chunks_end() - offset);
        if found > room {
            return Err(FrameError::ChunkBounds { chunk: i, offset, found, room });
        }
        if self.header.layout == FrameLayout::Current && found < MIN_ROOM {
            return Err(FrameError::ChunkTooSmall { chunk: i, offset, found, min: MIN_ROOM });
        }
        Ok(())
    }

    /// Checks the header of chunk `i` of a sparse frame against the frame and the length of its file. More bytes may
    /// follow the chunk.
    ///
    /// # Errors
    /// Those of [`check_chunk`](Self::check_chunk); [`FrameError::ChunkFile`] when the file is too short.
    pub fn check_chunk_file(&self, i: u64, chunk: &ChunkHeader, file_len: u64) -> Result<(), FrameError> {
        self.check_chunk(i, chunk)?;
        let expected = chunk.cbytes as u64;
        if file_len < expected {
            return Err(FrameError::ChunkFile { chunk: i, expected, found: file_len });
        }
        Ok(())
    }

    /// The chunk that an index entry of a special value stands for, as a chunk of its own: 32 bytes that any decoder
    /// understands. `None` when chunk `i` is stored.
    ///
    /// # Errors
    /// Those of [`entry`](Self::entry).
    pub fn special_chunk(&self, i: u64) -> Result<Option<Vec<u8>>, FrameError> {
        let ChunkEntry::Special(kind) = self.entry(i)? else { return Ok(None) };
        // `entry` has refused frames whose chunks have no common size.
        let nbytes = self.chunk_len(i).unwrap_or_default();
        let chunk = special_chunk(kind, nbytes, self.typesize(), self.header.block_size as usize);
        chunk.map(Some).ok_or(FrameError::SpecialLen {
            chunk: i,
            nbytes: nbytes as u64,
            typesize: self.header.typesize,
        })
    }

    /// The context for decoding chunk `i`.
    pub fn chunk_context(&self, i: u64) -> ChunkContext<'static> {
        ChunkContext {
            number: Some(i),
            item_size: Some(self.typesize()),
            bitshuffle: self.bitshuffle_age().rule(),
            ..ChunkContext::default()
        }
    }

    /// Which bit-shuffle rule the writer of the frame followed.
    pub fn bitshuffle_age(&self) -> BitshuffleAge {
        match self.header.layout {
            FrameLayout::Current => BitshuffleAge::ByChunk,
            FrameLayout::Early => BitshuffleAge::Before,
            // Beta 2 wrote 0x0D where 0x94 belongs, which beta 3 fixed. The rule changed between beta 4 and beta 5. The
            // frames of 2021 have version 2.
            FrameLayout::Beta if self.trailer.marker == 0x0D => BitshuffleAge::Before,
            FrameLayout::Beta if self.header.version == 1 => BitshuffleAge::Ambiguous,
            FrameLayout::Beta => BitshuffleAge::ByChunk,
        }
    }

    /// Whether every chunk is stored and lies after the previous one. There may be holes between them.
    pub fn is_in_order(&self) -> bool {
        self.sorted.is_none()
    }

    /// Where the chunks section ends and the index starts, in bytes from the start of the frame.
    pub fn chunks_end(&self) -> u64 {
        self.header_len() + if self.is_sparse() { 0 } else { self.header.cbytes }
    }

    /// The decoded content of a variable-length metalayer (python-blosc2 stores msgpack); `None` when there is none
    /// with that name.
    ///
    /// # Errors
    /// [`FrameError::Vlmetalayer`] and its neighbours when its chunk is damaged or decodes to more than the limit.
    pub fn vlmetalayer(&self, name: &str, decoder: &mut ChunkDecoder) -> Result<Option<Vec<u8>>, FrameError> {
        self.trailer.vlmetalayers.get(name).map(|chunk| self.decode_named(name, chunk, decoder)).transpose()
    }

    /// The decoded user metadata of a beta frame.
    ///
    /// # Errors
    /// As [`vlmetalayer`](Self::vlmetalayer).
    pub fn user_metadata(&self, decoder: &mut ChunkDecoder) -> Result<Option<Vec<u8>>, FrameError> {
        let chunk = self.trailer.user_metadata.as_ref();
        chunk.map(|chunk| self.decode_named("user metadata", chunk, decoder)).transpose()
    }

    /// Checks that the variable-length metalayer of this name, if there is one, can be [read](Self::vlmetalayer),
    /// without the memory for its content.
    ///
    /// # Errors
    /// As [`vlmetalayer`](Self::vlmetalayer).
    pub fn check_vlmetalayer(&self, name: &str, decoder: &mut ChunkDecoder) -> Result<(), FrameError> {
        self.trailer.vlmetalayers.get(name).map_or(Ok(()), |chunk| self.check_content(name, chunk, decoder))
    }

    /// Checks that the user metadata of a beta frame, if there is any, can be [read](Self::user_metadata).
    ///
    /// # Errors
    /// As [`vlmetalayer`](Self::vlmetalayer).
    pub fn check_user_metadata(&self, decoder: &mut ChunkDecoder) -> Result<(), FrameError> {
        self.trailer.user_metadata.as_ref().map_or(Ok(()), |chunk| self.check_content("user metadata", chunk, decoder))
    }

    fn check_content(&self, name: &str, chunk: &[u8], decoder: &mut ChunkDecoder) -> Result<(), FrameError> {
        self.check_named(name, chunk)?;
        let result = decoder.check(chunk, &ChunkContext::default(), &Inline);
        result.map(drop).map_err(|source| FrameError::Vlmetalayer { name: name.to_owned(), source })
    }

    fn decode_named(&self, name: &str, chunk: &[u8], decoder: &mut ChunkDecoder) -> Result<Vec<u8>, FrameError> {
        self.check_named(name, chunk)?;
        let result = decoder.decode(chunk, &ChunkContext::default(), &Inline);
        result.map_err(|source| FrameError::Vlmetalayer { name: name.to_owned(), source })
    }

    /// Checks that the chunk of a metalayer has the length that it says, and decodes to no more than the limit.
    fn check_named(&self, name: &str, chunk: &[u8]) -> Result<(), FrameError> {
        let failed = |source| FrameError::Vlmetalayer { name: name.to_owned(), source };
        let header = ChunkHeader::parse(chunk).map_err(failed)?;
        let (expected, found) = (header.cbytes as u64, chunk.len() as u64);
        if expected != found {
            return Err(FrameError::VlmetalayerLen { name: name.to_owned(), expected, found });
        }
        if header.nbytes > self.limits.metalayer_bytes {
            let (found, limit) = (header.nbytes as u64, self.limits.metalayer_bytes as u64);
            return Err(FrameError::VlmetalayerLimit { name: name.to_owned(), found, limit });
        }
        Ok(())
    }

    pub(super) fn entries(&self) -> &Index {
        &self.index
    }

    /// The limits that the frame was opened with.
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    fn header_len(&self) -> u64 {
        self.header.header_len.into()
    }

    /// Where the next chunk after `offset` (of chunk `i`) starts, or the section ends.
    fn next_offset(&self, i: u64, offset: u64) -> u64 {
        let relative = offset - self.header_len();
        let next = match &self.sorted {
            Some(sorted) => sorted.get(sorted.partition_point(|&o| o <= relative)).copied(),
            None => self.index.get(i + 1),
        };
        next.map_or(self.chunks_end(), |next| self.header_len() + next)
    }
}

/// Checks that every offset leaves room for a chunk header. Entries of special values are checked when they are used,
/// so that an unknown one does not make all other chunks unreadable.
pub(super) fn check_entries(header: &FrameHeader, index: &Index) -> Result<(), FrameError> {
    let cbytes = header.cbytes;
    let min_room = if header.layout == FrameLayout::Current { MIN_ROOM } else { ChunkHeader::MIN_LEN as u64 };
    for (chunks, entry) in index.runs() {
        let chunk = chunks.start;
        match header.frame_type {
            _ if is_special(entry) => {}
            FrameType::Contiguous if cbytes.checked_sub(min_room).is_none_or(|last| entry > last) => {
                return Err(FrameError::ChunkOffset { chunk, offset: entry, cbytes });
            }
            FrameType::Sparse if entry > u64::from(u32::MAX) => return Err(FrameError::ChunkId { chunk, id: entry }),
            _ => {}
        }
    }
    Ok(())
}

/// The offsets in increasing order, each once, unless the index is already in that order; and whether some belong to
/// several chunks.
fn sorted_offsets(index: &Index) -> (Option<Vec<u64>>, bool) {
    let (mut ascending, mut stored, mut before) = (true, 0u64, None);
    for (chunks, entry) in index.runs() {
        ascending &= !is_special(entry) && chunks.end - chunks.start == 1 && before.is_none_or(|before| before < entry);
        stored += if is_special(entry) { 0 } else { chunks.end - chunks.start };
        before = Some(entry);
    }
    if ascending {
        return (None, false);
    }
    let mut sorted: Vec<u64> = index.runs().map(|(_, entry)| entry).filter(|&entry| !is_special(entry)).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = (sorted.len() as u64) < stored;
    (Some(sorted), shared)
}
