//! The fixed part of a frame header, of every age.
//!
//! Source: contiguous frame format document, "header"; early frame format document for [`FrameLayout::Early`]. Offsets
//! below are those of the current layout; where an older layout differs, `early` says so.

use rmp::Marker;

use super::fields::{array, put, u8_at};
use super::metalayers::Metalayers;
use super::{FrameError, FrameLayout, early};
use crate::chunk::SplitMode;
use crate::id::{CodecId, FilterId};
use crate::pipeline::{FilterSlots, SLOTS};
use crate::plugin::PluginId;

/// Offset of the general flags, the frame type, the codec flags and the other flags: one byte each.
pub(super) mod at {
    pub(in crate::frame) const HEADER_LEN: usize = 11;
    pub(in crate::frame) const FRAME_LEN: usize = 16;
    pub(in crate::frame) const FLAGS: usize = 25;
    pub(in crate::frame) const FRAME_TYPE: usize = 26;
    pub(in crate::frame) const CODEC: usize = 27;
    pub(in crate::frame) const OTHER: usize = 28;
    pub(in crate::frame) const NBYTES: usize = 30;
    pub(in crate::frame) const CBYTES: usize = 39;
    pub(in crate::frame) const TYPESIZE: usize = 48;
    pub(super) const BLOCKSIZE: usize = 53;
    pub(in crate::frame) const CHUNKSIZE: usize = 58;
    pub(super) const THREADS: usize = 63;
    pub(in crate::frame) const HAS_VLMETALAYERS: usize = 68;
    pub(super) const FILTER_COUNT: usize = 70;
    pub(super) const FILTERS: usize = 71;
    pub(super) const UDCODEC: usize = 77;
    pub(super) const CODEC_META: usize = 78;
    pub(super) const FILTERS_META: usize = 79;
    pub(super) const FLAGS2: usize = 85;
}

/// Bytes of the header without the metalayers.
pub(super) const FIXED_LEN: usize = FrameLayout::Current.min_header_len();

/// "general_flags", bits 4 and 5: offsets in the index have 64 bits.
const FLAG_OFFSETS_64: u8 = 0x10;
/// "general_flags", bit 6: the chunks vary in size.
const FLAG_VARIABLE_CHUNKS: u8 = 0x40;
/// "general_flags", bit 7: the blocks in the chunks vary in size.
const FLAG_VL_BLOCKS: u8 = 0x80;
/// Version that C-Blosc2 writes for frames every Blosc2 release can read.
const VERSION: u8 = 2;
/// Version since C-Blosc2 3.0, needed for chunks or blocks of variable size.
const VERSION_VARIABLE: u8 = 3;
/// Codec nibble that says "the codec is in the `udcodec` byte".
const CODEC_ELSEWHERE: u8 = 6;
/// "other_flags2", bit 0: chunks are compressed with dictionaries.
const FLAG2_DICT: u8 = 1;

/// Whether the frame carries its chunks, or only their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FrameType {
    /// Everything is in one file ("cframe").
    #[default]
    Contiguous,
    /// The chunks are in files of their own, next to this one ("sframe").
    Sparse,
}

impl FrameType {
    /// The byte in the header.
    pub const fn to_u8(self) -> u8 {
        match self {
            Self::Contiguous => 0,
            Self::Sparse => 1,
        }
    }
}

/// How long the chunks of a frame are when decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkSize {
    /// All have this many bytes; the last may have fewer.
    Fixed(u32),
    /// Each chunk says for itself.
    Variable,
    /// Not known yet: an empty frame (the field holds -1). The first chunk decides.
    Unset,
}

impl ChunkSize {
    /// The size, when it is the same for all chunks.
    pub const fn fixed(self) -> Option<usize> {
        match self {
            Self::Fixed(n) => Some(n as usize),
            Self::Variable | Self::Unset => None,
        }
    }

    /// The field of a current header.
    pub(super) const fn to_field(self) -> i32 {
        match self {
            Self::Fixed(n) => n as i32,
            Self::Variable => 0,
            Self::Unset => -1,
        }
    }
}

