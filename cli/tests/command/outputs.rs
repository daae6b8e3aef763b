//! Every layout and format, metalayers, plugins by name.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, info, run, run_with};

const LENGTHS: [usize; 9] = [0, 1, 31, 32, 127, 128, 129, 10_000, 34_567];

#[test]
fn chunks_of_blosc_1() {
    for length in LENGTHS {
        let data = array_bytes("fmri.npy", length);
        for codec in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] {
            let args = args!["compress", "-", "-", "--format", "blosc1", "--typesize", "2", "--codec", codec];
            let chunk = run_with(args, &data).ok();
            assert_eq!(chunk[0], 2, "the version of Blosc 1");
            assert!(run_with(args!["cat", "-"], &chunk).ok() == data, "{length} bytes, {codec}");
            run_with(args!["verify", "-", "--quiet"], &chunk).ok();
        }
    }
}

#[test]
fn early_frames() {
    for length in LENGTHS {
        let data = array_bytes("fmri.npy", length);
        for filter in ["none", "shuffle", "bitshuffle", "delta"] {
            let args = args![
                "compress",
                "-",
                "-",
                "--format",
                "early",
                "--typesize",
                "2",
                "--chunk-size",
                "10000",
                "--filter",
                filter
            ];
            let frame = run_with(args, &data).ok();
            assert!([0x9B, 0x9C].contains(&frame[0]), "the first byte of 2019");
            assert!(run_with(args!["cat", "-"], &frame).ok() == data, "{length} bytes, {filter}");
            run_with(args!["verify", "-", "--quiet"], &frame).ok();
        }
    }
    // An array is then what its items are.
    let frame = run(args!["compress", array_path("fmri.npy"), "-", "--format", "early"]).ok();
    assert!(run_with(args!["cat", "-"], &frame).ok() == array_bytes("fmri.npy", 1_179_648));
}

#[test]
fn sparse_frames() {
    let dir = tempdir().expect("a directory");
    for length in LENGTHS {
        let data = array_bytes("fmri.npy", length);
        let frame = dir.path().join(format!("{length}"));
        let args = args!["compress", "-", &frame, "--layout", "sparse", "--typesize", "2", "--chunk-size", "10000"];
        run_with(args, &data).ok();
        assert!(frame.join("chunks.b2frame").is_file());
        assert!(run(args!["cat", &frame]).ok() == data, "{length} bytes");
        assert!(
            run(args!["cat", &frame, "--items", "1:-1"]).ok()
                == data.get(2..(length / 2 * 2).max(4) - 2).unwrap_or_default()
        );
        run(args!["verify", &frame, "--quiet"]).ok();
        assert_eq!(info(&frame)["kind"], "sparse-frame");
    }
    // A sparse frame is replaced as a whole, and nothing else is.
    let frame = dir.path().join("34567");
    run_with(args!["compress", "-", &frame, "--layout", "sparse"], b"new").ok();
    assert_eq!(run(args!["cat", &frame]).ok(), b"new");
    assert_eq!(fs::read_dir(&frame).expect("a directory").count(), 2);
    fs::write(frame.join("precious"), "").expect("a file");
    run_with(args!["compress", "-", &frame, "--layout", "sparse"], b"newer").bad_data();
    assert_eq!(run(args!["cat", &frame]).ok(), b"new");
    let file = dir.path().join("file");
    fs::write(&file, "precious").expect("a file");
    run_with(args!["compress", "-", &file, "--layout", "sparse"], b"new").bad_data();
    assert_eq!(fs::read(&file).expect("a file"), b"precious");
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), LENGTHS.len() + 1, "nothing is left behind");
}

#[test]
fn a_failed_compress_leaves_no_directory() {
    let dir = tempdir().expect("a directory");
    let mut array = fs::read(array_path("fmri.npy")).expect("the array is in the repository");
    array.truncate(array.len() - 1);
    let frame = dir.path().join("frame");
    run_with(args!["compress", "-", &frame, "--layout", "sparse", "--chunks", "1,6,96,128"], &array).bad_data();
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 0);
}

