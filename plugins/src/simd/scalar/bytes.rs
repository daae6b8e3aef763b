//! Differences of bytes.

/// See [`crate::simd::sub_previous`].
pub(in crate::simd) fn sub_previous(src: &[u8], dst: &mut [u8]) {
    let mut previous = 0;
    for (d, s) in dst.iter_mut().zip(src) {
        *d = s.wrapping_sub(previous);
        previous = *s;
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
