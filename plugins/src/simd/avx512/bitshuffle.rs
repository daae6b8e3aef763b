//! Bit transposition.
//!
//! In two steps over slabs of 512 items, so that each plane of bits receives a whole cache line at a time: the bytes of
//! the slab are shuffled into rows of 512 bytes of equal significance in a scratch buffer that stays in the first-level
//! cache, and each row becomes eight planes of bits.

use std::arch::x86_64::*;

use super::shuffle::{
    COLUMN, STRIP, column_from_planes, column_to_planes, gather, scatter, strip_from_planes, strip_to_planes,
};
use super::transpose::{Permutation, after_exchange, before_exchange, permute_and_transpose, transpose_and_permute};
use super::{VECTOR, load, load_part, store, store_part};
use crate::simd::{crowded, misalignment, scalar, slabs, strips};

/// Items that are transposed at a time.
const SLAB: usize = 8 * STRIP;

/// The bytes of equal significance of slabs, one row of [`SLAB`] bytes after the other.
#[repr(align(64))]
struct PlaneRows<const N: usize>([u8; N]);

/// Bytes of rows where planes are [`crowded`]. There the eight planes of a row are done for several slabs before the next
/// eight: with one slab at a time, Zen 5 came to 12 GB/s for items of eight bytes instead of 35.
const SLABS: usize = 32 * SLAB;

/// The same where more than 32 planes are written.
const MANY_SLABS: usize = 64 * SLAB;

/// The next slabs, up to `most` of them, in `group`.
#[inline(always)]
fn next_group<'g>(
    slabs: &mut impl Iterator<Item = (usize, usize)>,
    most: usize,
    group: &'g mut [(usize, usize); 64],
) -> &'g [(usize, usize)] {
    let mut len = 0;
    for (place, slab) in group.iter_mut().zip(slabs.take(most)) {
        *place = slab;
        len += 1;
    }
    &group[..len]
}

/// See [`crate::simd::bitshuffle`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn bitshuffle(width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width / 8 * 8;
    if n < STRIP {
        return scalar::bitshuffle(width, src, dst);
    }
    let (items, tail) = src.split_at(n * width);
    let (planes, dst_tail) = dst.split_at_mut(n * width);
    let crowded = crowded(8 * width, n / 8);
    match width {
        1 => bytes_to_planes(items, planes),
        2 if crowded => bitshuffle_narrow::<2, SLABS>(width, items, planes, n),
        3..=4 if crowded => bitshuffle_narrow::<4, SLABS>(width, items, planes, n),
        5..=8 if crowded => bitshuffle_narrow::<8, MANY_SLABS>(width, items, planes, n),
        9..=16 if crowded => bitshuffle_narrow::<16, MANY_SLABS>(width, items, planes, n),
        2 => bitshuffle_narrow::<2, { 2 * SLAB }>(width, items, planes, n),
        3..=4 => bitshuffle_narrow::<4, { 4 * SLAB }>(width, items, planes, n),
        5..=8 => bitshuffle_narrow::<8, { 8 * SLAB }>(width, items, planes, n),
        9..=16 => bitshuffle_narrow::<16, { 16 * SLAB }>(width, items, planes, n),
        _ => {
            let mut rows = PlaneRows([0; COLUMN * SLAB]);
            for (first, count) in slabs(8 * misalignment(planes), n, SLAB, STRIP) {
                for column in strips(width, COLUMN) {
                    for at in strips(count, STRIP) {
                        let items = &items[(first + at) * width + column..];
                        column_to_planes(width, items, &mut rows.0, SLAB, at);
                    }
                    for j in 0..COLUMN {
                        row_to_bits(&rows.0, j, &mut planes[(column + j) * n + first / 8..], n / 8, count);
                    }
                }
            }
        }
    }
    dst_tail.copy_from_slice(tail);
}

