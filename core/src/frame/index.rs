//! The index: where each chunk is.
//!
//! Source: contiguous frame format document, "chunk idx". The index is a chunk of little-endian 64-bit entries. A
//! non-negative entry is the offset of a chunk from the *end* of the header (in a sparse frame, the number in the name
//! of its file); a negative one stands for a chunk whose items all have a special value.

use std::collections::BTreeMap;
use std::ops::Range;

use super::error::ExpectedIndex;
use super::run_length::RunLengthVec;
use super::stored::{set_early, stored_chunk};
use super::{FrameError, FrameWriteError};
use crate::chunk::{
    ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, ChunkFormat, ChunkHeader, EncodeParams, SpecialKind,
    SpecialValue, SplitMode, special_chunk,
};
use crate::executor::Inline;
use crate::limits::Limits;
use crate::registry::Registry;

/// Bytes of an entry.
pub(super) const ENTRY_LEN: usize = 8;

/// "offsets": the special values, in the top byte. C-Blosc2 tests single bits of them, but writes only these.
const ZERO: u64 = 0x81 << 56;
const NAN: u64 = 0x82 << 56;
const UNINIT: u64 = 0x84 << 56;
const SPECIAL_BIT: u64 = 1 << 63;

/// Smallest room for an index: a chunk of one entry with the short header.
pub(super) const MIN_INDEX: u64 = (ChunkHeader::MIN_LEN + ENTRY_LEN) as u64;

/// The largest ratio of the decoded to the compressed size of an index, beyond [`FREE_EXPANSION`]. Blosc's run tokens
/// reach a few hundred, a general codec on thousands of equal entries some ten thousand.
const MAX_EXPANSION: u64 = 1 << 14;
/// An index of up to this decoded size may have any ratio.
const FREE_EXPANSION: u64 = 1 << 20;

/// What the index says about a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkEntry {
    /// It is in the chunks section of a contiguous frame.
    Stored {
        /// Offset of its first byte from the start of the frame.
        offset: u64,
    },
    /// It is in a file of its own.
    File {
        /// The number in the name of the file.
        id: u32,
    },
    /// It is not stored: every item has the special value.
    Special(SpecialKind),
}

/// The special value that a negative entry stands for.
pub(super) fn special_of(entry: u64) -> Option<SpecialKind> {
    match entry {
        ZERO => Some(SpecialKind::Zero),
        NAN => Some(SpecialKind::Nan),
        UNINIT => Some(SpecialKind::Uninit),
        _ => None,
    }
}

/// The negative entry for a special value; `None` for a repeated value, which has to be stored.
pub(super) const fn special_entry(kind: SpecialKind) -> Option<u64> {
    match kind {
        SpecialKind::Zero => Some(ZERO),
        SpecialKind::Nan => Some(NAN),
        SpecialKind::Uninit => Some(UNINIT),
        SpecialKind::Value => None,
    }
}

/// Whether an entry is a special value (of a known kind or not) and not an offset.
pub(super) const fn is_special(entry: u64) -> bool {
    entry & SPECIAL_BIT != 0
}

/// The entries of an index.
pub(super) type Index = RunLengthVec<u64>;

impl Index {
    /// Checks the header of the index chunk at `offset` and returns how many entries it has.
    ///
    /// `expected` is the number of chunks, when the header of the frame tells it.
    pub(super) fn check_header(
        header: &ChunkHeader,
        offset: u64,
        room: u64,
        expected: Option<u64>,
        limits: &Limits,
    ) -> Result<u64, FrameError> {
        let kind = |reason| FrameError::IndexKind { offset, reason };
        if header.has_vl_blocks() {
            return Err(kind("its blocks have variable length"));
        }
        if usize::from(header.typesize) != ENTRY_LEN {
            return Err(kind("its items have another size"));
        }
        let (cbytes, nbytes) = (header.cbytes as u64, header.nbytes as u64);
        if cbytes > room {
            return Err(FrameError::IndexLen { offset, found: cbytes, room });
        }
        let (count, rest) = (nbytes / ENTRY_LEN as u64, nbytes % ENTRY_LEN as u64);
        match expected {
            Some(n) if rest != 0 || n != count => {
                let expected = ExpectedIndex::Exactly(n.saturating_mul(ENTRY_LEN as u64));
                return Err(FrameError::IndexCount { offset, found: nbytes, expected });
            }
            None if rest != 0 || count == 0 => {
                return Err(FrameError::IndexCount { offset, found: nbytes, expected: ExpectedIndex::MultipleOfEight });
            }
            _ => {}
        }
        if count > limits.chunks {
            return Err(FrameError::TooManyChunks { found: count, limit: limits.chunks });
        }
        let justified = cbytes.saturating_mul(MAX_EXPANSION).max(FREE_EXPANSION);
        if header.special().is_none() && nbytes > justified {
            return Err(FrameError::IndexExpansion { offset, cbytes, nbytes });
        }
        Ok(count)
    }

