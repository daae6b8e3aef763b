//! The index: where each chunk is.
//!
//! Source: contiguous frame format document, "chunk idx". The index is a chunk of little-endian 64-bit entries. A
//! non-negative entry is the offset of a chunk from the *end* of the header (in a sparse frame, the number in the name
//! of its file); a negative one stands for a chunk of which every item has a special value.

use super::error::ExpectedIndex;
use super::stored::{set_early, stored_chunk};
use super::{FrameError, FrameWriteError};
use crate::chunk::{
    ChunkContext, ChunkDecoder, ChunkEncoder, ChunkFormat, ChunkHeader, EncodeParams, SpecialKind, SplitMode,
};
use crate::limits::Limits;
use crate::registry::Registry;

/// Bytes of an entry.
pub(super) const ENTRY_LEN: usize = 8;

/// "offsets": the special values, in the top byte. C-Blosc2 tests single bits of them and writes nothing else.
const ZERO: u64 = 0x81 << 56;
const NAN: u64 = 0x82 << 56;
const UNINIT: u64 = 0x84 << 56;
const SPECIAL_BIT: u64 = 1 << 63;

/// Smallest room for an index: a chunk of one entry with the short header.
pub(super) const MIN_INDEX: u64 = (ChunkHeader::MIN_LEN + ENTRY_LEN) as u64;

/// How many times its compressed size an index may decode to, beyond [`FREE_EXPANSION`]. Blosc's run tokens reach a
/// few hundred, a general codec on thousands of equal entries some ten thousand.
const MAX_EXPANSION: u64 = 1 << 14;
/// An index that decodes to no more than this needs no justification.
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
///
/// A frame that C-Blosc2 filled with a special value has an index of 40 bytes for up to 2^28 equal entries. Those are
/// not expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Index {
    /// The same entry this many times.
    Uniform(u64, u64),
    /// One entry per chunk.
    Table(Vec<u64>),
}

impl Index {
    pub(super) const EMPTY: Self = Self::Table(Vec::new());

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Uniform(_, count) => *count,
            Self::Table(entries) => entries.len() as u64,
        }
    }

    pub(super) fn get(&self, i: u64) -> Option<u64> {
        match self {
            Self::Uniform(entry, count) => (i < *count).then_some(*entry),
            Self::Table(entries) => entries.get(usize::try_from(i).ok()?).copied(),
        }
    }

    /// The entries, for passes over all of them that need each different one only once.
    pub(super) fn distinct(&self) -> &[u64] {
        match self {
            Self::Uniform(entry, count) => {
                if *count == 0 {
                    &[]
                } else {
                    std::slice::from_ref(entry)
                }
            }
            Self::Table(entries) => entries,
        }
    }

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

    /// Decodes the index chunk at `offset`, whose header `check_header` has accepted and which is all there.
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
            return Ok(Self::Uniform(entry, count));
        }
        let decoded =
            decoder.decode(chunk, &ChunkContext::default()).map_err(|source| FrameError::Index { offset, source })?;
        let entries = decoded.chunks_exact(ENTRY_LEN).map(|entry| {
            let mut bytes = [0; ENTRY_LEN];
            bytes.copy_from_slice(entry);
            u64::from_le_bytes(bytes)
        });
        Ok(Self::Table(entries.collect()))
    }
}

/// Encodes entries into an index chunk, as C-Blosc2 does when the registry has BloscLZ and shuffle, else stored.
pub(super) fn encode(entries: &[u64], format: ChunkFormat, registry: &Registry) -> Result<Vec<u8>, FrameWriteError> {
    let bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
    // BloscLZ, level 5, 8-byte items, blocks of 16 KiB, shuffle, never split.
    let params = EncodeParams {
        typesize: ENTRY_LEN,
        block_size: Some(16 << 10),
        split: SplitMode::Never,
        format,
        ..EncodeParams::default()
    };
    if let Ok(mut encoder) = ChunkEncoder::new(&params, registry) {
        let chunk = encoder.encode(&bytes, &ChunkContext::default()).map_err(FrameWriteError::Index)?;
        // Entries that are all zero would become a chunk without a body, which C-Blosc2 does not read lazily.
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
