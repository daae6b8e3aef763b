//! Frames in object stores: S3, GCS, Azure, and everything that speaks like them.
//!
//! | to write | use |
//! |---|---|
//! | a frame as one object | [`ObjectTarget`] |
//! | a sparse frame, an object for each chunk | [`ObjectPrefix`] with [`PlaceTarget`](crate::target::PlaceTarget) |
//! | something to read | [`ObjectSource`](crate::source::ObjectSource) |
//! | a sparse frame or array that several processes fill | [`ObjectPrefix`] with [`SharedWriter`](crate::SharedWriter) |

mod error;
mod prefix;
mod request;
mod runtime;
mod spooled;
mod streamed;
mod target;
mod upload;

/// The crate whose stores and paths are in the signatures of this one: programs that use it from here have the version
/// that fits.
///
/// The stores of S3, GCS, Azure and HTTP are in it with the features `aws`, `gcp`, `azure` and `http`; the one in
/// memory and the wrappers always are. What else it has, such as `LocalFileSystem` with its feature `fs`, is turned on by
/// a dependency on it beside the one on this crate.
#[doc(no_inline)]
pub use object_store;

pub use crate::background::{Settle, settle};
pub use error::StoreError;
pub(crate) use error::io_error;
pub use prefix::ObjectPrefix;
pub(crate) use runtime::detach;
pub use runtime::{Task, spawn};
pub use target::ObjectTarget;

/// Requests of one round in flight at a time.
pub(crate) const AT_ONCE: usize = 32;
