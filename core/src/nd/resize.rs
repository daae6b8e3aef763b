//! What happens to the chunks when an array changes its shape.

use std::ops::Range;

use super::{AxisSelection, NdError, Selection, Tiling};

/// What happens to the chunks when an array changes its shape: which stay, under which number, where fresh ones (all
/// zero) are inserted, and which hold old data where the array now has new items.
///
/// Chunks are kept or dropped whole, as C-Blosc2 does: one that loses only some of its items keeps their bytes. When
/// the array grows again, C-Blosc2 lets those old values reappear. Here new items are zero, always: the chunks that
/// [`stale`](Self::stale) lists have to be cleared beyond the old shape before the new one is committed, whatever
/// software shrank the array.
///
/// ```
/// use oxiblosc_core::nd::{Geometry, KeptChunks, ResizePlan};
///
/// let geometry = Geometry { shape: vec![5], chunk_shape: vec![2], block_shape: vec![2] };
/// let resize = ResizePlan::new(&geometry.tile(1)?, &[8])?;
/// let moves: Vec<_> = resize.moves().collect();
/// assert_eq!(moves, [KeptChunks::Kept { from: 0, count: 3 }, KeptChunks::Fresh { count: 1 }]);
/// let stale: Vec<_> = resize.stale().collect();
/// assert_eq!((stale[0].from, stale[0].to, &stale[0].extents[..]), (2, 2, &[1][..]));
/// # Ok::<(), oxiblosc_core::nd::NdError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ResizePlan {
    old: Tiling,
    new: Tiling,
}

/// Some consecutive chunks of the new array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptChunks {
    /// The chunks that were numbered `from..from + count`.
    Kept {
        /// Old number of the first.
        from: u64,
        /// How many.
        count: u64,
    },
    /// New chunks, all zero.
    Fresh {
        /// How many.
        count: u64,
    },
}

/// A kept chunk with old data where the array has new items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearRegion {
    /// Its number before.
    pub from: u64,
    /// Its number after.
    pub to: u64,
    /// How many of its items along each axis belong to the old array. [`Tiling::clear_beyond`] clears the others.
    pub extents: Vec<u64>,
}

impl ResizePlan {
    /// Plans to give an array another shape, of the same rank.
    ///
    /// # Errors
    /// The new shape has another rank or is too large, or an axis with chunk length 0 would grow.
    pub fn new(tiling: &Tiling, shape: &[u64]) -> Result<Self, NdError> {
        if shape.len() != tiling.ndim() {
            return Err(NdError::Rank { what: "the new shape", expected: tiling.ndim(), found: shape.len() });
        }
        Ok(Self { old: tiling.clone(), new: tiling.with_shape(shape)? })
    }

    /// Plans to lengthen an array by `count` items along `axis`; also returns the selection of the new items. If all of
    /// them are written at once, nothing needs to be cleared.
    ///
    /// # Errors
    /// There is no such axis, or as [`new`](Self::new).
    pub fn append(tiling: &Tiling, axis: usize, count: u64) -> Result<(Self, Selection), NdError> {
        let mut shape = tiling.shape().to_vec();
        let Some(len) = shape.get_mut(axis) else {
            return Err(NdError::Rank { what: "the array", expected: axis.saturating_add(1), found: tiling.ndim() });
        };
        let old = *len as i64; // at most i64::MAX (checked by the tiling)
        *len = len.saturating_add(count);
        let resize = Self::new(tiling, &shape)?;
        let mut axes = vec![AxisSelection::ALL; axis];
        axes.push((old..).into());
        Ok((resize, Selection::axes(axes)))
    }

    /// The array before.
    pub fn before(&self) -> &Tiling {
        &self.old
    }

    /// The array after.
    pub fn after(&self) -> &Tiling {
        &self.new
    }

