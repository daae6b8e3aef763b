//! `oxiblosc cat`: memory, pipes, streams.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use tempfile::tempdir;

use crate::args;
use crate::program::{array_path, command, run};

/// The most memory that a finished child has used, in bytes; where the system tells.
#[cfg(target_os = "linux")]
fn peak_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

#[cfg(not(target_os = "linux"))]
fn peak_memory(_: u32) -> Option<u64> {
    None
}

/// An array of 384 MiB goes in and out through pipes, in much less memory.
#[test]
fn memory_does_not_grow_with_the_data() {
    const ROWS: usize = 768;
    const LIMIT: u64 = 300 << 20;
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("frame");
    let row: Vec<u8> = (0..1usize << 19).map(|i| (i >> 8) as u8).collect();

    let args =
        args!["compress", "-", &frame, "--dtype", "u2", "--shape", "-1,262144", "--codec", "lz4", "--level", "1"];
    let mut child = command(args).stdin(Stdio::piped()).spawn().expect("the program was built");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    for _ in 0..ROWS {
        stdin.write_all(&row).expect("the program reads");
    }
    let peak = peak_memory(child.id());
    drop(stdin);
    assert!(child.wait().expect("the program ends").success());
    assert!(peak.is_none_or(|peak| peak < LIMIT), "compress took {peak:?} bytes");

    // The columns in reverse order, so that no stored run can be passed on as it is.
    let mut child = command(args!["cat", &frame, "--slice", ":, ::-1"]).spawn().expect("the program was built");
    let mut stdout = child.stdout.take().expect("stdout is piped");
    let mut back = vec![0; row.len()];
    let mut peak = None;
    let reversed: Vec<u8> = row.chunks(2).rev().flatten().copied().collect();
    for i in 0..ROWS {
        stdout.read_exact(&mut back).expect("the program writes");
        assert!(back == reversed, "row {i}");
        if i == ROWS - 1 {
            peak = peak_memory(child.id());
        }
    }
    assert!(child.wait().expect("the program ends").success());
    assert!(peak.is_none_or(|peak| peak < LIMIT), "cat took {peak:?} bytes");
}

#[test]
fn a_broken_pipe_in_the_middle_of_an_array_is_quiet() {
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("frame");
    run(args!["compress", array_path("health.npy"), &frame, "--chunks", "1,1000"]).ok();
    let mut child = command(args!["cat", &frame, "--slice", "::-1"]).spawn().expect("the program was built");
    let mut stdout = child.stdout.take().expect("stdout is piped");
    stdout.read_exact(&mut [0; 100]).expect("some bytes");
    drop(stdout);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(141));
}

/// A killed writer leaves nothing under the final name, and beside it what can be recovered.
#[test]
fn a_killed_compress_leaves_no_frame() {
    let dir = tempdir().expect("a directory");
    for layout in ["contiguous", "sparse"] {
        let frame = dir.path().join(layout);
        let args = args!["compress", "-", &frame, "--layout", layout, "--chunk-size", "1000"];
        let mut child = command(args).stdin(Stdio::piped()).spawn().expect("the program was built");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        stdin.write_all(&vec![7; 1 << 20]).expect("the program reads");
        child.kill().expect("it is running");
        child.wait().expect("the program ends");
        assert!(!frame.exists(), "{layout}");
        for left in fs::read_dir(dir.path()).expect("a directory") {
            let (left, saved) = (left.expect("an entry").path(), dir.path().join("saved"));
            let name = left.file_name().expect("a name").to_string_lossy().into_owned();
            assert!(name.starts_with(&format!(".{layout}.")) && name.ends_with(".part"), "{name}");
            // It may not have got to a chunk.
            if run(args!["recover", &left, &saved, "--quiet"]).status == 0 {
                assert!(run(args!["cat", &saved]).ok().iter().all(|&byte| byte == 7));
                run(args!["verify", "--quiet", &saved]).ok();
                let _ = fs::remove_file(&saved).or_else(|_| fs::remove_dir_all(&saved));
            }
            let _ = fs::remove_file(&left).or_else(|_| fs::remove_dir_all(&left));
        }
    }
}
