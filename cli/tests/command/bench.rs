//! `oxiblosc bench`.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, info, run, run_with};

fn numbers(told: &Value, threads: &[u64]) {
    let columns = told["columns"].as_array().expect("a list");
    assert_eq!(columns.iter().map(|column| column["threads"].as_u64().expect("a number")).collect::<Vec<_>>(), threads);
    for column in columns {
        for key in ["memcpy", "compress", "decompress"] {
            assert!(column[key]["bytes_per_second"].as_f64().is_some_and(|rate| rate > 1.0), "{key}: {told}");
            assert!(column[key]["rounds"].as_u64().is_some_and(|rounds| rounds >= 3), "{key}: {told}");
        }
        assert!(column["item"]["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{told}");
    }
}

fn json_of(output: &[u8]) -> Value {
    serde_json::from_slice(output).expect("JSON")
}

#[test]
fn arrays_frames_and_plain_bytes() {
    let dir = tempdir().expect("a directory");
    let quick = ["--seconds", "0", "--json"].map(std::ffi::OsString::from);
    let with = |args: &[std::ffi::OsString]| {
        let args = ["bench".into()].into_iter().chain(args.iter().cloned()).chain(quick.iter().cloned());
        json_of(&run(args).ok())
    };
    let npy = array_path("fmri.npy");
    let told = with(&args![&npy, "--threads", "3", "--codec", "lz4", "--level", "3", "--filter", "bitshuffle"]);
    numbers(&told, &[1, 3]);
    assert_eq!((&told["nbytes"], &told["typesize"]), (&1_179_648.into(), &2.into()));
    assert_eq!(told["parameters"], "lz4 level 3, bitshuffle");
    // What it measures is what compress writes.
    let array = dir.path().join("array");
    run(args!["compress", &npy, &array, "--codec", "lz4", "--level", "3", "--filter", "bitshuffle", "--quiet"]).ok();
    let len = fs::metadata(&array).expect("a file").len();
    assert_eq!(told["frame_len"], len);
    assert!((told["ratio"].as_f64().expect("a number") - 1_179_648.0 / len as f64).abs() < 1e-9);
    // The parameters of an array, its chunks and blocks are the defaults.
    run(args!["recompress", &array, &array, "--chunks", "1,9,30,40", "--quiet"]).ok();
    let told = with(&args![&array, "--threads", "1"]);
    numbers(&told, &[1]);
    assert_eq!(told["frame_len"], fs::metadata(&array).expect("a file").len());
    assert_eq!(told["parameters"], "lz4 level 3, bitshuffle");
    // Sparse ones too, and other parameters.
    let sparse = dir.path().join("sparse/");
    run(args!["copy", &array, &sparse]).ok();
    numbers(&with(&args![&sparse, "--threads", "2", "--codec", "zstd", "--block-size", "16K"]), &[1, 2]);
    // A lossy filter gives other bytes back.
    numbers(&with(&args![array_path("disparity.npy"), "--filter", "trunc_prec=10", "--threads", "1"]), &[1]);
    assert_eq!(info(&array)["nchunks"], 2 * 3 * 4 * 4);
}

#[test]
fn lengths_that_are_no_multiple_of_anything() {
    for len in [1, 3, 300_001] {
        let data = array_bytes("fmri.npy", len);
        let args = args!["bench", "-", "--typesize", "8", "--chunk-size", "70000", "--seconds", "0", "--json"];
        let told = json_of(&run_with(args, &data).ok());
        assert_eq!((&told["nbytes"], &told["whole"]), (&len.into(), &true.into()));
    }
    let args = args!["bench", "-", "--max-input", "64K", "--seconds", "0", "--threads", "1"];
    let text = String::from_utf8(run_with(args, &array_bytes("fmri.npy", 300_001)).ok()).expect("text");
    assert!(text.starts_with("standard input: the first 64.0 KiB to "), "{text}");
    for row in ["memcpy ", "compress ", "decompress ", "one item "] {
        assert!(text.lines().any(|line| line.starts_with(row)), "{row}: {text}");
    }
    assert!(run_with(args!["bench", "-"], b"").bad_data().contains("nothing to measure"));
    let refused = run(args!["bench", array_path("fmri.npy"), "--max-input", "1M"]).bad_data();
    assert!(refused.contains("1.1 MiB") && refused.contains("--max-input"), "{refused}");
    for wrong in ["-1", "x", "nan", "1e9"] {
        run(args!["bench", array_path("fmri.npy"), format!("--seconds={wrong}")]).bad_usage();
    }
}
