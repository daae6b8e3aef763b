//! How an array is cut into chunks and blocks.

use super::geometry::{product, round_up};
use super::{Geometry, MAX_DIMS, NdError};

/// Most bytes that a chunk can decode to.
///
/// Sizes in the chunk header are 32-bit signed integers, and C-Blosc2 reserves the 32 bytes of the header in them.
pub const MAX_CHUNK_BYTES: u64 = i32::MAX as u64 - 32;

/// Most bytes that a block can decode to in C-Blosc2.
pub const MAX_BLOCK_BYTES: u64 = 536_866_816;

/// Most chunks that a frame can hold: the index, 8 bytes for each, is itself a chunk.
pub const MAX_CHUNKS: u64 = i32::MAX as u64 / 8;

/// A checked [`Geometry`] with the size of an item: where every item of the array is stored.
///
/// The array is cut into a grid of chunks, and every chunk into a grid of blocks. Chunks are numbered in C order of
/// their grid, blocks in C order of theirs inside the chunk, and the items of a block are in C order. Chunks at the far
/// edges, and blocks at the far edges of a chunk, extend beyond them. All are stored at full size, and what lies beyond
/// is padding without meaning (zero if written here).
///
/// Every product of these lengths was checked on construction, so the arithmetic of this module cannot overflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiling {
    geometry: Geometry,
    item_size: usize,
    axes: Vec<AxisTiling>,
    chunk_count: u64,
    blocks_per_chunk: usize,
    block_bytes: usize,
    chunk_bytes: usize,
}

/// One axis of a [`Tiling`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AxisTiling {
    /// Length of the array.
    pub(super) len: u64,
    /// Length of a chunk.
    pub(super) chunk: u64,
    /// Length of a block.
    pub(super) block: u64,
    /// Number of chunks along the axis.
    pub(super) chunks: u64,
    /// Number of blocks along the axis in a chunk.
    pub(super) blocks: u64,
    /// By how much the chunk number grows from one chunk to the next along the axis.
    pub(super) chunk_stride: u64,
    /// By how much the block number grows from one block to the next along the axis.
    pub(super) block_stride: usize,
    /// Bytes from one item to the next along the axis, inside a block.
    pub(super) item_stride: usize,
}

impl AxisTiling {
    /// How many items of the chunk at `position` along the axis belong to the array.
    pub(super) fn visible(&self, position: u64) -> u64 {
        self.len.saturating_sub(position.saturating_mul(self.chunk)).min(self.chunk)
    }
}

impl Tiling {
    /// Lays out an array of items of `item_size` bytes.
    ///
    /// # Errors
    /// See [`Geometry::tile`].
    pub fn new(geometry: Geometry, item_size: usize) -> Result<Self, NdError> {
        let ndim = geometry.ndim();
        if ndim > MAX_DIMS {
            return Err(NdError::TooManyDims { limit: MAX_DIMS, found: ndim });
        }
        for (what, found) in
            [("the chunk shape", geometry.chunk_shape.len()), ("the block shape", geometry.block_shape.len())]
        {
            if found != ndim {
                return Err(NdError::Rank { what, expected: ndim, found });
            }
        }
        if item_size == 0 {
            return Err(NdError::ItemSize);
        }
        let mut axes = Vec::with_capacity(ndim);
        for axis in 0..ndim {
            axes.push(Self::axis(&geometry, axis)?);
        }

        // Stored sizes. The item size may be any 64-bit number, so every product is checked.
        let item = item_size as u64;
        let bytes = |what, limit, items: Option<u64>| {
            let found = items.and_then(|n| n.checked_mul(item));
            found.filter(|&n| n <= limit).ok_or(NdError::TooLarge { what, limit, found })
        };
        let block_bytes = bytes("a block", MAX_BLOCK_BYTES, geometry.block_items())?;
        let chunk_bytes = bytes("a chunk", MAX_CHUNK_BYTES, geometry.stored_chunk_items())?;
        let chunks = product(axes.iter().map(|a| a.chunks));
        let too_many = NdError::TooLarge { what: "the number of chunks", limit: MAX_CHUNKS, found: chunks };
        let chunk_count = chunks.filter(|&n| n <= MAX_CHUNKS).ok_or(too_many)?;
        // C-Blosc2 refuses shapes whose product does not fit a signed 64-bit integer, even after rounding up.
        let limit = i64::MAX as u64;
        bytes("the array", limit, geometry.items())?;
        bytes("the array in whole chunks", limit, product(geometry.extended_shape()))?;

        // Strides, innermost axis first. Where a length is 0 there is nothing to number, and the products of the
        // other lengths are not bounded by anything: the strides stay 0.
        let (mut chunk_stride, mut block_stride, mut item_stride) = (1, 1, item_size);
        for axis in axes.iter_mut().rev() {
            (axis.chunk_stride, axis.block_stride, axis.item_stride) = (chunk_stride, block_stride, item_stride);
            chunk_stride = if chunk_count == 0 { 0 } else { chunk_stride * axis.chunks };
            block_stride = if chunk_bytes == 0 { 0 } else { block_stride * axis.blocks as usize };
            item_stride = if block_bytes == 0 { 0 } else { item_stride * axis.block as usize };
        }
        let blocks_per_chunk = if chunk_bytes == 0 { 0 } else { block_stride };
        Ok(Self {
            geometry,
            item_size,
            axes,
            chunk_count,
            blocks_per_chunk,
            block_bytes: block_bytes as usize,
            chunk_bytes: chunk_bytes as usize,
        })
    }

