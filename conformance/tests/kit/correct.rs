//! Correct plugins pass.

use oxiblosc_core::codec::CodecTraits;
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};

use crate::pairs::{Pairs, PairsFlaw};
use crate::rle::{Flaw, Rle};
use crate::transforms::{Flaw as FilterFlaw, Transform};
use crate::{check_codec, check_filter, with_codec, with_filter};

/// A filter made of two functions.
#[derive(Clone, Copy)]
struct Made(Apply, Apply);

type Apply = fn(&BlockContext<'_>, &[u8], &mut [u8]);

impl Filter for Made {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.0(ctx, src, dst);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.1(ctx, src, dst);
        Ok(())
    }
}

fn copy(_: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) {
    dst.copy_from_slice(src);
}

fn by_place(ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) {
    let key = (ctx.block as u8) ^ ctx.offset.map_or(1, |offset| (offset >> 3) as u8);
    dst.iter_mut().zip(src).for_each(|(d, s)| *d = s ^ key);
}

fn against_first(ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) {
    dst.copy_from_slice(src);
    dst.iter_mut().zip(ctx.reference.unwrap_or_default()).for_each(|(d, r)| *d ^= r);
}

/// Turns every row of a block around.
#[derive(Clone)]
struct Rows;

impl Filter for Rows {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let refused = |reason: &str| FilterError::Geometry { reason: reason.to_owned() };
        let nd = ctx.nd.ok_or_else(|| refused("there is no array"))?;
        let row = nd.block_shape.last().map_or(0, |&n| n as usize * ctx.typesize);
        let bytes = nd.block_shape.iter().try_fold(ctx.typesize, |bytes, &n| bytes.checked_mul(n as usize));
        if row == 0 || bytes != Some(src.len()) {
            return Err(refused("the block has another shape"));
        }
        for (src, dst) in src.chunks(row).zip(dst.chunks_mut(row)) {
            dst.iter_mut().zip(src.iter().rev()).for_each(|(d, s)| *d = *s);
        }
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.forward(ctx, src, dst)
    }
}

#[test]
fn correct_filters_pass() {
    let lossless = FilterTraits::LOSSLESS;
    for (traits, made) in [
        (lossless, Made(copy, copy)),
        (lossless.keeping_zeros(), Made(copy, copy)),
        (lossless.positional(), Made(by_place, by_place)),
        (lossless.with_reference().keeping_zeros(), Made(against_first, against_first)),
        (FilterTraits::FORWARD_ONLY, Made(copy, copy)),
    ] {
        let registry = with_filter(traits, made);
        check_filter(&registry).run().unwrap().assert_passed();
    }
    let registry = with_filter(lossless.keeping_zeros().for_arrays(), Rows);
    check_filter(&registry).run().unwrap().assert_passed();
    let registry = with_filter(lossless, Transform(FilterFlaw::None));
    check_filter(&registry).metas(&[0, 1, 200]).run().unwrap().assert_passed();
}

#[test]
fn correct_codecs_pass() {
    let registry = with_codec(CodecTraits::PLAIN, Rle::new(Flaw::None));
    check_codec(&registry).metas(&[0, 1, 200]).run().unwrap().assert_passed();
    let registry = with_codec(CodecTraits::PLAIN.positional(), Rle::new(Flaw::UsesBlock));
    check_codec(&registry).run().unwrap().assert_passed();
    let registry = with_codec(CodecTraits::PLAIN.with_dict(), Pairs::new(PairsFlaw::None));
    check_codec(&registry).run().unwrap().assert_passed();
}