#[test]
fn dictionaries() {
    let data = array_bytes("fmri.npy", 300_000);
    for codec in ["zstd", "lz4", "lz4hc"] {
        for format in ["frame", "chunk"] {
            let args = args![
                "compress",
                "-",
                "-",
                "--format",
                format,
                "--codec",
                codec,
                "--dict",
                "--typesize",
                "2",
                "--block-size",
                "4K"
            ];
            let compressed = run_with(args, &data).ok();
            assert!(run_with(args!["cat", "-"], &compressed).ok() == data, "{codec} {format}");
            let told: Value =
                serde_json::from_slice(&run_with(args!["info", "--json", "-"], &compressed).ok()).expect("JSON");
            assert_eq!(told["dict"], true, "{codec} {format}");
        }
    }
}

#[test]
fn metalayers_in_every_frame() {
    let dir = tempdir().expect("a directory");
    let (unit, notes) = (dir.path().join("unit"), dir.path().join("notes"));
    fs::write(&unit, b"\xa1K").expect("a file");
    fs::write(&notes, b"\x92\xa9no clouds\x07").expect("a file");
    let layer = |name: &str, path: &Path| format!("{name}={}", path.display());
    let output = dir.path().join("out");
    for options in [
        &args![][..],
        &args!["--layout", "sparse"],
        &args!["--dtype", "u1"],
        &args!["--dtype", "u1", "--shape", "2,2", "--layout", "sparse"],
    ] {
        let args = args![
            "compress",
            "-",
            &output,
            "--meta",
            layer("unit", &unit),
            "--vlmeta",
            layer("notes", &notes),
            "--vlmeta",
            layer("again", &unit),
        ];
        run_with(args.iter().chain(options), b"data").ok();
        assert_eq!(run(args!["cat", &output]).ok(), b"data");
        let told = info(&output);
        assert_eq!(told["meta"]["unit"], "K");
        assert_eq!(told["vlmeta"], json!({ "notes": ["no clouds", 7], "again": "K" }));
        if output.is_dir() {
            fs::remove_dir_all(&output).expect("it is there");
        } else {
            fs::remove_file(&output).expect("it is there");
        }
    }
    let message = run_with(args!["compress", "-", "-", "--meta", "a=/no/such/file"], b"data").bad_data();
    assert!(message.contains("/no/such/file"), "{message}");
    let args = args!["compress", "-", "-", "--format", "early", "--meta", layer("unit", &unit)];
    let told = run_with(args!["info", "--json", "-"], &run_with(args, b"data").ok()).ok();
    assert_eq!(serde_json::from_slice::<Value>(&told).expect("JSON")["meta"]["unit"], "K");
}

/// Every filter and codec that can write, by its name and by its id.
#[test]
fn plugins_by_name_and_id() {
    let plugins: Value = serde_json::from_slice(&run(args!["plugins", "--json"]).ok()).expect("JSON");
    let data = array_bytes("faces.npy", 64 * 64 * 8);
    let names = |kind: &str| plugins[kind].as_array().expect("a list").clone();
    for filter in names("filters") {
        let (name, id) = (filter["name"].as_str().expect("a name"), filter["id"].to_string());
        let meta = match name {
            "bytedelta" | "ndcell" | "ndmean" => "8",
            "trunc_prec" | "int_trunc" => "10",
            _ => "0",
        };
        let frame = |filter: &str| {
            let filter = format!("{filter}={meta}");
            let args = args![
                "compress", "-", "-", "--dtype", "f8", "--shape", "64,64", "--blocks", "32,32", "--filter", filter,
                "--quiet"
            ];
            run_with(args, &data)
        };
        let frames = (frame(name), frame(&id));
        // What only reads says so.
        if frames.0.status != 0 {
            assert!(frames.0.stderr.starts_with("oxiblosc: "), "{}", frames.0.stderr);
            assert!(!frames.0.stderr.contains("panicked"), "{}", frames.0.stderr);
            continue;
        }
        let (by_name, by_id) = (frames.0.ok(), frames.1.ok());
        assert!(by_name == by_id, "{name}");
        let back = run_with(args!["cat", "-"], &by_name).ok();
        assert_eq!(back.len(), data.len(), "{name}");
        if filter["notes"][0] == "lossless" {
            assert!(back == data, "{name}");
        }
    }
    for codec in names("codecs") {
        let name = codec["name"].as_str().expect("a name");
        let args = args!["compress", "-", "-", "--typesize", "8", "--codec", name, "--codec-meta", "0"];
        let run = run_with(args, &data[..10_000]);
        if codec["notes"][0] == "reads only" {
            run.bad_usage();
        } else if codec["range"] == "blosc" {
            assert!(run_with(args!["cat", "-"], &run.ok()).ok() == data[..10_000], "{name}");
        }
    }
}
