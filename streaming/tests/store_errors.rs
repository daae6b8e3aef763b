//! Responses of object stores, as errors that can be matched: a server on the loopback responds as the test says.
#![cfg(feature = "aws")]

mod common;

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::{io, thread};

use bytes::Bytes;
use common::{CHUNK, data, frame, options};
use futures::{AsyncWriteExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStoreExt, RetryConfig};
use oxiblosc_core::Chain;
use oxiblosc_streaming::object::{ObjectTarget, StoreError};
use oxiblosc_streaming::source::ObjectSource;
use oxiblosc_streaming::{ErrorKind, FrameReader, ReadError, block_on};

/// A server that gives every request the same answer: a status line and a body.
fn server(status: &'static str, body: &'static str) -> AmazonS3 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Ends with the test program.
    thread::spawn(move || {
        for socket in listener.incoming() {
            thread::spawn(move || while answer(socket.as_ref().unwrap(), status, body).is_some() {});
        }
    });
    client(port)
}

fn answer(mut socket: &TcpStream, status: &str, body: &str) -> Option<()> {
    let mut lines = BufReader::new(socket).lines().map_while(Result::ok);
    let first = lines.next()?;
    lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let body = if first.starts_with("HEAD ") { "" } else { body };
    socket.write_all(head.as_bytes()).ok()?;
    socket.write_all(body.as_bytes()).ok()?;
    None
}

fn client(port: u16) -> AmazonS3 {
    let builder = AmazonS3Builder::new().with_bucket_name("bucket").with_region("here").with_allow_http(true);
    let builder = builder.with_access_key_id("key").with_secret_access_key("secret");
    let options = ClientOptions::new().with_allow_http(true).with_timeout(std::time::Duration::from_secs(20));
    let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
    let builder = builder.with_endpoint(format!("http://127.0.0.1:{port}")).with_client_options(options);
    builder.with_retry(retry).build().unwrap()
}

/// In plain words, each once.
fn in_words(error: &(dyn Error + 'static)) -> String {
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        assert!(!text.contains('<') && !text.contains('\n') && !text.contains("rror performing"), "{text}");
        next = error.source();
        assert!(next.is_none_or(|source| !text.contains(&source.to_string())), "{}", Chain(error));
    }
    Chain(error).to_string()
}

fn xml(code: &str) -> &'static str {
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code><Message>As the store puts it.</Message>\
         <RequestId>4442587FB7D0A2F9</RequestId></Error>"
    );
    text.leak()
}

