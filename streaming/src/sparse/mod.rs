//! Sparse frames: one file per chunk, and one for the index.

pub(crate) mod address;
mod claim;
mod clear;
mod commit;
pub(crate) mod directory;
mod error;
mod files;
mod memory;
mod place;
mod place_target;
mod plan;
mod replace;
mod shared;
mod target;

#[cfg(feature = "object_store")]
pub(crate) use claim::{CLAIM_FILE, lot};
pub use clear::clear;
pub use commit::Missing;
pub use error::ShareError;
pub use files::Directory;
pub use memory::MemoryDirectory;
#[cfg(feature = "object_store")]
pub(crate) use place::written_by_another;
pub use place::{ConditionalPutsIgnored, FileVersion, SparsePlace};
pub use place_target::PlaceTarget;
pub use shared::SharedWriter;
pub use target::SparseTarget;
