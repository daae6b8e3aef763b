//! Maps the chunk files of a sparse frame to one range of addresses, so that code that reads parts of chunks need not
//! know the kind of the frame.

use std::ops::Range;

/// A chunk has less than 2^31 bytes, and file numbers have 32 bits: both fit below the highest bit.
const FILE_BITS: u32 = 31;
/// No offset within a frame is that large.
const FILES: u64 = 1 << 63;
/// The longest chunk, and the last address within a file.
const MOST: u64 = (1 << FILE_BITS) - 1;

/// The addresses of the first `len` bytes of chunk file `id`, capped at the longest chunk.
pub(crate) fn of_file(id: u32, len: u64) -> Range<u64> {
    let start = FILES | u64::from(id) << FILE_BITS;
    start..start + len.min(MOST)
}

/// The file of a range of addresses, and the range within it.
pub(crate) fn in_file(range: &Range<u64>) -> (u32, Range<u64>) {
    let id = (range.start & !FILES) >> FILE_BITS;
    let start = range.start & MOST;
    // Lossless: 63 bits less 31.
    (id as u32, start..start + (range.end - range.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_back_to_their_file() {
        for id in [0, 1, 77, u32::MAX] {
            for len in [0, 1, 100, MOST, MOST + 1, u64::MAX] {
                let range = of_file(id, len);
                assert_eq!(in_file(&range), (id, 0..len.min(MOST)));
                let end = range.end..range.end;
                assert_eq!(in_file(&end), (id, len.min(MOST)..len.min(MOST)));
            }
        }
        assert!(of_file(0, 1).start > i64::MAX as u64);
    }
}
