//! `--layout open`, `seal` and `recover`: nothing that was written is lost.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, command, info, run, run_with};

const CHUNK: usize = 40_000;

fn open_ended(data: &[u8]) -> Vec<u8> {
    run_with(args!["compress", "-", "-", "--layout", "open", "--typesize", "4", "--chunk-size", "40000"], data).ok()
}

#[test]
fn a_pipe_that_is_sealed_later() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("frame");
    for len in [0, 4, CHUNK - 4, CHUNK, CHUNK + 4, 3 * CHUNK + 400] {
        let mut data = array_bytes("faces.npy", len);
        // Zeros must not be in the index alone.
        data.iter_mut().skip(CHUNK).take(CHUNK).for_each(|byte| *byte = 0);
        fs::write(&path, open_ended(&data)).expect("a file");
        let told = info(&path);
        assert_eq!((&told["sealed"], &told["nbytes"]), (&json!(false), &Value::Null));
        assert_eq!((&told["typesize"], &told["chunksize"]), (&json!(4), &json!(CHUNK)));
        for command in ["verify", "append", "compact", "recompress"] {
            let args = args![command, &path, "-"];
            let args = &args[..if ["append", "recompress"].contains(&command) { 3 } else { 2 }];
            assert!(run(args).bad_data().contains("seal"), "{command}");
        }
        // It is read as far as it has been written; the rest is reported.
        assert!(run(args!["cat", &path]).ok() == data, "{len} bytes");
        assert!(run_with(args!["cat", "-"], &fs::read(&path).expect("a frame")).ok() == data, "{len} bytes");
        if len > 0 {
            let mut cut = fs::read(&path).expect("a frame");
            cut.truncate(cut.len() - 1);
            let piped = run_with(args!["cat", "-"], &cut);
            assert!(piped.stdout == data && piped.bad_data().contains("left over"), "{len} bytes");
            assert!(run_with(args!["cat", "-", "--unfinished"], &cut).ok() == data, "{len} bytes");
            // Between two chunks there is nothing left over, and yet something is missing.
            let header_len = u32::from_be_bytes(cut[11..15].try_into().expect("4 bytes")) as usize;
            let chunk_len = u32::from_le_bytes(cut[header_len + 12..][..4].try_into().expect("4 bytes")) as usize;
            cut.truncate(header_len + chunk_len);
            let piped = run_with(args!["cat", "-"], &cut);
            assert!(piped.stdout == data[..len.min(CHUNK)], "{len} bytes");
            let said = piped.bad_data();
            assert!(said.contains("1 complete chunk") && said.contains("seal"), "{said}");
            assert!(run_with(args!["cat", "-", "--unfinished"], &cut).ok() == data[..len.min(CHUNK)], "{len} bytes");
        }
        let said = String::from_utf8(run(args!["seal", &path]).ok()).expect("text");
        assert!(said.contains(&format!("sealed, {} chunk", len.div_ceil(CHUNK))), "{said}");
        assert_eq!(info(&path)["sealed"], true);
        assert!(run(args!["cat", &path]).ok() == data, "{len} bytes");
        run(args!["verify", "--quiet", &path]).ok();
        assert!(String::from_utf8_lossy(&run(args!["seal", &path]).ok()).contains("already"));
        assert!(run(args!["seal", "--quiet", &path]).ok().is_empty());
    }
}

#[test]
fn files_are_whole_in_the_end() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("frame");
    run(args!["compress", array_path("fmri.npy"), &path, "--layout", "open", "--checksum", "xxh3"]).ok();
    run(args!["verify", "--quiet", &path]).ok();
    assert!(run(args!["cat", &path]).ok() == array_bytes("fmri.npy", 1_179_648));
    let again = dir.path().join("again");
    for options in [&[][..], &["--chunks", "1,24,96,128"]] {
        let args = args!["recompress", &path, "-", "--layout", "open"];
        fs::write(&again, run(args.into_iter().chain(options.iter().map(Into::into))).ok()).expect("a file");
        assert_eq!(info(&again)["sealed"], false, "{options:?}");
        run(args!["seal", &again, "--quiet"]).ok();
        assert!(run(args!["cat", &again]).ok() == array_bytes("fmri.npy", 1_179_648));
    }
}

