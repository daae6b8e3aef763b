//! The errors of object stores.

use std::fmt;
use std::io;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

use crate::kind::ErrorKind;

/// An error of a store as a short message: the store's own errors quote requests and responses, including XML.
///
/// Carried inside the [`io::Error`]s of object stores.
#[derive(Debug)]
pub struct StoreError {
    kind: ErrorKind,
    status: Option<u16>,
    text: String,
    /// The store's own words, where the text does not quote them.
    said: Option<Said>,
    error: Error,
}

/// The words of a store.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Said(String);

impl StoreError {
    fn new(error: Error) -> Self {
        let answer = ErrorDetails::of(&error);
        let kind = answer.kind(&error);
        let said = Some(answer.said()).filter(|said| kind == ErrorKind::NoSuchBucket && !said.is_empty()).map(Said);
        Self { kind, status: answer.status, text: answer.text(&error, kind), said, error }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The HTTP status of the response, if it is known.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The store's own error.
    pub fn store_error(&self) -> &Error {
        &self.error
    }
}

/// What can be extracted from the error of a store.
#[derive(Default)]
struct ErrorDetails {
    /// The full text of the error and its sources.
    whole: String,
    status: Option<u16>,
    /// What went wrong before there was a response.
    http: Option<HttpErrorKind>,
    /// The innermost error of the system.
    system: Option<(io::ErrorKind, String)>,
}

impl ErrorDetails {
    fn of(error: &Error) -> Self {
        let mut answer = Self { whole: error.to_string(), ..Self::default() };
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            answer.whole.push_str(&error.to_string());
            answer.http = error.downcast_ref().map(HttpError::kind).or(answer.http);
            if let Some(error) = error.downcast_ref::<io::Error>() {
                answer.system = Some((error.kind(), error.to_string()));
            }
            cause = error.source();
        }
        // The error with the status is private to its crate, so it is parsed from the text.
        let status = answer.whole.split_once("status code: ").and_then(|(_, rest)| rest.get(..3)?.parse().ok());
        answer.status = status;
        answer
    }

    fn code(&self) -> &str {
        tagged(&self.whole, "Code").unwrap_or_default()
    }

    fn no_bucket(&self) -> bool {
        matches!(self.code(), "NoSuchBucket" | "ContainerNotFound") || self.whole.contains("bucket does not exist")
    }

    fn kind(&self, error: &Error) -> ErrorKind {
        match error {
            // No matter what was requested.
            _ if self.no_bucket() => ErrorKind::NoSuchBucket,
            Error::NotFound { .. } => ErrorKind::NotFound,
            Error::AlreadyExists { .. } => ErrorKind::AlreadyExists,
            Error::Precondition { .. } => ErrorKind::Precondition,
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => ErrorKind::PermissionDenied,
            Error::NotSupported { .. } | Error::NotImplemented { .. } => ErrorKind::Unsupported,
            Error::InvalidPath { .. } => ErrorKind::InvalidInput,
            Error::JoinError { .. } => ErrorKind::Cancelled,
            _ => self.kind_of_failure(),
        }
    }

    /// The kind of a failure that the crate has no error variant for.
    fn kind_of_failure(&self) -> ErrorKind {
        // S3 sends some of these with a status of 200 or 400.
        match self.code() {
            "RequestTimeout" => return ErrorKind::TimedOut,
            "SlowDown" | "InternalError" | "ServiceUnavailable" | "ThrottlingException" | "OperationAborted" => {
                return ErrorKind::Transient;
            }
            "ExpiredToken" | "AccessDenied" | "InvalidToken" => return ErrorKind::PermissionDenied,
            _ => {}
        }
        match (self.status, self.http, &self.system) {
            (Some(408 | 504), ..) => ErrorKind::TimedOut,
            // 501 and 505 are about what the server supports at all.
            (Some(501 | 505), ..) => ErrorKind::Unsupported,
            (Some(425 | 429 | 500..=599), ..) => ErrorKind::Transient,
            (Some(_), ..) => ErrorKind::Other,
            (_, Some(HttpErrorKind::Timeout), _) => ErrorKind::TimedOut,
            (_, Some(HttpErrorKind::Connect | HttpErrorKind::Request | HttpErrorKind::Interrupted), _) => {
                ErrorKind::Transient
            }
            (_, _, Some((kind, _))) => ErrorKind::of_io(&io::Error::from(*kind)),
            _ => ErrorKind::Other,
        }
    }

