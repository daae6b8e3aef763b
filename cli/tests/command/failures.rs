//! Exit statuses, messages, and what a failed run leaves behind: nothing.

use std::fs;
use std::io::Read;
use std::path::Path;

use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, command, run, run_with};

#[test]
fn bad_usage() {
    run([""; 0]).bad_usage();
    run(args!["squeeze"]).bad_usage();
    run(args!["compress", "-"]).bad_usage();
    for option in [
        args!["--level", "10"],
        args!["--level", "-1"],
        args!["--codec", "lzma"],
        args!["--codec", "250"],
        args!["--codec", "snappy"],
        args!["--codec-meta", "256"],
        args!["--filter", "shufle"],
        args!["--filter", "31"],
        args!["--filter", "trunc_prec=300"],
        args!["--typesize", "0"],
        args!["--typesize", "2147483648"],
        args!["--chunk-size", "0"],
        args!["--chunk-size", "3G"],
        args!["--block-size", "many"],
        args!["--split", "sometimes"],
        args!["--threads", "0"],
        args!["--format", "gzip"],
    ] {
        let message = run(args!["compress", "-", "-"].into_iter().chain(option.clone())).bad_usage();
        assert!(!message.contains("panicked"), "{option:?}: {message}");
    }
    let seven = ["--filter", "shuffle"].repeat(7);
    run(args!["compress", "-", "-"].into_iter().chain(seven.into_iter().map(Into::into))).bad_usage();
    for items in ["3", "5:3", "a:b"] {
        run(args!["cat", "-", "--items", items]).bad_usage();
    }
}

#[test]
fn help_and_version_are_no_failures() {
    for option in ["--help", "--version", "-h", "-V"] {
        assert!(!run(args![option]).ok().is_empty(), "{option}");
    }
    for command in ["compress", "cat", "info", "verify", "plugins"] {
        assert!(!run(args![command, "--help"]).ok().is_empty(), "{command}");
    }
}

#[test]
fn missing_and_unreadable_files() {
    let dir = tempdir().expect("a directory");
    let missing = dir.path().join("missing");
    for command in ["cat", "info", "verify"] {
        let message = run(args![command, &missing]).bad_data();
        assert!(message.contains("missing"), "{message}");
        // A directory that is no sparse frame.
        run(args![command, dir.path()]).bad_data();
    }
    run(args!["compress", &missing, "-"]).bad_data();
    run(args!["compress", dir.path(), "-"]).bad_data();
    run(args!["compress", array_path("fmri.npy"), dir.path().join("no/such/directory/out")]).bad_data();
    run(args!["compress", array_path("fmri.npy"), dir.path()]).bad_data();
    assert_eq!(left_in(dir.path()), 0);
}

#[test]
fn a_failed_compress_leaves_nothing() {
    let dir = tempdir().expect("a directory");
    let output = dir.path().join("out.b2frame");
    let mut array = fs::read(array_path("fmri.npy")).expect("the array is in the repository");
    array.truncate(array.len() - 1);
    let message = run_with(args!["compress", "-", &output, "--chunk-size", "100000"], &array).bad_data();
    assert!(message.contains("1179775"), "the message says where the data ends: {message}");
    assert_eq!(left_in(dir.path()), 0);

    // ... and does not touch what was there.
    fs::write(&output, "precious").expect("a file");
    run_with(args!["compress", "-", &output], &array).bad_data();
    assert_eq!(fs::read(&output).expect("a file"), b"precious");
    assert_eq!(left_in(dir.path()), 1);

    // The same for what goes to standard output.
    let run = run_with(args!["compress", "-", "-"], &array);
    assert!(run.stdout.is_empty());
    run.bad_data();
}

#[test]
fn bad_arrays() {
    let header = |dict: &str| {
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        file.extend((dict.len() as u16).to_le_bytes());
        file.extend(dict.bytes());
        file
    };
    let fortran = header("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2)}");
    let message = run_with(args!["compress", "-", "-"], &[fortran, vec![0; 8]].concat()).bad_data();
    assert!(message.contains("Fortran"), "{message}");
    let objects = header("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}");
    run_with(args!["compress", "-", "-"], &objects).bad_data();
    let long = header("{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}");
    let message = run_with(args!["compress", "-", "-"], &[long.clone(), vec![0; 5]].concat()).bad_data();
    assert!(message.contains(&(long.len() + 4).to_string()), "{message}");
    for cut in 6..long.len() {
        run_with(args!["compress", "-", "-"], &long[..cut]).bad_data();
    }
    run_with(args!["compress", "-", "-", "--raw"], &long[..20]).ok();
}

#[test]
fn a_broken_pipe_is_quiet() {
    let dir = tempdir().expect("a directory");
    let frame = dir.path().join("out.b2frame");
    run(args!["compress", array_path("health.npy"), &frame, "--chunk-size", "10000"]).ok();
    let mut child = command(args!["cat", &frame]).spawn().expect("the program was built");
    let mut stdout = child.stdout.take().expect("stdout is piped");
    stdout.read_exact(&mut [0; 100]).expect("some bytes");
    drop(stdout);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_full_disk_is_reported() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let data = array_bytes("fmri.npy", 100_000);
    let message = run_with(args!["compress", "-", full], &data).bad_data();
    assert!(message.contains("/dev/full"), "{message}");
}

fn left_in(dir: &Path) -> usize {
    fs::read_dir(dir).expect("a directory").count()
}
