//! What a store must offer to be written to.

use std::fmt;
use std::io;

use object_store::multipart::MultipartStore;
use object_store::{Error, ObjectStore};

/// An object store that takes the parts of an upload in any order: those of S3, GCS and Azure, and the one in memory.
///
/// The first part of a frame holds its header, whose totals are known last; so the part is uploaded last, which the
/// simpler upload interface of [`ObjectStore`] cannot express.
pub trait UploadStore: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> UploadStore for T {}

/// What a store says, in plain words: its own errors quote requests and answers, XML and all.
///
/// Inside of the [`io::Error`]s that come from object stores.
#[derive(Debug)]
pub struct StoreError {
    text: String,
    error: Error,
}

impl StoreError {
    fn new(error: Error) -> Self {
        let mut whole = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            whole.push_str(&error.to_string());
            cause = error.source();
        }
        let code = tagged(&whole, "Code").unwrap_or_default();
        let answer = match tagged(&whole, "Message") {
            Some(message) => format!("{code}: {message}"),
            None => code.to_owned(),
        };
        let text = match &error {
            Error::NotFound { .. } if code == "NoSuchBucket" => "there is no such bucket".to_owned(),
            Error::NotFound { path, .. } => format!("there is no object {path}"),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } if answer.is_empty() => {
                "the store denies access".to_owned()
            }
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                format!("the store denies access: {answer}")
            }
            error if answer.is_empty() => error.to_string(),
            _ => format!("the store answers {answer}"),
        };
        Self { text, error }
    }

    /// The error as the store has it.
    pub fn store_error(&self) -> &Error {
        &self.error
    }
}

/// What the answer of a store has in an element of XML.
fn tagged<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (content, _) = rest.split_once(&format!("</{name}>"))?;
    Some(content.trim()).filter(|content| !content.is_empty())
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// (Without a source: its text would say everything again.)
impl std::error::Error for StoreError {}

/// The error of a store as one of I/O, with a [`StoreError`] inside.
pub(crate) fn io_error(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        Error::AlreadyExists { .. } => io::ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
        Error::NotSupported { .. } | Error::NotImplemented { .. } => io::ErrorKind::Unsupported,
        Error::InvalidPath { .. } => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, StoreError::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_plain_words() {
        let xml = |code: &str| {
            let text =
                format!("403: <?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>Why not.</Message></Error>");
            Box::new(io::Error::other(text))
        };
        let path = || "a/b".to_owned();
        for (error, kind, text) in [
            (
                Error::NotFound { path: path(), source: xml("NoSuchKey") },
                io::ErrorKind::NotFound,
                "there is no object a/b",
            ),
            (
                Error::NotFound { path: path(), source: xml("NoSuchBucket") },
                io::ErrorKind::NotFound,
                "there is no such bucket",
            ),
            (
                Error::PermissionDenied { path: path(), source: xml("SignatureDoesNotMatch") },
                io::ErrorKind::PermissionDenied,
                "the store denies access: SignatureDoesNotMatch: Why not.",
            ),
            (
                Error::Generic { store: "S3", source: xml("SlowDown") },
                io::ErrorKind::Other,
                "the store answers SlowDown: Why not.",
            ),
            (
                Error::Generic { store: "S3", source: Box::new(io::Error::other("no connection")) },
                io::ErrorKind::Other,
                "Generic S3 error: no connection",
            ),
        ] {
            let error = io_error(error);
            assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<StoreError>()).expect("it is inside");
            assert!(!inner.store_error().to_string().is_empty());
        }
    }
}
