//! Ranges of items of an array, counted in C order.

use std::ops::Range;

use oxiblosc::nd::{AxisSelection, Selection};

/// Cuts the items `items`, counted in C order, into boxes, in order: whole rows in the middle, and partial rows at
/// either end, cut in the same way. There are fewer than twice as many boxes as dimensions.
pub(crate) fn selections(shape: &[u64], items: Range<u64>) -> Vec<Selection> {
    let mut found = Vec::new();
    if items.is_empty() {
        return found;
    }
    match shape.split_first() {
        // An array of no dimensions has one item.
        None => found.push(Selection::all()),
        Some((_, inner)) => split(&mut Vec::new(), inner, items, &mut found),
    }
    found
}

/// Adds the boxes of `items`, which are counted along the axis after the `fixed` ones and along the `inner` ones after
/// it.
fn split(fixed: &mut Vec<u64>, inner: &[u64], items: Range<u64>, found: &mut Vec<Selection>) {
    // At least 1: there are items.
    let row = inner.iter().product::<u64>();
    let (first, last) = (items.start.div_ceil(row), items.end / row);
    if first > last {
        // All within row `last`.
        return part_of_row(fixed, inner, last, items.start - last * row..items.end - last * row, found);
    }
    if items.start < first * row {
        part_of_row(fixed, inner, first - 1, items.start - (first - 1) * row..row, found);
    }
    if first < last {
        found.push(rows(fixed, first..last));
    }
    if last * row < items.end {
        part_of_row(fixed, inner, last, 0..items.end - last * row, found);
    }
}

/// Adds the boxes of the items `items` of one row, which fixes another axis.
fn part_of_row(fixed: &mut Vec<u64>, inner: &[u64], row: u64, items: Range<u64>, found: &mut Vec<Selection>) {
    fixed.push(row);
    split(fixed, &inner[1..], items, found);
    fixed.pop();
}

/// All of the rows `rows` along the axis after the fixed ones.
fn rows(fixed: &[u64], rows: Range<u64>) -> Selection {
    // Lengths of an array fit 63 bits.
    let axes = fixed.iter().map(|&index| AxisSelection::Item(index as i64));
    Selection::axes(axes.chain([AxisSelection::from(rows.start as i64..rows.end as i64)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc::nd::{Geometry, Plan};

    /// The numbers of the items that a selection takes from an array of numbered items.
    fn numbers(shape: &[u64], selection: &Selection) -> Vec<u8> {
        let lens: Vec<u32> = shape.iter().map(|&len| len as u32).collect();
        let geometry = Geometry { shape: shape.to_vec(), chunk_shape: lens.clone(), block_shape: lens };
        let tiling = geometry.tile(1).expect("a valid shape");
        let plan = Plan::new(&tiling, selection).expect("inside the array");
        let array: Vec<u8> = (0..shape.iter().product::<u64>() as u8).collect();
        let mut out = vec![0; plan.buffer_bytes().expect("fits")];
        for chunk in plan.chunks() {
            chunk.copy_out(&array, &mut out).expect("fits");
        }
        out
    }

    #[test]
    fn all_ranges_of_small_arrays() {
        for shape in [&[][..], &[7], &[3, 4], &[2, 3, 4], &[1, 1, 5], &[3, 1, 2, 2], &[0, 3]] {
            let len = shape.iter().product::<u64>();
            for start in 0..=len {
                for end in start..=len {
                    let parts = selections(shape, start..end);
                    let found: Vec<u8> = parts.iter().flat_map(|part| numbers(shape, part)).collect();
                    assert_eq!(found, (start as u8..end as u8).collect::<Vec<_>>(), "{shape:?} {start}..{end}");
                    assert!(parts.len() <= (2 * shape.len()).max(1));
                }
            }
        }
    }
}
