//! Kernels over words of 1, 2, 4 or 8 bytes.

/// See [`crate::simd::xor`].
#[inline(always)]
pub(in crate::simd) fn xor(src: &[u8], other: &[u8], dst: &mut [u8]) {
    dst.iter_mut().zip(src.iter().zip(other)).for_each(|(d, (a, b))| *d = a ^ b);
}

/// See [`crate::simd::xor_running`].
pub(in crate::simd) fn xor_running(width: usize, src: &[u8], dst: &mut [u8]) {
    match width {
        1 => running::<1>(src, dst),
        2 => running::<2>(src, dst),
        4 => running::<4>(src, dst),
        _ => running::<8>(src, dst),
    }
}

fn running<const W: usize>(src: &[u8], dst: &mut [u8]) {
    let (src, _) = src.as_chunks::<W>();
    let (dst, _) = dst.as_chunks_mut::<W>();
    let mut sum = [0; W];
    for (d, s) in dst.iter_mut().zip(src) {
        sum.iter_mut().zip(s).for_each(|(sum, s)| *sum ^= s);
        *d = sum;
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
