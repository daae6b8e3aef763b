//! Arrays, and the simplest code that can read them.

use oxiblosc::nd::{AxisSelection, Selection, Tiling};
use oxiblosc_conformance::data::Random;

/// An array in C order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Array {
    /// Length along each dimension.
    pub(crate) shape: Vec<u64>,
    /// Bytes of an item.
    pub(crate) item: usize,
    /// The items.
    pub(crate) bytes: Vec<u8>,
}

impl Array {
    /// Puts the items of decoded chunks in order, one by one; `None` when there are none to speak of, too many, or too
    /// few chunks.
    pub(crate) fn of_chunks<C: AsRef<[u8]>>(tiling: &Tiling, chunks: &[C], most: u64) -> Option<Self> {
        let (shape, item) = (tiling.shape().to_vec(), tiling.item_size());
        // A selection lists every index of an axis, and an array without items may have axes of any length.
        let long = shape.iter().any(|&len| len > most);
        if long || tiling.array_bytes() > most || chunks.len() as u64 != tiling.chunk_count() {
            return None;
        }
        let geometry = tiling.geometry();
        let wide = |shape: &[u32]| shape.iter().map(|&len| u64::from(len)).collect::<Vec<_>>();
        let (chunk_shape, block_shape) = (wide(&geometry.chunk_shape), wide(&geometry.block_shape));
        let grid = |outer: &[u64], inner: &[u64]| -> Vec<u64> {
            outer.iter().zip(inner).map(|(outer, &inner)| outer.div_ceil(inner.max(1))).collect()
        };
        let (chunk_grid, block_grid) = (grid(&shape, &chunk_shape), grid(&chunk_shape, &block_shape));
        let block_items: u64 = block_shape.iter().product();
        let mut bytes = Vec::new();
        for index in indices(&shape) {
            let (chunk, within) = split(&index, &chunk_shape);
            let (block, within) = split(&within, &block_shape);
            let at = ravel(&block, &block_grid) * block_items + ravel(&within, &block_shape);
            let at = at as usize * item;
            bytes.extend_from_slice(chunks.get(ravel(&chunk, &chunk_grid) as usize)?.as_ref().get(at..at + item)?);
        }
        Some(Self { shape, item, bytes })
    }

    /// The items at the given indices along each axis, all combinations of them.
    pub(crate) fn take(&self, axes: &[Vec<u64>]) -> Vec<u8> {
        let lens: Vec<u64> = axes.iter().map(|axis| axis.len() as u64).collect();
        let mut out = Vec::new();
        for position in indices(&lens) {
            out.extend_from_slice(&self.bytes[self.place(axes, &position)]);
        }
        out
    }

    /// The reverse of [`take`](Self::take).
    pub(crate) fn put(&mut self, axes: &[Vec<u64>], items: &[u8]) {
        let lens: Vec<u64> = axes.iter().map(|axis| axis.len() as u64).collect();
        for (position, item) in indices(&lens).zip(items.chunks_exact(self.item.max(1))) {
            let place = self.place(axes, &position);
            self.bytes[place].copy_from_slice(item);
        }
    }

    fn place(&self, axes: &[Vec<u64>], position: &[u64]) -> std::ops::Range<usize> {
        let index: Vec<u64> = axes.iter().zip(position).map(|(axis, &at)| axis[at as usize]).collect();
        let at = ravel(&index, &self.shape) as usize * self.item;
        at..at + self.item
    }

    /// The array with another shape of the same rank: items whose index stays inside are kept, others are zero.
    pub(crate) fn resized(&self, shape: &[u64]) -> Self {
        let len = shape.iter().product::<u64>() as usize * self.item;
        let mut new = Self { shape: shape.to_vec(), item: self.item, bytes: vec![0; len] };
        let axes: Vec<Vec<u64>> =
            self.shape.iter().zip(shape).map(|(&old, &new)| (0..old.min(new)).collect()).collect();
        let items = self.take(&axes);
        new.put(&axes, &items);
        new
    }
}

/// Every index of an array of this shape, in C order.
fn indices(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> + '_ {
    (0..shape.iter().product()).map(move |mut at: u64| {
        let mut index = vec![0; shape.len()];
        for (place, &len) in index.iter_mut().zip(shape).rev() {
            *place = at % len;
            at /= len;
        }
        index
    })
}

fn ravel(index: &[u64], shape: &[u64]) -> u64 {
    index.iter().zip(shape).fold(0, |at, (&i, &len)| at * len + i)
}

fn split(index: &[u64], tile: &[u64]) -> (Vec<u64>, Vec<u64>) {
    index.iter().zip(tile).map(|(&i, &tile)| (i / tile.max(1), i % tile.max(1))).unzip()
}

/// A selection from an array of this shape, with the indices it takes along each axis.
pub(crate) fn selection(shape: &[u64], random: &mut Random) -> (Selection, Vec<Vec<u64>>) {
    let (axes, indices): (Vec<_>, Vec<_>) = shape.iter().map(|&len| axis(len as i64, random)).unzip();
    (Selection::axes(axes), indices)
}

fn axis(len: i64, random: &mut Random) -> (AxisSelection, Vec<u64>) {
    let mut index = |len: i64| random.below(len.clamp(1, 1 << 20) as usize) as i64;
    let kind = if len == 0 { 0 } else { index(4) };
    match kind {
        1 => {
            let at = index(len);
            (AxisSelection::Item(if at % 2 == 0 { at } else { at - len }), vec![at as u64])
        }
        2 => {
            let list: Vec<i64> = (0..1 + index(4)).map(|_| index(len)).collect();
            let indices = list.iter().map(|&at| at as u64).collect();
            (AxisSelection::List(list), indices)
        }
        _ => {
            let mut bound = || match index(3) {
                0 => None,
                1 => Some(index(2 * len + 3) - len - 1),
                _ => Some(index(len + 1)),
            };
            let (start, stop) = (bound(), bound());
            let step = [1, 1, 2, 3, -1, -2, 1 << 40][index(7) as usize];
            let indices = python_slice(start, stop, step, len);
            (AxisSelection::Slice { start, stop, step }, indices)
        }
    }
}

/// What Python's `range(len)[start:stop:step]` holds.
fn python_slice(start: Option<i64>, stop: Option<i64>, step: i64, len: i64) -> Vec<u64> {
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let clip = |bound: i64| (if bound < 0 { bound + len } else { bound }).clamp(low, high);
    let start = start.map_or(if step > 0 { low } else { high }, clip);
    let stop = stop.map_or(if step > 0 { high } else { low }, clip);
    let mut taken = Vec::new();
    let mut at = start;
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        taken.push(at as u64);
        at += step;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_those_of_python() {
        assert_eq!(python_slice(None, None, -2, 5), [4, 2, 0]);
        assert_eq!(python_slice(Some(-3), Some(9), 2, 5), [2, 4]);
        assert_eq!(python_slice(Some(1), Some(-9), -1, 5), [1, 0]);
        assert!(python_slice(Some(3), Some(3), 1, 5).is_empty());
    }

    #[test]
    fn a_larger_shape_keeps_the_items() {
        let array = Array { shape: vec![2, 2], item: 1, bytes: vec![1, 2, 3, 4] };
        assert_eq!(array.resized(&[3, 3]).bytes, [1, 2, 0, 3, 4, 0, 0, 0, 0]);
        assert_eq!(array.resized(&[1, 1]).bytes, [1]);
        assert_eq!(array.take(&[vec![1, 0], vec![1]]), [4, 2]);
    }
}
