//! An open array.

use std::fmt;
use std::sync::Arc;

use oxiblosc_core::nd::{ArrayMeta, FrameSizes, Tiling};

use super::ArrayError;
use crate::reader::{FrameReader, ReadOptions};
use crate::source::RangeSource;

/// Reads an array (b2nd) from any [`RangeSource`]: of what is asked for, only the blocks that hold it are fetched and
/// decoded.
///
/// Clones share what is open; all methods take `&self` and may run at the same time.
pub struct NdArray<S> {
    pub(super) reader: FrameReader<S>,
    layout: Arc<ArrayLayout>,
}

#[derive(Debug)]
struct ArrayLayout {
    meta: ArrayMeta,
    tiling: Tiling,
}

impl<S: RangeSource + 'static> NdArray<S> {
    /// Opens the array at the beginning of `source`, with the default [`ReadOptions`].
    ///
    /// # Errors
    /// As [`FrameReader::open`] and [`NdArray::new`].
    pub async fn open(source: S) -> Result<Self, ArrayError> {
        Self::new(ReadOptions::new().open(source).await?)
    }

    /// Opens the array again where it is, to see what others have committed since: more rows, other values, another
    /// shape; whether it is another one. Clones, and what is being read from them, go on with the array as it was. See
    /// [`FrameReader::refresh`].
    ///
    /// # Errors
    /// As opening it. The array stays as it was then.
    pub async fn refresh(&mut self) -> Result<bool, ArrayError> {
        let mut reader = self.reader.clone();
        let changed = reader.refresh().await?;
        *self = Self::new(reader)?;
        Ok(changed)
    }
}

impl<S> NdArray<S> {
    /// The array in an open frame.
    ///
    /// # Errors
    /// [`ArrayError::NotAnArray`]; [`ArrayError::Nd`] when the metalayer is damaged or contradicts the frame.
    pub fn new(reader: FrameReader<S>) -> Result<Self, ArrayError> {
        let frame = reader.frame();
        let meta = ArrayMeta::find(frame.metalayers()).ok_or(ArrayError::NotAnArray)??;
        let tiling = meta.tiling(&FrameSizes::of(frame))?;
        Ok(Self { reader, layout: Arc::new(ArrayLayout { meta, tiling }) })
    }

    /// Length along each dimension.
    pub fn shape(&self) -> &[u64] {
        self.tiling().shape()
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.tiling().ndim()
    }

    /// The dtype exactly as stored: for NumPy `<f4`, `|S5`, `[('a', '<i4'), ('b', '<f8')]`.
    pub fn dtype(&self) -> Option<&str> {
        self.layout.meta.dtype.as_deref()
    }

    /// Bytes of an item.
    pub fn item_size(&self) -> usize {
        self.tiling().item_size()
    }

    /// Bytes of all items.
    pub fn nbytes(&self) -> u64 {
        self.tiling().array_bytes()
    }

    /// Length of a chunk along each dimension.
    pub fn chunk_shape(&self) -> &[u32] {
        &self.tiling().geometry().chunk_shape
    }

    /// Length of a block along each dimension.
    pub fn block_shape(&self) -> &[u32] {
        &self.tiling().geometry().block_shape
    }

    /// The metalayer.
    pub fn meta(&self) -> &ArrayMeta {
        &self.layout.meta
    }

    /// Where every item is stored.
    pub fn tiling(&self) -> &Tiling {
        &self.layout.tiling
    }

    /// The frame.
    pub fn reader(&self) -> &FrameReader<S> {
        &self.reader
    }
}

impl<S> Clone for NdArray<S> {
    fn clone(&self) -> Self {
        Self { reader: self.reader.clone(), layout: Arc::clone(&self.layout) }
    }
}

impl<S> fmt::Debug for NdArray<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NdArray")
            .field("shape", &self.shape())
            .field("chunk_shape", &self.chunk_shape())
            .field("block_shape", &self.block_shape())
            .field("dtype", &self.dtype())
            .finish_non_exhaustive()
    }
}
