//! Means of cells (filter 33).

use std::ops::Add;

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

use super::cells::Cells;
use super::ndcell::scatter;

/// Replaces every item of a cell by the mean of the cell, and stores the block cell by cell as
/// [`NdCell`](super::NdCell) does; decoding moves the means to their places.
///
/// The meta byte, read as a signed number, is the side of a cell in items, cut to the extent of the block along each
/// dimension. Works on floating-point numbers of 4 or 8 bytes and needs the shape of an array
/// ([`BlockContext::nd`]) of at most eight dimensions.
#[derive(Debug, Clone, Default)]
pub struct NdMean;

impl NdMean {
    fn cells(ctx: &BlockContext<'_>, len: usize) -> Result<Cells, FilterError> {
        if !matches!(ctx.typesize, 4 | 8) {
            let expected = "4 or 8 (floating-point numbers)";
            return Err(FilterError::TypeSize { typesize: ctx.typesize, expected });
        }
        let side = match ctx.meta as i8 {
            side @ 1.. => side.unsigned_abs().into(),
            _ => {
                let expected = "the side of a cell, 1 to 127";
                return Err(FilterError::Meta { meta: ctx.meta, typesize: ctx.typesize, expected });
            }
        };
        let cells = Cells::new(ctx, ctx.typesize, len, side)?;
        // C-Blosc2 uses the side along the first dimension to find the origin of a cell along all of them. Where that
        // matters, it can decode neither its own output nor that of others.
        if cells.uneven() {
            let reason = format!("a block with less than {side} items along its first dimension; use a smaller side");
            return Err(FilterError::Geometry { reason });
        }
        Ok(cells)
    }
}

impl Filter for NdMean {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let cells = Self::cells(ctx, src.len())?;
        if ctx.typesize == 4 {
            fill(&cells, src, dst, f32::from_le_bytes, |sum, items| (sum / items as f32).to_le_bytes());
        } else {
            fill(&cells, src, dst, f64::from_le_bytes, |sum, items| (sum / items as f64).to_le_bytes());
        }
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        scatter(&Self::cells(ctx, src.len())?, ctx.typesize, src, dst);
        Ok(())
    }
}

/// Fills `dst` with the mean of each cell, repeated for each of its items. The sum is taken in the type of the items
/// and in row order, as C-Blosc2 does, so that the bytes agree.
fn fill<T: Add<Output = T> + Default + Copy, const N: usize>(
    cells: &Cells,
    src: &[u8],
    dst: &mut [u8],
    read: impl Fn([u8; N]) -> T,
    mean: impl Fn(T, usize) -> [u8; N],
) {
    let (src, _) = src.as_chunks::<N>();
    let (mut dst, _) = dst.as_chunks_mut::<N>();
    cells.for_each(|cell| {
        let mut sum = T::default();
        cell.for_each_run(|first, items| {
            for item in &src[first..][..items] {
                sum = sum + read(*item);
            }
        });
        let (filled, rest) = std::mem::take(&mut dst).split_at_mut(cell.items());
        filled.fill(mean(sum, cell.items()));
        dst = rest;
    });
}

register_filter!(builtin FilterId::NDMEAN, "ndmean", FilterTraits::LOSSY.keeping_zeros().for_arrays(), || Box::new(NdMean));
