//! Reading and writing selections.

use std::collections::BTreeMap;

use oxiblosc_core::nd::{AxisSelection, BandAxis, Geometry, NdError, Plan, Selection, Tiling};
use proptest::prelude::*;

use crate::array::{c_order, chunks, config, content, indices, items, place, tilings};

/// What to take from an axis, before its length is known.
#[derive(Debug, Clone)]
enum Take {
    All,
    Item(u64),
    Slice(Option<i64>, Option<i64>, i64),
    List(Vec<i64>),
}

fn takes() -> impl Strategy<Value = Vec<Take>> {
    let bound = prop::option::weighted(0.8, -70..70_i64);
    let step = prop_oneof![-5..=-1_i64, 1..=5_i64, Just(i64::MAX), Just(i64::MIN), Just(1), Just(-1)];
    let take = prop_oneof![
        2 => Just(Take::All),
        1 => any::<u64>().prop_map(Take::Item),
        4 => (bound.clone(), bound, step).prop_map(|(start, stop, step)| Take::Slice(start, stop, step)),
        2 => prop::collection::vec(any::<i64>(), 0..9).prop_map(Take::List),
    ];
    prop::collection::vec(take, 0..=16)
}

/// Members of each axis in order, and whether the result has the axis; by Python's rules, one index at a time.
type Members = (Vec<Vec<u64>>, Vec<bool>);

fn selection(takes: &[Take], shape: &[u64]) -> Option<(Selection, Members)> {
    let mut axes = Vec::new();
    let (mut members, mut kept) = (Vec::new(), Vec::new());
    for (axis, &len) in shape.iter().enumerate() {
        let signed = |i: i64| if len == 0 { 0 } else { i.rem_euclid(2 * len as i64) - len as i64 };
        let resolve = |i: i64| if i < 0 { (i + len as i64) as u64 } else { i as u64 };
        let Some(take) = takes.get(axis) else {
            members.push((0..len).collect());
            kept.push(true);
            continue;
        };
        let (selection, taken) = match take {
            Take::All => (AxisSelection::ALL, (0..len).collect()),
            Take::Item(_) | Take::List(_) if len == 0 => return None,
            Take::Item(n) => (AxisSelection::Item(signed(*n as i64 >> 1)), vec![resolve(signed(*n as i64 >> 1))]),
            Take::Slice(start, stop, step) => {
                (AxisSelection::Slice { start: *start, stop: *stop, step: *step }, slice(*start, *stop, *step, len))
            }
            Take::List(list) => {
                let list: Vec<_> = list.iter().map(|&i| signed(i >> 1)).collect();
                let taken = list.iter().map(|&i| resolve(i)).collect();
                (AxisSelection::List(list), taken)
            }
        };
        axes.push(selection);
        members.push(taken);
        kept.push(!matches!(take, Take::Item(_)));
    }
    Some((Selection::axes(axes), (members, kept)))
}

/// `range(len)[start:stop:step]`, by stepping through it.
fn slice(start: Option<i64>, stop: Option<i64>, step: i64, len: u64) -> Vec<u64> {
    let len = len as i128;
    let from_end = |i: i64| if i < 0 { i as i128 + len } else { i as i128 };
    let (mut at, stop) = if step > 0 {
        (start.map_or(0, from_end).max(0), stop.map_or(len, from_end).min(len))
    } else {
        (start.map_or(len - 1, from_end).min(len - 1), stop.map_or(-1, |i| from_end(i).max(-1)))
    };
    let mut taken = Vec::new();
    while if step > 0 { at < stop } else { at > stop } {
        if (0..len).contains(&at) {
            taken.push(at as u64);
        }
        at += step as i128;
    }
    taken
}

/// Indices of the selected items in C order of the result.
fn selected(members: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let lens: Vec<_> = members.iter().map(|m| m.len() as u64).collect();
    let index = |at: Vec<u64>| at.iter().zip(members).map(|(&i, members)| members[i as usize]).collect();
    indices(&lens).into_iter().map(index).collect()
}

