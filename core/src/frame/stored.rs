//! Chunks that need no encoder: stored bytes, zeros, repeated values.
//!
//! Source: chunk format document, "header", "special values".

use crate::chunk::{ChunkError, ChunkHeader, SpecialKind, SpecialValue};
use crate::pipeline::FilterSlots;

/// Chunk format version of C-Blosc2 since 2.0.3.
const VERSION: u8 = 5;
/// The version of 2019, up to C-Blosc2 2.0.2.
pub(super) const EARLY_VERSION: u8 = 4;
/// "flags": bits 0 and 2 together announce the extended header.
const FLAG_EXTENDED: u8 = 0x05;
/// "flags", bit 1: the body is the data itself.
const FLAG_STORED: u8 = 0x02;
/// "flags", bit 4: every block is one stream.
const FLAG_DONT_SPLIT: u8 = 0x10;
/// Largest block size that readers accept.
const MAX_BLOCK: usize = 536_866_816;
/// Bytes of a block start, and of the length of a stream.
const WORD: usize = 4;
/// The longest item that a chunk of a repeated value is made for.
const MAX_ITEM: usize = 64 << 10;
/// Streams of zeros may always take this many bytes, and more if they are [`LEAST_GAIN`] times fewer than they stand
/// for: 256 bytes a block.
const MAX_STREAMS: usize = 1 << 10;
const LEAST_GAIN: usize = 32;
/// The block size used instead of one that is too small. C-Blosc2 allocates a few of them for each thread.
const WIDE_BLOCK: usize = 1 << 20;

fn header(flags: u8, typesize: usize, nbytes: usize, blocksize: usize, body: usize) -> ChunkHeader {
    ChunkHeader {
        version: VERSION,
        codec_version: 1,
        flags: FLAG_EXTENDED | flags,
        typesize: u8::try_from(typesize).unwrap_or(1),
        nbytes,
        blocksize,
        cbytes: ChunkHeader::EXTENDED_LEN + body,
        filters: FilterSlots::NONE,
        udcodec: 0,
        codec_meta: 0,
        blosc2_flags2: 0,
        blosc2_flags: 0,
    }
}

/// Makes a stored chunk of `data`. The default pipeline of C-Blosc2 leaves the shuffle in the last slot in headers of
/// stored chunks, too; readers do not apply it.
///
/// # Errors
/// If `data` is more than a chunk can hold.
pub(super) fn stored_chunk(data: &[u8], typesize: usize) -> Result<Vec<u8>, ChunkError> {
    let mut header = header(FLAG_STORED, typesize, data.len(), data.len().clamp(1, MAX_BLOCK), data.len());
    header.filters = FilterSlots::SHUFFLE;
    let mut out = header.to_checked_bytes()?;
    out.extend_from_slice(data);
    Ok(out)
}

/// Makes a chunk with a body that decodes to `nbytes` bytes of the given special value in items of `typesize` bytes, in
/// blocks of about `block_size` bytes. `None` if the length does not allow that.
///
/// Special chunks with a repeated value are the one kind that C-Blosc2 can read lazily from a frame, and only if they
/// hold whole items of the type size of the frame. Zeros that do not, or whose items are long, are ordinary chunks of
/// zero streams.
pub(super) fn special_body(kind: SpecialKind, nbytes: usize, typesize: usize, block_size: usize) -> Option<Vec<u8>> {
    let repeated =
        |value: &[u8]| crate::chunk::special_chunk(SpecialValue::Value(value), nbytes, value.len(), block_size);
    let whole = nbytes.is_multiple_of(typesize) && typesize <= MAX_ITEM;
    match (kind, typesize) {
        _ if nbytes == 0 || nbytes > ChunkHeader::MAX_NBYTES => None,
        (SpecialKind::Zero | SpecialKind::Uninit, _) if whole => repeated(&vec![0; typesize]).ok(),
        (SpecialKind::Zero | SpecialKind::Uninit, _) => zero_streams(nbytes, typesize, block_size).ok(),
        (SpecialKind::Nan, 4) => repeated(&f32::NAN.to_bits().to_le_bytes()).ok(),
        (SpecialKind::Nan, 8) => repeated(&f64::NAN.to_bits().to_le_bytes()).ok(),
        (SpecialKind::Nan | SpecialKind::Value, _) => None,
    }
}

/// Makes a chunk whose blocks are one stream of zeros each: "csize 0: all bytes of the stream are zero".
///
/// Each block takes the eight bytes of its start and of the length of its stream. If blocks are so small that this
/// would be much compared with the bytes that they stand for, they are made larger: no reader relies on the block size
/// of a chunk with a partial item.
fn zero_streams(nbytes: usize, typesize: usize, block_size: usize) -> Result<Vec<u8>, ChunkError> {
    let whole_items = |block_size: usize| {
        let most = nbytes.min(MAX_BLOCK).min(block_size);
        if most > typesize { most / typesize * typesize } else { most }
    };
    let blocks_of = |blocksize: usize| nbytes.div_ceil(blocksize);
    let mut blocksize = whole_items(block_size.max(1));
    if 2 * WORD * blocks_of(blocksize) > MAX_STREAMS.max(nbytes / LEAST_GAIN) {
        blocksize = whole_items(WIDE_BLOCK);
    }
    let blocks = blocks_of(blocksize);
    let streams_at = ChunkHeader::EXTENDED_LEN + WORD * blocks;
    let mut out = header(FLAG_DONT_SPLIT, typesize, nbytes, blocksize, 2 * WORD * blocks).to_checked_bytes()?;
    out.extend((0..blocks).flat_map(|block| ((streams_at + WORD * block) as u32).to_le_bytes()));
    out.resize(streams_at + WORD * blocks, 0);
    Ok(out)
}

/// Makes a chunk without a body, as readers need it for an index entry of a special value. It never becomes part of a
/// frame. `None` if `nbytes` is not a whole number of NaNs.
pub(super) fn special_chunk(kind: SpecialKind, nbytes: usize, typesize: usize, block_size: usize) -> Option<Vec<u8>> {
    let value = match kind {
        SpecialKind::Nan => SpecialValue::Nan,
        // These may end in part of an item.
        SpecialKind::Uninit if nbytes.is_multiple_of(typesize) => SpecialValue::Uninit,
        SpecialKind::Zero | SpecialKind::Uninit => SpecialValue::Zero,
        SpecialKind::Value => return None,
    };
    let block_size = if block_size == 0 { nbytes } else { block_size };
    crate::chunk::special_chunk(value, nbytes, typesize, block_size).ok()
}

/// Turns the extended header of a stored chunk into one of 2019: another version, and byte 22 reserved.
pub(super) fn set_early(chunk: &mut [u8]) {
    if let Some(header) = chunk.first_chunk_mut::<{ ChunkHeader::EXTENDED_LEN }>() {
        header[0] = EARLY_VERSION;
        header[22] = 0;
    }
}
