//! Changing existing frames: appending, replacing and removing chunks, and copies without holes or with other
//! parameters.
//!
//! | to | use |
//! |---|---|
//! | append to a frame, or change chunks and metalayers | [`FrameEditor`] |
//! | remove the holes that this leaves | [`compact`] |
//! | copy a frame chunk by chunk, to another kind of place too | [`copy`] |
//! | encode it with other parameters | [`recompress`] |
//!
//! An editor never overwrites data that the frame consists of. New chunks, index and trailer go after its end (or into
//! new files, in a sparse frame); then one small write, or one rename, makes them part of the frame. Concurrent
//! readers, and readers after a crash, see all of the changes or none.
//!
//! That write lies within one 512-byte sector, which a disk writes as a whole or not at all. Changes that do not fit
//! (to a metalayer far into the header; to a frame without chunks, whose trailer must come right after the header)
//! replace the file: a copy is written, synced to the disk, and renamed.

mod append;
mod commit;
mod copy;
mod editor;
mod error;
mod metalayers;
mod options;
mod output;
mod state;
mod store;

pub(crate) use copy::with_layers_of;
pub use copy::{compact, copy, recompress};
pub use editor::FrameEditor;
pub use error::EditError;
pub use options::EditOptions;
pub(crate) use output::ChunkOutput;
pub use store::{FileStore, Store};
pub(crate) use store::{open_frame, open_with};
