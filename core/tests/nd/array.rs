//! An array kept item by item, and what to make of it at random.

use oxiblosc_core::nd::{Geometry, Tiling};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A fixed seed, so that every run tests the same; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` ask for others and more.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(0xb2d);
    }
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    config
}

/// All indices of a box in C order.
pub(crate) fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    for &len in shape {
        let longer = |index: Vec<u64>| {
            (0..len).map(move |i| {
                let mut index = index.clone();
                index.push(i);
                index
            })
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// Offset in items of an index in a C-order buffer.
pub(crate) fn c_order(shape: &[u64], index: &[u64]) -> usize {
    shape.iter().zip(index).fold(0, |at, (&len, &i)| at * len as usize + i as usize)
}

/// Items that differ from their neighbours, and are not zero.
pub(crate) fn content(items: usize, item_size: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let byte = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 | 1
    };
    (0..items * item_size).map(byte).collect()
}

/// Number of the chunk and offset in items where the format puts an index, by the words of the format.
pub(crate) fn place(geometry: &Geometry, index: &[u64]) -> (u64, usize) {
    let ndim = index.len();
    let chunk: Vec<u64> = geometry.chunk_shape.iter().map(|&n| n.into()).collect();
    let block: Vec<u64> = geometry.block_shape.iter().map(|&n| n.into()).collect();
    let axis = |f: &dyn Fn(usize) -> u64| -> Vec<u64> { (0..ndim).map(f).collect() };
    let chunk_grid = axis(&|d| geometry.shape[d].div_ceil(chunk[d]));
    let block_grid = axis(&|d| chunk[d].div_ceil(block[d]));
    let in_chunk = axis(&|d| index[d] % chunk[d]);
    let number = c_order(&chunk_grid, &axis(&|d| index[d] / chunk[d]));
    let block_number = c_order(&block_grid, &axis(&|d| in_chunk[d] / block[d]));
    let in_block = c_order(&block, &axis(&|d| in_chunk[d] % block[d]));
    (number as u64, block_number * block.iter().product::<u64>() as usize + in_block)
}

/// The decoded chunks of an array, with `padding` in the cells that are not of the array.
pub(crate) fn chunks(tiling: &Tiling, items: &[u8], padding: u8) -> Vec<Vec<u8>> {
    let size = tiling.item_size();
    let mut chunks = vec![vec![padding; tiling.chunk_bytes()]; tiling.chunk_count() as usize];
    for (i, index) in indices(tiling.shape()).iter().enumerate() {
        let (chunk, at) = place(tiling.geometry(), index);
        chunks[chunk as usize][at * size..][..size].copy_from_slice(&items[i * size..][..size]);
    }
    chunks
}

/// What [`chunks`] made it from.
pub(crate) fn items(tiling: &Tiling, chunks: &[Vec<u8>]) -> Vec<u8> {
    let size = tiling.item_size();
    let at = |index: Vec<u64>| {
        let (chunk, at) = place(tiling.geometry(), &index);
        chunks[chunk as usize][at * size..][..size].to_vec()
    };
    indices(tiling.shape()).into_iter().flat_map(at).collect()
}

/// Arrays of up to six small dimensions, some of them empty, whose chunks and blocks divide nothing, with items of all
/// kinds of sizes; and sometimes sixteen dimensions.
pub(crate) fn tilings() -> impl Strategy<Value = Tiling> {
    let few = (0..=6_usize).prop_flat_map(|ndim| {
        // Few items, so that six dimensions are not slower than two.
        let longest = [1_u64, 60, 12, 7, 5, 4, 3][ndim];
        let empty = if ndim > 4 { 40 } else { 12 };
        let axis = (0..longest * empty, 1..=longest + 1, 1..=longest + 1).prop_map(
            move |(n, chunk, block): (u64, u64, u64)| (if n == 0 { 0 } else { n % longest + 1 }, chunk, block),
        );
        prop::collection::vec(axis, ndim)
    });
    let many = prop::collection::vec((1..=2_u64, 1..=2_u64, 1..=2_u64), 16)
        // At most ten axes longer than one.
        .prop_map(|axes| axes.into_iter().enumerate().map(|(i, a)| if i % 2 == 0 { a } else { (1, a.1, 1) }).collect());
    let axes = prop_oneof![20 => few, 1 => many];
    let item_size = prop_oneof![Just(1_usize), Just(2), Just(3), Just(4), Just(8), Just(16), 1..40_usize, Just(300)];
    (axes, item_size).prop_map(|(axes, item_size)| {
        let geometry = Geometry {
            shape: axes.iter().map(|a| a.0).collect(),
            chunk_shape: axes.iter().map(|a| a.1 as u32).collect(),
            block_shape: axes.iter().map(|a| a.2 as u32).collect(),
        };
        geometry.tile(item_size).unwrap()
    })
}
