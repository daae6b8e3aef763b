//! The result of a conformance run.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a conformance run: how often each promise was tried, and where it was broken.
#[derive(Debug, Clone)]
pub struct Report {
    subject: String,
    promises: Vec<Promise>,
    notes: Vec<String>,
}

#[derive(Debug, Clone)]
struct Promise {
    name: &'static str,
    tried: usize,
    /// The first failure; others would only repeat it.
    broken: Option<String>,
}

impl Report {
    pub(crate) fn new(subject: String) -> Self {
        Self { subject, promises: Vec::new(), notes: Vec::new() }
    }

    /// Runs one case of a promise. A panic in `case` breaks the promise, as an error does.
    #[cfg_attr(not(feature = "streams"), allow(dead_code, reason = "targets are checked with it"))]
    pub(crate) fn check(&mut self, name: &'static str, case: impl FnOnce() -> Result<(), String>) {
        let outcome = catch_unwind(AssertUnwindSafe(case))
            .unwrap_or_else(|panic| Err(format!("panicked: {}", panic_message(&*panic))));
        self.tried_cases(name, 1);
        if let Err(what) = outcome {
            self.breaks(name, what);
        }
    }

    /// Counts cases.
    pub(crate) fn tried_cases(&mut self, name: &'static str, cases: usize) {
        self.promise(name).tried += cases;
    }

    /// Records the first failure of a promise.
    pub(crate) fn breaks(&mut self, name: &'static str, what: String) {
        self.promise(name).broken.get_or_insert(what);
    }

    /// Whether the promise is known to be broken.
    pub(crate) fn is_broken(&self, name: &'static str) -> bool {
        self.promises.iter().any(|p| p.name == name && p.broken.is_some())
    }

    /// Adds a line that is no verdict.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn promise(&mut self, name: &'static str) -> &mut Promise {
        let at = self.promises.iter().position(|p| p.name == name).unwrap_or_else(|| {
            self.promises.push(Promise { name, tried: 0, broken: None });
            self.promises.len() - 1
        });
        &mut self.promises[at]
    }

    /// Whether every promise was kept.
    pub fn passed(&self) -> bool {
        self.promises.iter().all(|p| p.broken.is_none())
    }

    /// How many cases were tried.
    pub fn tried(&self) -> usize {
        self.promises.iter().map(|p| p.tried).sum()
    }

    /// The names of the promises that were broken.
    pub fn broken(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.promises.iter().filter(|p| p.broken.is_some()).map(|p| p.name)
    }

    /// How the promise with this name was broken.
    pub fn failure(&self, name: &str) -> Option<&str> {
        self.promises.iter().find(|p| p.name == name)?.broken.as_deref()
    }

    /// Panics with the whole report if a promise was broken; for use in tests.
    ///
    /// # Panics
    /// When [`Report::passed`] is false.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.passed(), "{self}");
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.subject)?;
        for promise in &self.promises {
            let verdict = if promise.broken.is_none() { "kept" } else { "BROKEN" };
            writeln!(f, "  {verdict:<6} {} ({} cases)", promise.name, promise.tried)?;
            for line in promise.broken.iter().flat_map(|what| what.lines()) {
                writeln!(f, "         {line}")?;
            }
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_breaks_the_promise_and_the_run_goes_on() {
        let mut report = Report::new("x".into());
        report.check("a", || panic!("boom"));
        report.check("a", || panic!("boom again"));
        report.check("b", || Ok(()));
        assert!(!report.passed());
        assert_eq!(report.tried(), 3);
        assert_eq!(report.broken().collect::<Vec<_>>(), ["a"]);
        assert_eq!(report.to_string().matches("boom").count(), 1);
        assert_eq!(report.failure("a"), Some("panicked: boom"));
    }
}
