//! A server of the real program, and a client that leaves nothing to a library.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::program::command;

/// A server that is killed with the test.
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
}

impl Server {
    /// Starts the program on a port that is free.
    pub(super) fn start<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        let mut command = command(["serve", "--port", "0"]);
        let mut child = command.args(args).stderr(Stdio::piped()).spawn().expect("the program was built");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("stdout is piped"));
        out.read_line(&mut line).expect("text");
        let address = line.trim_end().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        let Some(port) = address.and_then(|address| address.rsplit(':').next()) else {
            let mut message = String::new();
            let _ = child.stderr.take().expect("stderr is piped").read_to_string(&mut message);
            panic!("{line:?}: {message}");
        };
        Self { port: port.parse().expect("a port"), child }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[])
    }

    pub(super) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += "Host: localhost\r\n";
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        self.send(&(text + "\r\n"))
    }

    /// Sends bytes, and reads to the end of the connection.
    pub(super) fn send(&self, text: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).expect("it listens");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        Answer::parse(&bytes)
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        stream
    }

    /// Peak of the memory that it had, in bytes.
    #[cfg(target_os = "linux")]
    pub(super) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line of it");
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
        kib << 10
    }

    #[cfg(unix)]
    pub(super) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = std::process::Command::new("kill").args(["-s", name, &id]).status().expect("there is kill");
        assert!(status.success());
    }

    /// Waits for its end: the status, and what it wrote on standard error.
    #[cfg(unix)]
    pub(super) fn wait(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        self.child.stderr.take().expect("stderr is piped").read_to_string(&mut log).expect("text");
        (self.child.wait().expect("it ends").code(), log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer as it came.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| {
            panic!("no head in {:?}", String::from_utf8_lossy(bytes));
        });
        let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let body = bytes[end + 4..].to_vec();
        Self { status, head, body }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let value = values.next();
        assert!(values.next().is_none(), "{name} twice: {}", self.head);
        value
    }

    /// The body of a success, which is as long as was said.
    #[track_caller]
    pub(super) fn ok(self) -> Vec<u8> {
        assert!([200, 206].contains(&self.status), "{}\n{}", self.head, String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-length"), Some(self.body.len().to_string().as_str()));
        self.body
    }

    #[track_caller]
    pub(super) fn json(self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{}", self.head);
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The message of a failure with this status.
    #[track_caller]
    pub(super) fn failed(self, status: u16) -> String {
        assert_eq!(self.status, status, "{}\n{}", self.head, String::from_utf8_lossy(&self.body));
        let value = self.json();
        assert_eq!(value["status"], status);
        value["message"].as_str().expect("text").to_owned()
    }
}