/// The fixed part of a frame header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameHeader {
    /// Age of the layout.
    pub layout: FrameLayout,
    /// Bytes of the header with its metalayers; the chunks start here.
    pub header_len: u32,
    /// Bytes of the whole frame.
    pub frame_len: u64,
    /// The version in the low nibble of the general flags.
    pub version: u8,
    /// The chunks have blocks of variable length (general flags, bit 7; a hint, the chunks decide).
    pub vl_blocks: bool,
    /// Contiguous or sparse.
    pub frame_type: FrameType,
    /// Codec for appended chunks; each chunk names its own.
    pub codec: CodecId,
    /// The `codec_meta` byte that goes with it.
    pub codec_meta: u8,
    /// Compression level for appended chunks.
    pub level: u8,
    /// Split mode for appended chunks; `None` in files that did not record it (C-Blosc2 before 2.5 wrote
    /// [`SplitMode::Always`] here without meaning it, which cannot be told apart).
    pub split: Option<SplitMode>,
    /// Decoded bytes of all chunks.
    pub nbytes: u64,
    /// Bytes of the chunks section, holes included; for a sparse frame, of all chunk files.
    pub cbytes: u64,
    /// Bytes of an item.
    pub typesize: u32,
    /// Block size for appended chunks; 0 for automatic. Each chunk has its own.
    pub block_size: u32,
    /// Decoded bytes of a chunk.
    pub chunk_size: ChunkSize,
    /// Threads that the writer used for compressing and decompressing. Meaningless to readers.
    pub threads: (i16, i16),
    /// There are variable-length metalayers (a hint, the trailer decides).
    pub has_vlmetalayers: bool,
    /// Filters for appended chunks; each chunk has its own. Empty for [`FrameLayout::Early`], which has no such field.
    pub filters: FilterSlots,
    /// Appended chunks get a dictionary.
    pub use_dict: bool,
}

impl FrameHeader {
    /// Parses the fixed part of the header at the start of `head`, which must hold at least 87 bytes (or the whole
    /// frame, if it is shorter).
    ///
    /// The lengths in it are checked against each other but not against any file.
    ///
    /// # Errors
    /// For every header that C-Blosc2 refuses, and for those whose magic bytes it does not check. Markers, reserved
    /// bits and values that only matter for appending are not checked: versions of C-Blosc2 have written different
    /// ones.
    pub fn parse(head: &[u8]) -> Result<Self, FrameError> {
        let header = Self::parse_unfinished(head)?;
        if header.frame_len == 0 {
            return Err(FrameError::Unfinished);
        }
        let min_frame = u64::from(header.header_len);
        if header.frame_len < min_frame || i64::try_from(header.frame_len).is_err() {
            return Err(FrameError::FrameLen { found: header.frame_len, min: min_frame, max: i64::MAX as u64 });
        }
        Ok(header)
    }

    /// As [`parse`](Self::parse), but accepts any frame length: it is 0 in the provisional header that an interrupted
    /// writer leaves.
    ///
    /// # Errors
    /// Those of `parse`, except for the frame length.
    pub fn parse_unfinished(head: &[u8]) -> Result<Self, FrameError> {
        let layout = FrameLayout::detect(head)?;
        let min = layout.min_header_len();
        if head.len() < min {
            return Err(FrameError::TooShort { len: head.len() as u64, min: min as u64 });
        }
        match layout {
            FrameLayout::Current => parse_current(head),
            FrameLayout::Early | FrameLayout::Beta => early::parse(head, layout),
        }
    }

