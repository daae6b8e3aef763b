//! Layout, and the copies between a C-order buffer and whole chunks.

use oxiblosc_core::nd::{Geometry, ItemPosition, MAX_DIMS, NdError, Window};
use proptest::prelude::*;

use crate::array::{c_order, chunks, config, content, indices, items, place, tilings};

fn geometry(shape: &[u64], chunk: &[u32], block: &[u32]) -> Geometry {
    Geometry { shape: shape.to_vec(), chunk_shape: chunk.to_vec(), block_shape: block.to_vec() }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn every_item_is_where_the_format_puts_it(tiling in tilings()) {
        let block_items = tiling.block_bytes() / tiling.item_size();
        for index in indices(tiling.shape()) {
            let (chunk, at) = place(tiling.geometry(), &index);
            let offset = at % block_items.max(1) * tiling.item_size();
            prop_assert_eq!(tiling.locate(&index).unwrap(), ItemPosition { chunk, block: at / block_items, offset });
        }
        prop_assert_eq!(tiling.chunk_bytes(), tiling.block_bytes() * tiling.blocks_per_chunk());
        prop_assert_eq!(tiling.block_grid().product::<u64>(), tiling.blocks_per_chunk() as u64);
        prop_assert_eq!(tiling.chunk_grid().product::<u64>(), tiling.chunk_count());
        prop_assert_eq!(tiling.stored_bytes(), tiling.chunk_count() * tiling.chunk_bytes() as u64);
        prop_assert_eq!(tiling.array_bytes(), (indices(tiling.shape()).len() * tiling.item_size()) as u64);
        for number in 0..tiling.chunk_count() {
            prop_assert_eq!(tiling.chunk_at(&tiling.chunk_position(number).unwrap()), Some(number));
        }
        let count = tiling.chunk_count();
        prop_assert_eq!(tiling.chunk_position(count), Err(NdError::NoSuchChunk { found: count, count }));
    }

    #[test]
    fn whole_arrays_go_into_chunks_and_back(tiling in tilings()) {
        let array = content(indices(tiling.shape()).len(), tiling.item_size());
        let expected = chunks(&tiling, &array, 0);
        let mut back = vec![0xee; array.len()];
        for (number, expected) in expected.iter().enumerate() {
            let mut chunk = vec![0xee; tiling.chunk_bytes()];
            tiling.window_to_chunk(&tiling.whole(), &array, number as u64, &mut chunk).unwrap();
            prop_assert_eq!(&chunk, expected);
            tiling.chunk_to_window(number as u64, &chunk, &tiling.whole(), &mut back).unwrap();
        }
        prop_assert_eq!(back, array);
    }

    #[test]
    fn windows_may_reach_beyond_the_array(tiling in tilings(), seeds in prop::collection::vec((0..9_u64, 0..9_u64), 16)) {
        // A window anywhere around the array, also one that misses it.
        let window = Window {
            origin: tiling.shape().iter().zip(&seeds).map(|(&len, s)| s.0 % (len + 2)).collect(),
            shape: tiling.shape().iter().zip(&seeds).map(|(&len, s)| s.1 % (len + 2)).collect(),
        };
        let size = tiling.item_size();
        let inside = |index: &[u64]| {
            let at = |d: usize| index[d].checked_sub(window.origin[d]).filter(|&i| i < window.shape[d]);
            (0..index.len()).map(at).collect::<Option<Vec<_>>>()
        };
        let buffer = content(indices(&window.shape).len(), size);
        let mut array = vec![0; indices(tiling.shape()).len() * size];
        let mut back = vec![0; buffer.len()];
        for (i, index) in indices(tiling.shape()).iter().enumerate() {
            if let Some(at) = inside(index) {
                let at = c_order(&window.shape, &at) * size;
                array[i * size..][..size].copy_from_slice(&buffer[at..][..size]);
                back[at..][..size].copy_from_slice(&buffer[at..][..size]);
            }
        }
        let mut copied = vec![0; buffer.len()];
        for (number, expected) in chunks(&tiling, &array, 0).iter().enumerate() {
            let mut chunk = vec![0xee; tiling.chunk_bytes()];
            tiling.window_to_chunk(&window, &buffer, number as u64, &mut chunk).unwrap();
            prop_assert_eq!(&chunk, expected);
            tiling.chunk_to_window(number as u64, &chunk, &window, &mut copied).unwrap();
        }
        prop_assert_eq!(copied, back);
    }

    #[test]
    fn cells_beyond_are_cleared(tiling in tilings(), seeds in prop::collection::vec(0..9_u64, 16)) {
        let extents: Vec<_> = tiling.extended_chunk_shape().zip(&seeds).map(|(len, s)| s % (len + 2)).collect();
        let lens: Vec<_> = tiling.extended_chunk_shape().collect();
        let size = tiling.item_size();
        let full = content(tiling.chunk_bytes() / size, size);
        // The chunk as an array of its own, all of whose cells are visible.
        let alone = Geometry {
            shape: lens.clone(),
            chunk_shape: lens.iter().map(|&n| n as u32).collect(),
            block_shape: tiling.geometry().block_shape.clone(),
        };
        let alone = alone.tile(size).unwrap();
        let mut array = items(&alone, std::slice::from_ref(&full));
        let mut cleared = false;
        for (i, index) in indices(&lens).iter().enumerate() {
            if index.iter().zip(&extents).any(|(at, extent)| at >= extent) {
                array[i * size..][..size].fill(0);
                cleared = true;
            }
        }
        let mut chunk = full;
        prop_assert_eq!(tiling.clear_beyond(&extents, &mut chunk).unwrap(), cleared);
        prop_assert_eq!(&chunk, &chunks(&alone, &array, 0)[0]);
        prop_assert!(!tiling.clear_beyond(&extents, &mut chunk).unwrap());
    }
}

