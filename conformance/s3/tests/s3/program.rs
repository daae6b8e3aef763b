//! The `oxiblosc` program, run as its users run it.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::server::{BUCKET, variables};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    /// The run must have succeeded and said nothing on standard error; returns what it wrote.
    #[track_caller]
    pub(crate) fn ok(self) -> Vec<u8> {
        assert_eq!((self.status, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// The run must have failed with this status and one line on standard error; returns that line.
    #[track_caller]
    pub(crate) fn failed(self, status: i32) -> String {
        assert_eq!(self.status, Some(status), "{}", self.stderr);
        assert_eq!(self.stderr.matches('\n').count(), 1, "{:?}", self.stderr);
        assert!(self.stderr.starts_with("oxiblosc: ") && !self.stderr.contains("panicked"), "{:?}", self.stderr);
        self.stderr
    }
}

/// The program, ready to be started, for the server at `endpoint`.
pub(crate) fn command(endpoint: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxiblosc-command"));
    command.args(args).envs(variables(endpoint));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program with `input` on standard input.
pub(crate) fn run_with(endpoint: &str, args: &[&str], input: &[u8]) -> Run {
    let mut child = command(endpoint, args).spawn().expect("the program was built");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    thread::scope(|scope| {
        // The program may stop reading before the end; that is its business.
        scope.spawn(move || stdin.write_all(input));
        ended(child)
    })
}

/// Runs the program without standard input.
pub(crate) fn run(endpoint: &str, args: &[&str]) -> Run {
    run_with(endpoint, args, b"")
}

/// What a run left behind, when it ends.
pub(crate) fn ended(child: Child) -> Run {
    let output = child.wait_with_output().expect("the program ends");
    let stderr = String::from_utf8(output.stderr).expect("messages are text");
    Run { status: output.status.code(), stdout: output.stdout, stderr }
}

/// The URL of an object in the bucket.
pub(crate) fn url(key: &str) -> String {
    format!("s3://{BUCKET}/{key}")
}
