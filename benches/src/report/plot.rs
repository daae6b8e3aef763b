//! One SVG plot per group: a line per kind of work, a dot per data set and peer, at the speed ratio.

use std::collections::BTreeMap;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{GROUPS, Report, Row};
use crate::peer::name;
use crate::race::geomean;
use crate::{Error, Result};

/// Peers that are drawn and their colours. A memory copy is no rival and would stretch the axis.
const PEERS: [(&str, RGBColor); 7] = [
    (name::C, RGBColor(0, 90, 181)),
    (name::PURE, RGBColor(220, 120, 0)),
    (name::IN_MEMORY, RGBColor(0, 130, 80)),
    (name::ONE_THREAD, RGBColor(120, 60, 160)),
    (name::ALONE, RGBColor(0, 130, 80)),
    (name::ZSTD, RGBColor(180, 30, 60)),
    (name::LZ4, RGBColor(140, 110, 20)),
];

const LINE_HEIGHT: u32 = 18;
/// Width of the plot without the labels on its left.
const PLOT_WIDTH: u32 = 720;
/// A letter of the labels is no wider than this on average, whatever font the viewer has.
const LETTER_WIDTH: f64 = 7.3;
/// Title above, and axis, its name and the peers below.
const FRAME_HEIGHT: u32 = 130;

/// Writes `GROUP.svg` into `dir` for every group that has rows.
///
/// # Errors
/// When a file cannot be written.
pub fn write_all(report: &Report, dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| Error::new(format!("{}: {e}", dir.display())))?;
    for group in GROUPS {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.group == group && color(row).is_some()).collect();
        if !rows.is_empty() {
            draw(group, &rows, &dir.join(format!("{group}.svg"))).map_err(Error::new)?;
        }
    }
    Ok(())
}

fn color(row: &Row) -> Option<RGBColor> {
    PEERS.iter().find(|(peer, _)| *peer == row.peer).map(|(_, color)| *color)
}

/// The kind of work: what the rows of one line of the plot have in common.
fn kind(row: &Row) -> String {
    match &*row.group {
        "compress" | "decompress" | "items" => {
            format!("{} {}, {}, {}", row.codec, row.level, row.filter, threads(row.threads))
        }
        "filter" => format!("{}, {}", row.filter, row.workload),
        _ => format!("{}, {}", row.workload, threads(row.threads)),
    }
}

fn threads(count: usize) -> String {
    if count == 1 { "1 thread".into() } else { format!("{count} threads") }
}

fn draw(group: &str, rows: &[&Row], path: &Path) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut kinds: Vec<String> = Vec::new();
    let mut means: BTreeMap<(usize, &str), Vec<f64>> = BTreeMap::new();
    let mut dots = Vec::new();
    for row in rows {
        let kind = kind(row);
        let line = kinds.iter().position(|k| *k == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        means.entry((line, &*row.peer)).or_default().push(row.speed_ratio);
        dots.push((line, row.speed_ratio, color(row).unwrap_or(BLACK)));
    }
    // A little room at both ends, and always the line of equal speed.
    let low = dots.iter().map(|d| d.1).fold(0.9, f64::min) / 1.1;
    let high = dots.iter().map(|d| d.1).fold(1.1, f64::max) * 1.1;

    let longest = kinds.iter().map(|kind| kind.chars().count()).max().unwrap_or(0);
    let label_width = (longest as f64 * LETTER_WIDTH) as u32 + 20;
    let height = kinds.len() as u32 * LINE_HEIGHT + FRAME_HEIGHT;
    let root = SVGBackend::new(path, (label_width + PLOT_WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("{group}: how many times faster than the peer (dot: one data set, bar: geometric mean)");
    // The y axis runs downwards, so that the plot is read like the table.
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .margin_bottom(36)
        .x_label_area_size(36)
        .y_label_area_size(label_width)
        .build_cartesian_2d((low..high).log_scale(), (kinds.len() as f64 - 0.5)..-0.5)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .y_labels(0)
        .x_label_formatter(&|x| format!("{x:.2}"))
        .x_desc("speed ratio")
        .draw()?;
    chart.draw_series(std::iter::once(PathElement::new(vec![(1.0, -0.5), (1.0, kinds.len() as f64 - 0.5)], BLACK)))?;

    let right = Pos::new(HPos::Right, VPos::Center);
    let label = ("sans-serif", 12).into_font().color(&BLACK).pos(right);
    for (line, kind) in kinds.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(low, line as f64));
        root.draw(&Text::new(kind.clone(), (x - 8, y), label.clone()))?;
    }
    chart
        .draw_series(dots.iter().map(|&(line, x, color)| Circle::new((x, line as f64), 3, color.mix(0.45).filled())))?;
    for ((line, peer), ratios) in &means {
        let color = PEERS.iter().find(|(name, _)| name == peer).map_or(BLACK, |p| p.1);
        let (x, y) = (geomean(ratios), *line as f64);
        chart
            .draw_series(std::iter::once(PathElement::new(vec![(x, y - 0.4), (x, y + 0.4)], color.stroke_width(3))))?;
    }
    for (i, (peer, color)) in PEERS.iter().filter(|(peer, _)| rows.iter().any(|r| r.peer == *peer)).enumerate() {
        let (x, y) = (label_width as i32 + 20 + i as i32 * 180, height as i32 - 18);
        root.draw(&Circle::new((x, y), 5, color.filled()))?;
        root.draw(&Text::new(*peer, (x + 10, y - 7), ("sans-serif", 13)))?;
    }
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn a_plot_per_group_with_rivals() {
        let mut report = Report::default();
        report.push(row("compress", name::C, 1.25));
        report.push(row("compress", name::PURE, 2.5));
        report.push(row("filter", name::COPY, 0.5));
        let dir = tempfile::tempdir().unwrap();
        write_all(&report, dir.path()).unwrap();
        let svg = std::fs::read_to_string(dir.path().join("compress.svg")).unwrap();
        assert!(svg.contains("lz4 5, shuffle, 1 thread") && svg.contains(name::PURE));
        assert!(!dir.path().join("filter.svg").exists());
    }
}