#[test]
fn an_array_of_no_dimensions_holds_one_item() {
    let tiling = geometry(&[], &[], &[]).tile(8).unwrap();
    assert_eq!((tiling.chunk_count(), tiling.blocks_per_chunk(), tiling.chunk_bytes()), (1, 1, 8));
    assert_eq!(tiling.chunk_at(&[]), Some(0));
    let mut chunk = [0; 8];
    tiling.window_to_chunk(&tiling.whole(), &[7; 8], 0, &mut chunk).unwrap();
    assert_eq!(chunk, [7; 8]);
}

#[test]
fn empty_arrays_have_no_chunks() {
    for (shape, chunk, block, bytes) in [
        (&[5, 0, 3], &[2, 2, 2], &[1, 1, 1], 8),
        (&[5, 0, 3], &[2, 0, 2], &[1, 0, 1], 0),
        (&[5, 0, 3], &[2, 0, 2], &[1, 7, 1], 0),
        // However long the other axes are.
        (&[0, i64::MAX as u64, i64::MAX as u64], &[1, 1, 1], &[1, 1, 1], 1),
        (&[i64::MAX as u64, i64::MAX as u64, 0], &[1, 1, 1], &[1, 1, 1], 1),
        (&[0, 0, 0], &[0, 0, 0], &[0, 0, 0], 0),
    ] {
        let tiling = geometry(shape, chunk, block).tile(1).unwrap();
        assert_eq!((tiling.chunk_count(), tiling.stored_bytes(), tiling.array_bytes()), (0, 0, 0));
        assert_eq!(tiling.chunk_bytes(), bytes);
        assert_eq!(tiling.chunk_at(&[0, 0, 0]), None);
        assert!(tiling.locate(&[0, 0, 0]).is_err());
    }
}