    /// Serialises the fixed part in the layout that the header names. The lengths are written as they stand.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self.layout {
            FrameLayout::Current => self.current_bytes().to_vec(),
            FrameLayout::Early | FrameLayout::Beta => early::to_bytes(self),
        }
    }

    /// The filters and codec for appended chunks, which are usually those of all chunks. Each chunk has its own
    /// ([`ChunkHeader::plugins`](crate::chunk::ChunkHeader::plugins)).
    pub fn plugins(&self) -> impl Iterator<Item = PluginId> + '_ {
        let filters = self.filters.active().map(|(_, slot)| PluginId::from(slot.id));
        filters.chain(std::iter::once(PluginId::from(self.codec)))
    }

    /// The general flags of a current frame.
    pub fn general_flags(&self) -> u8 {
        let variable = self.chunk_size == ChunkSize::Variable;
        let version = if variable || self.vl_blocks { VERSION_VARIABLE } else { VERSION };
        version
            | FLAG_OFFSETS_64
            | if variable { FLAG_VARIABLE_CHUNKS } else { 0 }
            | if self.vl_blocks { FLAG_VL_BLOCKS } else { 0 }
    }

    fn current_bytes(&self) -> [u8; FIXED_LEN] {
        let mut out = [0; FIXED_LEN];
        self.put_common(&mut out, 0x9E, self.general_flags(), self.frame_type.to_u8());
        let nibble = if self.codec.0 < CODEC_ELSEWHERE { self.codec.0 } else { CODEC_ELSEWHERE };
        out[at::CODEC] = self.level << 4 | nibble;
        out[at::OTHER] = self.split.map_or(0, split_bits);
        out[at::BLOCKSIZE - 1] = Marker::I32.to_u8();
        put(&mut out, at::BLOCKSIZE, &(self.block_size as i32).to_be_bytes());
        out[at::CHUNKSIZE - 1] = Marker::I32.to_u8();
        put(&mut out, at::CHUNKSIZE, &self.chunk_size.to_field().to_be_bytes());
        self.put_threads(&mut out, at::THREADS);
        out[at::HAS_VLMETALAYERS] = bool_marker(self.has_vlmetalayers);
        out[at::HAS_VLMETALAYERS + 1] = Marker::FixExt16.to_u8();
        out[at::FILTER_COUNT] = SLOTS as u8;
        for (i, slot) in self.filters.0.iter().enumerate() {
            out[at::FILTERS + i] = slot.id.0;
            out[at::FILTERS_META + i] = slot.meta;
        }
        // C-Blosc2 stores the codec here even when the nibble has room for it.
        out[at::UDCODEC] = self.codec.0;
        out[at::CODEC_META] = self.codec_meta;
        out[at::FLAGS2] = if self.use_dict { FLAG2_DICT } else { 0 };
        out
    }

    /// Writes the fields up to the type size, which all layouts share.
    pub(super) fn put_common(&self, out: &mut [u8], first: u8, flags: u8, frame_type: u8) {
        out[0] = first;
        out[1] = 0xA8;
        put(out, 2, super::layout::MAGIC);
        out[at::HEADER_LEN - 1] = Marker::I32.to_u8();
        put(out, at::HEADER_LEN, &self.header_len.to_be_bytes());
        out[at::FRAME_LEN - 1] = Marker::U64.to_u8();
        put(out, at::FRAME_LEN, &self.frame_len.to_be_bytes());
        out[at::FLAGS - 1] = 0xA4;
        out[at::FLAGS] = flags;
        out[at::FRAME_TYPE] = frame_type;
        out[at::NBYTES - 1] = Marker::I64.to_u8();
        put(out, at::NBYTES, &self.nbytes.to_be_bytes());
        out[at::CBYTES - 1] = Marker::I64.to_u8();
        put(out, at::CBYTES, &self.cbytes.to_be_bytes());
        out[at::TYPESIZE - 1] = Marker::I32.to_u8();
        put(out, at::TYPESIZE, &self.typesize.to_be_bytes());
    }

    /// Writes the two thread counts, the first of them at `at`.
    pub(super) fn put_threads(&self, out: &mut [u8], at: usize) {
        out[at - 1] = Marker::I16.to_u8();
        put(out, at, &self.threads.0.to_be_bytes());
        out[at + 2] = Marker::I16.to_u8();
        put(out, at + 3, &self.threads.1.to_be_bytes());
    }
}

/// `C3` or `C2`.
pub(super) fn bool_marker(value: bool) -> u8 {
    if value { Marker::True.to_u8() } else { Marker::False.to_u8() }
}

/// "other_flags", bits 0 and 1: one less than C-Blosc2's number of the mode.
const fn split_bits(split: SplitMode) -> u8 {
    match split {
        SplitMode::Always => 0,
        SplitMode::Never => 1,
        SplitMode::Auto => 2,
        SplitMode::ForwardCompat => 3,
    }
}

fn split_from_bits(bits: u8) -> SplitMode {
    match bits & 3 {
        0 => SplitMode::Always,
        1 => SplitMode::Never,
        2 => SplitMode::Auto,
        _ => SplitMode::ForwardCompat,
    }
}

