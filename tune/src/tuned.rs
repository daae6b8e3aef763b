//! What a search has found.

use crate::measurement::Measurement;
use crate::purpose::Purpose;
use crate::skipped::Skipped;

/// What a search has found: at least one combination that works.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// Not empty.
    measurements: Vec<Measurement>,
    skipped: Vec<Skipped>,
}

impl Tuned {
    pub(crate) fn new(mut measurements: Vec<Measurement>, skipped: Vec<Skipped>) -> Self {
        measurements.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
        Self { measurements, skipped }
    }

    /// All combinations that were tried, the best ratio first.
    pub fn measurements(&self) -> &[Measurement] {
        &self.measurements
    }

    /// What was not tried, or did not work, and why. Built-in plugins are named, too.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// The best combination for a purpose.
    pub fn best_for(&self, purpose: Purpose) -> &Measurement {
        &self.measurements[purpose.best(&self.measurements).unwrap_or_default()]
    }

    /// The best combination for each purpose, in the order of [`Purpose::ALL`].
    pub fn recommended(&self) -> impl Iterator<Item = (Purpose, &Measurement)> {
        Purpose::ALL.into_iter().map(|purpose| (purpose, self.best_for(purpose)))
    }

    /// Those that no other one beats in ratio and both speeds, the best ratio first.
    pub fn front(&self) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().filter(|result| self.is_on_front(result))
    }

    /// Whether no combination beats this one in ratio and both speeds.
    pub fn is_on_front(&self, result: &Measurement) -> bool {
        !self.measurements.iter().any(|other| result.is_beaten_by(other))
    }
}