#[test]
fn impossible_shapes_are_refused() {
    let max = i64::MAX as u64;
    let fail =
        |shape: &[u64], chunk: &[u32], block: &[u32], item| geometry(shape, chunk, block).tile(item).unwrap_err();
    assert_eq!(fail(&[1; 17], &[1; 17], &[1; 17], 1), NdError::TooManyDims { limit: MAX_DIMS, found: 17 });
    assert!(matches!(fail(&[1, 1], &[1], &[1, 1], 1), NdError::Rank { expected: 2, found: 1, .. }));
    assert!(matches!(fail(&[1, 1], &[1, 1], &[1; 3], 1), NdError::Rank { expected: 2, found: 3, .. }));
    assert_eq!(fail(&[1], &[1], &[1], 0), NdError::ItemSize);
    // C-Blosc2: a chunk length of 0 only where the array has none, a block length of 0 only where the chunk has none.
    assert!(matches!(fail(&[4, 4], &[4, 0], &[1, 1], 1), NdError::Extent { axis: 1, found: 0, .. }));
    assert!(matches!(fail(&[0], &[4], &[0], 1), NdError::Extent { axis: 0, found: 0, .. }));
    for (shape, chunk, block, item) in [
        (&[max + 1, 0][..], &[1, 1][..], &[1, 1][..], 1), // a dimension beyond 63 bits
        (&[max, 2], &[1 << 30, 1], &[1, 1], 1),           // the product of the shape
        (&[1 << 40, 1], &[1, 1], &[1, 1], 1),             // too many chunks
        (&[1, 1], &[1 << 31, 1], &[1, 1], 1),             // a chunk length beyond 31 bits
        (&[1, 1], &[1 << 16, 1 << 16], &[1, 1], 1),       // a chunk beyond 31 bits
        (&[1, 1], &[(1 << 31) - 1, 1], &[1, 1], 1),       // no room for a header in a chunk's 31 bits
        (&[1, 1], &[1 << 30, 1], &[1 << 30, 1], 1),       // a block beyond 512 MiB
        (&[1, 1], &[1, 1], &[1, 1], usize::MAX),          // an item of that size
        (&[max, 1], &[1 << 30, 1], &[1 << 20, 1], 1 << 20), // bytes of the array
        (&[max - 1, 1], &[1 << 29, 1], &[1 << 20, 1], 2), // the same, by a factor of two
    ] {
        let error = fail(shape, chunk, block, item);
        assert!(matches!(error, NdError::TooLarge { .. }), "{shape:?} {chunk:?} {block:?} {item}: {error}");
    }
    // As large as it gets.
    assert!(geometry(&[1], &[i32::MAX as u32 - 32], &[8191]).tile(1).is_err()); // rounded up to blocks
    assert!(geometry(&[1], &[i32::MAX as u32 - 32], &[1]).tile(1).is_ok());
}

#[test]
fn buffers_of_the_wrong_length_are_refused() {
    let tiling = geometry(&[3, 3], &[2, 2], &[1, 2]).tile(2).unwrap();
    let (whole, array) = (tiling.whole(), [1; 18]);
    let mut chunk = [0; 8];
    assert!(tiling.window_to_chunk(&whole, &array, 0, &mut chunk).is_ok());
    assert!(matches!(tiling.window_to_chunk(&whole, &array[1..], 0, &mut chunk), Err(NdError::Buffer { .. })));
    assert!(matches!(tiling.window_to_chunk(&whole, &array, 0, &mut chunk[1..]), Err(NdError::Buffer { .. })));
    assert!(matches!(tiling.window_to_chunk(&whole, &array, 4, &mut chunk), Err(NdError::NoSuchChunk { .. })));
    let flat = Window { origin: vec![0], shape: vec![9] };
    assert!(matches!(tiling.window_to_chunk(&flat, &array, 0, &mut chunk), Err(NdError::Rank { .. })));
    assert!(tiling.clear_beyond(&[1], &mut chunk).is_err());
    assert!(tiling.clear_beyond(&[1, 1], &mut chunk[1..]).is_err());
    assert!(tiling.locate(&[1]).is_err());
    assert_eq!(tiling.chunk_at(&[1]), None);
}

/// The dump of an array of 10 by 7 that python-blosc2 made with chunks of 4 by 5 and blocks of 3 by 2.
#[test]
fn chunks_are_laid_out_as_c_blosc2_does() {
    let tiling = geometry(&[10, 7], &[4, 5], &[3, 2]).tile(1).unwrap();
    let array: Vec<u8> = (0..70).collect();
    let mut chunk = vec![0xee; tiling.chunk_bytes()];
    tiling.window_to_chunk(&tiling.whole(), &array, 0, &mut chunk).unwrap();
    let expected = [
        [0, 1, 7, 8, 14, 15],
        [2, 3, 9, 10, 16, 17],
        [4, 0, 11, 0, 18, 0],
        [21, 22, 0, 0, 0, 0],
        [23, 24, 0, 0, 0, 0],
        [25, 0, 0, 0, 0, 0],
    ];
    assert_eq!(chunk, expected.concat());
}
