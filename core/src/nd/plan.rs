//! Which chunks and blocks a selection touches, and what to copy between them and a C-order buffer.

use std::ops::Range;
use std::sync::Arc;

use super::axis::{Axis, TileSpan};
use super::copy::{Loop, LoopNest};
use super::geometry::product;
use super::selection::Resolved;
use super::walk::TileWalk;
use super::{MAX_DIMS, NdError, Selection, Tiling, Window};

/// A [`Selection`] applied to a [`Tiling`]: the chunks it touches, the blocks in each of them, and for each block the
/// copy between the decoded block and a C-order buffer of the selected items. The same plan reads and writes.
///
/// Making a plan takes time in proportion to the lists in the selection, and walking it in proportion to the chunks and
/// blocks visited, whatever the size of the array. Chunks come in ascending order, and so do the blocks of a chunk.
///
/// ```
/// use oxiblosc_core::nd::{Geometry, Plan, Selection};
///
/// let geometry = Geometry { shape: vec![10, 7], chunk_shape: vec![4, 5], block_shape: vec![3, 2] };
/// let tiling = geometry.tile(4)?;
/// let plan = Plan::new(&tiling, &Selection::item(&[5, 6]))?;
/// let mut out = vec![0; plan.buffer_bytes()?];
/// for chunk in plan.chunks() {
///     assert_eq!(chunk.number(), 3);
///     for block in chunk.blocks() {
///         let decoded = vec![7; tiling.block_bytes()]; // decode `block.bytes()` of the chunk
///         block.copy_out(&decoded, &mut out)?;
///     }
/// }
/// assert_eq!(out, [7; 4]);
/// # Ok::<(), oxiblosc_core::nd::NdError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) tiling: Arc<Tiling>,
    pub(super) shape: Vec<u64>,
    pub(super) kind: PlanKind,
}

#[derive(Debug, Clone)]
pub(super) enum PlanKind {
    /// Every combination of the members of the axes, with the distance in the buffer between neighbours along each
    /// axis.
    Product { axes: Vec<Axis>, strides: [usize; MAX_DIMS] },
    /// Lone items, by chunk, then block, then place in the buffer.
    Points(Vec<Point>),
}

/// One item of a list of coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    chunk: u64,
    block: usize,
    /// Number of the point in the list. Ordered before the offset, so that the later of two writes to one item wins.
    place: usize,
    /// Byte offset in the decoded block.
    offset: usize,
}

impl Plan {
    /// Plans to read or write `selection`.
    ///
    /// # Errors
    /// The selection has more axes than the array, or an index is outside of it.
    pub fn new(tiling: &Tiling, selection: &Selection) -> Result<Self, NdError> {
        match selection.resolve(tiling)? {
            Resolved::Axes { axes, shape } => {
                let lens: Vec<_> = axes.iter().map(Axis::count).collect();
                Ok(Self::product(tiling, axes, &lens, shape))
            }
            Resolved::Points { indices, count } => {
                let mut points = Vec::with_capacity(count);
                for place in 0..count {
                    let index = &indices[place * tiling.ndim()..][..tiling.ndim()];
                    let at = tiling.locate(index)?;
                    points.push(Point { chunk: at.chunk, block: at.block, place, offset: at.offset });
                }
                points.sort_unstable();
                Ok(Self { tiling: Arc::new(tiling.clone()), shape: vec![count as u64], kind: PlanKind::Points(points) })
            }
        }
    }

    /// Plans to copy between a buffer that holds `window` in C order, which may reach beyond the array, and the part
    /// of it that lies in one chunk.
    pub(super) fn of_chunk(tiling: &Tiling, number: u64, window: &Window) -> Result<Self, NdError> {
        for (what, found) in [("the window's origin", &window.origin), ("the window", &window.shape)] {
            if found.len() != tiling.ndim() {
                return Err(NdError::Rank { what, expected: tiling.ndim(), found: found.len() });
            }
        }
        let chunk = tiling.chunk_window(number)?;
        let mut axes = Vec::with_capacity(tiling.ndim());
        for axis in 0..tiling.ndim() {
            let end = window.origin[axis].saturating_add(window.shape[axis]);
            let first = chunk.origin[axis].max(window.origin[axis]);
            let count = (chunk.origin[axis] + chunk.shape[axis]).min(end).saturating_sub(first);
            let position = first - window.origin[axis];
            axes.push(Axis::Even { first, step: 1, count, position, descending: false });
        }
        Ok(Self::product(tiling, axes, &window.shape, window.shape.clone()))
    }

