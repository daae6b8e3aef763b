//! A chunk alone: where its blocks lie and how well each compresses.

use std::ops::Range;

use oxiblosc::chunk::{BlockMap, ChunkError, ChunkHeader, MapProgress};

use super::mark::{ChunkClass, Mark};
use super::{Panel, bar, line};
use crate::units::{ratio, show_bytes};

/// Rows of cells for blocks in order.
const MOST_ROWS: usize = 8;
/// Blocks that are named because they compress worst.
const WORST: usize = 8;

/// What a drawing shows of a chunk.
pub(in crate::info) struct ChunkSurvey {
    class: ChunkClass,
    /// Bytes of the chunk.
    cbytes: u64,
    /// Where things are, sorted, without gaps.
    parts: Vec<(Mark, Range<u64>)>,
    /// Decoded and encoded bytes of each block; none for chunks without blocks.
    blocks: Vec<(u64, u64)>,
}

impl ChunkSurvey {
    /// Looks at the first bytes of each block; nothing is decoded.
    ///
    /// # Errors
    /// When the chunk ends early, or says of its blocks what cannot be.
    pub(in crate::info) fn of(chunk: &[u8]) -> Result<Self, ChunkError> {
        let header = ChunkHeader::parse(chunk)?;
        let (class, cbytes) = (ChunkClass::of(&header), header.cbytes as u64);
        let header_end = header.header_len() as u64;
        let mut survey = Self { class, cbytes, parts: vec![(Mark::Header, 0..header_end)], blocks: Vec::new() };
        if !matches!(class, ChunkClass::Blocks | ChunkClass::VariableBlocks) {
            survey.add(Mark::Chunk(class), header_end..cbytes);
            return Ok(survey);
        }
        let map = match BlockMap::parse(chunk)? {
            MapProgress::Ready(map) => map,
            MapProgress::NeedPrefix(expected) => {
                let found = chunk.len();
                return Err(ChunkError::Truncated { what: "chunk", offset: 0, expected, found });
            }
        };
        let mut spans = Vec::new();
        for block in 0..map.block_count() {
            let span = map.span(block);
            let nbytes = map.decoded_len(block, chunk.get(span.clone()).unwrap_or_default())? as u64;
            let span = span.start as u64..span.end as u64;
            let len = span.end - span.start;
            survey.blocks.push((nbytes, len));
            spans.push((Mark::ratio(nbytes, Some(len)), span));
        }
        spans.sort_by_key(|(_, span)| span.start);
        // Each block has an offset of four bytes.
        let starts_end = (header_end + 4 * survey.blocks.len() as u64).min(cbytes);
        survey.add(Mark::BlockStarts, header_end..starts_end);
        let mut end = starts_end;
        for (mark, span) in spans {
            let between = if end == starts_end && header.has_dict() { Mark::Dictionary } else { Mark::Hole };
            survey.add(between, end..span.start);
            survey.add(mark, span.start.max(end)..span.end);
            end = end.max(span.end);
        }
        survey.add(Mark::Hole, end..cbytes);
        Ok(survey)
    }

    fn add(&mut self, mark: Mark, range: Range<u64>) {
        if range.start < range.end {
            self.parts.push((mark, range));
        }
    }

    pub(super) fn panels(&self, width: usize, ratio_map: bool) -> Vec<Panel> {
        let mut panels = vec![self.layout(width)];
        if !self.blocks.is_empty() {
            panels.push(self.in_order(width, ratio_map));
        }
        panels
    }

    /// The chunk from its first byte to its last, to scale.
    fn layout(&self, width: usize) -> Panel {
        let mut panel = Panel::titled(format!("chunk of {}, to scale", show_bytes(self.cbytes)));
        panel.rows.push((String::new(), bar(&self.parts, width)));
        let mut rows = Vec::new();
        for (mark, range) in &self.parts {
            if let Mark::Header | Mark::BlockStarts | Mark::Dictionary | Mark::Chunk(_) = mark {
                rows.push((mark.name().unwrap_or_default(), range.end - range.start, format!("at {}", range.start)));
            }
        }
        let is_whole = self.parts.len() == 1;
        if self.blocks.is_empty() && is_whole {
            // A special value that takes no room.
            rows.push((self.class.name(), 0, String::new()));
        }
        if !self.blocks.is_empty() {
            let (count, name) = (self.blocks.len(), self.class.name());
            let len = self.blocks.iter().map(|(_, len)| len).sum();
            rows.push((name, len, format!("{count} {}", if count == 1 { "block" } else { "blocks" })));
        }
        let holes =
            || self.parts.iter().filter(|(mark, _)| *mark == Mark::Hole).map(|(_, range)| range.end - range.start);
        if holes().count() > 0 {
            rows.push(("holes", holes().sum(), holes().count().to_string()));
        }
        let widest = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
        panel.lines = rows.into_iter().map(|(name, len, rest)| line(widest, name, &show_bytes(len), &rest)).collect();
        panel
    }

    /// The ratios of the blocks in order, and with `ratio_map` the worst of them.
    fn in_order(&self, width: usize, ratio_map: bool) -> Panel {
        let per_cell = self.blocks.len().div_ceil(width * MOST_ROWS).max(1);
        let what = if per_cell == 1 { "one".into() } else { per_cell.to_string() };
        let mut panel = Panel::titled(format!("ratios of {} blocks in order, {what} to a cell", self.blocks.len()));
        let cell = |blocks: &[(u64, u64)]| {
            let sum = |of: fn(&(u64, u64)) -> u64| blocks.iter().map(of).sum();
            Mark::ratio(sum(|block| block.0), Some(sum(|block| block.1)))
        };
        let cells: Vec<Mark> = self.blocks.chunks(per_cell).map(cell).collect();
        panel.rows = cells.chunks(width).map(|row| (String::new(), row.to_vec())).collect();
        if ratio_map {
            let known = |(i, block): (usize, &(u64, u64))| Some((i, *block, ratio(block.0, block.1)?));
            let mut worst: Vec<_> = self.blocks.iter().enumerate().filter_map(known).collect();
            worst.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)));
            let line = |(block, (nbytes, len), ratio): &(usize, (u64, u64), f64)| {
                format!("block {block}: {ratio:.2}x, {} to {}", show_bytes(*nbytes), show_bytes(*len))
            };
            panel.lines = worst.iter().take(WORST).map(line).collect();
        }
        panel
    }
}
