//! Tables for the pages of the project, from the JSON of one run.

use std::fmt::Write;
use std::path::Path;

use super::summary::LARGER;
use super::{Report, Row, levels, plot};
use crate::peer::name;
use crate::workload::Role;
use crate::{Error, Result};

/// Between these lines of a page is what this program writes.
const BEGIN: &str = "<!-- oxiblosc-bench: begin -->";
const END: &str = "<!-- oxiblosc-bench: end -->";

/// Rows below this speed ratio are behind by more than what two runs differ by.
const BEHIND: f64 = 0.97;

/// Reads the report in the file `json` and writes its tables between the markers of `pages`, its plots
/// of every group into `svg`, and those of codecs and levels into `plots`.
///
/// # Errors
/// When a file cannot be read or written, is no report, or has no markers.
pub fn write(json: &Path, pages: &[impl AsRef<Path>], svg: Option<&Path>, plots: Option<&Path>) -> Result<()> {
    let in_file = |path: &Path, e: &dyn std::fmt::Display| Error::new(format!("{}: {e}", path.display()));
    let text = std::fs::read_to_string(json).map_err(|e| in_file(json, &e))?;
    let mut report: Report = serde_json::from_str(&text).map_err(|e| in_file(json, &e))?;
    report.finish();
    let tables = tables(&report);
    for page in pages.iter().map(AsRef::as_ref) {
        let text = std::fs::read_to_string(page).map_err(|e| in_file(page, &e))?;
        let new = replaced(&text, &tables).ok_or_else(|| in_file(page, &format!("no {BEGIN} and {END}")))?;
        std::fs::write(page, new).map_err(|e| in_file(page, &e))?;
    }
    svg.map_or(Ok(()), |dir| plot::write_all(&report, dir))?;
    plots.map_or(Ok(()), |dir| levels::write_all(&report, dir))
}

fn replaced(page: &str, tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{tables}{END}{after}"))
}

/// Where and how, figures by group and role, and all rows that are behind or larger.
pub fn tables(report: &Report) -> String {
    let mut out = format!("```text\n{}```\n\n", report.run);
    out.push_str("Speed ratios to C-Blosc2: geometric mean (lowest decile; rows under 1 of all rows; rows whose size is more than 0.5 % larger).\n\n| group |");
    Role::ALL.iter().for_each(|role| out.push_str(&format!(" {} |", role.name())));
    out.push_str("\n|---|---|---|---|\n");
    let mut groups: Vec<&str> = Vec::new();
    for summary in &report.summaries {
        if !groups.contains(&&*summary.group) {
            groups.push(&summary.group);
        }
    }
    for group in groups {
        let _ = write!(out, "| {group} |");
        for role in Role::ALL {
            let found = report.summaries.iter().find(|s| s.group == group && s.role == role && s.codec == "all");
            match found {
                Some(s) => {
                    let _ = write!(
                        out,
                        " {:.2} ({:.2}; {} of {}; {}) |",
                        s.geomean, s.lowest_decile, s.under_one, s.rows, s.larger
                    );
                }
                None => out.push_str(" |"),
            }
        }
        out.push('\n');
    }
    out.push_str(&levels::table(report));
    for (title, of) in [("threads", name::ONE_THREAD), ("limits", name::ALONE), ("limits", name::COPY)] {
        rows(
            &mut out,
            &format!("{title}, beside {of}"),
            report.rows.iter().filter(|r| r.group == title && r.peer == of),
        );
    }
    let beside_c = || report.rows.iter().filter(|row| row.peer == name::C);
    let mut behind: Vec<&Row> = beside_c().filter(|row| row.speed_ratio < BEHIND).collect();
    behind.sort_by(|a, b| a.speed_ratio.total_cmp(&b.speed_ratio));
    rows(&mut out, &format!("all rows below {BEHIND} of C-Blosc2's speed"), behind.into_iter());
    let mut larger: Vec<&Row> = beside_c().filter(|row| row.size_ratio > LARGER).collect();
    larger.sort_by(|a, b| b.size_ratio.total_cmp(&a.size_ratio));
    rows(&mut out, "all rows more than 0.5 % larger than C-Blosc2's", larger.into_iter());
    out
}

fn rows<'a>(out: &mut String, title: &str, rows: impl Iterator<Item = &'a Row>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ = writeln!(
        out,
        "\n{title}:\n\n| group | work | codec | filter | level | threads | ns per byte | peer's | speed | size |\n|---|---|---|---|---|---|---|---|---|---|"
    );
    for row in rows {
        let Row { group, workload, codec, filter, level, threads, speed_ratio, size_ratio, .. } = row;
        let (ours, theirs) = (1e3 / row.ours_mbps, 1e3 / row.peer_mbps);
        let _ = writeln!(
            out,
            "| {group} | {workload} | {codec} | {filter} | {level} | {threads} | {ours:.3} | {theirs:.3} | {speed_ratio:.2} | {size_ratio:.3} |"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn what_stands_between_the_markers_is_replaced() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replaced(&page, "new\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\nnew\n{END}\nafter\n"));
        assert_eq!(replaced(&new, "new\n").unwrap(), new);
        assert!(replaced("no markers", "new").is_none());
    }

    #[test]
    fn a_report_goes_from_json_into_a_page() {
        let directory = tempfile::tempdir().unwrap();
        let [json, page] = ["report.json", "page.md"].map(|name| directory.path().join(name));
        let mut report = Report::default();
        report.push(row("compress", name::C, 0.9));
        std::fs::write(&json, serde_json::to_string(&report).unwrap()).unwrap();
        std::fs::write(&page, format!("{BEGIN}\n{END}\n")).unwrap();
        write(&json, &[&page], Some(directory.path()), None).unwrap();
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains("| compress | 0.90 (0.90; 1 of 1; 0) |"), "{text}");
        assert!(text.contains("all rows below 0.97"), "{text}");
        assert!(directory.path().join("compress.svg").exists());
    }
}
