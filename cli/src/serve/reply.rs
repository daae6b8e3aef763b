//! Answers and their bodies.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::connection::LogEntry;

/// What pages may do: run what is in them, and ask this server.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// An answer before it is sent.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    headers: HeaderMap,
    /// Length of the body.
    len: u64,
    content: Content,
    /// The turn of the request, which lasts until the body has been sent.
    turn: Option<OwnedSemaphorePermit>,
}

enum Content {
    Whole(Bytes),
    Pieces(BoxStream<'static, io::Result<Bytes>>),
}

impl Reply {
    /// A body that is at hand.
    pub(super) fn whole(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        Self::new(content_type, body.len() as u64, Content::Whole(body))
    }

    /// A body of `len` bytes that is made while it is sent. An error breaks the connection off, so that no client takes
    /// what it has for everything.
    pub(super) fn pieces(
        content_type: &'static str,
        len: u64,
        pieces: impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Self {
        Self::new(content_type, len, Content::Pieces(pieces.boxed()))
    }

    pub(super) fn json(value: &Value) -> Self {
        Self::whole("application/json", format!("{value:#}\n"))
    }

    pub(super) fn html(page: impl Into<Bytes>) -> Self {
        let policy = HeaderValue::from_static(POLICY);
        Self::whole("text/html; charset=utf-8", page).header(CONTENT_SECURITY_POLICY, policy)
    }

    fn new(content_type: &'static str, len: u64, content: Content) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
        // Kept, but only used after asking: frames may be appended to.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Self { status: StatusCode::OK, headers, len, content, turn: None }
    }

    pub(super) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// A header whose value is text; what cannot be in a header is left out.
    pub(super) fn text_header(self, name: &'static str, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(value) => self.header(HeaderName::from_static(name), value),
            Err(_) => self,
        }
    }

    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Keeps the turn of the request until the body has been sent or given up.
    pub(super) fn holding(mut self, turn: OwnedSemaphorePermit) -> Self {
        self.turn = Some(turn);
        self
    }

    /// The response, without a body for `HEAD`. Every byte of it is counted in `log`.
    pub(super) fn into_response(mut self, is_head: bool, mut log: LogEntry) -> Response<ReplyBody> {
        log.status = self.status;
        if self.status == StatusCode::NOT_MODIFIED {
            // Its headers are about a body that the client has.
            self.headers.remove(CONTENT_TYPE);
        } else {
            self.headers.insert(CONTENT_LENGTH, self.len.into());
        }
        let left = if is_head { 0 } else { self.len };
        let content = if is_head { Content::Whole(Bytes::new()) } else { self.content };
        let body = ReplyBody { left, content, log, _turn: self.turn };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// The body of a response.
pub(super) struct ReplyBody {
    left: u64,
    content: Content,
    log: LogEntry,
    _turn: Option<OwnedSemaphorePermit>,
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let body = &mut *self;
        if body.left == 0 {
            return Poll::Ready(None);
        }
        let piece = match &mut body.content {
            Content::Whole(bytes) => std::mem::take(bytes),
            Content::Pieces(pieces) => match futures::ready!(pieces.poll_next_unpin(cx)) {
                Some(Ok(piece)) => piece,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => Bytes::new(),
            },
        };
        // Nothing more where something must come, or more than was promised.
        if piece.is_empty() || piece.len() as u64 > body.left {
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        }
        body.left -= piece.len() as u64;
        body.log.sent += piece.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for ReplyBody {
    fn drop(&mut self) {
        self.log.is_cut = self.left > 0;
    }
}
