//! Bit transposition.
//!
//! Eight items are one record. The bytes of 64 records are shuffled into rows, a row for each byte of the record, in a
//! scratch buffer that stays in the first-level cache. Then the eight rows for the same byte of the eight items are eight
//! vectors whose bits at the same position form 8 x 8 squares; transposed, they are the eight planes of this byte.

use super::shuffle::{STRIP, check_rows, write_rows};
use super::transpose::{from_planes, to_planes, transpose_bits};
use super::{LANE, LaneKernels, Lanes};
use crate::simd::{misalignment, scalar, slabs, strips};

/// The rows of up to 16 bytes of each item of a record.
#[repr(align(64))]
struct BitRows([u8; 8 * LANE * STRIP]);

/// See [`crate::simd::bitshuffle`].
#[inline(always)]
pub(super) fn bitshuffle<S: LaneKernels>(s: S, width: usize, src: &[u8], dst: &mut [u8]) {
    let record = 8 * width;
    let n = src.len() / record;
    if n < S::BYTES {
        return scalar::bitshuffle(width, src, dst);
    }
    let (items, tail) = src.split_at(n * record);
    let (planes, dst_tail) = dst.split_at_mut(n * record);
    let mut rows = BitRows([0; 8 * LANE * STRIP]);
    for (first, count) in slabs(misalignment(planes), n, STRIP, S::BYTES) {
        let items = &items[first * record..];
        // All bytes of the items at once if there are at most 16; otherwise in columns of 16.
        for column in strips(width.max(LANE), LANE) {
            if width == 1 {
                bytes_to_rows(s, items, &mut rows.0, count);
            } else if width <= LANE {
                for byte in strips(record, LANE) {
                    s.rows_to_planes(&items[byte..], record, &mut rows.0[byte * STRIP..], STRIP, count, LANE);
                }
            } else {
                for (t, rows) in rows.0.chunks_exact_mut(LANE * STRIP).enumerate() {
                    s.rows_to_planes(&items[t * width + column..], record, rows, STRIP, count, LANE);
                }
            }
            let bytes = width.min(LANE);
            for j in 0..bytes {
                let planes = &mut planes[8 * (column + j) * n + first..];
                s.rows_to_bits(&rows.0[j * STRIP..], bytes * STRIP, planes, n, count);
            }
        }
    }
    dst_tail.copy_from_slice(tail);
}

/// See [`crate::simd::bitunshuffle`].
#[inline(always)]
pub(super) fn bitunshuffle<S: LaneKernels>(s: S, width: usize, src: &[u8], dst: &mut [u8]) {
    let record = 8 * width;
    let n = src.len() / record;
    if n < S::BYTES {
        return scalar::bitunshuffle(width, src, dst);
    }
    let (planes, tail) = src.split_at(n * record);
    let (items, dst_tail) = dst.split_at_mut(n * record);
    let mut rows = BitRows([0; 8 * LANE * STRIP]);
    for (first, count) in slabs(0, n, STRIP, S::BYTES) {
        let items = &mut items[first * record..];
        for column in strips(width.max(LANE), LANE) {
            let bytes = width.min(LANE);
            for j in 0..bytes {
                let planes = &planes[8 * (column + j) * n + first..];
                s.rows_from_bits(planes, n, count, &mut rows.0[j * STRIP..], bytes * STRIP);
            }
            if width == 1 {
                bytes_from_rows(s, &rows.0, items, count);
            } else if width <= LANE {
                for byte in strips(record, LANE) {
                    s.rows_from_planes(&rows.0[byte * STRIP..], STRIP, &mut items[byte..], record, count, LANE);
                }
            } else {
                for (t, rows) in rows.0.chunks_exact(LANE * STRIP).enumerate() {
                    s.rows_from_planes(rows, STRIP, &mut items[t * width + column..], record, count, LANE);
                }
            }
        }
    }
    dst_tail.copy_from_slice(tail);
}

/// Records of eight bytes to rows.
#[inline(always)]
fn bytes_to_rows<S: Lanes>(s: S, items: &[u8], rows: &mut [u8], count: usize) {
    let items = &items[..8 * count];
    for first in strips(count, S::BYTES) {
        let mut v = [s.splat(0); 8];
        for (q, v) in v.iter_mut().enumerate() {
            // SAFETY: the lanes of the eight vectors are the records from `first` on, two records in each, and there are
            // `count` records.
            *v = unsafe { s.read(items.as_ptr().add(first * 8 + q * LANE), LANE * 8) };
        }
        for (j, v) in to_planes(s, v).into_iter().enumerate() {
            s.store(rows, j * STRIP + first, v);
        }
    }
}

/// Inverse of [`bytes_to_rows`].
#[inline(always)]
fn bytes_from_rows<S: Lanes>(s: S, rows: &[u8], items: &mut [u8], count: usize) {
    let items = &mut items[..8 * count];
    for first in strips(count, S::BYTES) {
        let mut v = [s.splat(0); 8];
        for (j, v) in v.iter_mut().enumerate() {
            *v = s.load(rows, j * STRIP + first);
        }
        let v = from_planes(s, v);
        // SAFETY: the lanes of the eight vectors are the records from `first` on, two records in each, and there are `count`
        // records.
        unsafe { write_rows(s, items.as_mut_ptr().add(first * 8), LANE, v) };
    }
}

/// Eight rows of `count` bytes, `row_step` bytes apart, to eight planes, `n` bytes apart.
#[inline(always)]
pub(super) fn rows_to_bits<S: Lanes>(s: S, rows: &[u8], row_step: usize, planes: &mut [u8], n: usize, count: usize) {
    check_rows(rows.len(), 8, row_step, count);
    check_rows(planes.len(), 8, n, count);
    for at in strips(count, S::BYTES) {
        let mut v = [s.splat(0); 8];
        for (t, v) in v.iter_mut().enumerate() {
            // SAFETY: the vector ends at most at `count`, and that much of the row was checked to be there.
            *v = unsafe { s.read(rows.as_ptr().add(t * row_step + at), LANE) };
        }
        for (k, v) in transpose_bits(s, v).into_iter().enumerate() {
            // SAFETY: the vector ends at most at `count`, and that much of the plane was checked to be there.
            unsafe { s.write(planes.as_mut_ptr().add(k * n + at), v) };
        }
    }
}

/// Inverse of [`rows_to_bits`].
#[inline(always)]
pub(super) fn rows_from_bits<S: Lanes>(s: S, planes: &[u8], n: usize, count: usize, rows: &mut [u8], row_step: usize) {
    check_rows(rows.len(), 8, row_step, count);
    check_rows(planes.len(), 8, n, count);
    for at in strips(count, S::BYTES) {
        let mut v = [s.splat(0); 8];
        for (k, v) in v.iter_mut().enumerate() {
            // SAFETY: the vector ends at most at `count`, and that much of the plane was checked to be there.
            *v = unsafe { s.read(planes.as_ptr().add(k * n + at), LANE) };
        }
        for (t, v) in transpose_bits(s, v).into_iter().enumerate() {
            // SAFETY: the vector ends at most at `count`, and that much of the row was checked to be there.
            unsafe { s.write(rows.as_mut_ptr().add(t * row_step + at), v) };
        }
    }
}
