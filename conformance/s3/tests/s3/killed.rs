//! Uploads that are killed half-way leave no object.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::command::noise;
use crate::program::{command, run, url};
use crate::proxy::Proxy;
use crate::server::{BUCKET, Server};

/// Parts of uploads, with what a number of bytes of them is.
const UPLOADS: &str = r"
import sys, boto3
s3 = boto3.client('s3')
print(len(s3.list_multipart_uploads(Bucket=sys.argv[1]).get('Uploads', [])))
";

/// Starts an upload through a proxy and has it killed when the server has got some of it. Returns the exit status, or the
/// signal as a negative number, and the requests that came.
fn kill(server: &Server, signal: &str, args: &[&str]) -> (i32, Vec<String>) {
    let proxy = Proxy::counting(server.port());
    let mut child = command(&proxy.endpoint(), args).spawn().expect("the program was built");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // More and more, as long as someone reads.
    let piece: Vec<u8> = (0..1 << 13).flat_map(|i| noise(i).to_le_bytes()).collect();
    let feed = thread::spawn(move || while stdin.write_all(&piece).is_ok() {});
    let mut log = Vec::new();
    let begin = Instant::now();
    while log.iter().filter(|line: &&String| line.starts_with("PUT")).count() < 2 {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing is sent: {log:?}");
        thread::sleep(Duration::from_millis(10));
        log.extend(proxy.take().log);
    }
    let kill = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
    assert!(kill.expect("a shell").success());
    let status = child.wait().expect("it ends");
    feed.join().expect("it ends with the program");
    log.extend(proxy.take().log);
    (status.code().unwrap_or_else(|| -status.signal().expect("killed")), log)
}

fn one_object(server: &Server) {
    let args = ["compress", "-", &url("killed"), "--chunk-size", "1M", "--level", "0"];
    let (status, log) = kill(server, "TERM", &args);
    assert_eq!(status, 143);
    assert!(log.iter().any(|line| line.starts_with("DELETE") && line.contains("uploadId=")), "{log:?}");
    assert!(server.get("killed").is_none());
    let pending = || server.python(UPLOADS, &server.endpoint(), &[BUCKET]);
    // s3s-fs cannot list them.
    let lists = server.lists_uploads();
    if lists {
        assert_eq!(pending().as_deref().map(str::trim), Some("0"));
    }
    let (status, log) = kill(server, "KILL", &args);
    assert_eq!(status, -9);
    assert!(!log.iter().any(|line| line.starts_with("DELETE")), "{log:?}");
    assert!(server.get("killed").is_none());
    run(&server.endpoint(), &["cat", &url("killed")]).failed(1);
    if lists {
        assert_eq!(pending().as_deref().map(str::trim), Some("1"), "for the rules of the store to remove");
    }
}

#[test]
fn no_object_with_s3s() {
    one_object(&Server::s3s());
}

#[test]
fn no_object_with_moto() {
    if let Some(server) = Server::moto() {
        one_object(&server);
    }
}

#[test]
fn no_chunks_under_a_prefix() {
    let server = Server::s3s();
    let killed = |name: &str, signal| {
        let args = ["compress", "-", &url(name), "--layout", "sparse", "--chunk-size", "1M", "--level", "0"];
        kill(&server, signal, &args).0
    };
    assert_eq!(killed("terminated", "TERM"), 143);
    assert_eq!(server.list("terminated"), Vec::<String>::new());
    // Without a chance to clean up there may be chunks, but no frame. (Another name: an empty directory of this server
    // shows as an object.)
    assert_eq!(killed("killed", "KILL"), -9);
    run(&server.endpoint(), &["cat", &url("killed")]).failed(1);
}
