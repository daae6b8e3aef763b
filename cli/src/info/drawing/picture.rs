//! A drawing as a picture.

use super::mark::Mark;
use super::{Panel, Subject, panels};
use crate::svg;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 20.0;
/// Cells of a row: two points each at most of the page's width.
const CELLS: usize = 400;
const ROW: f64 = 16.0;
const LINE: f64 = 19.0;
/// The largest width of a cell.
const MOST_CELL: f64 = 16.0;
/// Characters of a line of text that fit.
const CHARACTERS: usize = 130;

/// The drawing with `lines` of text above it, as SVG.
pub(in crate::info) fn svg(subject: &Subject, lines: &[String], ratio_map: bool) -> String {
    let mut body = String::new();
    let mut down = MARGIN;
    let write = |body: &mut String, down: &mut f64, line: &str| {
        *down += LINE;
        svg::text(body, MARGIN, *down - 5.0, &shortened(line));
    };
    for line in lines {
        write(&mut body, &mut down, line);
    }
    for panel in panels(subject, CELLS, ratio_map) {
        down += LINE / 2.0;
        write(&mut body, &mut down, &panel.title);
        rows(&panel, &mut body, &mut down);
        legend(&panel, &mut body, &mut down);
        for line in &panel.lines {
            write(&mut body, &mut down, line);
        }
    }
    svg::begin(WIDTH, down + MARGIN) + &body + svg::END
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.to_owned(),
    }
}

fn rows(panel: &Panel, out: &mut String, down: &mut f64) {
    let most = panel.rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or_default().max(1);
    let label = if panel.rows.iter().any(|(label, cells)| !label.is_empty() && !cells.is_empty()) { 30.0 } else { 0.0 };
    let cell = ((WIDTH - 2.0 * MARGIN - label) / most as f64).min(MOST_CELL);
    for (text, cells) in &panel.rows {
        if !text.is_empty() {
            svg::text(out, MARGIN, *down + ROW - 3.0, text);
        }
        let mut x = MARGIN + label;
        // Neighbours that are alike are one rectangle.
        for run in cells.chunk_by(|a, b| a == b && !matches!(a, Mark::ChunkEdge | Mark::BlockEdge)) {
            let width = cell * run.len() as f64;
            if run[0] != Mark::Empty {
                svg::rect(out, [x, *down, width, ROW - 2.0], run[0].colour(), run[0].name().unwrap_or_default());
            }
            x += width;
        }
        *down += ROW;
    }
}

fn legend(panel: &Panel, out: &mut String, down: &mut f64) {
    let marks = panel.marks();
    if marks.is_empty() {
        return;
    }
    *down += LINE;
    let mut x = MARGIN;
    for mark in marks {
        let name = mark.name().unwrap_or_default();
        // Letters are narrower than eight points on average.
        let width = 24.0 + 8.0 * name.len() as f64;
        if x + width > WIDTH - MARGIN {
            x = MARGIN;
            *down += LINE;
        }
        svg::rect(out, [x, *down - 15.0, 12.0, 12.0], mark.colour(), name);
        svg::text(out, x + 17.0, *down - 5.0, name);
        x += width;
    }
}
