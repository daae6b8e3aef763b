//! Transposition by interleaving.

use super::Lanes;

/// One round of interleaving.
///
/// Number the bytes of a lane, all vectors taken together, by the bits of the vector (as many as `N` vectors need)
/// followed by the four bits of the position. Interleaving the vectors `r` and `r + N / 2` moves the highest bit of this
/// number to the lowest place. So items of `N` bytes in a row become planes after four rounds, which bring the bits of
/// the byte within the item to the top, and planes become items after `log2(N)` rounds, which bring them back.
#[inline(always)]
pub(super) fn interleave<S: Lanes, const N: usize>(s: S, v: [S::V; N]) -> [S::V; N] {
    let mut out = v;
    for r in 0..N / 2 {
        (out[2 * r], out[2 * r + 1]) = s.interleave(v[r], v[r + N / 2]);
    }
    out
}

/// Vectors of items of `N` bytes, in a row, to one vector per byte of the item. `N` is a power of two up to 16.
#[inline(always)]
pub(super) fn to_planes<S: Lanes, const N: usize>(s: S, v: [S::V; N]) -> [S::V; N] {
    let v = interleave(s, interleave(s, v));
    interleave(s, interleave(s, v))
}

/// Inverse of [`to_planes`].
#[inline(always)]
pub(super) fn from_planes<S: Lanes, const N: usize>(s: S, mut v: [S::V; N]) -> [S::V; N] {
    v = interleave(s, v);
    if N > 2 {
        v = interleave(s, v);
    }
    if N > 4 {
        v = interleave(s, v);
    }
    if N > 8 {
        v = interleave(s, v);
    }
    v
}

/// Transposes the 8 x 8 bits of the bytes at the same position of eight vectors: bit `k` of vector `t` and bit `t` of
/// vector `k` are swapped. Its own inverse.
#[inline(always)]
pub(super) fn transpose_bits<S: Lanes>(s: S, v: [S::V; 8]) -> [S::V; 8] {
    let [a, b, c, d, e, f, g, h] = v;
    let m = s.splat(0x55);
    let ((a, b), (c, d)) = (swap::<S, 1>(s, a, b, m), swap::<S, 1>(s, c, d, m));
    let ((e, f), (g, h)) = (swap::<S, 1>(s, e, f, m), swap::<S, 1>(s, g, h, m));
    let m = s.splat(0x33);
    let ((a, c), (b, d)) = (swap::<S, 2>(s, a, c, m), swap::<S, 2>(s, b, d, m));
    let ((e, g), (f, h)) = (swap::<S, 2>(s, e, g, m), swap::<S, 2>(s, f, h, m));
    let m = s.splat(0x0F);
    let ((a, e), (b, f)) = (swap::<S, 4>(s, a, e, m), swap::<S, 4>(s, b, f, m));
    let ((c, g), (d, h)) = (swap::<S, 4>(s, c, g, m), swap::<S, 4>(s, d, h, m));
    [a, b, c, d, e, f, g, h]
}

/// Swaps the bits of `b` at `mask` with those of `a` that are `BITS` places higher.
#[inline(always)]
fn swap<S: Lanes, const BITS: i32>(s: S, a: S::V, b: S::V, mask: S::V) -> (S::V, S::V) {
    // Where the two differ, both are flipped. The mask drops what the shift brought in from neighbouring bytes.
    let differ = s.and(s.xor(s.shift_right::<BITS>(a), b), mask);
    (s.xor(a, s.shift_left::<BITS>(differ)), s.xor(b, differ))
}
