//! What is not tried.

use std::fmt;
use std::time::Duration;

use oxiblosc::plugin::PluginName;

use crate::candidate::Candidate;

/// Something that was not tried, or whose trial failed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Skipped {
    /// What it is.
    pub subject: Subject,
    /// Why. It may quote messages of plugins, which may have several lines.
    pub reason: String,
    /// There was no time for it; otherwise the reason lies in itself or in the data.
    pub for_lack_of_time: bool,
}

/// What was not tried.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Subject {
    /// A codec or filter, in any combination.
    Plugin(PluginName),
    /// One combination.
    Combination(Box<Candidate>),
    /// So many combinations.
    Combinations(usize),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin(plugin) => write!(f, "{plugin}"),
            Self::Combination(candidate) => write!(f, "{candidate}"),
            Self::Combinations(count) => write!(f, "{count} combinations"),
        }
    }
}

impl Skipped {
    pub(crate) fn plugin(plugin: PluginName, reason: impl Into<String>) -> Self {
        Self { subject: Subject::Plugin(plugin), reason: reason.into(), for_lack_of_time: false }
    }

    pub(crate) fn combination(candidate: Candidate, reason: String) -> Self {
        Self { subject: Subject::Combination(Box::new(candidate)), reason, for_lack_of_time: false }
    }

    pub(crate) fn for_lack_of_time(subject: Subject, budget: Duration) -> Self {
        let reason = format!("the budget of {} s is used up", budget.as_secs_f64());
        Self { subject, reason, for_lack_of_time: true }
    }
}