/// Big-endian fields of a header whose length has been checked.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    pub(super) fn u8(&self, at: usize) -> u8 {
        u8_at(self.0, at).unwrap_or_default()
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        array(self.0, at).unwrap_or([0; N])
    }

    pub(super) fn i16(&self, at: usize) -> i16 {
        i16::from_be_bytes(self.get(at))
    }

    pub(super) fn i32(&self, at: usize) -> i32 {
        i32::from_be_bytes(self.get(at))
    }

    pub(super) fn u64(&self, at: usize) -> u64 {
        u64::from_be_bytes(self.get(at))
    }

    /// A size that the format stores as a signed number.
    pub(super) fn size(&self, field: &'static str, at: usize) -> Result<u64, FrameError> {
        let found = i64::from_be_bytes(self.get(at));
        u64::try_from(found).map_err(|_| FrameError::Negative { field, offset: at, found })
    }

    /// The header length, at least that of the fixed part and of what always follows it.
    pub(super) fn header_len(&self, layout: FrameLayout) -> Result<u32, FrameError> {
        let found = self.i32(at::HEADER_LEN);
        // 94 = 87 + the metalayers section up to and including the number of entries, which every reader parses.
        let min = layout.min_header_len() as u64 + if layout.always_has_metalayers() { 7 } else { 0 };
        match u32::try_from(found) {
            Ok(len) if u64::from(len) >= min => Ok(len),
            _ => Err(FrameError::HeaderLen { found: found.into(), min, max: i32::MAX as u64 }),
        }
    }

    pub(super) fn typesize(&self) -> Result<u32, FrameError> {
        let found = self.i32(at::TYPESIZE);
        match u32::try_from(found) {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(FrameError::Typesize { found }),
        }
    }

    pub(super) fn chunk_size(&self, offset: usize, nbytes: u64) -> Result<ChunkSize, FrameError> {
        match self.i32(offset) {
            0 => Ok(ChunkSize::Variable),
            // Negative only while nothing has been appended.
            found if found < 0 && nbytes > 0 => Err(FrameError::ChunkSize { offset, found, nbytes }),
            found => Ok(u32::try_from(found).map_or(ChunkSize::Unset, ChunkSize::Fixed)),
        }
    }
}

fn parse_current(head: &[u8]) -> Result<FrameHeader, FrameError> {
    let f = Fields(head);
    let layout = FrameLayout::Current;
    let flags = f.u8(at::FLAGS);
    let version = flags & 0x0F;
    if version > VERSION_VARIABLE {
        return Err(FrameError::Version { found: version, min: 0, max: VERSION_VARIABLE });
    }
    let frame_type = match f.u8(at::FRAME_TYPE) {
        0 => FrameType::Contiguous,
        1 => FrameType::Sparse,
        found => return Err(FrameError::FrameType { found, expected: 0 }),
    };
    let filter_count = f.u8(at::FILTER_COUNT);
    if usize::from(filter_count) > SLOTS {
        return Err(FrameError::FilterCount { offset: at::FILTER_COUNT, found: filter_count, max: SLOTS as u8 });
    }
    let mut filters = FilterSlots::NONE;
    for (i, slot) in filters.0.iter_mut().enumerate() {
        slot.id = FilterId(f.u8(at::FILTERS + i));
        slot.meta = f.u8(at::FILTERS_META + i);
    }
    let codec = match f.u8(at::CODEC) & 0x0F {
        CODEC_ELSEWHERE => f.u8(at::UDCODEC),
        nibble => nibble,
    };
    let nbytes = f.size("nbytes", at::NBYTES)?;
    Ok(FrameHeader {
        layout,
        header_len: f.header_len(layout)?,
        frame_len: f.u64(at::FRAME_LEN),
        version,
        vl_blocks: flags & FLAG_VL_BLOCKS != 0,
        frame_type,
        codec: CodecId(codec),
        codec_meta: f.u8(at::CODEC_META),
        level: f.u8(at::CODEC) >> 4,
        split: Some(split_from_bits(f.u8(at::OTHER))),
        nbytes,
        cbytes: f.size("cbytes", at::CBYTES)?,
        typesize: f.typesize()?,
        block_size: u32::try_from(f.i32(at::BLOCKSIZE)).unwrap_or_default(),
        chunk_size: f.chunk_size(at::CHUNKSIZE, nbytes)?,
        threads: (f.i16(at::THREADS), f.i16(at::THREADS + 3)),
        has_vlmetalayers: f.u8(at::HAS_VLMETALAYERS) == Marker::True.to_u8(),
        filters,
        use_dict: f.u8(at::FLAGS2) & FLAG2_DICT != 0,
    })
}

/// Length of a header with these metalayers.
pub(super) fn full_len(layout: FrameLayout, metalayers: &Metalayers) -> usize {
    let section = if metalayers.is_empty() && !layout.always_has_metalayers() { 0 } else { metalayers.section_len() };
    layout.min_header_len() + section
}
