//! What was measured, and how it is shown.

pub mod levels;
pub mod machine;
pub mod page;
pub mod plot;
pub mod summary;
pub mod table;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::workload::Role;
pub use machine::Run;
pub use summary::Summary;

/// The groups, in the order in which they are shown.
pub const GROUPS: [&str; 10] =
    ["compress", "decompress", "items", "filter", "access", "changes", "stream", "threads", "limits", "commands"];

/// One of our measurements against one peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// One of [`GROUPS`].
    pub group: Cow<'static, str>,
    /// The data, and what else tells this row from its neighbours.
    pub workload: String,
    /// What the data may be used for.
    pub role: Role,
    /// Codec, or `-`.
    pub codec: Cow<'static, str>,
    /// Filter, or `-`.
    pub filter: Cow<'static, str>,
    /// Compression level; 0 where there is none.
    pub level: u8,
    /// Threads of both sides.
    pub threads: usize,
    /// Our speed: 10⁶ decoded bytes per second, median over the rounds.
    pub ours_mbps: f64,
    /// The peer; see [`crate::peer::name`].
    pub peer: Cow<'static, str>,
    /// The speed of the peer.
    pub peer_mbps: f64,
    /// How many times as fast as the peer we are: the median over neighbouring turns.
    pub speed_ratio: f64,
    /// Our size divided by the peer's: below 1 is smaller. Against a memory copy it is the size divided by that of the
    /// data, and it is 1 where nothing is compressed.
    pub size_ratio: f64,
}

impl Row {
    /// Whether `other` is the same measurement against another peer.
    pub fn same_subject(&self, other: &Self) -> bool {
        fn key(r: &Row) -> (&str, &str, &str, &str, u8, usize) {
            (&r.group, &r.workload, &r.codec, &r.filter, r.level, r.threads)
        }
        key(self) == key(other)
    }
}

/// Everything that was measured. Its JSON form is the output of the program.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Report {
    /// Where and how.
    #[serde(default)]
    pub run: Run,
    /// One row per measurement and peer.
    pub rows: Vec<Row>,
    /// Geometric mean of the speed ratios: group, then peer.
    pub geomeans: BTreeMap<String, BTreeMap<String, f64>>,
    /// Figures against C-Blosc2 by group, role and codec.
    #[serde(default)]
    pub summaries: Vec<Summary>,
}

impl Report {
    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Computes the figures over all rows.
    pub fn finish(&mut self) {
        self.geomeans = summary::geomeans(self);
        self.summaries = summary::summaries(self);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(group: &'static str, peer: &'static str, speed_ratio: f64) -> Row {
        Row {
            group: group.into(),
            workload: "data".into(),
            role: Role::Tuned,
            codec: "lz4".into(),
            filter: "shuffle".into(),
            level: 5,
            threads: 1,
            ours_mbps: 1000.0 * speed_ratio,
            peer: peer.into(),
            peer_mbps: 1000.0,
            speed_ratio,
            size_ratio: 1.0,
        }
    }

    #[test]
    fn the_json_has_the_documented_keys() {
        let mut report = Report::default();
        report.push(row("compress", "c-blosc2", 4.0));
        report.push(row("compress", "c-blosc2", 1.0));
        report.push(row("compress", "memcpy", 0.5));
        report.finish();
        let json = serde_json::to_value(&report).unwrap();
        let keys: Vec<_> = json["rows"][0].as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = [
            "group",
            "workload",
            "role",
            "codec",
            "filter",
            "level",
            "threads",
            "ours_mbps",
            "peer",
            "peer_mbps",
            "speed_ratio",
            "size_ratio",
        ];
        expected.sort_unstable();
        let mut keys = keys;
        keys.sort_unstable();
        assert_eq!(keys, expected);
        assert!((json["geomeans"]["compress"]["c-blosc2"].as_f64().unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(json["geomeans"]["compress"]["memcpy"], 0.5);
    }
}
