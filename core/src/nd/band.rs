//! Parts of a selection that are consecutive in the buffer.

use std::ops::Range;
use std::sync::Arc;

use super::axis::{Axis, ListedIndex};
use super::plan::PlanKind;
use super::{NdError, Plan};

/// Where a [`Plan`] may be cut into bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BandAxis {
    /// Between chunks: no chunk is in two bands.
    Chunks,
    /// Between blocks: no block is in two bands.
    Blocks,
}

/// A part of a selection whose items are consecutive in the buffer: some rows of it, and a plan for them alone.
#[derive(Debug, Clone)]
pub struct Band {
    /// Which bytes of the whole buffer these are.
    pub buffer: Range<usize>,
    /// Reads into, or writes from, just these bytes.
    pub plan: Plan,
}

impl Plan {
    /// Cuts the plan into bands, in the order of the buffer, whose buffers together are the whole one, so that several
    /// threads can work at once, or a stream can yield one after another.
    ///
    /// A band holds everything that falls in one row of chunks, or of blocks. (A list of points, or of indices in any
    /// but ascending order, [cannot be cut](Self::is_banded): it is one band.)
    ///
    /// # Errors
    /// As [`buffer_bytes`](Plan::buffer_bytes).
    pub fn bands(&self, cut: BandAxis) -> Result<impl Iterator<Item = Band> + use<>, NdError> {
        let bytes = self.buffer_bytes()?;
        let along = self.band_axis();
        let members = match (&self.kind, along) {
            (PlanKind::Product { axes, .. }, Some(along)) => axes[along].count(),
            _ => 1,
        };
        let members = if bytes == 0 { 0 } else { members };
        let (plan, mut at) = (self.clone(), 0);
        Ok(std::iter::from_fn(move || {
            if at == members {
                return None;
            }
            let (PlanKind::Product { axes, .. }, Some(along)) = (&plan.kind, along) else {
                at = members;
                return Some(Band { buffer: 0..bytes, plan: plan.clone() });
            };
            let (axis, tiling) = (&axes[along], plan.tiling.axes()[along]);
            // If positions descend, the buffer begins with the last member.
            let descending = matches!(axis, Axis::Even { descending: true, .. });
            let edge = if descending { members - at - 1 } else { at };
            let chunk = axis.index(edge) / tiling.chunk * tiling.chunk;
            let (origin, length) = match cut {
                BandAxis::Chunks => (0, tiling.chunk),
                BandAxis::Blocks => (chunk, tiling.block),
            };
            // A chunk may end within a block, and no tile reaches beyond it.
            let range = if descending {
                axis.first_from(origin + (axis.index(edge) - origin) / length * length)..edge + 1
            } else {
                let end = axis.stretch(edge, members, 0, tiling.chunk).to;
                edge..axis.stretch(edge, end, origin, length).to
            };
            let at_row = at;
            at += range.end - range.start;
            Some(plan.band(along, range, at_row))
        }))
    }

    /// Whether [`bands`](Self::bands) can cut the plan.
    pub fn is_banded(&self) -> bool {
        self.band_axis().is_some()
    }

    /// The axis along which the plan can be cut. All axes before it have a single member, so that rows along it are
    /// consecutive.
    fn band_axis(&self) -> Option<usize> {
        let PlanKind::Product { axes, .. } = &self.kind else { return None };
        let along = axes.iter().position(|axis| axis.count() > 1)?;
        axes[along].is_in_order().then_some(along)
    }

    /// The band of the given members of an axis, which is at row `at` of the buffer.
    fn band(&self, along: usize, members: Range<u64>, at: u64) -> Band {
        let PlanKind::Product { axes, strides } = &self.kind else {
            // Only products have a band axis.
            return Band { buffer: 0..0, plan: self.clone() };
        };
        let rows = members.end - members.start;
        let mut axes = axes.clone();
        axes[along] = axes[along].part(members);
        // The result may lack the axes of single items before this one, but not this axis, which is the first longer
        // than 1.
        let mut shape = self.shape.clone();
        if let Some(len) = shape.iter_mut().find(|len| **len > 1) {
            *len = rows;
        }
        let kind = PlanKind::Product { axes, strides: *strides };
        let plan = Plan { tiling: Arc::clone(&self.tiling), shape, kind };
        Band { buffer: at as usize * strides[along]..(at + rows) as usize * strides[along], plan }
    }
}

impl Axis {
    /// Whether positions follow the members, in either direction.
    fn is_in_order(&self) -> bool {
        match self {
            Axis::Even { .. } => true,
            Axis::List(picks) => (0..).zip(picks.iter()).all(|(k, pick)| pick.position == k),
        }
    }

    /// Some members of an axis that is in order, as a separate result.
    fn part(&self, members: Range<u64>) -> Axis {
        match self {
            &Axis::Even { first, step, descending, .. } => {
                let (first, count) = (first + members.start * step, members.end - members.start);
                Axis::Even { first, step, count, position: 0, descending }
            }
            Axis::List(picks) => {
                let picks = picks[members.start as usize..members.end as usize].iter();
                Axis::List(picks.map(|pick| ListedIndex { position: pick.position - members.start, ..*pick }).collect())
            }
        }
    }
}
