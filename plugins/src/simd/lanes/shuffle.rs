//! Byte transposition.
//!
//! Items of up to eight bytes fill vectors, if need be with gaps that make their size a power of two, and are transposed
//! there. Wider ones are cut into columns of 16 bytes.

use super::transpose::{from_planes, to_planes};
use super::{LANE, LaneKernels, Lanes};
use crate::simd::{misalignment, scalar, slabs, strips};

/// Items that are transposed at a time: as many as the bytes in a cache line.
pub(super) const STRIP: usize = 64;

/// Planes this far apart, or a multiple of it, compete for a few places in the first-level cache, which places a line
/// by its address modulo 4096. Sixteen of them would evict each other if they were filled or read little by little. In that
/// case the bytes are collected first, and written to or read from the planes as whole cache lines.
const CROWDED: usize = 1024;

/// The bytes of 16 planes for one strip.
#[repr(align(64))]
struct Tile([u8; LANE * STRIP]);

/// See [`crate::simd::shuffle`].
#[inline(always)]
pub(super) fn shuffle<S: LaneKernels>(s: S, width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    if n < S::BYTES {
        return scalar::shuffle(width, src, dst);
    }
    let (items, tail) = src.split_at(n * width);
    let (planes, dst_tail) = dst.split_at_mut(n * width);
    match width {
        2 => narrow_to_planes::<S, 2>(s, width, items, planes, n),
        4 => narrow_to_planes::<S, 4>(s, width, items, planes, n),
        3 if S::PERMUTES => narrow_to_planes::<S, 4>(s, width, items, planes, n),
        8 => narrow_to_planes::<S, 8>(s, width, items, planes, n),
        5..8 if S::PERMUTES => narrow_to_planes::<S, 8>(s, width, items, planes, n),
        _ => columns_to_planes(s, width, items, planes, n),
    }
    dst_tail.copy_from_slice(tail);
}

/// See [`crate::simd::unshuffle`].
#[inline(always)]
pub(super) fn unshuffle<S: LaneKernels>(s: S, width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    if n < S::BYTES {
        return scalar::unshuffle(width, src, dst);
    }
    let (planes, tail) = src.split_at(n * width);
    let (items, dst_tail) = dst.split_at_mut(n * width);
    match width {
        2 => narrow_from_planes::<S, 2>(s, width, planes, items, n),
        4 => narrow_from_planes::<S, 4>(s, width, planes, items, n),
        3 if S::PERMUTES => narrow_from_planes::<S, 4>(s, width, planes, items, n),
        8 => narrow_from_planes::<S, 8>(s, width, planes, items, n),
        5..8 if S::PERMUTES => narrow_from_planes::<S, 8>(s, width, planes, items, n),
        _ => columns_from_planes(s, width, planes, items, n),
    }
    dst_tail.copy_from_slice(tail);
}

/// The permutation from a lane of items of `width` bytes to one of items padded to `padded` bytes; 128 stands for a
/// gap.
fn spread(width: usize, padded: usize) -> [u8; LANE] {
    std::array::from_fn(|i| if i % padded < width { (i / padded * width + i % padded) as u8 } else { 128 })
}

/// Inverse of [`spread`].
fn gather(width: usize, padded: usize) -> [u8; LANE] {
    std::array::from_fn(|i| {
        let (item, byte) = (i / width, i % width);
        if item < LANE / padded { (item * padded + byte) as u8 } else { 128 }
    })
}

#[inline(always)]
fn narrow_to_planes<S: Lanes, const P: usize>(s: S, width: usize, items: &[u8], planes: &mut [u8], n: usize) {
    assert!(width <= P && n.checked_mul(width) == Some(items.len()) && planes.len() == items.len());
    let index = s.repeat(spread(width, P));
    // Bytes of the items in a lane. Whatever else is read ends up in the gaps.
    let lane = LANE / P * width;
    let mut padded = [0; 32 * 8 + LANE];
    for (first, _) in slabs(misalignment(planes) % S::BYTES, n, S::BYTES, S::BYTES) {
        let mut from = items[first * width..].as_ptr();
        if width != P && (n - first - S::BYTES) * width < LANE {
            padded[..S::BYTES * width].copy_from_slice(&items[first * width..][..S::BYTES * width]);
            from = padded.as_ptr();
        }
        let mut v = [s.splat(0); P];
        for (q, v) in v.iter_mut().enumerate() {
            // SAFETY: lane `l` of vector `q` begins with item `LANE * l + LANE / P * q` of the strip, and the strip lies
            // within the items, or within `padded`. If a lane is longer than its items, `LANE` bytes follow the strip.
            *v = unsafe { s.read(from.add(q * lane), LANE * width) };
            if width != P {
                *v = s.permute(*v, index);
            }
        }
        for (j, v) in to_planes(s, v).into_iter().enumerate() {
            if j < width {
                // SAFETY: the strip ends at most at `n`, and there are `width` planes of `n` bytes.
                unsafe { s.write(planes.as_mut_ptr().add(j * n + first), v) };
            }
        }
    }
}

