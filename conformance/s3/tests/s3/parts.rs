//! `compress --part` and `commit` on a bucket: an array that several processes write.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, iter};

use tempfile::TempDir;

use crate::program::{Run, command, ended, run, url};
use crate::server::Server;

/// Rows that are no multiple of a chunk's length, in parts of which the last is shorter.
const ROW: u64 = 1003;
const ROWS: u64 = 2310;
const STEP: u64 = 500;
const PARTS: u64 = 5;

/// The bytes of some rows: 32-bit numbers that depend on their place.
fn items(rows: Range<u64>) -> Vec<u8> {
    rows.flat_map(|i| (0..ROW).map(move |j| (i * 100_003 + j * j) as u32)).flat_map(u32::to_le_bytes).collect()
}

/// The rows of a part, as a `.npy` file.
fn npy(part: u64) -> Vec<u8> {
    let rows = (part - 1) * STEP..(part * STEP).min(ROWS);
    let dict = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({}, {ROW}), }}", rows.end - rows.start);
    let text = format!("{dict}{}\n", " ".repeat((10 + dict.len() + 1).next_multiple_of(64) - 10 - dict.len() - 1));
    let header = b"\x93NUMPY\x01\x00".iter().copied().chain((text.len() as u16).to_le_bytes());
    header.chain(text.bytes()).chain(items(rows)).collect()
}

/// A job whose processes write to one prefix.
struct Job<'a> {
    server: &'a Server,
    directory: TempDir,
    url: String,
    key: String,
}

impl<'a> Job<'a> {
    fn new(server: &'a Server, name: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for part in 1..=PARTS {
            fs::write(directory.path().join(format!("part{part}.npy")), npy(part)).expect("a file");
        }
        // Where objects are files, a prefix is a directory: the slash says what is meant.
        let slash = if server.lists_uploads() { "" } else { "/" };
        Self { server, directory, url: url(name) + slash, key: name.into() }
    }

    fn input(&self, part: u64) -> PathBuf {
        self.directory.path().join(format!("part{part}.npy"))
    }

    fn args(&self, input: &str, part: u64, more: &[&str]) -> Vec<String> {
        let (number, shape) = (format!("{part}/{PARTS}"), format!("{ROWS},{ROW}"));
        let args = ["compress", "-q", input, &self.url, "--part", &number, "--shape", &shape, "--chunk-size", "256K"];
        args.iter().chain(more).map(|&arg| arg.to_owned()).collect()
    }

    fn start(&self, part: u64, more: &[&str]) -> std::process::Child {
        let args = self.args(self.input(part).to_str().expect("a plain name"), part, more);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        command(&self.server.endpoint(), &args).spawn().expect("the program was built")
    }

    fn part(&self, part: u64, more: &[&str]) -> Run {
        ended(self.start(part, more))
    }

    fn commit(&self, more: &[&str]) -> Run {
        let args: Vec<_> = ["commit", "-q", self.url.as_str()].iter().chain(more).copied().collect();
        run(&self.server.endpoint(), &args)
    }

    fn cat(&self, more: &[&str]) -> Run {
        let args: Vec<_> = ["cat", self.url.as_str()].iter().chain(more).copied().collect();
        run(&self.server.endpoint(), &args)
    }

    /// How many chunks are under the prefix.
    fn chunks(&self) -> usize {
        self.server.list(&self.key).iter().filter(|name| name.ends_with(".chunk")).count()
    }

    #[track_caller]
    fn is_invisible(&self) {
        for what in ["cat", "info", "verify"] {
            run(&self.server.endpoint(), &[what, &self.url]).failed(1);
        }
    }

    /// The array is there, whole, for this program and for python-blosc2.
    #[track_caller]
    fn is_there(&self) {
        assert!(self.cat(&[]).ok() == items(0..ROWS), "the items differ");
        assert!(self.cat(&["--slice", "499:1002"]).ok() == items(499..1002), "the items around a cut differ");
        run(&self.server.endpoint(), &["verify", &self.url]).ok();
        let hash = "import hashlib\nprint(array.shape, array.dtype, hashlib.sha256(array[:].tobytes()).hexdigest())";
        let path = self.directory.path().join("expected");
        fs::write(&path, items(0..ROWS)).expect("a file");
        let script = "import hashlib, sys\nprint(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";
        let expected = self.server.python(script, "", &[path.to_str().expect("a plain name")]);
        if let (Some(found), Some(expected)) = (self.server.python_on(&self.key, hash), expected) {
            assert_eq!(found.trim(), format!("({ROWS}, {ROW}) uint32 {}", expected.trim()));
        }
    }

    /// Starts a part whose input does not end, and kills it when some of its chunks have been stored.
    fn killed(&self, part: u64) {
        let before = self.chunks();
        let args = self.args("-", part, &[]);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let mut child = command(&self.server.endpoint(), &args).spawn().expect("the program was built");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let mut half = npy(part);
        half.truncate(half.len() / 2);
        let feed = thread::spawn(move || stdin.write_all(&half).map(|()| stdin));
        let begin = Instant::now();
        while self.chunks() < before + 2 {
            assert!(begin.elapsed() < Duration::from_secs(60), "nothing is stored");
            thread::sleep(Duration::from_millis(20));
        }
        child.kill().expect("it lives");
        // It is only now that its input ends.
        let _stdin = feed.join().expect("no panic");
        let run = ended(child);
        assert!(run.status != Some(0), "{run:?}");
    }
}

