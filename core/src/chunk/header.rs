//! The chunk header, 16 bytes (Blosc 1) or 32 bytes (Blosc2).
//!
//! Source: header format document of Blosc 1 (bytes 0..=15) and chunk format document of Blosc2 (bytes 16..=31). All
//! integers are little-endian.

use super::ChunkError;
use crate::id::{CodecId, FilterId};
use crate::pipeline::{FilterSlot, FilterSlots, SLOTS};
use crate::plugin::PluginId;

/// A parsed and validated chunk header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkHeader {
    /// Format version, byte 0.
    pub version: u8,
    /// Version of the codec's payload format, byte 1.
    pub codec_version: u8,
    /// Flags, byte 2.
    pub flags: u8,
    /// Type size, byte 3; 1..=255.
    pub typesize: u8,
    /// Decoded bytes.
    pub nbytes: usize,
    /// Bytes of a block, at most `nbytes` unless that is 0; the number of blocks when the blocks are of variable
    /// length.
    pub blocksize: usize,
    /// Bytes of the whole chunk, header included.
    pub cbytes: usize,
    /// The filter pipeline.
    pub filters: FilterSlots,
    /// The `udcodec` byte (extended header only).
    pub udcodec: u8,
    /// The `compcode_meta` byte (extended header only).
    pub codec_meta: u8,
    /// Byte 30 (extended header only).
    pub blosc2_flags2: u8,
    /// Byte 31 (extended header only).
    pub blosc2_flags: u8,
}

/// The value that a chunk without blocks consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpecialKind {
    /// All bytes zero.
    Zero,
    /// All items a quiet NaN (4- and 8-byte items).
    Nan,
    /// All items equal to the value after the header.
    Value,
    /// Never written; decodes to zeros here.
    Uninit,
}

impl SpecialKind {
    /// Bits 4..=6 of `blosc2_flags`.
    pub(crate) const fn bits(self) -> u8 {
        match self {
            Self::Zero => 0x10,
            Self::Nan => 0x20,
            Self::Value => 0x30,
            Self::Uninit => 0x40,
        }
    }
}

/// Bits of byte 2.
pub(crate) mod flag {
    /// "Bit 0: whether shuffle has been applied or not" (16-byte header).
    pub(crate) const SHUFFLE: u8 = 0x01;
    /// "Bit 1: whether the internal buffer is a pure memcpy or not."
    pub(crate) const STORED: u8 = 0x02;
    /// "Bit 2: whether bitshuffle has been applied or not" (16-byte header).
    pub(crate) const BITSHUFFLE: u8 = 0x04;
    /// "Bit 3: whether a delta codec has been applied or not."
    pub(crate) const DELTA: u8 = 0x08;
    /// "Bit 4: do not split blocks in sub-blocks."
    pub(crate) const DONT_SPLIT: u8 = 0x10;
    /// "If both bits 0 and 2 are set the header is extended to 32 bytes"; filters are then in their slots alone.
    pub(crate) const EXTENDED: u8 = SHUFFLE | BITSHUFFLE;
    /// Bits 5..=7 hold the format code of the codec.
    pub(crate) const CODEC_SHIFT: u8 = 5;
}

/// Bits of byte 31, `blosc2_flags`.
pub(crate) mod flag2 {
    /// "Bit 0: whether the codec uses dictionaries or not."
    pub(crate) const DICT: u8 = 0x01;
    /// "Bit 3: whether the chunk is lazy or not."
    pub(crate) const LAZY: u8 = 0x08;
    /// "Bits 4, 5, 6: the special value."
    pub(crate) const SPECIAL: u8 = 0x70;
    /// Bit 7: the streams hold measurements (C-Blosc2, instrumented codec).
    pub(crate) const INSTRUMENTED: u8 = 0x80;
}

/// Bit 0 of byte 30: the blocks are of variable length (C-Blosc2 3.0). The others are reserved.
pub(crate) const VL_BLOCKS: u8 = 0x01;

/// Version of Blosc 1 chunks.
pub(crate) const VERSION_BLOSC1: u8 = 2;
/// Version 3 is the Blosc2 alpha, whose pipeline had five slots.
const VERSION_ALPHA: u8 = 3;
/// Version of the Blosc2 betas, of 2019 to 2021.
pub(crate) const VERSION_EARLY: u8 = 4;
/// Version of Blosc2 chunks.
pub(crate) const VERSION_BLOSC2: u8 = 5;
/// Version of chunks with variable-length blocks, and the last one known.
pub(crate) const VERSION_VL_BLOCKS: u8 = 6;

