//! Differences of bits.

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::plugin_params::{ParamInfo, Params};

/// Facts about it.
pub(crate) const TRAITS: FilterTraits = FilterTraits::LOSSLESS.keeping_zeros().with_params(PARAMS);

const PARAMS: &[ParamInfo] = &[ParamInfo::recorded("steps", "how many items or rows to go back, 1 to 255")];

/// Each byte exclusive-or the one an item before it; in an array, the one a row of the block before it. With filter
/// meta 13 it panics, for those who want to see what happens then.
#[derive(Debug, Clone, Default)]
pub(crate) struct Xor {
    /// 0 is 1.
    steps: u8,
}

impl Xor {
    fn distance(&self, ctx: &BlockContext<'_>) -> usize {
        assert!(ctx.meta != 13, "thirteen");
        let row = ctx.nd.and_then(|nd| nd.block_shape.last()).map_or(1, |&row| row as usize);
        row.saturating_mul(usize::from(self.steps.max(1))).saturating_mul(ctx.item_size_or_typesize())
    }
}

impl Filter for Xor {
    fn configure(&mut self, params: &Params) -> Result<(), FilterError> {
        self.steps = params.get("steps", "1..=255")?.unwrap_or(1);
        if self.steps == 0 { Err(params.invalid("steps", "1..=255").into()) } else { Ok(()) }
    }

    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let distance = self.distance(ctx).min(src.len());
        dst[..distance].copy_from_slice(&src[..distance]);
        dst[distance..].iter_mut().zip(&src[distance..]).zip(src).for_each(|((d, s), before)| *d = s ^ before);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let distance = self.distance(ctx).min(src.len());
        dst[..distance].copy_from_slice(&src[..distance]);
        for at in distance..src.len() {
            dst[at] = src[at] ^ dst[at - distance];
        }
        Ok(())
    }
}