    /// All chunks of the new array in order of their numbers, as runs that are kept or fresh. Along the first axis
    /// an array grows and shrinks at its end, and there are at most two.
    pub fn moves(&self) -> impl Iterator<Item = KeptChunks> + '_ {
        let (old, new) = (self.old.axes(), self.new.axes());
        // The innermost axis whose number of chunks changes: everything inside it moves as one.
        let pivot = (0..old.len()).rev().find(|&axis| old[axis].chunks != new[axis].chunks);
        let mut rows = ChunkRows { old: &self.old, new: &self.new, pivot, next: 0, pending: None };
        std::iter::from_fn(move || {
            let mut run = rows.pop()?;
            while let Some(more) = rows.pop() {
                match joined(run, more) {
                    Some(both) => run = both,
                    None => {
                        rows.pending = Some(more);
                        break;
                    }
                }
            }
            Some(run)
        })
    }

    /// The kept chunks with old data where the array has new items, each once.
    pub fn stale(&self) -> impl Iterator<Item = ClearRegion> + '_ {
        let (old, new) = (self.old.axes(), self.new.axes());
        // Along an axis that grows, the last old chunk is such a chunk unless it was full.
        let edge =
            |axis: usize| new[axis].len > old[axis].len && old[axis].chunk > 0 && old[axis].len % old[axis].chunk > 0;
        let kept: Vec<_> = old.iter().zip(new).map(|(old, new)| old.chunks.min(new.chunks)).collect();
        (0..old.len())
            .filter(move |&axis| edge(axis))
            .flat_map(move |axis| {
                // A chunk may be at the edge along several axes: it is listed for the first of them.
                let ranges = (0..old.len()).map(|other| match other {
                    _ if other == axis => old[axis].chunks - 1..old[axis].chunks,
                    _ if other < axis && edge(other) => 0..kept[other] - 1,
                    _ => 0..kept[other],
                });
                BoxIndices::new(ranges.collect())
            })
            .map(move |position| ClearRegion {
                from: position.iter().zip(old).map(|(at, axis)| at * axis.chunk_stride).sum(),
                to: position.iter().zip(new).map(|(at, axis)| at * axis.chunk_stride).sum(),
                extents: position.iter().zip(old).map(|(&at, axis)| axis.visible(at)).collect(),
            })
    }
}

/// Joins two consecutive runs if they are of the same kind and their kept chunks were consecutive before.
fn joined(first: KeptChunks, second: KeptChunks) -> Option<KeptChunks> {
    match (first, second) {
        (KeptChunks::Fresh { count }, KeptChunks::Fresh { count: more }) => {
            Some(KeptChunks::Fresh { count: count + more })
        }
        (KeptChunks::Kept { from, count }, KeptChunks::Kept { from: next, count: more }) if from + count == next => {
            Some(KeptChunks::Kept { from, count: count + more })
        }
        _ => None,
    }
}

/// The chunks of the new array, cut into rows along the pivot axis.
struct ChunkRows<'r> {
    old: &'r Tiling,
    new: &'r Tiling,
    pivot: Option<usize>,
    /// The next chunk.
    next: u64,
    /// A run that was taken but not used.
    pending: Option<KeptChunks>,
}

impl ChunkRows<'_> {
    fn pop(&mut self) -> Option<KeptChunks> {
        if let Some(run) = self.pending.take() {
            return Some(run);
        }
        let total = self.new.chunk_count();
        if self.next >= total {
            return None;
        }
        let Some(pivot) = self.pivot else {
            self.next = total;
            return Some(KeptChunks::Kept { from: 0, count: total });
        };
        let (old, new) = (self.old.axes(), self.new.axes());
        // Position of the chunk along the axes up to the pivot; `next` is always at the beginning of a row or at the
        // point along the pivot where the kept part ends.
        let position = |axis: usize| self.next / new[axis].chunk_stride % new[axis].chunks;
        let kept_outside = (0..pivot).all(|axis| position(axis) < old[axis].chunks);
        let along = position(pivot);
        let inner = new[pivot].chunk_stride;
        let kept_along = old[pivot].chunks.min(new[pivot].chunks);
        let run = if kept_outside && along < kept_along {
            let from = (0..pivot).map(|axis| position(axis) * old[axis].chunk_stride).sum();
            KeptChunks::Kept { from, count: kept_along * inner }
        } else {
            KeptChunks::Fresh { count: (new[pivot].chunks - along) * inner }
        };
        let (KeptChunks::Kept { count, .. } | KeptChunks::Fresh { count }) = run;
        self.next += count;
        Some(run)
    }
}

/// All positions in a box, in C order.
struct BoxIndices {
    ranges: Vec<Range<u64>>,
    next: Option<Vec<u64>>,
}

impl BoxIndices {
    fn new(ranges: Vec<Range<u64>>) -> Self {
        let next = ranges.iter().all(|range| !range.is_empty()).then(|| ranges.iter().map(|r| r.start).collect());
        Self { ranges, next }
    }
}

impl Iterator for BoxIndices {
    type Item = Vec<u64>;

    fn next(&mut self) -> Option<Vec<u64>> {
        let current = self.next.take()?;
        let mut following = current.clone();
        for (at, range) in following.iter_mut().zip(&self.ranges).rev() {
            *at += 1;
            if *at < range.end {
                self.next = Some(following);
                break;
            }
            *at = range.start;
        }
        Some(current)
    }
}
