//! Chunks that need no encoder: stored bytes and repeated values.
//!
//! Source: chunk format document, "header", "special values".

use crate::chunk::{ChunkHeader, SpecialKind};

/// Chunk format version of C-Blosc2 since 2.0.3.
const VERSION: u8 = 5;
/// The version of 2019, up to C-Blosc2 2.0.2. The layout is the same.
pub(super) const EARLY_VERSION: u8 = 4;
const CODEC_VERSION: u8 = 1;
/// "flags": bits 0 and 2 together announce the extended header.
const FLAG_EXTENDED: u8 = 0x05;
/// "flags", bit 1: the body is the data itself.
const FLAG_STORED: u8 = 0x02;
/// "blosc2_flags", bits 4 to 6: a repeated value.
const FLAG_VALUE: u8 = 0x30;
/// Largest block size that readers accept.
const MAX_BLOCK: usize = 536_866_816;

fn header(flags: u8, typesize: u8, nbytes: usize, block_size: usize, cbytes: usize) -> [u8; ChunkHeader::EXTENDED_LEN] {
    let mut out = [0; ChunkHeader::EXTENDED_LEN];
    out[..4].copy_from_slice(&[VERSION, CODEC_VERSION, flags, typesize]);
    out[4..8].copy_from_slice(&(nbytes as u32).to_le_bytes());
    out[8..12].copy_from_slice(&(block_size as u32).to_le_bytes());
    out[12..16].copy_from_slice(&(cbytes as u32).to_le_bytes());
    out
}

/// A chunk that holds `data` as it is. The shuffle in the last slot is what C-Blosc2's default pipeline leaves in
/// headers of stored chunks, too; readers do not apply it.
pub(super) fn stored_chunk(data: &[u8], typesize: u8) -> Vec<u8> {
    let cbytes = ChunkHeader::EXTENDED_LEN + data.len();
    let block_size = data.len().clamp(1, MAX_BLOCK);
    let mut out = Vec::with_capacity(cbytes);
    out.extend(header(FLAG_EXTENDED | FLAG_STORED, typesize, data.len(), block_size, cbytes));
    out[21] = 1;
    out.extend_from_slice(data);
    out
}

/// A chunk that decodes to `nbytes` bytes of the given special value and is stored as a repeated value: the one kind of
/// special chunk that C-Blosc2 can read lazily from a frame. `None` when the length is no multiple of what is repeated,
/// or nothing would be repeated.
pub(super) fn repeated_value_chunk(kind: SpecialKind, nbytes: usize, typesize: usize) -> Option<Vec<u8>> {
    let value: Vec<u8> = match (kind, typesize) {
        // Items may straddle the end of a short chunk when they are all zero bytes.
        (SpecialKind::Zero | SpecialKind::Uninit, _) if typesize == 0 || !nbytes.is_multiple_of(typesize) => vec![0],
        (SpecialKind::Zero | SpecialKind::Uninit, _) => vec![0; typesize],
        (SpecialKind::Nan, 4) => f32::NAN.to_bits().to_le_bytes().to_vec(),
        (SpecialKind::Nan, 8) => f64::NAN.to_bits().to_le_bytes().to_vec(),
        (SpecialKind::Nan | SpecialKind::Value, _) => return None,
    };
    if nbytes == 0 || !nbytes.is_multiple_of(value.len()) {
        return None;
    }
    // Every block, the last one included, must hold whole values.
    let block_size = if nbytes <= MAX_BLOCK { nbytes } else { MAX_BLOCK / value.len() * value.len() };
    let cbytes = ChunkHeader::EXTENDED_LEN + value.len();
    let typesize = u8::try_from(value.len()).unwrap_or(1);
    let mut out = header(FLAG_EXTENDED, typesize, nbytes, block_size, cbytes).to_vec();
    out[31] = FLAG_VALUE;
    out.extend(value);
    Some(out)
}

/// A chunk without a body, as the reader of a frame makes it up for an index entry of a special value. Never part of a
/// frame.
pub(super) fn special_chunk(kind: SpecialKind, nbytes: usize, typesize: usize, block_size: usize) -> Vec<u8> {
    let typesize = if nbytes.is_multiple_of(typesize) { u8::try_from(typesize).unwrap_or(1) } else { 1 };
    let block_size = if block_size == 0 { nbytes } else { block_size };
    let block_size = block_size.clamp(1, nbytes.clamp(1, MAX_BLOCK));
    let mut out = header(FLAG_EXTENDED, typesize, nbytes, block_size, ChunkHeader::EXTENDED_LEN).to_vec();
    out[31] = match kind {
        SpecialKind::Zero => 0x10,
        SpecialKind::Nan => 0x20,
        SpecialKind::Value => FLAG_VALUE,
        SpecialKind::Uninit => 0x40,
    };
    out
}
