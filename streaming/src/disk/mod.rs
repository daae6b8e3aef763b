//! Files: reads and writes at positions, on this thread or on one that may block.

mod append;
mod directory;
mod links;
mod lock;
mod mode;
mod positioned;

pub(crate) use append::AppendFile;
pub(crate) use directory::{parent_of, sync_directory, temporary_beside};
pub(crate) use links::follow_links;
pub(crate) use lock::{Handle, TRIES, is_at, lock, lock_later, replaced_by_another};
pub use mode::IoMode;
pub(crate) use mode::IoTask;
pub(crate) use positioned::PositionedFile;
