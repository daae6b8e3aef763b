//! Encodes ndlz streams.
//!
//! Each cell gets the shortest token whose rows are among the literals written so far. Any choice of tokens is valid;
//! C-Blosc2's own may differ.

use super::{LITERAL, MAX_SIDE, RowTokens, SAME, WHOLE, cells, rows};

/// Logarithm of the entries of a table.
const HASH_LOG: u32 = 12;

/// Distances are 16 bits wide.
const MAX_DISTANCE: usize = 65_535;

/// Tokens for cells of side 4, the ones with the fewest literals first.
const TOKENS_4: [u8; 13] = [40, 48, 56, 0xE0, 0xE8, 0xF0, 0xF8, 0x80, 0x88, 0x90, 0x98, 0xB0, 0xB8];

/// Tokens for cells of side 8, the ones with the fewest literals first.
const TOKENS_8: [u8; 13] = [168, 169, 170, 171, 172, 173, 136, 137, 138, 139, 140, 141, 142];

/// The positions of literals in the stream, by their content.
pub(super) struct Encoder {
    /// Positions plus 1 of two rows, three rows, and whole cells.
    tables: [Box<[u32; 1 << HASH_LOG]>; 3],
}

/// Bytes of a cell, gathered row by row.
#[derive(Clone, Copy)]
struct Bytes {
    bytes: [u8; MAX_SIDE * MAX_SIDE],
    len: usize,
}

impl Bytes {
    fn gather<'a>(rows: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut gathered = Self { bytes: [0; _], len: 0 };
        for row in rows {
            gathered.bytes[gathered.len..gathered.len + row.len()].copy_from_slice(row);
            gathered.len += row.len();
        }
        gathered
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The table for pieces of this many rows.
fn table(rows: u32) -> usize {
    rows as usize - 2
}

/// The table of whole cells.
const CELLS: usize = 2;

fn hash(bytes: &[u8]) -> usize {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(bytes.len() as u64, |sum, &word| mix(sum, u64::from_le_bytes(word)));
    let sum = rest.iter().fold(sum, |sum, &byte| mix(sum, byte.into()));
    (mix(sum, 0) >> (64 - HASH_LOG)) as usize
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { tables: [const { [0; 1 << HASH_LOG] }; 3].map(Box::new) }
    }

    /// Compresses the block `src` into `dst`, or returns `None` if the result does not fit.
    pub(super) fn compress(
        &mut self,
        side: usize,
        height: usize,
        width: usize,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        self.tables.iter_mut().for_each(|table| table.fill(0));
        let mut out = CellWriter { dst, at: 0 };
        out.push(&[2])?;
        out.push(&i32::try_from(height).ok()?.to_le_bytes())?;
        out.push(&i32::try_from(width).ok()?.to_le_bytes())?;
        for (start, cell_height, cell_width) in cells(side, height, width) {
            let row = |row: usize| &src[start + row * width..][..cell_width];
            let cell = Bytes::gather((0..cell_height).map(row));
            let cell = cell.as_slice();
            if cell.iter().all(|&byte| byte == cell[0]) {
                out.push(&[SAME, cell[0]])?;
            } else if let Some(distance) = self.find(CELLS, cell, &out) {
                out.push(&[WHOLE])?;
                out.push(&distance)?;
            } else if cell.len() < side * side {
                out.push(&[LITERAL])?;
                self.literals(cell, cell_width, &mut out)?;
            } else {
                self.rows(side, row, &mut out)?;
            }
        }
        Some(out.at)
    }

    /// Writes a whole cell, some rows of which may be found elsewhere.
    fn rows<'a>(
        &mut self,
        side: usize,
        row: impl Fn(usize) -> &'a [u8] + Copy,
        out: &mut CellWriter<'_>,
    ) -> Option<()> {
        for &token in if side == 4 { &TOKENS_4 } else { &TOKENS_8 } {
            let Some(tokens) = RowTokens::of(token, side) else { continue };
            let find = |set: u8| {
                let wanted = Bytes::gather(rows(set).map(row));
                self.find(table(set.count_ones()), wanted.as_slice(), out)
            };
            let Some(first) = find(tokens.first) else { continue };
            let second = match tokens.second {
                0 => None,
                set => match find(set) {
                    Some(second) => Some(second),
                    None => continue,
                },
            };
            out.push(&[token])?;
            out.push(&first)?;
            if let Some(second) = second {
                out.push(&second)?;
            }
            return self.literals(Bytes::gather(rows(tokens.literal(side)).map(row)).as_slice(), side, out);
        }
        out.push(&[LITERAL])?;
        self.literals(Bytes::gather((0..side).map(row)).as_slice(), side, out)
    }

    /// The distance from the position of `out` back to `wanted` in what it has written.
    fn find(&self, table: usize, wanted: &[u8], out: &CellWriter<'_>) -> Option<[u8; 2]> {
        let at = (self.tables[table][hash(wanted)] as usize).checked_sub(1)?;
        let distance = out.at - at;
        // A match may extend into the next token, but not past what is written.
        let found = at + wanted.len() <= out.at && out.dst[at..at + wanted.len()] == *wanted;
        (found && distance <= MAX_DISTANCE).then(|| (distance as u16).to_le_bytes())
    }

    /// Writes rows of this width as literals, and enters them into the tables.
    fn literals(&mut self, bytes: &[u8], width: usize, out: &mut CellWriter<'_>) -> Option<()> {
        let start = out.at;
        out.push(bytes)?;
        let mut enter = |table: usize, at: usize, len: usize| {
            if let Some(piece) = bytes.get(at..at + len) {
                self.tables[table][hash(piece)] = (start + at + 1) as u32;
            }
        };
        for at in (0..bytes.len()).step_by(width) {
            enter(table(2), at, 2 * width);
            enter(table(3), at, 3 * width);
        }
        enter(CELLS, 0, bytes.len());
        Some(())
    }
}

struct CellWriter<'a> {
    dst: &'a mut [u8],
    at: usize,
}

impl CellWriter<'_> {
    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.dst.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }
}
