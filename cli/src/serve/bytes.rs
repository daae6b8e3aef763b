//! The bytes of a file, or a range of them: RFC 9110, sections 13 and 14.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::stream;
use hyper::header::{
    ACCEPT_RANGES, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, RANGE, VARY,
};
use hyper::{Request, StatusCode};
use oxiblosc::IoMode;
use oxiblosc::source::{FileSource, RangeSource};

use super::failure::Failure;
use super::frames::{Version, open};
use super::reply::Reply;
use super::shares::Place;
use super::target::{Target, View, encoded};

/// Bytes that are read at a time.
const PIECE: u64 = 256 << 10;
/// The same for what is remote, where each is a request.
const REMOTE_PIECE: u64 = 2 << 20;
/// A time of change tells versions apart only if it is older than what is counted.
const SETTLED: Duration = Duration::from_secs(2);

/// The bytes of a frame.
pub(super) async fn of<B>(place: Place, request: &Request<B>, target: &Target) -> Result<Reply, Failure> {
    match place {
        Place::File(path) => of_file(path, request, target).await,
        Place::Remote(object) if !object.is_prefix() => {
            let source = object.open().await?;
            if source.chunk_files().is_some() {
                return Err(no_single_file());
            }
            let (len, _) = source.open(1).await?;
            let validators = Validators { etag: None, modified: None };
            Ok(answer(source, len, REMOTE_PIECE, &validators, request, target))
        }
        Place::Remote(_) | Place::Sparse(_) => Err(no_single_file()),
    }
}

fn no_single_file() -> Failure {
    let message = "a sparse frame has no bytes of its own: it is read by its files, such as chunks.b2frame below it";
    Failure::new(StatusCode::NOT_FOUND, message)
}

/// The bytes of a local file.
pub(super) async fn of_file<B>(path: PathBuf, request: &Request<B>, target: &Target) -> Result<Reply, Failure> {
    let (file, version) = open(path).await?;
    let Version::Local { len, modified, number } = version else { return Err(Failure::not_found()) };
    let since = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    let etag = format!("\"{len:x}-{:x}-{number:x}\"", since.as_nanos());
    let source = Arc::new(FileSource::new(file, IoMode::Offloaded));
    let validators = Validators { etag: Some(etag), modified };
    Ok(answer(source, len, PIECE, &validators, request, target))
}

