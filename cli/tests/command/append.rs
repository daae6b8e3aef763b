//! `oxiblosc append` and `compact`.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, info, run, run_with, vector_path};

/// The last chunk may be short, full or missing, the frame a file or a directory.
#[test]
fn items_of_frames() {
    let dir = tempdir().expect("a directory");
    for layout in ["contiguous", "sparse"] {
        for first in [0, 1, 9_999, 10_000, 10_001, 25_000] {
            for second in [0, 1, 10_000, 34_567] {
                let first: Vec<u8> = array_bytes("fmri.npy", 4 * first);
                let second: Vec<u8> = array_bytes("faces.npy", 4 * second);
                let frame = dir.path().join(format!("{layout}-{}-{}", first.len(), second.len()));
                let args =
                    args!["compress", "-", &frame, "--typesize", "4", "--chunk-size", "40000", "--layout", layout];
                run_with(args, &first).ok();
                run_with(args!["append", &frame, "-"], &second).ok();
                let all = [&first[..], &second].concat();
                assert!(run(args!["cat", &frame]).ok() == all, "{}", frame.display());
                // A frame without chunks has no chunk size either.
                let chunk = if first.is_empty() { 4 << 20 } else { 40_000 };
                assert_eq!(info(&frame)["nchunks"], all.len().div_ceil(chunk));
                run(args!["verify", &frame, "--quiet"]).ok();
            }
        }
    }
}

#[test]
fn part_of_an_item_is_not_appended() {
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("frame");
    run_with(args!["compress", "-", &frame, "--typesize", "4"], &[1; 40]).ok();
    let before = fs::read(&frame).expect("a file");
    let message = run_with(args!["append", &frame, "-"], &[2; 41]).bad_data();
    assert!(message.contains("1 bytes of an item of 4"), "{message}");
    let message = run(args!["append", &frame, array_path("faces.npy")]).bad_data();
    assert!(message.contains("8 bytes"), "{message}");
    assert_eq!(run(args!["cat", &frame]).ok(), [1; 40]);
    assert_eq!(fs::read(&frame).expect("a file"), before, "nothing is left behind its end");
    run(args!["append", &frame, array_path("disparity.npy")]).ok();
    assert_eq!(info(&frame)["nbytes"], 40 + 1_482_000);
}

/// Who compresses a frame, or appends one, has most likely meant what is in it.
#[test]
fn frames_as_input_are_warned_of() {
    let dir = tempdir().expect("a directory");
    let [frame, twice] = ["frame", "twice"].map(|name| dir.path().join(name));
    run_with(args!["compress", "-", &frame], &[1; 40]).ok();
    let encoded = fs::read(&frame).expect("a file");
    let warned = |said: String, name: &Path| {
        let expected = format!("oxiblosc: warning: {}: the input is a Blosc2 frame", name.display());
        assert!(said.starts_with(&expected) && said.matches('\n').count() == 1, "{said}");
    };
    let said = run(args!["compress", &frame, &twice]);
    assert_eq!(said.status, 0);
    warned(said.stderr, &twice);
    assert_eq!(run(args!["cat", &twice]).ok(), encoded);
    let said = run(args!["append", &twice, &frame]);
    assert_eq!(said.status, 0);
    warned(said.stderr, &twice);
    assert_eq!(run(args!["cat", &twice]).ok(), encoded.repeat(2));
    // Who says so means the bytes.
    run(args!["compress", &frame, &twice, "--raw"]).ok();
    run(args!["compress", &frame, &twice, "--quiet"]).ok();
}

#[test]
fn rows_of_arrays() {
    let dir = tempdir().expect("a directory");
    let row = |count: usize, seed: usize| array_bytes("fmri.npy", 4 * 50 * (count + seed)).split_off(4 * 50 * seed);
    for layout in ["contiguous", "sparse"] {
        for (first, chunks) in [(0, "7,20"), (1, "7,20"), (7, "7,50"), (13, "7,20"), (14, "3,50")] {
            let frame = dir.path().join(format!("{layout}-{first}-{chunks}"));
            let args = args![
                "compress", "-", &frame, "--dtype", "i4", "--shape", "-1,50", "--chunks", chunks, "--layout", layout
            ];
            let mut all = row(first, 1);
            run_with(args, &all).ok();
            for count in [0, 1, 6, 7, 8, 100] {
                run_with(args!["append", &frame, "-"], &row(count, 3)).ok();
                all.extend(row(count, 3));
                assert!(run(args!["cat", &frame]).ok() == all, "{} {count}", frame.display());
                assert_eq!(info(&frame)["shape"], json!([all.len() / 200, 50]));
            }
            run(args!["verify", &frame, "--quiet"]).ok();
            let message = run_with(args!["append", &frame, "-"], &row(1, 0)[1..]).bad_data();
            assert!(message.contains("200 bytes"), "{message}");
            assert!(run(args!["cat", &frame]).ok() == all);
        }
    }
}

