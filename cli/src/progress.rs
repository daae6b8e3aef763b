//! Progress: bars for people, shown only on a terminal, or events for programs.

use std::fmt;
use std::io::{self, IsTerminal, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use serde_json::{Value, json};

use crate::args::ProgressMode;

/// How often there is an event while work goes on.
const INTERVAL: Duration = Duration::from_millis(250);

/// What the command line has asked for; bars unless it is set.
static MODE: OnceLock<ProgressMode> = OnceLock::new();
/// Bytes written to the destination so far. A command writes one thing.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
/// What reports events at the moment.
static CURRENT: Mutex<Option<Arc<Reporter>>> = Mutex::new(None);

/// Chooses how progress is shown, once, before any work.
pub(crate) fn set_mode(mode: ProgressMode) {
    // It is set nowhere else.
    let _ = MODE.set(mode);
}

/// Whether progress, warnings and errors are events in JSON.
pub(crate) fn is_json() -> bool {
    MODE.get() == Some(&ProgressMode::Json)
}

/// Counts bytes that have been written to the destination.
pub(crate) fn wrote(bytes: usize) {
    WRITTEN.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Prints an event that is not about progress.
pub(crate) fn event(event: &Value) {
    eprintln!("{event}");
}

/// Ends the events of work that has not come to its end: nothing more is printed about it.
pub(crate) fn stop() {
    if let Some(reporter) = lock(&CURRENT).take() {
        reporter.end(None);
    }
}

/// How far some work is. Clones are about the same work.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    reporter: Option<Arc<Reporter>>,
}

/// Progress that counts bytes up to `total`, or shows what has been done when the total is not known. Nothing is shown if
/// the user asked for quiet, nor as a bar when standard error is not a terminal.
pub(crate) fn bar(total: Option<u64>, quiet: bool) -> Progress {
    let template = match total {
        Some(_) => "{bar:16} {percent:>3} %  {bytes} of {total_bytes}, {bytes_per_sec}{ratio}, {eta} left",
        None => "{spinner} {bytes}, {bytes_per_sec}{ratio}",
    };
    Progress::new(total, quiet, "bytes", template)
}

/// Progress that counts steps, under the same conditions.
pub(crate) fn count(total: u64, quiet: bool) -> Progress {
    Progress::new(Some(total), quiet, "steps", "{bar:30} {pos} of {len}, {eta} left")
}

impl Progress {
    fn new(total: Option<u64>, quiet: bool, unit: &'static str, template: &str) -> Self {
        if is_json() && !quiet {
            let bar = ProgressBar::hidden();
            if let Some(total) = total {
                bar.set_length(total);
            }
            let reporter = Reporter::start(bar.clone(), unit);
            return Self { bar, reporter: Some(reporter) };
        }
        let shown = MODE.get().is_none_or(|mode| *mode == ProgressMode::Auto);
        if quiet || !shown || !io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        // The templates are constants; a mistake in one shows as the default style, not as a failed run.
        let bar = match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style.with_key("ratio", show_ratio)),
            Err(_) => bar,
        };
        Self { bar, reporter: None }
    }

    /// Progress that nobody sees.
    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), reporter: None }
    }

    /// More has been done.
    pub(crate) fn inc(&self, delta: u64) {
        self.bar.inc(delta);
    }

    /// The same for the library, which advances it by bytes.
    pub(crate) fn of_library(&self) -> oxiblosc::Progress {
        let bar = self.bar.clone();
        oxiblosc::Progress::with_observer(move |bytes| bar.inc(bytes))
    }

    /// So much has been done.
    pub(crate) fn set_position(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// How much there is to do.
    pub(crate) fn set_length(&self, total: u64) {
        self.bar.set_length(total);
    }

    /// Begins again.
    pub(crate) fn reset(&self) {
        self.bar.reset();
    }

    /// Prints a line above a bar, where there is one.
    pub(crate) fn println(&self, line: impl AsRef<str>) {
        self.bar.println(line);
    }

    /// All is done.
    pub(crate) fn finish_and_clear(&self) {
        if let Some(reporter) = &self.reporter {
            reporter.end(Some(&self.bar));
        }
        self.bar.finish_and_clear();
    }
}

/// The ratio so far, where something is written.
fn show_ratio(state: &ProgressState, out: &mut dyn fmt::Write) {
    let written = WRITTEN.load(Ordering::Relaxed);
    if written > 0 {
        // A bar that cannot be drawn is not worth an error.
        let _ = write!(out, ", {:.2}x", state.pos() as f64 / written as f64);
    }
}

/// Prints events about a bar that is not drawn, from a thread of its own.
struct Reporter {
    unit: &'static str,
    begin: Instant,
    has_ended: Mutex<bool>,
    ended: Condvar,
}

impl Reporter {
    fn start(bar: ProgressBar, unit: &'static str) -> Arc<Self> {
        let reporter = Self { unit, begin: Instant::now(), has_ended: Mutex::new(false), ended: Condvar::new() };
        let reporter = Arc::new(reporter);
        *lock(&CURRENT) = Some(Arc::clone(&reporter));
        reporter.print("begin", &bar);
        let this = Arc::clone(&reporter);
        // Without the thread there are only the first event and the last one.
        let _ = thread::Builder::new().name("progress".into()).spawn(move || {
            let mut has_ended = lock(&this.has_ended);
            let mut before = bar.position();
            loop {
                let waited = this.ended.wait_timeout(has_ended, INTERVAL);
                has_ended = waited.unwrap_or_else(PoisonError::into_inner).0;
                if *has_ended {
                    return;
                }
                if bar.position() != before {
                    before = bar.position();
                    this.print("progress", &bar);
                }
            }
        });
        reporter
    }

    /// Prints nothing more, but for a last event about `bar`.
    fn end(&self, bar: Option<&ProgressBar>) {
        let mut has_ended = lock(&self.has_ended);
        if !std::mem::replace(&mut *has_ended, true)
            && let Some(bar) = bar
        {
            self.print("end", bar);
        }
        self.ended.notify_all();
    }

    fn print(&self, what: &str, bar: &ProgressBar) {
        let (read, written) = (bar.position(), WRITTEN.load(Ordering::Relaxed));
        // Headers and indexes may be read twice.
        let done = bar.length().map_or(read, |total| read.min(total));
        let seconds = self.begin.elapsed().as_secs_f64();
        event(&json!({
            "event": what,
            "unit": self.unit,
            "done": done,
            "total": bar.length(),
            "per_second": (seconds > 0.0).then(|| done as f64 / seconds),
            "written": written,
            "ratio": (self.unit == "bytes" && written > 0).then(|| done as f64 / written as f64),
        }));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A reader that advances a progress bar.
pub(crate) struct ProgressReader<R> {
    inner: R,
    bar: Progress,
}

impl<R: Read> ProgressReader<R> {
    pub(crate) fn new(inner: R, bar: Progress) -> Self {
        Self { inner, bar }
    }
}

impl<R: Read> Read for ProgressReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}
