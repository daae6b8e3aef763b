//! Arrays that change their shape.

use oxiblosc_core::nd::{Geometry, KeptChunks, NdError, Plan, ResizePlan, Tiling};
use proptest::prelude::*;

use crate::array::{c_order, chunks, config, content, indices, items, tilings};

/// Carries out a resize on decoded chunks.
fn apply(resize: &ResizePlan, mut chunks: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut stale = Vec::new();
    for chunk in resize.stale() {
        resize.before().clear_beyond(&chunk.extents, &mut chunks[chunk.from as usize]).unwrap();
        stale.push((chunk.from, chunk.to));
    }
    let mut unique = stale.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), stale.len(), "a chunk is cleared twice");

    let (mut moved, mut places) = (Vec::new(), Vec::new());
    for run in resize.moves() {
        match run {
            KeptChunks::Kept { from, count } => {
                places.extend((from..from + count).map(|from| (from, moved.len() as u64 + from)));
                moved.extend_from_slice(&chunks[from as usize..(from + count) as usize]);
            }
            KeptChunks::Fresh { count } => {
                moved.extend(std::iter::repeat_n(vec![0; resize.after().chunk_bytes()], count as usize));
            }
        }
    }
    assert_eq!(moved.len() as u64, resize.after().chunk_count());
    for (from, to) in stale {
        assert_eq!(moved[to as usize], chunks[from as usize]);
    }
    moved
}

/// The array after a resize, item by item: old items stay, new ones are zero.
fn resized(before: &Tiling, array: &[u8], shape: &[u64]) -> Vec<u8> {
    let size = before.item_size();
    let item = |index: Vec<u64>| {
        if index.iter().zip(before.shape()).all(|(i, len)| i < len) {
            array[c_order(before.shape(), &index) * size..][..size].to_vec()
        } else {
            vec![0; size]
        }
    };
    indices(shape).into_iter().flat_map(item).collect()
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn old_items_stay_and_new_ones_are_zero(
        tiling in tilings(),
        steps in prop::collection::vec(prop::collection::vec(0..1000_u64, 16), 1..5),
    ) {
        let mut array = content(indices(tiling.shape()).len(), tiling.item_size());
        // What is beyond the array is not zero: someone else may have shrunk it.
        let mut stored = chunks(&tiling, &array, 0xee);
        let mut tiling = tiling;
        for step in steps {
            // Mostly a little longer or shorter, along some of the axes.
            let lens = tiling.shape().iter().zip(&step);
            let shape: Vec<_> = lens.map(|(&len, s)| if s % 3 == 0 { s % 5 } else { (len + s % 4).saturating_sub(s % 2 * 2) }).collect();
            prop_assume!(shape.iter().product::<u64>() < 3000);
            let resize = ResizePlan::new(&tiling, &shape).unwrap();
            array = resized(&tiling, &array, &shape);
            stored = apply(&resize, stored);
            tiling = resize.after().clone();
            prop_assert_eq!(items(&tiling, &stored), &array[..]);
        }
    }

    #[test]
    fn appended_items_need_no_clearing(tiling in tilings(), axis in 0..6_usize, count in 0..9_u64) {
        prop_assume!(axis < tiling.ndim());
        let size = tiling.item_size();
        let array = content(indices(tiling.shape()).len(), size);
        let (resize, selection) = ResizePlan::append(&tiling, axis, count).unwrap();
        let plan = Plan::new(resize.after(), &selection).unwrap();
        let mut shape = tiling.shape().to_vec();
        shape[axis] = count;
        prop_assert_eq!(plan.shape(), &shape[..]);

        let values = content(indices(&shape).len(), size);
        let mut stored = Vec::new();
        let old = chunks(&tiling, &array, 0xee);
        for run in resize.moves() {
            match run {
                KeptChunks::Kept { from, count } => stored.extend_from_slice(&old[from as usize..(from + count) as usize]),
                KeptChunks::Fresh { count } => stored.extend(vec![vec![0; tiling.chunk_bytes()]; count as usize]),
            }
        }
        for chunk in plan.chunks() {
            chunk.copy_in(&values, &mut stored[chunk.number() as usize]).unwrap();
        }
        let mut expected = resized(&tiling, &array, resize.after().shape());
        for (i, index) in indices(&shape).iter().enumerate() {
            let mut index = index.clone();
            index[axis] += tiling.shape()[axis];
            expected[c_order(resize.after().shape(), &index) * size..][..size].copy_from_slice(&values[i * size..][..size]);
        }
        prop_assert_eq!(items(resize.after(), &stored), expected);
    }
}

fn tiling(shape: &[u64], chunk: &[u32]) -> Tiling {
    let geometry = Geometry { shape: shape.to_vec(), chunk_shape: chunk.to_vec(), block_shape: chunk.to_vec() };
    geometry.tile(1).unwrap()
}

#[test]
fn runs_are_as_long_as_they_can_be() {
    let moves =
        |old: &[u64], new: &[u64]| ResizePlan::new(&tiling(old, &[2, 2]), new).unwrap().moves().collect::<Vec<_>>();
    use KeptChunks::{Fresh, Kept};
    assert_eq!(moves(&[4, 6], &[4, 6]), [Kept { from: 0, count: 6 }]);
    assert_eq!(moves(&[4, 6], &[3, 5]), [Kept { from: 0, count: 6 }]);
    assert_eq!(moves(&[4, 6], &[9, 6]), [Kept { from: 0, count: 6 }, Fresh { count: 9 }]);
    assert_eq!(moves(&[4, 6], &[2, 6]), [Kept { from: 0, count: 3 }]);
    assert_eq!(moves(&[4, 6], &[4, 4]), [Kept { from: 0, count: 2 }, Kept { from: 3, count: 2 }]);
    let fresh = Fresh { count: 1 };
    assert_eq!(moves(&[4, 2], &[4, 4]), [Kept { from: 0, count: 1 }, fresh, Kept { from: 1, count: 1 }, fresh]);
    assert_eq!(moves(&[4, 2], &[6, 4]).last(), Some(&Fresh { count: 3 }));
    assert_eq!(moves(&[4, 0], &[4, 4]), [Fresh { count: 4 }]);
    assert_eq!(moves(&[4, 6], &[0, 6]), []);
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(matches!(ResizePlan::new(&tiling(&[4, 6], &[2, 2]), &[4]), Err(NdError::Rank { .. })));
    assert!(matches!(ResizePlan::new(&tiling(&[4, 6], &[2, 2]), &[u64::MAX, 1]), Err(NdError::TooLarge { .. })));
    // Without a chunk length there is nothing to grow by: C-Blosc2 refuses as well.
    assert!(matches!(ResizePlan::new(&tiling(&[0, 6], &[0, 2]), &[1, 6]), Err(NdError::Extent { axis: 0, .. })));
    assert!(matches!(ResizePlan::append(&tiling(&[4, 6], &[2, 2]), 2, 1), Err(NdError::Rank { .. })));
    assert!(matches!(ResizePlan::append(&tiling(&[4, 6], &[2, 2]), 0, u64::MAX), Err(NdError::TooLarge { .. })));
    assert!(matches!(ResizePlan::append(&tiling(&[], &[]), 0, 1), Err(NdError::Rank { .. })));
}
