//! Failures as answers.

use std::error::Error;

use hyper::StatusCode;
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER};
use oxiblosc::ErrorKind;
use serde_json::json;

use super::reply::Reply;
use crate::error::one_line;

/// A request that failed: a status, and a line that says why.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    message: String,
    /// What was opened is there no longer.
    stale: bool,
}

impl Failure {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), stale: false }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// Nothing that is served has the name. What is not served and what does not exist look the same.
    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such frame or directory")
    }

    pub(super) fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests at the same time")
    }

    /// Whether the frame was replaced since it was opened.
    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let kind = ErrorKind::of(&error);
        let status = match kind {
            ErrorKind::NotFound | ErrorKind::NoSuchBucket => return Self::not_found(),
            ErrorKind::PermissionDenied => return Self::new(StatusCode::FORBIDDEN, "it may not be read"),
            ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
            ErrorKind::Limit => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::NoProvider => StatusCode::NOT_IMPLEMENTED,
            ErrorKind::Transient | ErrorKind::TimedOut | ErrorKind::OutOfMemory | ErrorKind::Replaced => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, message: one_line(&error), stale: kind == ErrorKind::Replaced }
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        let mut reply = Self::json(&json!({ "status": failure.status.as_u16(), "message": failure.message }));
        reply.status = failure.status;
        match failure.status {
            StatusCode::SERVICE_UNAVAILABLE => reply.header(RETRY_AFTER, HeaderValue::from_static("1")),
            StatusCode::METHOD_NOT_ALLOWED => reply.header(ALLOW, HeaderValue::from_static("GET, HEAD")),
            _ => reply,
        }
    }
}
