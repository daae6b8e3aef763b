//! Sparse frames: one file per chunk, and one for the index.

mod clear;
mod commit;
pub(crate) mod directory;
mod error;
mod files;
mod memory;
mod place;
mod place_target;
mod plan_file;
mod replace;
mod shared;
mod shared_plan;
mod target;

pub use clear::{clear, clear_with};
pub use commit::MissingChunks;
pub use error::ShareError;
pub use files::Directory;
pub use memory::MemoryDirectory;
pub(crate) use place::whole_chunk;
#[cfg(feature = "object_store")]
pub(crate) use place::written_by_another;
pub use place::{ConditionalPutsIgnored, FileVersion, SparsePlace};
pub use place_target::PlaceTarget;
#[cfg(feature = "object_store")]
pub(crate) use plan_file::CLAIM_FILE;
pub(crate) use plan_file::{begin_clearing, check_editable, end_clearing, random_id, remove_chunks};
pub use shared::SharedWriter;
pub use target::SparseTarget;
