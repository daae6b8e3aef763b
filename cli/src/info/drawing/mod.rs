//! A drawing of a frame, for a terminal or as a picture: panels of cells with what each stands for, and lines of text.

mod array;
mod chunk;
mod mark;
mod picture;
mod survey;
mod text;

use std::ops::Range;

use crate::units::{ratio, show_bytes};

pub(super) use chunk::ChunkSurvey;
use mark::{ChunkClass, Mark};
pub(super) use picture::svg;
use survey::Fact;
pub(super) use survey::Survey;
pub(super) use text::{Style, text};

/// The narrowest drawing; below it nothing can be told.
pub(super) const MIN_WIDTH: usize = 20;
/// The widest drawing.
pub(super) const MAX_WIDTH: usize = 400;
/// Rows of cells for chunks in order.
const MOST_ROWS: usize = 8;
/// Rows of cells in a map of ratios.
const MOST_MAP_ROWS: usize = 24;
/// Chunks that are named because they compress worst.
const WORST: usize = 8;

/// A part of a drawing.
#[derive(Debug, Default)]
struct Panel {
    title: String,
    /// Text in front of each row, and its cells.
    rows: Vec<(String, Vec<Mark>)>,
    lines: Vec<String>,
}

impl Panel {
    fn titled(title: String) -> Self {
        Self { title, ..Self::default() }
    }

    /// The marks of all rows, each once, in the order of a legend.
    fn marks(&self) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::new();
        for mark in self.rows.iter().flat_map(|(_, cells)| cells) {
            if mark.name().is_some() && !marks.contains(mark) {
                marks.push(*mark);
            }
        }
        marks.sort_by_key(|mark| mark.rank());
        marks
    }
}

/// What is drawn.
pub(super) enum Subject {
    Frame(Box<Survey>),
    Chunk(ChunkSurvey),
}

/// The drawing on rows of `width` cells.
fn panels(subject: &Subject, width: usize, ratio_map: bool) -> Vec<Panel> {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    match subject {
        Subject::Frame(survey) => frame_panels(survey, width, ratio_map),
        Subject::Chunk(survey) => survey.panels(width, ratio_map),
    }
}

fn frame_panels(survey: &Survey, width: usize, ratio_map: bool) -> Vec<Panel> {
    let mut panels = vec![layout(survey, width)];
    if !survey.facts.is_empty() {
        panels.push(in_order(survey, width));
    }
    if let Some(tiling) = &survey.tiling {
        panels.push(array::axes(tiling, width));
        panels.extend(array::chunk_grid(survey, tiling, width, |fact| Mark::Chunk(fact.class)).map(|mut panel| {
            panel.title = format!("chunks in the array{}", panel.title);
            panel
        }));
    }
    if ratio_map && !survey.facts.is_empty() {
        panels.push(ratios(survey, width));
    }
    panels
}

/// The frame from its first byte to its last, to scale.
fn layout(survey: &Survey, width: usize) -> Panel {
    let mut panel = if survey.is_sparse {
        let cbytes = survey.totals.iter().fold(0_u64, |sum, total| sum.saturating_add(total.cbytes));
        Panel::titled(format!(
            "sparse frame: {} of chunk files beside an index of {}, drawn to scale",
            show_bytes(cbytes),
            show_bytes(survey.frame_len)
        ))
    } else if survey.open_end.is_some() {
        Panel::titled(format!("open-ended frame of {} so far, to scale", show_bytes(survey.frame_len)))
    } else {
        Panel::titled(format!("frame of {}, to scale", show_bytes(survey.frame_len)))
    };
    panel.rows.push((String::new(), bar(&segments(survey), width)));

    let mut rows = Vec::new();
    let mut row = |name, bytes, rest: String| rows.push((name, bytes, rest));
    for wanted in [Mark::Header, Mark::Index, Mark::Trailer, Mark::LeftOver] {
        if let Some((mark, range)) = survey.parts.iter().find(|(mark, _)| *mark == wanted) {
            let len = range.end.saturating_sub(range.start);
            row(mark.name().unwrap_or_default(), show_bytes(len), format!("at {}", range.start));
        }
    }
    for (class, total) in ChunkClass::ALL.iter().zip(&survey.totals).filter(|(_, total)| total.chunks > 0) {
        let chunks = format!("{} {}", total.chunks, if total.chunks == 1 { "chunk" } else { "chunks" });
        match class {
            ChunkClass::Unreadable => row(class.name(), "?".into(), chunks),
            // The index tells where the next one begins.
            ChunkClass::Unseen => row(class.name(), show_bytes(total.cbytes), chunks + ", or less"),
            _ => row(class.name(), show_bytes(total.cbytes), chunks),
        }
    }
    if let Some(holes) = survey.holes.as_ref().filter(|holes| !holes.is_empty()) {
        let len = |hole: &Range<u64>| hole.end - hole.start;
        let most = holes.iter().max_by_key(|hole| len(hole)).map_or(0..0, Range::clone);
        let rest = format!("{}, the largest of {} at {}", holes.len(), show_bytes(len(&most)), most.start);
        row("holes", show_bytes(holes.iter().map(len).sum()), rest);
    }
    let widest = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
    panel.lines = rows.into_iter().map(|(name, bytes, rest)| line(widest, name, &bytes, &rest)).collect();
    if survey.stride > 1 {
        panel.lines.push(format!("one in {} chunks has been looked at, as each takes a request", survey.stride));
    }
    panel
}

