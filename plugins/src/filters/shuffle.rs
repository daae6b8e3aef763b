//! Byte shuffle (filter 1).

use std::ops::Range;

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterPart, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

use crate::simd::{self, Level};

/// Gathers the first bytes of all items, then the second bytes, and so on: `out[j * n + i] = in[i * s + j]` for `n`
/// whole items of `s` bytes. The rest after the last whole item is copied.
///
/// The meta byte is the item size `s` to use instead of the type size; 0 stands for the type size.
#[derive(Debug, Clone, Default)]
pub struct Shuffle {
    level: Level,
}

impl Shuffle {
    /// Creates a filter that uses the kernels of `level`.
    pub const fn with_level(level: Level) -> Self {
        Self { level }
    }
}

fn width(ctx: &BlockContext<'_>) -> Result<usize, FilterError> {
    if ctx.meta == 0 { super::typesize(ctx) } else { Ok(ctx.meta.into()) }
}

impl Filter for Shuffle {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        simd::shuffle(self.level, width(ctx)?, src, dst);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        simd::unshuffle(self.level, width(ctx)?, src, dst);
        Ok(())
    }

    /// Items are made of as many bytes of each plane; the rest after the last item has no planes.
    fn part(&self, ctx: &BlockContext<'_>, len: usize, range: Range<usize>) -> Option<FilterPart> {
        let width = width(ctx).ok()?;
        let (count, items) = (len / width, range.start / width..range.end.div_ceil(width));
        let bytes = items.start * width..items.end * width;
        (items.end <= count).then_some(FilterPart { bytes, first: items, stride: count, count: width })
    }
}

register_filter!(builtin FilterId::SHUFFLE, "shuffle", FilterTraits::LOSSLESS.keeping_zeros().grouping_bytes().with_parts(), || Box::new(Shuffle::default()));
