//! `oxiblosc copy`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::missing_plugins;
use crate::program::{array_bytes, array_path, info, run, run_with, vector_path};

fn cat(path: &Path) -> Vec<u8> {
    run(args!["cat", path]).ok()
}

/// An array of 2 x 24 x 96 x 128 items of two bytes with metalayers, checksums and a fingerprint.
fn fmri(dir: &Path) -> PathBuf {
    let (path, layer) = (dir.join("fmri.b2nd"), dir.join("layer"));
    fs::write(&layer, b"\xa1K").expect("a file");
    let (meta, vlmeta) = (format!("unit={}", layer.display()), format!("notes={}", layer.display()));
    let args = args![
        "compress",
        array_path("fmri.npy"),
        &path,
        "--chunks",
        "1,7,40,50",
        "--blocks",
        "1,3,20,30",
        "--codec",
        "lz4",
        "--level",
        "7",
        "--filter",
        "bitshuffle",
        "--meta",
        meta,
        "--vlmeta",
        vlmeta,
        "--checksum",
        "xxh3",
        "--fingerprint",
        "64",
        "--quiet"
    ];
    run(args).ok();
    path
}

#[test]
fn chunks_are_copied_as_they_are() {
    let dir = tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let array = fmri(dir.path());
    let (sparse, back) = (path("sparse/"), path("back.b2nd"));
    run(args!["copy", &array, &sparse]).ok();
    assert!(path("sparse").join("chunks.b2frame").is_file(), "the slash at the end");
    run(args!["copy", &sparse, &back, "--layout", "contiguous"]).ok();
    assert!(fs::read(&back).expect("a file") == fs::read(&array).expect("a file"));
    // A sparse frame stays one where the name does not say anything, and is replaced where it does.
    run(args!["copy", &sparse, path("again")]).ok();
    assert!(path("again").is_dir());
    let (mut a, mut b) = (info(&path("again")), info(&array));
    for value in [&mut a, &mut b] {
        value.as_object_mut().expect("an object").retain(|key, _| !["layout", "fingerprint"].contains(&&**key));
    }
    assert_eq!(a, b);
    run(args!["verify", path("again"), "--quiet"]).ok();
    // To standard output and from standard input.
    let piped = run(args!["copy", &array, "-"]).ok();
    assert!(piped == fs::read(&array).expect("a file"));
    run_with(args!["copy", "-", path("piped")], &piped).ok();
    assert!(fs::read(path("piped")).expect("a file") == piped);
    // URLs of files.
    let url = |path: &Path| format!("file://{}", path.display());
    run(args!["copy", url(&array), url(&path("by_url.b2nd"))]).ok();
    assert!(fs::read(path("by_url.b2nd")).expect("a file") == piped);
    run(args!["copy", url(&array), format!("{}/", url(&path("prefix")))]).ok();
    assert!(cat(&path("prefix")) == cat(&array));
}

#[test]
fn what_cannot_be_decoded_can_be_copied() {
    let dir = tempdir().expect("a directory");
    let (frame, copy) = (dir.path().join("frame"), dir.path().join("copy"));
    missing_plugins::write(&frame, missing_plugins::params());
    run(args!["cat", &frame]).bad_data();
    run(args!["copy", &frame, &copy]).ok();
    assert!(fs::read(&copy).expect("a file") == fs::read(&frame).expect("a file"));
    for vector in ["early/beta5-lz4-50chunks.b2frame", "early/e87dd0af-zlib-bitshuf-1meta.b2frame"] {
        let path = vector_path(vector);
        run(args!["copy", &path, &copy]).ok();
        assert!(cat(&copy) == cat(&path), "{vector}");
    }
    let path = vector_path("legacy/varchunks-lz4-3.0.0.b2frame");
    run(args!["copy", &path, &copy]).ok();
    assert!(cat(&copy) == cat(&path));
    // Chunks, byte by byte.
    let chunk = run_with(args!["compress", "-", "-", "--format", "chunk"], &array_bytes("fmri.npy", 5000)).ok();
    assert!(run_with(args!["copy", "-", "-"], &chunk).ok() == chunk);
    run_with(args!["copy", "-", &copy, "--items", ":3"], &chunk).bad_usage();
    run_with(args!["copy", "-", &copy, "--layout", "sparse"], &chunk).bad_usage();
}

