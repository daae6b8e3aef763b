//! Visits the tiles (chunks of an array, blocks of a chunk) that a selection touches.

use super::axis::{Axis, Stretch};
use super::{MAX_DIMS, Tiling};

/// Visits, in ascending order of their number, the tiles that hold something of every axis: an odometer whose digits
/// are the tiles touched along each axis, found one from the other.
#[derive(Debug)]
pub(super) struct TileWalk<'p> {
    axes: &'p [Axis],
    digits: [Digit; MAX_DIMS],
    current: [Stretch; MAX_DIMS],
    done: bool,
}

/// What the odometer needs to know of one axis.
#[derive(Debug, Clone, Copy, Default)]
struct Digit {
    /// Members to visit.
    from: u64,
    to: u64,
    /// Index where the tiles begin, and their length.
    origin: u64,
    length: u64,
    /// By how much the number of a tile grows from one to the next along the axis.
    stride: u64,
}

impl<'p> TileWalk<'p> {
    /// The chunks of the array; `None` when nothing is selected.
    pub(super) fn of_chunks(tiling: &Tiling, axes: &'p [Axis]) -> Option<Self> {
        let mut digits = [Digit::default(); MAX_DIMS];
        for ((digit, axis), tiling) in digits.iter_mut().zip(axes).zip(tiling.axes()) {
            if axis.count() == 0 {
                return None;
            }
            let (length, stride) = (tiling.chunk, tiling.chunk_stride);
            *digit = Digit { from: 0, to: axis.count(), origin: 0, length, stride };
        }
        Some(Self::start(axes, digits))
    }

    /// The blocks of one chunk, in which the members `chunk` of each axis fall.
    pub(super) fn of_blocks(tiling: &Tiling, axes: &'p [Axis], chunk: &[Stretch; MAX_DIMS]) -> Self {
        let mut digits = [Digit::default(); MAX_DIMS];
        for ((digit, stretch), tiling) in digits.iter_mut().zip(chunk).zip(tiling.axes()) {
            let origin = stretch.tile * tiling.chunk;
            let (length, stride) = (tiling.block, tiling.block_stride as u64);
            *digit = Digit { from: stretch.from, to: stretch.to, origin, length, stride };
        }
        Self::start(axes, digits)
    }

    fn start(axes: &'p [Axis], digits: [Digit; MAX_DIMS]) -> Self {
        let mut walk = Self { axes, digits, current: [Stretch::default(); MAX_DIMS], done: false };
        (0..axes.len()).for_each(|axis| walk.turn(axis, digits[axis].from));
        walk
    }

    /// Makes the tile of member `from` the current one along an axis.
    fn turn(&mut self, axis: usize, from: u64) {
        let Digit { to, origin, length, .. } = self.digits[axis];
        self.current[axis] = self.axes[axis].stretch(from, to, origin, length);
    }
}

impl Iterator for TileWalk<'_> {
    /// Number of the tile, and what falls in it along each axis.
    type Item = (u64, [Stretch; MAX_DIMS]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let current = self.current;
        let number = current.iter().zip(&self.digits).map(|(stretch, digit)| stretch.tile * digit.stride).sum();
        self.done = true;
        for axis in (0..self.axes.len()).rev() {
            if self.current[axis].to < self.digits[axis].to {
                self.turn(axis, self.current[axis].to);
                self.done = false;
                break;
            }
            self.turn(axis, self.digits[axis].from);
        }
        Some((number, current))
    }
}
