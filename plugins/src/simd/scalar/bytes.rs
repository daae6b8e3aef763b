//! Differences of bytes.

/// See [`crate::simd::sub_previous`].
#[inline(always)]
pub(in crate::simd) fn sub_previous(src: &[u8], dst: &mut [u8]) {
    let Some((first, rest)) = dst.split_first_mut() else { return };
    *first = src[0];
    for (d, pair) in rest.iter_mut().zip(src.windows(2)) {
        *d = pair[1].wrapping_sub(pair[0]);
    }
}

/// See [`crate::simd::add_running`].
pub(in crate::simd) fn add_running(src: &[u8], dst: &mut [u8]) {
    let mut sum = 0u8;
    for (d, s) in dst.iter_mut().zip(src) {
        sum = sum.wrapping_add(*s);
        *d = sum;
    }
}
