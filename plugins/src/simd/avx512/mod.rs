//! Kernels for AVX-512 with byte permutations (VBMI) and bit matrices (GFNI): Intel since Ice Lake, AMD since Zen 4.
//!
//! The functions of this file touch memory; everything else in this folder is safe code over them.

mod bitshuffle;
mod shuffle;
mod transpose;
mod words;

use std::arch::x86_64::*;

/// Proof that the processor has the instructions of this folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Avx512 {
    /// Whether lines are fetched before they are stored to: see [`prefetch`].
    fetch_ahead: bool,
}

impl Avx512 {
    /// The proof, if the processor has them.
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("gfni");
        // Ice Lake gains from it; Zen 5 has no need, and loses up to a tenth.
        all.then(|| Self { fetch_ahead: is_intel() })
    }
}

/// Whether Intel made the processor.
fn is_intel() -> bool {
    // SAFETY: a processor with AVX-512 has the instruction, whose leaf 0 is its maker's name. Newer compilers know that, and
    // call the block needless.
    #[allow(unused_unsafe)]
    let id = unsafe { __cpuid(0) };
    [id.ebx, id.edx, id.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
}

/// Defines the kernels of this level, each with the fields of [`Avx512`] that it takes.
macro_rules! entry_points {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) = $kernel:path $(, $field:ident)?;)*) => {
        impl Avx512 {
            $(
                pub(super) fn $name(self, $($arg: $ty),*) {
                    // SAFETY: `self` exists only where the processor has the instructions that the function is compiled
                    // for.
                    unsafe { $kernel($(self.$field,)? $($arg),*) }
                }
            )*
        }
    };
}

entry_points! {
    fn shuffle(width: usize, src: &[u8], dst: &mut [u8]) = shuffle::shuffle, fetch_ahead;
    fn unshuffle(width: usize, src: &[u8], dst: &mut [u8]) = shuffle::unshuffle, fetch_ahead;
    fn bitshuffle(width: usize, src: &[u8], dst: &mut [u8]) = bitshuffle::bitshuffle;
    fn bitunshuffle(width: usize, src: &[u8], dst: &mut [u8]) = bitshuffle::bitunshuffle;
    fn xor_running(width: usize, src: &[u8], dst: &mut [u8]) = words::xor_running;
    fn sub_previous(src: &[u8], dst: &mut [u8]) = words::sub_previous;
    fn add_running(src: &[u8], dst: &mut [u8]) = words::add_running;
}

/// Bytes in a vector.
const VECTOR: usize = 64;

/// Loads 64 bytes from `at` on.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn load(src: &[u8], at: usize) -> __m512i {
    let bytes = &src[at..at + VECTOR];
    // SAFETY: `bytes` is 64 bytes long, and the instruction does not need them aligned.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Loads `len` bytes from `at` on, at most 64, followed by zeros.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn load_part(src: &[u8], at: usize, len: usize) -> __m512i {
    let bytes = &src[at..at + len];
    // SAFETY: the mask has `min(len, 64)` bits; bytes whose bit is clear are not accessed.
    unsafe { _mm512_maskz_loadu_epi8(low_bits(len), bytes.as_ptr().cast()) }
}

/// Writes all bytes of `v` to `at`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn store(dst: &mut [u8], at: usize, v: __m512i) {
    let bytes = &mut dst[at..at + VECTOR];
    // SAFETY: `bytes` is 64 bytes long, and the instruction does not need them aligned.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), v) }
}

/// How far ahead of the stores their destination is fetched, in bytes.
///
/// A block is larger than the first-level cache. A vector is a whole line, so only the few dozen stores that a
/// processor keeps pending tell it which lines come next. They are not enough to hide the latency of the second level.
const AHEAD: usize = 512;

/// Fetches the line that holds byte `at` of `dst`, or would hold it if `dst` were as long.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn prefetch(dst: &[u8], at: usize) {
    let line = dst.as_ptr().wrapping_add(at);
    // SAFETY: a prefetch is a hint: it changes nothing that a program could see, and does not fault wherever it points.
    // Newer compilers know that, and call the block needless.
    #[allow(unused_unsafe)]
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(line.cast())
    }
}