/// The largest block, and the largest repeated value, that C-Blosc2 reads.
pub(crate) const MAX_BLOCKSIZE: usize = 536_866_816;

impl ChunkHeader {
    /// Bytes of the header of Blosc 1, and the least that can be parsed.
    pub const MIN_LEN: usize = 16;
    /// Bytes of the extended header of Blosc2.
    pub const EXTENDED_LEN: usize = 32;
    /// The most bytes a chunk can hold: a stored one with its header must fit a 32-bit signed integer.
    pub const MAX_NBYTES: usize = i32::MAX as usize - Self::EXTENDED_LEN;

    /// Parses the header at the start of `bytes`, which must hold the whole header but not the whole chunk.
    ///
    /// A block size larger than the chunk is reduced to it, as C-Blosc2 does.
    ///
    /// # Errors
    /// [`ChunkError::Truncated`] when the header is not whole, [`ChunkError::Invalid`] for a field, or a combination
    /// of fields, that no reader could decode.
    pub fn parse(bytes: &[u8]) -> Result<Self, ChunkError> {
        let base: &[u8; Self::MIN_LEN] = bytes.first_chunk().ok_or_else(|| truncated(bytes, Self::MIN_LEN))?;
        let [version, codec_version, flags, typesize, ..] = *base;
        let mut header = Self {
            version,
            codec_version,
            flags,
            typesize,
            nbytes: size(base, 4, "nbytes", 0)?,
            blocksize: size(base, 8, "blocksize", 1)?,
            cbytes: size(base, 12, "cbytes", Self::MIN_LEN)?,
            filters: FilterSlots::NONE,
            udcodec: 0,
            codec_meta: 0,
            blosc2_flags2: 0,
            blosc2_flags: 0,
        };
        if header.blocksize > MAX_BLOCKSIZE {
            return Err(ChunkError::invalid("blocksize", 8, format!("at most {MAX_BLOCKSIZE}"), header.blocksize));
        }
        if typesize == 0 {
            return Err(ChunkError::invalid("typesize", 3, "1..=255", 0));
        }
        if header.is_extended() {
            header.parse_extension(bytes)?;
        } else {
            header.filters = filters_of_flags(flags);
        }
        header.check_body()?;
        if !header.has_vl_blocks() && header.nbytes > 0 {
            header.blocksize = header.blocksize.min(header.nbytes);
        }
        header.check_block_starts_fit()?;
        Ok(header)
    }

    fn parse_extension(&mut self, bytes: &[u8]) -> Result<(), ChunkError> {
        if self.cbytes < Self::EXTENDED_LEN {
            return Err(ChunkError::invalid("cbytes", 12, "at least 32 (extended header)", self.cbytes));
        }
        let all: &[u8; Self::EXTENDED_LEN] = bytes.first_chunk().ok_or_else(|| truncated(bytes, Self::EXTENDED_LEN))?;
        for slot in 0..SLOTS {
            self.filters.0[slot] = FilterSlot { id: FilterId(all[16 + slot]), meta: all[24 + slot] };
        }
        if self.version == VERSION_ALPHA {
            self.filters.0[SLOTS - 1] = FilterSlot::default();
        }
        self.udcodec = all[22];
        self.codec_meta = all[23];
        self.blosc2_flags2 = all[30];
        self.blosc2_flags = all[31];
        Ok(())
    }

