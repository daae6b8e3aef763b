//! The cells of an n-dimensional block.

use oxiblosc_core::filter::{BlockContext, FilterError};

/// C-Blosc2's cell filters work on arrays of up to eight dimensions.
const MAX_NDIM: usize = 8;

/// Extents or coordinates. Missing dimensions come first, with extent 1 or coordinate 0.
type Dims = [usize; MAX_NDIM];

/// A block cut into cells along every dimension. The cells are enumerated in row-major order, and so are the items of
/// a cell; a cell at the far edge of the block is cut off.
#[derive(Debug)]
pub(super) struct Cells {
    block: Dims,
    cell: Dims,
    ndim: usize,
}

impl Cells {
    /// The cells of the block of `len` bytes that `ctx` describes, with `side` items along every dimension.
    ///
    /// # Errors
    /// [`FilterError::Geometry`] if the block does not belong to an array, or its length does not match its shape.
    pub(super) fn new(ctx: &BlockContext<'_>, item_size: usize, len: usize, side: usize) -> Result<Self, FilterError> {
        let error = |reason: String| FilterError::Geometry { reason };
        let shape = match ctx.nd {
            Some(array) => array.block_shape,
            None => return Err(error("the chunk is not part of an n-dimensional array".into())),
        };
        let Some(unused) = MAX_NDIM.checked_sub(shape.len()) else {
            return Err(error(format!("{} dimensions, the limit is {MAX_NDIM}", shape.len())));
        };
        let mut block = [1; MAX_NDIM];
        for (extent, stored) in block[unused..].iter_mut().zip(shape) {
            *extent = usize::try_from(*stored).map_err(|_| error(format!("an extent of {stored} items")))?;
        }
        let bytes = block.iter().try_fold(item_size, |bytes, extent| bytes.checked_mul(*extent));
        if bytes != Some(len) || len == 0 {
            let reason = format!("a block of {len} bytes, where {shape:?} items of {item_size} bytes are expected");
            return Err(error(reason));
        }
        let mut cell = [1; MAX_NDIM];
        cell[unused..].fill(side);
        Ok(Self { block, cell, ndim: shape.len() })
    }

    /// Items in the block.
    pub(super) fn items(&self) -> usize {
        self.block.iter().product()
    }

    /// Items in a whole cell; `None` if there are more than any block can have.
    pub(super) fn items_per_cell(&self) -> Option<usize> {
        self.cell.iter().try_fold(1usize, |items, side| items.checked_mul(*side))
    }

    /// Whether the sides of the cells, cut to the extents of the block, differ along a dimension that has more than
    /// one cell.
    pub(super) fn uneven(&self) -> bool {
        let mut dims = self.block.iter().zip(&self.cell).skip(MAX_NDIM - self.ndim);
        let Some(first) = dims.clone().next().map(|(extent, side)| extent.min(side)) else { return false };
        dims.any(|(extent, side)| extent > side && side != first)
    }

    /// Calls `visit` for each cell.
    pub(super) fn for_each(&self, mut visit: impl FnMut(&Cell)) {
        let mut stride = [1; MAX_NDIM];
        for d in (1..MAX_NDIM).rev() {
            stride[d - 1] = stride[d] * self.block[d];
        }
        let mut origin = [0; MAX_NDIM];
        loop {
            let extent = std::array::from_fn(|d| self.cell[d].min(self.block[d] - origin[d]));
            let start = origin.iter().zip(&stride).map(|(o, s)| o * s).sum();
            visit(&Cell { start, extent, stride });
            if !advance(&mut origin, &self.block, &self.cell) {
                return;
            }
        }
    }
}

/// One cell of a block.
#[derive(Debug)]
pub(super) struct Cell {
    start: usize,
    extent: Dims,
    stride: Dims,
}

impl Cell {
    /// Items in the cell.
    pub(super) fn items(&self) -> usize {
        self.extent.iter().product()
    }

    /// Calls `visit` with the number in the block of the first item of each run, and its length in items. The runs of
    /// a cell are its rows: the last dimension is contiguous.
    pub(super) fn for_each_run(&self, mut visit: impl FnMut(usize, usize)) {
        let mut rows = self.extent;
        rows[MAX_NDIM - 1] = 1;
        let mut at = [0; MAX_NDIM];
        loop {
            let offset: usize = at.iter().zip(&self.stride).map(|(a, s)| a * s).sum();
            visit(self.start + offset, self.extent[MAX_NDIM - 1]);
            if !advance(&mut at, &rows, &[1; MAX_NDIM]) {
                return;
            }
        }
    }
}

/// Advances `at` to the next point of the row-major walk over `extent` in steps of `step`; false after the last one.
fn advance(at: &mut Dims, extent: &Dims, step: &Dims) -> bool {
    for d in (0..MAX_NDIM).rev() {
        at[d] = at[d].saturating_add(step[d]);
        if at[d] < extent[d] {
            return true;
        }
        at[d] = 0;
    }
    false
}