#[test]
fn answers_of_a_server() {
    let html = "<html>\n<body>Bad gateway</body>\n</html>";
    for (status, body, kind, says) in [
        ("404 Not Found", xml("NoSuchBucket"), ErrorKind::NoSuchBucket, "the bucket does not exist: NoSuchBucket"),
        ("404 Not Found", xml("NoSuchKey"), ErrorKind::NotFound, "there is no object a/b"),
        ("404 Not Found", "", ErrorKind::NotFound, "there is no object a/b"),
        ("403 Forbidden", xml("AccessDenied"), ErrorKind::PermissionDenied, "AccessDenied: As the store puts it."),
        ("401 Unauthorized", "", ErrorKind::PermissionDenied, "denies access"),
        ("400 Bad Request", xml("ExpiredToken"), ErrorKind::PermissionDenied, "ExpiredToken"),
        ("400 Bad Request", xml("RequestTimeout"), ErrorKind::TimedOut, "RequestTimeout"),
        ("408 Request Timeout", "", ErrorKind::TimedOut, "408"),
        ("412 Precondition Failed", xml("PreconditionFailed"), ErrorKind::Replaced, "was replaced"),
        ("429 Too Many Requests", "", ErrorKind::Transient, "429"),
        ("500 Internal Server Error", xml("InternalError"), ErrorKind::Transient, "InternalError"),
        ("501 Not Implemented", xml("NotImplemented"), ErrorKind::Unsupported, "NotImplemented"),
        ("502 Bad Gateway", html, ErrorKind::Transient, "502"),
        ("503 Service Unavailable", xml("SlowDown"), ErrorKind::Transient, "SlowDown: As the store puts it."),
        ("418 I'm a teapot", "short and stout", ErrorKind::Other, "418"),
    ] {
        let store = Arc::new(server(status, body));
        let source = ObjectSource::new(Arc::clone(&store) as _, Path::from("a/b"));
        let error = block_on(FrameReader::open(source)).unwrap_err();
        let words = in_words(&error);
        assert_eq!(error.kind(), kind, "{status}: {words}");
        assert!(words.contains(says), "{status}: {words}");
        assert_eq!(error.is_retryable(), matches!(kind, ErrorKind::Transient | ErrorKind::TimedOut), "{status}");
        // The same as an error of I/O, and after it has been written to.
        assert_eq!(ErrorKind::of(&io::Error::from(error)), kind, "{status}");
        let mut sink = options().sink(ObjectTarget::with_multipart(store, Path::from("a/b"))).unwrap();
        let error = block_on(async {
            sink.write_all(&data(CHUNK)).await?;
            sink.close().await.map_err(io::Error::from)
        })
        .unwrap_err();
        in_words(&error);
        let expected = if kind == ErrorKind::Replaced { ErrorKind::Precondition } else { kind };
        assert_eq!(ErrorKind::of(&error), expected, "{status}: {}", Chain(&error));
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<StoreError>());
        assert!(inner.is_some_and(|inner| inner.status() == status[..3].parse().ok()), "{status}: {inner:?}");
    }
}

#[test]
fn nobody_answers() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let source = ObjectSource::new(Arc::new(client(port)), Path::from("a/b"));
    let error = block_on(FrameReader::open(source)).unwrap_err();
    let words = in_words(&error);
    assert_eq!(error.kind(), ErrorKind::Transient, "{words}");
    assert!(words.contains("cannot be reached"), "{words}");
}

/// An object that is replaced while it is read is reported as replaced, wherever it shows, and the reader can go on.
#[test]
fn replaced_while_it_is_read() {
    let store = Arc::new(InMemory::new());
    let put = |frame: Vec<u8>| block_on(store.put(&Path::from("x"), Bytes::from(frame).into())).unwrap();
    let (old, new) = (data(300 * CHUNK), data(310 * CHUNK + 1));
    put(frame(&old, options()));
    let source = ObjectSource::new(Arc::clone(&store) as _, Path::from("x"));
    let mut reader = block_on(FrameReader::open(source)).unwrap();
    let seen = Mutex::new(0);
    put(frame(&new, options()));
    let replaced = |error: &ReadError| {
        assert!(matches!(error, ReadError::Replaced(replaced) if replaced.place.contains('x')), "{error:?}");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Replaced, false));
        assert!(in_words(error).contains("refresh"), "{error}");
        *seen.lock().unwrap() += 1;
    };
    block_on(async {
        replaced(&reader.chunk(99).await.unwrap_err());
        replaced(&reader.bytes(400_000..500_000).await.unwrap_err());
        replaced(&reader.chunks().try_collect::<Vec<_>>().await.unwrap_err());
        let mut bytes = Vec::new();
        let error = futures::AsyncReadExt::read_to_end(&mut reader.clone().into_async_read(), &mut bytes).await;
        let error = error.unwrap_err();
        assert_eq!((error.kind(), ErrorKind::of(&error)), (io::ErrorKind::StaleNetworkFileHandle, ErrorKind::Replaced));
        assert!(old.starts_with(&bytes), "of the old frame, as far as it came");
        assert!(reader.refresh().await.unwrap());
        assert_eq!(reader.bytes(0..reader.nbytes()).await.unwrap(), new);
    });
    assert_eq!(*seen.lock().unwrap(), 3);
}