/// See [`crate::simd::bitunshuffle`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn bitunshuffle(width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width / 8 * 8;
    if n < STRIP {
        return scalar::bitunshuffle(width, src, dst);
    }
    let (planes, tail) = src.split_at(n * width);
    let (items, dst_tail) = dst.split_at_mut(n * width);
    let crowded = crowded(8 * width, n / 8);
    match width {
        1 => bytes_from_planes(planes, items),
        2 if crowded => bitunshuffle_narrow::<2, SLABS>(width, planes, items, n),
        3..=4 if crowded => bitunshuffle_narrow::<4, SLABS>(width, planes, items, n),
        5..=8 if crowded => bitunshuffle_narrow::<8, SLABS>(width, planes, items, n),
        9..=16 if crowded => bitunshuffle_narrow::<16, SLABS>(width, planes, items, n),
        2 => bitunshuffle_narrow::<2, { 2 * SLAB }>(width, planes, items, n),
        3..=4 => bitunshuffle_narrow::<4, { 4 * SLAB }>(width, planes, items, n),
        5..=8 => bitunshuffle_narrow::<8, { 8 * SLAB }>(width, planes, items, n),
        9..=16 => bitunshuffle_narrow::<16, { 16 * SLAB }>(width, planes, items, n),
        _ => {
            let mut rows = PlaneRows([0; COLUMN * SLAB]);
            for (first, count) in slabs(0, n, SLAB, STRIP) {
                for column in strips(width, COLUMN) {
                    for j in 0..COLUMN {
                        row_from_bits(&planes[(column + j) * n + first / 8..], n / 8, count, &mut rows.0, j);
                    }
                    for at in strips(count, STRIP) {
                        let items = &mut items[(first + at) * width + column..];
                        column_from_planes(width, &rows.0, SLAB, at, items);
                    }
                }
            }
        }
    }
    dst_tail.copy_from_slice(tail);
}

/// Items of one byte are rows as they are.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn bytes_to_planes(bytes: &[u8], planes: &mut [u8]) {
    let mut row = PlaneRows([0; SLAB]);
    let stride = bytes.len() / 8;
    for (first, count) in slabs(8 * misalignment(planes), bytes.len(), SLAB, STRIP) {
        let planes = &mut planes[first / 8..];
        if count == SLAB {
            row_to_bits(&bytes[first..], 0, planes, stride, SLAB);
        } else {
            row.0[..count].copy_from_slice(&bytes[first..][..count]);
            row_to_bits(&row.0, 0, planes, stride, count);
        }
    }
}

