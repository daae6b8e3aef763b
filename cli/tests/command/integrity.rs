//! `--checksum`, `--fingerprint` and `--check`: damage is found and named, wherever it is.

use std::fs;
use std::path::Path;

use oxiblosc::blocking::FrameReader;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, info, run, run_with};

const CHUNK: usize = 4000;

fn frame(data: &[u8], vouchers: &[&str]) -> Vec<u8> {
    let chunk_size = CHUNK.to_string();
    let args = args!["compress", "-", "-", "--typesize", "2", "--chunk-size", chunk_size];
    run_with(args.into_iter().chain(vouchers.iter().map(Into::into)), data).ok()
}

fn told(frame: &[u8]) -> Value {
    serde_json::from_slice(&run_with(args!["info", "--json", "-"], frame).ok()).expect("JSON")
}

const ALL: [&str; 4] = ["--checksum", "xxh3", "--fingerprint", "128"];

#[test]
fn every_kind_is_written_told_and_compared() {
    for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 2] {
        let data = array_bytes("fmri.npy", len);
        for (bits, kind) in [("none", 0), ("32", 1), ("64", 2), ("128", 3)] {
            for sum in ["none", "xxh3"] {
                let frame = frame(&data, &["--checksum", sum, "--fingerprint", bits]);
                let told = told(&frame);
                let digits = told["fingerprint"]["digest"].as_str().map_or(0, str::len);
                assert_eq!(digits * 4, bits.parse().unwrap_or(0), "{len} bytes, {bits}");
                assert_eq!(told["fingerprint"]["type"].as_u64().unwrap_or(0), kind);
                let valid = sum == "xxh3";
                assert_eq!(told["checksums"], if valid { json!("valid") } else { Value::Null });
                assert_eq!(told["vlmeta"], json!({}), "the checksums are no metalayer of the user's");
                let said = String::from_utf8(run_with(args!["verify", "-"], &frame).ok()).expect("text");
                assert_eq!(said.contains("all checksums"), valid, "{said}");
                assert_eq!(said.contains("fingerprint"), kind > 0, "{said}");
                assert!(run_with(args!["cat", "--check", "-"], &frame).ok() == data);
                let required = run_with(args!["cat", "--check=required", "-"], &frame);
                match valid {
                    true => assert!(required.ok() == data),
                    false => assert!(required.bad_data().contains("no checksums")),
                }
            }
        }
    }
}

#[test]
fn flipped_bits_are_found_and_named() {
    let data = array_bytes("faces.npy", 4 * CHUNK + 100);
    let good = frame(&data, &ALL);
    let reader = FrameReader::from_bytes(good.clone()).expect("a frame");
    let spans: Vec<_> =
        (0..reader.nchunks()).map(|i| reader.frame().span(i).expect("an entry").expect("stored")).collect();
    assert_eq!(spans.len(), 5);
    let end = reader.frame().chunks_end();
    let edges = |at: usize| at < 100 || good.len() - at < 40 || spans.iter().any(|span| at as u64 == span.start);
    for at in (0..good.len()).filter(|at| edges(*at) || at % 131 == 0) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        let message = run_with(args!["verify", "-"], &bad).bad_data();
        let chunk = spans.iter().position(|span| (span.start..span.end.min(end)).contains(&(at as u64)));
        let cat = run_with(args!["cat", "--check", "-"], &bad);
        if let Some(chunk) = chunk {
            assert!(message.contains(&format!("chunk {chunk}")), "offset {at}: {message}");
            assert!(cat.stdout.len() <= chunk * CHUNK, "nothing from chunk {chunk} on is written");
            assert!(cat.bad_data().contains(&format!("chunk {chunk}")), "offset {at}");
            // Other parts can still be read, and checked.
            let other = (chunk + 1) % spans.len() * CHUNK / 2;
            let items = format!("{other}:{}", other + 10);
            let part = run_with(args!["cat", "--check", "-", "--items", items], &bad).ok();
            assert!(part == data[2 * other..2 * (other + 10)]);
        } else if cat.status == 0 {
            // Only what nobody needs to decode the chunks, such as the fingerprint itself.
            assert!(cat.stdout == data, "offset {at}");
        } else {
            cat.bad_data();
        }
    }
    // Several at once.
    let mut bad = good.clone();
    for chunk in [1, 3] {
        bad[spans[chunk].start as usize + 40] ^= 1;
    }
    let message = run_with(args!["verify", "-"], &bad).bad_data();
    assert!(
        message.contains("2 of 5 chunks") && message.contains("chunk 1") && message.contains("chunk 3"),
        "{message}"
    );
}

