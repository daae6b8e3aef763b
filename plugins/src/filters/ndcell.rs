//! Reordering by cells (filter 32).

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

use super::cells::Cells;

/// Stores an n-dimensional block cell by cell, so that items which are close along any dimension are close in the
/// stream.
///
/// The meta byte is the side of a cell in items, the same along every dimension; a cell may not have more items than
/// the block. Needs the shape of an array ([`BlockContext::nd`]) of at most eight dimensions.
#[derive(Debug, Clone, Default)]
pub struct NdCell;

impl NdCell {
    fn cells(ctx: &BlockContext<'_>, len: usize) -> Result<Cells, FilterError> {
        let error = |expected| FilterError::Meta { meta: ctx.meta, typesize: ctx.typesize, expected };
        if ctx.meta == 0 {
            return Err(error("the side of a cell, at least 1"));
        }
        let cells = Cells::new(ctx, ctx.item_size_or_typesize(), len, ctx.meta.into())?;
        if cells.items_per_cell().is_none_or(|items| items > cells.items()) {
            return Err(error("a cell with at most as many items as the block"));
        }
        Ok(cells)
    }
}

impl Filter for NdCell {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], mut dst: &mut [u8]) -> Result<(), FilterError> {
        let item_size = ctx.item_size_or_typesize();
        Self::cells(ctx, src.len())?.for_each(|cell| {
            cell.for_each_run(|first, items| {
                let row = &src[first * item_size..][..items * item_size];
                let (head, rest) = std::mem::take(&mut dst).split_at_mut(row.len());
                head.copy_from_slice(row);
                dst = rest;
            });
        });
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        scatter(&Self::cells(ctx, src.len())?, ctx.item_size_or_typesize(), src, dst);
        Ok(())
    }
}

/// Moves the items of `src`, which are in the order of the cells, to their places in the block.
pub(super) fn scatter(cells: &Cells, item_size: usize, mut src: &[u8], dst: &mut [u8]) {
    cells.for_each(|cell| {
        cell.for_each_run(|first, items| {
            let (row, rest) = src.split_at(items * item_size);
            dst[first * item_size..][..row.len()].copy_from_slice(row);
            src = rest;
        });
    });
}

register_filter!(builtin FilterId::NDCELL, "ndcell", FilterTraits::LOSSLESS.keeping_zeros().for_arrays(), || Box::new(NdCell));
