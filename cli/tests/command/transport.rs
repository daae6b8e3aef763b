//! Compressed streams in and out: `--decode` and `--encode`.

use std::fs;

use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, info, run, run_with};

const ENCODINGS: [(&str, &str); 4] = [("gzip", "gz"), ("zstd", "zst"), ("brotli", "br"), ("lz4", "lz4")];

/// Plain bytes in an encoding: what `cat --encode` makes of a frame of them.
fn encoded(data: &[u8], encoding: &str) -> Vec<u8> {
    let frame = run_with(args!["compress", "-", "-", "--raw"], data).ok();
    run_with(args!["cat", "-", "--encode", encoding], &frame).ok()
}

#[test]
fn out_and_in_again() {
    let dir = tempdir().expect("a directory");
    for len in [0, 1, 65_535, 65_536, 65_537, 300_001] {
        let data = array_bytes("fmri.npy", len);
        for (encoding, suffix) in ENCODINGS {
            let bytes = encoded(&data, encoding);
            assert!(len < 1000 || bytes.len() < len, "{encoding} compresses");
            // By name of the encoding, and by what says itself.
            let frame = run_with(args!["compress", "-", "-", "--decode", encoding], &bytes).ok();
            assert!(run_with(args!["cat", "-"], &frame).ok() == data, "{len} bytes in {encoding}");
            let file = dir.path().join(format!("data.{suffix}"));
            fs::write(&file, &bytes).expect("a file");
            let frame = run(args!["compress", &file, "-"]).ok();
            assert!(run_with(args!["cat", "-"], &frame).ok() == data, "{len} bytes in {}", file.display());
            // The bytes as they are, when that is asked for.
            for options in [&["--raw"][..], &["--decode", "none"]] {
                let frame = run(args!["compress", &file, "-"].into_iter().chain(options.iter().map(Into::into))).ok();
                assert!(run_with(args!["cat", "-"], &frame).ok() == bytes, "{encoding}");
            }
        }
    }
}

/// What is decoded may be an array, in Fortran order too, and in members that follow each other.
#[test]
fn arrays_and_members() {
    let dir = tempdir().expect("a directory");
    let (file, frame) = (dir.path().join("data"), dir.path().join("frame"));
    let array = fs::read(array_path("fmri.npy")).expect("the array is in the repository");
    let fortran: Vec<u8> = {
        let text = String::from_utf8_lossy(&array[..128]).replace("'fortran_order': False", "'fortran_order': True ");
        assert!(text.contains("True"));
        let mut file = array.clone();
        let at = array.windows(6).position(|window| window == b"False,").expect("the order");
        file[at..at + 6].copy_from_slice(b"True, ");
        file
    };
    for content in [&array, &fortran] {
        fs::write(&file, content).expect("a file");
        run(args!["compress", &file, &frame]).ok();
        let (shape, expected) = (info(&frame)["shape"].clone(), run(args!["cat", &frame]).ok());
        for encoding in ["gzip", "zstd", "lz4"] {
            let (first, second) = content.split_at(100_001);
            let members = [encoded(first, encoding), encoded(second, encoding)].concat();
            fs::write(&file, members).expect("a file");
            run(args!["compress", &file, &frame]).ok();
            assert_eq!(info(&frame)["shape"], shape, "{encoding}");
            assert!(run(args!["cat", &frame]).ok() == expected, "{encoding}");
        }
    }
    // Rows to append come the same way.
    run(args!["compress", array_path("fmri.npy"), &frame]).ok();
    let gzip = encoded(&array, "gzip");
    run_with(args!["append", &frame, "-"], &gzip).ok();
    assert!(run(args!["cat", &frame]).ok() == array_bytes("fmri.npy", 1_179_648).repeat(2));
    let slice = run(args!["cat", &frame, "--slice", "-1,3", "--encode", "gz"]).ok();
    let plain = run_with(args!["compress", "-", "-"], &slice).ok();
    assert!(run_with(args!["cat", "-"], &plain).ok() == run(args!["cat", &frame, "--slice", "-1,3"]).ok());
}

#[test]
fn damaged_streams_leave_nothing() {
    let dir = tempdir().expect("a directory");
    let output = dir.path().join("out");
    let data = array_bytes("fmri.npy", 100_000);
    for (encoding, _) in ENCODINGS {
        let bytes = encoded(&data, encoding);
        for cut in [bytes.len() - 1, bytes.len() / 2, 20] {
            let args = args!["compress", "-", &output, "--decode", encoding];
            let message = run_with(args, &bytes[..cut]).bad_data();
            assert!(message.contains(encoding), "{message}");
            assert!(!output.exists(), "{encoding} cut at {cut}");
        }
        run_with(args!["compress", "-", &output, "--decode", encoding], &data).bad_data();
    }
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 0);
    run(args!["compress", "-", "-", "--decode", "rar"]).bad_usage();
    run(args!["cat", "-", "--encode", "none"]).bad_usage();
}

/// A damaged frame must not look whole because the stream around it ends well.
#[test]
fn what_fails_is_not_ended() {
    let data = array_bytes("faces.npy", 400_000);
    let args = args!["compress", "-", "-", "--chunk-size", "100000", "--checksum", "xxh3"];
    let mut frame = run_with(args, &data).ok();
    let middle = frame.len() / 2;
    frame[middle] ^= 1;
    for (encoding, _) in ENCODINGS {
        let run = run_with(args!["cat", "-", "--check", "--encode", encoding], &frame);
        assert_eq!(run.status, 1);
        run_with(args!["compress", "-", "-", "--decode", encoding], &run.stdout).bad_data();
    }
}
