//! Kernels over words: running XOR and sum, and those that the compiler vectorises by itself.

use super::Lanes;
use crate::simd::scalar;

/// See [`crate::simd::sub_previous`].
#[inline(always)]
pub(super) fn sub_previous<S: Lanes>(_: S, src: &[u8], dst: &mut [u8]) {
    scalar::sub_previous(src, dst);
}

/// See [`crate::simd::xor_running`].
#[inline(always)]
pub(super) fn xor_running<S: Lanes>(s: S, width: usize, src: &[u8], dst: &mut [u8]) {
    match width {
        1 => running::<S, 1>(s, src, dst, S::xor, |a, b| a ^ b),
        2 => running::<S, 2>(s, src, dst, S::xor, |a, b| a ^ b),
        4 => running::<S, 4>(s, src, dst, S::xor, |a, b| a ^ b),
        _ => running::<S, 8>(s, src, dst, S::xor, |a, b| a ^ b),
    }
}

/// See [`crate::simd::add_running`].
#[inline(always)]
pub(super) fn add_running<S: Lanes>(s: S, src: &[u8], dst: &mut [u8]) {
    running::<S, 1>(s, src, dst, S::add, u8::wrapping_add);
}

/// Running `op` over words of `W` bytes.
///
/// Within a lane, each word takes in the previous one, then the two before those two, and so on: after a round at
/// distance `d` it holds the `2 * d` words up to itself. Then the lanes take in the lanes before them, and finally all
/// take in the result before the vector. Only this last step depends on the previous vector.
#[inline(always)]
fn running<S: Lanes, const W: usize>(
    s: S,
    src: &[u8],
    dst: &mut [u8],
    op: impl Fn(S, S::V, S::V) -> S::V,
    scalar_op: impl Fn(u8, u8) -> u8,
) {
    let whole = src.len() - src.len() % S::BYTES;
    let mut before = s.splat(0);
    for at in (0..whole).step_by(S::BYTES) {
        let mut v = s.load(src, at);
        if W <= 1 {
            v = op(s, v, s.move_up::<1>(v));
        }
        if W <= 2 {
            v = op(s, v, s.move_up::<2>(v));
        }
        if W <= 4 {
            v = op(s, v, s.move_up::<4>(v));
        }
        v = op(s, v, s.move_up::<8>(v));
        let mut last = s.last_of_lane::<W>(v);
        if S::LANES == 2 {
            v = op(s, v, s.to_second(last));
            last = op(s, last, s.swap(last));
        }
        s.store(dst, at, op(s, v, before));
        before = op(s, before, last);
    }
    for i in whole..src.len() {
        let previous = if i < W { 0 } else { dst[i - W] };
        dst[i] = scalar_op(src[i], previous);
    }
}
