//! How an array is cut, and its chunks in their grid.

use oxiblosc::nd::Tiling;

use super::mark::Mark;
use super::survey::{Fact, Survey};
use super::{Panel, together};

/// Rows of cells in a grid.
const MOST_ROWS: u64 = 24;
/// The first indices along the axes before the last two, of which each takes a grid.
const MOST_PAGES: u64 = 4;

/// A ruler for each axis, with where chunks and blocks begin.
pub(super) fn axes(tiling: &Tiling, width: usize) -> Panel {
    let geometry = tiling.geometry();
    let mut panel = Panel::titled(format!(
        "array of {:?} in chunks of {:?} and blocks of {:?}",
        geometry.shape, geometry.chunk_shape, geometry.block_shape
    ));
    let axes = geometry.shape.iter().zip(&geometry.chunk_shape).zip(&geometry.block_shape);
    let label_len = geometry.shape.len().saturating_sub(1).to_string().len() + 1;
    for (axis, ((&len, &chunk), &block)) in axes.enumerate() {
        let cells = ruler(len, chunk.into(), block.into(), width - label_len);
        panel.rows.push((format!("{axis:<label_len$}"), cells));
    }
    let grid: Vec<u64> = tiling.chunk_grid().collect();
    let blocks: Vec<u64> = tiling.block_grid().collect();
    if !grid.is_empty() {
        panel.lines.push(format!("{} chunks, each of {} blocks", product_of(&grid), product_of(&blocks)));
    }
    panel
}

fn product_of(lens: &[u64]) -> String {
    lens.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}

/// An axis of `len` items to scale: an edge where the first item of a chunk or block is.
fn ruler(len: u64, chunk: u64, block: u64, width: usize) -> Vec<Mark> {
    if len == 0 || chunk == 0 || block == 0 {
        return vec![Mark::Empty; width];
    }
    // The first item that begins in a cell or behind it.
    let edge = |cell: usize| (cell as u128 * u128::from(len)).div_ceil(width as u128) as u64;
    let cell = |cell: usize| {
        let (start, end) = (edge(cell), edge(cell + 1));
        let chunk_at = start.div_ceil(chunk).saturating_mul(chunk);
        // Blocks are counted from the beginning of their chunk.
        let within = start / chunk * chunk;
        let block_at = within.saturating_add((start - within).div_ceil(block).saturating_mul(block));
        match () {
            () if chunk_at < end => Mark::ChunkEdge,
            () if block_at < end => Mark::BlockEdge,
            () => Mark::Axis,
        }
    };
    (0..width).map(cell).collect()
}

/// The chunks of an array of at least two axes where they are, the last axis across and the one before it down; titled
/// with what that says. `None` for other arrays, and for more chunks than are kept one by one.
pub(super) fn chunk_grid(survey: &Survey, tiling: &Tiling, width: usize, mark: impl Fn(Fact) -> Mark) -> Option<Panel> {
    let grid: Vec<u64> = tiling.chunk_grid().collect();
    let (&[rows, columns], pages) = grid.split_last_chunk::<2>().map(|(pages, last)| (last, pages))?;
    if survey.step != 1 || survey.facts.len() as u64 != tiling.chunk_count() || survey.facts.is_empty() {
        return None;
    }
    let (per_row, per_column) = (rows.div_ceil(MOST_ROWS).max(1), columns.div_ceil(width as u64).max(1));
    let ndim = grid.len();
    let mut title = format!(": axis {} down, axis {} across", ndim - 2, ndim - 1);
    if per_row > 1 || per_column > 1 {
        title += &format!(", a cell for {per_row} x {per_column} chunks");
    }
    let mut panel = Panel::titled(title);
    let page_count: u64 = pages.iter().product();
    for page in 0..page_count.min(MOST_PAGES) {
        if page_count > 1 {
            panel.rows.push((format!("chunks [{}, :, :]", place(page, pages)), Vec::new()));
        }
        for row in (0..rows).step_by(per_row as usize) {
            let cell = |column: u64| {
                let chunks = (row..rows.min(row + per_row)).flat_map(move |row| {
                    let first = (page * rows + row) * columns;
                    first + column..first + columns.min(column + per_column)
                });
                // Lossless: positions in `facts`.
                let facts = chunks.filter_map(|chunk| survey.facts.get(chunk as usize).copied());
                together(facts).map_or(Mark::Empty, &mark)
            };
            panel.rows.push((String::new(), (0..columns).step_by(per_column as usize).map(cell).collect()));
        }
    }
    if page_count > MOST_PAGES {
        panel.rows.push((format!("and {} grids more", page_count - MOST_PAGES), Vec::new()));
    }
    Some(panel)
}

/// The indices of a page along the axes before the last two.
fn place(mut page: u64, lens: &[u64]) -> String {
    let mut indices = Vec::new();
    for len in lens.iter().rev() {
        indices.push((page % len.max(&1)).to_string());
        page /= len.max(&1);
    }
    indices.reverse();
    indices.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(len: u64, chunk: u64, block: u64, width: usize) -> String {
        ruler(len, chunk, block, width).into_iter().map(Mark::letter).collect()
    }

    #[test]
    fn rulers() {
        assert_eq!(letters(20, 10, 5, 20), "|----+----|----+----");
        assert_eq!(letters(20, 10, 5, 40), "|---------+---------|---------+---------");
        // Blocks that are no divisor of their chunk begin anew with it.
        assert_eq!(letters(20, 10, 4, 20), "|---+---+-|---+---+-");
        assert_eq!(letters(1, 1, 1, 5), "|----");
        assert_eq!(letters(0, 1, 1, 5), "     ");
        assert_eq!(letters(1000, 10, 5, 20), "|".repeat(20));
        assert_eq!(letters(u64::MAX, 1 << 31, 1 << 20, 20), "|".repeat(20));
    }

    #[test]
    fn places() {
        assert_eq!(place(0, &[3, 4]), "0, 0");
        assert_eq!(place(7, &[3, 4]), "1, 3");
        assert_eq!(place(0, &[]), "");
    }
}
