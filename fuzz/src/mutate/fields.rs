//! Numbers at known places.

use oxiblosc_conformance::data::Random;

/// Which end of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Chunks.
    Little,
    /// Frames.
    Big,
}

/// Reads the number of `width` bytes at `at`; 0 when there is none.
pub(super) fn get(bytes: &[u8], at: usize, width: usize, order: Order) -> u64 {
    let Some(found) = at.checked_add(width).and_then(|end| bytes.get(at..end)) else { return 0 };
    let push = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    match order {
        Order::Big => found.iter().fold(0, push),
        Order::Little => found.iter().rev().fold(0, push),
    }
}

/// Writes a number, if there is room for it.
pub(super) fn put(bytes: &mut [u8], at: usize, width: usize, order: Order, number: u64) {
    let Some(place) = at.checked_add(width).and_then(|end| bytes.get_mut(at..end)) else { return };
    let little = number.to_le_bytes();
    place.copy_from_slice(&little[..width]);
    if order == Order::Big {
        place.reverse();
    }
}

/// A number that is likely to be at the edge of something, or near what was there.
pub(super) fn edge(old: u64, width: usize, random: &mut Random) -> u64 {
    let top = 1_u64 << (8 * width - 1);
    match random.below(12) {
        0 => 0,
        1 => 1,
        2 => top - 1,
        3 => top,
        4 => u64::MAX,
        5 => old.wrapping_add(1),
        6 => old.wrapping_sub(1),
        7 => old << 1,
        8 => old >> 1,
        9 => 1 << random.below(8 * width),
        10 => random.below(300) as u64,
        _ => random.next_u64(),
    }
}
