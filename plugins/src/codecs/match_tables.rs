//! Finds where the bytes at a position were seen before, most recent first.
//!
//! There are two tables for that. [`HashRows`] keeps the last few positions for each hash side by side, so that one vector
//! comparison finds them; [`HashChains`] links all positions with the same hash, however many there are.

/// Positions further back are not found: only the low 16 bits of a position are kept. All distances that the tables return
/// are 1..=`MAX_DISTANCE` and at most the position they count from, whatever was entered: encoders read that far back
/// without another check. The bytes there must still be compared.
const MAX_DISTANCE: usize = 65_535;

/// A hash, whose highest bits are the best.
#[inline(always)]
pub(super) fn multiply(word: u32) -> u32 {
    word.wrapping_mul(2_654_435_761)
}

/// The logarithm of a table size that suits an input, at most `most`.
pub(super) fn table_log(len: usize, most: u32) -> u32 {
    (len.max(1).ilog2() + 1).clamp(8, most)
}

/// Logarithm of the number of chains.
const HEADS_LOG: u32 = 16;

/// What is added to positions in [`HashChains::heads`], so that 0, where no position was entered, is out of reach.
const BIAS: usize = 1 << 16;

/// The positions with the same hash, each linked to the previous one.
#[derive(Clone)]
pub(super) struct HashChains {
    /// For each hash the last position entered, plus [`BIAS`].
    heads: Box<[u32; 1 << HEADS_LOG]>,
    /// For each position (its low 16 bits), the distance to the previous one in its chain, or [`MAX_DISTANCE`], which is
    /// out of reach from any position but the one that has the link.
    back: Box<[u16; 1 << 16]>,
    shift: u32,
}

impl Default for HashChains {
    fn default() -> Self {
        Self { heads: Box::new([0; _]), back: Box::new([0; _]), shift: 32 - HEADS_LOG }
    }
}

impl HashChains {
    /// Clears the table for an input of `len` bytes.
    pub(super) fn begin(&mut self, len: usize) {
        let log = table_log(len, HEADS_LOG);
        self.shift = 32 - log;
        // Links need no clearing: a chain is followed from a position of this input through others that were entered before.
        self.heads[..1 << log].fill(0);
    }

    #[inline(always)]
    fn head(&self, word: u32) -> usize {
        // The mask has no effect, as the shift is at least 32 - HEADS_LOG, but shows the compiler that the index is in
        // range.
        (multiply(word) >> self.shift) as usize & ((1 << HEADS_LOG) - 1)
    }

    /// Enters position `at` of the bytes `word` (little-endian), and returns how far back the last one with the same hash
    /// is; out of reach if there is none. Positions are entered in ascending order.
    #[inline(always)]
    pub(super) fn enter(&mut self, word: u32, at: usize) -> usize {
        let head = self.head(word);
        let biased = (at + BIAS) as u32;
        let distance = biased.wrapping_sub(std::mem::replace(&mut self.heads[head], biased));
        self.back[at & 0xFFFF] = distance.min(MAX_DISTANCE as u32) as u16;
        distance as usize
    }

    /// What [`enter`](Self::enter) has returned for `at`, which has been entered, or [`MAX_DISTANCE`] if that is less.
    #[inline(always)]
    pub(super) fn link(&self, at: usize) -> usize {
        self.back[at & 0xFFFF].into()
    }

    /// How far before `at` the last position was entered whose bytes have the hash of `word` (little-endian); out of reach if
    /// there is none. Positions after `at` may have been entered since.
    #[inline(always)]
    pub(super) fn before(&self, word: u32, at: usize) -> usize {
        let (at, mut last) = (at + BIAS, self.heads[self.head(word)] as usize);
        while last >= at {
            last -= usize::from(self.back[(last - BIAS) & 0xFFFF]);
        }
        at - last
    }

    /// The distances from `at` to the positions of its chain, nearest first, beginning with `distance`, which `enter`, `link`
    /// or `before` has returned. Positions after `at` may have been entered since.
    #[inline(always)]
    pub(super) fn distances(&self, at: usize, distance: usize) -> impl Iterator<Item = usize> {
        ChainIter { back: &self.back, at, distance, reach: at.min(MAX_DISTANCE) }
    }
}

/// The positions of a chain.
struct ChainIter<'t> {
    back: &'t [u16; 1 << 16],
    /// The position from which distances count.
    at: usize,
    /// How far back the next position of the chain is.
    distance: usize,
    /// How far back it may be.
    reach: usize,
}

impl Iterator for ChainIter<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let found = self.distance;
        if found > self.reach {
            return None;
        }
        // The link of a position within reach is its own, as the next one with the same low bits has not been entered yet,
        // unless that was done ahead: then the chain goes on anywhere, and is compared all the same.
        self.distance += usize::from(self.back[(self.at - found) & 0xFFFF]);
        Some(found)
    }
}

/// The last `N` positions for each hash, in `ROWS` rows; `N` is 16 or 32, and `ROWS` a power of two. It takes about
/// twice as many slots as there are positions within reach, as some rows are fuller than others.
#[derive(Clone)]
pub(super) struct HashRows<const N: usize, const ROWS: usize> {
    rows: Box<[HashRow<N>; ROWS]>,
    shift: u32,
}