    /// Checks the three lengths along one axis, as C-Blosc2 does when it opens an array.
    fn axis(geometry: &Geometry, axis: usize) -> Result<AxisTiling, NdError> {
        let len = geometry.shape[axis];
        let (chunk, block) = (u64::from(geometry.chunk_shape[axis]), u64::from(geometry.block_shape[axis]));
        let limit = i64::MAX as u64;
        if len > limit {
            return Err(NdError::TooLarge { what: "a dimension of the array", limit, found: Some(len) });
        }
        for (what, found) in [("the chunk length", chunk), ("the block length", block)] {
            // The metalayer stores them as 32-bit signed integers.
            if found > i32::MAX as u64 {
                return Err(NdError::TooLarge { what, limit: i32::MAX as u64, found: Some(found) });
            }
        }
        if chunk == 0 && len > 0 {
            let expected = "at least 1 because the array is not empty along it";
            return Err(NdError::Extent { what: "the chunk length", axis, expected, found: 0 });
        }
        if block == 0 && chunk > 0 {
            let expected = "at least 1 because the chunk is not empty along it";
            return Err(NdError::Extent { what: "the block length", axis, expected, found: 0 });
        }
        Ok(AxisTiling {
            len,
            chunk,
            block,
            chunks: if chunk == 0 { 0 } else { len.div_ceil(chunk) },
            blocks: if chunk == 0 { 0 } else { chunk.div_ceil(block) },
            chunk_stride: 0,
            block_stride: 0,
            item_stride: 0,
        })
    }

    /// The same chunks and blocks for an array of another shape of the same rank.
    ///
    /// # Errors
    /// As [`Geometry::tile`]; also an axis whose chunk length is 0 cannot grow.
    pub fn with_shape(&self, shape: &[u64]) -> Result<Self, NdError> {
        Geometry { shape: shape.to_vec(), ..self.geometry.clone() }.tile(self.item_size)
    }

    /// The shapes.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Bytes of an item.
    pub fn item_size(&self) -> usize {
        self.item_size
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.axes.len()
    }

    /// Extent of the array along each dimension.
    pub fn shape(&self) -> &[u64] {
        &self.geometry.shape
    }

    /// Bytes of the array in C order, without any padding.
    pub fn array_bytes(&self) -> u64 {
        // Both products were checked on construction.
        self.geometry.items().unwrap_or(0) * self.item_size as u64
    }

    /// Decoded bytes of a block.
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Decoded bytes of a chunk, padding included: the frame's chunk size. Always a multiple of
    /// [`block_bytes`](Self::block_bytes).
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Decoded bytes of all chunks: the frame's uncompressed size.
    pub fn stored_bytes(&self) -> u64 {
        self.chunk_count * self.chunk_bytes as u64
    }