/// Reads and writes `selection`, which takes the items at `wanted`, and looks at what the plan touches.
fn check(tiling: &Tiling, selection: &Selection, wanted: &[Vec<u64>], shape: &[u64]) {
    let size = tiling.item_size();
    let array = content(indices(tiling.shape()).len(), size);
    let offset = |index: &Vec<u64>| c_order(tiling.shape(), index) * size;
    let expected: Vec<u8> = wanted.iter().flat_map(|index| array[offset(index)..][..size].to_vec()).collect();

    let plan = Plan::new(tiling, selection).unwrap();
    assert_eq!(plan.shape(), shape);
    assert_eq!(plan.buffer_bytes().unwrap(), expected.len());

    // Reading, block by block; only the blocks with something in them, in order.
    let mut touched = BTreeMap::<(u64, usize), usize>::new();
    let block_items = (tiling.block_bytes() / size).max(1);
    for index in wanted {
        let (chunk, at) = place(tiling.geometry(), index);
        *touched.entry((chunk, at / block_items)).or_default() += 1;
    }
    let stored = chunks(tiling, &array, 0xee);
    let mut visited = Vec::new();
    let mut out = vec![0xaa; expected.len()];
    let mut direct = vec![0xaa; expected.len()];
    for chunk in plan.chunks() {
        let decoded = &stored[chunk.number() as usize];
        if let Some(range) = chunk.in_place() {
            direct[range].copy_from_slice(decoded);
        } else {
            chunk.copy_out(decoded, &mut direct).unwrap();
        }
        for block in chunk.blocks() {
            visited.push((chunk.number(), block.number()));
            let decoded = &decoded[block.bytes()];
            block.copy_out(decoded, &mut out).unwrap();
            if let Some(range) = block.in_place() {
                assert_eq!(&out[range], decoded);
            }
        }
    }
    assert_eq!(visited, touched.keys().copied().collect::<Vec<_>>());
    assert_eq!(out, expected);
    assert_eq!(direct, expected);

    // Any chunk by its number.
    let all: Vec<_> = plan.chunks().map(|chunk| (chunk.number(), format!("{chunk:?}"))).collect();
    let lone = |number| plan.chunk(number).map(|chunk| (chunk.number(), format!("{chunk:?}")));
    assert_eq!((0..tiling.chunk_count() + 2).filter_map(lone).collect::<Vec<_>>(), all);

    // In bands, each with a buffer of its own.
    for cut in [BandAxis::Chunks, BandAxis::Blocks] {
        let mut joined = Vec::new();
        let mut visited = Vec::new();
        for band in plan.bands(cut).unwrap() {
            assert_eq!(band.buffer.start, joined.len());
            let mut out = vec![0xaa; band.plan.buffer_bytes().unwrap()];
            assert_eq!(out.len(), band.buffer.len());
            assert_eq!(band.plan.shape().len(), shape.len());
            for chunk in band.plan.chunks() {
                chunk.copy_out(&stored[chunk.number() as usize], &mut out).unwrap();
                visited.extend(chunk.blocks().map(|block| (chunk.number(), block.number())));
            }
            joined.extend(out);
        }
        assert_eq!(joined, expected);
        visited.sort_unstable();
        assert_eq!(visited, touched.keys().copied().collect::<Vec<_>>());
    }

    // Writing: later values win where a list repeats an index.
    let values: Vec<u8> = content(wanted.len(), size).iter().map(|byte| byte ^ 0x55).collect();
    let mut changed = array.clone();
    for (i, index) in wanted.iter().enumerate() {
        changed[offset(index)..][..size].copy_from_slice(&values[i * size..][..size]);
    }
    let mut stored = chunks(tiling, &array, 0);
    for chunk in plan.chunks() {
        let decoded = &mut stored[chunk.number() as usize];
        if chunk.covers_all() {
            decoded.fill(0);
        }
        chunk.copy_in(&values, decoded).unwrap();
    }
    assert_eq!(items(tiling, &stored), changed);
    assert_eq!(stored, chunks(tiling, &changed, 0));

    // `covers_all` finds every chunk that is covered, unless it is by points.
    if !format!("{selection:?}").contains("Points") {
        let mut missing: BTreeMap<u64, usize> = BTreeMap::new();
        for index in indices(tiling.shape()) {
            let (chunk, _) = place(tiling.geometry(), &index);
            *missing.entry(chunk).or_default() += usize::from(!wanted.contains(&index));
        }
        for chunk in plan.chunks() {
            assert_eq!(chunk.covers_all(), missing[&chunk.number()] == 0, "chunk {}", chunk.number());
        }
    }
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn selections_read_and_write_what_they_name(tiling in tilings(), takes in takes()) {
        let Some((selection, (members, kept))) = selection(&takes, tiling.shape()) else {
            return Ok(());
        };
        let wanted = selected(&members);
        prop_assume!(wanted.len() < 5000);
        let shape: Vec<_> = members.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(m, _)| m.len() as u64).collect();
        check(&tiling, &selection, &wanted, &shape);
    }

    #[test]
    fn points_read_and_write_what_they_name(tiling in tilings(), seeds in prop::collection::vec(any::<u64>(), 0..40)) {
        let all = indices(tiling.shape());
        prop_assume!(!all.is_empty());
        let wanted: Vec<_> = seeds.iter().map(|&seed| all[seed as usize % all.len()].clone()).collect();
        // Counted from the end along every other axis.
        let signed = |index: &Vec<u64>| -> Vec<i64> {
            let axes = index.iter().zip(tiling.shape()).enumerate();
            axes.map(|(d, (&i, &len))| if d % 2 == 0 { i as i64 } else { i as i64 - len as i64 }).collect()
        };
        let selection = Selection::points(wanted.iter().map(signed));
        check(&tiling, &selection, &wanted, &[wanted.len() as u64]);
    }
}

