//! Bit transposition.

/// Groups of eight items per strip. The items of a strip stay in the first-level cache while their bytes are processed
/// one after another, and each plane of bits receives a whole cache line at a time.
const STRIP: usize = 64;

/// See [`crate::simd::bitshuffle`].
pub(in crate::simd) fn bitshuffle(width: usize, src: &[u8], dst: &mut [u8]) {
    let groups = src.len() / width / 8;
    let (items, tail) = src.split_at(groups * 8 * width);
    let (planes, dst_tail) = dst.split_at_mut(groups * 8 * width);
    for (strip, items) in items.chunks(STRIP * 8 * width).enumerate() {
        for j in 0..width {
            for (g, items) in items.chunks_exact(8 * width).enumerate() {
                let rows = transpose_bits(u64::from_le_bytes(std::array::from_fn(|t| items[t * width + j])));
                for (k, byte) in rows.to_le_bytes().into_iter().enumerate() {
                    planes[(8 * j + k) * groups + strip * STRIP + g] = byte;
                }
            }
        }
    }
    dst_tail.copy_from_slice(tail);
}

/// See [`crate::simd::bitunshuffle`].
pub(in crate::simd) fn bitunshuffle(width: usize, src: &[u8], dst: &mut [u8]) {
    let groups = src.len() / width / 8;
    let (planes, tail) = src.split_at(groups * 8 * width);
    let (items, dst_tail) = dst.split_at_mut(groups * 8 * width);
    for (strip, items) in items.chunks_mut(STRIP * 8 * width).enumerate() {
        for j in 0..width {
            for (g, items) in items.chunks_exact_mut(8 * width).enumerate() {
                let rows = std::array::from_fn(|k| planes[(8 * j + k) * groups + strip * STRIP + g]);
                let column = transpose_bits(u64::from_le_bytes(rows));
                for (t, byte) in column.to_le_bytes().into_iter().enumerate() {
                    items[t * width + j] = byte;
                }
            }
        }
    }
    dst_tail.copy_from_slice(tail);
}

/// Transposes the 8 x 8 bit matrix whose row `t` is byte `t`: bit `8t + k` and bit `8k + t` are swapped. Its own
/// inverse.
///
/// The swap is done for one bit of the two coordinates at a time: first within 2 x 2 squares of bits, then 2 x 2
/// squares of those, then the two 4 x 4 squares off the diagonal.
pub(in crate::simd) const fn transpose_bits(mut x: u64) -> u64 {
    let t = (x ^ (x >> 7)) & 0x00AA_00AA_00AA_00AA;
    x ^= t ^ (t << 7);
    let t = (x ^ (x >> 14)) & 0x0000_CCCC_0000_CCCC;
    x ^= t ^ (t << 14);
    let t = (x ^ (x >> 28)) & 0x0000_0000_F0F0_F0F0;
    x ^ t ^ (t << 28)
}
