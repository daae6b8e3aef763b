//! Changing frames that exist: appending, replacing, removing; copies without holes or with other parameters.
//!
//! | to | use |
//! |---|---|
//! | append to a frame, or change chunks and metalayers | [`FrameEditor`] |
//! | remove the holes that this leaves | [`compact`] |
//! | copy a frame chunk by chunk, to another kind of place too | [`copy`] |
//! | encode it with other parameters | [`recompress`] |
//!
//! An editor never overwrites what the frame consists of. New chunks, index and trailer go behind its end (or into new
//! files, in a sparse frame); then one small write, or one rename, makes them the frame. Whoever reads the frame
//! meanwhile, and whoever finds it after a crash, sees all of the changes or none.
//!
//! That write lies within 512 bytes that a disk writes as a whole or not at all. Changes for which that is not enough
//! (of a metalayer far behind in the header; of a frame without chunks, whose trailer every reader looks for right behind
//! the header) replace the file: a copy is written, brought to the disk, and renamed.

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
pub(crate) use output::Output;
pub(crate) use store::open_frame;
pub use store::{FileStore, Store};