    /// `lens` are the lengths of the buffer along every axis; `shape` is the same without the axes of a single item.
    fn product(tiling: &Tiling, axes: Vec<Axis>, lens: &[u64], shape: Vec<u64>) -> Self {
        let mut strides = [0; MAX_DIMS];
        let mut stride = tiling.item_size();
        for (axis, &len) in lens.iter().enumerate().rev() {
            strides[axis] = stride;
            // This wraps only if the buffer cannot exist, or is empty while its other axes are too long: either way
            // there is nothing to copy (`buffer_bytes` fails, or no chunk is visited).
            stride = stride.wrapping_mul(len as usize);
        }
        Self { tiling: Arc::new(tiling.clone()), shape, kind: PlanKind::Product { axes, strides } }
    }

    /// The tiling of the array.
    pub fn tiling(&self) -> &Tiling {
        &self.tiling
    }

    /// Shape of the result: one length for each axis where more than a single item was asked for, or the number of
    /// points.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Bytes of the C-order buffer that is read into or written from.
    ///
    /// # Errors
    /// If that exceeds the address space: lists may repeat indices any number of times.
    pub fn buffer_bytes(&self) -> Result<usize, NdError> {
        let bytes = product(self.shape.iter().copied()).and_then(|n| n.checked_mul(self.tiling.item_size() as u64));
        // Offsets are computed as isize.
        bytes.and_then(|n| isize::try_from(n).ok()).map(isize::unsigned_abs).ok_or(NdError::TooLarge {
            what: "the selection",
            limit: isize::MAX as u64,
            found: bytes,
        })
    }

    /// The chunks that the selection touches, in ascending order.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkPlan<'_>> {
        let (mut walk, mut points): (_, &[Point]) = match &self.kind {
            PlanKind::Product { axes, .. } => (TileWalk::of_chunks(&self.tiling, axes), &[]),
            PlanKind::Points(points) => (None, points),
        };
        std::iter::from_fn(move || {
            if let Some(walk) = &mut walk {
                let (number, stretches) = walk.next()?;
                return Some(ChunkPlan { plan: self, number, stretches, points: &[] });
            }
            let number = points.first()?.chunk;
            let (here, rest) = points.split_at(points.partition_point(|point| point.chunk == number));
            points = rest;
            Some(ChunkPlan { plan: self, number, stretches: [TileSpan::default(); MAX_DIMS], points: here })
        })
    }

    /// The part of the selection in chunk `number`, if any, found without looking at other chunks.
    pub fn chunk(&self, number: u64) -> Option<ChunkPlan<'_>> {
        let mut found = ChunkPlan { plan: self, number, stretches: [TileSpan::default(); MAX_DIMS], points: &[] };
        match &self.kind {
            PlanKind::Product { axes, .. } => {
                let position = self.tiling.chunk_position(number).ok()?;
                let tilings = self.tiling.axes().iter().zip(position);
                for ((stretch, axis), (tiling, tile)) in found.stretches.iter_mut().zip(axes).zip(tilings) {
                    let from = axis.first_from(tile * tiling.chunk);
                    if from >= axis.count() {
                        return None;
                    }
                    *stretch = axis.stretch(from, axis.count(), 0, tiling.chunk);
                    if stretch.tile != tile {
                        return None;
                    }
                }
            }
            PlanKind::Points(points) => {
                let from = points.partition_point(|point| point.chunk < number);
                let here = points[from..].partition_point(|point| point.chunk == number);
                found.points = &points[from..from + here];
                if here == 0 {
                    return None;
                }
            }
        }
        Some(found)
    }

    fn check_buffer(&self, found: usize) -> Result<(), NdError> {
        let expected = self.buffer_bytes()?;
        if found == expected { Ok(()) } else { Err(NdError::Buffer { what: "the C-order buffer", expected, found }) }
    }
}

/// The part of a selection in one chunk.
#[derive(Debug, Clone)]
pub struct ChunkPlan<'p> {
    plan: &'p Plan,
    number: u64,
    /// The members of each axis that fall in the chunk, for a product.
    stretches: [TileSpan; MAX_DIMS],
    /// The points in the chunk, for a list of points.
    points: &'p [Point],
}

impl<'p> ChunkPlan<'p> {
    /// Number of the chunk.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of an item of the array.
    pub fn item_size(&self) -> usize {
        self.plan.tiling.item_size()
    }

    /// Whether the selection has every item of the chunk that belongs to the array. A writer then need not read the
    /// chunk first, and starts from zeros.
    pub fn covers_all(&self) -> bool {
        // Points are few for their chunk; to count the distinct ones would cost more than it can save.
        let PlanKind::Product { axes, .. } = &self.plan.kind else { return false };
        axes.iter()
            .zip(self.plan.tiling.axes())
            .zip(&self.stretches)
            .all(|((axis, tiling), stretch)| axis.distinct(stretch) == tiling.visible(stretch.tile))
    }

