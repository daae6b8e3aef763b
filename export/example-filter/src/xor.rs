//! Differences of bits.

use oxiblosc_core::filter::{BlockContext, Filter, FilterError};

/// Each byte exclusive-or the one an item before it; in an array, the one a row of the block before it. With filter
/// meta 13 it panics, for those who want to see what happens then.
#[derive(Debug, Clone)]
pub(crate) struct Xor;

impl Xor {
    fn distance(ctx: &BlockContext<'_>) -> usize {
        assert!(ctx.meta != 13, "thirteen");
        let row = ctx.nd.and_then(|nd| nd.block_shape.last()).map_or(1, |&row| row as usize);
        row * ctx.item_size_or_typesize()
    }
}

impl Filter for Xor {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let distance = Self::distance(ctx).min(src.len());
        dst[..distance].copy_from_slice(&src[..distance]);
        dst[distance..].iter_mut().zip(&src[distance..]).zip(src).for_each(|((d, s), before)| *d = s ^ before);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let distance = Self::distance(ctx).min(src.len());
        dst[..distance].copy_from_slice(&src[..distance]);
        for at in distance..src.len() {
            dst[at] = src[at] ^ dst[at - distance];
        }
        Ok(())
    }
}
