//! Sparse frames: one file per chunk, and one for the index.

pub(crate) mod address;
pub(crate) mod directory;
mod files;
mod memory;
mod place;
mod place_target;
mod replace;
mod shared;
mod target;

pub use files::Directory;
pub use memory::MemoryDirectory;
#[cfg(feature = "object_store")]
pub(crate) use place::index_exists;
pub use place::{IndexVersion, SparsePlace};
pub use place_target::PlaceTarget;
pub use shared::{Missing, ShareError, SharedWriter};
pub use target::SparseTarget;