/// Inverse of [`bytes_to_planes`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn bytes_from_planes(planes: &[u8], bytes: &mut [u8]) {
    let mut row = PlaneRows([0; SLAB]);
    let stride = bytes.len() / 8;
    // Slabs begin at whole bytes of the planes.
    for (first, count) in slabs(misalignment(bytes) / 8 * 8, bytes.len(), SLAB, STRIP) {
        let planes = &planes[first / 8..];
        if count == SLAB {
            row_from_bits(planes, stride, SLAB, &mut bytes[first..], 0);
        } else {
            row_from_bits(planes, stride, count, &mut row.0, 0);
            bytes[first..][..count].copy_from_slice(&row.0[..count]);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn bitshuffle_narrow<const P: usize, const N: usize>(width: usize, items: &[u8], planes: &mut [u8], n: usize) {
    let index = gather(width);
    let mut rows = PlaneRows([0; N]);
    let mut slabs = slabs(8 * misalignment(planes), n, SLAB, STRIP);
    let mut group = [(0, 0); 64];
    loop {
        let group = next_group(&mut slabs, N / (P * SLAB), &mut group);
        if group.is_empty() {
            return;
        }
        for (&(first, count), rows) in group.iter().zip(rows.0.chunks_exact_mut(P * SLAB)) {
            for at in strips(count, STRIP) {
                strip_to_planes::<P>(width, index, &items[(first + at) * width..], rows, SLAB, at);
            }
        }
        for j in 0..width {
            for (&(first, count), rows) in group.iter().zip(rows.0.chunks_exact(P * SLAB)) {
                row_to_bits(rows, j, &mut planes[j * n + first / 8..], n / 8, count);
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn bitunshuffle_narrow<const P: usize, const N: usize>(width: usize, planes: &[u8], items: &mut [u8], n: usize) {
    let index = scatter(width);
    let mut rows = PlaneRows([0; N]);
    let mut slabs = slabs(0, n, SLAB, STRIP);
    let mut group = [(0, 0); 64];
    loop {
        let group = next_group(&mut slabs, N / (P * SLAB), &mut group);
        if group.is_empty() {
            return;
        }
        for j in 0..width {
            for (&(first, count), rows) in group.iter().zip(rows.0.chunks_exact_mut(P * SLAB)) {
                row_from_bits(&planes[j * n + first / 8..], n / 8, count, rows, j);
            }
        }
        for (&(first, count), rows) in group.iter().zip(rows.0.chunks_exact(P * SLAB)) {
            for at in strips(count, STRIP) {
                strip_from_planes::<P>(width, index, rows, SLAB, at, &mut items[(first + at) * width..]);
            }
        }
    }
}

/// Bit `k` of the first `count` bytes of row `j` goes to plane `k`; the planes are `stride` bytes apart.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn row_to_bits(rows: &[u8], j: usize, planes: &mut [u8], stride: usize, count: usize) {
    let index = Permutation::load(const { &before_exchange(8, transposed_bytes(false)) });
    let mut v = [_mm512_setzero_si512(); 8];
    for (q, v) in v.iter_mut().enumerate() {
        *v = reverse_bits(transpose_bits(load(rows, j * SLAB + q * STRIP)));
    }
    for (k, v) in permute_and_transpose(index, v).into_iter().enumerate() {
        if count == SLAB {
            store(planes, k * stride, v)
        } else {
            store_part(planes, k * stride, count / 8, v)
        };
    }
}

/// Inverse of [`row_to_bits`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn row_from_bits(planes: &[u8], stride: usize, count: usize, rows: &mut [u8], j: usize) {
    let index = Permutation::load(const { &after_exchange(transposed_bytes(true)) });
    let mut v = [_mm512_setzero_si512(); 8];
    for (k, v) in v.iter_mut().enumerate() {
        *v = if count == SLAB { load(planes, k * stride) } else { load_part(planes, k * stride, count / 8) };
    }
    for (q, v) in transpose_and_permute(index, v).into_iter().enumerate() {
        store(rows, j * SLAB + q * STRIP, transpose_bits(v));
    }
}

/// Byte `b` of quad word `q` goes to byte `q` of quad word `b`, or of the one opposite to it: see [`transpose_bits`].
const fn transposed_bytes(reversed: bool) -> [u8; VECTOR] {
    let mut table = [0; VECTOR];
    let mut i = 0;
    while i < VECTOR {
        let (q, b) = (i / 8, i % 8);
        table[i] = (8 * (if reversed { 7 - b } else { b }) + q) as u8;
        i += 1;
    }
    table
}

/// Transposes the 8 x 8 bits of each quad word, in mirror writing: bit `k` of byte `t` becomes bit `7 - t` of byte `k`.
///
/// The instruction multiplies the bytes of its first operand, which are vectors of bits, by the matrix in the second.
/// The unit vectors bring out the columns of the matrix, and they come out last row first.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn transpose_bits(matrix: __m512i) -> __m512i {
    let units = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    _mm512_gf2p8affine_epi64_epi8::<0>(units, matrix)
}

/// Reverses the bits of every byte.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn reverse_bits(bytes: __m512i) -> __m512i {
    let mirror = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    _mm512_gf2p8affine_epi64_epi8::<0>(bytes, mirror)
}
