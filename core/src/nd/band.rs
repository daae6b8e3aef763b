//! Parts of a selection that are consecutive in the buffer.

use std::ops::Range;
use std::sync::Arc;

use super::axis::Axis;
use super::plan::Kind;
use super::{NdError, Plan};

/// Where a [`Plan`] may be cut into bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cut {
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
    /// Cuts the plan into bands, in the order of the buffer, whose buffers make up the whole one: several threads can
    /// then work at once, or a stream give one after the other.
    ///
    /// A band holds everything that falls in one row of chunks, or of blocks. (A list of points, or of indices in any
    /// but ascending order, cannot be cut: it is one band.)
    ///
    /// # Errors
    /// As [`buffer_bytes`](Plan::buffer_bytes).
    pub fn bands(&self, cut: Cut) -> Result<Vec<Band>, NdError> {
        let bytes = self.buffer_bytes()?;
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let whole = || Ok(vec![Band { buffer: 0..bytes, plan: self.clone() }]);
        let Kind::Product { axes, strides } = &self.kind else { return whole() };
        // All axes before this one have a single member, so that rows along it are consecutive.
        let Some(along) = axes.iter().position(|axis| axis.count() > 1) else { return whole() };
        let axis = &axes[along];
        if !axis.is_in_order() {
            return whole();
        }
        // The result may lack the axes of single items before it, but not this one, which is the first longer than 1.
        let in_shape = self.shape.iter().position(|&len| len > 1).unwrap_or(0);
        let tiling = self.tiling.axes()[along];
        let mut bands = Vec::new();
        let mut from = 0;
        while from < axis.count() {
            let chunk = axis.stretch(from, axis.count(), 0, tiling.chunk);
            let to = match cut {
                Cut::Chunks => chunk.to,
                Cut::Blocks => axis.stretch(from, chunk.to, chunk.tile * tiling.chunk, tiling.block).to,
            };
            let mut axes = axes.clone();
            axes[along] = axis.part(from, to);
            let first = axis.position(from).min(axis.position(to - 1)) as usize;
            let buffer = first * strides[along]..(first + (to - from) as usize) * strides[along];
            let mut shape = self.shape.clone();
            shape[in_shape] = to - from;
            let kind = Kind::Product { axes, strides: *strides };
            bands.push(Band { buffer, plan: Plan { tiling: Arc::clone(&self.tiling), shape, kind } });
            from = to;
        }
        bands.sort_unstable_by_key(|band| band.buffer.start);
        Ok(bands)
    }
}

impl Axis {
    /// Whether positions follow the members, in either direction.
    fn is_in_order(&self) -> bool {
        match self {
            Axis::Even { .. } => true,
            Axis::List(picks) => (0..).zip(picks).all(|(k, pick)| pick.position == k),
        }
    }

    /// The members `from..to` of an axis that is in order, as a result of their own.
    fn part(&self, from: u64, to: u64) -> Axis {
        match self {
            &Axis::Even { first, step, descending, .. } => {
                Axis::Even { first: first + from * step, step, count: to - from, position: 0, descending }
            }
            Axis::List(picks) => {
                let mut picks = picks[from as usize..to as usize].to_vec();
                picks.iter_mut().for_each(|pick| pick.position -= from);
                Axis::List(picks)
            }
        }
    }
}