fn one_part_is_killed(server: &Server) {
    let job = Job::new(server, "parts/killed");
    // Three at the same time, the last part among them, and one later.
    let running: Vec<_> = [5, 2, 4].into_iter().map(|part| job.start(part, &[])).collect();
    running.into_iter().for_each(|child| drop(ended(child).ok()));
    job.killed(3);
    job.part(1, &[]).ok();
    job.is_invisible();
    let said = job.commit(&["--parts", "5", "--missing", "fail"]).failed(1);
    assert!(said.contains("missing: part 3/5:") && said.contains(&job.url), "{said}");
    job.is_invisible();
    // A job with another idea of the array is told, and leaves the chunks of this one alone.
    let chunks = job.chunks();
    let said = job.part(1, &["--codec", "lz4"]).failed(1);
    assert!(said.contains("must agree on its codec: it was begun with zstd, and this writer has lz4"), "{said}");
    assert_eq!(job.chunks(), chunks);
    job.part(3, &[]).ok();
    job.is_invisible();
    job.commit(&["--parts", "5"]).ok();
    job.is_there();
    // Whoever comes later is told, and changes nothing.
    for late in [job.part(2, &[]), job.commit(&[])] {
        let said = late.failed(1);
        assert!(said.contains("is committed already"), "{said}");
    }
    job.is_there();
}

#[test]
fn one_part_is_killed_with_s3s() {
    one_part_is_killed(&Server::atomic());
}

#[test]
fn one_part_is_killed_with_moto() {
    if let Some(server) = Server::moto() {
        one_part_is_killed(&server);
    }
}

#[test]
fn two_processes_commit_at_the_same_time() {
    let Some(server) = Server::moto() else { return };
    let job = Job::new(&server, "parts/race");
    let running: Vec<_> = (1..=PARTS).rev().map(|part| job.start(part, &[])).collect();
    running.into_iter().for_each(|child| drop(ended(child).ok()));
    let endpoint = server.endpoint();
    let commit = || command(&endpoint, &["commit", "-q", &job.url]).spawn().expect("the program was built");
    let commits: Vec<_> = iter::repeat_with(commit).take(3).collect();
    let (won, lost): (Vec<_>, Vec<_>) = commits.into_iter().map(ended).partition(|run| run.status == Some(0));
    // One that finds the very index that it was about to write has succeeded too.
    assert!(!won.is_empty(), "{lost:?}");
    for run in lost {
        let said = run.failed(1);
        assert!(said.contains("is committed already"), "{said}");
    }
    job.is_there();
}

#[test]
fn a_job_is_given_up_and_started_again() {
    let server = Server::atomic();
    let job = Job::new(&server, "parts/again");
    job.part(2, &["--codec", "lz4"]).ok();
    job.commit(&["--discard"]).ok();
    assert_eq!(job.chunks(), 0);
    let said = job.commit(&[]).failed(1);
    assert!(said.contains("there are no parts"), "{said}");
    // Without a part whose items are zeros.
    [4, 1, 3, 5].into_iter().for_each(|part| drop(job.part(part, &[]).ok()));
    job.commit(&["--missing", "zero"]).ok();
    let mut expected = items(0..ROWS);
    let row = ROW as usize * 4;
    expected[STEP as usize * row..2 * STEP as usize * row].fill(0);
    assert!(job.cat(&[]).ok() == expected, "the items differ");
}
