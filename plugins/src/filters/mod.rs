//! The filters that Blosc2 defines and those registered with it.

mod bitshuffle;
mod bytedelta;
mod cells;
mod delta;
mod int_trunc;
mod ndcell;
mod ndmean;
mod shuffle;
mod trunc_prec;

#[cfg(all(test, unix))]
mod guard_pages;

pub use bitshuffle::BitShuffle;
pub use bytedelta::{ByteDelta, ByteDeltaOld};
pub use delta::Delta;
pub use int_trunc::IntTrunc;
pub use ndcell::NdCell;
pub use ndmean::NdMean;
pub use shuffle::Shuffle;
pub use trunc_prec::TruncPrec;

use oxiblosc_core::filter::{BlockContext, FilterError};

use crate::simd;

/// The type size of the chunk, checked not to be 0 before any filter divides by it.
fn typesize(ctx: &BlockContext<'_>) -> Result<usize, FilterError> {
    match ctx.typesize {
        1..=255 => Ok(ctx.typesize),
        typesize => Err(FilterError::TypeSize { typesize, expected: "1 to 255" }),
    }
}

/// Number of low bits that the meta byte tells a truncating filter to clear. As a signed number it gives how many of
/// `bits` bits to keep (positive) or to clear (negative). At least one must stay.
fn bits_to_clear(ctx: &BlockContext<'_>, bits: u32, expected: &'static str) -> Result<u32, FilterError> {
    let error = FilterError::Meta { meta: ctx.meta, typesize: ctx.typesize, expected };
    let asked = ctx.meta as i8;
    let cleared =
        if asked >= 0 { bits.checked_sub(asked.unsigned_abs().into()) } else { Some(asked.unsigned_abs().into()) };
    cleared.filter(|cleared| *cleared < bits).ok_or(error)
}

/// Clears the low `bits` of every whole word of `width` bytes and copies the rest. C-Blosc2's encoder does not write
/// that rest; its decoder takes it as it is.
fn clear_low_bits(width: usize, bits: u32, src: &[u8], dst: &mut [u8]) {
    let whole = src.len() - src.len() % width;
    simd::mask(width, u64::MAX << bits, &src[..whole], &mut dst[..whole]);
    dst[whole..].copy_from_slice(&src[whole..]);
}
