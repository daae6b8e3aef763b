//! Files: reads and writes at positions, on this thread or on one that may block.

mod append;
mod directory;
mod links;
mod lock;
mod mode;
mod positioned;
mod publish;

pub(crate) use append::AppendFile;
pub(crate) use directory::{
    parent_of, replace_file, sync_directory, temporary_beside, temporary_directory_beside, temporary_of, write_beside,
};
pub(crate) use links::follow_links;
pub(crate) use lock::{Handle, TRIES, is_at, lock, lock_later, replaced_by_another};
pub use mode::IoMode;
pub(crate) use mode::IoTask;
pub(crate) use positioned::PositionedFile;
pub(crate) use publish::{Publication, Temporary};
