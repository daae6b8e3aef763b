//! The arrays that some ways write: as many rows as the bytes of a case make up.

use futures::TryStreamExt;
use oxiblosc::FrameReader;
use oxiblosc::nd::{ArrayOptions, NdArray, Selection};
use oxiblosc::source::RangeSource;
use oxiblosc_conformance::data::Random;

use crate::case::Case;
use crate::payload::Payload;

/// Items of a row, and how the array is cut.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) rows: u64,
    /// 1 for arrays of one dimension.
    columns: u64,
    item: usize,
    chunk: [u32; 2],
}

impl Shape {
    pub(crate) fn of(case: &Case) -> Self {
        let item = case.item_size();
        let columns = [1, 37, 1003][case.seed as usize % 3];
        let rows = case.nbytes() / (columns * item as u64);
        let wide = columns.min(20) as u32;
        let high = (case.chunk_size() / item / wide as usize).max(1) as u32;
        Self { rows, columns, item, chunk: [high, wide] }
    }

    pub(crate) fn nbytes(&self) -> u64 {
        self.rows * self.row_bytes()
    }

    fn row_bytes(&self) -> u64 {
        self.columns * self.item as u64
    }

    pub(crate) fn dtype(&self) -> String {
        match self.item {
            1 => "|u1".into(),
            8 => "<i8".into(),
            n => format!("|S{n}"),
        }
    }

    /// Lengths along the dimensions.
    pub(crate) fn lens(&self) -> Vec<u64> {
        if self.columns == 1 { vec![self.rows] } else { vec![self.rows, self.columns] }
    }

    pub(crate) fn options(&self, case: &Case) -> ArrayOptions {
        let lens = self.lens();
        let options = match case.seed / 3 % 2 {
            0 => ArrayOptions::new(lens.clone(), self.dtype()),
            // As many rows as come.
            _ => ArrayOptions::rows(&lens[1..], self.dtype()),
        };
        options.chunks(&self.chunk[..lens.len()]).frame(case.options())
    }

    /// Compares all items, and some slices.
    pub(crate) async fn check<S: RangeSource + 'static>(
        &self,
        reader: FrameReader<S>,
        payload: &Payload,
        random: &mut Random,
    ) -> Result<(), String> {
        let text = |e: oxiblosc::nd::ArrayError| e.to_string();
        let array = NdArray::new(reader).map_err(text)?;
        if array.shape() != self.lens() {
            return Err(format!("the shape is {:?}, expected {:?}", array.shape(), self.lens()));
        }
        let mut at = 0;
        let mut stream = array.stream(&Selection::all()).map_err(text)?;
        while let Some(piece) = stream.try_next().await.map_err(text)? {
            payload.compare(at, &piece)?;
            at += piece.len() as u64;
        }
        if at != payload.len() {
            return Err(format!("a stream of the array has {at} bytes, expected {}", payload.len()));
        }
        for _ in 0..if self.rows > 0 { 8 } else { 0 } {
            let row = random.below(self.rows as usize) as u64;
            let rows = row..(row + 1 + random.below(9) as u64).min(self.rows);
            let column = random.below(self.columns as usize) as u64;
            let columns = column..(column + 1 + random.below(30) as u64).min(self.columns);
            let axes = [rows.clone(), columns.clone()].into_iter().map(|axis| axis.start as i64..axis.end as i64);
            let found = array.read(&Selection::axes(axes.take(self.lens().len()))).await.map_err(text)?;
            let item = self.item as u64;
            let expected: Vec<u8> = rows
                .clone()
                .flat_map(|row| {
                    let start = row * self.row_bytes();
                    payload.bytes(start + columns.start * item..start + columns.end * item)
                })
                .collect();
            if *found.bytes() != expected {
                return Err(format!("rows {rows:?}, columns {columns:?} are others"));
            }
        }
        Ok(())
    }
}
