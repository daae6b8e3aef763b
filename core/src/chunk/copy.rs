//! Copies of whole chunks.

/// Bytes that are copied at once.
///
/// The `memcpy` of the GNU C library copies more than 2 KiB with a single `rep movsb` where the processor recommends it.
/// With 4 MiB outside of the caches, that takes Zen 5 1.6 times as long as pieces of 16 to 512 KiB, which are all alike.
const PIECE: usize = 64 << 10;

/// Copies `src` to `dst`, which is as long.
///
/// # Panics
/// When the lengths differ.
pub(crate) fn copy(src: &[u8], dst: &mut [u8]) {
    assert_eq!(src.len(), dst.len(), "a copy is as long as what it is made from");
    for (src, dst) in src.chunks(PIECE).zip(dst.chunks_mut(PIECE)) {
        dst.copy_from_slice(src);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_copied() {
        for len in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5] {
            let src: Vec<u8> = (0..len).map(|i| ((i * i) >> 3) as u8).collect();
            let mut dst = vec![0xA5; len];
            copy(&src, &mut dst);
            assert!(dst == src, "{len} bytes");
        }
    }
}
