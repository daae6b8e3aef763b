//! Samples of an input, from which encoders that choose tell what it is like.

/// `room.len() / piece` pieces of `src`, each of `piece` bytes, or all of `src` if it is not longer than `room`.
///
/// They are spread evenly from the first byte to the last: the byte planes of filtered data are very different from each
/// other.
pub(super) fn sample<'a>(src: &'a [u8], piece: usize, room: &'a mut [u8]) -> &'a [u8] {
    if src.len() <= room.len() {
        return src;
    }
    let step = (src.len() - piece) / (room.len() / piece - 1);
    for (i, room) in room.chunks_exact_mut(piece).enumerate() {
        room.copy_from_slice(&src[i * step..][..piece]);
    }
    room
}

#[cfg(test)]
mod tests {
    use super::sample;

    #[test]
    fn from_the_first_byte_to_the_last() {
        let src: Vec<u8> = (0..=255).collect();
        assert_eq!(sample(&src[..8], 2, &mut [0; 8]), &src[..8]);
        assert_eq!(sample(&src[..9], 2, &mut [0; 8]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(sample(&src, 2, &mut [0; 8]), [0, 1, 84, 85, 168, 169, 252, 253]);
        assert_eq!(sample(&src, 4, &mut [0; 8]), [0, 1, 2, 3, 252, 253, 254, 255]);
    }
}