fn tiling(shape: &[u64], chunk: &[u32], block: &[u32], item_size: usize) -> Tiling {
    let geometry = Geometry { shape: shape.to_vec(), chunk_shape: chunk.to_vec(), block_shape: block.to_vec() };
    geometry.tile(item_size).unwrap()
}

#[test]
fn the_cost_is_that_of_what_is_touched() {
    // Two hundred million chunks of 2^30 items: whatever is proportional to the array would not come back.
    let tiling = tiling(&[200_000_000, 1 << 30], &[1, 1 << 30], &[1, 1 << 20], 1);
    let plan = Plan::new(&tiling, &"199999999, -1".parse().unwrap()).unwrap();
    let touched: Vec<_> = plan.chunks().flat_map(|c| c.blocks().map(move |b| (c.number(), b.number()))).collect();
    assert_eq!(touched, [(199_999_999, 1023)]);
    let plan = Plan::new(&tiling, &"::-50000000, ::600000000".parse().unwrap()).unwrap();
    assert_eq!(plan.shape(), [4, 2]);
    let touched: Vec<_> = plan.chunks().map(|c| (c.number(), c.blocks().count())).collect();
    assert_eq!(touched, [(49_999_999, 2), (99_999_999, 2), (149_999_999, 2), (199_999_999, 2)]);
    let plan = Plan::new(&tiling, &Selection::all()).unwrap();
    assert_eq!(plan.buffer_bytes().unwrap() as u64, tiling.array_bytes());
    assert!(plan.chunks().take(3).all(|chunk| chunk.covers_all()));
}

#[test]
fn selections_larger_than_memory_are_refused() {
    let tiling = tiling(&[1 << 15; 3], &[1 << 9; 3], &[1 << 5; 3], 8);
    let repeated = AxisSelection::List(vec![0; 1 << 21]);
    let selection = Selection::axes([repeated.clone(), repeated.clone(), repeated]);
    let plan = Plan::new(&tiling, &selection).unwrap();
    assert!(matches!(plan.buffer_bytes(), Err(NdError::TooLarge { .. })));
    let chunk = plan.chunks().next().unwrap();
    assert_eq!(chunk.blocks().next().unwrap().in_place(), None);
    let mut block = vec![0; tiling.block_bytes()];
    assert!(chunk.blocks().next().unwrap().copy_in(&[], &mut block).is_err());
}

