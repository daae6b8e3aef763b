//! Chooses chunk and block shapes.

use super::geometry::product;
use super::{Geometry, MAX_BLOCK_BYTES, MAX_CHUNK_BYTES, MAX_DIMS, NdError};

/// Chooses the shapes of chunks and blocks that are not given.
///
/// # How they are chosen
///
/// A **block** is what one core works on. It, the copies that filters make and the compressed result should fit into
/// the core's own cache (level 2), so it gets a quarter of that. A **chunk** is what all cores work on together, and it
/// is compressed while the next one is being filled. Two of them, decoded and compressed, should fit into the cache
/// that cores share (level 3), so it gets a quarter of that.
///
/// The shape of a chunk begins as that of the array. While it has too many bytes the longest axis is halved (rounded
/// up, so that chunks cover the array with little padding); among equal ones the first. The last axis counts as a
/// quarter of its length, because long runs of neighbours copy and compress better. Chunks come out as slices that are
/// cheap to read in any direction, a little longer than wide. A block begins as the chunk and is cut in the same way.
/// An axis of length 0 is treated as unbounded, so that arrays can grow along it.
///
/// When rows are to be streamed in, a slab of chunks has to be kept in memory: all chunks that share the same rows.
/// [`slab_bytes`](Self::slab_bytes) bounds it by halving the first axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Most bytes of a chunk.
    pub chunk_bytes: usize,
    /// Most bytes of a block.
    pub block_bytes: usize,
    /// Most bytes of all the chunks that share the same rows (the first axis), if that matters.
    pub slab_bytes: Option<usize>,
}

impl Default for Partition {
    /// For 1 MiB of level 2 cache and 16 MiB of level 3: blocks of 256 KiB, chunks of 4 MiB.
    fn default() -> Self {
        Self::for_caches(1 << 20, 16 << 20)
    }
}

/// How many times longer than the others the last axis may be.
const LAST_AXIS: u64 = 4;

/// The initial length of an unbounded axis. A power of two, so that halving it adds no padding.
const BOUNDLESS: u64 = 1 << 31;

impl Partition {
    /// A partition for caches of these sizes in bytes: level 2 of a core, and level 3, which cores share.
    pub fn for_caches(level2: usize, level3: usize) -> Self {
        Self { chunk_bytes: (level3 / 4).max(1), block_bytes: (level2 / 4).max(1), slab_bytes: None }
    }

    /// The geometry of an array of items of `item_size` bytes. Given shapes stay as they are; missing ones are chosen
    /// to match.
    ///
    /// # Errors
    /// A given shape has another rank than the array, or the array, its chunks or its blocks exceed what the format
    /// can hold.
    pub fn geometry(
        &self,
        shape: &[u64],
        item_size: usize,
        chunk_shape: Option<&[u32]>,
        block_shape: Option<&[u32]>,
    ) -> Result<Geometry, NdError> {
        if shape.len() > MAX_DIMS {
            return Err(NdError::TooManyDims { limit: MAX_DIMS, found: shape.len() });
        }
        for (what, given) in [("the chunk shape", chunk_shape), ("the block shape", block_shape)] {
            if let Some(given) = given.filter(|given| given.len() != shape.len()) {
                return Err(NdError::Rank { what, expected: shape.len(), found: given.len() });
            }
        }
        let chunk: Vec<u64> = match chunk_shape {
            Some(given) => given.iter().map(|&n| n.into()).collect(),
            None => self.choose_chunk(shape, item_size, block_shape),
        };
        let block: Vec<u64> = match block_shape {
            Some(given) => given.iter().map(|&n| n.into()).collect(),
            None => {
                let limit = (self.block_bytes as u64).min(MAX_BLOCK_BYTES);
                let mut block = chunk.clone();
                halve(&mut block, item_size, limit);
                block
            }
        };
        // Chosen lengths began at 31 bits, or were cut until they fit.
        let narrow = |lens: Vec<u64>| lens.into_iter().map(|n| u32::try_from(n).unwrap_or(u32::MAX)).collect();
        let geometry = Geometry { shape: shape.to_vec(), chunk_shape: narrow(chunk), block_shape: narrow(block) };
        geometry.clone().tile(item_size)?;
        Ok(geometry)
    }

    fn choose_chunk(&self, shape: &[u64], item_size: usize, block_shape: Option<&[u32]>) -> Vec<u64> {
        let mut chunk: Vec<_> = shape.iter().map(|&n| if n == 0 { BOUNDLESS } else { n }).collect();
        let limit = (self.chunk_bytes as u64).min(MAX_CHUNK_BYTES);
        if let (Some(slab), [rows, ..]) = (self.slab_bytes, &mut chunk[..]) {
            let row = product(shape[1..].iter().map(|&n| n.max(1))).and_then(|n| n.checked_mul(item_size as u64));
            while *rows > 1 && rows.checked_mul(row.unwrap_or(u64::MAX)).is_none_or(|bytes| bytes > slab as u64) {
                *rows = rows.div_ceil(2);
            }
        }
        halve(&mut chunk, item_size, limit);
        // Whole blocks, where blocks are given: a chunk stores those anyway.
        for (len, &block) in chunk.iter_mut().zip(block_shape.unwrap_or_default()) {
            *len = len.div_ceil(block.max(1).into()).saturating_mul(block.into());
        }
        chunk
    }
}

/// Halves the longest axis until the box has at most `limit` bytes, or a single item.
fn halve(lens: &mut [u64], item_size: usize, limit: u64) {
    let fits = |lens: &[u64]| {
        let bytes = product(lens.iter().copied()).and_then(|n| n.checked_mul(item_size as u64));
        bytes.is_some_and(|bytes| bytes <= limit) && lens.iter().all(|&n| n <= i32::MAX as u64)
    };
    while !fits(lens) {
        let last = lens.len().saturating_sub(1);
        let weight = |axis: usize, len: u64| if axis == last { len.div_ceil(LAST_AXIS) } else { len };
        // `rev` because `max_by_key` returns the last of equal ones.
        let longest = lens.iter().enumerate().rev().filter(|&(_, &n)| n > 1).max_by_key(|&(axis, &n)| weight(axis, n));
        let Some((axis, _)) = longest else { return };
        lens[axis] = lens[axis].div_ceil(2);
    }
}
