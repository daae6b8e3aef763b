//! Slices, compared with the data they are of.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use super::server::Server;
use crate::args;
use crate::program::{array_bytes, array_path, run, run_with};

/// The data of a `.npy` file, and the text of its header.
fn npy(bytes: &[u8]) -> (String, &[u8]) {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    (String::from_utf8(bytes[10..10 + len].to_vec()).expect("text"), &bytes[10 + len..])
}

#[test]
fn of_arrays() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("a.b2nd");
    // 2 x 24 x 96 x 128 items of two bytes; chunks and blocks that divide none of it.
    run(args!["compress", array_path("fmri.npy"), &path, "--chunks", "1,7,33,50", "--blocks", "1,2,9,16", "--quiet"])
        .ok();
    let server = Server::start([&path]);
    for (slice, shape) in [
        ("", "2,24,96,128"),
        ("...", "2,24,96,128"),
        ("0,0,0,0", ""),
        ("-1,-1,-1,-1", ""),
        ("1,3:20:4,::-1", "5,96,128"),
        ("0,[5,1,1],95,-3:", "3,3"),
        ("...,127", "2,24,96"),
        ("0:0", "0,24,96,128"),
        (":,5:5,3", "2,0,128"),
        ("0,23,33:34,49:51", "1,2"),
        ("1,6:8,32:34,49:51", "2,2,2"),
        (":,::23,::95,::127", "2,2,2,2"),
    ] {
        let expected =
            run(args!["cat", &path, format!("--slice={}", if slice.is_empty() { "..." } else { slice })]).ok();
        let answer = server.get(&format!("/a.b2nd?slice={slice}"));
        assert_eq!((answer.header("x-shape"), answer.header("x-dtype")), (Some(shape), Some("<i2")), "{slice}");
        assert!(answer.ok() == expected, "{slice}");
        for (query, headers) in [("&format=npy", &[][..]), ("", &[("Accept", "application/x-npy")])] {
            let answer = server.ask("GET", &format!("/a.b2nd?slice={slice}{query}"), headers);
            assert_eq!(answer.header("content-type"), Some("application/x-npy"));
            let bytes = answer.ok();
            let (head, data) = npy(&bytes);
            let tuple = format!(
                "({}{})",
                shape.replace(',', ", "),
                if shape.contains(',') || shape.is_empty() { "" } else { "," }
            );
            assert!(head.contains("'descr': '<i2'") && head.contains(&format!("'shape': {tuple}")), "{slice}: {head}");
            assert!(data == expected, "{slice}");
        }
        let head = server.ask("HEAD", &format!("/a.b2nd?slice={slice}"), &[]);
        assert_eq!(head.header("content-length"), Some(expected.len().to_string().as_str()));
    }
    for slice in ["2", "0,0,0,0,0", "x", "::0", "[24],99", "0,[0", "99999999999999999999", "...,..."] {
        let message = server.get(&format!("/a.b2nd?slice={slice}")).failed(400);
        assert!(!message.is_empty(), "{slice}");
    }
    // What is written is what is served next.
    run(args!["append", &path, array_path("fmri.npy"), "--quiet"]).ok();
    assert_eq!(server.get("/a.b2nd?slice=:,0,0,0").ok().len(), 8);
}

#[test]
fn of_frames_that_are_no_arrays() {
    let dir = tempdir().expect("a directory");
    for (len, typesize, chunk) in
        [(0, 4, 65536), (4, 4, 65536), (300_000, 4, 65536), (65_536, 2, 65536), (300_007, 1, 10_007)]
    {
        let path = dir.path().join("f");
        let data = array_bytes("fmri.npy", len);
        let size = args!["--typesize", typesize.to_string(), "--chunk-size", chunk.to_string()];
        run_with(args!["compress", "-", &path, "--quiet"].into_iter().chain(size), &data).ok();
        let server = Server::start([&path]);
        let items = data.chunks(typesize).collect::<Vec<_>>();
        let picked =
            |indices: &mut dyn Iterator<Item = usize>| indices.flat_map(|i| items[i].to_vec()).collect::<Vec<_>>();
        let n = items.len();
        assert!(server.get("/f?slice=").ok() == data, "{len}");
        assert!(server.get("/f?slice=-3:").ok() == picked(&mut (n.saturating_sub(3)..n)), "{len}");
        assert!(server.get("/f?slice=::1000").ok() == picked(&mut (0..n).step_by(1000)), "{len}");
        assert!(server.get("/f?slice=::-7").ok() == picked(&mut (0..n).rev().step_by(7)), "{len}");
        if n > 20_000 {
            let list = [16_384, 16_383, 0, 20_000, 0];
            assert!(server.get("/f?slice=[16384,16383,0,20000,0]").ok() == picked(&mut list.into_iter()));
        }
        assert_eq!(server.get("/f?slice=0,0").status, 400);
    }
}

