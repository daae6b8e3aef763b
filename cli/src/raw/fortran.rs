//! Arrays whose first index varies fastest, read as if it were the last one.

use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of the rows that are transposed at a time.
const BAND: u64 = 64 << 20;
/// Bytes that are read at a time where few of them are unneeded.
const READ: u64 = 4 << 20;
/// Runs shorter than this cost more to seek than to read over.
const SHORT_RUN: u64 = 4 << 10;

/// Reads the items of an array stored in Fortran order in C order.
///
/// In the file, items that differ only in the first index are adjacent: a column. A band of rows is a run of each
/// column, so the file is read once for every band, and memory holds a single band.
pub(super) struct Transposed<F> {
    file: F,
    /// Offset of the data in the file.
    start: u64,
    item_size: u64,
    /// Rows of the array, the extent of the first index.
    rows: u64,
    /// For each further index, its extent and the distance between neighbours in a row, in bytes.
    inner: Vec<(u64, u64)>,
    /// Bytes of a row.
    row_bytes: u64,
    /// The most bytes of a band, unless a row has more.
    band_bytes: u64,
    /// Rows transposed so far.
    done: u64,
    band: io::Cursor<Vec<u8>>,
}

impl<F: Read + Seek> Transposed<F> {
    /// The array at `start` of `file`, of at least two dimensions and one item, whose size fits 64 bits.
    pub(super) fn new(file: F, start: u64, shape: &[u64], item_size: usize) -> Self {
        let item_size = item_size as u64;
        let mut row_bytes = item_size;
        let mut inner: Vec<(u64, u64)> = Vec::new();
        for &extent in shape.iter().skip(1).rev() {
            inner.push((extent, row_bytes));
            row_bytes *= extent;
        }
        inner.reverse();
        let rows = shape.first().copied().unwrap_or(1);
        let band = io::Cursor::default();
        Self { file, start, item_size, rows, inner, row_bytes, band_bytes: BAND, done: 0, band }
    }

    /// Transposes the next rows.
    fn next_band(&mut self) -> io::Result<()> {
        let rows = (self.band_bytes / self.row_bytes).clamp(1, self.rows - self.done);
        let mut band = std::mem::take(&mut self.band).into_inner();
        let band_bytes = usize::try_from(rows * self.row_bytes).map_err(io::Error::other)?;
        band.clear();
        band.try_reserve_exact(band_bytes).map_err(io::Error::other)?;
        band.resize(band_bytes, 0);

        let (column_bytes, run_bytes) = (self.rows * self.item_size, rows * self.item_size);
        let columns = self.row_bytes / self.item_size;
        let at_once = if rows == self.rows || run_bytes < SHORT_RUN { (READ / column_bytes).max(1) } else { 1 };
        let mut place = ColumnOffset::new(&self.inner);
        let mut block = Vec::new();
        let mut column = 0;
        while column < columns {
            let count = at_once.min(columns - column);
            let len = (count - 1) * column_bytes + run_bytes;
            block.resize(usize::try_from(len).map_err(io::Error::other)?, 0);
            self.file.seek(SeekFrom::Start(self.start + column * column_bytes + self.done * self.item_size))?;
            self.file.read_exact(&mut block)?;
            // Lossless from here on: positions in `block` and `band`.
            for run in block.chunks(column_bytes as usize) {
                let run = &run[..run_bytes as usize];
                let item_size = self.item_size as usize;
                let places = (place.offset() as usize..).step_by(self.row_bytes as usize);
                for (item, at) in run.chunks_exact(item_size).zip(places) {
                    band[at..at + item_size].copy_from_slice(item);
                }
                place.advance();
            }
            column += count;
        }
        self.done += rows;
        self.band = io::Cursor::new(band);
        Ok(())
    }
}

impl<F: Read + Seek> Read for Transposed<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.band.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.done == self.rows {
                return Ok(read);
            }
            self.next_band()?;
        }
    }
}

/// The offset in a row of the items of a column, column by column.
struct ColumnOffset<'a> {
    inner: &'a [(u64, u64)],
    index: Vec<u64>,
    offset: u64,
}

impl<'a> ColumnOffset<'a> {
    fn new(inner: &'a [(u64, u64)]) -> Self {
        Self { inner, index: vec![0; inner.len()], offset: 0 }
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves to the next column of the file; the first of the remaining indices varies fastest.
    fn advance(&mut self) {
        for (index, &(extent, step)) in self.index.iter_mut().zip(self.inner) {
            *index += 1;
            self.offset += step;
            if *index < extent {
                return;
            }
            self.offset -= extent * step;
            *index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the items in C order, in the order of a Fortran file.
    fn fortran(shape: &[u64]) -> Vec<u32> {
        let len = shape.iter().product::<u64>();
        let mut file = vec![0; len as usize];
        for number in 0..len {
            let (mut rest, mut index) = (number, vec![0; shape.len()]);
            for (axis, extent) in shape.iter().enumerate().rev() {
                index[axis] = rest % extent;
                rest /= extent;
            }
            let at = index.iter().zip(shape).rev().fold(0, |at, (i, extent)| at * extent + i);
            file[at as usize] = number as u32;
        }
        file
    }

    #[test]
    fn c_order_comes_out() {
        for shape in [&[2, 3][..], &[3, 2], &[2, 3, 4], &[1, 4, 1, 3], &[5, 1], &[7, 5, 3, 2]] {
            let file: Vec<u8> = fortran(shape).into_iter().flat_map(u32::to_le_bytes).collect();
            let len = file.len() / 4;
            let mut found = Vec::new();
            let padded = [b"head".as_slice(), &file, b"tail"].concat();
            Transposed::new(io::Cursor::new(padded), 4, shape, 4).read_to_end(&mut found).expect("in memory");
            let expected: Vec<u8> = (0..len as u32).flat_map(u32::to_le_bytes).collect();
            assert_eq!(found, expected, "{shape:?}");
        }
    }

    /// Several bands, both of runs that are sought and of runs that are read over.
    #[test]
    fn many_bands() {
        for (rows, columns, band_bytes) in [(3, 50_000, 100_000), (40, 10_000, 1), (30_000, 20, 200_000), (9, 9, 30)] {
            let item = |row: u64, column: u64| (row * 7 + column * 13 + column / 251) as u8;
            let file: Vec<u8> = (0..columns).flat_map(|c| (0..rows).map(move |r| item(r, c))).collect();
            let mut reader = Transposed::new(io::Cursor::new(file), 0, &[rows, columns], 1);
            reader.band_bytes = band_bytes;
            let mut row = vec![0; columns as usize];
            for r in 0..rows {
                reader.read_exact(&mut row).expect("in memory");
                assert!((0..columns).zip(&row).all(|(c, &found)| found == item(r, c)), "row {r} of {rows}");
            }
            assert_eq!(reader.read(&mut row).expect("in memory"), 0);
        }
    }
}
