//! The encoder's choices that depend on sizes and settings alone: the block size, and whether blocks are split.
//!
//! The numbers are those of C-Blosc2 and Blosc 1. Others would be valid too, but these give the compressed sizes and
//! the granularity of partial reads that users of those libraries know.

use super::header::MAX_BLOCKSIZE;
use super::{ChunkFormat, EncodeParams, SplitMode};
use crate::codec::CodecTraits;
use crate::id::CodecId;

/// Blosc2 splits, under the automatic modes, only when each stream gets this many bytes.
const MIN_STREAM: usize = 32;
/// Both split, under the automatic modes, only types of up to this many bytes.
const MAX_STREAMS: usize = 16;
/// Blosc 1 splits only types of up to this many bytes...
pub(crate) const BLOSC1_MAX_STREAMS: usize = 16;
/// ... and only if each stream gets this many bytes. Its decoder expects that too.
pub(crate) const BLOSC1_MIN_STREAM: usize = 128;

/// The first-level cache that block sizes are multiples and fractions of.
const L1: usize = 32 << 10;

/// How a chunk is split into blocks and streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocking {
    /// Type size as the header has it.
    pub(crate) typesize: u8,
    /// Bytes of a block, except that the last one may be shorter; the number of blocks if their lengths vary. At least
    /// 1.
    pub(crate) blocksize: usize,
    /// Decoded bytes.
    pub(crate) nbytes: usize,
    /// Whole blocks have one stream per byte of the type.
    pub(crate) split: bool,
    /// The lengths of the blocks vary.
    pub(crate) vl: bool,
}

impl Blocking {
    /// The plan for `nbytes` bytes. `traits` are those of the codec, or of a plain one if none will be used; `grouped`
    /// says that a filter groups the bytes of items.
    pub(crate) fn new(params: &EncodeParams, traits: &CodecTraits, grouped: bool, nbytes: usize) -> Self {
        let blocksize = match params.format {
            ChunkFormat::Blosc2 | ChunkFormat::Early => blosc2_blocksize(params, traits, grouped, nbytes),
            ChunkFormat::Blosc1 => blosc1_blocksize(params, traits, nbytes),
        };
        let typesize = header_typesize(params.typesize);
        let split = match params.format {
            ChunkFormat::Blosc2 => blosc2_splits(params, traits, grouped, usize::from(typesize), blocksize),
            // Decoders of 2019 may have the same expectations of split blocks as those of Blosc 1.
            ChunkFormat::Blosc1 | ChunkFormat::Early => blosc1_splits(params, usize::from(typesize), blocksize),
        };
        // A block that does not divide into its streams cannot be read by anyone. The automatic rules never ask for
        // one, because blocks above the type size are rounded to it; "always" can.
        let split = split && blocksize.is_multiple_of(usize::from(typesize));
        Self { typesize, blocksize, nbytes, split, vl: false }
    }

    /// The plan for `count` blocks of the caller's lengths, `nbytes` bytes in all. They are never split.
    pub(crate) fn variable(params: &EncodeParams, count: usize, nbytes: usize) -> Self {
        Self { typesize: header_typesize(params.typesize), blocksize: count, nbytes, split: false, vl: true }
    }

    pub(crate) fn block_count(&self) -> usize {
        if self.vl { self.blocksize } else { self.nbytes.div_ceil(self.blocksize) }
    }

    /// How many streams a block of `len` bytes has: a short last block is never split.
    pub(crate) fn streams(&self, len: usize) -> usize {
        if self.split && len == self.blocksize { usize::from(self.typesize) } else { 1 }
    }
}

/// Type sizes that do not fit their byte are written as 1, as C-Blosc2 does.
pub(crate) fn header_typesize(typesize: usize) -> u8 {
    u8::try_from(typesize).unwrap_or(1)
}

fn blosc2_splits(
    params: &EncodeParams,
    traits: &CodecTraits,
    grouped: bool,
    typesize: usize,
    blocksize: usize,
) -> bool {
    match params.split {
        SplitMode::Always => true,
        SplitMode::Never => false,
        SplitMode::Auto | SplitMode::ForwardCompat => {
            traits.split_up_to_level.is_some_and(|level| params.level <= level)
                && grouped
                && typesize <= MAX_STREAMS
                && blocksize / typesize >= MIN_STREAM
        }
    }
}

fn blosc2_blocksize(params: &EncodeParams, traits: &CodecTraits, grouped: bool, nbytes: usize) -> usize {
    let typesize = params.typesize;
    if nbytes < typesize {
        return 1;
    }
    let wanted = match params.block_size {
        Some(size) => size.clamp(1, MAX_BLOCKSIZE),
        // Apply the split rule to the largest possible block.
        None if params.level > 0 && blosc2_splits(params, traits, grouped, typesize, nbytes) => {
            let per_stream = match params.level {
                ..=3 => 32 << 10,
                4..=6 => 64 << 10,
                7 => 128 << 10,
                8 => 256 << 10,
                _ => 512 << 10,
            };
            (per_stream * typesize.min(4 << 20)).clamp(L1, 4 << 20)
        }
        None => unsplit_blocksize(params.level, traits.high_ratio, nbytes),
    };
    round_to_items(wanted.min(nbytes), typesize)
}

/// The block size before splitting is considered, which is the same in Blosc 1 and 2.
fn unsplit_blocksize(level: u8, high_ratio: bool, nbytes: usize) -> usize {
    if nbytes < L1 {
        return nbytes;
    }
    // Codecs that aim at ratio start with a large overhead per block, so theirs are twice as large.
    let base = if high_ratio { 2 * L1 } else { L1 };
    match level {
        0 => base / 4,
        1 => base / 2,
        2 => base,
        3 => base * 2,
        4 | 5 => base * 4,
        6..=8 => base * 8,
        _ if high_ratio => base * 16,
        _ => base * 8,
    }
}

fn blosc1_splits(params: &EncodeParams, typesize: usize, blocksize: usize) -> bool {
    // The conditions on sizes apply under "always" as well: decoders of Blosc 1 rely on them.
    typesize <= BLOSC1_MAX_STREAMS
        && blocksize / typesize >= BLOSC1_MIN_STREAM
        && match params.split {
            SplitMode::Always => true,
            SplitMode::Never => false,
            SplitMode::Auto => params.codec == CodecId::BLOSCLZ,
            SplitMode::ForwardCompat => params.codec != CodecId::ZSTD,
        }
}

fn blosc1_blocksize(params: &EncodeParams, traits: &CodecTraits, nbytes: usize) -> usize {
    /// A third of what 31 bits hold: temporary buffers of Blosc 1 are three blocks long.
    const BLOSC1_MAX_BLOCKSIZE: usize = 715_827_542;
    let typesize = params.typesize;
    if nbytes < typesize {
        return 1;
    }
    let mut wanted = match params.block_size {
        // What Blosc 1 allows, but also what C-Blosc2 reads.
        Some(size) => size.clamp(BLOSC1_MIN_STREAM, BLOSC1_MAX_BLOCKSIZE.min(MAX_BLOCKSIZE)),
        None => unsplit_blocksize(params.level, traits.high_ratio, nbytes),
    };
    if params.block_size.is_none() && params.level > 0 && blosc1_splits(params, typesize, wanted) {
        wanted = (wanted.min(256 << 10) * typesize).clamp(64 << 10, 1 << 20);
    }
    round_to_items(wanted.min(nbytes), typesize)
}

/// Blocks larger than an item hold whole items.
fn round_to_items(size: usize, typesize: usize) -> usize {
    if size > typesize { size - size % typesize } else { size }
}