/// A line about a part, below those of other parts whose names are no longer than `widest`.
fn line(widest: usize, name: &str, bytes: &str, rest: &str) -> String {
    let widest = widest.max(8);
    format!("{name:<widest$} {bytes:>11}  {rest}").trim_end().to_owned()
}

/// What lies where, from the first byte to the last without gaps. Chunk files of a sparse frame are in the order of
/// chunks, between header and index.
fn segments(survey: &Survey) -> Vec<(Mark, Range<u64>)> {
    let mut segments = Vec::new();
    let mut end = 0;
    let mut push = |mark, len: u64| {
        if len > 0 {
            segments.push((mark, end..end + len));
            end += len;
        }
    };
    let header = survey.parts.iter().find(|(mark, _)| *mark == Mark::Header).map_or(0, |(_, range)| range.end);
    push(Mark::Header, header);
    if survey.is_sparse {
        for fact in &survey.facts {
            push(Mark::Chunk(fact.class), fact.cbytes.unwrap_or_default());
        }
    } else {
        let mut last = header;
        for (extent, class) in &survey.extents {
            push(Mark::Hole, extent.start.saturating_sub(last));
            push(Mark::Chunk(*class), extent.end.saturating_sub(extent.start.max(last)));
            last = last.max(extent.end);
        }
        let chunks_end = survey.parts.get(1).map_or(survey.frame_len, |(_, range)| range.start);
        push(Mark::Hole, chunks_end.saturating_sub(last));
    }
    for (mark, range) in survey.parts.iter().skip(1) {
        push(*mark, range.end.saturating_sub(range.start));
    }
    segments
}

/// Segments to scale: each cell shows what takes most of it. Header, index and trailer have at least a cell.
fn bar(segments: &[(Mark, Range<u64>)], width: usize) -> Vec<Mark> {
    let total = segments.last().map_or(0, |(_, range)| range.end);
    if total == 0 {
        return vec![Mark::Empty; width];
    }
    // In 128 bits nothing overflows.
    let edge = |cell: usize| (cell as u128 * u128::from(total) / width as u128) as u64;
    let mut cells = Vec::with_capacity(width);
    let mut next = 0;
    for cell in 0..width {
        let (start, end) = (edge(cell), edge(cell + 1).max(edge(cell) + 1).min(total));
        while next + 1 < segments.len() && segments[next].1.end <= start {
            next += 1;
        }
        let mut shares: Vec<(Mark, u64)> = Vec::new();
        for (mark, range) in segments[next..].iter().take_while(|(_, range)| range.start < end) {
            let share = range.end.min(end).saturating_sub(range.start.max(start));
            match shares.iter_mut().find(|(other, _)| other == mark) {
                Some((_, sum)) => *sum += share,
                None => shares.push((*mark, share)),
            }
        }
        cells.push(shares.iter().max_by_key(|(_, share)| *share).map_or(Mark::Empty, |(mark, _)| *mark));
    }
    let has = |mark| segments.iter().any(|(other, _)| *other == mark);
    let mut from_end = 1;
    for mark in [Mark::LeftOver, Mark::Trailer, Mark::Index] {
        if has(mark) {
            if !cells.contains(&mark) {
                cells[width - from_end] = mark;
            }
            from_end += cells.iter().filter(|cell| **cell == mark).count();
        }
    }
    if !cells.contains(&Mark::Header) && has(Mark::Header) {
        cells[0] = Mark::Header;
    }
    cells
}

