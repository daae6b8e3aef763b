//! The report as text.

use std::fmt::Write;

use super::summary::LARGER;
use super::{GROUPS, Report, Row};
use crate::peer::name;

/// One line per measurement with all its peers, a block per group, then the geometric means and the rows in which a
/// peer is ahead by most.
pub fn render(report: &Report) -> String {
    let mut out = format!("{}\n", report.run);
    for group in GROUPS {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.group == group).collect();
        if !rows.is_empty() {
            block(&mut out, group, &rows);
        }
    }
    out.push_str("geometric means of the speed ratios\n");
    for (group, peers) in &report.geomeans {
        let cells: Vec<_> = peers.iter().map(|(peer, mean)| format!("{peer} {mean:.2}")).collect();
        let _ = writeln!(out, "  {group:<12}{}", cells.join("   "));
    }
    out.push_str("\nagainst C-Blosc2, by the role of the data\n");
    let _ = writeln!(
        out,
        "  {:<12}{:<11}{:<10}{:>6}{:>10}{:>15}{:>10}{:>15}",
        "group", "role", "codec", "rows", "geomean", "lowest decile", "under 1", "0.5 % larger"
    );
    for s in &report.summaries {
        let _ = writeln!(
            out,
            "  {:<12}{:<11}{:<10}{:>6}{:>10.2}{:>15.2}{:>10}{:>15}",
            s.group,
            s.role.name(),
            s.codec,
            s.rows,
            s.geomean,
            s.lowest_decile,
            s.under_one,
            s.larger
        );
    }
    for peer in [name::C, name::PURE] {
        let mut rows: Vec<&Row> = report.rows.iter().filter(|row| row.peer == peer).collect();
        rows.sort_by(|a, b| a.speed_ratio.total_cmp(&b.speed_ratio));
        let _ = writeln!(out, "\nslowest against {peer}");
        for row in rows.iter().take(10) {
            let _ = writeln!(out, "  {:<11}{}  {:.2}", row.group, subject(row), row.speed_ratio);
        }
    }
    let larger: Vec<&Row> = report.rows.iter().filter(|row| row.peer == name::C && row.size_ratio > LARGER).collect();
    if !larger.is_empty() {
        out.push_str("\nlarger than what C-Blosc2 makes of it: the speed of these rows does not count\n");
    }
    for row in larger {
        let _ = writeln!(out, "  {:<11}{}  {:.3}", row.group, subject(row), row.size_ratio);
    }
    out
}

fn block(out: &mut String, group: &str, rows: &[&Row]) {
    // A peer's column holds its speed, then how many times faster we are; sizes are compared with C-Blosc2's.
    let peers: Vec<&str> = name::PEERS.into_iter().filter(|peer| rows.iter().any(|row| row.peer == *peer)).collect();
    let _ = write!(out, "{group}\n  {:<92}{:>9}", "", "ours");
    peers.iter().for_each(|peer| out.push_str(&format!("{peer:>18}")));
    let _ = writeln!(out, "{:>8}", "size");

    for subjects in rows.chunk_by(|a, b| a.same_subject(b)) {
        let first = subjects[0];
        let _ = write!(out, "  {:<92}{:>9}", subject(first), speed(first.ours_mbps));
        for peer in &peers {
            match subjects.iter().find(|row| row.peer == *peer) {
                Some(row) => out.push_str(&format!("{:>11}{:>7.2}", speed(row.peer_mbps), row.speed_ratio)),
                None => out.push_str(&format!("{:>18}", "-")),
            }
        }
        let c = subjects.iter().find(|row| row.peer == name::C);
        let _ = writeln!(out, "{:>8}", c.map_or_else(|| "-".into(), |row| format!("{:.3}", row.size_ratio)));
    }
    out.push('\n');
}

/// Megabytes per second, with decimals where there are few of them.
fn speed(mbps: f64) -> String {
    let decimals = if mbps < 1.0 { 3 } else { usize::from(mbps < 100.0) };
    format!("{mbps:.decimals$}")
}

fn subject(row: &Row) -> String {
    let Row { workload, codec, filter, level, threads, .. } = row;
    format!("{workload:<54}{codec:<9}{filter:<13}level {level}  threads {threads}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn peers_of_one_measurement_share_a_line() {
        let mut report = Report::default();
        report.push(row("compress", name::C, 1.25));
        report.push(row("compress", name::COPY, 0.5));
        report.finish();
        let text = render(&report);
        let line = text.lines().find(|line| line.contains("lz4")).unwrap();
        assert!(line.contains("1.25") && line.contains("0.50"), "{line}");
        assert!(text.contains("compress    c-blosc2 1.25   memcpy 0.50"), "{text}");
    }
}
