//! Truncated, damaged and foreign files: one line and status 1, whatever the bytes are.

use crate::args;
use crate::program::{array_bytes, array_path, run, run_with};

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
