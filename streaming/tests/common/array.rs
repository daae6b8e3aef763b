//! Arrays made at random, and what must come out of them.

use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::id::FilterId;
use oxiblosc_core::nd::{Geometry, Tiling};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_streaming::nd::{ArrayOptions, AxisSelection, Selection};

use super::{Random, data};

/// An array item by item.
#[derive(Clone)]
pub(crate) struct Reference {
    pub(crate) shape: Vec<u64>,
    pub(crate) item_size: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Reference {
    pub(crate) fn new(shape: &[u64], item_size: usize) -> Self {
        let bytes = data(shape.iter().product::<u64>() as usize * item_size);
        Self { shape: shape.to_vec(), item_size, bytes }
    }

    pub(crate) fn item(&self, index: &[u64]) -> &[u8] {
        let at = self.shape.iter().zip(index).fold(0, |at, (len, i)| at * len + i) as usize;
        &self.bytes[at * self.item_size..][..self.item_size]
    }

    /// The items at every combination of the members of the axes.
    pub(crate) fn product(&self, members: &[Vec<u64>]) -> Vec<u8> {
        let mut indices = vec![vec![]];
        for axis in members {
            let longer = |index: Vec<u64>| axis.iter().map(move |&i| [&index[..], &[i]].concat());
            indices = indices.into_iter().flat_map(longer).collect();
        }
        indices.iter().flat_map(|index| self.item(index).to_vec()).collect()
    }
}

/// A selection for an array, and the members of each axis.
pub(crate) fn random_selection(shape: &[u64], random: &mut Random) -> (Selection, Vec<Vec<u64>>) {
    let mut axes = Vec::new();
    let mut members = Vec::new();
    for &len in shape {
        let below = |random: &mut Random| random.below(len) as i64;
        let (axis, taken): (AxisSelection, Vec<u64>) = match random.below(8) {
            0 if len > 0 => {
                let i = below(random);
                (i.into(), vec![i as u64])
            }
            1 if len > 0 => {
                let list: Vec<i64> = (0..random.below(6)).map(|_| below(random)).collect();
                let taken = list.iter().map(|&i| i as u64).collect();
                (list.into(), taken)
            }
            2 if len > 0 => {
                let (start, step) = (below(random), 1 + random.below(4) as i64);
                let axis = AxisSelection::Slice { start: Some(start), stop: None, step: -step };
                (axis, (0..=start as u64).rev().step_by(step as usize).collect())
            }
            3..=5 => {
                let (a, b) = (random.below(len + 1) as i64, random.below(len + 1) as i64);
                let (start, stop, step) = (a.min(b), a.max(b), 1 + random.below(3) as i64);
                let axis = AxisSelection::from(start..stop).step(step);
                (axis, (start as u64..stop as u64).step_by(step as usize).collect())
            }
            _ => (AxisSelection::ALL, (0..len).collect()),
        };
        axes.push(axis);
        members.push(taken);
    }
    (Selection::axes(axes), members)
}

/// An array of up to five dimensions, sometimes empty, whose chunks and blocks divide nothing.
pub(crate) fn random_tiling(random: &mut Random) -> Tiling {
    let ndim = random.below(6) as usize;
    let longest = [1, 500, 40, 14, 8, 5][ndim];
    let (mut shape, mut chunk_shape, mut block_shape) = (vec![], vec![], vec![]);
    for _ in 0..ndim {
        shape.push(if random.chance(30) { 0 } else { 1 + random.below(longest) });
        let chunk = 1 + random.below(longest) as u32;
        chunk_shape.push(chunk);
        block_shape.push(1 + random.below(chunk.into()) as u32);
    }
    let item_size = [1, 2, 3, 4, 8, 16, 300][random.below(7) as usize];
    Geometry { shape, chunk_shape, block_shape }.tile(item_size).unwrap()
}

pub(crate) fn options(tiling: &Tiling, growing: bool) -> ArrayOptions {
    let geometry = tiling.geometry();
    let dtype = format!("|V{}", tiling.item_size());
    let options = match growing {
        true => ArrayOptions::rows(&geometry.shape[1..], dtype),
        false => ArrayOptions::new(geometry.shape.clone(), dtype),
    };
    options.chunks(geometry.chunk_shape.clone()).blocks(geometry.block_shape.clone())
}

pub(crate) fn params(random: &mut Random) -> EncodeParams {
    let delta = FilterSlots::from_list(&[(FilterId::DELTA, 0), (FilterId::SHUFFLE, 0)]);
    let filters = [FilterSlots::SHUFFLE, FilterSlots::NONE, delta.unwrap()];
    EncodeParams {
        level: random.below(10) as u8,
        filters: filters[random.below(3) as usize],
        ..EncodeParams::default()
    }
}

impl Reference {
    /// With another shape: new items are zero.
    pub(crate) fn resized(&self, shape: &[u64]) -> Self {
        let mut bytes = Vec::new();
        let mut index = vec![0; shape.len()];
        for _ in 0..shape.iter().product::<u64>() {
            match index.iter().zip(&self.shape).all(|(i, len)| i < len) {
                true => bytes.extend_from_slice(self.item(&index)),
                false => bytes.resize(bytes.len() + self.item_size, 0),
            }
            for (i, len) in index.iter_mut().zip(shape).rev() {
                *i += 1;
                if *i < *len {
                    break;
                }
                *i = 0;
            }
        }
        Self { shape: shape.to_vec(), item_size: self.item_size, bytes }
    }

    /// Replaces the items at every combination of the members of the axes.
    pub(crate) fn write(&mut self, members: &[Vec<u64>], items: &[u8]) {
        let lens: Vec<u64> = members.iter().map(|axis| axis.len() as u64).collect();
        for (i, item) in items.chunks_exact(self.item_size).enumerate() {
            let (mut rest, mut at, mut stride) = (i as u64, 0, 1);
            for (axis, &len) in lens.iter().enumerate().rev() {
                at += members[axis][(rest % len) as usize] * stride;
                rest /= len;
                stride *= self.shape[axis];
            }
            self.bytes[at as usize * self.item_size..][..self.item_size].copy_from_slice(item);
        }
    }
}