#[inline(always)]
fn narrow_from_planes<S: Lanes, const P: usize>(s: S, width: usize, planes: &[u8], items: &mut [u8], n: usize) {
    assert!(width <= P && n.checked_mul(width) == Some(items.len()) && planes.len() == items.len());
    let index = s.repeat(gather(width, P));
    let lane = LANE / P * width;
    for first in strips(n, S::BYTES) {
        let mut v = [s.splat(0); P];
        for (j, v) in v.iter_mut().enumerate() {
            if j < width {
                // SAFETY: the strip ends at most at `n`, and there are `width` planes of `n` bytes.
                *v = unsafe { s.read(planes.as_ptr().add(j * n + first), LANE) };
            }
        }
        let mut v = from_planes(s, v);
        if width != P {
            for v in &mut v {
                *v = s.permute(*v, index);
            }
        }
        let items = &mut items[first * width..];
        if width == P || items.len() >= S::BYTES * width + LANE {
            // SAFETY: the strip lies within the items, and what exceeds it, if anything does, is less than the `LANE` bytes
            // that follow it.
            unsafe { write_rows(s, items.as_mut_ptr(), lane, v) };
        } else {
            let mut padded = [0; 32 * 8 + LANE];
            // SAFETY: there is room for a strip of items of up to 8 bytes, and for `LANE` bytes after it.
            unsafe { write_rows(s, padded.as_mut_ptr(), lane, v) };
            items[..S::BYTES * width].copy_from_slice(&padded[..S::BYTES * width]);
        }
    }
}

/// Writes lane after lane of all vectors, `step` bytes apart, in increasing order: what exceeds `step` is replaced by the
/// next lane.
///
/// # Safety
/// There must be room for the lanes `step` bytes apart, and for all 16 bytes of the last one.
#[inline(always)]
pub(super) unsafe fn write_rows<S: Lanes, const N: usize>(s: S, mut to: *mut u8, step: usize, v: [S::V; N]) {
    for v in v {
        // SAFETY: the caller answers for the lanes.
        unsafe { s.write_lane::<0>(to, v) };
        to = to.wrapping_add(step);
    }
    if S::LANES == 2 {
        for v in v {
            // SAFETY: as above.
            unsafe { s.write_lane::<1>(to, v) };
            to = to.wrapping_add(step);
        }
    }
}

/// [`write_rows`] for rows without gaps, and an even number of vectors of two lanes: two rows at a time.
///
/// # Safety
/// There must be room for all lanes.
#[inline(always)]
unsafe fn write_pairs<S: Lanes, const N: usize>(s: S, mut to: *mut u8, v: [S::V; N]) {
    for pair in v.chunks_exact(2) {
        let (first, second) = s.pair(pair[0], pair[1]);
        // SAFETY: the caller answers for the lanes; the second ones follow the first ones of all `N` vectors.
        unsafe {
            s.write(to, first);
            s.write(to.wrapping_add(N * LANE), second);
        }
        to = to.wrapping_add(2 * LANE);
    }
}

#[inline(always)]
fn columns_to_planes<S: LaneKernels>(s: S, width: usize, items: &[u8], planes: &mut [u8], n: usize) {
    // Items of less than 16 bytes are read together with what follows them; for the last ones there must be something.
    let mut padded = [0; (STRIP + 1) * LANE];
    let mut tile = Tile([0; LANE * STRIP]);
    for (first, count) in slabs(misalignment(planes), n, STRIP, S::BYTES) {
        let mut items = &items[first * width..];
        if width < LANE && items.len() < count * width + LANE {
            padded[..count * width].copy_from_slice(&items[..count * width]);
            items = &padded;
        }
        for column in strips(width.max(LANE), LANE) {
            let (items, planes) = (&items[column..], &mut planes[column * n + first..]);
            let bytes = width.min(LANE);
            if n.is_multiple_of(CROWDED) {
                s.rows_to_planes(items, width, &mut tile.0, STRIP, count, bytes);
                for j in 0..bytes {
                    for at in strips(count, S::BYTES) {
                        s.store(planes, j * n + at, s.load(&tile.0, j * STRIP + at));
                    }
                }
            } else {
                s.rows_to_planes(items, width, planes, n, count, bytes);
            }
        }
    }
}