#[test]
fn changes_keep_them_right() {
    let dir = tempdir().expect("a directory");
    for layout in ["contiguous", "sparse"] {
        let path = dir.path().join(layout);
        let args = args!["compress", array_path("fmri.npy"), &path, "--chunks", "1,24,96,128", "--layout", layout];
        run(args.into_iter().chain(ALL.map(Into::into))).ok();
        assert_eq!(info(&path)["fingerprint"]["type"], 3);
        let again = dir.path().join("again");
        run(args!["recompress", &path, &again, "--codec", "lz4", "--checksum", "none"]).ok();
        check(&again, false);
        assert_eq!(info(&again)["fingerprint"]["type"], 3);
        // A fingerprint would have to be computed again from the whole frame.
        run(args!["append", &path, array_path("fmri.npy")]).ok();
        check(&path, true);
        assert_eq!(info(&path)["fingerprint"], Value::Null);
        run(args!["compact", &path]).ok();
        check(&path, true);
        run(args!["recompress", &path, &again, "--codec", "lz4", "--fingerprint", "32"]).ok();
        assert_eq!(info(&again)["fingerprint"]["type"], 1);
        check(&again, true);
        // Other chunk lengths, for which everything is decoded.
        run(args!["recompress", &path, &again, "--chunks", "4,24,50,60"]).ok();
        check(&again, true);
        run(args!["recompress", &path, &again, "--format", "early"]).ok();
        check(&again, false);
        let slice = run(args!["cat", &path, "--check=required", "--slice", "3,5"]).ok();
        assert!(slice == run(args!["cat", &path, "--slice", "3,5"]).ok());
    }
}

fn check(path: &Path, valid: bool) {
    assert_eq!(info(path)["checksums"], if valid { json!("valid") } else { Value::Null });
    run(args!["verify", "--quiet", path]).ok();
}

/// Checksums are not left out without a word.
#[test]
fn compact_tells_what_becomes_of_checksums() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("frame");
    let data = array_bytes("fmri.npy", 3 * CHUNK);
    let good = frame(&data, &ALL);
    let mut damaged = good.clone();
    damaged[63] ^= 1;
    fs::write(&path, &damaged).expect("a file");
    let message = run(args!["compact", &path]).bad_data();
    assert!(message.contains("checksums") && message.contains("recover"), "{message}");
    assert!(fs::read(&path).expect("a file") == damaged);

    // As C-Blosc2 leaves it: without a fingerprint.
    let mut outdated = good;
    let fingerprint = outdated.len() - 17;
    outdated[fingerprint..].fill(0);
    for quiet in [false, true] {
        fs::write(&path, &outdated).expect("a file");
        let told = run(args!["compact", &path].into_iter().chain(quiet.then(|| "--quiet".into())));
        assert_eq!((told.status, told.stderr.contains("no checksums any more")), (0, !quiet), "{}", told.stderr);
        check(&path, false);
        assert!(run(args!["cat", &path]).ok() == data);
    }
}

/// A new frame must not vouch for old damage.
#[test]
fn damaged_input_is_not_encoded_again() {
    let dir = tempdir().expect("a directory");
    let output = dir.path().join("out");
    let data = array_bytes("fmri.npy", 3 * CHUNK);
    let mut bad = frame(&data, &["--checksum", "xxh3", "--codec", "lz4", "--level", "0"]);
    let reader = FrameReader::from_bytes(bad.clone()).expect("a frame");
    let span = reader.frame().span(1).expect("an entry").expect("stored");
    // The chunk is stored as it is: without checksums the damage would not be noticed.
    bad[span.end as usize - 1] ^= 1;
    for options in [&[][..], &["--chunk-size", "5000"], &["--dtype", "i2"]] {
        let args = args!["recompress", "-", &output].into_iter().chain(options.iter().map(Into::into));
        let message = run_with(args, &bad).bad_data();
        assert!(message.contains("chunk 1") && !output.exists(), "{message}");
    }
    run_with(args!["recompress", "-", &output, "--check=never"], &bad).ok();
}

#[test]
fn files_of_sparse_frames() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("sparse");
    let data = array_bytes("fmri.npy", 3 * CHUNK);
    let args = args!["compress", "-", &path, "--layout", "sparse", "--chunk-size", "4000"];
    run_with(args.into_iter().chain(ALL.map(Into::into)), &data).ok();
    let file = path.join("00000001.chunk");
    let mut chunk = fs::read(&file).expect("a chunk file");
    *chunk.last_mut().expect("it has bytes") ^= 0x10;
    fs::write(&file, &chunk).expect("a chunk file");
    let message = run(args!["verify", &path]).bad_data();
    assert!(message.contains("chunk 1"), "{message}");
    fs::remove_file(path.join("00000002.chunk")).expect("a chunk file");
    let message = run(args!["verify", &path]).bad_data();
    assert!(message.contains("chunk 1") && message.contains("1 of 3 chunk files are missing"), "{message}");
    // An index without its fingerprint, or with another one.
    let index = path.join("chunks.b2frame");
    let mut bytes = fs::read(&index).expect("an index");
    *bytes.last_mut().expect("it has bytes") ^= 1;
    fs::write(&index, &bytes).expect("an index");
    run(args!["verify", &path]).bad_data();
}

#[test]
fn what_does_not_go_together() {
    for options in [
        &args!["--checksum", "crc"][..],
        &args!["--fingerprint", "256"],
        &args!["--checksum", "xxh3", "--format", "chunk"],
        &args!["--fingerprint", "64", "--format", "blosc1"],
        &args!["--checksum", "xxh3", "--format", "early"],
    ] {
        run(args!["compress", "-", "-"].iter().chain(options)).bad_usage();
    }
    let chunk = run_with(args!["compress", "-", "-", "--format", "chunk", "--checksum", "none"], b"text").ok();
    assert_eq!(run_with(args!["cat", "-", "--check"], &chunk).ok(), b"text");
    for command in [&args!["cat", "-", "--check=required"][..], &args!["recompress", "-", "-", "--check=required"]] {
        assert!(run_with(command, &chunk).bad_data().contains("no checksum"));
    }
}
