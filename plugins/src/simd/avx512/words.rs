//! Kernels over words: running XOR and sum, and those that the compiler vectorises by itself.

use std::arch::x86_64::*;

use super::{VECTOR, load, store, vector};
use crate::simd::scalar;

/// See [`crate::simd::sub_previous`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn sub_previous(src: &[u8], dst: &mut [u8]) {
    scalar::sub_previous(src, dst);
}

/// See [`crate::simd::xor_running`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn xor_running(width: usize, src: &[u8], dst: &mut [u8]) {
    match width {
        1 => running::<1, false>(src, dst),
        2 => running::<2, false>(src, dst),
        4 => running::<4, false>(src, dst),
        _ => running::<8, false>(src, dst),
    }
}

/// See [`crate::simd::add_running`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn add_running(src: &[u8], dst: &mut [u8]) {
    running::<1, true>(src, dst);
}

/// Running XOR over words of `W` bytes, or running sum of bytes.
///
/// Within each 16-byte part of a vector, every word takes in the previous one, then the two before those two, and so
/// on: after a round at distance `d` it holds the `2 * d` bytes up to itself. Then the second of two parts takes in the
/// last word of the first, the second half that of the first half, and finally all take in the result before the
/// vector. Only this step depends on the previous vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn running<const W: usize, const ADD: bool>(src: &[u8], dst: &mut [u8]) {
    let last_of_part = vector(const { last_of_first_run(W, 16) });
    let last_of_half = vector(const { last_of_first_run(W, 32) });
    let last = vector(const { last_of_first_run(W, VECTOR) });
    let whole = src.len() - src.len() % VECTOR;
    let mut before = _mm512_setzero_si512();
    for at in (0..whole).step_by(VECTOR) {
        let mut v = load(src, at);
        if W <= 1 {
            v = combine::<ADD>(v, _mm512_bslli_epi128::<1>(v));
        }
        if W <= 2 {
            v = combine::<ADD>(v, _mm512_bslli_epi128::<2>(v));
        }
        if W <= 4 {
            v = combine::<ADD>(v, _mm512_bslli_epi128::<4>(v));
        }
        v = combine::<ADD>(v, _mm512_bslli_epi128::<8>(v));
        v = combine::<ADD>(v, _mm512_maskz_permutexvar_epi8(0xFFFF_0000_FFFF_0000, last_of_part, v));
        v = combine::<ADD>(v, _mm512_maskz_permutexvar_epi8(0xFFFF_FFFF_0000_0000, last_of_half, v));
        store(dst, at, combine::<ADD>(v, before));
        before = combine::<ADD>(before, _mm512_permutexvar_epi8(last, v));
    }
    for i in whole..src.len() {
        let previous = if i < W { 0 } else { dst[i - W] };
        dst[i] = if ADD { src[i].wrapping_add(previous) } else { src[i] ^ previous };
    }
}

/// The last word of `width` bytes, repeated, of the first run in each pair of runs of `run` bytes.
const fn last_of_first_run(width: usize, run: usize) -> [u8; VECTOR] {
    let mut index = [0; VECTOR];
    let mut i = 0;
    while i < VECTOR {
        index[i] = (i / (2 * run) * (2 * run) + run - width + i % width) as u8;
        i += 1;
    }
    index
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn combine<const ADD: bool>(a: __m512i, b: __m512i) -> __m512i {
    if ADD { _mm512_add_epi8(a, b) } else { _mm512_xor_si512(a, b) }
}