/// The last positions for one hash: 16 of them fill one line of a usual cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct HashRow<const N: usize> {
    /// More bits of the hash of each position.
    tags: [u8; N],
    /// The low 16 bits of the positions. (A slot that was never used looks like any other, and is compared.)
    places: [u16; N],
    /// Modulo `N`: the slot to be overwritten next, which is the oldest.
    oldest: u8,
}

impl<const N: usize> HashRow<N> {
    const EMPTY: Self = Self { tags: [0; N], places: [0; N], oldest: 0 };
}

impl<const N: usize, const ROWS: usize> Default for HashRows<N, ROWS> {
    fn default() -> Self {
        let rows = vec![HashRow::EMPTY; ROWS].into_boxed_slice();
        Self {
            rows: rows.try_into().unwrap_or_else(|_| unreachable!("as many as there are")),
            shift: 32 - ROWS.ilog2(),
        }
    }
}

impl<const N: usize, const ROWS: usize> HashRows<N, ROWS> {
    /// The row for `word`, and its tag.
    #[inline(always)]
    fn row(&self, word: u32) -> (usize, u8) {
        let hash = multiply(word);
        let row = (hash >> self.shift) as usize & (ROWS - 1);
        (row, (hash >> (self.shift - 8)) as u8)
    }
}

impl<const N: usize, const ROWS: usize> HashRows<N, ROWS> {
    /// Clears the table for an input of `len` bytes.
    pub(super) fn begin(&mut self, len: usize) {
        let log = table_log(len, (N * ROWS).ilog2()) - N.ilog2();
        self.shift = 32 - log;
        self.rows[..1 << log].fill(HashRow::EMPTY);
    }

    /// Enters position `at` of the bytes `word` (little-endian). Positions are entered in ascending order.
    #[inline(always)]
    pub(super) fn enter(&mut self, word: u32, at: usize) {
        let (row, tag) = self.row(word);
        let row = &mut self.rows[row];
        let place = usize::from(row.oldest) % N;
        row.oldest = row.oldest.wrapping_add(1);
        row.tags[place] = tag;
        row.places[place] = at as u16;
    }

    /// The distances from `at` to the positions where `word` may be found, nearest first.
    #[inline(always)]
    pub(super) fn distances(&self, word: u32, at: usize) -> impl Iterator<Item = usize> {
        let (row, tag) = self.row(word);
        let row = &self.rows[row];
        let oldest = usize::from(row.oldest) % N;
        // The slot before the oldest is the latest. Rotated, it is the highest bit.
        let found = equal(&row.tags, tag);
        let found = match N {
            16 => (found as u16).rotate_right(oldest as u32).into(),
            _ => found.rotate_right(oldest as u32),
        };
        SlotIter { places: &row.places, found, oldest, at }
    }
}

/// The slots of a row with a matching tag.
struct SlotIter<'t, const N: usize> {
    places: &'t [u16; N],
    /// One bit each, the latest highest.
    found: u32,
    oldest: usize,
    at: usize,
}

impl<const N: usize> Iterator for SlotIter<'_, N> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.found != 0 {
            let bit = self.found.ilog2() as usize;
            self.found ^= 1 << bit;
            let place = self.places[(bit + self.oldest) % N];
            // A position that is out of reach looks like a later one. The comparison of the bytes there decides.
            let distance = usize::from((self.at as u16).wrapping_sub(place));
            if distance != 0 && distance <= self.at {
                return Some(distance);
            }
        }
        None
    }
}

/// The tags that equal `tag`, one bit each, the first in the lowest bit.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn equal<const N: usize>(tags: &[u8; N], tag: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let (halves, _) = tags.as_chunks::<16>();
    halves.iter().rev().fold(0, |bits, half| {
        // SAFETY: 16 bytes are readable at `half`; SSE2 is part of x86-64.
        let equal = unsafe {
            let tags = _mm_loadu_si128(half.as_ptr().cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8(tag as i8)))
        };
        bits << 16 | equal as u32
    })
}

/// The tags that equal `tag`, one bit each, the first in the lowest bit.
#[cfg(not(target_arch = "x86_64"))]
fn equal<const N: usize>(tags: &[u8; N], tag: u8) -> u32 {
    equal_scalar(tags, tag)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn equal_scalar<const N: usize>(tags: &[u8; N], tag: u8) -> u32 {
    tags.iter().rev().fold(0, |bits, &other| bits << 1 | u32::from(other == tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing::Random;

    #[test]
    fn equal_tags() {
        let mut random = Random(5);
        for _ in 0..1000 {
            let tags = [(); 32].map(|()| random.below(4) as u8);
            let tag = random.below(4) as u8;
            assert_eq!(equal(&tags, tag), equal_scalar(&tags, tag), "{tags:?} {tag}");
            let half: [u8; 16] = tags[..16].try_into().expect("half of them");
            assert_eq!(equal(&half, tag), equal_scalar(&half, tag), "{half:?} {tag}");
        }
    }
}
