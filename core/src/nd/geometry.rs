//! Shapes of an array, its chunks and its blocks.

use super::{NdError, Tiling};

/// Most dimensions that an array can have.
///
/// "positive fixnum for the number of dimensions (up to 127)" says the b2nd metalayer document, but C-Blosc2 stops
/// at 16 (at 8 before 2.21.3).
pub const MAX_DIMS: usize = 16;

/// Shapes, in items and in C order, of an array, its chunks and its blocks. All three have the same number of
/// dimensions; an array of no dimensions holds one item.
///
/// This is what the metalayer records and what plugins are told. It may hold anything: [`Geometry::tile`] checks it and
/// returns the [`Tiling`] that the rest of this module works with.
///
/// Source: b2nd metalayer document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Extent of the array along each dimension.
    pub shape: Vec<u64>,
    /// Extent of a chunk along each dimension. Need not divide the shape, and may exceed it.
    pub chunk_shape: Vec<u32>,
    /// Extent of a block along each dimension. Need not divide the chunk.
    pub block_shape: Vec<u32>,
}

impl Geometry {
    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of items in the array, or `None` if that does not fit 64 bits.
    pub fn items(&self) -> Option<u64> {
        product(self.shape.iter().copied())
    }

    /// Number of items in a block, or `None` if that does not fit 64 bits.
    pub fn block_items(&self) -> Option<u64> {
        product(self.block_shape.iter().map(|&n| n.into()))
    }

    /// Number of items that a chunk stores: those of the extended chunk, whole blocks along each axis. `None` if that
    /// does not fit 64 bits.
    pub fn stored_chunk_items(&self) -> Option<u64> {
        product(self.extended_chunk_shape())
    }

    /// Extent of a chunk along each dimension, rounded up to whole blocks. This is what a chunk stores.
    pub fn extended_chunk_shape(&self) -> impl Iterator<Item = u64> + '_ {
        let block = self.block_shape.iter();
        self.chunk_shape.iter().zip(block).map(|(&chunk, &block)| round_up(chunk.into(), block.into()))
    }

    /// Extent of the array along each dimension, rounded up to whole chunks.
    pub fn extended_shape(&self) -> impl Iterator<Item = u64> + '_ {
        let chunk = self.chunk_shape.iter();
        self.shape.iter().zip(chunk).map(|(&len, &chunk)| round_up(len, chunk.into()))
    }

    /// Checks the shapes and lays out an array of items of `item_size` bytes.
    ///
    /// # Errors
    /// The shapes contradict each other or the array, its chunks or its blocks exceed what the format can hold.
    pub fn tile(self, item_size: usize) -> Result<Tiling, NdError> {
        Tiling::new(self, item_size)
    }
}

/// The product, where a factor 0 wins over any overflow: an array with an empty axis is empty however long the
/// others are.
pub(super) fn product(factors: impl Iterator<Item = u64>) -> Option<u64> {
    let mut product = Some(1_u64);
    for factor in factors {
        if factor == 0 {
            return Some(0);
        }
        product = product.and_then(|p| p.checked_mul(factor));
    }
    product
}

/// `len` rounded up to a multiple of `unit`; 0 when the unit is 0, as C-Blosc2 has it for empty axes. Saturates, which
/// no value allowed by [`Tiling`] reaches.
pub(super) fn round_up(len: u64, unit: u64) -> u64 {
    if unit == 0 { 0 } else { len.div_ceil(unit).saturating_mul(unit) }
}