fn answer<B>(
    source: Arc<dyn RangeSource>,
    len: u64,
    piece: u64,
    validators: &Validators,
    request: &Request<B>,
    target: &Target,
) -> Reply {
    let headers = request.headers();
    let now = SystemTime::now();
    let reply = match validators.judge(headers, now) {
        Some(status) => Reply::whole("application/octet-stream", "").with_status(status),
        None => match wanted(headers, len).filter(|_| validators.allow_range(headers, now)) {
            Some(Wanted::Nothing) => Reply::whole("application/octet-stream", "")
                .with_status(StatusCode::RANGE_NOT_SATISFIABLE)
                .text_header("content-range", &format!("bytes */{len}")),
            Some(Wanted::Part(range)) => {
                let content_range = format!("bytes {}-{}/{len}", range.start, range.end - 1);
                body(source, range, piece)
                    .with_status(StatusCode::PARTIAL_CONTENT)
                    .text_header("content-range", &content_range)
            }
            None => body(source, 0..len, piece),
        },
    };
    let reply = validators.describe(reply, now).header(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    // Browsers get a page of the same URL.
    let reply = reply.header(VARY, HeaderValue::from_static("accept"));
    match (&target.view, target.path.last()) {
        (View::Download, Some(name)) => {
            let value = format!("attachment; filename*=UTF-8''{}", encoded(name));
            reply.text_header("content-disposition", &value)
        }
        _ => reply,
    }
}

/// A body of pieces that are read one after the other, each when the one before has been taken.
fn body(source: Arc<dyn RangeSource>, range: Range<u64>, piece: u64) -> Reply {
    let len = range.end - range.start;
    let pieces = stream::unfold(range, move |rest| {
        let source = Arc::clone(&source);
        async move {
            if rest.is_empty() {
                return None;
            }
            let end = rest.end.min(rest.start.saturating_add(piece));
            let read: io::Result<Bytes> = source.read_range(rest.start..end).await;
            let next = if read.is_ok() { end..rest.end } else { rest.end..rest.end };
            Some((read, next))
        }
    });
    Reply::pieces("application/octet-stream", len, pieces)
}

/// What a header `Range` asks for.
#[derive(Debug, PartialEq)]
enum Wanted {
    Part(Range<u64>),
    /// A range that begins behind the end.
    Nothing,
}

/// The range of a request. Without one, and where several are asked for or none can be understood, everything is sent:
/// section 14.2 allows it.
fn wanted(headers: &HeaderMap, len: u64) -> Option<Wanted> {
    let mut values = headers.get_all(RANGE).iter();
    let (value, more) = (values.next()?.to_str().ok()?, values.next());
    let (unit, range) = value.split_once('=')?;
    if more.is_some() || !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = range.trim().split_once('-')?;
    let number = |text: &str| -> Option<u64> {
        // More than 64 bits hold is behind every end.
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let range = match (first, last) {
        ("", last) => len.saturating_sub(number(last)?)..len,
        (first, "") => number(first)?..len,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..len.min(last.saturating_add(1))
        }
    };
    Some(if range.is_empty() { Wanted::Nothing } else { Wanted::Part(range) })
}

/// What tells versions of a file apart.
struct Validators {
    etag: Option<String>,
    modified: Option<SystemTime>,
}

impl Validators {
    fn describe(&self, reply: Reply, now: SystemTime) -> Reply {
        let reply = match &self.etag {
            Some(etag) => reply.text_header("etag", etag),
            None => reply,
        };
        // Some clients do not read what has no time; that of now is never wrong.
        let modified = self.modified.filter(|time| *time <= now).unwrap_or(now);
        reply.text_header("last-modified", &httpdate::fmt_http_date(modified))
    }

    /// Whether a condition of the request is not fulfilled, in the order of section 13.2.2.
    fn judge(&self, headers: &HeaderMap, now: SystemTime) -> Option<StatusCode> {
        if let Some(is_listed) = self.is_listed(headers, &IF_MATCH, false) {
            if !is_listed {
                return Some(StatusCode::PRECONDITION_FAILED);
            }
        } else if let (Some(time), Some(modified)) = (date(headers, &IF_UNMODIFIED_SINCE), self.seconds())
            && modified > time
        {
            return Some(StatusCode::PRECONDITION_FAILED);
        }
        if let Some(is_listed) = self.is_listed(headers, &IF_NONE_MATCH, true) {
            return is_listed.then_some(StatusCode::NOT_MODIFIED);
        }
        let is_old = |time| self.seconds().is_some_and(|modified| modified <= time && self.is_settled(now));
        date(headers, &IF_MODIFIED_SINCE).filter(|time| is_old(*time)).map(|_| StatusCode::NOT_MODIFIED)
    }

    /// Whether a range is for the version that is there: with another one, everything is sent.
    fn allow_range(&self, headers: &HeaderMap, now: SystemTime) -> bool {
        let Some(value) = headers.get(IF_RANGE) else { return true };
        let Ok(value) = value.to_str() else { return false };
        if value.starts_with('"') || value.starts_with("W/") {
            return self.etag.as_deref() == Some(value);
        }
        httpdate::parse_http_date(value).is_ok_and(|time| self.seconds() == Some(time)) && self.is_settled(now)
    }

    /// Whether a header lists the tag of this version, or stands for any; `None` without the header. Weak tags are
    /// never the same as ours, unless the comparison `is_weak` itself.
    fn is_listed(&self, headers: &HeaderMap, name: &HeaderName, is_weak: bool) -> Option<bool> {
        let mut values = headers.get_all(name).iter().peekable();
        values.peek()?;
        let mut tags = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim);
        let own = self.etag.as_deref();
        Some(tags.any(|tag| {
            let tag = if is_weak { tag.strip_prefix("W/").unwrap_or(tag) } else { tag };
            tag == "*" || own == Some(tag)
        }))
    }

    /// When the file changed, in the whole seconds that headers have.
    fn seconds(&self) -> Option<SystemTime> {
        let since = self.modified?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs()))
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        self.modified.is_some_and(|time| now.duration_since(time).is_ok_and(|age| age >= SETTLED))
    }
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a value"))).collect()
    }

    #[test]
    fn ranges() {
        let range = |value: &str, len| wanted(&headers(&[("range", value)]), len);
        let part = |range| Some(Wanted::Part(range));
        assert_eq!(range("bytes=0-0", 10), part(0..1));
        assert_eq!(range("bytes=3-", 10), part(3..10));
        assert_eq!(range("bytes=3-99", 10), part(3..10));
        assert_eq!(range("bytes=-3", 10), part(7..10));
        assert_eq!(range("bytes=-30", 10), part(0..10));
        assert_eq!(range("Bytes= 1-2", 10), part(1..3));
        assert_eq!(range("bytes=0-99999999999999999999", 10), part(0..10));
        for value in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(range(value, 10), Some(Wanted::Nothing), "{value}");
        }
        assert_eq!(range("bytes=0-", 0), Some(Wanted::Nothing));
        for value in
            ["bytes=5-3", "bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=a-b", "items=0-1", "bytes 0-1", "bytes=+1-2"]
        {
            assert_eq!(range(value, 10), None, "{value}");
        }
    }

    #[test]
    fn conditions() {
        let modified = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 5);
        let now = modified + Duration::from_secs(100);
        let validators = Validators { etag: Some("\"a\"".into()), modified: Some(modified) };
        let at = |seconds| httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let (same, before, after) = (at(1_000_000_000), at(999_999_999), at(1_000_000_001));
        let judge =
            |pairs: &[(&'static str, &str)]| validators.judge(&headers(pairs), now).map(|status| status.as_u16());
        assert_eq!(judge(&[]), None);
        assert_eq!(judge(&[("if-none-match", "\"b\", W/\"a\"")]), Some(304));
        assert_eq!(judge(&[("if-none-match", "\"b\""), ("if-modified-since", &after)]), None);
        assert_eq!(judge(&[("if-none-match", "*")]), Some(304));
        assert_eq!(judge(&[("if-match", "\"a\"")]), None);
        assert_eq!(judge(&[("if-match", "W/\"a\"")]), Some(412));
        assert_eq!(judge(&[("if-match", "\"b\"")]), Some(412));
        assert_eq!(judge(&[("if-modified-since", &same)]), Some(304));
        assert_eq!(judge(&[("if-modified-since", &before)]), None);
        assert_eq!(judge(&[("if-unmodified-since", &before)]), Some(412));
        assert_eq!(judge(&[("if-unmodified-since", &same)]), None);
        let range = |value: &str| validators.allow_range(&headers(&[("if-range", value)]), now);
        assert!(range("\"a\"") && range(&same));
        assert!(!range("\"b\"") && !range("W/\"a\"") && !range(&before) && !range(&after) && !range("nonsense"));
        // What has just changed may change again within the second.
        let fresh = validators.judge(&headers(&[("if-modified-since", &same)]), modified + Duration::from_secs(1));
        assert_eq!(fresh, None);
    }
}
