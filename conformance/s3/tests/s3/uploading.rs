//! Uploads that are given up, and parts that are refused.

use std::thread;
use std::time::{Duration, Instant};

use futures::AsyncWriteExt;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt};
use oxiblosc::chunk::EncodeParams;
use oxiblosc::object::spawn;
use oxiblosc::source::ObjectSource;
use oxiblosc::target::ObjectTarget;
use oxiblosc::{FrameReader, FrameSink, WriteOptions, block_on};

use crate::proxy::Proxy;
use crate::server::{BUCKET, Server, uploads};

/// Numbers that do not compress.
fn content(len: usize) -> Vec<u8> {
    (0..len as u64 / 8).flat_map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).to_le_bytes()).collect()
}

fn sink(endpoint: &str, key: &str) -> FrameSink<ObjectTarget> {
    let params = EncodeParams { level: 0, ..EncodeParams::default() };
    let target = ObjectTarget::with_multipart(uploads(endpoint), key).part_size(5 << 20);
    WriteOptions::new(params).chunk_size(1 << 20).sink(target).expect("a sink")
}

const PENDING: &str = r"
import sys, boto3
found = boto3.client('s3').list_multipart_uploads(Bucket=sys.argv[1])
print(len(found.get('Uploads', [])))
";

/// Uploads, or files of them, that are not finished.
fn pending(server: &Server, is_moto: bool) -> usize {
    match is_moto {
        true => {
            server.python(PENDING, &server.endpoint(), &[BUCKET]).expect("Python").trim().parse().expect("a number")
        }
        false => server.upload_files(),
    }
}

fn exists(server: &Server, key: &str) -> bool {
    let (store, key) = (server.store(), Path::from(key));
    match block_on(spawn(async move { store.head(&key).await })).expect("a runtime") {
        Ok(_) => true,
        Err(Error::NotFound { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

/// A sink that is dropped in the middle leaves neither an object nor parts of one.
fn dropped(server: &Server, is_moto: bool) {
    let data = content(17 << 20);
    for aborts in [false, true] {
        let mut sink = sink(&server.endpoint(), "dropped");
        block_on(async {
            sink.write_all(&data).await.expect("the server takes parts");
            sink.flush().await.expect("the server takes parts");
        });
        assert!(pending(server, is_moto) > 0, "an upload is under way");
        if aborts {
            block_on(sink.abort()).expect("the server forgets parts");
            assert_eq!(pending(server, is_moto), 0);
        } else {
            drop(sink);
        }
        let started = Instant::now();
        while pending(server, is_moto) > 0 {
            assert!(started.elapsed() < Duration::from_secs(30), "parts are left behind");
            thread::sleep(Duration::from_millis(50));
        }
        assert!(!exists(server, "dropped"));
    }
}

/// Every request of an upload is refused once, and all is well after the same call has been made again.
fn refused(server: &Server) {
    let data = content(17 << 20);
    let proxy = Proxy::counting(server.port());
    // The beginning, a part in the middle, the last part, the one with the header (held back to the end), and the end.
    for request in [
        "POST /bucket/refused?uploads",
        "partNumber=2&",
        "partNumber=4&",
        "partNumber=1&",
        "POST /bucket/refused?uploadId",
    ] {
        let mut sink = sink(&proxy.endpoint(), "refused");
        proxy.refuse(request);
        let mut errors = 0;
        block_on(async {
            let mut rest = &data[..];
            while !rest.is_empty() {
                match sink.write(rest).await {
                    Ok(len) => rest = &rest[len..],
                    Err(_) => errors += 1,
                }
                assert!(errors < 3, "{request}");
            }
            while let Err(error) = sink.close().await {
                assert!(error.is_resumable(), "{request}: {error}");
                errors += 1;
                assert!(errors < 3, "{request}: {error}");
            }
        });
        // A part that is refused while others are sent may be sent again before anybody hears of it.
        assert!(!proxy.refuses() && errors <= 1, "{request}: {errors} errors, {:?}", proxy.take().log);
        let source = ObjectSource::new(server.store(), Path::from("refused"));
        let reader = block_on(FrameReader::open(source)).expect("the frame opens");
        assert!(block_on(reader.bytes(0..reader.nbytes())).expect("its bytes") == data, "{request}");
    }
}

#[test]
fn uploads_to_s3s() {
    let server = Server::s3s();
    dropped(&server, false);
    refused(&server);
}

#[test]
fn uploads_to_moto() {
    if let Some(server) = Server::moto() {
        dropped(&server, true);
        refused(&server);
    }
}
