//! Truncated, damaged and foreign files: one line and status 1, whatever the bytes are.

use std::path::Path;

use crate::args;
use crate::program::{array_bytes, array_path, run, run_with, vector_path};

fn frame() -> Vec<u8> {
    let data = array_bytes("fmri.npy", 30_000);
    run_with(args!["compress", "-", "-", "--typesize", "2", "--chunk-size", "8000"], &data).ok()
}

fn chunk() -> Vec<u8> {
    let data = array_bytes("fmri.npy", 30_000);
    let args = args!["compress", "-", "-", "--typesize", "2", "--format", "chunk", "--block-size", "8000"];
    run_with(args, &data).ok()
}

/// Every offset near the ends, where the headers and the trailer are, and some in between.
fn cuts(len: usize) -> impl Iterator<Item = usize> {
    (0..len).filter(move |cut| *cut < 140 || len - cut < 140 || cut % 997 == 0)
}

#[test]
fn cut_frames() {
    let frame = frame();
    for cut in cuts(frame.len()) {
        for command in ["cat", "verify", "info"] {
            let message = run_with(args![command, "-"], &frame[..cut]).bad_data();
            // Where something is missing: an offset, or the length at which the file ends.
            let says_where = message.contains("offset") || message.contains(&cut.to_string());
            assert!(says_where, "cut at {cut}: {message}");
        }
    }
}

#[test]
fn cut_chunks() {
    let chunk = chunk();
    for cut in cuts(chunk.len()) {
        for command in ["cat", "verify"] {
            let message = run_with(args![command, "-"], &chunk[..cut]).bad_data();
            assert!(message.contains("offset"), "cut at {cut}: {message}");
        }
    }
}

/// A changed byte may be one that no reader looks at, or that only changes the data; whatever it does, it is not a
/// panic, and a failure is one line.
#[test]
fn changed_bytes() {
    let data = array_bytes("fmri.npy", 30_000);
    for compressed in [frame(), chunk()] {
        let mut failures = 0;
        for at in cuts(compressed.len()).step_by(3) {
            for flip in [0xFF, 0x01, 0x80] {
                let mut damaged = compressed.clone();
                damaged[at] ^= flip;
                let run = run_with(args!["cat", "-"], &damaged);
                if run.status != 0 {
                    run.bad_data();
                    failures += 1;
                } else if run.stdout == data {
                    run.ok();
                }
            }
        }
        assert!(failures > 50, "only {failures} damaged files were noticed");
    }
}

#[test]
fn foreign_files() {
    let text = b"This is a text. It is long enough to hold the header of a chunk, and of a frame, but it is neither.";
    for foreign in
        [text.as_slice(), b"", b"x", &[0; 1000], &[0xFF; 1000], b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"PK\x03\x04"]
    {
        for command in ["cat", "info", "verify"] {
            let message = run_with(args![command, "-"], foreign).bad_data();
            assert!(message.contains("offset"), "{message}");
        }
    }
    run(args!["cat", array_path("fmri.npy")]).bad_data();
}

#[test]
fn a_frame_with_a_header_that_promises_too_much() {
    // The decoded size, at offset 29 of the header, says eight exabytes: refused before anything is allocated.
    let mut frame = frame();
    frame[30..38].copy_from_slice(&i64::MAX.to_be_bytes());
    for command in ["cat", "info", "verify"] {
        run_with(args![command, "-"], &frame).bad_data();
    }
}

/// Frames of 2019 do not say how long their chunks are: only the sum tells.
#[test]
fn early_frames_with_a_wrong_total() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [damaged, saved] = ["damaged", "saved"].map(|name| directory.path().join(name));
    let path = vector_path("early").join("beta1-zstd-delta.b2frame");
    let decoded = run(args!["cat", &path]).ok();
    let whole = std::fs::read(&path).expect("the vector is in the repository");
    let total = i64::from_be_bytes(whole[30..38].try_into().expect("8 bytes"));
    assert_eq!(total, decoded.len() as i64);
    for difference in [-8000, -1, 1, 8000] {
        let mut frame = whole.clone();
        frame[30..38].copy_from_slice(&(total + difference).to_be_bytes());
        std::fs::write(&damaged, frame).expect("room on the disk");
        let recompress = run(args!["recompress", &damaged, &saved]);
        for refused in [run(args!["cat", &damaged]), run(args!["verify", &damaged]), recompress] {
            let message = refused.bad_data();
            assert!(message.contains("chunk") && message.contains("bytes"), "{message}");
        }
        assert!(!saved.exists());
        run(args!["recover", &damaged, &saved]).ok();
        assert_eq!(run(args!["cat", &saved]).ok(), decoded);
        std::fs::remove_file(&saved).expect("recover has written it");
    }
}

/// An array of 50 x 30 items in 4 chunks.
fn small_array(path: &Path) -> Vec<u8> {
    let data = array_bytes("fmri.npy", 50 * 30 * 2);
    let shape = ["--dtype", "<u2", "--shape", "50,30", "--chunks", "40,20", "--blocks", "4,10"];
    let args = args!["compress", "-", path].into_iter().chain(shape.map(Into::into));
    run_with(args, &data).ok();
    data
}

/// The chunks at the edges of an array have blocks that are never requested, whatever the number of threads.
#[test]
fn damaged_padding() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("array.b2nd");
    let data = small_array(&path);
    let whole = std::fs::read(&path).expect("it has been written");
    let mut unharmed = 0;
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xFF;
        let [one, two] = ["1", "2"].map(|threads| run_with(args!["cat", "-", "--threads", threads], &damaged));
        assert_eq!(one.status, two.status, "byte {at}: {one:?}, {two:?}");
        if one.status == 0 {
            assert_eq!(one.stdout, two.stdout, "byte {at}");
            unharmed += usize::from(one.stdout == data);
        }
    }
    assert!(unharmed > 20, "{unharmed} bytes are of no consequence");
}

#[test]
fn an_array_whose_metalayer_is_damaged_is_saved_as_a_frame() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [path, saved] = ["array.b2nd", "saved"].map(|name| directory.path().join(name));
    small_array(&path);
    let mut frame = std::fs::read(&path).expect("it has been written");
    let content = frame.windows(3).position(|bytes| bytes == [0x97, 0, 2]);
    frame[content.expect("seven elements, version 0, two dimensions") + 2] = 0xFF;
    std::fs::write(&path, frame).expect("room on the disk");
    assert!(run(args!["cat", &path]).bad_data().contains("255 dimensions"));
    let text = String::from_utf8(run(args!["recover", &path, &saved]).ok()).expect("text");
    assert!(text.contains("it is no longer an array") && !text.contains("nothing lost"), "{text}");
    assert_eq!(run(args!["cat", &saved]).ok().len(), 4 * 40 * 20 * 2);
}
