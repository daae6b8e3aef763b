//! Figures over many rows: by group, role and codec.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{GROUPS, Report, Row};
use crate::peer::name;
use crate::race::geomean;
use crate::workload::Role;

/// A size beyond this, relative to C-Blosc2's, is larger.
pub const LARGER: f64 = 1.005;

/// What the rows of a group, a role and a codec have in common, against C-Blosc2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The group.
    pub group: String,
    /// The role of the data.
    pub role: Role,
    /// The codec, or `all` of them.
    pub codec: String,
    /// How many rows there are.
    pub rows: usize,
    /// Geometric mean of the speed ratios.
    pub geomean: f64,
    /// A tenth of the rows are at this speed ratio or under it.
    pub lowest_decile: f64,
    /// Rows with a speed ratio under 1.
    pub under_one: usize,
    /// Rows that are more than half a percent larger.
    pub larger: usize,
}

/// All summaries of the report, in the order of the groups.
pub fn summaries(report: &Report) -> Vec<Summary> {
    let mut found = Vec::new();
    for group in GROUPS {
        for role in Role::ALL {
            let rows: Vec<&Row> = report
                .rows
                .iter()
                .filter(|row| row.group == group && row.role == role && row.peer == name::C)
                .collect();
            if rows.is_empty() {
                continue;
            }
            found.push(summary(group, role, "all", &rows));
            let codecs: BTreeSet<&str> = rows.iter().map(|row| &*row.codec).collect();
            if codecs.len() > 1 {
                for codec in codecs {
                    let some: Vec<&Row> = rows.iter().copied().filter(|row| row.codec == codec).collect();
                    found.push(summary(group, role, codec, &some));
                }
            }
        }
    }
    found
}

fn summary(group: &str, role: Role, codec: &str, rows: &[&Row]) -> Summary {
    let mut ratios: Vec<f64> = rows.iter().map(|row| row.speed_ratio).collect();
    ratios.sort_by(f64::total_cmp);
    Summary {
        group: group.into(),
        role,
        codec: codec.into(),
        rows: rows.len(),
        geomean: geomean(&ratios),
        lowest_decile: ratios[(ratios.len() - 1) / 10],
        under_one: ratios.iter().filter(|&&ratio| ratio < 1.0).count(),
        larger: rows.iter().filter(|row| row.size_ratio > LARGER).count(),
    }
}

/// Geometric means of all rows: group, then peer.
pub fn geomeans(report: &Report) -> BTreeMap<String, BTreeMap<String, f64>> {
    let mut ratios: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for row in &report.rows {
        let of_group = ratios.entry(row.group.to_string()).or_default();
        of_group.entry(row.peer.to_string()).or_default().push(row.speed_ratio);
    }
    let means = |peers: BTreeMap<_, Vec<f64>>| peers.into_iter().map(|(peer, r)| (peer, geomean(&r))).collect();
    ratios.into_iter().map(|(group, peers)| (group, means(peers))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn roles_and_codecs_are_counted_apart() {
        let mut report = Report::default();
        for i in 1..=20 {
            report.push(Row { role: Role::Held, ..row("compress", name::C, f64::from(i) / 10.0) });
        }
        report.push(Row { size_ratio: 1.02, codec: "zstd".into(), ..row("compress", name::C, 4.0) });
        report.push(row("compress", name::C, 1.0));
        let found = summaries(&report);
        let held = found.iter().find(|s| s.role == Role::Held).unwrap();
        assert_eq!((held.rows, held.under_one, held.larger), (20, 9, 0));
        assert_eq!(held.lowest_decile, 0.2);
        let tuned = found.iter().find(|s| s.role == Role::Tuned && s.codec == "all").unwrap();
        assert_eq!((tuned.rows, tuned.larger), (2, 1));
        assert!((tuned.geomean - 2.0).abs() < 1e-12);
        assert_eq!(found.len(), 4);
    }
}