/// A writer that is killed leaves a frame whose complete chunks can be saved, in place or in a copy.
#[test]
fn a_killed_writer() {
    let dir = tempdir().expect("a directory");
    let (path, copy) = (dir.path().join("frame"), dir.path().join("copy"));
    let data = array_bytes("health.npy", 20 * CHUNK + 100);
    let args = args!["compress", "-", &path, "--layout", "open", "--typesize", "4", "--chunk-size", "40000"];
    let args = args.into_iter().chain(["--level", "0", "--threads", "1"].map(Into::into));
    let mut child = command(args).stdin(Stdio::piped()).spawn().expect("the program was built");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(&data).expect("the program reads");
    stdin.flush().expect("the program reads");
    let started = Instant::now();
    while fs::metadata(&path).map_or(0, |file| file.len()) < 200_000 {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing is written");
        sleep(Duration::from_millis(10));
    }
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    assert_eq!(info(&path)["sealed"], false);

    let said = String::from_utf8(run(args!["recover", &path, &copy]).ok()).expect("text");
    assert!(said.contains("interrupted") && said.contains("chunks saved"), "{said}");
    let saved = run(args!["cat", &copy]).ok();
    assert!(!saved.is_empty() && saved.len() % CHUNK == 0 && data.starts_with(&saved), "{} bytes", saved.len());
    run(args!["verify", "--quiet", &copy]).ok();
    run(args!["seal", &path]).ok();
    assert!(run(args!["cat", &path]).ok() == saved);
    run(args!["append", &path, "-"]).ok();
}

/// A writer may pause: all complete chunks are then in the file, whatever the target.
#[test]
fn a_pause_of_the_producer() {
    let dir = tempdir().expect("a directory");
    let (path, copy) = (dir.path().join("frame"), dir.path().join("copy"));
    let data = array_bytes("health.npy", 5 * CHUNK + 400);
    for array in [&[][..], &["--dtype", "f4", "--shape", "-1,100", "--chunks", "100,100"]] {
        let args = args!["compress", "-", &path, "--layout", "open", "--typesize", "4", "--chunk-size", "40000"];
        let args = args.into_iter().chain(array.iter().map(Into::into));
        let mut child = command(args).stdin(Stdio::piped()).spawn().expect("the program was built");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        for (sent, complete) in [(..3 * CHUNK + 4, 3), (..data.len() - 3 * CHUNK - 4, 5)] {
            let from = if complete == 3 { 0 } else { 3 * CHUNK + 4 };
            stdin.write_all(&data[from..][sent]).expect("the program reads");
            stdin.flush().expect("the program reads");
            let started = Instant::now();
            loop {
                let saved = run(args!["recover", &path, &copy, "--quiet"]);
                let saved = if saved.status == 0 { run(args!["cat", &copy]).ok() } else { Vec::new() };
                assert!(data.starts_with(&saved), "{array:?}");
                if saved.len() == complete * CHUNK {
                    break;
                }
                assert!(started.elapsed() < Duration::from_secs(60), "{} bytes are there, {array:?}", saved.len());
                sleep(Duration::from_millis(20));
            }
        }
        drop(stdin);
        assert!(child.wait().expect("it ends").success());
        assert!(run(args!["cat", &path]).ok() == data, "{array:?}");
        fs::remove_file(&path).expect("a file");
    }
}

