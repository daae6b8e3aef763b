//! The members of a selection along one axis, in ascending order of the index.

use std::sync::Arc;

/// One index of a list, and where it goes in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListedIndex {
    /// Index along the axis of the array.
    pub(super) index: u64,
    /// Index along the axis of the result.
    pub(super) position: u64,
}

/// The members of a selection along one axis, ordered by index and numbered `0..count`.
///
/// Members ascend here whatever order the user asked for: those of one chunk or block are then neighbours, and finding
/// them costs no more than their number.
#[derive(Debug, Clone)]
pub(super) enum Axis {
    /// `count` indices from `first` on, `step` apart. Their positions in the result ascend from `position`, or
    /// descend to it.
    Even { first: u64, step: u64, count: u64, position: u64, descending: bool },
    /// Any indices, sorted; equal ones in order of their positions.
    List(Arc<[ListedIndex]>),
}

/// The members of an [`Axis`] that fall in one tile (chunk or block).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TileSpan {
    /// Which tile along the axis.
    pub(super) tile: u64,
    /// First member.
    pub(super) from: u64,
    /// One past the last member; greater than `from`.
    pub(super) to: u64,
}

impl TileSpan {
    pub(super) fn count(&self) -> u64 {
        self.to - self.from
    }
}

impl Axis {
    pub(super) fn count(&self) -> u64 {
        match self {
            Axis::Even { count, .. } => *count,
            Axis::List(picks) => picks.len() as u64,
        }
    }

    /// Index in the array of member `k`.
    pub(super) fn index(&self, k: u64) -> u64 {
        match self {
            Axis::Even { first, step, .. } => first + k * step,
            Axis::List(picks) => picks[k as usize].index,
        }
    }

    /// Position in the result of member `k`.
    pub(super) fn position(&self, k: u64) -> u64 {
        match self {
            Axis::Even { count, position, descending: true, .. } => position + (count - 1 - k),
            Axis::Even { position, .. } => position + k,
            Axis::List(picks) => picks[k as usize].position,
        }
    }

    /// The members from `from` on, but before `limit`, that fall in the same tile as `from`. Tiles are `length` long
    /// and counted from `origin`, which is at most the index of any member.
    pub(super) fn stretch(&self, from: u64, limit: u64, origin: u64, length: u64) -> TileSpan {
        let index = self.index(from);
        let tile = (index - origin) / length;
        let end = origin + (tile + 1) * length;
        let to = match self {
            Axis::Even { step, .. } => from + (end - index).div_ceil(*step),
            Axis::List(picks) => {
                // Gallop: the cost is that of the members found, not of those that remain.
                let rest = &picks[from as usize..limit as usize];
                let mut bound = 1;
                while bound < rest.len() && rest[bound].index < end {
                    bound *= 2;
                }
                let bound = bound.min(rest.len());
                from + rest[..bound].partition_point(|pick| pick.index < end) as u64
            }
        };
        TileSpan { tile, from, to: to.min(limit) }
    }

    /// The first member whose index is at least `index`; `count` or more when there is none.
    pub(super) fn first_from(&self, index: u64) -> u64 {
        match self {
            Axis::Even { first, step, .. } => index.saturating_sub(*first).div_ceil(*step),
            Axis::List(picks) => picks.partition_point(|pick| pick.index < index) as u64,
        }
    }

    /// How many different indices a stretch has.
    pub(super) fn distinct(&self, stretch: &TileSpan) -> u64 {
        match self {
            Axis::Even { .. } => stretch.count(),
            Axis::List(picks) => {
                let picks = &picks[stretch.from as usize..stretch.to as usize];
                1 + picks.windows(2).filter(|pair| pair[0].index != pair[1].index).count() as u64
            }
        }
    }
}
