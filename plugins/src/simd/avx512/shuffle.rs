//! Byte transposition.
//!
//! Items are taken in strips of 64, so that each plane receives a whole cache line at a time: planes often lie a power
//! of two apart, compete for the same few cache sets, and would be evicted before they are complete.
//!
//! Up to 16 bytes wide, items fill `P` vectors, `P` being the width rounded up to a power of two, with `64 / P` items
//! each. A byte permutation turns each vector into `P` pieces, one per byte of the item, and a transposition of the
//! pieces turns the `P` vectors into planes. Wider items are cut into columns of 16 bytes.

use std::arch::x86_64::*;

use super::transpose::{
    Permutation, after_exchange, before_exchange, permute_and_transpose, transpose_and_permute, transpose_bytes,
};
use super::{AHEAD, VECTOR, load_part, load_planes, load_rows, prefetch, store, store_part, store_planes, store_rows};
use crate::simd::{crowded, items_before_line, misalignment, scalar, slabs, strips};

/// Items that are transposed at a time.
pub(super) const STRIP: usize = 64;

/// Bytes of the columns of wide items.
pub(super) const COLUMN: usize = 16;

/// Items whose bytes are collected where planes are crowded.
const SLAB: usize = 512;

/// The bytes of a column for a slab, one plane after the other.
#[repr(align(64))]
struct Tile([u8; COLUMN * SLAB]);

/// See [`crate::simd::shuffle`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn shuffle(fetch_ahead: bool, width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    if n < STRIP {
        return scalar::shuffle(width, src, dst);
    }
    let (items, tail) = src.split_at(n * width);
    let (planes, dst_tail) = dst.split_at_mut(n * width);
    match width {
        0..=2 => shuffle_narrow::<2>(fetch_ahead, width, items, planes, n),
        3..=4 => shuffle_narrow::<4>(fetch_ahead, width, items, planes, n),
        5..=8 => shuffle_narrow::<8>(fetch_ahead, width, items, planes, n),
        9.. if crowded(width, n) => shuffle_crowded(width, items, planes, n),
        9..=16 => shuffle_narrow::<16>(fetch_ahead, width, items, planes, n),
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
pub(super) fn unshuffle(fetch_ahead: bool, width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    if n < STRIP {
        return scalar::unshuffle(width, src, dst);
    }
    let (planes, tail) = src.split_at(n * width);
    let (items, dst_tail) = dst.split_at_mut(n * width);
    match width {
        0..=2 => unshuffle_narrow::<2>(fetch_ahead, width, planes, items, n),
        3..=4 => unshuffle_narrow::<4>(fetch_ahead, width, planes, items, n),
        5..=8 => unshuffle_narrow::<8>(fetch_ahead, width, planes, items, n),
        9..=16 => unshuffle_narrow::<16>(fetch_ahead, width, planes, items, n),
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
fn shuffle_narrow<const P: usize>(fetch_ahead: bool, width: usize, items: &[u8], planes: &mut [u8], n: usize) {
    let index = gather(width);
    for (first, _) in slabs(misalignment(planes), n, STRIP, STRIP) {
        if fetch_ahead {
            for plane in 0..width {
                prefetch(planes, plane * n + first + 2 * VECTOR);
            }
        }
        strip_to_planes::<P>(width, index, &items[first * width..], planes, n, first);
    }
}

/// The same for items of more than 8 bytes whose planes are [`crowded`]: the bytes of several strips are collected, and
/// written to one plane after the other.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn shuffle_crowded(width: usize, items: &[u8], planes: &mut [u8], n: usize) {
    let index = gather(width.min(COLUMN));
    let mut tile = Tile([0; COLUMN * SLAB]);
    for (first, count) in slabs(misalignment(planes), n, SLAB, STRIP) {
        for column in strips(width.max(COLUMN), COLUMN) {
            for at in strips(count, STRIP) {
                let items = &items[(first + at) * width + column..];
                if width <= COLUMN {
                    strip_to_planes::<COLUMN>(width, index, items, &mut tile.0, SLAB, at);
                } else {
                    column_to_planes(width, items, &mut tile.0, SLAB, at);
                }
            }
            for (row, j) in tile.0.chunks_exact(SLAB).zip(column..width) {
                planes[j * n + first..][..count].copy_from_slice(&row[..count]);
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn unshuffle_narrow<const P: usize>(fetch_ahead: bool, width: usize, planes: &[u8], items: &mut [u8], n: usize) {
    let index = scatter(width);
    for (first, _) in slabs(items_before_line(width, items), n, STRIP, STRIP) {
        if fetch_ahead {
            for line in 0..width {
                prefetch(items, first * width + line * VECTOR + AHEAD.max(2 * P * VECTOR));
            }
        }
        strip_from_planes::<P>(width, index, planes, n, first, &mut items[first * width..]);
    }
}

/// Byte `j` of item `i` of a vector goes to byte `i` of piece `j`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn gather(width: usize) -> Permutation {
    static GATHER: [[[u8; VECTOR]; 2]; COLUMN + 1] = tables(false);
    Permutation::load(&GATHER[width])
}

/// Byte `i` of piece `j` goes to byte `j` of item `i` of a vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn scatter(width: usize) -> Permutation {
    static SCATTER: [[[u8; VECTOR]; 2]; COLUMN + 1] = tables(true);
    Permutation::load(&SCATTER[width])
}

/// The permutations for all widths. (They take longer to compute than a small block to shuffle.)
const fn tables(inverse: bool) -> [[[u8; VECTOR]; 2]; COLUMN + 1] {
    let mut tables = [[[0; VECTOR]; 2]; COLUMN + 1];
    let mut width = 1;
    while width <= COLUMN {
        let pieces = if width == 1 { 2 } else { width.next_power_of_two() };
        let items = VECTOR / pieces;
        let mut index = [0; VECTOR];
        let mut byte = 0;
        while byte < items * width {
            let (i, j) = (byte / width, byte % width);
            if inverse {
                index[byte] = (j * items + i) as u8;
            } else {
                index[j * items + i] = byte as u8;
            }
            byte += 1;
        }
        tables[width] = if inverse { after_exchange(index) } else { before_exchange(pieces, index) };
        width += 1;
    }
    tables
}

/// Puts byte `j` of the first 64 items into plane `j`, from `at` on. The planes are `stride` bytes apart.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
pub(super) fn strip_to_planes<const P: usize>(
    width: usize,
    index: Permutation,
    items: &[u8],
    planes: &mut [u8],
    stride: usize,
    at: usize,
) {
    let bytes = VECTOR / P * width;
    let mut v = [_mm512_setzero_si512(); P];
    for (q, v) in v.iter_mut().enumerate() {
        *v = load_part(items, q * bytes, bytes);
    }
    store_planes(planes, stride, at, width, permute_and_transpose(index, v));
}

/// Inverse of [`strip_to_planes`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
pub(super) fn strip_from_planes<const P: usize>(
    width: usize,
    index: Permutation,
    planes: &[u8],
    stride: usize,
    at: usize,
    items: &mut [u8],
) {
    let bytes = VECTOR / P * width;
    let v = transpose_and_permute(index, load_planes::<P>(planes, stride, at, width));
    for (q, v) in v.into_iter().enumerate() {
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
