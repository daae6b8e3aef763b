//! Sparse frames: one file per chunk, and one for the index.

pub(crate) mod address;
pub(crate) mod directory;
mod target;

pub use target::SparseTarget;