#[test]
fn big_endian_items_are_turned_around() {
    let dir = tempdir().expect("a directory");
    let (path, plain) = (dir.path().join("big.b2nd"), dir.path().join("data"));
    let data = array_bytes("fmri.npy", 600_000);
    fs::write(&plain, &data).expect("a file");
    run(args!["compress", &plain, &path, "--dtype", ">u4", "--shape", "150,1000", "--chunks", "40,333", "--quiet"])
        .ok();
    let server = Server::start([&path]);
    let expected: Vec<u8> = data.chunks(4).flat_map(|item| item.iter().rev().copied()).collect();
    let answer = server.get("/big.b2nd?slice=");
    assert_eq!(answer.header("x-dtype"), Some("<u4"));
    assert!(answer.ok() == expected);
    let file = server.get("/big.b2nd?slice=&format=npy").ok();
    let (head, bytes) = npy(&file);
    assert!(head.contains("'descr': '>u4'") && bytes == data, "{head}");
}

#[test]
fn limits() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("a.b2nd");
    run(args!["compress", array_path("fmri.npy"), &path, "--chunks", "1,4,48,64", "--blocks", "1,2,24,32", "--quiet"])
        .ok();
    let server = Server::start(args![&path, "--max-slice", "16K"]);
    assert_eq!(server.get("/a.b2nd?slice=0,0,:64").ok().len(), 16 << 10);
    let message = server.get("/a.b2nd?slice=0,0,:65").failed(413);
    assert!(message.contains("16640") && message.contains("16384"), "{message}");
    // Few items, and all blocks of the array.
    let message = server.get("/a.b2nd?slice=:,:,::24,::32").failed(413);
    assert!(message.contains("blocks"), "{message}");
    assert!(server.get("/a.b2nd?slice=0,:8:2,::24,::32").ok().len() < 16 << 10);
    // Bytes are no slice.
    assert_eq!(server.get("/a.b2nd").ok().len() as u64, fs::metadata(&path).expect("a file").len());
    // A petabyte of zeros in a few bytes.
    let huge = dir.path().join("huge.b2nd");
    let zeros = vec![0; 1 << 20];
    run_with(args!["compress", "-", &huge, "--dtype", "u1", "--shape", "1024,1024", "--quiet"], &zeros).ok();
    let server = Server::start(args![&huge, "--max-slice", "1000"]);
    server.get("/huge.b2nd?slice=").failed(413);
    assert_eq!(server.get("/huge.b2nd?slice=0,:1000").ok(), [0; 1000]);
}

#[test]
fn facts_and_chunks() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("a.b2nd");
    run(args!["compress", array_path("fmri.npy"), &path, "--chunks", "1,7,33,50", "--blocks", "1,2,9,16", "--quiet"])
        .ok();
    let server = Server::start([&path]);
    let local: Value = serde_json::from_slice(&run(args!["info", "--json", &path]).ok()).expect("JSON");
    assert_eq!(server.get("/a.b2nd?info").json(), local);
    let found = server.get("/a.b2nd?chunks=1,6:8,0,::127").json();
    assert_eq!(found["grid"], serde_json::json!([2, 4, 3, 3]));
    let chunks = found["chunks"].as_array().expect("a list");
    let indices: Vec<_> = chunks.iter().map(|chunk| chunk["index"].to_string()).collect();
    assert_eq!(indices, ["[1,0,0,0]", "[1,0,0,2]", "[1,1,0,0]", "[1,1,0,2]"]);
    let all = server.get("/a.b2nd?chunks").json();
    let sum: u64 = all["chunks"].as_array().expect("a list").iter().filter_map(|chunk| chunk["cbytes"].as_u64()).sum();
    assert_eq!(Some(sum), local["cbytes"].as_u64());
    // Frames that are no arrays have one axis; open-ended ones have no totals.
    let (frame, open) = (dir.path().join("f"), dir.path().join("open"));
    let data = array_bytes("fmri.npy", 300_000);
    run_with(args!["compress", "-", &frame, "--chunk-size", "64K", "--typesize", "2", "--quiet"], &data).ok();
    fs::write(&open, run_with(args!["compress", "-", "-", "--layout", "open", "--chunk-size", "64K"], &data).ok())
        .expect("a file");
    let server = Server::start([&frame, &open]);
    let found = server.get("/f?chunks=40000:").json();
    assert_eq!((&found["shape"], found["chunks"].as_array().map(Vec::len)), (&serde_json::json!([150_000]), Some(4)));
    assert_eq!(server.get("/open?info").json()["sealed"], false);
    assert!(server.get("/open?slice=").ok() == data);
}

#[test]
fn damage_is_told() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("a.b2nd");
    run(args!["compress", array_path("fmri.npy"), &path, "--chunks", "1,12,96,128", "--checksum", "xxh3", "--quiet"])
        .ok();
    let mut bytes = fs::read(&path).expect("a file");
    bytes[2000] ^= 0xFF;
    fs::write(&path, &bytes).expect("a file");
    let server = Server::start(args![&path, "--check=present"]);
    let message = server.get("/a.b2nd?slice=0,0").failed(500);
    assert!(message.contains("chunk 0"), "{message}");
    // The others are there.
    assert_eq!(server.get("/a.b2nd?slice=1,0").ok().len(), 96 * 128 * 2);
    fs::write(&path, &bytes[..1000]).expect("a file");
    assert!([500, 400].contains(&server.get("/a.b2nd?slice=0,0").status));
}
