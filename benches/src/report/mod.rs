//! What was measured, and how it is shown.

pub mod plot;
pub mod table;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::race::geomean;
use crate::workload::Role;

/// The groups, in the order in which they are shown.
pub const GROUPS: [&str; 6] = ["compress", "decompress", "items", "filter", "access", "stream"];

/// One of our measurements against one peer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// One of [`GROUPS`].
    pub group: &'static str,
    /// The data, and what else tells this row from its neighbours.
    pub workload: String,
    /// What the data may be used for.
    pub role: Role,
    /// Codec, or `-`.
    pub codec: &'static str,
    /// Filter, or `-`.
    pub filter: &'static str,
    /// Compression level; 0 where there is none.
    pub level: u8,
    /// Threads of both sides.
    pub threads: usize,
    /// Our speed: 10⁶ decoded bytes per second, median over the rounds.
    pub ours_mbps: f64,
    /// The peer; see [`crate::peer::name`].
    pub peer: &'static str,
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
        let key = |r: &Self| (r.group, r.codec, r.filter, r.level, r.threads);
        key(self) == key(other) && self.workload == other.workload
    }
}

/// Everything that was measured. Its JSON form is the output of the program.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// One row per measurement and peer.
    pub rows: Vec<Row>,
    /// Geometric mean of the speed ratios: group, then peer.
    pub geomeans: BTreeMap<&'static str, BTreeMap<&'static str, f64>>,
}

impl Report {
    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Computes the geometric means of all rows.
    pub fn finish(&mut self) {
        let mut ratios: BTreeMap<_, BTreeMap<_, Vec<f64>>> = BTreeMap::new();
        for row in &self.rows {
            ratios.entry(row.group).or_default().entry(row.peer).or_default().push(row.speed_ratio);
        }
        let means = |peers: BTreeMap<_, Vec<f64>>| peers.into_iter().map(|(peer, r)| (peer, geomean(&r))).collect();
        self.geomeans = ratios.into_iter().map(|(group, peers)| (group, means(peers))).collect();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(group: &'static str, peer: &'static str, speed_ratio: f64) -> Row {
        Row {
            group,
            workload: "data".into(),
            role: Role::Tuned,
            codec: "lz4",
            filter: "shuffle",
            level: 5,
            threads: 1,
            ours_mbps: 1000.0 * speed_ratio,
            peer,
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
