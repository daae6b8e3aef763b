//! Byte transposition.
//!
//! Items are taken in strips of 64, so that each plane receives a whole cache line at a time: planes often lie a power
//! of two apart, compete for the same few cache sets, and would be evicted before they are complete.
//!
//! Up to 16 bytes wide, items fill `P` vectors, `P` being the width rounded up to a power of two, with `64 / P` items
//! each. A byte permutation turns each vector into `P` pieces, one per byte of the item, and a transposition of the
//! pieces turns the `P` vectors into planes. Wider items are cut into columns of 16 bytes.

use std::arch::x86_64::*;

use super::transpose::{transpose, transpose_bytes};
use super::{
    AHEAD, VECTOR, load_part, load_planes, load_rows, prefetch, store, store_part, store_planes, store_rows, vector,
};
use crate::simd::{items_before_line, misalignment, scalar, slabs, strips};

/// Items that are transposed at a time.
pub(super) const STRIP: usize = 64;

/// Bytes of the columns of wide items.
pub(super) const COLUMN: usize = 16;

/// See [`crate::simd::shuffle`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn shuffle(width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    if n < STRIP {
        return scalar::shuffle(width, src, dst);
    }
    let (items, tail) = src.split_at(n * width);
    let (planes, dst_tail) = dst.split_at_mut(n * width);
    match width {
        0..=2 => shuffle_narrow::<2>(width, items, planes, n),
        3..=4 => shuffle_narrow::<4>(width, items, planes, n),
        5..=8 => shuffle_narrow::<8>(width, items, planes, n),
        9..=16 => shuffle_narrow::<16>(width, items, planes, n),
        _ => {
            for (first, _) in slabs(misalignment(planes), n, STRIP, STRIP) {
                for column in strips(width, COLUMN) {
                    let items = &items[first * width + column..];
                    column_to_planes(width, items, &mut planes[column * n..], n, first);
                }
            }
        }
    }
    dst_tail.copy_from_slice(tail);
}

/// See [`crate::simd::unshuffle`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn unshuffle(width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    if n < STRIP {
        return scalar::unshuffle(width, src, dst);
    }
    let (planes, tail) = src.split_at(n * width);
    let (items, dst_tail) = dst.split_at_mut(n * width);
    match width {
        0..=2 => unshuffle_narrow::<2>(width, planes, items, n),
        3..=4 => unshuffle_narrow::<4>(width, planes, items, n),
        5..=8 => unshuffle_narrow::<8>(width, planes, items, n),
        9..=16 => unshuffle_narrow::<16>(width, planes, items, n),
        _ => {
            for first in strips(n, STRIP) {
                for column in strips(width, COLUMN) {
                    let items = &mut items[first * width + column..];
                    column_from_planes(width, &planes[column * n..], n, first, items);
                }
            }
        }
    }
    dst_tail.copy_from_slice(tail);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn shuffle_narrow<const P: usize>(width: usize, items: &[u8], planes: &mut [u8], n: usize) {
    let index = gather::<P>(width);
    for (first, _) in slabs(misalignment(planes), n, STRIP, STRIP) {
        for plane in 0..width {
            prefetch(planes, plane * n + first + 2 * VECTOR);
        }
        strip_to_planes::<P>(width, index, &items[first * width..], planes, n, first);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn unshuffle_narrow<const P: usize>(width: usize, planes: &[u8], items: &mut [u8], n: usize) {
    let index = scatter::<P>(width);
    for (first, _) in slabs(items_before_line(width, items), n, STRIP, STRIP) {
        for line in 0..width {
            prefetch(items, first * width + line * VECTOR + AHEAD.max(2 * P * VECTOR));
        }
        strip_from_planes::<P>(width, index, planes, n, first, &mut items[first * width..]);
    }
}

/// Byte `j` of item `i` of a vector goes to byte `i` of piece `j`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn gather<const P: usize>(width: usize) -> __m512i {
    let items = VECTOR / P;
    let mut index = [0; VECTOR];
    for j in 0..width {
        for i in 0..items {
            index[j * items + i] = (i * width + j) as u8;
        }
    }
    vector(index)
}

/// Byte `i` of piece `j` goes to byte `j` of item `i` of a vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn scatter<const P: usize>(width: usize) -> __m512i {
    let items = VECTOR / P;
    let mut index = [0; VECTOR];
    for j in 0..width {
        for i in 0..items {
            index[i * width + j] = (j * items + i) as u8;
        }
    }
    vector(index)
}

/// Puts byte `j` of the first 64 items into plane `j`, from `at` on. The planes are `stride` bytes apart.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
pub(super) fn strip_to_planes<const P: usize>(
    width: usize,
    index: __m512i,
    items: &[u8],
    planes: &mut [u8],
    stride: usize,
    at: usize,
) {
    let bytes = VECTOR / P * width;
    let mut v = [_mm512_setzero_si512(); P];
    for (q, v) in v.iter_mut().enumerate() {
        *v = _mm512_permutexvar_epi8(index, load_part(items, q * bytes, bytes));
    }
    store_planes(planes, stride, at, width, transpose(v));
}

/// Inverse of [`strip_to_planes`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
pub(super) fn strip_from_planes<const P: usize>(
    width: usize,
    index: __m512i,
    planes: &[u8],
    stride: usize,
    at: usize,
    items: &mut [u8],
) {
    let bytes = VECTOR / P * width;
    for (q, v) in transpose(load_planes::<P>(planes, stride, at, width)).into_iter().enumerate() {
        let v = _mm512_permutexvar_epi8(index, v);
        if bytes == VECTOR {
            store(items, q * bytes, v)
        } else {
            store_part(items, q * bytes, bytes, v)
        };
    }
}

/// Puts byte `j` of the first 64 items, for `j` up to 15, into plane `j`, from `at` on. The planes are `stride` bytes
/// apart.
// Inlined, it would add so many addresses that the loop around it spills them.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline(never)]
pub(super) fn column_to_planes(width: usize, items: &[u8], planes: &mut [u8], stride: usize, at: usize) {
    store_planes(planes, stride, at, COLUMN, transpose_bytes(load_rows(items, width)));
}

/// Inverse of [`column_to_planes`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline(never)]
pub(super) fn column_from_planes(width: usize, planes: &[u8], stride: usize, at: usize, items: &mut [u8]) {
    store_rows(items, width, transpose_bytes(load_planes(planes, stride, at, COLUMN)));
}
