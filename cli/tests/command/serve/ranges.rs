//! The bytes of frames, and whoever reads frames by them.

use std::fs;
use std::process::Command;

use tempfile::tempdir;

use super::server::Server;
use crate::args;
use crate::program::{array_bytes, array_path, run, run_with};

#[test]
fn bytes_and_ranges() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("f.b2frame");
    run_with(args!["compress", "-", &path, "--chunk-size", "64K", "--quiet"], &array_bytes("fmri.npy", 1_000_003)).ok();
    let bytes = fs::read(&path).expect("a file");
    let len = bytes.len();
    let server = Server::start([&path]);
    let whole = server.get("/f.b2frame");
    let (etag, modified) =
        (whole.header("etag").expect("a tag").to_owned(), whole.header("last-modified").expect("a time").to_owned());
    assert_eq!((whole.status, whole.header("accept-ranges")), (200, Some("bytes")));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    assert!(whole.ok() == bytes);
    let range = |range: &str| server.ask("GET", "/f.b2frame", &[("Range", range)]);
    for (text, expected) in [
        ("bytes=0-0".to_owned(), 0..1),
        ("bytes=0-".to_owned(), 0..len),
        (format!("bytes={}-", len - 1), len - 1..len),
        ("bytes=-1".to_owned(), len - 1..len),
        (format!("bytes=-{}", len + 5), 0..len),
        (format!("bytes=1000-{}", 1000 + 300_000), 1000..301_001.min(len)),
        (format!("bytes=5-{}", len * 2), 5..len),
    ] {
        let answer = range(&text);
        assert_eq!(answer.status, 206, "{text}");
        let content_range = format!("bytes {}-{}/{len}", expected.start, expected.end - 1);
        assert_eq!(answer.header("content-range"), Some(content_range.as_str()), "{text}");
        assert!(answer.ok() == bytes[expected], "{text}");
    }
    for text in [format!("bytes={len}-"), "bytes=-0".into(), format!("bytes={}-{}", len + 1, len + 9)] {
        let answer = range(&text);
        assert_eq!((answer.status, answer.body.len()), (416, 0), "{text}");
        assert_eq!(answer.header("content-range"), Some(format!("bytes */{len}").as_str()));
    }
    // What is not understood, or more than one range, is as if it were not there.
    for text in ["bytes=1-0", "bytes=0-1,5-6", "lines=0-1", "bytes=x-"] {
        let answer = range(text);
        assert_eq!(answer.status, 200, "{text}");
        assert_eq!(answer.body.len(), len);
    }
    let head = server.ask("HEAD", "/f.b2frame", &[("Range", "bytes=10-19")]);
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (206, Some("10"), 0));
    let head = server.ask("HEAD", "/f.b2frame", &[]);
    assert_eq!((head.status, head.header("content-length")), (200, Some(len.to_string().as_str())));
    let with = |headers: &[(&str, &str)]| server.ask("GET", "/f.b2frame", headers).status;
    assert_eq!(with(&[("Range", "bytes=0-9"), ("If-Range", &etag)]), 206);
    assert_eq!(with(&[("Range", "bytes=0-9"), ("If-Range", "\"other\"")]), 200);
    let unchanged = server.ask("GET", "/f.b2frame", &[("If-None-Match", &etag)]);
    assert_eq!((unchanged.status, unchanged.body.len(), unchanged.header("etag")), (304, 0, Some(etag.as_str())));
    assert_eq!(with(&[("If-Match", "\"other\"")]), 412);
    assert_eq!(with(&[("If-Match", &etag)]), 200);
    assert_eq!(with(&[("If-Unmodified-Since", &modified)]), 200);
    assert_eq!(with(&[("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT")]), 412);
    // Another version has another tag, and is served at once.
    run_with(args!["append", &path, "-", "--quiet"], &[1; 100]).ok();
    let grown = server.ask("GET", "/f.b2frame", &[("Range", "bytes=0-9"), ("If-Range", &etag)]);
    assert_eq!(grown.status, 200);
    assert!(grown.ok() == fs::read(&path).expect("a file"));
}