    /// The code and message of the answer, or its status.
    fn said(&self) -> String {
        let code = self.code();
        match tagged(&self.whole, "Message") {
            Some(message) => format!("{code}: {message}"),
            None if !code.is_empty() => code.to_owned(),
            None => self.status.map(|status| format!("HTTP status {status}")).unwrap_or_default(),
        }
    }

    fn text(&self, error: &Error, kind: ErrorKind) -> String {
        let answer = self.said();
        let system = self.system.as_ref().map(|(_, text)| format!(": {text}")).unwrap_or_default();
        match error {
            _ if kind == ErrorKind::NoSuchBucket => match tagged(&self.whole, "BucketName") {
                Some(name) => format!("the bucket {name} does not exist"),
                None => "the bucket does not exist".to_owned(),
            },
            Error::NotFound { path, .. } => format!("there is no object {path}"),
            Error::AlreadyExists { path, .. } => format!("there is an object {path} already"),
            Error::Precondition { path, .. } => format!("somebody else has changed the object {path}"),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } if answer.is_empty() => {
                "the store denies access".to_owned()
            }
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                format!("the store denies access: {answer}")
            }
            _ if !answer.is_empty() => format!("the store answers {answer}"),
            _ => match self.http {
                Some(HttpErrorKind::Connect) => format!("the store cannot be reached{system}"),
                Some(HttpErrorKind::Timeout) => "the store did not answer in time".to_owned(),
                Some(HttpErrorKind::Request | HttpErrorKind::Interrupted) => {
                    format!("the connection to the store broke{system}")
                }
                // What follows the first tag is a quoted response.
                _ => error.to_string().split('<').next().unwrap_or_default().trim_end().to_owned(),
            },
        }
    }
}

/// The content of an XML element in the response of a store.
fn tagged<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (content, _) = rest.split_once(&format!("</{name}>"))?;
    Some(content.trim()).filter(|content| !content.is_empty() && !content.contains('<'))
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// (The error of the store itself is not the source: its text would repeat everything.)
impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.said.as_ref().map(|said| said as _)
    }
}

/// The error of a store as an I/O error, with a [`StoreError`] inside.
pub(crate) fn io_error(error: Error) -> io::Error {
    let error = StoreError::new(error);
    io::Error::new(error.kind.to_io(), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the request, including those that `object_store` has no error variant for.
    #[test]
    fn a_bucket_that_does_not_exist() {
        let xml = |name: &str| {
            let words = "<Code>NoSuchBucket</Code><Message>No such bucket here.</Message>";
            Box::new(io::Error::other(format!("404: <?xml version=\"1.0\"?><Error>{words}{name}</Error>")))
        };
        for (name, text) in
            [("<BucketName>b</BucketName>", "the bucket b does not exist"), ("", "the bucket does not exist")]
        {
            for error in [
                Error::NotFound { path: "a/b".to_owned(), source: xml(name) },
                Error::Generic { store: "S3", source: xml(name) },
            ] {
                let error = io_error(error);
                assert_eq!((ErrorKind::of_io(&error), error.to_string().as_str()), (ErrorKind::NoSuchBucket, text));
                let chain = oxiblosc_core::Chain(&error).to_string();
                assert_eq!(chain, format!("{text}: NoSuchBucket: No such bucket here."));
            }
        }
    }

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
                "the bucket does not exist",
            ),
            (
                Error::PermissionDenied { path: path(), source: xml("SignatureDoesNotMatch") },
                io::ErrorKind::PermissionDenied,
                "the store denies access: SignatureDoesNotMatch: Why not.",
            ),
            (
                Error::Generic { store: "S3", source: xml("SlowDown") },
                io::ErrorKind::ResourceBusy,
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
