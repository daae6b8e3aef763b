//! Kernels over vectors made of 16-byte lanes, written once for SSE2, AVX2 and NEON.
//!
//! A value of a type that implements [`Lanes`] proves that the processor has the instructions, as only run-time
//! detection creates one. What remains to be proved in this folder is which memory is touched. All of it is inlined
//! into functions that are compiled for those instructions ([`entry_points`]).

#[cfg(target_arch = "x86_64")]
mod avx2;
mod bitshuffle;
#[cfg(target_arch = "aarch64")]
mod neon;
mod shuffle;
#[cfg(target_arch = "x86_64")]
mod sse2;
mod transpose;
mod words;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;
#[cfg(target_arch = "aarch64")]
pub(super) use neon::Neon;
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::Sse2;

/// Bytes in a lane.
const LANE: usize = 16;

/// Vectors of `LANES` times 16 bytes, and the operations that the kernels need.
///
/// # Safety
/// A value exists only where the processor has the instructions, `BYTES` is what its default says, and no method touches
/// more memory than its contract names: the kernels check that much and no more.
unsafe trait Lanes: Copy {
    /// A vector.
    type V: Copy;
    /// Number of lanes.
    const LANES: usize;
    /// Bytes in a vector.
    const BYTES: usize = LANE * Self::LANES;
    /// Whether there is an instruction that permutes the bytes of a lane.
    const PERMUTES: bool;

    /// Sixteen bytes for each lane: from `src`, from `src + step`, and so on. They need not be aligned.
    ///
    /// # Safety
    /// These `BYTES` bytes are readable.
    unsafe fn read(self, src: *const u8, step: usize) -> Self::V;
    /// Writes lane `L` to `dst`, which need not be aligned.
    ///
    /// # Safety
    /// The sixteen bytes are writable, and `L` is below `LANES`.
    unsafe fn write_lane<const L: usize>(self, dst: *mut u8, v: Self::V);
    /// Writes the lanes one after the other to `dst`, which need not be aligned.
    ///
    /// # Safety
    /// `BYTES` bytes are writable.
    unsafe fn write(self, dst: *mut u8, v: Self::V);

    /// The bytes from `at` on.
    #[inline(always)]
    fn load(self, src: &[u8], at: usize) -> Self::V {
        let bytes = &src[at..at + Self::BYTES];
        // SAFETY: `bytes` is as long as the lanes, which are read one after the other.
        unsafe { self.read(bytes.as_ptr(), LANE) }
    }

    /// Writes `v` from `at` on.
    #[inline(always)]
    fn store(self, dst: &mut [u8], at: usize, v: Self::V) {
        let bytes = &mut dst[at..at + Self::BYTES];
        // SAFETY: `bytes` is as long as the vector.
        unsafe { self.write(bytes.as_mut_ptr(), v) }
    }

    /// Byte `index[i]` of each lane becomes its byte `i`; 0 where the index is 128 or more.
    ///
    /// Only where [`Lanes::PERMUTES`].
    fn permute(self, _v: Self::V, _index: Self::V) -> Self::V {
        unreachable!("only where `PERMUTES`")
    }
    /// The same sixteen bytes in every lane.
    fn repeat(self, lane: [u8; LANE]) -> Self::V;
    /// The byte `b` everywhere.
    fn splat(self, b: u8) -> Self::V;

    /// For vectors of two lanes: the first lane becomes the second, and the first is zero.
    fn to_second(self, _v: Self::V) -> Self::V {
        unreachable!("only where there are two `LANES`")
    }
    /// For vectors of two lanes: swaps them.
    fn swap(self, _v: Self::V) -> Self::V {
        unreachable!("only where there are two `LANES`")
    }
    /// For vectors of two lanes: the first lanes of `a` and `b`, and the second ones.
    fn pair(self, _a: Self::V, _b: Self::V) -> (Self::V, Self::V) {
        unreachable!("only where there are two `LANES`")
    }
    /// The bytes of `a` and `b` interleaved, separately in each lane: those of the low half and those of the high half.
    fn interleave(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);

    /// Bitwise and.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bitwise exclusive or.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// Sum of bytes, modulo 256.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Shifts bits towards the low end of each byte. Bits of neighbouring bytes may be shifted in.
    fn shift_right<const BITS: i32>(self, v: Self::V) -> Self::V;
    /// Shifts bits towards the high end of each byte. Bits of neighbouring bytes may be shifted in.
    fn shift_left<const BITS: i32>(self, v: Self::V) -> Self::V;

