//! `oxiblosc info`.

use std::ffi::OsString;
use std::fs;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, run, run_with, vector_path};

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
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("cbytes") && !line.starts_with("ratio")).collect();
    assert_eq!(
        lines,
        [
            "kind         frame, version 2",
            "nbytes       25000 bytes (24.4 KiB)",
            "typesize     2",
            "chunksize    4194304 bytes (4.0 MiB)",
            "blocksize    25000 bytes (24.4 KiB)",
            "nchunks      1",
            "codec        zstd",
            "level        5",
            "filters      shuffle",
        ]
    );
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

fn info_of(vector: &str) -> Value {
    let output = run(args!["info", "--json", vector_path(vector)]).ok();
    serde_json::from_slice(&output).expect("JSON")
}

#[test]
fn chunks_of_all_kinds() {
    let chunk = |args: &[OsString], data: &[u8]| {
        let args = args!["compress", "-", "-", "--format", "chunk"].into_iter().chain(args.iter().cloned());
        info(&run_with(args, data).ok())
    };
    let zeros = chunk(&[], &[0; 1000]);
    assert_eq!((&zeros["chunk"]["body"], &zeros["cbytes"]), (&json!("zeros"), &json!(32)));
    let noise = chunk(&args!["--level", "0"], b"noise");
    assert_eq!(noise["chunk"], json!({"body": "stored", "split": false, "lazy": false, "instrumented": false}));
    let split = chunk(&args!["--typesize", "2", "--split", "always"], &array_bytes("fmri.npy", 10_000));
    assert_eq!((&split["chunk"]["body"], &split["chunk"]["split"]), (&json!("blocks"), &json!(true)));
    let with_dict = chunk(&args!["--dict", "--block-size", "4096"], &array_bytes("fmri.npy", 200_000));
    assert_eq!(with_dict["dict"], true);

    // Version 5, extended header, seven floats in one block, no filters: NaNs, repeated values, uninitialised.
    let mut special = b"\x05\x01\x05\x04\x1c\0\0\0\x1c\0\0\0\x20\0\0\0".to_vec();
    special.resize(32, 0);
    for (bits, body) in [(0x20, "nans"), (0x40, "uninit")] {
        special[31] = bits;
        assert_eq!(info(&special)["chunk"]["body"], body);
        run_with(args!["verify", "-"], &special).ok();
    }
    let mut value = [&special[..], b"\x01\x02\x03\x04"].concat();
    (value[12], value[31]) = (36, 0x30);
    assert_eq!(info(&value)["chunk"]["body"], "value");
    assert_eq!(run_with(args!["cat", "-"], &value).ok(), b"\x01\x02\x03\x04".repeat(7));
}

#[test]
fn chunks_without_their_data() {
    // Lazy: a stored chunk of 28 bytes at offset 165 of a frame, where it is chunk 3; one block of 28 bytes.
    let mut lazy = b"\x05\x01\x07\x04\x1c\0\0\0\x1c\0\0\0\x3c\0\0\0".to_vec();
    lazy.resize(32, 0);
    (lazy[2], lazy[31]) = (0x07, 0x08);
    lazy.extend([[0; 4], [3, 0, 0, 0], [165, 0, 0, 0], [0; 4], [28, 0, 0, 0]].concat());
    let told = info(&lazy);
    assert_eq!((&told["chunk"]["lazy"], &told["nbytes"]), (&json!(true), &json!(28)));
    assert!(told["notes"][0].as_str().is_some_and(|note| note.contains("chunk 3") && note.contains("165")), "{told}");
    for command in ["cat", "verify"] {
        assert!(run_with(args![command, "-"], &lazy).bad_data().contains("lazy"));
    }
    let mut instrumented = lazy[..32].to_vec();
    instrumented.extend([0; 28]);
    (instrumented[2], instrumented[31]) = (0x07, 0x80);
    let told = info(&instrumented);
    assert_eq!(told["chunk"]["instrumented"], true);
    for command in ["cat", "verify"] {
        assert!(run_with(args![command, "-"], &instrumented).bad_data().contains("instrumented"));
    }
}

