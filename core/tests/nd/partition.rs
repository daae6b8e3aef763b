//! Automatic chunk and block shapes.

use oxiblosc_core::nd::{NdError, Partition};
use proptest::prelude::*;

use crate::array::config;

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn chosen_shapes_keep_to_the_sizes(
        shape in prop::collection::vec(prop_oneof![Just(0_u64), 1..20_u64, 1..3000_u64, 1..10_000_000_u64], 0..=16),
        item_size in prop_oneof![1..20_usize, 1..100_000_usize],
        (level2, level3) in (1..1_u32 << 24, 1..1_u32 << 30),
    ) {
        let partition = Partition::for_caches(level2 as usize, level3 as usize);
        let geometry = match partition.geometry(&shape, item_size, None, None) {
            Ok(geometry) => geometry,
            // Caches of a few bytes make more chunks than an index can hold, and products of shapes may be too large.
            Err(error) => {
                prop_assert!(matches!(error, NdError::TooLarge { .. }), "{}", error);
                return Ok(());
            }
        };
        let tiling = geometry.tile(item_size).unwrap();
        prop_assert!(tiling.block_bytes() <= partition.block_bytes || tiling.block_bytes() == item_size);
        let chunk: Vec<_> = tiling.geometry().chunk_shape.iter().map(|&n| u64::from(n)).collect();
        let bytes = chunk.iter().product::<u64>() * item_size as u64;
        prop_assert!(bytes <= partition.chunk_bytes as u64 || bytes == item_size as u64);
        // Chunks are no smaller than need be, and no longer than the array.
        prop_assert!(bytes * 2 >= partition.chunk_bytes.min(tiling.array_bytes() as usize) as u64 / 2u64.pow(shape.len() as u32));
        for ((&chunk, &block), &len) in chunk.iter().zip(&tiling.geometry().block_shape).zip(&shape) {
            prop_assert!(chunk >= 1 && block >= 1 && u64::from(block) <= chunk);
            prop_assert!(len == 0 || chunk <= len);
        }
    }
}

fn choose(shape: &[u64], item_size: usize) -> (Vec<u32>, Vec<u32>) {
    let geometry = Partition::default().geometry(shape, item_size, None, None).unwrap();
    (geometry.chunk_shape, geometry.block_shape)
}

#[test]
fn chunks_and_blocks_are_a_little_longer_than_wide() {
    assert_eq!(choose(&[], 4), (vec![], vec![]));
    assert_eq!(choose(&[10], 4), (vec![10], vec![10]));
    assert_eq!(choose(&[1000, 1000], 4), (vec![1000, 1000], vec![125, 500]));
    assert_eq!(choose(&[1 << 40], 8), (vec![1 << 19], vec![1 << 15]));
    assert_eq!(choose(&[100_000, 100_000], 4), (vec![391, 1563], vec![98, 391]));
    assert_eq!(choose(&[1000, 1000, 1000], 1), (vec![63, 125, 500], vec![32, 32, 250]));
    // Axes of length 0 can grow.
    assert_eq!(choose(&[0, 5], 4), (vec![1 << 17, 5], vec![1 << 13, 5]));
    assert_eq!(choose(&[0], 1 << 23), (vec![1], vec![1]));
}

#[test]
fn given_shapes_stay() {
    let partition = Partition::default();
    let given = partition.geometry(&[100, 100], 4, Some(&[30, 40]), Some(&[7, 8])).unwrap();
    assert_eq!((&given.chunk_shape[..], &given.block_shape[..]), (&[30, 40][..], &[7, 8][..]));
    let chunk = partition.geometry(&[1 << 20, 1 << 10], 4, Some(&[1 << 10, 1 << 10]), None).unwrap();
    assert_eq!((&chunk.chunk_shape[..], &chunk.block_shape[..]), (&[1 << 10, 1 << 10][..], &[128, 512][..]));
    let block = partition.geometry(&[1 << 20, 1 << 10], 4, None, Some(&[100, 100])).unwrap();
    assert_eq!((&block.chunk_shape[..], &block.block_shape[..]), (&[1100, 1100][..], &[100, 100][..]));
    assert!(matches!(partition.geometry(&[5], 4, Some(&[1, 1]), None), Err(NdError::Rank { .. })));
    assert!(matches!(partition.geometry(&[5], 4, None, Some(&[])), Err(NdError::Rank { .. })));
    assert!(matches!(partition.geometry(&[5], 4, Some(&[0]), None), Err(NdError::Extent { .. })));
    assert!(matches!(partition.geometry(&[1; 17], 4, None, None), Err(NdError::TooManyDims { .. })));
    assert!(matches!(partition.geometry(&[5], usize::MAX, None, None), Err(NdError::TooLarge { .. })));
    assert!(matches!(partition.geometry(&[5], 0, None, None), Err(NdError::ItemSize)));
}

#[test]
fn slabs_are_bounded() {
    let partition = Partition { slab_bytes: Some(64 << 20), ..Partition::default() };
    for shape in [&[0, 1000, 1000][..], &[1_000_000, 1000, 1000], &[0, 100_000_000], &[0], &[7, 3]] {
        let geometry = partition.geometry(shape, 4, None, None).unwrap();
        let rows = u64::from(geometry.chunk_shape[0]);
        let slab = rows * shape[1..].iter().product::<u64>() * 4;
        assert!(slab <= 64 << 20 || rows == 1, "{geometry:?}");
    }
}