    /// Decodes the complete index chunk at `offset`, whose header `check_header` has accepted.
    pub(super) fn decode(
        chunk: &[u8],
        header: &ChunkHeader,
        count: u64,
        offset: u64,
        decoder: &mut ChunkDecoder,
    ) -> Result<Self, FrameError> {
        let uniform = match header.special() {
            None => None,
            Some(SpecialKind::Zero | SpecialKind::Uninit) => Some(0),
            Some(SpecialKind::Value) => {
                let value = chunk.get(ChunkHeader::EXTENDED_LEN..).and_then(|v| v.first_chunk::<ENTRY_LEN>());
                match value {
                    Some(value) if header.cbytes == ChunkHeader::EXTENDED_LEN + ENTRY_LEN => {
                        Some(u64::from_le_bytes(*value))
                    }
                    _ => return Err(FrameError::IndexKind { offset, reason: "its repeated value is no entry" }),
                }
            }
            Some(SpecialKind::Nan) => return Err(FrameError::IndexKind { offset, reason: "its entries are NaN" }),
        };
        if let Some(entry) = uniform {
            return Ok(Self::uniform(entry, count));
        }
        let mut entries = Self::EMPTY;
        // The last entry, and how often it has been repeated.
        let (mut last, mut times) = (0, 0);
        // Entries may cross the boundaries of blocks.
        let mut cut = Vec::new();
        let mut push = |entry: u64| {
            if entry == last {
                times += 1;
                return Ok(());
            }
            // Grow by doubling: what has not been decoded yet may turn out to be damaged.
            let more = times.max(entries.len().min(count - entries.len()));
            let needed = chunk_bytes(entries.len() + more);
            if !entries.has_room(times) {
                entries.try_reserve(more).map_err(|_| ChunkError::Memory { what: "index", needed })?;
            }
            entries.push_run(last, times);
            (last, times) = (entry, 1);
            Ok::<_, ChunkError>(())
        };
        decoder
            .decode_pieces(chunk, &ChunkContext::default(), |mut piece| {
                if !cut.is_empty() {
                    let (rest, behind) = piece.split_at(piece.len().min(ENTRY_LEN - cut.len()));
                    cut.extend_from_slice(rest);
                    piece = behind;
                    if let Some(entry) = cut.first_chunk() {
                        push(u64::from_le_bytes(*entry))?;
                        cut.clear();
                    }
                }
                let (whole, rest) = piece.as_chunks::<ENTRY_LEN>();
                whole.iter().try_for_each(|entry| push(u64::from_le_bytes(*entry)))?;
                cut.extend_from_slice(rest);
                Ok(())
            })
            .map_err(|source| FrameError::Index { offset, source })?;
        entries.push_run(last, times);
        Ok(entries.for_reading())
    }
}

/// Bytes of this many entries, which fit in memory.
fn chunk_bytes(entries: u64) -> usize {
    usize::try_from(entries).unwrap_or(usize::MAX).saturating_mul(ENTRY_LEN)
}

/// Longer indexes are encoded run by run if they consist of runs.
const LONG: u64 = 1 << 17;

