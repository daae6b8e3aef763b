//! Vectors of two lanes: AVX2.

use std::arch::x86_64::*;

use super::{LANE, Lanes, entry_points, register_operations};

/// Proof that the processor has AVX2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::simd) struct Avx2(());

impl Avx2 {
    /// The proof, if the processor has it.
    pub(in crate::simd) fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }
}

entry_points!(Avx2, "avx2");

/// The permutation that repeats the last `width` bytes of a lane.
const fn last_bytes(width: usize) -> [u8; LANE] {
    let mut index = [0; LANE];
    let mut i = 0;
    while i < LANE {
        index[i] = (LANE - width + i % width) as u8;
        i += 1;
    }
    index
}

// SAFETY: `detect` makes a value only where AVX2 was found; a vector is two lanes, and the instructions touch what the
// contracts name.
unsafe impl Lanes for Avx2 {
    type V = __m256i;
    const LANES: usize = 2;
    const PERMUTES: bool = true;

    #[inline(always)]
    unsafe fn read(self, src: *const u8, step: usize) -> __m256i {
        // SAFETY: `self` proves AVX2; the caller answers for the bytes.
        unsafe {
            if step == LANE {
                _mm256_loadu_si256(src.cast())
            } else {
                _mm256_loadu2_m128i(src.add(step).cast(), src.cast())
            }
        }
    }

    #[inline(always)]
    unsafe fn write_lane<const L: usize>(self, dst: *mut u8, v: __m256i) {
        // SAFETY: as for `read`.
        unsafe {
            let lane = if L == 0 { _mm256_castsi256_si128(v) } else { _mm256_extracti128_si256::<1>(v) };
            _mm_storeu_si128(dst.cast(), lane);
        }
    }

    #[inline(always)]
    unsafe fn write(self, dst: *mut u8, v: __m256i) {
        // SAFETY: as for `read`.
        unsafe { _mm256_storeu_si256(dst.cast(), v) }
    }

    register_operations! {
        fn permute(v: __m256i, index: __m256i) -> __m256i { _mm256_shuffle_epi8(v, index) }
        fn repeat(lane: [u8; LANE]) -> __m256i { _mm256_broadcastsi128_si256(_mm_loadu_si128(lane.as_ptr().cast())) }
        fn to_second(v: __m256i) -> __m256i { _mm256_permute2x128_si256::<0x08>(v, v) }
        fn swap(v: __m256i) -> __m256i { _mm256_permute2x128_si256::<0x01>(v, v) }
        fn pair(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
            (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b))
        }
        fn splat(b: u8) -> __m256i { _mm256_set1_epi8(b as i8) }
        fn interleave(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
            (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b))
        }
        fn and(a: __m256i, b: __m256i) -> __m256i { _mm256_and_si256(a, b) }
        fn xor(a: __m256i, b: __m256i) -> __m256i { _mm256_xor_si256(a, b) }
        fn add(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi8(a, b) }
        fn shift_right[BITS: i32](v: __m256i) -> __m256i { _mm256_srli_epi64::<BITS>(v) }
        fn shift_left[BITS: i32](v: __m256i) -> __m256i { _mm256_slli_epi64::<BITS>(v) }
        fn move_up[COUNT: i32](v: __m256i) -> __m256i { _mm256_slli_si256::<COUNT>(v) }
    }

    #[inline(always)]
    fn last_of_lane<const WIDTH: usize>(self, v: __m256i) -> __m256i {
        self.permute(v, self.repeat(const { last_bytes(WIDTH) }))
    }
}
