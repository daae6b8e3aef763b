//! Vectors of one lane: SSE2, which every x86-64 processor has.

use std::arch::x86_64::*;

use super::{LANE, Lanes, entry_points, register_operations};

/// Proof that the processor has SSE2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::simd) struct Sse2(());

impl Sse2 {
    /// The proof, if the processor has it.
    pub(in crate::simd) fn detect() -> Option<Self> {
        is_x86_feature_detected!("sse2").then_some(Self(()))
    }
}

entry_points!(Sse2, "sse2");

// SAFETY: `detect` makes a value only where SSE2 was found; a vector is one lane, and the instructions touch what the
// contracts name.
unsafe impl Lanes for Sse2 {
    type V = __m128i;
    const LANES: usize = 1;
    const PERMUTES: bool = false;

    #[inline(always)]
    unsafe fn read(self, src: *const u8, _: usize) -> __m128i {
        // SAFETY: `self` proves SSE2; the caller answers for the bytes.
        unsafe { _mm_loadu_si128(src.cast()) }
    }

    #[inline(always)]
    unsafe fn write_lane<const L: usize>(self, dst: *mut u8, v: __m128i) {
        // SAFETY: as for `read`.
        unsafe { self.write(dst, v) }
    }

    #[inline(always)]
    unsafe fn write(self, dst: *mut u8, v: __m128i) {
        // SAFETY: as for `read`.
        unsafe { _mm_storeu_si128(dst.cast(), v) }
    }

    register_operations! {
        fn repeat(lane: [u8; LANE]) -> __m128i { _mm_loadu_si128(lane.as_ptr().cast()) }
        fn splat(b: u8) -> __m128i { _mm_set1_epi8(b as i8) }
        fn interleave(a: __m128i, b: __m128i) -> (__m128i, __m128i) { (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)) }
        fn and(a: __m128i, b: __m128i) -> __m128i { _mm_and_si128(a, b) }
        fn xor(a: __m128i, b: __m128i) -> __m128i { _mm_xor_si128(a, b) }
        fn add(a: __m128i, b: __m128i) -> __m128i { _mm_add_epi8(a, b) }
        fn shift_right[BITS: i32](v: __m128i) -> __m128i { _mm_srli_epi64::<BITS>(v) }
        fn shift_left[BITS: i32](v: __m128i) -> __m128i { _mm_slli_epi64::<BITS>(v) }
        fn move_up[COUNT: i32](v: __m128i) -> __m128i { _mm_slli_si128::<COUNT>(v) }
    }

    #[inline(always)]
    fn last_of_lane<const WIDTH: usize>(self, v: __m128i) -> __m128i {
        // SAFETY: `self` proves SSE2, and these instructions work on registers.
        unsafe {
            let words = if WIDTH == 1 { _mm_unpackhi_epi8(v, v) } else { v };
            match WIDTH {
                1 | 2 => _mm_shuffle_epi32::<0xFF>(_mm_shufflehi_epi16::<0xFF>(words)),
                4 => _mm_shuffle_epi32::<0xFF>(v),
                _ => _mm_shuffle_epi32::<0xEE>(v),
            }
        }
    }
}
