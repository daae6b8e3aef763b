//! Chunks that consist of one repeated value and store no blocks.

use super::header::{MAX_BLOCKSIZE, VERSION_BLOSC2, flag};
use super::plan::header_typesize;
use super::{ChunkError, ChunkHeader, SpecialKind};
use crate::pipeline::FilterSlots;

/// What fills a special chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Zero bytes.
    Zero,
    /// This item, repeated from the start of the chunk.
    Item(Vec<u8>),
}

impl Fill {
    /// Reads the fill of a chunk of `kind` from its first bytes. `Err` is the number of bytes needed.
    pub(crate) fn parse(kind: SpecialKind, header: &ChunkHeader, prefix: &[u8]) -> Result<Self, usize> {
        match kind {
            // What an uninitialised chunk decodes to is not defined by the format; zeros leak nothing.
            SpecialKind::Zero | SpecialKind::Uninit => Ok(Self::Zero),
            SpecialKind::Nan => Ok(Self::Item(match header.typesize {
                4 => 0x7FC0_0000_u32.to_le_bytes().to_vec(),
                _ => 0x7FF8_0000_0000_0000_u64.to_le_bytes().to_vec(),
            })),
            // The item is as long as the rest of the chunk: the type size says 1 if it is above 255.
            SpecialKind::Value => prefix
                .get(ChunkHeader::EXTENDED_LEN..header.cbytes)
                .map(|item| Self::Item(item.to_vec()))
                .ok_or(header.cbytes),
        }
    }

    /// The number of bytes after which the fill repeats.
    pub(crate) fn period(&self) -> usize {
        match self {
            Self::Zero => 1,
            Self::Item(item) => item.len().max(1),
        }
    }

    /// Fills `dst`, whose first byte is at `offset` in the decoded chunk.
    pub(crate) fn write(&self, offset: usize, dst: &mut [u8]) {
        let item = match self {
            Self::Zero => return dst.fill(0),
            Self::Item(item) => item,
        };
        if item.is_empty() {
            return dst.fill(0);
        }
        // The first copy starts inside the item if `offset` does. After that the filled part doubles.
        let phase = offset % item.len();
        let mut filled = dst.len().min(item.len());
        for (i, byte) in dst[..filled].iter_mut().enumerate() {
            *byte = item[(phase + i) % item.len()];
        }
        while filled < dst.len() {
            let more = filled.min(dst.len() - filled);
            let (done, rest) = dst.split_at_mut(filled);
            rest[..more].copy_from_slice(&done[..more]);
            filled += more;
        }
    }
}

/// The value of a special chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialValue<'a> {
    /// All bytes zero.
    Zero,
    /// All items a quiet NaN; the type size must be 4 or 8.
    Nan,
    /// All items equal to this one, whose length is the type size.
    Value(&'a [u8]),
    /// No particular bytes; they read as zeros here, and as whatever the memory held elsewhere.
    Uninit,
}

/// Makes a chunk of `nbytes` bytes of a single value: a header, followed by the value unless it is a common one.
///
/// `typesize` is the true size of an item; `blocksize` only tells readers how the chunk would have been split.
///
/// # Errors
/// [`ChunkError::Parameter`] when `nbytes` is no multiple of the item (zeros are exempt), a value has another length
/// than the type size or repeats zero times, or NaNs are asked for with a type size other than 4 or 8;
/// [`ChunkError::Limit`] when the chunk would be longer than the format allows.
pub fn special_chunk(
    value: SpecialValue<'_>,
    nbytes: usize,
    typesize: usize,
    blocksize: usize,
) -> Result<Vec<u8>, ChunkError> {
    let kind = match value {
        SpecialValue::Zero => SpecialKind::Zero,
        SpecialValue::Nan => SpecialKind::Nan,
        SpecialValue::Value(_) => SpecialKind::Value,
        SpecialValue::Uninit => SpecialKind::Uninit,
    };
    if nbytes > ChunkHeader::MAX_NBYTES {
        return Err(ChunkError::Limit { what: "special chunk", limit: ChunkHeader::MAX_NBYTES, found: nbytes });
    }
    if !(1..=MAX_BLOCKSIZE).contains(&typesize) {
        return Err(ChunkError::parameter("typesize", typesize, format!("1..={MAX_BLOCKSIZE}")));
    }
    if kind != SpecialKind::Zero && !nbytes.is_multiple_of(typesize) {
        return Err(ChunkError::parameter("nbytes", nbytes, format!("a multiple of the {typesize}-byte item")));
    }
    if kind == SpecialKind::Nan && !matches!(typesize, 4 | 8) {
        return Err(ChunkError::parameter("typesize", typesize, "4 or 8 for NaNs"));
    }
    let mut blocksize = blocksize.clamp(1, MAX_BLOCKSIZE.min(nbytes).max(1));
    let mut item: &[u8] = &[];
    if let SpecialValue::Value(value) = value {
        if value.len() != typesize {
            return Err(ChunkError::parameter("length of the value", value.len(), format!("{typesize} (typesize)")));
        }
        if nbytes == 0 {
            return Err(ChunkError::parameter("nbytes", nbytes, "at least one item"));
        }
        // C-Blosc2 fills block by block and wants whole items in each.
        blocksize = (blocksize - blocksize % typesize).max(typesize);
        item = value;
    }
    let header = ChunkHeader {
        version: VERSION_BLOSC2,
        codec_version: 1,
        flags: flag::EXTENDED,
        typesize: header_typesize(typesize),
        nbytes,
        blocksize,
        cbytes: ChunkHeader::EXTENDED_LEN + item.len(),
        filters: FilterSlots::NONE,
        udcodec: 0,
        codec_meta: 0,
        blosc2_flags2: 0,
        blosc2_flags: kind.bits(),
    };
    let mut out = header.to_checked_bytes()?;
    out.extend_from_slice(item);
    Ok(out)
}