    /// Checks that involve more than one field.
    fn check_body(&self) -> Result<(), ChunkError> {
        if self.version > VERSION_VL_BLOCKS && self.blosc2_flags2 & !VL_BLOCKS != 0 {
            let expected = format!("0 or 1 in a chunk of the unknown version {}", self.version);
            return Err(ChunkError::invalid("blosc2_flags2", 30, expected, self.blosc2_flags2));
        }
        let special_bits = self.blosc2_flags & flag2::SPECIAL;
        if special_bits > SpecialKind::Uninit.bits() {
            return Err(ChunkError::invalid("special value kind", 31, "0..=4", special_bits >> 4));
        }
        if self.is_stored() {
            // C-Blosc2 marks an empty chunk as both when it was asked for a dictionary.
            if (special_bits != 0 && self.nbytes > 0) || self.has_vl_blocks() {
                let expected = "clear in a chunk with a special value or variable-length blocks";
                return Err(ChunkError::invalid("stored flag", 2, expected, self.flags));
            }
            if self.cbytes != self.nbytes + self.header_len() {
                let expected = format!("{} (header and {} stored bytes)", self.nbytes + self.header_len(), self.nbytes);
                return Err(ChunkError::invalid("cbytes", 12, expected, self.cbytes));
            }
        }
        if let Some(kind) = self.special() {
            if self.has_vl_blocks() {
                let expected = "0 in a chunk with a special value";
                return Err(ChunkError::invalid("blosc2_flags2", 30, expected, self.blosc2_flags2));
            }
            self.check_special(kind)?;
        }
        if self.has_vl_blocks() && self.blocksize > self.nbytes {
            let expected = format!("at most {} blocks of at least one byte", self.nbytes);
            return Err(ChunkError::invalid("blocksize", 8, expected, self.blocksize));
        }
        Ok(())
    }

    fn check_special(&self, kind: SpecialKind) -> Result<(), ChunkError> {
        let item = match kind {
            SpecialKind::Zero => return Ok(()),
            SpecialKind::Nan if !matches!(self.typesize, 4 | 8) => {
                return Err(ChunkError::invalid("typesize", 3, "4 or 8 in a chunk of NaNs", self.typesize));
            }
            SpecialKind::Nan | SpecialKind::Uninit => usize::from(self.typesize),
            SpecialKind::Value => {
                let item = self.cbytes - Self::EXTENDED_LEN;
                if item == 0 || item > MAX_BLOCKSIZE.min(self.nbytes) {
                    let most = Self::EXTENDED_LEN + MAX_BLOCKSIZE.min(self.nbytes);
                    return Err(ChunkError::invalid(
                        "cbytes",
                        12,
                        format!("33..={most} (repeated value)"),
                        self.cbytes,
                    ));
                }
                item
            }
        };
        if !self.nbytes.is_multiple_of(item) {
            return Err(ChunkError::invalid("nbytes", 4, format!("a multiple of the {item}-byte item"), self.nbytes));
        }
        Ok(())
    }

    /// All later offsets into the block starts rely on this.
    fn check_block_starts_fit(&self) -> Result<(), ChunkError> {
        let least = self.block_starts_end();
        if least > self.cbytes {
            let expected = format!("at least {least} (header and {} block starts)", self.block_starts());
            return Err(ChunkError::invalid("cbytes", 12, expected, self.cbytes));
        }
        Ok(())
    }