#[test]
fn parts_of_arrays_are_arrays() {
    let dir = tempdir().expect("a directory");
    let array = fmri(dir.path());
    let part = dir.path().join("part.b2nd");
    let all = info(&array);
    for (slice, shape, chunks, blocks) in [
        ("...", [2, 24, 96, 128].as_slice(), Some([1, 7, 40, 50].as_slice()), Some([1, 3, 20, 30].as_slice())),
        (":, 3:8, ::-5, 10:", &[2, 5, 20, 118], Some(&[1, 5, 20, 50]), Some(&[1, 3, 20, 30])),
        ("0, ..., 5", &[24, 96], None, None),
        ("[1,0,1], 5:5", &[3, 0, 96, 128], Some(&[1, 1, 40, 50]), Some(&[1, 1, 20, 30])),
        ("1, 2, 3, 4", &[], None, None),
    ] {
        let _ = fs::remove_file(&part);
        run(args!["copy", &array, &part, "--slice", slice]).ok();
        let told = info(&part);
        assert_eq!(told["shape"], json!(shape), "{slice}");
        for (key, lens) in [("chunkshape", chunks), ("blockshape", blocks)] {
            assert!(lens.is_none_or(|lens| told[key] == json!(lens)), "{slice}: {}", told[key]);
        }
        for key in ["dtype", "codec", "level", "filters", "meta", "vlmeta", "typesize", "dict"] {
            if key == "meta" {
                assert_eq!(told[key]["unit"], "K");
                continue;
            }
            assert_eq!(told[key], all[key], "{slice}: {key}");
        }
        assert_eq!((&told["checksums"], &told["fingerprint"]["type"]), (&json!("valid"), &json!(2)));
        run(args!["verify", &part, "--quiet"]).ok();
        assert!(cat(&part) == run(args!["cat", &array, "--slice", slice]).ok(), "{slice}");
    }
    // Items become one dimension; the directory is there, so that it becomes a sparse frame.
    let items = dir.path().join("items/");
    for range in ["1000:200001", ":", "7:7", "-3:"] {
        run(args!["copy", &array, &items, "--items", range]).ok();
        assert!(items.join("chunks.b2frame").is_file());
        assert!(cat(&items) == run(args!["cat", &array, "--items", range]).ok(), "{range}");
        assert_eq!(info(&items)["shape"].as_array().map(Vec::len), Some(1));
        fs::remove_dir_all(&items).expect("it is there");
    }
    for wrong in ["0,0,0,0,0", "5", "::0"] {
        assert!(!run(args!["copy", &array, &part, "--slice", wrong]).bad_usage().is_empty(), "{wrong}");
    }
}

#[test]
fn parts_of_frames_keep_their_parameters() {
    let dir = tempdir().expect("a directory");
    let (frame, part) = (dir.path().join("frame"), dir.path().join("part"));
    let data = array_bytes("fmri.npy", 500_003);
    let args = args![
        "compress",
        "-",
        &frame,
        "--typesize",
        "2",
        "--chunk-size",
        "70000",
        "--codec",
        "zstd",
        "--dict",
        "--block-size",
        "8K",
        "--checksum",
        "xxh3",
        "--quiet"
    ];
    run_with(args, &data).ok();
    for (range, bytes) in [
        (":", &data[..500_002]),
        ("35000:70000", &data[70_000..140_000]),
        ("1:1", &[]),
        ("34999:100001", &data[69_998..200_002]),
    ] {
        run(args!["copy", &frame, &part, "--items", range]).ok();
        assert!(cat(&part) == bytes, "{range}");
        let (told, all) = (info(&part), info(&frame));
        for key in ["codec", "level", "filters", "typesize", "dict", "checksums"] {
            assert_eq!(told[key], all[key], "{range}: {key}");
        }
        assert!(bytes.is_empty() || told["chunksize"] == 70_000, "{range}: {}", told["chunksize"]);
    }
    assert!(run(args!["copy", &frame, &part, "--slice", "1:2"]).bad_usage().contains("--items"));
    assert!(run(args!["copy", &frame, &frame]).bad_usage().contains("the same"));
    // A copy that fails leaves what was there.
    let before = fs::read(&part).expect("a file");
    let mut bytes = fs::read(&frame).expect("a file");
    bytes[300] ^= 1;
    fs::write(&frame, bytes).expect("a file");
    run(args!["copy", &frame, &part]).bad_data();
    assert!(fs::read(&part).expect("a file") == before);
    assert_eq!(Value::from(run(args!["info", &part]).status), 0);
}