/// Writes the first `len` bytes of `v`, at most 64, to `at`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn store_part(dst: &mut [u8], at: usize, len: usize, v: __m512i) {
    let bytes = &mut dst[at..at + len];
    // SAFETY: the mask has `min(len, 64)` bits; bytes whose bit is clear are not accessed.
    unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), low_bits(len), v) }
}

/// Loads 64 bytes from `at` on of each of the first `count` planes, which are `stride` bytes long. The other vectors
/// are zero.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn load_planes<const P: usize>(planes: &[u8], stride: usize, at: usize, count: usize) -> [__m512i; P] {
    check_planes(planes.len(), stride, at, count);
    let mut v = [_mm512_setzero_si512(); P];
    for (j, v) in v.iter_mut().enumerate() {
        if j < count {
            // SAFETY: the bytes were checked to be within the plane, and the plane within the slice. The instruction
            // does not need them aligned.
            *v = unsafe { _mm512_loadu_si512(planes.as_ptr().add(j * stride + at).cast()) };
        }
    }
    v
}

/// Writes the first `count` vectors to the planes, from `at` on: inverse of [`load_planes`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn store_planes<const P: usize>(planes: &mut [u8], stride: usize, at: usize, count: usize, v: [__m512i; P]) {
    check_planes(planes.len(), stride, at, count);
    for (j, v) in v.into_iter().enumerate() {
        if j < count {
            // SAFETY: the bytes were checked to be within the plane, and the plane within the slice. The instruction
            // does not need them aligned.
            unsafe { _mm512_storeu_si512(planes.as_mut_ptr().add(j * stride + at).cast(), v) }
        }
    }
}

/// Panics unless `len` bytes hold `count` planes of `stride` bytes, each with a vector at `at`.
fn check_planes(len: usize, stride: usize, at: usize, count: usize) {
    let vector = at <= stride && stride - at >= VECTOR;
    assert!(vector && stride.checked_mul(count).is_some_and(|all| all <= len), "planes outside of the block");
}

/// The first 16 bytes of 64 rows that begin `width` bytes apart: the four parts of vector `q` hold the rows `q`,
/// `q + 16`, `q + 32` and `q + 48`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn load_rows(rows: &[u8], width: usize) -> [__m512i; 16] {
    check_rows(rows.len(), width);
    let mut v = [_mm512_setzero_si512(); 16];
    for (q, v) in v.iter_mut().enumerate() {
        // SAFETY: 16 bytes of rows below 64 are read, which were checked to be there. The instruction does not need
        // them aligned.
        *v = unsafe {
            let row = rows.as_ptr().add(q * width);
            let first = _mm512_castsi128_si512(_mm_loadu_si128(row.cast()));
            let two = _mm512_inserti32x4::<1>(first, _mm_loadu_si128(row.add(16 * width).cast()));
            let three = _mm512_inserti32x4::<2>(two, _mm_loadu_si128(row.add(32 * width).cast()));
            _mm512_inserti32x4::<3>(three, _mm_loadu_si128(row.add(48 * width).cast()))
        };
    }
    v
}

/// Inverse of [`load_rows`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn store_rows(rows: &mut [u8], width: usize, v: [__m512i; 16]) {
    check_rows(rows.len(), width);
    for (q, v) in v.into_iter().enumerate() {
        // SAFETY: 16 bytes of rows below 64 are written, which were checked to be there. The instruction does not need
        // them aligned.
        unsafe {
            let row = rows.as_mut_ptr().add(q * width);
            _mm_storeu_si128(row.cast(), _mm512_castsi512_si128(v));
            _mm_storeu_si128(row.add(16 * width).cast(), _mm512_extracti32x4_epi32::<1>(v));
            _mm_storeu_si128(row.add(32 * width).cast(), _mm512_extracti32x4_epi32::<2>(v));
            _mm_storeu_si128(row.add(48 * width).cast(), _mm512_extracti32x4_epi32::<3>(v));
        }
    }
}

/// Panics unless `len` bytes hold 64 rows that begin `width` bytes apart, and 16 bytes of the last one.
fn check_rows(len: usize, width: usize) {
    let end = width.checked_mul(63).and_then(|last| last.checked_add(16));
    assert!(end.is_some_and(|end| end <= len), "rows outside of the block");
}

/// The lowest `min(count, 64)` bits set.
const fn low_bits(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { u64::MAX }
}

/// A vector with these bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn vector(bytes: [u8; VECTOR]) -> __m512i {
    load(&bytes, 0)
}