    /// The bytes of a header to be written, checked so that no chunk gets a header that readers refuse.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub(crate) fn to_checked_bytes(&self) -> Result<Vec<u8>, ChunkError> {
        let out = self.to_bytes();
        Self::parse(&out)?;
        Ok(out)
    }

    /// The bytes of the header, 16 or 32 of them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::EXTENDED_LEN);
        self.write_to(&mut out);
        out
    }

    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.version, self.codec_version, self.flags, self.typesize]);
        for size in [self.nbytes, self.blocksize, self.cbytes] {
            // The encoder and the parser bound all three by `i32::MAX`. A header made by hand with larger values
            // becomes invalid (negative) and not silently wrong.
            out.extend_from_slice(&i32::try_from(size).unwrap_or(-1).to_le_bytes());
        }
        if self.is_extended() {
            out.extend(self.filters.0.iter().map(|slot| slot.id.0));
            out.extend_from_slice(&[self.udcodec, self.codec_meta]);
            out.extend(self.filters.0.iter().map(|slot| slot.meta));
            out.extend_from_slice(&[self.blosc2_flags2, self.blosc2_flags]);
        }
    }

    /// Bytes of the header: 16 or 32.
    pub fn header_len(&self) -> usize {
        if self.is_extended() { Self::EXTENDED_LEN } else { Self::MIN_LEN }
    }

    /// Whether this is the 32-byte header of Blosc2.
    pub fn is_extended(&self) -> bool {
        self.flags & flag::EXTENDED == flag::EXTENDED
    }

    /// Whether the body is the data itself, neither filtered nor compressed ("memcpyed").
    pub fn is_stored(&self) -> bool {
        self.flags & flag::STORED != 0
    }

    /// Whether whole blocks are split into one stream per byte of the type.
    pub fn is_split(&self) -> bool {
        self.flags & flag::DONT_SPLIT == 0 && !self.has_vl_blocks()
    }

    /// Whether the blocks are of variable length.
    pub fn has_vl_blocks(&self) -> bool {
        self.blosc2_flags2 & VL_BLOCKS != 0
    }

    /// Whether a dictionary lies between the block starts and the blocks.
    pub fn has_dict(&self) -> bool {
        // C-Blosc2 leaves the flag set when it gives up and stores the data; nothing but raw bytes follows then.
        self.blosc2_flags & flag2::DICT != 0 && !self.is_stored() && self.special().is_none()
    }

    /// Whether this is the in-memory form whose blocks are still in the frame.
    pub fn is_lazy(&self) -> bool {
        self.blosc2_flags & flag2::LAZY != 0
    }

    /// Whether the chunk holds measurements of the compressor instead of data.
    pub fn is_instrumented(&self) -> bool {
        self.blosc2_flags & flag2::INSTRUMENTED != 0
    }

    /// The codec that decodes the streams.
    ///
    /// # Errors
    /// [`ChunkError::Invalid`] for the format codes 5 and 7, which no writer uses.
    pub fn codec(&self) -> Result<CodecId, ChunkError> {
        let code = self.codec_format();
        CodecId::from_format_code(code, self.udcodec)
            .ok_or_else(|| ChunkError::invalid("codec format code", 2, "0..=4 or 6", code))
    }

    /// The filters and codec that decoding the chunk takes: none for a stored chunk and for a special value.
    pub fn plugins(&self) -> impl Iterator<Item = PluginId> + '_ {
        let plain = self.is_stored() || self.special().is_some();
        let filters = self.filters.active().map(|(_, slot)| PluginId::from(slot.id));
        filters.chain(self.codec().ok().map(PluginId::from)).filter(move |_| !plain)
    }

    /// Bits 5..=7 of the flags.
    pub(crate) fn codec_format(&self) -> u8 {
        self.flags >> flag::CODEC_SHIFT
    }

    /// Which special value the chunk stands for, if any.
    pub fn special(&self) -> Option<SpecialKind> {
        match self.blosc2_flags & flag2::SPECIAL {
            0x10 => Some(SpecialKind::Zero),
            0x20 => Some(SpecialKind::Nan),
            0x30 => Some(SpecialKind::Value),
            0x40 => Some(SpecialKind::Uninit),
            _ => None,
        }
    }

    /// How many blocks the data falls into.
    pub fn block_count(&self) -> usize {
        if self.has_vl_blocks() { self.blocksize } else { self.nbytes.div_ceil(self.blocksize) }
    }

    /// How many block starts follow the header: none in stored and special chunks.
    pub(crate) fn block_starts(&self) -> usize {
        if self.is_stored() || self.special().is_some() { 0 } else { self.block_count() }
    }

    /// Where the block starts end. Cannot overflow: there are at most `i32::MAX` blocks.
    pub(crate) fn block_starts_end(&self) -> usize {
        self.header_len().saturating_add(self.block_starts().saturating_mul(4))
    }
}

/// The pipeline that a 16-byte header stands for: it has one bit per filter and no slots.
fn filters_of_flags(flags: u8) -> FilterSlots {
    let mut filters = FilterSlots::NONE;
    if flags & flag::SHUFFLE != 0 {
        filters.0[SLOTS - 1].id = FilterId::SHUFFLE;
    }
    if flags & flag::BITSHUFFLE != 0 {
        filters.0[SLOTS - 1].id = FilterId::BITSHUFFLE;
    }
    if flags & flag::DELTA != 0 {
        filters.0[SLOTS - 2].id = FilterId::DELTA;
    }
    filters
}

fn truncated(bytes: &[u8], expected: usize) -> ChunkError {
    ChunkError::Truncated { what: "chunk header", offset: 0, expected, found: bytes.len() }
}

/// One of the three sizes of the header: signed in the format, never below `least` in a valid chunk.
fn size(
    base: &[u8; ChunkHeader::MIN_LEN],
    offset: usize,
    what: &'static str,
    least: usize,
) -> Result<usize, ChunkError> {
    let found = i32::from_le_bytes([base[offset], base[offset + 1], base[offset + 2], base[offset + 3]]);
    usize::try_from(found)
        .ok()
        .filter(|&size| size >= least)
        .ok_or_else(|| ChunkError::invalid(what, offset, format!("at least {least}"), found))
}
