//! Headers of the years 2019 to 2021.
//!
//! Source: early frame format document, and what C-Blosc2 really wrote at its revision (2.0.0-beta.1 and the two
//! weeks after) and in the betas up to February 2021. All of them share the fields up to the type size with the
//! current header; the codec is the API's number, not the one the document enumerates.
//!
//! | offset | early | beta |
//! |---|---|---|
//! | 25 | 0x24: "frame", version 0, 64-bit offsets | 0x21, later 0x12 |
//! | 26 | nothing of use | 0, later the frame type |
//! | 53 | chunk size (no block size before it) | same |
//! | 58, 61 | thread counts | same |
//! | 63 | C3 when metalayers follow, else C2 | C3 when the trailer holds something |
//! | 64 | metalayers, if any | filters: D8, count, 8 ids, 8 metas |
//! | 82 | | metalayers |

use rmp::Marker;

use super::fields::put;
use super::header::{ChunkSize, Fields, FrameHeader, FrameType, at, bool_marker};
use super::{FrameError, FrameLayout};
use crate::id::{CodecId, FilterId};
use crate::pipeline::{FilterSlot, FilterSlots};

const CHUNKSIZE: usize = 53;
const THREADS: usize = 58;
const HAS_MORE: usize = 63;
const FILTER_COUNT: usize = 65;
const FILTERS: usize = 66;
const FILTERS_META: usize = 74;
/// Filter slots of a beta header.
const BETA_SLOTS: u8 = 8;
/// "general flags" of a frame with 64-bit offsets, version 0: bits 4 and 5 say 2, bit 2 says frame.
const EARLY_FLAGS: u8 = 0x24;

pub(super) fn parse(head: &[u8], layout: FrameLayout) -> Result<FrameHeader, FrameError> {
    let f = Fields(head);
    let flags = f.u8(at::FLAGS);
    // In version 0, which ended with beta 1, bits 2 and 3 said what kind of file this is. Beta 2 to beta 5 wrote 1, and
    // the development versions from January 2021 on 2.
    let (version, min, max) = if layout == FrameLayout::Early { (flags & 0x03, 0, 0) } else { (flags & 0x0F, 1, 2) };
    if version < min || version > max {
        return Err(FrameError::Version { found: version, min, max });
    }
    let frame_type = match f.u8(at::FRAME_TYPE) {
        1 if layout == FrameLayout::Beta => FrameType::Sparse,
        found if found > 1 && layout == FrameLayout::Beta => return Err(FrameError::FrameType { found, expected: 0 }),
        _ => FrameType::Contiguous,
    };
    let has_more = f.u8(HAS_MORE);
    if layout == FrameLayout::Early {
        let first = f.u8(0);
        let expected = bool_marker(first == 0x9C);
        if has_more != expected {
            return Err(FrameError::EarlyMetalayers { first, expected, found: has_more });
        }
    }
    let filters = if layout == FrameLayout::Beta { beta_filters(&f)? } else { FilterSlots::NONE };
    let nbytes = f.size("nbytes", at::NBYTES)?;
    Ok(FrameHeader {
        layout,
        header_len: f.header_len(layout)?,
        frame_len: f.u64(at::FRAME_LEN),
        version,
        vl_blocks: false,
        frame_type,
        codec: CodecId(f.u8(at::CODEC) & 0x0F),
        codec_meta: 0,
        level: f.u8(at::CODEC) >> 4,
        split: None,
        nbytes,
        cbytes: f.size("cbytes", at::CBYTES)?,
        typesize: f.typesize()?,
        block_size: 0,
        chunk_size: f.chunk_size(CHUNKSIZE, nbytes)?,
        threads: (f.i16(THREADS), f.i16(THREADS + 3)),
        has_vlmetalayers: layout == FrameLayout::Beta && has_more == Marker::True.to_u8(),
        filters,
        use_dict: false,
    })
}

/// Beta writers stored only the slots in use, left-justified; only their order matters.
fn beta_filters(f: &Fields<'_>) -> Result<FilterSlots, FrameError> {
    let found = f.u8(FILTER_COUNT);
    if found > BETA_SLOTS {
        return Err(FrameError::FilterCount { offset: FILTER_COUNT, found, max: BETA_SLOTS });
    }
    let mut filters = FilterSlots::NONE;
    let stored =
        (0..usize::from(found)).map(|i| FilterSlot { id: FilterId(f.u8(FILTERS + i)), meta: f.u8(FILTERS_META + i) });
    for (slot, stored) in filters.0.iter_mut().zip(stored) {
        *slot = stored;
    }
    Ok(filters)
}

/// Serialises an early header, without its metalayers; beta headers are written in the same way but only by tests.
pub(super) fn to_bytes(header: &FrameHeader) -> Vec<u8> {
    let mut out = vec![0; header.layout.min_header_len()];
    let has_metalayers = header.header_len as usize > FrameLayout::Early.min_header_len();
    let (first, flags) = match header.layout {
        FrameLayout::Early if has_metalayers => (0x9C, EARLY_FLAGS),
        FrameLayout::Early => (0x9B, EARLY_FLAGS),
        FrameLayout::Beta | FrameLayout::Current => (0x9D, 0x20 | header.version),
    };
    header.put_common(&mut out, first, flags, header.frame_type.to_u8());
    out[at::CODEC] = header.level << 4 | header.codec.0 & 0x0F;
    out[CHUNKSIZE - 1] = Marker::I32.to_u8();
    let chunk_size = match header.chunk_size {
        ChunkSize::Fixed(n) => n as i32,
        ChunkSize::Variable | ChunkSize::Unset => 0,
    };
    put(&mut out, CHUNKSIZE, &chunk_size.to_be_bytes());
    header.put_threads(&mut out, THREADS);
    out[HAS_MORE] = bool_marker(has_metalayers);
    if header.layout != FrameLayout::Early {
        out[HAS_MORE] = bool_marker(header.has_vlmetalayers);
        out[HAS_MORE + 1] = Marker::FixExt16.to_u8();
        let active = header.filters.active();
        for (i, (_, slot)) in active.enumerate() {
            out[FILTER_COUNT] += 1;
            out[FILTERS + i] = slot.id.0;
            out[FILTERS_META + i] = slot.meta;
        }
    }
    out
}