/// Whatever goes wrong midway, the frame and the file or directory that it is in are as they were.
#[test]
fn a_failed_append_leaves_nothing_behind() {
    let dir = tempdir().expect("a directory");
    let data = array_bytes("faces.npy", 500_000);
    let mut compressed = run_with(args!["compress", "-", "-", "--chunk-size", "100000"], &data).ok();
    let file = dir.path().join("file");
    fs::write(&file, &compressed).expect("a file");
    compressed = run(args!["cat", &file, "--encode", "gzip"]).ok();
    compressed.truncate(compressed.len() / 2);
    for (layout, array) in [("contiguous", false), ("sparse", false), ("contiguous", true), ("sparse", true)] {
        let frame = dir.path().join(format!("{layout}-{array}"));
        let mut args = args!["compress", "-", &frame, "--layout", layout, "--chunk-size", "10000"].to_vec();
        if array {
            args.extend(args!["--dtype", "u1", "--shape", "-1,100", "--chunks", "50,100"]);
        }
        run_with(args, &data[..25_000]).ok();
        // Something unused is behind the frame already, as after a crash.
        if layout == "contiguous" {
            let mut bytes = fs::read(&frame).expect("a frame");
            bytes.extend([0; 1000]);
            fs::write(&frame, bytes).expect("a frame");
        }
        let files = || match fs::read_dir(&frame) {
            Ok(entries) => {
                entries.map(|e| e.expect("a file")).map(|e| (e.path(), e.metadata().unwrap().len())).collect()
            }
            Err(_) => vec![(frame.clone(), fs::metadata(&frame).expect("a file").len())],
        };
        let before = files();
        let message = run_with(args!["append", &frame, "-"], &compressed).bad_data();
        assert!(message.contains("gzip"), "{message}");
        assert_eq!(files(), before, "{layout} {array}");
        assert_eq!(run(args!["cat", &frame]).ok(), data[..25_000]);
        // What can be appended still can be.
        run_with(args!["append", &frame, "-"], &data[25_000..]).ok();
        assert!(run(args!["cat", &frame]).ok() == data, "{layout} {array}");
    }
}

#[test]
fn npy_files_must_fit_the_array() {
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("frame");
    run(args!["compress", array_path("fmri.npy"), &frame]).ok();
    run(args!["append", &frame, array_path("fmri.npy")]).ok();
    assert_eq!(info(&frame)["shape"], json!([4, 24, 96, 128]));
    let message = run(args!["append", &frame, array_path("faces.npy")]).bad_data();
    assert!(message.contains("<f8") && message.contains("<i2"), "{message}");
    let scalar = dir.path().join("scalar");
    run_with(args!["compress", "-", &scalar, "--dtype", "u1", "--shape", ""], b"x").ok();
    run_with(args!["append", &scalar, "-"], b"y").bad_data();
    assert_eq!(run(args!["cat", &scalar]).ok(), b"x");
}

/// Rows without bytes are counted by the file that says how many they are.
#[test]
fn rows_without_bytes() {
    let dir = tempdir().expect("a directory");
    let (array, rows) = (dir.path().join("array"), dir.path().join("rows.npy"));
    let npy = |shape: &str| {
        let dict = format!("{{'descr': '<i2', 'fortran_order': False, 'shape': {shape}}}");
        [&b"\x93NUMPY\x01\0"[..], &(dict.len() as u16).to_le_bytes(), dict.as_bytes()].concat()
    };
    fs::write(&rows, npy("(2, 0)")).expect("a file");
    run(args!["compress", &rows, &array]).ok();
    for (shape, expected) in [("(5, 0)", 7), ("(0, 0)", 7), ("(0,)", 8), ("(1000000, 0)", 1_000_008)] {
        fs::write(&rows, npy(shape)).expect("a file");
        run(args!["append", &array, &rows]).ok();
        assert_eq!(info(&array)["shape"], json!([expected, 0]), "{shape}");
        run(args!["verify", &array, "--quiet"]).ok();
    }
    // Bytes belong to no row.
    run_with(args!["append", &array, "-"], b"x").bad_data();
    run_with(args!["append", &array, "-"], b"").ok();
    assert_eq!(info(&array)["shape"], json!([1_000_008, 0]));
}

#[test]
fn what_cannot_be_appended_to() {
    let dir = tempdir().expect("a directory");
    let chunk = dir.path().join("chunk");
    run_with(args!["compress", "-", &chunk, "--format", "chunk"], b"data").ok();
    for (file, reason) in [(chunk, "single chunk"), (vector_path("early/e87dd0af-empty.b2frame"), "early frame")] {
        for message in
            [run_with(args!["append", &file, "-"], b"more").bad_data(), run(args!["compact", &file]).bad_data()]
        {
            assert!(message.contains(reason), "{message}");
        }
    }
    run_with(args!["append", dir.path().join("missing"), "-"], b"more").bad_data();
}

#[test]
fn nothing_is_appended_to_itself() {
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("frame");
    run_with(args!["compress", "-", &frame], b"some bytes").ok();
    let before = fs::read(&frame).expect("a frame");
    let error = run(args!["append", &frame, &frame]).bad_usage();
    assert!(error.contains("to itself"), "{error}");
    assert_eq!(fs::read(&frame).expect("a frame"), before);
    let other = dir.path().join("other");
    fs::hard_link(&frame, &other).expect("a link");
    run(args!["append", &frame, &other]).bad_usage();
}

#[test]
fn compact_removes_the_holes() {
    fn size(path: &Path) -> u64 {
        match fs::read_dir(path) {
            Ok(files) => files.map(|file| file.expect("a file").metadata().expect("a file").len()).sum(),
            Err(_) => fs::metadata(path).expect("a file").len(),
        }
    }
    let dir = tempdir().expect("a directory");
    for layout in ["contiguous", "sparse"] {
        let frame = dir.path().join(layout);
        let data = array_bytes("faces.npy", 300_000);
        run_with(args!["compress", "-", &frame, "--layout", layout, "--chunk-size", "64K"], &data[..1000]).ok();
        for part in data[1000..].chunks(10_000) {
            run_with(args!["append", &frame, "-"], part).ok();
        }
        let before = size(&frame);
        run(args!["compact", &frame]).ok();
        assert!(run(args!["cat", &frame]).ok() == data);
        let after = size(&frame);
        assert!(layout == "sparse" || after < before * 2 / 3, "{before} bytes became {after}");
        run(args!["verify", &frame, "--quiet"]).ok();
    }
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 2);
}
