//! What a store must offer to be written to.

use std::io;

use object_store::multipart::MultipartStore;
use object_store::{Error, ObjectStore};

/// An object store that takes the parts of an upload in any order: those of S3, GCS and Azure, and the one in memory.
///
/// The first part of a frame holds its header, whose totals are known last; so the part is uploaded last, which the
/// simpler upload interface of [`ObjectStore`] cannot express.
pub trait UploadStore: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> UploadStore for T {}

/// The error of a store as one of I/O, with the store's own inside.
pub(crate) fn io_error(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        Error::AlreadyExists { .. } => io::ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
        Error::NotSupported { .. } | Error::NotImplemented { .. } => io::ErrorKind::Unsupported,
        Error::InvalidPath { .. } => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
