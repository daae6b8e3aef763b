//! A model of an array, item by item.

use oxiblosc_streaming::blocking::NdArray;
use oxiblosc_streaming::blocking::NdEditor;
use oxiblosc_streaming::nd::{ArrayError, AxisSelection, Selection};
use oxiblosc_streaming::source::RangeSource;

use super::frame::{is_lossy, noise};
use crate::data::Random;

/// Arrays do not grow beyond this many items.
const MAX_ITEMS: u64 = 20_000;

/// A model of an array: its items in C order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayModel {
    shape: Vec<u64>,
    item_size: usize,
    items: Vec<u8>,
    /// Whether encoding may lose information.
    lossy: bool,
}

impl ArrayModel {
    /// The model of `array`.
    ///
    /// # Errors
    /// A chunk that cannot be read.
    pub fn of<S: RangeSource + 'static>(array: &NdArray<S>) -> Result<Self, ArrayError> {
        let items = array.read(&Selection::all())?.bytes().to_vec();
        let lossy = is_lossy(array.as_async().reader().header());
        Ok(Self { shape: array.shape().to_vec(), item_size: array.item_size(), items, lossy })
    }

    /// Compares every item with those of `array`.
    ///
    /// # Errors
    /// The difference, or what cannot be read.
    pub fn compare<S: RangeSource + 'static>(&self, array: &NdArray<S>) -> Result<(), String> {
        if array.shape() != self.shape {
            return Err(format!("shape {:?}, expected {:?}", array.shape(), self.shape));
        }
        let found = array.read(&Selection::all()).map_err(|e| e.to_string())?;
        if *found.bytes() != self.items { Err("other items".to_owned()) } else { Ok(()) }
    }

    /// Makes one random change to the array and to the model: to items, the shape, or both. Returns its description.
    ///
    /// # Errors
    /// Why the array, and the model, were not changed.
    pub fn change(&mut self, editor: &mut NdEditor, random: &mut Random) -> Result<String, ArrayError> {
        let shape = self.shape.clone();
        let told = match random.below(4) {
            0 | 1 => {
                let window: Vec<(u64, u64)> = shape.iter().map(|&len| part_of(len, random)).collect();
                let count: u64 = window.iter().map(|(start, stop)| stop - start).product();
                let items = noise(count as usize * self.item_size, random);
                let axis = |&(start, stop): &(u64, u64)| AxisSelection::from(start as i64..stop as i64);
                editor.write(&Selection::axes(window.iter().map(axis).collect::<Vec<_>>()), &items)?;
                self.write(&window, &items);
                format!("write {window:?}")
            }
            2 if !shape.is_empty() => {
                let axis = random.below(shape.len());
                let row: u64 = shape.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, len)| len).product();
                let rows = if row == 0 { 0 } else { random.below(4) as u64 };
                let mut longer = shape.clone();
                longer[axis] += rows;
                if longer.iter().product::<u64>() <= MAX_ITEMS {
                    let items = noise((rows * row) as usize * self.item_size, random);
                    editor.append(axis, &items)?;
                    self.resize(&longer);
                    let window = |(i, &len): (usize, &u64)| if i == axis { (shape[i], len) } else { (0, len) };
                    self.write(&longer.iter().enumerate().map(window).collect::<Vec<_>>(), &items);
                }
                format!("append {rows} along {axis}")
            }
            _ => {
                let near = |&len: &u64| match random.below(5) {
                    0 => len + random.below(4) as u64,
                    1 => len.saturating_sub(random.below(4) as u64),
                    2 => random.below(8) as u64,
                    _ => len,
                };
                let other: Vec<u64> = shape.iter().map(near).collect();
                if other.iter().product::<u64>() <= MAX_ITEMS {
                    editor.resize(&other)?;
                    self.resize(&other);
                }
                format!("resize to {other:?}")
            }
        };
        if self.lossy {
            self.items = editor.read(&Selection::all())?.bytes().to_vec();
        }
        Ok(told)
    }

    fn write(&mut self, window: &[(u64, u64)], items: &[u8]) {
        let shape: Vec<u64> = window.iter().map(|(start, stop)| stop - start).collect();
        for (from, index) in indices(&shape).enumerate() {
            let shifted = index.iter().zip(window).map(|(i, (start, _))| i + start);
            let to = position(&self.shape, shifted);
            let item = &items[from * self.item_size..][..self.item_size];
            self.items[to * self.item_size..][..self.item_size].copy_from_slice(item);
        }
    }

    fn resize(&mut self, shape: &[u64]) {
        let old = std::mem::replace(&mut self.shape, shape.to_vec());
        let items = std::mem::take(&mut self.items);
        for index in indices(shape) {
            match index.iter().zip(&old).all(|(i, len)| i < len) {
                true => {
                    let from = position(&old, index.iter().copied());
                    self.items.extend_from_slice(&items[from * self.item_size..][..self.item_size]);
                }
                false => self.items.resize(self.items.len() + self.item_size, 0),
            }
        }
    }
}

/// A part of an axis, which may be empty or all of it.
fn part_of(len: u64, random: &mut Random) -> (u64, u64) {
    let (a, b) = (random.below(len as usize + 1) as u64, random.below(len as usize + 1) as u64);
    if random.below(3) == 0 { (0, len) } else { (a.min(b), a.max(b)) }
}

/// The indices of an array in C order.
fn indices(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let count: u64 = shape.iter().product();
    let index = move |mut at: u64| {
        let mut index = vec![0; shape.len()];
        for (i, len) in index.iter_mut().zip(shape).rev() {
            (*i, at) = (at % len, at / len);
        }
        index
    };
    (0..count).map(index)
}

fn position(shape: &[u64], index: impl Iterator<Item = u64>) -> usize {
    shape.iter().zip(index).fold(0, |at, (len, i)| at * len + i) as usize
}