/// The chunks in order, a row of what they are above a row of their ratios.
fn in_order(survey: &Survey, width: usize) -> Panel {
    let (cells, per_cell) = cells_in_order(&survey.facts, width * MOST_ROWS);
    let per_cell = per_cell as u64 * survey.step;
    let what = if per_cell == 1 { "one".into() } else { per_cell.to_string() };
    let mut panel = Panel::titled(format!("{} chunks in order, {what} to a cell, above their ratios", survey.nchunks));
    for row in cells.chunks(width) {
        panel.rows.push((String::new(), row.iter().map(|fact| Mark::Chunk(fact.class)).collect()));
        panel.rows.push((String::new(), row.iter().map(|fact| Mark::ratio(fact.nbytes, fact.cbytes)).collect()));
    }
    panel
}

/// At most `most` facts of as many consecutive chunks each.
fn cells_in_order(facts: &[Fact], most: usize) -> (Vec<Fact>, usize) {
    let per_cell = facts.len().div_ceil(most).max(1);
    (facts.chunks(per_cell).filter_map(|facts| together(facts.iter().copied())).collect(), per_cell)
}

/// Several chunks as one: what most of them are, and their ratio as a whole.
fn together(facts: impl Iterator<Item = Fact> + Clone) -> Option<Fact> {
    let mut counts = [0_u64; ChunkClass::ALL.len()];
    facts.clone().for_each(|fact| counts[fact.class as usize] += 1);
    // What is bad is shown, however few there are.
    let class = match counts[ChunkClass::Unreadable as usize] {
        0 => *ChunkClass::ALL.iter().max_by_key(|class| counts[**class as usize])?,
        _ => ChunkClass::Unreadable,
    };
    // Those whose size is known.
    let known = facts.filter(|fact| fact.cbytes.is_some());
    known
        .reduce(|a, b| Fact {
            class,
            nbytes: a.nbytes.saturating_add(b.nbytes),
            cbytes: a.cbytes.zip(b.cbytes).map(|(a, b)| a.saturating_add(b)),
        })
        .map_or(Some(Fact { class, nbytes: 0, cbytes: None }), |fact| Some(Fact { class, ..fact }))
}

/// Where data compress badly: for an array in its grid.
fn ratios(survey: &Survey, width: usize) -> Panel {
    let of = |fact: Fact| Mark::ratio(fact.nbytes, fact.cbytes);
    let grid = survey.tiling.as_ref().and_then(|tiling| array::chunk_grid(survey, tiling, width, of));
    let mut panel = match grid {
        Some(mut panel) => {
            panel.title = format!("ratios in the array{}", panel.title);
            panel
        }
        None => {
            let (cells, per_cell) = cells_in_order(&survey.facts, width * MOST_MAP_ROWS);
            let per_cell = per_cell as u64 * survey.step;
            let what = if per_cell == 1 { "a cell for each".into() } else { format!("a cell for {per_cell}") };
            let mut panel = Panel::titled(format!("ratios of {} chunks in order, {what}", survey.nchunks));
            panel.rows =
                cells.chunks(width).map(|row| (String::new(), row.iter().map(|fact| of(*fact)).collect())).collect();
            panel
        }
    };
    panel.lines = worst(survey);
    panel
}

/// The chunks that compress worst, in lines.
fn worst(survey: &Survey) -> Vec<String> {
    let known = |(i, fact): (usize, &Fact)| {
        let ratio = fact.cbytes.filter(|_| fact.nbytes > 0).and_then(|cbytes| ratio(fact.nbytes, cbytes))?;
        Some((i as u64 * survey.step, *fact, ratio))
    };
    let mut all: Vec<_> = survey.facts.iter().enumerate().filter_map(known).collect();
    // By number where ratios are the same.
    all.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)));
    let line = |(chunk, fact, ratio): &(u64, Fact, f64)| {
        let name = if survey.step == 1 { format!("chunk {chunk}") } else { format!("chunks from {chunk}") };
        let place = survey.tiling.as_ref().and_then(|tiling| tiling.chunk_window(*chunk).ok());
        let place = place.map_or_else(String::new, |window| format!(" at {:?}", window.origin));
        let (nbytes, cbytes) = (show_bytes(fact.nbytes), show_bytes(fact.cbytes.unwrap_or_default()));
        format!("{name}{place}: {ratio:.2}x, {nbytes} to {cbytes}, {}", fact.class.name())
    };
    all.iter().take(WORST).map(line).collect()
}
