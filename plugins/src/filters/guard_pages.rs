//! Runs every filter with a guard page right before and right after what it reads and writes, at all lengths up to
//! [`LONGEST`]. The tests of the kernels run these at every level and alignment.

use oxiblosc_core::Registry;
use oxiblosc_core::filter::{BitshuffleRule, BlockContext, Filter};
use oxiblosc_core::nd::Geometry;

use crate::guard_pages::{ALIGNMENTS, GuardedPages, LONGEST, SlicePosition};

/// Meta bytes: none, the bits to keep or the side of a cell, the bits to clear.
const METAS: [u8; 4] = [0, 2, 5, 0xF8];

/// Runs `filter` in both directions, in plain memory and at the places for `gap`, and checks that the results are the
/// same. Returns the number of calls between guard pages.
fn compare(
    filter: &mut dyn Filter,
    ctx: &BlockContext<'_>,
    block: &[u8],
    gap: usize,
    memory: &mut [GuardedPages; 3],
) -> u64 {
    let mut runs = 0;
    for forward in [true, false] {
        let mut work = |ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]| {
            let result = if forward { filter.forward(ctx, src, dst) } else { filter.backward(ctx, src, dst) };
            result.map_err(|e| e.to_string())
        };
        let mut expected = vec![0; block.len()];
        let result = work(ctx, block, &mut expected);
        for (from, to) in SlicePosition::pairs(gap) {
            let [input, output, reference] = memory;
            let (src, mut ctx) = (input.with(from, block), *ctx);
            ctx.reference = ctx.reference.map(|bytes| reference.with(to, bytes));
            let (found, dst) = output.write(to, block.len(), |dst| work(&ctx, src, dst));
            assert_eq!(found, result, "{from:?} to {to:?}, {} bytes, {ctx:?}", block.len());
            assert!(result.is_err() || dst == expected, "{from:?} to {to:?}, {} bytes, {ctx:?}", block.len());
            runs += 1;
        }
    }
    runs
}

#[test]
fn every_filter() {
    let registry = Registry::linked().expect("the filters of this crate");
    let noise: Vec<u8> = (0..2 * LONGEST as u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect();
    let mut memory = [(); 3].map(|()| GuardedPages::new(LONGEST + ALIGNMENTS));
    let mut runs = 0;
    for entry in registry.filters() {
        let mut filter = entry.instance();
        for typesize in [1, 2, 3, 4, 8, 12, 16] {
            for len in 0..=LONGEST {
                let mut turn = len;
                for meta in METAS {
                    // One dimension, for the filters that need a shape.
                    let items = (len / typesize) as u32;
                    let geometry =
                        Geometry { shape: vec![items.into()], chunk_shape: vec![items], block_shape: vec![items] };
                    for reference in [None, Some(&noise[LONGEST..][..len])] {
                        for rule in [BitshuffleRule::LeadingEights, BitshuffleRule::WholeBlockOrNothing] {
                            let mut ctx = BlockContext::new(typesize);
                            ctx.meta = meta;
                            ctx.nd = (items > 0).then(|| (&geometry).into());
                            ctx.reference = reference;
                            ctx.bitshuffle = rule;
                            let gap = turn * 29 % ALIGNMENTS;
                            turn += 1;
                            runs += compare(&mut *filter, &ctx, &noise[..len], gap, &mut memory);
                        }
                    }
                }
            }
        }
    }
    println!("{runs} runs of filters between guard pages");
}
