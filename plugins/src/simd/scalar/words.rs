//! Kernels over words of 1, 2, 4 or 8 bytes.

use std::ops::BitXor;

/// See [`crate::simd::xor`].
#[inline(always)]
pub(in crate::simd) fn xor(src: &[u8], other: &[u8], dst: &mut [u8]) {
    dst.iter_mut().zip(src.iter().zip(other)).for_each(|(d, (a, b))| *d = a ^ b);
}

/// See [`crate::simd::xor_running`].
pub(in crate::simd) fn xor_running(width: usize, src: &[u8], dst: &mut [u8]) {
    match width {
        1 => running(src, dst, u8::from_le_bytes, u8::to_le_bytes),
        2 => running(src, dst, u16::from_le_bytes, u16::to_le_bytes),
        4 => running(src, dst, u32::from_le_bytes, u32::to_le_bytes),
        _ => running(src, dst, u64::from_le_bytes, u64::to_le_bytes),
    }
}

fn running<T: BitXor<Output = T> + Copy + Default, const W: usize>(
    src: &[u8],
    dst: &mut [u8],
    read: impl Fn([u8; W]) -> T,
    write: impl Fn(T) -> [u8; W],
) {
    let (src, _) = src.as_chunks::<W>();
    let (dst, _) = dst.as_chunks_mut::<W>();
    let mut sum = T::default();
    for (d, s) in dst.iter_mut().zip(src) {
        sum = sum ^ read(*s);
        *d = write(sum);
    }
}

/// See [`crate::simd::mask`].
#[inline(always)]
pub(in crate::simd) fn mask(width: usize, mask: u64, src: &[u8], dst: &mut [u8]) {
    // All the widths divide 8, so one pattern of eight bytes serves them.
    let mask = mask.to_le_bytes();
    let pattern: [u8; 8] = std::array::from_fn(|i| mask[i % width]);
    let (src, src_rest) = src.as_chunks::<8>();
    let (dst, dst_rest) = dst.as_chunks_mut::<8>();
    let pattern_word = u64::from_ne_bytes(pattern);
    for (d, s) in dst.iter_mut().zip(src) {
        *d = (u64::from_ne_bytes(*s) & pattern_word).to_ne_bytes();
    }
    dst_rest.iter_mut().zip(src_rest).zip(pattern).for_each(|((d, s), m)| *d = s & m);
}