#[test]
fn what_is_left_of_damaged_frames() {
    let dir = tempdir().expect("a directory");
    let (path, copy) = (dir.path().join("frame"), dir.path().join("copy"));
    let data = array_bytes("faces.npy", 5 * CHUNK);
    let args = args!["compress", "-", &path, "--typesize", "8", "--chunk-size", "40000", "--checksum", "xxh3"];
    run_with(args, &data).ok();
    let whole = fs::read(&path).expect("a frame");

    let said = String::from_utf8(run(args!["recover", &path, &copy]).ok()).expect("text");
    assert!(said.contains("5 chunks saved, 200000 bytes (195.3 KiB), nothing lost"), "{said}");
    assert!(run(args!["cat", &copy]).ok() == data);

    // Cut: the chunks before are there. From a pipe into a pipe as well.
    let cut = &whole[..whole.len() / 2];
    fs::write(&path, cut).expect("a file");
    let said = String::from_utf8(run(args!["recover", &path, &copy]).ok()).expect("text");
    assert!(said.contains("its end is missing") && said.contains(" lost"), "{said}");
    let saved = run(args!["cat", &copy]).ok();
    assert!(!saved.is_empty() && saved.len() % CHUNK == 0 && data.starts_with(&saved));
    let piped = run_with(args!["recover", "-", "-"], cut);
    assert!(piped.stderr.contains("its end is missing"), "{}", piped.stderr);
    assert!(run_with(args!["cat", "-"], &piped.stdout).ok() == saved);
    assert!(run(args!["seal", &path]).bad_data().contains("recover"));

    // A damaged chunk in the middle becomes zeros, and is named.
    let mut bad = whole.clone();
    let reader = oxiblosc::blocking::FrameReader::from_bytes(whole.clone()).expect("a frame");
    let span = reader.frame().span(2).expect("an entry").expect("stored");
    bad[span.start as usize + 32..span.end as usize].fill(0xA5);
    fs::write(&path, &bad).expect("a file");
    let said = String::from_utf8(run(args!["recover", &path, &copy]).ok()).expect("text");
    assert!(said.contains("zeros in place of 1 chunk: 2"), "{said}");
    let mut expected = data.clone();
    expected[2 * CHUNK..3 * CHUNK].fill(0);
    assert!(run(args!["cat", &copy]).ok() == expected);

    // Nothing to save, and what cannot be.
    fs::write(&path, &whole[..50]).expect("a file");
    fs::remove_file(&copy).expect("a file");
    run(args!["recover", &path, &copy]).bad_data();
    run(args!["recover", dir.path().join("missing"), &copy]).bad_data();
    assert!(!copy.exists());
    fs::write(&path, &whole).expect("a file");
    run(args!["recover", &path, &path]).bad_usage();
    run(args!["seal", "-"]).bad_usage();
    for format in ["chunk", "blosc1", "early"] {
        run(args!["compress", "-", "-", "--layout", "open", "--format", format]).bad_usage();
    }
}

/// A recovery that saves no chunk is a failure, and leaves no frame of zeros behind; an empty frame has lost nothing.
#[test]
fn frames_of_which_nothing_is_left() {
    let dir = tempdir().expect("a directory");
    let [path, sparse, copy] = ["frame", "sparse", "copy"].map(|name| dir.path().join(name));
    let data = array_bytes("faces.npy", CHUNK);
    let nothing = |input: &Path| {
        // What is there stays, if it may be replaced.
        let replaces = input.is_file();
        if replaces {
            fs::write(&copy, "precious").expect("a file");
        }
        for options in [&[][..], &["--json"], &["--quiet"]] {
            let args = args!["recover", input, &copy];
            let refused = run(args.into_iter().chain(options.iter().map(Into::into)));
            assert!(refused.stdout.is_empty(), "{refused:?}");
            let said = refused.bad_data();
            assert!(said.contains(&*input.to_string_lossy()) && said.contains("nothing could be saved"), "{said}");
        }
        if replaces {
            assert_eq!(fs::read(&copy).expect("a file"), b"precious");
            fs::remove_file(&copy).expect("a file");
            let piped = run(args!["recover", input, "-"]);
            assert!(piped.stdout.is_empty());
            piped.bad_data();
            run(args!["recover", input, &copy]).bad_data();
        }
        assert!(!copy.exists());
    };
    for layout in ["contiguous", "open"] {
        let args = args!["compress", "-", &path, "--layout", layout, "--chunk-size", "40000", "--checksum", "xxh3"];
        run_with(args, &data).ok();
        let whole = fs::read(&path).expect("a frame");
        let reader = oxiblosc::blocking::FrameReader::from_bytes(whole.clone()).expect("a frame");
        let span = reader.frame().span(0).expect("an entry").expect("stored");
        // Its only chunk is damaged, and cut off in the middle.
        let mut damaged = whole.clone();
        damaged[span.start as usize + 32..span.end as usize].fill(0xA5);
        for bytes in [&damaged[..], &whole[..whole.len() / 2]] {
            fs::write(&path, bytes).expect("a file");
            nothing(&path);
        }
    }
    run_with(args!["compress", "-", &sparse, "--chunk-size", "40000", "--layout", "sparse"], &data).ok();
    fs::remove_file(sparse.join("00000000.chunk")).expect("a chunk file");
    nothing(&sparse);
    let index = sparse.join("chunks.b2frame");
    let bytes = fs::read(&index).expect("the index");
    fs::write(&index, &bytes[..bytes.len() - 10]).expect("a file");
    nothing(&sparse);

    for layout in ["contiguous", "open", "sparse"] {
        let (empty, copy) = (dir.path().join(format!("empty-{layout}")), dir.path().join(format!("copy-{layout}")));
        run(args!["compress", "-", &empty, "--layout", layout]).ok();
        let said = String::from_utf8(run(args!["recover", &empty, &copy]).ok()).expect("text");
        assert!(said.contains("0 chunks saved, 0 bytes, nothing lost"), "{said}");
        run(args!["verify", "--quiet", &copy]).ok();
    }
}

