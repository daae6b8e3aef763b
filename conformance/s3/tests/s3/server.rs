//! S3 servers as processes, on ports of their own.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use oxiblosc::block_on;
use oxiblosc::object::spawn;
use tempfile::TempDir;

use crate::environment;

pub(crate) const ACCESS_KEY: &str = "AKIDTEST";
pub(crate) const SECRET_KEY: &str = "not-much-of-a-secret";
pub(crate) const BUCKET: &str = "bucket";

/// For tests that measure time, and for those that take all of the machine: one of them at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running server with one empty bucket.
pub(crate) struct Server {
    child: Child,
    port: u16,
    lists_uploads: bool,
    directory: TempDir,
}

impl Server {
    /// s3s-fs.
    pub(crate) fn s3s() -> Self {
        Self::start(&[])
    }

    /// s3s-fs, whose conditional puts hold even if there are several at the same time.
    pub(crate) fn atomic() -> Self {
        Self::start(&["atomic"])
    }

    fn start(options: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(directory.path().join(BUCKET)).expect("a bucket");
        let mut command = Command::new(env!("CARGO_BIN_EXE_s3-server"));
        command.arg(directory.path()).args([ACCESS_KEY, SECRET_KEY]).args(options);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut line).expect("the server says its port");
        Self { child, port: line.trim().parse().expect("a port"), lists_uploads: false, directory }
    }

    /// The server of moto, which is written in Python; `None` without Python.
    pub(crate) fn moto() -> Option<Self> {
        let python = match environment::python() {
            Ok(python) => python,
            Err(reason) => {
                println!("skipped, no Python environment: {reason}");
                return None;
            }
        };
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
        let mut command = Command::new(python);
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = Self {
            child: child.expect("the interpreter starts"),
            port,
            lists_uploads: true,
            directory: tempfile::tempdir().expect("a temporary directory"),
        };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(60), "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        server.python("import sys, s3fs\ns3fs.S3FileSystem().mkdir(sys.argv[1])", &server.endpoint(), &[BUCKET])?;
        Some(server)
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The files of unfinished uploads in the directory that s3s-fs serves.
    pub(crate) fn upload_files(&self) -> usize {
        let begins = |name: &str| name.starts_with(".upload");
        let entries = std::fs::read_dir(self.directory.path()).expect("the directory of the server");
        entries.filter(|entry| entry.as_ref().is_ok_and(|e| e.file_name().to_str().is_some_and(begins))).count()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The bucket as a store.
    pub(crate) fn store(&self) -> Arc<dyn ObjectStore> {
        store(&self.endpoint())
    }

    /// The name of the server.
    pub(crate) fn name(&self) -> &'static str {
        if self.lists_uploads { "moto" } else { "s3s-fs" }
    }

    /// Whether the server tells which uploads are pending: moto's does.
    pub(crate) fn lists_uploads(&self) -> bool {
        self.lists_uploads
    }

    pub(crate) fn put(&self, key: &str, bytes: &[u8]) {
        let (store, key, bytes) = (self.store(), Path::from(key), bytes.to_vec());
        block_on(spawn(async move { store.put(&key, bytes.into()).await })).expect("a runtime").expect("an upload");
    }

    /// The bytes of an object, if there is one.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let (store, key) = (self.store(), Path::from(key));
        let got = spawn(async move { store.get(&key).await.ok()?.bytes().await.ok() });
        block_on(got).expect("a runtime").map(|bytes| bytes.to_vec())
    }

    /// The length of an object, if there is one.
    pub(crate) fn len(&self, key: &str) -> Option<u64> {
        let (store, key) = (self.store(), Path::from(key));
        let head = spawn(async move { store.head(&key).await.ok() });
        block_on(head).expect("a runtime").map(|meta| meta.size)
    }

    /// The keys under a prefix.
    pub(crate) fn list(&self, prefix: &str) -> Vec<String> {
        let (store, prefix) = (self.store(), Path::from(prefix));
        let list = spawn(async move { store.list(Some(&prefix)).try_collect::<Vec<_>>().await });
        let found = block_on(list).expect("a runtime").expect("a listing");
        found.into_iter().map(|meta| meta.location.to_string()).collect()
    }

    /// Runs a Python script that uses the server by way of `endpoint`, and returns what it prints; `None` without
    /// Python.
    #[track_caller]
    pub(crate) fn python(&self, script: &str, endpoint: &str, args: &[&str]) -> Option<String> {
        let python = environment::python().ok()?;
        let mut command = Command::new(python);
        command.args(["-c", script]).args(args).envs(variables(endpoint));
        let output = command.stdin(Stdio::null()).output().expect("the interpreter starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).expect("scripts print text"))
    }

    /// Downloads the sparse frame under `key`, and runs a Python script on it, which python-blosc2 has opened as `array`;
    /// `None` without Python.
    #[track_caller]
    pub(crate) fn python_on(&self, key: &str, script: &str) -> Option<String> {
        self.python(&format!("{DOWNLOAD}{script}"), &self.endpoint(), &[BUCKET, key])
    }

    /// Starts a Python script that uses the server by way of `endpoint` and is talked to line by line; `None` without
    /// Python.
    pub(crate) fn converse(&self, script: &str, endpoint: &str, args: &[&str]) -> Option<Conversation> {
        let python = environment::python().ok()?;
        let mut command = Command::new(python);
        command.args(["-c", script]).args(args).envs(variables(endpoint));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the interpreter starts");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Some(Conversation { child, lines })
    }
}

const DOWNLOAD: &str = r"
import os, sys, tempfile, s3fs, blosc2
directory = tempfile.mkdtemp() + '/array.b2nd'
os.mkdir(directory)
fs = s3fs.S3FileSystem()
for found in fs.ls(f'{sys.argv[1]}/{sys.argv[2]}', detail=True):
    if found['type'] == 'file':
        with open(os.path.join(directory, os.path.basename(found['name'])), 'wb') as file:
            file.write(fs.cat_file(found['name']))
array = blosc2.open(directory)
";

/// A script that waits for a line after each one it prints.
pub(crate) struct Conversation {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Conversation {
    /// The next line that the script prints.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the script lives");
        assert!(!line.is_empty(), "the script has died");
        line.trim().to_owned()
    }

    /// Has the script go on.
    pub(crate) fn go_on(&mut self) {
        let stdin = self.child.stdin.as_mut().expect("stdin is piped");
        stdin.write_all(b"\n").and_then(|()| stdin.flush()).expect("the script lives");
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.child.stdin = None;
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What programs need in their environment to use the server at `endpoint`.
pub(crate) fn variables(endpoint: &str) -> [(&'static str, &str); 4] {
    [
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", endpoint),
    ]
}

/// The bucket as a store, through `endpoint`.
pub(crate) fn store(endpoint: &str) -> Arc<dyn ObjectStore> {
    uploads(endpoint)
}

/// The bucket as a store that takes uploads, through `endpoint`.
pub(crate) fn uploads(endpoint: &str) -> Arc<AmazonS3> {
    let builder = AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_bucket_name(BUCKET)
        .with_region("us-east-1")
        .with_access_key_id(ACCESS_KEY)
        .with_secret_access_key(SECRET_KEY);
    Arc::new(builder.build().expect("a store"))
}
