//! What a request is for.

use hyper::header::{ACCEPT, HeaderMap, RANGE};
use hyper::http::Uri;
use oxiblosc::nd::Selection;

use super::failure::Failure;

/// The path and the query of a URL, decoded.
#[derive(Debug)]
pub(super) struct Target {
    /// The names between the slashes.
    pub(super) path: Vec<String>,
    pub(super) view: View,
}

/// What is wanted of a frame.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum View {
    Bytes,
    /// The bytes, to be saved in a file.
    Download,
    Page,
    Info,
    Slice {
        selection: Selection,
        format: Format,
    },
    Chunks(Selection),
}

/// How items are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Raw,
    Npy,
}

impl Target {
    /// # Errors
    /// When the URL is not one that this server has: dots or other slashes in the path, an unknown parameter.
    pub(super) fn parse(uri: &Uri, headers: &HeaderMap) -> Result<Self, Failure> {
        let path = uri.path().strip_prefix('/').ok_or_else(Failure::not_found)?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let names = path.split('/').filter(|_| !path.is_empty()).map(name).collect::<Result<_, _>>()?;
        let view = view(uri.query().unwrap_or_default(), headers)?;
        Ok(Self { path: names, view })
    }
}

/// One name of a path. None that a file system gives another meaning: nothing above a directory is reached by them, nor
/// what is hidden.
fn name(encoded: &str) -> Result<String, Failure> {
    let name = decoded(encoded, false).ok_or_else(Failure::not_found)?;
    let odd = |c: char| c.is_control() || c == '/' || c == '\\' || cfg!(windows) && c == ':';
    if name.is_empty() || name.starts_with('.') || name.contains(odd) {
        return Err(Failure::not_found());
    }
    Ok(name)
}

fn view(query: &str, headers: &HeaderMap) -> Result<View, Failure> {
    let accept: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accepts = |part: &str| accept.iter().any(|value| value.contains(part));
    if query.is_empty() {
        // A browser that a person has sent here; who wants bytes accepts anything.
        let person = accepts("text/html") && !headers.contains_key(RANGE);
        return Ok(if person { View::Page } else { View::Bytes });
    }
    let (mut view, mut format) = (None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value, true).ok_or_else(|| Failure::bad_request("the query is not UTF-8"))?;
        let selection = || value.parse::<Selection>().map_err(Failure::from);
        let parsed = match key {
            "slice" => View::Slice { selection: selection()?, format: Format::Raw },
            "chunks" => View::Chunks(selection()?),
            "info" => View::Info,
            "view" => View::Page,
            "download" => View::Download,
            "format" => {
                format = Some(match value.as_str() {
                    "npy" => Format::Npy,
                    "raw" => Format::Raw,
                    _ => return Err(Failure::bad_request("`format` is npy or raw")),
                });
                continue;
            }
            _ => return Err(Failure::bad_request("a query has one of slice, chunks, info, view and download")),
        };
        if view.replace(parsed).is_some() {
            return Err(Failure::bad_request("a query has only one of slice, chunks, info, view and download"));
        }
    }
    match view {
        Some(View::Slice { selection, .. }) => {
            let accepted = if accepts("npy") { Format::Npy } else { Format::Raw };
            Ok(View::Slice { selection, format: format.unwrap_or(accepted) })
        }
        Some(view) if format.is_none() => Ok(view),
        _ => Err(Failure::bad_request("`format` is for slices")),
    }
}

/// Text without its percent signs, and in a query with spaces for pluses; `None` unless it is UTF-8 then.
fn decoded(text: &str, in_query: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                // Lossless: two digits.
                (high * 16 + low) as u8
            }
            b'+' if in_query => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A name as a part of a URL.
pub(super) fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes().map(|byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(uri: &str) -> Result<Target, Failure> {
        Target::parse(&uri.parse().expect("a URI"), &HeaderMap::new())
    }

    #[test]
    fn paths() {
        let path = |uri: &str| parse(uri).map(|target| target.path.join("|")).ok();
        assert_eq!(path("/"), Some(String::new()));
        assert_eq!(path("/a/b.b2nd"), Some("a|b.b2nd".into()));
        assert_eq!(path("/a/"), Some("a".into()));
        assert_eq!(path("/a%20b/%C3%A9+"), Some("a b|\u{e9}+".into()));
        let climbing = ["/..", "/a/../b", "/%2e%2e/b", "/.%2e", "/.", "/a/./b", "/.hidden", "/a%2fb", "/..%5cb"];
        for uri in climbing.into_iter().chain(["//a", "/a//b", "/a%00", "/%ff", "/%", "/%2", "/%zz", "/a%0a"]) {
            assert_eq!(path(uri), None, "{uri}");
        }
        for name in ["a b", "\u{e9}/?#%&+", "plain.b2nd"] {
            assert_eq!(decoded(&encoded(name), false).as_deref(), Some(name));
        }
    }

    #[test]
    fn queries() {
        let view = |uri: &str| parse(uri).map(|target| target.view).ok();
        let slice = |text: &str, format| Some(View::Slice { selection: text.parse().expect("a slice"), format });
        assert_eq!(view("/a"), Some(View::Bytes));
        assert_eq!(view("/a?slice=0:10,3"), slice("0:10,3", Format::Raw));
        assert_eq!(view("/a?slice=%5B1,2%5D,+::-1&format=npy"), slice("[1,2], ::-1", Format::Npy));
        assert_eq!(view("/a?format=raw&slice="), slice("", Format::Raw));
        assert_eq!(view("/a?chunks"), Some(View::Chunks(Selection::all())));
        for uri in ["/a?x", "/a?slice=1&slice=2", "/a?slice=x", "/a?format=npy", "/a?info&format=npy", "/a?slice=%zz"] {
            assert!(view(uri).is_none(), "{uri}");
        }
        for uri in ["/a?slice=1&info", "/a?slice=1&format=png", "/a?view&download"] {
            assert!(view(uri).is_none(), "{uri}");
        }
    }

    #[test]
    fn what_clients_accept() {
        let view = |uri: &str, headers: &[(&'static str, &'static str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, hyper::header::HeaderValue::from_static(value));
            }
            Target::parse(&uri.parse().expect("a URI"), &map).expect("a target").view
        };
        let browser = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        assert_eq!(view("/a", &[browser]), View::Page);
        assert_eq!(view("/a", &[browser, ("range", "bytes=0-")]), View::Bytes);
        assert_eq!(view("/a", &[("accept", "*/*")]), View::Bytes);
        let npy = |view| matches!(view, View::Slice { format: Format::Npy, .. });
        assert!(npy(view("/a?slice=1", &[("accept", "application/x-npy")])));
        assert!(!npy(view("/a?slice=1&format=raw", &[("accept", "application/x-npy")])));
    }
}
