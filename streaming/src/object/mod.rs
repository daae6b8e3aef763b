//! Frames in object stores: S3, GCS, Azure, and everything that speaks like them.
//!
//! | to write | use |
//! |---|---|
//! | a frame as one object | [`ObjectTarget`] |
//! | a sparse frame, an object for each chunk | [`ObjectPrefix`] with [`PlaceTarget`](crate::target::PlaceTarget) |
//! | something to read | [`ObjectSource`](crate::source::ObjectSource) |
//! | a sparse frame or array that several processes fill | [`ObjectPrefix`] with [`SharedWriter`](crate::SharedWriter) |

mod prefix;
mod runtime;
mod store;
mod target;
mod upload;

pub use crate::background::{Settle, settle};
pub use prefix::ObjectPrefix;
pub(crate) use runtime::detach;
pub use runtime::{Task, spawn};
pub(crate) use store::io_error;
pub use store::{StoreError, UploadStore};
pub use target::ObjectTarget;
