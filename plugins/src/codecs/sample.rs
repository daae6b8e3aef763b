//! Samples of an input, from which encoders that choose tell what it is like.

use super::match_tables::multiply;

/// `room.len() / piece` pieces of `src`, two at least, each of `piece` bytes, or all of `src` if it is not longer than `room`.
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

/// Bytes of a piece in which triples are counted, and the number of pieces.
const TRIPLES: (usize, usize) = (512, 8);

/// How many of the triples of consecutive bytes in a sample of `src` differ from all others, in percent.
///
/// Noise has hardly two that are equal, and columns of categories have few that are not.
pub(super) fn different_triples(src: &[u8]) -> usize {
    let mut pieces = [0; TRIPLES.0 * TRIPLES.1];
    let sample = sample(src, TRIPLES.0, &mut pieces);
    let mut seen = [0u64; 1 << 10];
    let mut different = 0;
    for triple in sample.windows(3) {
        let hash = multiply(u32::from_le_bytes([0, triple[0], triple[1], triple[2]])) >> 16;
        let (word, bit) = (&mut seen[hash as usize / 64], 1 << (hash % 64));
        different += usize::from(*word & bit == 0);
        *word |= bit;
    }
    100 * different / sample.len().max(1)
}

/// Whether there is nothing in `src`, items of `typesize` bytes, that an encoder could find: hardly any three bytes occur
/// twice in a sample, and hardly any four in all of it.
///
/// For the second part all of `src` is searched for one value of a byte, and what follows it is compared. A sample would
/// not have both of two equal pieces that lie far apart, such as the keys of one table in the order of another.
pub(super) fn is_noise(src: &[u8], typesize: usize) -> bool {
    src.len() >= LEAST_NOISE && is_noise_of(src, typesize, different_triples(src))
}

/// The same where [`different_triples`] of `src` is known.
pub(super) fn is_noise_of(src: &[u8], typesize: usize, different: usize) -> bool {
    src.len() >= LEAST_NOISE && different >= NOISE && !repeats(src, matches!(typesize, 2 | 4 | 8))
}

/// Shorter streams are not called noise.
const LEAST_NOISE: usize = 1 << 12;

/// See [`different_triples`]: of the triples of random bytes, about this many percent have a hash of their own.
const NOISE: usize = 95;

/// Whether the places that are looked at are followed by the same bytes as an earlier one: more than one in 512 by the
/// same four, or one in 20 by the same three, or one in ten of the first ones by the same two.
///
/// With the byte that marks them, three make the keys of four bytes, and two those of three. But the upper bytes of
/// floats make some equal in noise too: two of them say nothing where the items may be `numbers`.
fn repeats(src: &[u8], numbers: bool) -> bool {
    let mark = rare_byte(src);
    let (mut fours, mut threes) = (Seen::new(), Seen::new());
    let (mut places, mut repeated_fours, mut repeated_threes) = (0, 0, 0);
    each_word_after(mark, src, |word| {
        repeated_fours += usize::from(fours.enter(word));
        repeated_threes += usize::from(threes.enter(word << 8));
        places += 1;
    });
    // Without enough places nothing is known.
    places < src.len() >> 12
        || repeated_fours > places / 512
        || repeated_threes > places / 20
        || !numbers && repeats_twos(mark, src)
}

/// See [`repeats`].
fn repeats_twos(mark: u8, src: &[u8]) -> bool {
    // So few places that two letters of 64, in no order, hardly ever repeat.
    const PLACES: usize = 512;
    let mut twos = Seen::new();
    let (mut places, mut repeated) = (0, 0);
    // Twice as far as so many random bytes lie.
    each_word_after(mark, &src[..src.len().min(PLACES << 9)], |word| {
        if places < PLACES {
            repeated += usize::from(twos.enter(word << 16));
        }
        places += 1;
    });
    repeated > PLACES / 10
}

