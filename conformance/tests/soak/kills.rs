//! Processes that are killed while they write, append, edit and compact: what they had acknowledged must be there.
//!
//! A child is this very program, run again for one test. It prints a line after each thing it has been told is done, so
//! that nothing but what the system has taken counts. (This is about a process that dies. What a machine does that loses
//! its power is simulated elsewhere.)

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use futures::io::AsyncWriteExt;
use oxiblosc::edit::EditOptions;
use oxiblosc::target::{FileTarget, SparseTarget};
use oxiblosc::{WriteOptions, block_on, blocking, recover};
use oxiblosc_conformance::data::Random;
use tempfile::TempDir;

use crate::case::Data;
use crate::payload::Payload;
use crate::place::BoxTarget;
use crate::tally::Tally;

/// What a child does, and where.
const CHILD: &str = "OXIBLOSC_SOAK_CHILD";
const CHUNK: usize = 100_000;
/// A new frame is started when it is longer.
const MOST_BYTES: u64 = 12 << 20;

/// What a child does until it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Replaces a file by a frame of the next version, repeatedly.
    Replace,
    /// The same with a directory.
    ReplaceDirectory,
    /// Writes one long frame under its final name, and flushes it.
    InPlace,
    /// Appends to a frame, and commits.
    Append,
    AppendDirectory,
    /// The same, and compacts it.
    Compact,
    /// Changes all chunks of a frame with each commit.
    Update,
}

const ALL: [Work; 7] = [
    Work::Replace,
    Work::ReplaceDirectory,
    Work::InPlace,
    Work::Append,
    Work::AppendDirectory,
    Work::Compact,
    Work::Update,
];

/// Bytes of version `version` of a frame that is written as a whole.
fn version(seed: u64, version: u64) -> Payload {
    let len = 200_000 + Random::new(seed ^ version).below(1_500_000) as u64;
    Payload::new(Data::Mixed, len, 30_000, seed.wrapping_add(version))
}

/// All versions of a frame of which every chunk changes have this length.
fn update(seed: u64, version: u64) -> Payload {
    Payload::new(Data::Mixed, 7 * CHUNK as u64 + 11, 30_000, seed.wrapping_add(version))
}

/// The bytes of a frame that grows.
fn growing(seed: u64) -> Payload {
    Payload::new(Data::Mixed, 1 << 40, 30_000, seed)
}

/// How many bytes follow the first `at` in one commit.
fn step(seed: u64, at: u64) -> u64 {
    1 + Random::new(seed ^ at).below(3 * CHUNK) as u64
}

fn options() -> WriteOptions {
    WriteOptions::default().chunk_size(CHUNK)
}

/// Kills children until the time is over; at least one of each kind.
pub(crate) fn run(seed: u64, end: Instant, tally: &Tally) {
    if !cfg!(unix) {
        return;
    }
    let mut random = Random::new(seed);
    let mut round = 0;
    while Instant::now() < end || round < ALL.len() {
        let (work, seed) = (ALL[round % ALL.len()], random.next_u64() % 1_000_000);
        if let Err(error) = victims(work, seed, &mut random, tally) {
            panic!("{work:?} of seed {seed}: {error}");
        }
        round += 1;
    }
}

/// A few children, one after the other, with the same frame.
fn victims(work: Work, seed: u64, random: &mut Random, tally: &Tally) -> Result<(), String> {
    let directory = TempDir::new().map_err(text)?;
    let path = directory.path().join("frame.b2frame");
    let mut known = prepare(work, seed, &path)?;
    for _ in 0..3 {
        let patience = Duration::from_micros(random.below(60_000) as u64);
        let acknowledged = kill(work, seed, &path, known, patience)?;
        tally.kills();
        let found = look(work, seed, &path, acknowledged)?;
        tally.lose(acknowledged.saturating_sub(found.known));
        tally.bytes(found.bytes);
        known = found.known;
        clean(directory.path(), &path).map_err(text)?;
        if found.bytes > MOST_BYTES || work == Work::InPlace {
            break;
        }
    }
    Ok(())
}

