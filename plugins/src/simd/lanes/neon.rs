//! Vectors of one lane: NEON, which every 64-bit ARM processor has.

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use super::{LANE, Lanes, entry_points, register_operations};

/// Proof that the processor has NEON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::simd) struct Neon(());

impl Neon {
    /// The proof, if the processor has it.
    pub(in crate::simd) fn detect() -> Option<Self> {
        is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

entry_points!(Neon, "neon");

// SAFETY: `detect` makes a value only where NEON was found; a vector is one lane, and the instructions touch what the
// contracts name.
unsafe impl Lanes for Neon {
    type V = uint8x16_t;
    const LANES: usize = 1;
    const PERMUTES: bool = true;

    #[inline(always)]
    unsafe fn read(self, src: *const u8, _: usize) -> uint8x16_t {
        // SAFETY: `self` proves NEON; the caller answers for the bytes.
        unsafe { vld1q_u8(src) }
    }

    #[inline(always)]
    unsafe fn write_lane<const L: usize>(self, dst: *mut u8, v: uint8x16_t) {
        // SAFETY: as for `read`.
        unsafe { self.write(dst, v) }
    }

    #[inline(always)]
    unsafe fn write(self, dst: *mut u8, v: uint8x16_t) {
        // SAFETY: as for `read`.
        unsafe { vst1q_u8(dst, v) }
    }

    register_operations! {
        fn permute(v: uint8x16_t, index: uint8x16_t) -> uint8x16_t { vqtbl1q_u8(v, index) }
        fn repeat(lane: [u8; LANE]) -> uint8x16_t { vld1q_u8(lane.as_ptr()) }
        fn splat(b: u8) -> uint8x16_t { vdupq_n_u8(b) }
        fn interleave(a: uint8x16_t, b: uint8x16_t) -> (uint8x16_t, uint8x16_t) { (vzip1q_u8(a, b), vzip2q_u8(a, b)) }
        fn and(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t { vandq_u8(a, b) }
        fn xor(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t { veorq_u8(a, b) }
        fn add(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t { vaddq_u8(a, b) }
        fn shift_right[BITS: i32](v: uint8x16_t) -> uint8x16_t { vshrq_n_u8::<BITS>(v) }
        fn shift_left[BITS: i32](v: uint8x16_t) -> uint8x16_t { vshlq_n_u8::<BITS>(v) }
        fn move_up[COUNT: i32](v: uint8x16_t) -> uint8x16_t {
            // The instruction takes 16 bytes out of zeros followed by `v`, from a constant on.
            let zeros = vdupq_n_u8(0);
            match COUNT {
                1 => vextq_u8::<15>(zeros, v),
                2 => vextq_u8::<14>(zeros, v),
                4 => vextq_u8::<12>(zeros, v),
                _ => vextq_u8::<8>(zeros, v),
            }
        }
        fn last_of_lane[WIDTH: usize](v: uint8x16_t) -> uint8x16_t {
            match WIDTH {
                1 => vdupq_laneq_u8::<15>(v),
                2 => vreinterpretq_u8_u16(vdupq_laneq_u16::<7>(vreinterpretq_u16_u8(v))),
                4 => vreinterpretq_u8_u32(vdupq_laneq_u32::<3>(vreinterpretq_u32_u8(v))),
                _ => vreinterpretq_u8_u64(vdupq_laneq_u64::<1>(vreinterpretq_u64_u8(v))),
            }
        }
    }
}