#[test]
fn the_command_reads_what_it_serves() {
    let dir = tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("deep er")).expect("a directory");
    let array = path("deep er/a.b2nd");
    run(args!["compress", array_path("fmri.npy"), &array, "--chunks", "1,7,32,32", "--quiet"]).ok();
    run(args!["compress", array_path("faces.npy"), path("sparse"), "--layout", "sparse", "--quiet"]).ok();
    let server = Server::start([dir.path()]);
    let url = server.url("/deep%20er/a.b2nd");
    assert!(run(args!["info", "--json", &url]).ok() == run(args!["info", "--json", &array]).ok());
    assert!(run(args!["cat", &url]).ok() == run(args!["cat", &array]).ok());
    let slice = "--slice=1, 3:20:4, ::-1, [5,1,99]";
    assert!(run(args!["cat", &url, slice]).ok() == run(args!["cat", &array, slice]).ok());
    run(args!["verify", &url, "--quiet"]).ok();
    for url in [server.url("/sparse"), server.url("/sparse/")] {
        assert!(run(args!["cat", &url]).ok() == run(args!["cat", path("sparse")]).ok(), "{url}");
        run(args!["verify", &url, "--quiet"]).ok();
    }
    // One server reads from another.
    let second = Server::start([&url, &server.url("/sparse")]);
    assert!(run(args!["cat", second.url("/a.b2nd")]).ok() == run(args!["cat", &array]).ok());
    assert!(second.get("/a.b2nd?slice=0,0,0").ok() == run(args!["cat", &array, "--slice=0,0,0"]).ok());
    assert!(second.get("/sparse?slice=3").ok() == run(args!["cat", path("sparse"), "--slice=3"]).ok());
    assert!(run(args!["cat", server.url("/deep%20er/b.b2nd")]).bad_data().contains("b.b2nd"));
}

#[test]
fn drawings_of_remote_frames() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("f.b2frame");
    let data = array_bytes("fmri.npy", 1_000_000).repeat(10);
    for (chunk, expected) in [("40K", None), ("16K", Some("one in 3 chunks has been looked at"))] {
        run_with(args!["compress", "-", &path, "--chunk-size", chunk, "--quiet"], &data).ok();
        let server = Server::start([&path]);
        let draw = |name: std::ffi::OsString| {
            let output = run(args!["info", name, "--width", "100", "--ratio-map"]).ok();
            String::from_utf8(output).expect("text")
        };
        let (remote, local) = (draw(server.url("/f.b2frame").into()), draw(path.clone().into()));
        match expected {
            // All 245 chunks have been looked at.
            None => assert_eq!(remote, local),
            Some(line) => {
                assert!(remote.contains(line) && remote.contains("not looked at"), "{remote}");
                // Ratios are known of all.
                let map =
                    |text: &str| text.split_once("\nratios of").expect("a map").1.lines().take(8).collect::<String>();
                assert_eq!(map(&remote), map(&local));
            }
        }
    }
}

#[test]
fn other_clients() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("a.b2nd");
    run(args!["compress", array_path("fmri.npy"), &path, "--quiet"]).ok();
    let bytes = fs::read(&path).expect("a file");
    let server = Server::start([&path]);
    let curl = |args: &[&str]| {
        let mut command = Command::new("curl");
        Some(command.args(["-sSg", "--fail"]).args(args).output().ok()?.stdout)
    };
    let Some(found) = curl(&[&server.url("/a.b2nd")]) else { return };
    assert!(found == bytes);
    assert!(curl(&["-r", "100-299", &server.url("/a.b2nd")]).expect("curl") == bytes[100..300]);
    // A transfer that was broken off goes on.
    let part = dir.path().join("part");
    fs::write(&part, &bytes[..1234]).expect("a file");
    curl(&["-C", "-", "-o", part.to_str().expect("text"), &server.url("/a.b2nd")]).expect("curl");
    assert!(fs::read(&part).expect("a file") == bytes);
    let slice = curl(&[&server.url("/a.b2nd?slice=1,[3,1]")]).expect("curl");
    assert!(slice == run(args!["cat", &path, "--slice=1,[3,1]"]).ok());
}
