//! The command takes URLs wherever it takes paths.

use std::fs;

use tempfile::tempdir;

use crate::program::{command, ended, run, run_with, url};
use crate::server::{BUCKET, Server};

/// Rows of 64 numbers.
const ROW: usize = 64;
const ROWS: usize = 5000;

fn rows() -> Vec<u8> {
    (0..(ROWS * ROW) as u64).flat_map(|i| (noise(i) >> 50).to_le_bytes()[..4].to_vec()).collect()
}

/// Numbers without a pattern that a compressor would find.
pub(crate) fn noise(i: u64) -> u64 {
    let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

fn path(dir: &tempfile::TempDir, name: &str) -> String {
    dir.path().join(name).to_str().expect("temporary directories have plain names").to_owned()
}

/// What is said of a place, with the place left out.
fn said(endpoint: &str, command: &str, place: &str) -> String {
    String::from_utf8(run(endpoint, &[command, place]).ok()).expect("text").replace(place, "PLACE")
}

/// Reading is the same everywhere.
fn reads_as(endpoint: &str, local: &str, remote: &str) {
    for command in ["info", "verify"] {
        assert_eq!(said(endpoint, command, local), said(endpoint, command, remote), "{remote}");
    }
    for selection in [
        &[][..],
        &["--slice", "17"],
        &["--slice", "100:4900:7, ::-1"],
        &["--slice", "..., [3,1,60]"],
        &["--slice", "-1, -1"],
        &["--items", "1000:70000"],
        &["--check=required"],
    ] {
        let cat = |place| run(endpoint, &[&["cat", place], selection].concat()).ok();
        assert!(cat(local) == cat(remote), "{remote} {selection:?}");
    }
}

fn everything(server: &Server) {
    let dir = tempdir().expect("a directory");
    let endpoint = server.endpoint();
    let data = rows();
    let shape = ["--dtype", "u4", "--shape", "-1,64", "--chunks", "500,64", "--checksum", "xxh3"];
    for (layout, name) in [("contiguous", "array.b2nd"), ("sparse", "sparse/array")] {
        // Where objects are files, a prefix is a directory, which s3s-fs cannot be asked for by mistake. The slash says
        // what it is.
        let slash = if layout == "sparse" && !server.lists_uploads() { "/" } else { "" };
        let (local, remote) = (path(&dir, &name.replace('/', "-")), url(name) + slash);
        for place in [&local, &remote] {
            let args = [&["compress", "-", place, "--layout", layout], &shape[..]].concat();
            run_with(&endpoint, &args, &data).ok();
        }
        reads_as(&endpoint, &local, &remote);
        assert!(run(&endpoint, &["cat", &remote]).ok() == data);
        // From here to there and back.
        let (file, copy) = (format!("file://{}", path(&dir, "copy")), url(&format!("copy-{layout}")) + slash);
        run(&endpoint, &["recompress", &remote, &copy, "--codec", "lz4"]).ok();
        run(&endpoint, &["recompress", &copy, &file, "--layout", layout, "--level", "9"]).ok();
        assert!(run(&endpoint, &["cat", &path(&dir, "copy")]).ok() == data);
        run(&endpoint, &["recover", &remote, &path(&dir, "saved"), "--quiet"]).ok();
        assert!(run(&endpoint, &["cat", &path(&dir, "saved")]).ok() == data);
        for name in ["copy", "saved"] {
            let path = dir.path().join(name);
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("it is there");
        }
        // A sparse frame is not mixed with another one; a single object is replaced.
        let again = run_with(&endpoint, &["compress", "-", &remote, "--layout", layout], b"new");
        if layout == "sparse" {
            let said = again.failed(1);
            // s3s-fs refuses a create-only put of an existing object with a status that means its own failure.
            let refused = server.name() == "s3s-fs" && said.contains("the store answers HTTP status 500");
            assert!(refused || said.contains("there is a sparse frame already"), "{}: {said}", server.name());
            assert!(run(&endpoint, &["cat", &remote]).ok() == data);
        } else {
            again.ok();
            assert_eq!(run(&endpoint, &["cat", &remote]).ok(), b"new");
        }
    }
    // Plain input too, decoded on its way if need be; what is cut off is saved.
    let plain = path(&dir, "plain");
    fs::write(&plain, &data).expect("a file");
    run(&endpoint, &["compress", &plain, &url("plain.b2frame"), "--typesize", "4"]).ok();
    let gzip = run(&endpoint, &["cat", &url("plain.b2frame"), "--encode", "gzip"]).ok();
    server.put("plain.gz", &gzip);
    run(&endpoint, &["compress", &url("plain.gz"), &url("again.b2frame"), "--chunk-size", "100000"]).ok();
    assert!(run(&endpoint, &["cat", &url("again.b2frame")]).ok() == data);
    let mut frame = server.get("again.b2frame").expect("it is there");
    frame.truncate(frame.len() * 2 / 3);
    server.put("cut", &frame);
    run(&endpoint, &["cat", &url("cut")]).failed(1);
    run(&endpoint, &["recover", &url("cut"), &url("saved"), "--quiet"]).ok();
    let saved = run(&endpoint, &["cat", &url("saved")]).ok();
    assert!(!saved.is_empty() && saved.len() < data.len() && data.starts_with(&saved));
}

#[test]
fn everything_with_s3s() {
    everything(&Server::s3s());
}

const PUBLISH: &str = r"
import sys, boto3
boto3.client('s3').put_object_acl(Bucket=sys.argv[1], Key=sys.argv[2], ACL='public-read')
";

#[test]
fn everything_with_moto() {
    if let Some(server) = Server::moto() {
        everything(&server);
        // An object for all can be had without a signature: a web server that serves ranges.
        let dir = tempdir().expect("a directory");
        let local = path(&dir, "local");
        let args = ["--dtype", "u4", "--shape", "-1,64", "--checksum", "xxh3"];
        run_with(&server.endpoint(), &[&["compress", "-", &local], &args[..]].concat(), &rows()).ok();
        server.put("web.b2nd", &fs::read(&local).expect("a file"));
        server.python(PUBLISH, &server.endpoint(), &[BUCKET, "web.b2nd"]);
        let remote = format!("{}/{BUCKET}/web.b2nd", server.endpoint());
        reads_as("http://127.0.0.1:1", &local, &remote);
        run("http://127.0.0.1:1", &["cat", &remote.replace("web", "none")]).failed(1);
        let message = run_with(&server.endpoint(), &["compress", "-", &remote], b"data").failed(2);
        assert!(message.contains("only object stores"), "{message}");
    }
}

/// Python finds what the command has put, and finds it equal.
#[test]
fn python_reads_what_was_put() {
    const SCRIPT: &str = r"
import sys, tempfile, os, blosc2, numpy as np, s3fs
fs, bucket = s3fs.S3FileSystem(), sys.argv[1]
mixed = np.arange(1, 5000 * 64 + 1, dtype='u8') * np.uint64(0x9E3779B97F4A7C15)
mixed = (mixed ^ mixed >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
expected = (mixed >> np.uint64(50)).astype('u4').reshape(5000, 64)
with tempfile.TemporaryDirectory() as d:
    os.mkdir(f'{d}/sparse.b2nd')
    for name in sys.argv[2:]:
        fs.get(f'{bucket}/{name}', f'{d}/sparse.b2nd/{os.path.basename(name)}')
    assert np.array_equal(blosc2.open(f'{d}/sparse.b2nd')[:], expected)
    fs.get(f'{bucket}/array.b2nd', f'{d}/array.b2nd')
    assert np.array_equal(blosc2.open(f'{d}/array.b2nd')[:], expected)
array = blosc2.open(f's3://{bucket}/array.b2nd', mode='r', lazy=True)
for part in (np.s_[17], np.s_[100:4900:7], np.s_[4999, 5:9], np.s_[:, 3]):
    assert np.array_equal(array[part], expected[part]), part
";
    for server in [Some(Server::s3s()), Server::moto()].into_iter().flatten() {
        let endpoint = server.endpoint();
        for (layout, name) in [("contiguous", "array.b2nd"), ("sparse", "sparse")] {
            let args = ["compress", "-", &url(name), "--dtype", "u4", "--shape", "-1,64", "--layout", layout];
            run_with(&endpoint, &args, &rows()).ok();
        }
        let names = server.list("sparse");
        let args: Vec<&str> = [BUCKET].into_iter().chain(names.iter().map(String::as_str)).collect();
        server.python(SCRIPT, &endpoint, &args);
    }
}

/// Neither kind of frame hides the other.
#[test]
fn a_name_is_an_object_or_a_prefix() {
    let Some(server) = Server::moto() else { return };
    let endpoint = server.endpoint();
    let compress =
        |key: &str, layout: &str| run_with(&endpoint, &["compress", "-", &url(key), "--layout", layout], b"data");
    compress("object", "contiguous").ok();
    compress("prefix", "sparse").ok();
    for key in ["object", "object/"] {
        let message = compress(key, "sparse").failed(1);
        assert!(message.contains("there is an object of this name"), "{message}");
    }
    let message = compress("prefix", "contiguous").failed(1);
    assert!(message.contains("there is a sparse frame of this name"), "{message}");
    for key in ["object", "prefix"] {
        assert_eq!(run(&endpoint, &["cat", &url(key)]).ok(), b"data");
    }
}

#[test]
fn settings_that_make_no_sense_are_said() {
    for (name, value) in [
        ("AWS_ENDPOINT_URL", "localhost:18777"),
        ("AWS_ENDPOINT_URL", "http://a b"),
        ("AWS_ENDPOINT_URL", "://"),
        ("AWS_ACCESS_KEY_ID", "key\n"),
    ] {
        for args in [&["cat", "s3://bucket/key"][..], &["compress", "-", "s3://bucket/key"]] {
            let child = command("http://127.0.0.1:1", args).env(name, value).spawn().expect("the program was built");
            let message = ended(child).failed(1);
            assert!(message.contains(name), "{message}");
        }
    }
    let message = run("http://127.0.0.1:1", &["cat", "s3://a bucket/key"]).failed(1);
    assert!(message.contains("the bucket is \"a bucket\""), "{message}");
}

/// s3s-fs makes buckets as they are needed.
#[test]
fn a_bucket_that_is_not_there() {
    let Some(server) = Server::moto() else { return };
    let expected = "oxiblosc: s3://no-such-bucket/key: the bucket no-such-bucket does not exist: NoSuchBucket: The \
                    specified bucket does not exist\n";
    for layout in ["contiguous", "sparse"] {
        let args = ["compress", "-", "s3://no-such-bucket/key", "--layout", layout];
        let message = run_with(&server.endpoint(), &args, b"data").failed(1);
        assert_eq!(message, expected, "{layout}");
    }
    for command in ["cat", "info", "verify"] {
        assert_eq!(run(&server.endpoint(), &[command, "s3://no-such-bucket/key"]).failed(1), expected, "{command}");
    }
}

#[test]
fn failures_are_plain() {
    let server = Server::s3s();
    let endpoint = server.endpoint();
    let missing = run(&endpoint, &["cat", &url("none")]).failed(1);
    assert_eq!(missing, "oxiblosc: s3://bucket/none: there is no object none\n");
    for command in ["info", "verify", "tune"] {
        run(&endpoint, &[command, &url("none")]).failed(1);
    }
    for bucket in ["s3://no-such-bucket/key", "s3://no-such-bucket/prefix/"] {
        let message = run(&endpoint, &["cat", bucket]).failed(1);
        assert!(message.contains("there is no"), "{message}");
    }
    let denied = |args: &[&str], name: &str| {
        let child = command(&endpoint, args).env(name, "wrong").spawn().expect("the program was built");
        let message = ended(child).failed(1);
        assert!(message.contains(args[args.len() - 1]) && message.contains("denies access"), "{message}");
        assert!(!message.contains('<'), "{message}");
    };
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        denied(&["cat", &url("key")], name);
        denied(&["info", "s3://bucket/prefix/"], name);
        denied(&["compress", "-", &url("key")], name);
        denied(&["compress", "-", "--layout", "sparse", &url("key")], name);
    }

    // What cannot be: bad usage.
    server.put("frame", &run_with(&endpoint, &["compress", "-", "-"], b"data").ok());
    for args in [
        &["append", &url("frame"), "-"][..],
        &["compact", &url("frame")],
        &["seal", &url("frame")],
        &["compress", "-", &url("open"), "--layout", "open"],
        &["compress", &url("frame"), &url("frame")],
    ] {
        let message = run(&endpoint, args).failed(2);
        assert!(message.contains("s3://bucket/"), "{message}");
    }
    // A slash says that it is a prefix, two in a row say nothing.
    let slash = run_with(&endpoint, &["compress", "-", &url("slash/")], b"data").failed(2);
    assert!(slash.contains("prefix of a sparse frame"), "{slash}");
    for place in ["ftp://host/x", "s3://bucket", "file://x", "s3://bucket//", "s3://bucket//lead"] {
        assert_eq!(run(&endpoint, &["cat", place]).status, Some(2), "{place}");
    }
}
