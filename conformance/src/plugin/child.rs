//! Runs a check in a process of its own first, for plugins that may end the process.
//!
//! An allocation that fails ends a program, and nothing can prevent that. So the test that makes the check is started again
//! as a child: if the child ends by a signal, the report says what it was doing; if not, the check runs here as usual.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, io};

use super::promise::Promise;
use super::watch::locked;
use crate::report::Report;

/// Set for the child: the file in which it says what it does.
const VARIABLE: &str = "OXIBLOSC_KIT_CHILD_SAYS";
/// Set for the child: the check that it is for.
const SUBJECT: &str = "OXIBLOSC_KIT_CHILD_SUBJECT";

/// Where a child says what it does.
pub(super) struct Diary {
    file: Mutex<File>,
}

impl Diary {
    /// The diary of this process; `None` if it is not a child.
    pub(super) fn of_child() -> Option<Self> {
        let file = File::options().write(true).open(env::var_os(VARIABLE)?).ok()?;
        Some(Self { file: Mutex::new(file) })
    }

    /// Replaces what it said before. The system keeps it when the process ends.
    pub(super) fn write(&self, promise: Promise, what: &str) {
        let text = format!("in: {promise}\n{what}");
        let mut file = locked(&self.file);
        // Without it the report says less.
        let _ = file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(text.as_bytes()));
    }
}

/// A file that is gone in the end.
struct Temporary(PathBuf);

impl Temporary {
    fn create() -> io::Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("oxiblosc-kit-{}-{number}", std::process::id()));
        File::create_new(&path).map(|_| Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Runs the test `test` in a child. The report of a child that did not survive the check of `subject`; `None` if it did,
/// or if this is that child. A child passes over the other checks of its test.
pub(super) fn run(test: &str, subject: &str) -> Option<Report> {
    let mut report = Report::new(subject.to_owned());
    if let Some(of_child) = env::var_os(SUBJECT) {
        return (of_child != subject).then_some(report);
    }
    match try_run(test, subject) {
        Ok(None) => return None,
        Ok(Some((promise, what))) => {
            report.tried_cases(promise.name(), 1);
            report.breaks(promise.name(), what);
            report.note("the rest was not tried: the child in which it ran has ended");
        }
        Err(error) => {
            let name = Promise::Memory.name();
            report.breaks(name, format!("the check could not be run in a child: {error}"));
        }
    }
    Some(report)
}

fn try_run(test: &str, subject: &str) -> io::Result<Option<(Promise, String)>> {
    let diary = Temporary::create()?;
    let output = Command::new(env::current_exe()?)
        .args(["--exact", test, "--nocapture"])
        .env(VARIABLE, &diary.0)
        .env(SUBJECT, subject)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    let mut said = String::new();
    File::open(&diary.0)?.read_to_string(&mut said)?;
    if said.is_empty() {
        let message = format!("there is no test {test:?} that makes it: give the name that `cargo test` shows");
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    let Some(signal) = signal(output.status) else { return Ok(None) };
    let stderr = String::from_utf8_lossy(&output.stderr);
    let refused = stderr.lines().find(|line| line.starts_with("memory allocation of "));
    let taken = stderr.lines().find(|line| line.contains("MiB taken, and no end"));
    let (promise, how) = match (refused, taken) {
        (Some(line), _) => (Promise::Memory, line.to_owned()),
        (_, Some(line)) => (Promise::Memory, line.trim().to_owned()),
        _ => (Promise::Damage, format!("the process ended by signal {signal}")),
    };
    Ok(Some((promise, format!("{how}\n{said}"))))
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// An aborted process has an exit status of its own elsewhere; that of a failed test is 101.
#[cfg(not(unix))]
fn signal(status: ExitStatus) -> Option<i32> {
    status.code().filter(|code| ![0, 101].contains(code))
}
