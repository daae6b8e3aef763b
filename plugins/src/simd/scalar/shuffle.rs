//! Byte transposition.

/// Items per strip. All the bytes of a strip are read while its lines are in the first-level cache, and each output
/// plane receives a whole cache line at a time.
const STRIP: usize = 64;

/// See [`crate::simd::shuffle`].
pub(in crate::simd) fn shuffle(width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    let (items, tail) = src.split_at(n * width);
    let (planes, dst_tail) = dst.split_at_mut(n * width);
    for (strip, items) in items.chunks(STRIP * width).enumerate() {
        let first = strip * STRIP;
        let count = items.len() / width;
        for (j, plane) in planes.chunks_exact_mut(n).enumerate() {
            let bytes = items[j..].iter().step_by(width);
            plane[first..first + count].iter_mut().zip(bytes).for_each(|(d, s)| *d = *s);
        }
    }
    dst_tail.copy_from_slice(tail);
}

/// See [`crate::simd::unshuffle`].
pub(in crate::simd) fn unshuffle(width: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    let (planes, tail) = src.split_at(n * width);
    let (items, dst_tail) = dst.split_at_mut(n * width);
    for (strip, items) in items.chunks_mut(STRIP * width).enumerate() {
        let first = strip * STRIP;
        let count = items.len() / width;
        for (j, plane) in planes.chunks_exact(n).enumerate() {
            let bytes = items[j..].iter_mut().step_by(width);
            bytes.zip(&plane[first..first + count]).for_each(|(d, s)| *d = *s);
        }
    }
    dst_tail.copy_from_slice(tail);
}