#[test]
fn plans_are_cut_along_the_first_axis_that_has_a_choice() {
    let tiling = tiling(&[10, 12, 5], &[4, 6, 5], &[2, 2, 5], 1);
    let bands = |selection: &str, cut| {
        let plan = Plan::new(&tiling, &selection.parse().unwrap()).unwrap();
        let bands = plan.bands(cut).unwrap();
        bands.map(|band| (band.buffer, band.plan.shape().to_vec())).collect::<Vec<_>>()
    };
    let rows = vec![(0..240, vec![4, 12, 5]), (240..480, vec![4, 12, 5]), (480..600, vec![2, 12, 5])];
    assert_eq!(bands("", BandAxis::Chunks), rows);
    assert_eq!(bands("", BandAxis::Blocks).len(), 5);
    let rows = vec![(0..120, vec![2, 12, 5]), (120..360, vec![4, 12, 5]), (360..600, vec![4, 12, 5])];
    assert_eq!(bands("::-1", BandAxis::Chunks), rows);
    // One index on the first axis: along the second.
    assert_eq!(bands("3", BandAxis::Chunks), [(0..30, vec![6, 5]), (30..60, vec![6, 5])]);
    assert_eq!(bands("3:4", BandAxis::Chunks), [(0..30, vec![1, 6, 5]), (30..60, vec![1, 6, 5])]);
    assert_eq!(bands("3, 4, 2", BandAxis::Blocks), [(0..1, vec![])]);
    assert_eq!(bands("[0,1,9]", BandAxis::Chunks), [(0..120, vec![2, 12, 5]), (120..180, vec![1, 12, 5])]);
    assert_eq!(bands("[1,0,9]", BandAxis::Chunks), [(0..180, vec![3, 12, 5])]);
    assert_eq!(bands(":0", BandAxis::Chunks), []);
}

#[test]
fn buffers_of_the_wrong_length_are_refused() {
    let tiling = tiling(&[3, 3], &[2, 2], &[1, 2], 2);
    let plan = Plan::new(&tiling, &"1:, 1:".parse().unwrap()).unwrap();
    let chunk = plan.chunks().next().unwrap();
    let block = chunk.blocks().next().unwrap();
    let is_buffer = |result| matches!(result, Err(NdError::Buffer { .. }));
    assert!(is_buffer(chunk.copy_out(&[0; 7], &mut [0; 8])));
    assert!(is_buffer(chunk.copy_out(&[0; 8], &mut [0; 7])));
    assert!(is_buffer(chunk.copy_in(&[0; 9], &mut [0; 8])));
    assert!(is_buffer(chunk.copy_in(&[0; 8], &mut [0; 9])));
    assert!(is_buffer(block.copy_out(&[0; 5], &mut [0; 8])));
    assert!(is_buffer(block.copy_in(&[0; 8], &mut [0; 3])));
}

#[test]
fn chunks_that_land_in_one_piece_are_recognised() {
    let places = |tiling: &Tiling, selection: &str| {
        let plan = Plan::new(tiling, &selection.parse().unwrap()).unwrap();
        plan.chunks().map(|chunk| chunk.in_place()).collect::<Vec<_>>()
    };
    // One dimension: all but the short last chunk; not when stepping, nor when the chunk is cut.
    let line = tiling(&[10], &[4], &[2], 3);
    assert_eq!(places(&line, ""), [Some(0..12), Some(12..24), None]);
    assert_eq!(places(&line, ":3"), [None]);
    assert_eq!(places(&line, "4:8"), [Some(0..12)]);
    assert_eq!(places(&line, "::-1"), [None, None, None]);
    // Whole rows in both chunk and block.
    let rows = tiling(&[4, 6], &[2, 6], &[1, 6], 2);
    assert_eq!(places(&rows, ""), [Some(0..24), Some(24..48)]);
    assert_eq!(places(&rows, "1:"), [None, Some(12..36)]);
    assert_eq!(places(&tiling(&[4, 6], &[2, 6], &[2, 3], 2), ""), [None, None]);
    assert_eq!(places(&tiling(&[4, 6], &[2, 3], &[2, 3], 2), ""), [const { None }; 4]);
    assert_eq!(places(&tiling(&[], &[], &[], 2), ""), [Some(0..2)]);
}
