//! Chunks that need no encoder: stored bytes and repeated values.
//!
//! Source: chunk format document, "header", "special values".

use crate::chunk::{ChunkHeader, SpecialKind};

/// Chunk format version of C-Blosc2 since 2.0.3.
const VERSION: u8 = 5;
/// The version of 2019, up to C-Blosc2 2.0.2.
const EARLY_VERSION: u8 = 4;
const CODEC_VERSION: u8 = 1;
/// "flags": bits 0 and 2 together announce the extended header.
const FLAG_EXTENDED: u8 = 0x05;
/// "flags", bit 1: the body is the data itself.
const FLAG_STORED: u8 = 0x02;
/// "flags", bit 4: every block is one stream.
const FLAG_DONT_SPLIT: u8 = 0x10;
/// "blosc2_flags", bits 4 to 6: a repeated value.
const FLAG_VALUE: u8 = 0x30;
/// Largest block size that readers accept.
const MAX_BLOCK: usize = 536_866_816;
/// Bytes of a block start, and of the length of a stream.
const WORD: usize = 4;

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

/// A chunk with a body that decodes to `nbytes` bytes of the given special value in items of `typesize` bytes. `None`
/// when the length does not allow it.
///
/// Special chunks with a repeated value are the one kind that C-Blosc2 can read lazily from a frame, and only if they
/// hold whole items of the type size of the frame. Zeros that do not are ordinary chunks of zero streams.
pub(super) fn special_body(kind: SpecialKind, nbytes: usize, typesize: usize) -> Option<Vec<u8>> {
    let whole = nbytes > 0 && nbytes.is_multiple_of(typesize);
    match (kind, typesize) {
        _ if nbytes == 0 => None,
        (SpecialKind::Zero | SpecialKind::Uninit, _) if whole => Some(repeated_value(&vec![0; typesize], nbytes)),
        (SpecialKind::Zero | SpecialKind::Uninit, _) => Some(zero_streams(nbytes, typesize)),
        (SpecialKind::Nan, 4) if whole => Some(repeated_value(&f32::NAN.to_bits().to_le_bytes(), nbytes)),
        (SpecialKind::Nan, 8) if whole => Some(repeated_value(&f64::NAN.to_bits().to_le_bytes(), nbytes)),
        (SpecialKind::Nan | SpecialKind::Value, _) => None,
    }
}

/// "Special value: repeated value": the value follows the header. `nbytes` is a multiple of its length.
fn repeated_value(value: &[u8], nbytes: usize) -> Vec<u8> {
    // Every block, the last one included, must hold whole values.
    let block_size = if nbytes <= MAX_BLOCK { nbytes } else { MAX_BLOCK / value.len() * value.len() };
    let cbytes = ChunkHeader::EXTENDED_LEN + value.len();
    let typesize = u8::try_from(value.len()).unwrap_or(1);
    let mut out = header(FLAG_EXTENDED, typesize, nbytes, block_size, cbytes).to_vec();
    out[31] = FLAG_VALUE;
    out.extend_from_slice(value);
    out
}

/// A chunk whose blocks are one stream of zeros each: "csize 0: all bytes of the stream are zero".
fn zero_streams(nbytes: usize, typesize: usize) -> Vec<u8> {
    let most = nbytes.min(MAX_BLOCK);
    let block_size = if most > typesize { most / typesize * typesize } else { most };
    let blocks = nbytes.div_ceil(block_size);
    let streams_at = ChunkHeader::EXTENDED_LEN + WORD * blocks;
    let cbytes = streams_at + WORD * blocks;
    let typesize = u8::try_from(typesize).unwrap_or(1);
    let mut out = header(FLAG_EXTENDED | FLAG_DONT_SPLIT, typesize, nbytes, block_size, cbytes).to_vec();
    out.extend((0..blocks).flat_map(|block| ((streams_at + WORD * block) as u32).to_le_bytes()));
    out.resize(cbytes, 0);
    out
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

/// Dates the extended header of a chunk back to 2019: another version, and the codec not repeated in byte 22.
pub(super) fn set_early(chunk: &mut [u8]) {
    if let Some(header) = chunk.first_chunk_mut::<{ ChunkHeader::EXTENDED_LEN }>() {
        header[0] = EARLY_VERSION;
        header[22] = 0;
    }
}