#[test]
fn sparse_frames() {
    let told = info_of("current/frame-s-zstd-ramp-131072-32768.b2frame");
    assert_eq!((&told["kind"], &told["layout"]), (&json!("sparse-frame"), &json!("sparse")));
    let index = vector_path("current/frame-s-zstd-ramp-131072-32768.b2frame/chunks.b2frame");
    for command in ["info", "cat", "verify"] {
        assert!(run(args![command, &index]).bad_data().contains("give the directory"));
    }
}

#[test]
fn early_frames_and_their_bit_shuffle() {
    for (vector, version, note) in [
        ("early/e87dd0af-zlib-bitshuf-1meta.b2frame", 0, Some("before February 2020")),
        ("early/beta5-zlib-bitshuf-1meta.b2frame", 1, Some("--bitshuffle old")),
        ("early/beta5-lz4-50chunks.b2frame", 1, None),
    ] {
        let told = info_of(vector);
        assert_eq!((&told["kind"], &told["version"]), (&json!("early-frame"), &json!(version)), "{vector}");
        let notes = told["notes"].to_string();
        match note {
            Some(note) => assert!(notes.contains(note), "{vector}: {notes}"),
            None => assert!(!notes.contains("bit shuffle"), "{vector}: {notes}"),
        }
    }
    // The frame of beta 5 has blocks that differ by the rule.
    let beta5 = vector_path("early/beta5-zlib-bitshuf-1meta.b2frame");
    let cat = |rule: &str| run(args!["cat", &beta5, "--bitshuffle", rule]).ok();
    assert!(cat("auto") == cat("new"));
}

#[test]
fn metadata_of_other_ages() {
    let told = info_of("early/beta5-lz4hc-zerochunk-user.b2frame");
    assert!(!told["usermeta"].is_null(), "{told}");
    let told = info_of("legacy/varchunks-lz4-3.0.0.b2frame");
    assert_eq!((&told["version"], &told["chunksize"]), (&json!(3), &json!(null)));
}

#[test]
fn damage_to_a_part_does_not_hide_the_rest() {
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("sparse");
    let data = array_bytes("fmri.npy", 25_000);
    run_with(args!["compress", "-", &frame, "--layout", "sparse", "--chunk-size", "10000"], &data).ok();
    fs::remove_file(frame.join("00000000.chunk")).expect("it is there");
    let told: Value = serde_json::from_slice(&run(args!["info", "--json", &frame]).ok()).expect("JSON");
    assert_eq!(told["nchunks"], 3);
    assert!(told["notes"][0].as_str().is_some_and(|note| note.contains("00000000.chunk")), "{told}");
    let message = run(args!["verify", &frame]).bad_data();
    assert!(message.contains("1 of 3 chunk files are missing: 00000000.chunk (chunk 0)"), "{message}");
}

#[test]
fn metalayers_in_the_notation_of_python() {
    let dir = tempdir().expect("a directory");
    let file = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, content).expect("a file");
        format!("{name}={}", path.display())
    };
    let args = args![
        "compress",
        "-",
        "-",
        "--meta",
        file("unit", b"\xa1K"),
        "--vlmeta",
        file("notes", b"\x93\xa9__tuple__\xa6clouds\xc0"),
        "--vlmeta",
        file("raw", b"\x01\x1b[31m"),
        "--vlmeta",
        file("long", &[b"\xda\x03\xe8".as_slice(), &[b'x'; 1000]].concat()),
    ];
    let frame = run_with(args, b"data").ok();
    let text = String::from_utf8(run_with(args!["info", "-"], &frame).ok()).expect("text");
    assert!(text.contains("meta         unit: \"K\"\n"), "{text}");
    assert!(text.contains("vlmeta       notes: (\"clouds\", None)\n"), "{text}");
    assert!(text.contains("vlmeta       raw: b\"\\x01\\x1b[31m\"\n"), "{text}");
    assert!(text.contains("xxx ... (1002 characters"), "{text}");
    let told = info(&frame);
    assert_eq!(told["meta"]["unit"], "K");
    assert_eq!(told["vlmeta"]["notes"], json!(["clouds", null]));
    assert_eq!(told["vlmeta"]["long"], "x".repeat(1000));
}