/// The options that limit recovery and sealing are exact to the byte, and the message names the option to raise.
#[test]
fn bounds_of_recovery() {
    const CHUNKS: usize = 5;
    let dir = tempdir().expect("a directory");
    let [whole, open, sparse, damaged, copy] =
        ["whole", "open", "sparse", "damaged", "copy"].map(|name| dir.path().join(name));
    let data = array_bytes("faces.npy", CHUNKS * CHUNK);
    // Stored chunks have known lengths, but need no decoding; compressed ones do.
    for (option, level, enough) in [("--max-output", "0", CHUNKS * (CHUNK + 32)), ("--max-work", "1", CHUNKS * CHUNK)] {
        let write = |to: &OsStr, layout| {
            let args = args!["compress", "-", to, "--layout", layout, "--level", level, "--chunk-size", "40000"];
            run_with(args, &data).ok()
        };
        let _ = fs::remove_dir_all(&sparse);
        write(whole.as_os_str(), "contiguous");
        write(sparse.as_os_str(), "sparse");
        fs::write(&open, write("-".as_ref(), "open")).expect("a file");
        let frame = fs::read(&whole).expect("a frame");
        fs::write(&damaged, &frame[..frame.len() - 20]).expect("a file");
        for input in [&whole, &damaged, &open, &sparse] {
            let recover = |bytes: usize| run(args!["recover", input, &copy, option, bytes.to_string(), "--quiet"]);
            for bytes in [1, enough / 2, enough - 1] {
                let said = recover(bytes).bad_data();
                assert!(said.contains(option) && said.contains(&format!(" {bytes} bytes")), "{input:?}: {said}");
                assert!(said.contains(&*input.to_string_lossy()), "{said}");
                assert!(!copy.exists(), "{input:?} {option} {bytes}");
            }
            recover(enough).ok();
            assert!(run(args!["cat", &copy]).ok() == data, "{input:?} {option}");
            if copy.is_dir() { fs::remove_dir_all(&copy) } else { fs::remove_file(&copy) }.expect("it was written");
        }
        // Nothing is written to a pipe on failure.
        let piped = run(args!["recover", &damaged, "-", option, (enough - 1).to_string()]);
        assert!(piped.stdout.is_empty(), "{option}");
        assert!(piped.bad_data().contains(option), "{option}");
    }

    // The chunks are compressed.
    let (work, before) = (CHUNKS * CHUNK, fs::read(&open).expect("a frame"));
    for bytes in [1, work - 1] {
        let said = run(args!["seal", &open, "--max-work", bytes.to_string()]).bad_data();
        assert!(said.contains("--max-work") && said.contains(&format!(" {bytes} bytes")), "{said}");
        assert!(fs::read(&open).expect("a frame") == before, "it is as it was");
    }
    // Sealing copies nothing, so it has no such option.
    run(args!["seal", &open, "--max-output", "100M"]).bad_usage();
    run(args!["seal", &open, "--max-work", work.to_string()]).ok();
    assert!(run(args!["cat", &open]).ok() == data);
    run(args!["verify", "--quiet", &open]).ok();
}

#[test]
fn sparse_frames() {
    let dir = tempdir().expect("a directory");
    let (path, copy) = (dir.path().join("frame"), dir.path().join("copy"));
    let data = array_bytes("faces.npy", 5 * CHUNK);
    run_with(args!["compress", "-", &path, "--chunk-size", "40000", "--layout", "sparse"], &data).ok();
    fs::remove_file(path.join("00000003.chunk")).expect("a chunk file");
    let said = String::from_utf8(run(args!["recover", &path, &copy]).ok()).expect("text");
    assert!(said.contains("zeros in place of 1 chunk: 3"), "{said}");
    let mut expected = data.clone();
    expected[3 * CHUNK..4 * CHUNK].fill(0);
    assert!(run(args!["cat", &copy]).ok() == expected);
    assert!(Path::new(&copy).is_dir());
    assert!(run(args!["seal", &path]).bad_data().contains("sparse"));
}
