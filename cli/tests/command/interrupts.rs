//! What a signal leaves behind: nothing, and frames that are changed as they were.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, command, run, run_with};

fn send(signal: &str, child: &Child) {
    let kill = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
    assert!(kill.expect("a shell").success());
}

/// Whether the tests ignore a signal, and with them the programs that they start.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Waits until something is true of a directory.
#[track_caller]
fn wait(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Bytes of the files in a directory and the directories in it.
fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Starts the program, feeds it, and sends it a signal when what it has written has reached the disk.
fn interrupt(args: &[std::ffi::OsString], directory: &Path, signal: &str) -> Option<i32> {
    let before = bytes_in(directory);
    let mut child = command(args).stdin(Stdio::piped()).spawn().expect("the program was built");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // More than the piece that `append` waits for.
    stdin.write_all(&array_bytes("fmri.npy", 1_000_000).repeat(5)).expect("it reads");
    wait("something is written", || bytes_in(directory) > before + 50_000);
    send(signal, &child);
    let status = child.wait().expect("it ends");
    drop(stdin);
    assert_eq!(status.signal(), None, "it ends by itself");
    status.code()
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let dir = tempdir().expect("a directory");
    for layout in ["contiguous", "sparse"] {
        for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
            // A shell starts what it has in the background so, and the program inherits it.
            if is_ignored(status - 128) {
                println!("skipped {signal}, which is ignored here");
                continue;
            }
            let output = dir.path().join("out");
            let args = args!["compress", "-", &output, "--layout", layout, "--chunk-size", "20000", "--level", "0"];
            assert_eq!(interrupt(&args, dir.path(), signal), Some(status), "{layout} {signal}");
            let left: Vec<_> = fs::read_dir(dir.path()).expect("a directory").collect();
            assert!(left.is_empty(), "{layout} {signal}: {left:?}");
        }
    }
    // An open-ended frame is there from the start, and stays.
    let output = dir.path().join("open");
    let args = args!["compress", "-", &output, "--layout", "open", "--chunk-size", "20000", "--level", "0"];
    assert_eq!(interrupt(&args, dir.path(), "TERM"), Some(143));
    run(args!["seal", &output, "--quiet"]).ok();
    assert!(array_bytes("fmri.npy", 1_000_000).repeat(5).starts_with(&run(args!["cat", &output]).ok()));
}

#[test]
fn an_interrupted_append_leaves_the_frame_as_it_was() {
    let dir = tempdir().expect("a directory");
    for layout in ["contiguous", "sparse"] {
        let frame = dir.path().join(layout);
        let args = args!["compress", "-", &frame, "--layout", layout, "--chunk-size", "20000", "--level", "0"];
        run_with(args, &[7; 50_000]).ok();
        let files = |path: &Path| bytes_in(path.parent().expect("a directory"));
        let before = files(&frame);
        assert_eq!(interrupt(&args!["append", &frame, "-"], dir.path(), "TERM"), Some(143));
        assert_eq!(files(&frame), before, "{layout}");
        assert_eq!(run(args!["cat", &frame]).ok(), [7; 50_000]);
    }
}

/// As `nohup` and the background jobs of scripts have it.
#[test]
fn what_was_ignored_stays_ignored() {
    if !Path::new("/proc/self/status").exists() {
        return;
    }
    let dir = tempdir().expect("a directory");
    let output = dir.path().join("out");
    let program = env!("CARGO_BIN_EXE_oxiblosc");
    let script = r#"trap '' HUP; exec "$0" compress - "$1" --chunk-size 20000 --level 0"#;
    let mut child =
        Command::new("sh").args(["-c", script, program]).arg(&output).stdin(Stdio::piped()).spawn().expect("a shell");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(&array_bytes("fmri.npy", 1_000_000)).expect("it reads");
    wait("something is written", || bytes_in(dir.path()) > 50_000);
    send("HUP", &child);
    drop(stdin);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    run(args!["verify", &output, "--quiet"]).ok();
}

/// What only looks at a file does without the thread that cleans up after a signal.
#[test]
fn looking_starts_no_thread() {
    if !Path::new("/proc/self/task").exists() {
        return;
    }
    let dir = tempdir().expect("a directory");
    let (frame, pipe) = (dir.path().join("frame"), dir.path().join("pipe"));
    run_with(args!["compress", "-", &frame], &[7; 50_000]).ok();
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let child = command(&args!["info", &pipe]).stdout(Stdio::piped()).spawn().expect("the program was built");
    // It is there as soon as the program has opened the other end.
    let mut input = fs::OpenOptions::new().write(true).open(&pipe).expect("a pipe");
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).expect("it runs").count();
    input.write_all(&fs::read(&frame).expect("a frame")).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((threads, output.status.code()), (1, Some(0)));
    assert!(output.stdout.starts_with(b"kind         frame"), "{}", String::from_utf8_lossy(&output.stdout));
}
