//! Bit shuffle (filter 2).

use std::ops::Range;

use oxiblosc_core::filter::{BitshuffleRule, BlockContext, Filter, FilterError, FilterPart, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

use crate::simd::{self, Level};

/// Gathers the lowest bits of the first bytes of all items, then the next bits, and so on: bit `k` of byte `j` of item
/// `8g + t` becomes bit `t` of byte `(8j + k) * n / 8 + g`.
///
/// The number of items `n` must be a multiple of 8; [`BitshuffleRule`] says what happens if it is not. The meta byte is
/// ignored.
#[derive(Debug, Clone, Default)]
pub struct BitShuffle {
    level: Level,
}

impl BitShuffle {
    /// Creates a filter that uses the kernels of `level`.
    pub const fn with_level(level: Level) -> Self {
        Self { level }
    }
}

/// The item size to transpose with; `None` if the block is only copied.
fn width(ctx: &BlockContext<'_>, len: usize) -> Result<Option<usize>, FilterError> {
    let width = super::typesize(ctx)?;
    let transposes = match ctx.bitshuffle {
        BitshuffleRule::LeadingEights => true,
        BitshuffleRule::WholeBlockOrNothing => (len / width).is_multiple_of(8),
    };
    Ok(transposes.then_some(width))
}

impl Filter for BitShuffle {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        match width(ctx, src.len())? {
            Some(width) => simd::bitshuffle(self.level, width, src, dst),
            None => dst.copy_from_slice(src),
        }
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        match width(ctx, src.len())? {
            Some(width) => simd::bitunshuffle(self.level, width, src, dst),
            None => dst.copy_from_slice(src),
        }
        Ok(())
    }

    /// Eight items are made of a byte of each plane; the rest after the last eight has no planes.
    fn part(&self, ctx: &BlockContext<'_>, len: usize, range: Range<usize>) -> Option<FilterPart> {
        let eight = 8 * width(ctx, len).ok()??;
        let (count, groups) = (len / eight, range.start / eight..range.end.div_ceil(eight));
        let bytes = groups.start * eight..groups.end * eight;
        (groups.end <= count).then_some(FilterPart { bytes, first: groups, stride: count, count: eight })
    }
}

register_filter!(builtin FilterId::BITSHUFFLE, "bitshuffle", FilterTraits::LOSSLESS.keeping_zeros().with_parts(), || Box::new(BitShuffle::default()));
