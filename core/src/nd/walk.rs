//! Visits the tiles (chunks of an array, blocks of a chunk) that a selection touches.

use super::axis::{Axis, TileSpan};
use super::{MAX_DIMS, Tiling};

/// Visits the tiles that a selection touches, in ascending order of their number: an odometer whose digits are the
/// tiles touched along each axis, each found from the previous one.
#[derive(Debug)]
pub(super) struct TileWalk<'p> {
    axes: &'p [Axis],
    digits: [Digit; MAX_DIMS],
    current: [TileSpan; MAX_DIMS],
    done: bool,
}

/// The state of the odometer for one axis.
#[derive(Debug, Clone, Copy, Default)]
struct Digit {
    /// Members to visit.
    from: u64,
    to: u64,
    /// Index where the tiles begin, and their length.
    origin: u64,
    length: u64,
    /// The difference of the tile numbers of neighbours along the axis.
    stride: u64,
}

impl<'p> TileWalk<'p> {
    /// Walks the chunks of the array; `None` if nothing is selected.
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

    /// Walks the blocks of one chunk, which holds the members `chunk` of each axis.
    pub(super) fn of_blocks(tiling: &Tiling, axes: &'p [Axis], chunk: &[TileSpan; MAX_DIMS]) -> Self {
        let mut digits = [Digit::default(); MAX_DIMS];
        for ((digit, stretch), tiling) in digits.iter_mut().zip(chunk).zip(tiling.axes()) {
            let origin = stretch.tile * tiling.chunk;
            let (length, stride) = (tiling.block, tiling.block_stride as u64);
            *digit = Digit { from: stretch.from, to: stretch.to, origin, length, stride };
        }
        Self::start(axes, digits)
    }

    fn start(axes: &'p [Axis], digits: [Digit; MAX_DIMS]) -> Self {
        let mut walk = Self { axes, digits, current: [TileSpan::default(); MAX_DIMS], done: false };
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
    /// Number of the tile, and the members in it along each axis.
    type Item = (u64, [TileSpan; MAX_DIMS]);

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