    /// Number of chunks; 0 when the array is empty.
    pub fn chunk_count(&self) -> u64 {
        self.chunk_count
    }

    /// Number of blocks in a chunk.
    pub fn blocks_per_chunk(&self) -> usize {
        self.blocks_per_chunk
    }

    /// Number of chunks along each dimension.
    pub fn chunk_grid(&self) -> impl ExactSizeIterator<Item = u64> + DoubleEndedIterator + '_ {
        self.axes.iter().map(|axis| axis.chunks)
    }

    /// Number of blocks of a chunk along each dimension.
    pub fn block_grid(&self) -> impl ExactSizeIterator<Item = u64> + DoubleEndedIterator + '_ {
        self.axes.iter().map(|axis| axis.blocks)
    }

    /// Number of the chunk at a position of the grid, or `None` if there is none.
    pub fn chunk_at(&self, position: &[u64]) -> Option<u64> {
        if position.len() != self.ndim() || self.chunk_count == 0 {
            return None;
        }
        let mut number = 0;
        for (axis, &at) in self.axes.iter().zip(position) {
            if at >= axis.chunks {
                return None;
            }
            number += at * axis.chunk_stride;
        }
        Some(number)
    }

    /// Position in the grid of a chunk.
    ///
    /// # Errors
    /// The array has no such chunk.
    pub fn chunk_position(&self, number: u64) -> Result<Vec<u64>, NdError> {
        if number >= self.chunk_count {
            return Err(NdError::NoSuchChunk { found: number, count: self.chunk_count });
        }
        Ok(self.axes.iter().map(|axis| number / axis.chunk_stride % axis.chunks).collect())
    }

    /// The part of the array that a chunk holds, its padding left out: first index and length along each dimension.
    ///
    /// # Errors
    /// The array has no such chunk.
    pub fn chunk_window(&self, number: u64) -> Result<Window, NdError> {
        let position = self.chunk_position(number)?;
        let axes = || self.axes.iter().zip(&position);
        Ok(Window {
            origin: axes().map(|(axis, &at)| at * axis.chunk).collect(),
            shape: axes().map(|(axis, &at)| axis.visible(at)).collect(),
        })
    }

    /// Where an item is stored.
    ///
    /// # Errors
    /// The index has another number of dimensions or is outside the array.
    pub fn locate(&self, index: &[u64]) -> Result<ItemPosition, NdError> {
        if index.len() != self.ndim() {
            return Err(NdError::Rank { what: "the index", expected: self.ndim(), found: index.len() });
        }
        if let Some(axis) = (0..self.ndim()).find(|&axis| index[axis] >= self.axes[axis].len) {
            let found = i64::try_from(index[axis]).unwrap_or(i64::MAX);
            return Err(NdError::OutOfBounds { axis, index: found, len: self.axes[axis].len });
        }
        let mut location = ItemPosition { chunk: 0, block: 0, offset: 0 };
        for (axis, &at) in self.axes.iter().zip(index) {
            let in_chunk = at % axis.chunk;
            location.chunk += at / axis.chunk * axis.chunk_stride;
            location.block += (in_chunk / axis.block) as usize * axis.block_stride;
            location.offset += (in_chunk % axis.block) as usize * axis.item_stride;
        }
        Ok(location)
    }

    pub(super) fn axes(&self) -> &[AxisTiling] {
        &self.axes
    }

    /// The window that is the whole array.
    pub fn whole(&self) -> Window {
        Window { origin: vec![0; self.ndim()], shape: self.shape().to_vec() }
    }

    /// Extent of a chunk along each dimension, rounded up to whole blocks.
    pub fn extended_chunk_shape(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.axes.iter().map(|axis| round_up(axis.chunk, axis.block))
    }
}

/// Where an item is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ItemPosition {
    /// Number of the chunk.
    pub chunk: u64,
    /// Number of the block in the chunk.
    pub block: usize,
    /// Offset in bytes of the item in the decoded block.
    pub offset: usize,
}

/// A box of an array: the part that a C-order buffer holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    /// First index along each dimension.
    pub origin: Vec<u64>,
    /// Length along each dimension.
    pub shape: Vec<u64>,
}
