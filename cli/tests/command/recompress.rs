//! `oxiblosc recompress`: what is not asked for stays as it is.

use std::fs;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, info, run, run_with, vector_path};

fn told(frame: &[u8]) -> Value {
    serde_json::from_slice(&run_with(args!["info", "--json", "-"], frame).ok()).expect("JSON")
}

#[test]
fn parameters_that_are_not_named_stay() {
    let dir = tempdir().expect("a directory");
    let unit = dir.path().join("unit");
    fs::write(&unit, b"\xa1K").expect("a file");
    let layer = |name: &str| format!("{name}={}", unit.display());
    let data = array_bytes("fmri.npy", 50_001);
    let args = args![
        "compress",
        "-",
        "-",
        "--typesize",
        "2",
        "--codec",
        "lz4",
        "--level",
        "7",
        "--filter",
        "delta",
        "--filter",
        "bitshuffle",
        "--chunk-size",
        "8000",
        "--meta",
        layer("m"),
        "--vlmeta",
        layer("v"),
    ];
    let frame = run_with(args, &data).ok();
    let same = run_with(args!["recompress", "-", "-"], &frame).ok();
    assert_eq!(told(&same)["filters"], told(&frame)["filters"]);
    assert!(run_with(args!["cat", "-"], &same).ok() == data);

    let args = args!["recompress", "-", "-", "--codec", "zstd", "--level", "9", "--meta", layer("n")];
    let again = run_with(args, &frame).ok();
    assert!(run_with(args!["cat", "-"], &again).ok() == data);
    let (before, after) = (told(&frame), told(&again));
    for key in ["typesize", "chunksize", "nchunks", "filters", "vlmeta", "nbytes"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    assert_eq!(after["meta"], json!({ "m": "K", "n": "K" }));
    assert_eq!((&after["codec"]["name"], &after["level"]), (&json!("zstd"), &json!(9)));

    let other = run_with(args!["recompress", "-", "-", "--chunk-size", "10000", "--filter", "none"], &frame).ok();
    assert_eq!((&told(&other)["nchunks"], &told(&other)["filters"]), (&json!(6), &json!([])));
    assert!(run_with(args!["cat", "-"], &other).ok() == data);
}

#[test]
fn arrays_stay_arrays() {
    let dir = tempdir().expect("a directory");
    let (array, again) = (dir.path().join("array"), dir.path().join("again"));
    run(args!["compress", array_path("fmri.npy"), &array, "--chunks", "2,7,50,60", "--blocks", "1,3,20,30"]).ok();
    let data = array_bytes("fmri.npy", 1_179_648);
    for (options, chunks) in [
        (&["--codec", "lz4"][..], json!([2, 7, 50, 60])),
        (&["--layout", "sparse"], json!([2, 7, 50, 60])),
        (&["--chunks", "1,24,96,128"], json!([1, 24, 96, 128])),
        (&["--chunks", "1,24,96,128", "--layout", "sparse", "--level", "9"], json!([1, 24, 96, 128])),
    ] {
        run(args!["recompress", &array, &again].into_iter().chain(options.iter().map(Into::into))).ok();
        let told = info(&again);
        assert_eq!((&told["chunkshape"], &told["dtype"]), (&chunks, &json!("<i2")), "{options:?}");
        assert!(run(args!["cat", &again]).ok() == data, "{options:?}");
        run(args!["verify", &again, "--quiet"]).ok();
        if again.is_dir() {
            fs::remove_dir_all(&again).expect("it is there");
        } else {
            fs::remove_file(&again).expect("it is there");
        }
    }
    run(args!["recompress", &array, &again, "--chunk-size", "100000"]).ok();
    assert!(info(&again)["chunksize"].as_u64().is_some_and(|size| size <= 130_000));
    assert!(run(args!["cat", &again]).ok() == data);
    run(args!["recompress", &array, &again, "--dtype", "f4"]).bad_usage();
    // In place.
    run(args!["recompress", &array, &array, "--codec", "blosclz"]).ok();
    assert_eq!(info(&array)["codec"]["name"], "blosclz");
    assert!(run(args!["cat", &array]).ok() == data);
}

#[test]
fn from_every_kind_to_every_kind() {
    let dir = tempdir().expect("a directory");
    let data = array_bytes("fmri.npy", 120_000);
    let inputs = [&["--format", "frame"][..], &["--format", "chunk"], &["--format", "blosc1"], &["--format", "early"]];
    let outputs = [
        &["--format", "frame"][..],
        &["--format", "chunk"],
        &["--format", "blosc1"],
        &["--format", "early"],
        &["--layout", "sparse"],
        &["--dtype", "i2", "--shape", "300,200"],
    ];
    for input in inputs {
        let args = args!["compress", "-", "-", "--typesize", "2", "--codec", "zlib"].into_iter();
        let compressed = run_with(args.chain(input.iter().map(Into::into)), &data).ok();
        for (i, output) in outputs.iter().enumerate() {
            let path = dir.path().join(format!("{}-{i}", input[1]));
            let args = args!["recompress", "-", &path].into_iter();
            run_with(args.chain(output.iter().map(Into::into)), &compressed).ok();
            let told = info(&path);
            assert_eq!(
                (&told["codec"]["name"], &told["typesize"]),
                (&json!("zlib"), &json!(2)),
                "{input:?} {output:?}"
            );
            assert_eq!(told["filters"][0]["name"], "shuffle", "{input:?} {output:?}");
            assert!(run(args!["cat", &path]).ok() == data, "{input:?} {output:?}");
        }
    }
}

/// In frames of variable chunks, the boundaries are part of what is stored.
#[test]
fn variable_chunks_keep_their_boundaries() {
    let variable = vector_path("legacy/varchunks-lz4-3.0.0.b2frame");
    let dir = tempdir().expect("a directory");
    for layout in ["contiguous", "sparse"] {
        let again = dir.path().join(layout);
        run(args!["recompress", &variable, &again, "--codec", "zstd", "--layout", layout]).ok();
        let (before, after) = (info(&variable), info(&again));
        for key in ["nchunks", "nbytes", "chunksize", "version"] {
            assert_eq!(before[key], after[key], "{key}");
        }
        assert_eq!(after["codec"]["name"], "zstd");
        assert!(run(args!["cat", &again]).ok() == run(args!["cat", &variable]).ok());
        run(args!["verify", &again, "--quiet"]).ok();
    }
    let fixed = run(args!["recompress", &variable, "-", "--chunk-size", "1000"]).ok();
    assert_eq!(told(&fixed)["chunksize"], 1000);
}

/// What is not named stays, so a directory stays one, also in place.
#[test]
fn sparse_frames_stay_sparse() {
    let dir = tempdir().expect("a directory");
    let (frame, other) = (dir.path().join("frame"), dir.path().join("other"));
    let data = array_bytes("fmri.npy", 100_000);
    for array in [&[][..], &["--dtype", "i2", "--shape", "-1,50"]] {
        let args = args!["compress", "-", &frame, "--layout", "sparse", "--chunk-size", "10000"];
        run_with(args.into_iter().chain(array.iter().map(Into::into)), &data).ok();
        run(args!["recompress", &frame, &frame, "--codec", "lz4"]).ok();
        run(args!["recompress", &frame, &frame, "--codec", "blosclz", "--chunk-size", "20000"]).ok();
        run(args!["recompress", &frame, &other]).ok();
        for sparse in [&frame, &other] {
            let told = info(sparse);
            assert!(sparse.is_dir() && told["layout"] == "sparse", "{array:?}: {told}");
            assert_eq!(told["codec"]["name"], "blosclz");
            assert!(run(args!["cat", sparse]).ok() == data);
        }
        fs::remove_dir_all(&other).expect("a directory");
        run(args!["recompress", &frame, &other, "--layout", "contiguous"]).ok();
        assert!(other.is_file() && run(args!["cat", &other]).ok() == data);
        fs::remove_file(&other).expect("a file");
        run(args!["recompress", &frame, &other, "--format", "early"]).ok();
        assert!(other.is_file() && run(args!["cat", &other]).ok() == data);
        fs::remove_file(&other).expect("a file");
        let piped = run(args!["recompress", &frame, "-"]).ok();
        assert!(run_with(args!["cat", "-"], &piped).ok() == data);
        fs::remove_dir_all(&frame).expect("a directory");
    }
}

/// The chunk size of the input need not be one of items of another size.
#[test]
fn another_type_size() {
    let data = array_bytes("fmri.npy", 100_000);
    let frame = run_with(args!["compress", "-", "-"], &data).ok();
    for (typesize, chunk_size) in [("3", 4_194_303), ("2", 4_194_304), ("1000", 4_194_000)] {
        let other = run_with(args!["recompress", "-", "-", "--typesize", typesize], &frame).ok();
        let told = told(&other);
        assert_eq!((told["typesize"].to_string(), &told["chunksize"]), (typesize.to_owned(), &json!(chunk_size)));
        assert!(run_with(args!["cat", "-"], &other).ok() == data);
    }
}

#[test]
fn failures_leave_nothing() {
    let dir = tempdir().expect("a directory");
    let out = dir.path().join("out");
    let frame = run_with(args!["compress", "-", "-", "--chunk-size", "1000"], &array_bytes("fmri.npy", 9_999)).ok();
    let mut damaged = frame.clone();
    damaged[200..300].fill(0xFF);
    run_with(args!["recompress", "-", &out], &damaged).bad_data();
    run_with(args!["recompress", "-", &out, "--codec", "snappy"], &frame).bad_usage();
    run_with(args!["recompress", "-", &out, "--codec", "ndlz", "--codec-meta", "5"], &frame).bad_usage();
    let message = run_with(args!["recompress", "-", &out, "--codec", "zfp_acc"], &frame).bad_usage();
    assert!(message.contains("zfp_acc") && message.contains("array"), "{message}");
    run_with(args!["recompress", "-", &out, "--format", "early", "--typesize", "256"], &frame).bad_usage();
    run_with(args!["recompress", "-", &out, "--codec", "blosclz", "--dict"], &frame).bad_usage();
    run_with(args!["recompress", "-", &out], b"neither a frame nor a chunk, but a text").bad_data();
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 0);
}