/// Encodes entries into an index chunk: as C-Blosc2 does if the registry has BloscLZ and shuffle, and stored otherwise.
///
/// A long index of equal entries becomes a repeated value, as in a frame that C-Blosc2 has filled: it would take
/// gigabytes of memory otherwise.
pub(super) fn encode(entries: &Index, format: ChunkFormat, registry: &Registry) -> Result<Vec<u8>, FrameWriteError> {
    let long = entries.len() > LONG && format == ChunkFormat::Blosc2 && matches!(entries, Index::Runs(_));
    if let Some(entry) = entries.get(0).filter(|_| long && entries.run_end(0) == entries.len()) {
        let nbytes = chunk_bytes(entries.len());
        let value = entry.to_le_bytes();
        return special_chunk(SpecialValue::Value(&value), nbytes, ENTRY_LEN, nbytes).map_err(FrameWriteError::Index);
    }
    // BloscLZ, level 5, 8-byte items, blocks of 16 KiB, shuffle, never split.
    let params = EncodeParams {
        typesize: ENTRY_LEN,
        block_size: Some(16 << 10),
        split: SplitMode::Never,
        format,
        ..EncodeParams::default()
    };
    let encoder = ChunkEncoder::new(&params, registry);
    if let (Ok(encoder), true) = (encoder, long) {
        return encode_runs(entries, encoder);
    }
    let bytes: Vec<u8> = entries.iter().flat_map(u64::to_le_bytes).collect();
    if let Ok(mut encoder) = ChunkEncoder::new(&params, registry) {
        let chunk = encoder.encode(&bytes, &ChunkContext::default(), &Inline).map_err(FrameWriteError::Index)?;
        // All-zero entries would become a chunk without a body, which C-Blosc2 cannot read lazily.
        if ChunkHeader::parse(&chunk).map_err(FrameWriteError::Index)?.special().is_none() {
            return Ok(chunk);
        }
    }
    let mut chunk = stored_chunk(&bytes, ENTRY_LEN).map_err(FrameWriteError::Index)?;
    if format == ChunkFormat::Early {
        set_early(&mut chunk);
    }
    Ok(chunk)
}

/// Encodes entries with long runs of equal ones: a block that consists of one repeated entry is in memory only once.
fn encode_runs(entries: &Index, mut encoder: ChunkEncoder) -> Result<Vec<u8>, FrameWriteError> {
    let nbytes = chunk_bytes(entries.len());
    let block_bytes = encoder.block_size_of(nbytes).map_err(FrameWriteError::Index)?;
    // Blocks of 16 KiB are whole numbers of entries.
    let per_block = (block_bytes / ENTRY_LEN).max(1) as u64;
    /// A block of one repeated entry, or of several, at some offset of the joined bytes.
    enum Block {
        Of(u64, u64),
        Mixed(Range<usize>),
    }
    let (mut blocks, mut mixed, mut at) = (Vec::new(), Vec::new(), 0);
    while at < entries.len() {
        let end = (at + per_block).min(entries.len());
        match entries.get(at) {
            Some(entry) if entries.run_end(at) >= end => blocks.push(Block::Of(entry, end - at)),
            _ => {
                let first = mixed.len();
                let mut next = at;
                while let Some(entry) = entries.get(next).filter(|_| next < end) {
                    let to = entries.run_end(next).min(end);
                    (next..to).for_each(|_| mixed.extend_from_slice(&entry.to_le_bytes()));
                    next = to;
                }
                blocks.push(Block::Mixed(first..mixed.len()));
            }
        }
        at = end;
    }
    let mut uniform = BTreeMap::new();
    for block in &blocks {
        if let Block::Of(entry, _) = block {
            uniform.entry(*entry).or_insert_with(|| entry.to_le_bytes().repeat(per_block as usize));
        }
    }
    let bytes = blocks.iter().map(|block| match block {
        Block::Of(entry, count) => &uniform[entry][..ENTRY_LEN * *count as usize],
        Block::Mixed(range) => &mixed[range.clone()],
    });
    encoder.encode_cut(&bytes.collect::<Vec<_>>(), &ChunkContext::default()).map_err(FrameWriteError::Index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `encode` makes of entries that are not known to be runs.
    fn flat(entries: &Index) -> Vec<u8> {
        let dense = Index::Dense(entries.iter().collect());
        encode(&dense, ChunkFormat::Blosc2, &Registry::empty()).unwrap()
    }

    #[test]
    fn an_index_comes_back_whatever_it_is_kept_as() {
        let mut runs = Index::uniform(ZERO, LONG + 3);
        runs.push(4096);
        runs.push_run(NAN, 5000);
        runs.insert(100_000, 32);
        for entries in [Index::uniform(0, LONG + 1), Index::uniform(ZERO, 9), runs, (0..9000).collect()] {
            let chunk = encode(&entries, ChunkFormat::Blosc2, &Registry::empty()).unwrap();
            let header = ChunkHeader::parse(&chunk).unwrap();
            let limits = Limits::default();
            let count = Index::check_header(&header, 0, chunk.len() as u64, None, &limits).unwrap();
            let mut decoder = ChunkDecoder::new(&Registry::empty());
            let found = Index::decode(&chunk, &header, count, 0, &mut decoder).unwrap();
            assert!(found.iter().eq(entries.iter()));
            if header.special().is_none() {
                assert!(chunk == flat(&entries));
            }
        }
    }
}