    /// Moves the bytes of each lane up by `COUNT`, shifting in zeros.
    fn move_up<const COUNT: i32>(self, v: Self::V) -> Self::V;
    /// The last `WIDTH` bytes of each lane, repeated in it.
    fn last_of_lane<const WIDTH: usize>(self, v: Self::V) -> Self::V;
}

/// The parts of the kernels that are worth a call: each transposes about a kilobyte. Inlined, they would add so many
/// addresses that the loops around them spill those.
trait LaneKernels: Lanes {
    /// See [`shuffle::rows_to_planes`].
    fn rows_to_planes(self, rows: &[u8], width: usize, planes: &mut [u8], step: usize, count: usize, bytes: usize);
    /// See [`shuffle::rows_from_planes`].
    fn rows_from_planes(self, planes: &[u8], step: usize, rows: &mut [u8], width: usize, count: usize, bytes: usize);
    /// See [`bitshuffle::rows_to_bits`].
    fn rows_to_bits(self, rows: &[u8], row_step: usize, planes: &mut [u8], n: usize, count: usize);
    /// See [`bitshuffle::rows_from_bits`].
    fn rows_from_bits(self, planes: &[u8], n: usize, count: usize, rows: &mut [u8], row_step: usize);
}

/// Defines the kernels of a level: functions compiled for its instructions, into which the generic code is inlined.
macro_rules! entry_points {
    ($proof:ident, $features:literal) => {
        impl $proof {
            entry_points! { $proof, $features, pub(in crate::simd),
                fn shuffle(width: usize, src: &[u8], dst: &mut [u8]) = super::shuffle::shuffle;
                fn unshuffle(width: usize, src: &[u8], dst: &mut [u8]) = super::shuffle::unshuffle;
                fn bitshuffle(width: usize, src: &[u8], dst: &mut [u8]) = super::bitshuffle::bitshuffle;
                fn bitunshuffle(width: usize, src: &[u8], dst: &mut [u8]) = super::bitshuffle::bitunshuffle;
                fn xor_running(width: usize, src: &[u8], dst: &mut [u8]) = super::words::xor_running;
                fn sub_previous(src: &[u8], dst: &mut [u8]) = super::words::sub_previous;
                fn add_running(src: &[u8], dst: &mut [u8]) = super::words::add_running;
            }
        }

        impl super::LaneKernels for $proof {
            entry_points! { $proof, $features, ,
                fn rows_to_planes(
                    rows: &[u8], width: usize, planes: &mut [u8], step: usize, count: usize, bytes: usize
                ) = super::shuffle::rows_to_planes;
                fn rows_from_planes(
                    planes: &[u8], step: usize, rows: &mut [u8], width: usize, count: usize, bytes: usize
                ) = super::shuffle::rows_from_planes;
                fn rows_to_bits(rows: &[u8], row_step: usize, planes: &mut [u8], n: usize, count: usize)
                    = super::bitshuffle::rows_to_bits;
                fn rows_from_bits(planes: &[u8], n: usize, count: usize, rows: &mut [u8], row_step: usize)
                    = super::bitshuffle::rows_from_bits;
            }
        }
    };
    ($proof:ident, $features:literal, $vis:vis,
        $(fn $name:ident($($arg:ident: $ty:ty),*) = $generic:path;)*
    ) => {
        $(
            $vis fn $name(self, $($arg: $ty),*) {
                #[target_feature(enable = $features)]
                #[inline(never)]
                fn kernel(proof: $proof, $($arg: $ty),*) {
                    $generic(proof, $($arg),*);
                }
                // SAFETY: `self` exists only where the processor has the instructions that the function is compiled for.
                unsafe { kernel(self, $($arg),*) }
            }
        )*
    };
}
use entry_points;

/// Defines methods of [`Lanes`] that only work on registers.
macro_rules! register_operations {
    ($(fn $name:ident $([$generic:ident: $generic_ty:ty])? ($($arg:ident: $ty:ty),*) -> $out:ty { $($body:tt)* })*) => {
        $(
            #[inline(always)]
            fn $name $(<const $generic: $generic_ty>)? (self, $($arg: $ty),*) -> $out {
                // SAFETY: `self` proves that the processor has the instructions, and they touch no memory but the arguments.
                unsafe { $($body)* }
            }
        )*
    };
}
use register_operations;
