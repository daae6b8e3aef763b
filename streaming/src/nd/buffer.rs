//! Items that were read.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// Items of an array in C order, with their shape.
#[derive(Clone, PartialEq, Eq)]
pub struct NdBuffer {
    pub(super) shape: Vec<u64>,
    pub(super) dtype: Option<Arc<str>>,
    pub(super) item_size: usize,
    pub(super) bytes: Bytes,
}

impl NdBuffer {
    /// Length along each dimension. Axes along which a single item was asked for are gone.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The dtype exactly as stored: for NumPy `<f4`, `|S5`, `[('a', '<i4'), ('b', '<f8')]`.
    pub fn dtype(&self) -> Option<&str> {
        self.dtype.as_deref()
    }

    /// Bytes of an item.
    pub fn item_size(&self) -> usize {
        self.item_size
    }

    /// The items.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The items.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

/// Without the items, of which there may be many.
impl fmt::Debug for NdBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NdBuffer")
            .field("shape", &self.shape)
            .field("dtype", &self.dtype)
            .field("item_size", &self.item_size)
            .finish_non_exhaustive()
    }
}