#[inline(always)]
fn columns_from_planes<S: LaneKernels>(s: S, width: usize, planes: &[u8], items: &mut [u8], n: usize) {
    // Items of less than 16 bytes are written together with bytes that the next items replace; for the last ones there
    // must be room.
    let mut padded = [0; (STRIP + 1) * LANE];
    let mut tile = Tile([0; LANE * STRIP]);
    for (first, count) in slabs(0, n, STRIP, S::BYTES) {
        let items = &mut items[first * width..];
        for column in strips(width.max(LANE), LANE) {
            let bytes = width.min(LANE);
            let (mut planes, mut step) = (&planes[column * n + first..], n);
            if n.is_multiple_of(CROWDED) {
                for j in 0..bytes {
                    for at in strips(count, S::BYTES) {
                        s.store(&mut tile.0, j * STRIP + at, s.load(planes, j * n + at));
                    }
                }
                (planes, step) = (&tile.0, STRIP);
            }
            if width < LANE && items.len() < count * width + LANE {
                s.rows_from_planes(planes, step, &mut padded, width, count, width);
                items[..count * width].copy_from_slice(&padded[..count * width]);
            } else {
                s.rows_from_planes(planes, step, &mut items[column..], width, count, bytes);
            }
        }
    }
}

/// Moves byte `j` of `count` rows, which begin `width` bytes apart, to the start of plane `j`, for `j` below `bytes`.
/// The planes begin `step` bytes apart. At least a vector and at most `STRIP` rows, and at most 16 bytes.
#[inline(always)]
pub(super) fn rows_to_planes<S: Lanes>(
    s: S,
    rows: &[u8],
    width: usize,
    planes: &mut [u8],
    step: usize,
    count: usize,
    bytes: usize,
) {
    assert!((S::BYTES..=STRIP).contains(&count) && (1..=LANE).contains(&bytes));
    check_rows(rows.len(), count, width, LANE);
    check_rows(planes.len(), bytes, step, count);
    for first in strips(count, S::BYTES) {
        let mut v = [s.splat(0); 16];
        let mut row = rows[first * width..].as_ptr();
        for v in &mut v {
            // SAFETY: row `q` of each lane is below `count`, and 16 bytes of it were checked to be there.
            *v = unsafe { s.read(row, LANE * width) };
            row = row.wrapping_add(width);
        }
        let mut plane = planes[first..].as_mut_ptr();
        let v = to_planes(s, v);
        // All of them apart, or each plane asks whether there is another one.
        if bytes == LANE {
            for v in v {
                // SAFETY: the vector ends at most at `count`, and that much of each plane was checked to be there.
                unsafe { s.write(plane, v) };
                plane = plane.wrapping_add(step);
            }
        } else {
            for v in v.into_iter().take(bytes) {
                // SAFETY: as above.
                unsafe { s.write(plane, v) };
                plane = plane.wrapping_add(step);
            }
        }
    }
}

/// Inverse of [`rows_to_planes`], but for the bytes of a row from `bytes` to 16, which are set to 0. The rows are written
/// in increasing order.
#[inline(always)]
pub(super) fn rows_from_planes<S: Lanes>(
    s: S,
    planes: &[u8],
    step: usize,
    rows: &mut [u8],
    width: usize,
    count: usize,
    bytes: usize,
) {
    assert!((S::BYTES..=STRIP).contains(&count) && (1..=LANE).contains(&bytes));
    check_rows(rows.len(), count, width, LANE);
    check_rows(planes.len(), bytes, step, count);
    for first in strips(count, S::BYTES) {
        let mut v = [s.splat(0); 16];
        let mut plane = planes[first..].as_ptr();
        if bytes == LANE {
            for v in &mut v {
                // SAFETY: the vector ends at most at `count`, and that much of each plane was checked to be there.
                *v = unsafe { s.read(plane, LANE) };
                plane = plane.wrapping_add(step);
            }
        } else {
            for (j, v) in v.iter_mut().enumerate() {
                if j < bytes {
                    // SAFETY: as above.
                    *v = unsafe { s.read(plane, LANE) };
                }
                plane = plane.wrapping_add(step);
            }
        }
        let v = from_planes(s, v);
        let rows = rows[first * width..].as_mut_ptr();
        // SAFETY: the rows are below `count`, and 16 bytes of each were checked to be there.
        unsafe {
            if S::LANES == 2 && width == LANE {
                write_pairs(s, rows, v);
            } else {
                write_rows(s, rows, width, v);
            }
        }
    }
}

/// Panics unless `len` bytes hold `count` rows (at least one) that begin `step` bytes apart and are `bytes` long.
pub(super) fn check_rows(len: usize, count: usize, step: usize, bytes: usize) {
    let end = step.checked_mul(count.wrapping_sub(1)).and_then(|last| last.checked_add(bytes));
    assert!(end.is_some_and(|end| end <= len), "rows or planes outside of the block");
}
