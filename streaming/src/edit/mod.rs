//! Changing existing frames: appending, replacing and removing chunks, and copies without holes or with other
//! parameters.
//!
//! | to | use |
//! |---|---|
//! | append to a frame, or change chunks and metalayers | [`FrameEditor`] |
//! | remove the holes that this leaves | [`compact`] |
//! | remove the chunks of a sparse frame that no index names | [`compact_place`] |
//! | copy a frame chunk by chunk, to another kind of place too | [`copy`] |
//! | encode it with other parameters | [`recompress`] |
//!
//! Editors are asynchronous; [`blocking`](crate::blocking) has the twins.
//!
//! An editor never overwrites data that the frame consists of. New chunks, index and trailer go after its end (or into
//! new files, in a sparse frame); then one small write, or one rename, makes them part of the frame. Concurrent
//! readers, and readers after a crash, see all of the changes or none.
//!
//! That write lies within one 512-byte sector, which a disk writes as a whole or not at all. Changes that do not fit
//! (to a metalayer far into the header; to a frame without chunks, whose trailer must come right after the header)
//! replace the file: a copy is written, synced to the disk, and renamed.

mod append;
mod coder;
mod commit;
mod compact_place;
mod copy;
mod decoded_output;
mod editor;
mod error;
mod frame_file;
mod frame_lock;
mod locked_file;
mod metalayers;
mod options;
mod output;
mod state;
mod storage;

pub(crate) use commit::EditorSnapshot;
pub use compact_place::compact_place;
pub(crate) use copy::{CopiedLayers, encodable, with_layers_of};
pub use copy::{compact, copy, recompress};
pub(crate) use decoded_output::DecodedOutput;
pub use editor::FrameEditor;
pub use error::EditError;
pub use frame_file::FrameFile;
pub(crate) use frame_file::{open_file, open_with};
pub use frame_lock::FrameLock;
pub use locked_file::LockedFile;
pub use options::EditOptions;
pub(crate) use output::ChunkOutput;
