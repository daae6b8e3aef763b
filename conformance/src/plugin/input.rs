//! What plugins are given.

use crate::data::Random;

/// A kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Zeros,
    Constant,
    Noise,
    Integers,
    Floats,
    Runs,
    Text,
    /// All the others in turn, in pieces of growing length.
    Mixed,
}

impl Kind {
    pub(super) const ALL: [Self; 8] =
        [Self::Zeros, Self::Constant, Self::Noise, Self::Integers, Self::Floats, Self::Runs, Self::Text, Self::Mixed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::Constant => "constant",
            Self::Noise => "noise",
            Self::Integers => "integers",
            Self::Floats => "floats",
            Self::Runs => "runs",
            Self::Text => "text",
            Self::Mixed => "mixed",
        }
    }

    /// `len` bytes of this kind, as items of `typesize` bytes; the same for the same seed.
    pub(super) fn fill(self, len: usize, typesize: usize, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed ^ (len as u64).rotate_left(32) ^ self as u64);
        match self {
            Self::Zeros => vec![0; len],
            Self::Constant => vec![if len.is_multiple_of(2) { 0xff } else { 0xa5 }; len],
            Self::Noise => noise(&mut random, len),
            Self::Integers => {
                let width = if matches!(typesize, 2 | 4 | 8) { typesize } else { 4 };
                let first = random.next_u64() % 1000;
                (0..len).map(|i| ((i / width) as u64 + first).to_le_bytes()[i % width]).collect()
            }
            Self::Floats => {
                let phase = random.below(1000) as f64;
                let value = |i: usize| (i as f64 * 0.01 + phase).sin() * 10.0;
                if typesize == 4 {
                    (0..len.div_ceil(4)).flat_map(|i| (value(i) as f32).to_le_bytes()).take(len).collect()
                } else {
                    (0..len.div_ceil(8)).flat_map(|i| value(i).to_le_bytes()).take(len).collect()
                }
            }
            Self::Runs => {
                let mut bytes = Vec::with_capacity(len);
                while bytes.len() < len {
                    let longest = if random.below(8) == 0 { 3000 } else { 300 };
                    let run = 1 + random.below(longest);
                    let value = random.next_u64() as u8;
                    bytes.resize(len.min(bytes.len() + run), value);
                    let more = random.below(6).min(len - bytes.len());
                    bytes.extend(noise(&mut random, more));
                }
                bytes
            }
            Self::Text => {
                const WORDS: [&str; 12] = [
                    "the ", "cat ", "sat ", "on ", "mat ", "and ", "looked ", "at ", "other ", "that ", "house; ", "\n",
                ];
                let mut bytes = Vec::with_capacity(len + 8);
                while bytes.len() < len {
                    bytes.extend_from_slice(WORDS[random.below(WORDS.len())].as_bytes());
                }
                bytes.truncate(len);
                bytes
            }
            Self::Mixed => {
                let mut bytes = Vec::with_capacity(len);
                let mut piece = 40;
                while bytes.len() < len {
                    let kind = Self::ALL[random.below(Self::ALL.len() - 1)];
                    let more = piece.min(len - bytes.len());
                    bytes.extend(kind.fill(more, typesize, random.next_u64()));
                    piece = (piece * 3 / 2).min(200_000);
                }
                bytes
            }
        }
    }
}

/// Incompressible bytes.
pub(super) fn noise(random: &mut Random, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}

/// Bytes at a chosen distance from an address that is a multiple of 64.
pub(super) struct Misaligned {
    bytes: Vec<u8>,
    at: usize,
    len: usize,
}

impl Misaligned {
    const GRAIN: usize = 64;

    /// `len` bytes of `value`, `offset` after a multiple of 64.
    pub(super) fn filled(value: u8, len: usize, offset: usize) -> Self {
        let bytes = vec![value; len + 2 * Self::GRAIN];
        let past = bytes.as_ptr() as usize % Self::GRAIN;
        Self { at: (Self::GRAIN - past) % Self::GRAIN + offset % Self::GRAIN, bytes, len }
    }

    /// A copy of `src`, `offset` after a multiple of 64.
    pub(super) fn copy(src: &[u8], offset: usize) -> Self {
        let mut copy = Self::filled(0, src.len(), offset);
        copy.as_mut().copy_from_slice(src);
        copy
    }

    pub(super) fn as_ref(&self) -> &[u8] {
        &self.bytes[self.at..][..self.len]
    }

    pub(super) fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.at..][..self.len]
    }
}

/// The pairs of offsets of source and destination that are tried.
pub(super) fn alignments() -> impl Iterator<Item = (usize, usize)> {
    let alone = (1..Misaligned::GRAIN).flat_map(|offset| [(offset, 0), (0, offset)]);
    alone.chain((1..16).flat_map(|offset| [(offset, offset), (offset, 16 - offset)]))
}

/// Lengths beyond those of [`lengths`](crate::data::lengths), up to the largest blocks that are usual. Most blocks are as
/// long as a power of two, and counts that take another byte change there.
pub(super) fn large() -> impl Iterator<Item = usize> {
    let blocks = (13..20).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) + 1]);
    let others = [100_003, 300_000, 1 << 20, (3 << 19) + 5, (1 << 21) + 1, (3 << 20) - 1, (4 << 20) + 13];
    others.into_iter().chain(blocks)
}

/// Type sizes that a chunk can have: all small ones, and those around powers of two.
pub(super) fn typesizes() -> impl Iterator<Item = usize> {
    (1..=40).chain([48, 63, 64, 65, 96, 127, 128, 129, 200, 254, 255])
}

/// Sizes of items that do not fit the header of a chunk, where the type size is 1; `None` where nothing records them.
pub(super) const WIDE_ITEMS: [Option<usize>; 7] =
    [Some(256), Some(257), Some(300), Some(512), Some(1000), Some(65_536), None];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_has_the_length_asked_for_and_depends_on_the_seed_alone() {
        for kind in Kind::ALL {
            for len in [0, 1, 3, 1000, 5001] {
                assert_eq!(kind.fill(len, 4, 7).len(), len, "{kind:?}");
            }
            assert_eq!(kind.fill(1000, 8, 1), kind.fill(1000, 8, 1));
        }
        assert_ne!(Kind::Noise.fill(1000, 1, 1), Kind::Noise.fill(1000, 1, 2));
    }

    #[test]
    fn slices_begin_where_they_should() {
        for offset in 0..64 {
            let slice = Misaligned::copy(&[1, 2, 3], offset);
            assert_eq!((slice.as_ref().as_ptr() as usize % 64, slice.as_ref()), (offset, &[1u8, 2, 3][..]));
        }
    }
}
