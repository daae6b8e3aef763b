//! A Python process that serves one test; the protocol is described in `interop/worker.py`.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::environment;

/// A running Python process.
pub(crate) struct Worker {
    child: Child,
    requests: Option<BufWriter<ChildStdin>>,
    answers: BufReader<ChildStdout>,
}

/// A value and the buffers that go with it.
pub(crate) struct Answer {
    pub(crate) value: Value,
    pub(crate) blobs: Vec<Vec<u8>>,
}

impl Answer {
    /// The only buffer of an answer that has one.
    pub(crate) fn into_blob(self) -> Vec<u8> {
        let [blob] = <[Vec<u8>; 1]>::try_from(self.blobs).expect("the operation returns one buffer");
        blob
    }
}

impl Worker {
    /// Starts a process, or says why the test is skipped and returns `None`.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(|_, _| {})
    }

    /// The same with changes to the command, which `change` makes; it is also given the interpreter.
    pub(crate) fn start_with(change: impl FnOnce(&mut Command, &Path)) -> Option<Self> {
        let python = match environment::python() {
            Ok(python) => python,
            Err(reason) => {
                println!("skipped, no Python environment: {reason}");
                return None;
            }
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/worker.py");
        let mut command = Command::new(python);
        command
            .arg("-B")
            .arg(script)
            // One thread each: tests run side by side already, and C-Blosc2 then writes blocks in order.
            .env("BLOSC_NTHREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        change(&mut command, python);
        let mut child = command.spawn().expect("the interpreter of the environment starts");
        let requests = child.stdin.take().map(BufWriter::new);
        let answers = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Some(Self { child, requests, answers })
    }

    /// Asks for `op`, which the other side must be able to do.
    #[track_caller]
    pub(crate) fn call(&mut self, op: &str, args: Value, blobs: &[&[u8]]) -> Answer {
        match self.try_call(op, &args, blobs) {
            Ok(answer) => answer,
            Err(error) => panic!("{op} {args}: {error}"),
        }
    }

    /// Asks for `op`; the error is what the other side says.
    pub(crate) fn try_call(&mut self, op: &str, args: &Value, blobs: &[&[u8]]) -> Result<Answer, String> {
        let lengths: Vec<usize> = blobs.iter().map(|blob| blob.len()).collect();
        let head = json!({ "op": op, "args": args, "blobs": lengths });
        let requests = self.requests.as_mut().expect("open until dropped");
        writeln!(requests, "{head}").expect("the worker is alive");
        for blob in blobs {
            requests.write_all(blob).expect("the worker is alive");
        }
        requests.flush().expect("the worker is alive");

        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the worker is alive");
        // C-Blosc2 can be made to crash; then there is no answer, and the request that did it is what matters.
        assert!(!line.is_empty(), "the worker died on {head}");
        let mut answer: Value = serde_json::from_str(&line).expect("an answer is JSON");
        if let Some(error) = answer["error"].as_str() {
            return Err(error.to_owned());
        }
        let lengths: Vec<usize> = serde_json::from_value(answer["blobs"].take()).expect("lengths are numbers");
        let blobs = lengths
            .into_iter()
            .map(|length| {
                let mut blob = vec![0; length];
                self.answers.read_exact(&mut blob).expect("the worker is alive");
                blob
            })
            .collect();
        Ok(Answer { value: answer["ok"].take(), blobs })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its stdin ends the loop of the worker.
        self.requests = None;
        let _ = self.child.wait();
    }
}