    /// The blocks of the chunk that the selection touches, in ascending order.
    pub fn blocks(&self) -> impl Iterator<Item = BlockPlan<'p>> + use<'p> {
        let Self { plan, stretches: chunk, mut points, .. } = *self;
        let mut walk = match &plan.kind {
            PlanKind::Product { axes, .. } => Some(TileWalk::of_blocks(&plan.tiling, axes, &chunk)),
            PlanKind::Points(_) => None,
        };
        std::iter::from_fn(move || {
            if let Some(walk) = &mut walk {
                let (number, stretches) = walk.next()?;
                let mut origin = [0; MAX_DIMS];
                for (axis, tiling) in plan.tiling.axes().iter().enumerate() {
                    origin[axis] = chunk[axis].tile * tiling.chunk + stretches[axis].tile * tiling.block;
                }
                return Some(BlockPlan { plan, number: number as usize, origin, stretches, points: &[] });
            }
            let number = points.first()?.block;
            let (here, rest) = points.split_at(points.partition_point(|point| point.block == number));
            points = rest;
            let stretches = [TileSpan::default(); MAX_DIMS];
            Some(BlockPlan { plan, number, origin: [0; MAX_DIMS], stretches, points: here })
        })
    }

    /// Where the whole decoded chunk goes in the buffer, if it does so in one piece: it can then be decoded in place.
    pub fn in_place(&self) -> Option<Range<usize>> {
        let tiling = &self.plan.tiling;
        let mut stored = self.stretches.iter().zip(tiling.extended_chunk_shape());
        if !stored.all(|(stretch, len)| stretch.count() == len) {
            return None;
        }
        let mut place: Option<Range<usize>> = None;
        for block in self.blocks() {
            let here = block.in_place()?;
            let start = place.as_ref().map_or(here.start, |before| before.start);
            if place.is_some_and(|before| before.end != here.start) {
                return None;
            }
            place = Some(start..here.end);
        }
        place.filter(|range| range.len() == tiling.chunk_bytes())
    }

    /// Copies the selected items of this chunk from the decoded chunk to the buffer.
    ///
    /// # Errors
    /// A buffer is not as long as it must be.
    pub fn copy_out(&self, chunk: &[u8], buffer: &mut [u8]) -> Result<(), NdError> {
        self.check_chunk(chunk.len())?;
        self.blocks().try_for_each(|block| block.copy_out(&chunk[block.bytes()], buffer))
    }

    /// Copies the selected items of this chunk from the buffer to the decoded chunk.
    ///
    /// # Errors
    /// A buffer is not as long as it must be.
    pub fn copy_in(&self, buffer: &[u8], chunk: &mut [u8]) -> Result<(), NdError> {
        self.check_chunk(chunk.len())?;
        self.blocks().try_for_each(|block| block.copy_in(buffer, &mut chunk[block.bytes()]))
    }

    fn check_chunk(&self, found: usize) -> Result<(), NdError> {
        let expected = self.plan.tiling.chunk_bytes();
        if found == expected { Ok(()) } else { Err(NdError::Buffer { what: "the chunk", expected, found }) }
    }
}

/// The part of a selection in one block.
#[derive(Debug, Clone)]
pub struct BlockPlan<'p> {
    plan: &'p Plan,
    number: usize,
    /// Index along each axis where the block begins, and the members that fall in it, for a product.
    origin: [u64; MAX_DIMS],
    stretches: [TileSpan; MAX_DIMS],
    /// The points in the block, for a list of points.
    points: &'p [Point],
}

/// Which way a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Out,
    In,
}

impl Direction {
    /// Orders block and buffer as source and destination.
    fn order<T>(self, block: T, buffer: T) -> (T, T) {
        match self {
            Self::Out => (block, buffer),
            Self::In => (buffer, block),
        }
    }
}

impl<'p> BlockPlan<'p> {
    /// Number of the block in its chunk.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Which bytes of the decoded chunk the block is.
    pub fn bytes(&self) -> Range<usize> {
        let len = self.plan.tiling.block_bytes();
        self.number * len..(self.number + 1) * len
    }

    /// Copies the selected items of this block from the decoded block to the buffer.
    ///
    /// # Errors
    /// A buffer is not as long as it must be.
    pub fn copy_out(&self, block: &[u8], buffer: &mut [u8]) -> Result<(), NdError> {
        self.check(block.len(), buffer.len())?;
        let item = self.plan.tiling.item_size();
        match self.nest(Direction::Out) {
            Some(nest) => nest.copy(block, buffer),
            None => self.points.iter().for_each(|point| {
                buffer[point.place * item..][..item].copy_from_slice(&block[point.offset..][..item]);
            }),
        }
        Ok(())
    }

