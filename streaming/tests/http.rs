//! Frames behind plain HTTP, on a server that follows the standard, and on some that do not.
#![cfg(feature = "http")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::{CHUNK, data, frame, options};
use oxiblosc_core::Chain;
use oxiblosc_streaming::location::Location;
use oxiblosc_streaming::{FrameReader, ReadError, block_on};

/// What a server makes of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manners {
    Good,
    /// No ETag, and no date.
    Anonymous,
    /// The whole file, with status 200, as RFC 9110 allows: "A server MAY ignore the Range header field".
    IgnoresRanges,
    /// The first bytes, whatever range was asked for, and says so.
    OtherRange,
    /// As asked, but one byte less than it says.
    CutsShort,
    /// Closes the connection when it is asked for the last bytes.
    NoSuffix,
    /// Answers the first request when there is a second one.
    InPairs,
}

struct Server {
    port: u16,
    bytes: Arc<Mutex<Vec<u8>>>,
    requests: Arc<AtomicU64>,
}

impl Server {
    fn start(bytes: Vec<u8>, manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (bytes, requests) = (Arc::new(Mutex::new(bytes)), Arc::<AtomicU64>::default());
        let (shared, count) = (Arc::clone(&bytes), Arc::clone(&requests));
        // Ends with the test program.
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (shared, count) = (Arc::clone(&shared), Arc::clone(&count));
                thread::spawn(move || while answer(socket.as_ref().unwrap(), &shared, &count, manners).is_some() {});
            }
        });
        Self { port, bytes, requests }
    }

    fn open(&self, path: &str) -> Result<FrameReader<Box<dyn oxiblosc_streaming::source::RangeSource>>, ReadError> {
        let location = Location::parse(&format!("http://127.0.0.1:{}/{path}", self.port)).unwrap();
        block_on(async { FrameReader::open(location.source().await?).await })
    }
}

/// Answers one request; nothing when there is none any more.
fn answer(mut socket: &TcpStream, bytes: &Mutex<Vec<u8>>, requests: &AtomicU64, manners: Manners) -> Option<()> {
    let mut lines = BufReader::new(socket).lines().map_while(Result::ok);
    let first = lines.next()?;
    let (mut range, mut condition) = (None, None);
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ")?;
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                range = value
                    .strip_prefix("bytes=")
                    .and_then(|range| range.split_once('-'))
                    .map(|(a, b)| (a.parse::<usize>().ok(), b.parse::<usize>().ok()))
            }
            "if-match" => condition = Some(value.to_owned()),
            _ => {}
        }
    }
    if manners == Manners::NoSuffix && matches!(range, Some((None, _))) {
        return None;
    }
    requests.fetch_add(1, Ordering::SeqCst);
    let begin = Instant::now();
    while manners == Manners::InPairs && requests.load(Ordering::SeqCst) < 2 {
        if begin.elapsed() > Duration::from_secs(10) {
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let all = bytes.lock().unwrap().clone();
    let etag = format!("\"{}-{}\"", all.len(), all.iter().map(|&byte| u64::from(byte)).sum::<u64>());
    let mut fields = match manners {
        Manners::Anonymous => String::new(),
        _ => format!("ETag: {etag}\r\nLast-Modified: Fri, 20 Nov 2026 10:00:00 GMT\r\n"),
    };
    let (status, mut body) = if !first.contains(" /frame?token=a%20b ") {
        ("404 Not Found", &[][..])
    } else if condition.is_some_and(|wanted| wanted != etag) {
        ("412 Precondition Failed", &[][..])
    } else {
        match range.filter(|_| manners != Manners::IgnoresRanges) {
            None => ("200 OK", &all[..]),
            Some((start, end)) => {
                let (start, end) = match (start, end) {
                    (Some(start), end) => (start, end.map_or(all.len(), |end| end + 1)),
                    (None, last) => (all.len().saturating_sub(last.unwrap_or_default()), all.len()),
                };
                let (start, end) = if manners == Manners::OtherRange { (0, end - start) } else { (start, end) };
                let end = end.min(all.len());
                fields += &format!("Content-Range: bytes {start}-{}/{}\r\n", end - 1, all.len());
                ("206 Partial Content", &all[start..end])
            }
        }
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{fields}\r\n", body.len());
    socket.write_all(head.as_bytes()).ok()?;
    if manners == Manners::CutsShort {
        body = &body[..body.len().saturating_sub(1)];
    }
    if !first.starts_with("HEAD ") {
        socket.write_all(body).ok()?;
    }
    (manners != Manners::CutsShort).then_some(())
}

#[test]
fn a_server_with_ranges() {
    let content = data(50 * CHUNK + 77);
    for manners in [Manners::Good, Manners::Anonymous, Manners::NoSuffix] {
        let server = Server::start(frame(&content, options()), manners);
        let mut reader = server.open("frame?token=a%20b").unwrap();
        assert!(server.requests.load(Ordering::SeqCst) <= 2, "two requests to open");
        assert_eq!(block_on(reader.bytes(0..reader.nbytes())).unwrap(), content, "{manners:?}");
        assert_eq!(block_on(reader.bytes(99_999..100_001)).unwrap(), content[99_999..100_001]);
        assert!(block_on(reader.verify()).unwrap().is_good());
        for missing in ["frame", "other?token=a%20b"] {
            assert!(server.open(missing).is_err(), "{missing}");
        }
        // A new version, which has its own length and ETag.
        let other = data(60 * CHUNK);
        *server.bytes.lock().unwrap() = frame(&other, options());
        if manners != Manners::Anonymous {
            let error = block_on(reader.chunk(40)).unwrap_err().to_string();
            assert!(error.contains("replaced"), "{error}");
        }
        assert!(block_on(reader.refresh()).unwrap());
        assert_eq!(block_on(reader.bytes(0..reader.nbytes())).unwrap(), other, "{manners:?}");
    }
}

#[test]
fn a_frame_opens_in_one_round_trip() {
    let content = data(50 * CHUNK + 77);
    let server = Server::start(frame(&content, options()), Manners::InPairs);
    let reader = server.open("frame?token=a%20b").unwrap();
    assert_eq!(server.requests.load(Ordering::SeqCst), 2, "its beginning and its end");
    assert_eq!(block_on(reader.bytes(0..reader.nbytes())).unwrap(), content);
}

/// Servers that give something else than was asked for: an error that says so, and never other bytes.
#[test]
fn servers_without_manners() {
    for len in [100, 50 * CHUNK] {
        let content = data(len);
        for (manners, says) in [
            (Manners::IgnoresRanges, "Range request not supported"),
            (Manners::OtherRange, ""),
            (Manners::CutsShort, ""),
        ] {
            let server = Server::start(frame(&content, options()), manners);
            let error = match server.open("frame?token=a%20b") {
                Err(error) => error,
                Ok(reader) => match block_on(reader.bytes(0..reader.nbytes())) {
                    Err(error) => error,
                    Ok(found) => {
                        // Right is right, also by chance: the first bytes of a small frame are all of it.
                        assert_eq!(found, content, "{manners:?}");
                        assert!(says.is_empty() && len == 100, "{manners:?}");
                        continue;
                    }
                },
            };
            println!("{manners:?}: {error}");
            assert!(Chain(&error).to_string().contains(says), "{manners:?}: {}", Chain(&error));
        }
    }
}
