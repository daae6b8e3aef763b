//! Running the program and looking at what it did.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    /// The run must have succeeded and said nothing on standard error; returns what it wrote.
    #[track_caller]
    pub(crate) fn ok(self) -> Vec<u8> {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""));
        self.stdout
    }

    /// The run must have failed with status 1 and one line on standard error; returns that line.
    #[track_caller]
    pub(crate) fn bad_data(self) -> String {
        assert_eq!(self.status, 1, "{}", self.stderr);
        assert_eq!(self.stderr.matches('\n').count(), 1, "{:?}", self.stderr);
        assert!(self.stderr.starts_with("oxiblosc: ") && self.stderr.ends_with('\n'), "{:?}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self.stderr
    }

    /// The run must have failed with status 2 and written nothing but a complaint.
    #[track_caller]
    pub(crate) fn bad_usage(self) -> String {
        assert_eq!(self.status, 2, "{}", self.stderr);
        assert!(self.stdout.is_empty());
        assert!(!self.stderr.is_empty());
        self.stderr
    }
}

/// The program, ready to be started.
pub(crate) fn command<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxiblosc"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program without standard input.
pub(crate) fn run<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Run {
    run_with(args, b"")
}

/// Runs the program with `input` on standard input.
pub(crate) fn run_with<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>, input: &[u8]) -> Run {
    let mut child = command(args).stdin(Stdio::piped()).spawn().expect("the program was built");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let output = thread::scope(|scope| {
        // The program may stop reading before the end; that is its business.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().expect("the program ends")
    });
    Run {
        status: output.status.code().expect("the program was not killed"),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).expect("messages are text"),
    }
}

/// What `oxiblosc info --json` says about a file.
pub(crate) fn info(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&run(["info".as_ref(), "--json".as_ref(), path.as_os_str()]).ok()).expect("JSON")
}

/// Where the real arrays are.
pub(crate) fn array_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data/arrays").join(name)
}

/// Where the files of other writers are.
pub(crate) fn vector_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data/vectors").join(name)
}

/// The last `len` bytes of an array: real data, without the header of its file.
pub(crate) fn array_bytes(name: &str, len: usize) -> Vec<u8> {
    let mut bytes = fs::read(array_path(name)).expect("the array is in the repository");
    bytes.split_off(bytes.len() - len)
}

/// The arguments of `oxiblosc`, of whatever can be one.
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => {
        [$(std::ffi::OsString::from($arg)),*]
    };
}
