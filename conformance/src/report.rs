//! The result of a conformance run.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a conformance run: how often each promise was tried, and where it was broken.
#[derive(Debug, Clone)]
pub struct Report {
    subject: String,
    promises: Vec<Promise>,
}

#[derive(Debug, Clone)]
struct Promise {
    name: &'static str,
    tried: usize,
    broken: Vec<String>,
}

/// Counter-examples kept per promise; more would only repeat the first ones.
const KEPT: usize = 5;

impl Report {
    pub(crate) fn new(subject: String) -> Self {
        Self { subject, promises: Vec::new() }
    }

    /// Runs one case of a promise. A panic in `case` breaks the promise, as an error does.
    pub(crate) fn check(&mut self, name: &'static str, case: impl FnOnce() -> Result<(), String>) {
        let outcome = catch_unwind(AssertUnwindSafe(case)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(format!("panicked: {}", text.unwrap_or_default()))
        });
        let at = self.promises.iter().position(|p| p.name == name).unwrap_or_else(|| {
            self.promises.push(Promise { name, tried: 0, broken: Vec::new() });
            self.promises.len() - 1
        });
        let promise = &mut self.promises[at];
        promise.tried += 1;
        if let Err(what) = outcome
            && promise.broken.len() < KEPT
        {
            promise.broken.push(what);
        }
    }

    /// Whether every promise was kept.
    pub fn passed(&self) -> bool {
        self.promises.iter().all(|p| p.broken.is_empty())
    }

    /// How many cases were tried.
    pub fn tried(&self) -> usize {
        self.promises.iter().map(|p| p.tried).sum()
    }

    /// The names of the promises that were broken.
    pub fn broken(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.promises.iter().filter(|p| !p.broken.is_empty()).map(|p| p.name)
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.subject)?;
        for promise in &self.promises {
            let verdict = if promise.broken.is_empty() { "kept" } else { "BROKEN" };
            writeln!(f, "  {verdict:<6} {} ({} cases)", promise.name, promise.tried)?;
            for what in &promise.broken {
                writeln!(f, "         {what}")?;
            }
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
        report.check("b", || Ok(()));
        assert!(!report.passed());
        assert_eq!(report.tried(), 2);
        assert_eq!(report.broken().collect::<Vec<_>>(), ["a"]);
        assert!(report.to_string().contains("boom"));
    }
}
