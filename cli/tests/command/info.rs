//! `oxiblosc info`.

use std::fs;

use serde_json::{Value, json};

use crate::args;
use crate::program::{array_bytes, run_with, vector_path};

fn info(compressed: &[u8]) -> Value {
    serde_json::from_slice(&run_with(args!["info", "--json", "-"], compressed).ok()).expect("JSON")
}

#[test]
fn every_key_is_there_for_a_frame() {
    let data = array_bytes("fmri.npy", 25_000);
    let args =
        args!["compress", "-", "-", "--typesize", "2", "--chunk-size", "10000", "--codec", "lz4", "--level", "7"];
    let frame = run_with(args, &data).ok();
    let info = info(&frame);
    for (key, value) in [
        ("kind", json!("frame")),
        ("version", json!(2)),
        ("nbytes", json!(25_000)),
        ("typesize", json!(2)),
        ("chunksize", json!(10_000)),
        ("nchunks", json!(3)),
        ("level", json!(7)),
        ("fingerprint", json!(null)),
        ("sealed", json!(true)),
    ] {
        assert_eq!(info[key], value, "{key}");
    }
    assert_eq!(info["codec"], json!({ "id": 1, "name": "lz4", "meta": 0 }));
    assert_eq!(info["filters"][0]["name"], "shuffle");
    let cbytes = info["cbytes"].as_u64().expect("a number");
    assert!(cbytes > 0 && cbytes < frame.len() as u64);
    let ratio = info["ratio"].as_f64().expect("a number");
    assert!((ratio - 25_000.0 / cbytes as f64).abs() < 1e-9);
    for key in ["blocksize", "meta", "vlmeta"] {
        assert!(info.get(key).is_some(), "{key}");
    }
}

#[test]
fn a_chunk() {
    let data = array_bytes("fmri.npy", 25_000);
    let chunk = run_with(args!["compress", "-", "-", "--typesize", "2", "--format", "chunk"], &data).ok();
    let info = info(&chunk);
    assert_eq!(info["kind"], "chunk");
    assert_eq!(info["version"], 5);
    assert_eq!(info["nbytes"], 25_000);
    assert_eq!(info["cbytes"], chunk.len());
    assert_eq!(info["typesize"], 2);
    assert_eq!(info["nchunks"], 1);
    assert_eq!(info["codec"]["name"], "zstd");
}

#[test]
fn a_chunk_of_blosc_1() {
    // Five stored bytes, written by C-Blosc 1.
    let chunk = b"\x02\x01\x12\x01\x05\0\0\0\x05\0\0\0\x15\0\0\0hello";
    assert_eq!(info(chunk)["kind"], "blosc1-chunk");
    assert_eq!(run_with(args!["cat", "-"], chunk).ok(), b"hello");
}

#[test]
fn as_text() {
    let frame = run_with(args!["compress", "-", "-", "--typesize", "2"], &array_bytes("fmri.npy", 25_000)).ok();
    let text = String::from_utf8(run_with(args!["info", "-"], &frame).ok()).expect("text");
    for word in ["frame", "25000", "zstd", "shuffle"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn an_array() {
    // Made by python-blosc2: [[1, 2, 3], [4, 5, 6]] of 16-bit numbers.
    let array = fs::read(vector_path("samples/b2nd.b2frame")).expect("the vector is in the repository");
    let info = info(&array);
    for (key, value) in [
        ("kind", json!("b2nd")),
        ("shape", json!([2, 3])),
        ("chunkshape", json!([2, 2])),
        ("blockshape", json!([1, 2])),
        ("dtype", json!("<i2")),
        ("blocksize", json!(4)),
    ] {
        assert_eq!(info[key], value, "{key}");
    }
    let text = String::from_utf8(run_with(args!["info", "-"], &array).ok()).expect("text");
    assert!(text.contains("[2, 3]") && text.contains("<i2"), "{text}");
}
