//! Estimated costs of literals and matches in a region of the input, before there are codes for them.

use super::block::Counts;
use super::codes::{DISTANCES, END_OF_BLOCK, MAX_MATCH, MIN_MATCH, distance_symbol, length_symbol};
use super::cost::{BIT, log2};

/// No code is much longer: deflate allows 15 bits.
const MOST: u32 = 14 * BIT;

/// The cost of matches.
pub(super) struct MatchCosts {
    /// By length less 3, with the extra bits.
    lengths: [u16; 256],
    /// By symbol, with the extra bits.
    distances: [u16; DISTANCES],
}

impl MatchCosts {
    /// The prices before anything is known.
    pub(super) fn new() -> Self {
        Self::with_codes(|_| 6 * BIT, |_| 4 * BIT)
    }

    /// The prices for symbols whose codes have these costs.
    fn with_codes(symbol: impl Fn(usize) -> u32, distance: impl Fn(usize) -> u32) -> Self {
        let length = |less| {
            let of = length_symbol(less + MIN_MATCH);
            (symbol(of.number) + of.extra * BIT) as u16
        };
        let distance = |number: usize| {
            let extra = (number as u32 / 2).saturating_sub(1);
            (distance(number) + extra * BIT) as u16
        };
        Self { lengths: std::array::from_fn(length), distances: std::array::from_fn(distance) }
    }

    /// Moves the prices half way to those that `counts` of a region imply: the next region may differ.
    pub(super) fn follow(&mut self, counts: &Counts) {
        let lengths = &counts.symbols[END_OF_BLOCK + 1..];
        let matches: u32 = counts.distances.iter().sum();
        if matches < 32 {
            return;
        }
        let all = log2(counts.symbols.iter().sum());
        let of_symbol = |number: usize| (all - log2(lengths[number]).min(all)).clamp(BIT, MOST);
        let all_distances = log2(matches);
        let of_distance =
            |number: usize| (all_distances - log2(counts.distances[number]).min(all_distances)).clamp(BIT, MOST);
        let new = Self::with_codes(of_symbol, of_distance);
        let pairs = self.lengths.iter_mut().zip(new.lengths).chain(self.distances.iter_mut().zip(new.distances));
        for (price, new) in pairs {
            *price = (*price + new) / 2;
        }
    }

    /// The cost of a match.
    #[inline(always)]
    pub(super) fn of(&self, len: usize, distance: usize) -> u32 {
        let number = distance_symbol(distance).number;
        u32::from(self.lengths[(len - MIN_MATCH) & 0xFF]) + u32::from(self.distances[number % DISTANCES])
    }
}

/// Sums up the costs of the literals from `start` to `end`, and as far beyond it as a match can reach.
///
/// They follow from the bytes there, as if all were literals, and in equal parts from the literals that were left
/// between the matches of the region before, if its counts are given: most of what is frequent lies in matches.
pub(super) fn add_up(bytes: &[u8], start: usize, end: usize, before: Option<&Counts>, prices: &mut Vec<u32>) {
    // Four tables, as equal consecutive bytes would otherwise wait for each other.
    let mut counts = [[0u32; 256]; 4];
    let mut quads = bytes[start..end].chunks_exact(4);
    for quad in &mut quads {
        for (counts, &byte) in counts.iter_mut().zip(quad) {
            counts[usize::from(byte)] += 1;
        }
    }
    for &byte in quads.remainder() {
        counts[0][usize::from(byte)] += 1;
    }
    let all = log2((end - start) as u32);
    let all_before = before.map_or(0, |before| log2(before.symbols.iter().sum()));
    let table: [u32; 256] = std::array::from_fn(|byte| {
        let price = price_of(all, counts.iter().map(|counts| counts[byte]).sum());
        before.map_or(price, |before| (price + price_of(all_before, before.symbols[byte])) / 2)
    });
    prices.clear();
    prices.push(0);
    let mut sum = 0;
    prices.extend(bytes[start..bytes.len().min(end + MAX_MATCH)].iter().map(|&byte| {
        sum += table[usize::from(byte)];
        sum
    }));
}

/// The cost of a symbol that occurs `count` times, where `all` is the logarithm of how often any does.
fn price_of(all: u32, count: u32) -> u32 {
    (all + if count == 0 { BIT } else { 0 } - log2(count)).clamp(BIT, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_cost_what_they_are_rare() {
        let bytes: Vec<u8> = (0..1024).map(|i| if i % 4 == 0 { (i % 16) as u8 } else { 9 }).collect();
        let mut sums = Vec::new();
        add_up(&bytes, 0, 512, None, &mut sums);
        assert_eq!(sums.len(), 1 + 512 + MAX_MATCH);
        // Three of four are the same, which is not free all the same; the fourth is one of four that are equally rare.
        assert_eq!(sums[4] - sums[1], 3 * BIT);
        assert_eq!(sums[1], 4 * BIT);
    }

    #[test]
    fn what_is_frequent_becomes_cheaper() {
        let mut prices = MatchCosts::new();
        let before = (prices.of(3, 1), prices.of(258, 1), prices.of(3, 20_000));
        let mut counts = Counts::NONE;
        (0..100).for_each(|_| counts.matched(3, 1));
        prices.follow(&counts);
        assert!(prices.of(3, 1) < before.0);
        assert!(prices.of(258, 1) > before.1 - 4 * BIT && prices.of(3, 20_000) > before.2 - 4 * BIT);
    }
}