/// The frame that the first child finds; what is known of it.
fn prepare(work: Work, seed: u64, path: &Path) -> Result<u64, String> {
    let target: BoxTarget = match work {
        Work::Replace | Work::ReplaceDirectory | Work::InPlace => return Ok(0),
        Work::AppendDirectory => Box::new(SparseTarget::create(path).map_err(text)?),
        _ => Box::new(FileTarget::create(path).map_err(text)?),
    };
    let data = match work {
        Work::Update => update(seed, 0).bytes(0..u64::MAX),
        _ => growing(seed).bytes(0..step(seed, 0)),
    };
    let known = if work == Work::Update { 0 } else { data.len() as u64 };
    write(target, data)?;
    Ok(known)
}

fn write(target: BoxTarget, data: Vec<u8>) -> Result<(), String> {
    let mut writer = blocking::FrameWriter::with_target(target, options()).map_err(text)?;
    writer.push(data.into()).map_err(text)?;
    writer.finish().map_err(text).map(drop)
}

/// Starts a child, kills it some time after its first words, and says what it has acknowledged.
fn kill(work: Work, seed: u64, path: &Path, known: u64, patience: Duration) -> Result<u64, String> {
    let number = ALL.iter().position(|&other| other == work).unwrap_or(0);
    let mut child = Command::new(std::env::current_exe().map_err(text)?)
        .args(["child", "--exact", "--nocapture", "--test-threads", "1"])
        .env(CHILD, format!("{number} {seed} {known} {}", path.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(text)?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut acknowledged = known;
    let mut line = String::new();
    let mut begun = false;
    loop {
        line.clear();
        let len = lines.read_line(&mut line).map_err(text)?;
        if len == 0 {
            break;
        }
        if !begun && line.starts_with("begun") {
            begun = true;
            // The rest of what it says waits in the pipe.
            thread::sleep(patience);
            child.kill().map_err(text)?;
        }
        // A line may be cut off.
        if let Some(number) = line.strip_suffix('\n').and_then(|line| line.strip_prefix("ack ")) {
            acknowledged = number.parse().map_err(text)?;
        }
    }
    ended(child, begun)?;
    Ok(acknowledged)
}

/// A child must have been killed, and not have ended on its own.
fn ended(child: Child, begun: bool) -> Result<(), String> {
    let output = child.wait_with_output().map_err(text)?;
    if begun && output.status.code().is_none() {
        return Ok(());
    }
    Err(format!("a child ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// What is there after a child was killed.
struct Found {
    /// In the units of what the child acknowledges.
    known: u64,
    bytes: u64,
}

/// Compares what is there with what may be.
fn look(work: Work, seed: u64, path: &Path, acknowledged: u64) -> Result<Found, String> {
    let read = |path: &Path| -> Result<Vec<u8>, String> {
        let reader = blocking::FrameReader::open(path).map_err(|e| format!("after {acknowledged}: {e}"))?;
        let report = reader.verify().map_err(text)?;
        if !report.is_good() {
            return Err(format!("after {acknowledged}, the verification says: {report}"));
        }
        reader.bytes(0..reader.nbytes()).map(|bytes| bytes.to_vec()).map_err(text)
    };
    let is = |payload: &Payload, found: &[u8]| payload.len() == found.len() as u64 && payload.compare(0, found).is_ok();
    match work {
        Work::Replace | Work::ReplaceDirectory | Work::Update => {
            if acknowledged == 0 && !path.exists() {
                return Ok(Found { known: 0, bytes: 0 });
            }
            let found = read(path)?;
            let of = |number| if work == Work::Update { update(seed, number) } else { version(seed, number) };
            // What was just being made final may be there already.
            let number = [acknowledged, acknowledged + 1].into_iter().find(|&number| is(&of(number), &found));
            let known = number.ok_or_else(|| format!("neither version {acknowledged} nor the next is there"))?;
            Ok(Found { known, bytes: found.len() as u64 })
        }
        Work::InPlace => {
            let mut path = path.to_owned();
            if seed.is_multiple_of(2) && acknowledged > 0 {
                recover::seal_file(&path).map_err(|e| format!("after {acknowledged}, sealing: {e}"))?;
            } else if acknowledged > 0 {
                let output = path.with_extension("recovered");
                recover::recover(&path, &output).map_err(|e| format!("after {acknowledged}, recovery: {e}"))?;
                path = output;
            } else {
                // Perhaps not even a header is there.
                return Ok(Found { known: 0, bytes: 0 });
            }
            let found = read(&path)?;
            growing(seed).compare(0, &found)?;
            Ok(Found { known: found.len() as u64, bytes: found.len() as u64 })
        }
        Work::Append | Work::AppendDirectory | Work::Compact => {
            let found = read(path)?;
            growing(seed).compare(0, &found)?;
            let known = found.len() as u64;
            if known != acknowledged && known != acknowledged + step(seed, acknowledged) {
                return Err(format!("{known} bytes, which is no commit behind {acknowledged}"));
            }
            Ok(Found { known, bytes: known })
        }
    }
}

/// Removes what a killed process leaves behind: temporary files.
fn clean(directory: &Path, frame: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path == frame {
            continue;
        }
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

/// What runs in a child: works until it is killed.
pub(crate) fn child() {
    let Ok(words) = std::env::var(CHILD) else { return };
    let words: Vec<&str> = words.splitn(4, ' ').collect();
    let [work, seed, known, path] = words[..] else { panic!("{CHILD} says too little") };
    let number = |word: &str| word.parse::<u64>().expect("a number");
    let work = ALL[number(work) as usize];
    if let Err(error) = labour(work, number(seed), number(known), &PathBuf::from(path)) {
        panic!("{work:?}: {error}");
    }
}

fn say(word: &str) {
    // Written at once, to the pipe and not to what the harness keeps.
    let mut out = io::stdout().lock();
    let _ = out.write_all(word.as_bytes()).and_then(|()| out.flush());
}

fn labour(work: Work, seed: u64, known: u64, path: &Path) -> Result<(), String> {
    say("\nbegun\n");
    match work {
        Work::Replace | Work::ReplaceDirectory => {
            for number in known + 1.. {
                let target: BoxTarget = match work {
                    Work::Replace => Box::new(FileTarget::create(path).map_err(text)?),
                    _ => Box::new(SparseTarget::create(path).map_err(text)?),
                };
                write(target, version(seed, number).bytes(0..u64::MAX))?;
                say(&format!("ack {number}\n"));
            }
        }
        Work::InPlace => {
            let target = FileTarget::in_place(path).map_err(text)?;
            let mut sink = options().sink(target).map_err(text)?;
            let payload = growing(seed);
            let mut at = 0;
            loop {
                let len = step(seed, at);
                block_on(sink.write_all(&payload.bytes(at..at + len))).map_err(text)?;
                at += len;
                block_on(AsyncWriteExt::flush(&mut sink)).map_err(text)?;
                // Whole chunks alone are passed on.
                say(&format!("ack {}\n", at / CHUNK as u64 * CHUNK as u64));
            }
        }
        Work::Append | Work::AppendDirectory | Work::Compact => {
            let payload = growing(seed);
            loop {
                let mut editor =
                    blocking::FrameEditor::with_options(path, EditOptions::new().durable(false)).map_err(text)?;
                for _ in 0..3 {
                    let at = editor.nbytes();
                    let len = step(seed, at);
                    editor.append(&payload.bytes(at..at + len)).map_err(text)?;
                    editor.commit().map_err(text)?;
                    say(&format!("ack {}\n", at + len));
                }
                drop(editor);
                if work == Work::Compact {
                    blocking::compact(path).map_err(text)?;
                }
            }
        }
        Work::Update => {
            let mut editor =
                blocking::FrameEditor::with_options(path, EditOptions::new().durable(false)).map_err(text)?;
            for number in known + 1.. {
                let payload = update(seed, number);
                for chunk in 0..editor.nchunks() {
                    let start = chunk * CHUNK as u64;
                    editor.update(chunk, &payload.bytes(start..start + CHUNK as u64)).map_err(text)?;
                }
                editor.commit().map_err(text)?;
                say(&format!("ack {number}\n"));
            }
        }
    }
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