/// Calls `found` with the four bytes after each `mark` in `src`, but for the last bytes of it.
fn each_word_after(mark: u8, src: &[u8], mut found: impl FnMut(u32)) {
    const LANE: usize = 32;
    for (lane, bytes) in src.chunks_exact(LANE).enumerate() {
        // All of them, without a branch: a vector comparison.
        if !bytes.iter().fold(false, |any, &byte| any | (byte == mark)) {
            continue;
        }
        for at in (0..LANE).filter(|&at| bytes[at] == mark) {
            if let Some(&word) = src[lane * LANE + at + 1..].first_chunk() {
                found(u32::from_le_bytes(word));
            }
        }
    }
}

/// The last words with each hash.
struct Seen([u32; 1 << 12]);

impl Seen {
    fn new() -> Self {
        Self([0; 1 << 12])
    }

    /// Enters `word`, and returns whether it was there.
    fn enter(&mut self, word: u32) -> bool {
        std::mem::replace(&mut self.0[(multiply(word) >> 20) as usize], word) == word
    }
}

/// A byte that occurs about once in 256 bytes.
fn rare_byte(src: &[u8]) -> u8 {
    let mut counts = [0u32; 256];
    src.iter().step_by((src.len() >> 12).max(1)).for_each(|&byte| counts[usize::from(byte)] += 1);
    let expected = counts.iter().sum::<u32>() / 256;
    (0..=255).min_by_key(|&byte| counts[usize::from(byte)].abs_diff(expected)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{different_triples, is_noise, sample};
    use crate::codecs::testing::Random;

    #[test]
    fn from_the_first_byte_to_the_last() {
        let src: Vec<u8> = (0..=255).collect();
        assert_eq!(sample(&src[..8], 2, &mut [0; 8]), &src[..8]);
        assert_eq!(sample(&src[..9], 2, &mut [0; 8]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(sample(&src, 2, &mut [0; 8]), [0, 1, 84, 85, 168, 169, 252, 253]);
        assert_eq!(sample(&src, 4, &mut [0; 8]), [0, 1, 2, 3, 252, 253, 254, 255]);
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut random = Random(7);
        (0..len).map(|_| (random.next() >> 56) as u8).collect()
    }

    #[test]
    fn noise_is_told_from_numbers_and_text() {
        assert!(is_noise(&noise(1 << 12), 1) && is_noise(&noise(1 << 20), 1));
        assert!(!is_noise(&noise(4000), 1) && !is_noise(&[], 1));
        let items: Vec<u8> = (0..100_000u32).flat_map(|i| (i.wrapping_mul(i) >> 3).to_le_bytes()).collect();
        assert!(!is_noise(&items, 1));
        assert!(!is_noise("the cat sat on the mat, and another cat saw that ".repeat(1000).as_bytes(), 1));
    }

    #[test]
    fn what_repeats_far_away_is_not_noise() {
        // Keys of 3, 4, 8 and 32 random bytes, each of which occurs several times, in no order.
        for (width, keys) in [(3, 30_000), (4, 20_000), (4, 100_000), (8, 10_000), (32, 4000)] {
            let (table, mut random) = (noise(width * keys), Random(9));
            let column: Vec<u8> = (0..(1 << 20) / width)
                .flat_map(|_| {
                    let key = random.below(keys);
                    table[key * width..][..width].iter().copied()
                })
                .collect();
            assert!(!is_noise(&column, 1), "keys of {width} bytes: {} percent", different_triples(&column));
        }
        // Numbers of nine bits in two bytes.
        let mut random = Random(4);
        let narrow: Vec<u8> = (0..1 << 19).flat_map(|_| (random.below(512) as u16).to_le_bytes()).collect();
        assert!(!is_noise(&narrow, 1));
        let twice = [noise(1 << 18), noise(1 << 18)].concat();
        assert!(!is_noise(&twice, 1));
    }

    #[test]
    fn a_few_categories_have_few_triples() {
        let mut random = Random(3);
        let ids: Vec<u8> = (0..50_000).flat_map(|_| (random.below(12) as u16).to_le_bytes()).collect();
        assert!(different_triples(&ids) < 12);
        assert_eq!(different_triples(&[]), 0);
    }
}