    /// Fills the selected items of this block in the buffer with `item`, for a block that repeats one item: as
    /// [`copy_out`](Self::copy_out) does, without the block.
    ///
    /// # Errors
    /// The buffer, or the item, is not as long as it must be.
    pub fn fill_out(&self, item: &[u8], buffer: &mut [u8]) -> Result<(), NdError> {
        let (expected, found) = (self.plan.tiling.item_size(), item.len());
        if expected != found {
            return Err(NdError::Buffer { what: "the item", expected, found });
        }
        self.plan.check_buffer(buffer.len())?;
        match self.nest(Direction::Out) {
            Some(nest) => nest.fill(item, buffer),
            None => self.points.iter().for_each(|point| buffer[point.place * found..][..found].copy_from_slice(item)),
        }
        Ok(())
    }

    /// Copies the selected items of this block from the buffer to the decoded block. If a list names an item twice, the
    /// later value wins.
    ///
    /// # Errors
    /// A buffer is not as long as it must be.
    pub fn copy_in(&self, buffer: &[u8], block: &mut [u8]) -> Result<(), NdError> {
        self.check(block.len(), buffer.len())?;
        let item = self.plan.tiling.item_size();
        match self.nest(Direction::In) {
            Some(nest) => nest.copy(buffer, block),
            None => self.points.iter().for_each(|point| {
                block[point.offset..][..item].copy_from_slice(&buffer[point.place * item..][..item]);
            }),
        }
        Ok(())
    }

    /// Which bytes of the decoded block hold the first selected item, the last one, and all between: nothing else is
    /// copied. Not empty.
    pub fn touched(&self) -> Range<usize> {
        let item = self.plan.tiling.item_size();
        let (first, last) = match &self.plan.kind {
            PlanKind::Product { axes, .. } => {
                let offset = |member: fn(&TileSpan) -> u64| -> usize {
                    let axes = axes.iter().zip(self.plan.tiling.axes()).zip(&self.stretches).zip(&self.origin);
                    axes.map(|(((axis, tiling), stretch), origin)| {
                        (axis.index(member(stretch)) - origin) as usize * tiling.item_stride
                    })
                    .sum()
                };
                (offset(|stretch| stretch.from), offset(|stretch| stretch.to - 1))
            }
            PlanKind::Points(_) => {
                let offsets = self.points.iter().map(|point| point.offset);
                (offsets.clone().min().unwrap_or(0), offsets.max().unwrap_or(0))
            }
        };
        first..last + item
    }

    /// Where the whole decoded block goes in the buffer, if it does so in one piece: it can then be decoded in place.
    pub fn in_place(&self) -> Option<Range<usize>> {
        self.plan.buffer_bytes().ok()?;
        let bytes = self.plan.tiling.block_bytes();
        let (at, run) = self.nest(Direction::Out)?.single_run()?;
        (run == bytes).then(|| at..at + run)
    }

    fn check(&self, block: usize, buffer: usize) -> Result<(), NdError> {
        let expected = self.plan.tiling.block_bytes();
        if block != expected {
            return Err(NdError::Buffer { what: "the block", expected, found: block });
        }
        self.plan.check_buffer(buffer)
    }

    /// The copy as a nest of loops; `None` for points.
    ///
    /// Once both buffers have the right length, all offsets are inside them: members of a stretch lie in the block,
    /// positions below the count of their axis.
    fn nest(&self, direction: Direction) -> Option<LoopNest<'p>> {
        let PlanKind::Product { axes, strides } = &self.plan.kind else { return None };
        let tilings = self.plan.tiling.axes();
        let (mut in_block, mut in_buffer) = (0, 0);
        for (axis, tiling) in tilings.iter().enumerate() {
            let from = self.stretches[axis].from;
            in_block += (axes[axis].index(from) - self.origin[axis]) as usize * tiling.item_stride;
            in_buffer += axes[axis].position(from) as usize * strides[axis];
        }
        let (src, dst) = direction.order(in_block, in_buffer);
        let mut nest = LoopNest::new(self.plan.tiling.item_size(), src, dst);
        for (axis, tiling) in tilings.iter().enumerate().rev() {
            let stretch = &self.stretches[axis];
            let (tile_stride, buffer_stride) = (tiling.item_stride as isize, strides[axis] as isize);
            nest.surround(match &axes[axis] {
                Axis::Even { step, descending, .. } => {
                    // A step wider than the block is never taken inside it.
                    let block = if stretch.count() > 1 { tile_stride * *step as isize } else { 0 };
                    let buffer = if *descending { -buffer_stride } else { buffer_stride };
                    let (src, dst) = direction.order(block, buffer);
                    Loop::Even { count: stretch.count() as usize, src, dst }
                }
                Axis::List(picks) => {
                    let picks = &picks[stretch.from as usize..stretch.to as usize];
                    Loop::Listed { picks, tile_stride, buffer_stride, into_tile: direction == Direction::In }
                }
            });
        }
        Some(nest)
    }
}
