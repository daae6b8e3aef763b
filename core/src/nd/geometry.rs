//! Shapes of an array, its chunks and its blocks.

/// Shapes, in items and in C order, of an array, its chunks and its blocks. All three have the same number of
/// dimensions.
///
/// Source: b2nd metalayer document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Extent of the array along each dimension.
    pub shape: Vec<u64>,
    /// Extent of a chunk along each dimension.
    pub chunk_shape: Vec<u32>,
    /// Extent of a block along each dimension.
    pub block_shape: Vec<u32>,
}

impl Geometry {
    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }
}
