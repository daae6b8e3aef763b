//! Code lengths for symbols with given frequencies.

/// The lengths, 1 to `limit`, of the best prefix code for symbols with these frequencies; 0 for symbols that do not
/// occur. There are at least two codes, as some decoders insist on a complete code: a symbol that does not occur fills
/// the gap.
pub(super) fn lengths<const N: usize>(frequencies: &[u32; N], limit: usize) -> [u8; N] {
    let mut frequencies = *frequencies;
    let mut spare = 0;
    while frequencies.iter().filter(|&&frequency| frequency > 0).count() < 2 {
        frequencies[spare] = frequencies[spare].max(1);
        spare += 1;
    }
    // The symbol in the low bits: symbols that are equally frequent stay in order.
    let mut order: Vec<u64> =
        (0..N).filter(|&i| frequencies[i] > 0).map(|i| u64::from(frequencies[i]) << 16 | i as u64).collect();
    order.sort_unstable();
    let counts = limited(&depths(order.iter().map(|key| key >> 16).collect()), limit);
    let mut lengths = [0; N];
    let mut rarest_first = order.iter().map(|key| (key & 0xFFFF) as usize);
    for len in (1..=limit).rev() {
        for symbol in rarest_first.by_ref().take(counts[len]) {
            lengths[symbol] = len as u8;
        }
    }
    lengths
}

/// The number of leaves at each depth of the Huffman tree for ascending weights.
///
/// Inner nodes are created in ascending order too, so two queues replace a heap.
fn depths(weights: Vec<u64>) -> Vec<usize> {
    let leaves = weights.len();
    let mut inner: Vec<u64> = Vec::with_capacity(leaves - 1);
    let mut parents = vec![0usize; 2 * leaves - 1];
    let (mut leaf, mut node) = (0, 0);
    for parent in 0..leaves - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            let take_leaf = leaf < leaves && (node >= inner.len() || weights[leaf] <= inner[node]);
            let (weight, child) = if take_leaf { (weights[leaf], leaf) } else { (inner[node], leaves + node) };
            if take_leaf {
                leaf += 1
            } else {
                node += 1
            }
            sum += weight;
            parents[child] = leaves + parent;
        }
        inner.push(sum);
    }
    // Parents come after their children, so go from the root down.
    let mut depth = vec![0usize; 2 * leaves - 1];
    let mut counts = vec![0; leaves + 1];
    for node in (0..2 * leaves - 2).rev() {
        depth[node] = depth[parents[node]] + 1;
        if node < leaves {
            counts[depth[node]] += 1;
        }
    }
    counts
}

/// Limits the code lengths to `limit`, given the number of codes of each length, at nearly the least cost in bits.
fn limited(counts: &[usize], limit: usize) -> Vec<usize> {
    let mut limited = vec![0; limit + 1];
    for (len, &count) in counts.iter().enumerate() {
        limited[len.min(limit)] += count;
    }
    // In units of the share of the longest code: the whole is 1 << limit.
    let mut used: usize = (1..=limit).map(|len| limited[len] << (limit - len)).sum();
    while used > 1 << limit {
        // Move one of the longest codes next to a shorter one, which gets one bit longer.
        let shorter =
            (1..limit).rev().find(|&len| limited[len] > 0).expect("all codes are longest: there is room for them");
        limited[shorter] -= 1;
        limited[shorter + 1] += 2;
        limited[limit] -= 1;
        used -= 1;
    }
    limited
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing::Random;

    fn share<const N: usize>(lengths: &[u8; N], limit: usize) -> usize {
        lengths.iter().filter(|&&len| len > 0).map(|&len| 1 << (limit - usize::from(len))).sum()
    }

    #[test]
    fn codes_are_complete_and_within_the_limit() {
        let mut random = Random(11);
        for round in 0..300 {
            let mut frequencies = [0u32; 288];
            for frequency in &mut frequencies[..1 + random.below(288)] {
                let log = random.below(2 + round / 12);
                *frequency = (random.next() >> (63 - log)) as u32;
            }
            let lengths = lengths(&frequencies, 15);
            assert_eq!(share(&lengths, 15), 1 << 15);
            for (len, frequency) in lengths.iter().zip(frequencies) {
                assert!(*len <= 15 && (*len > 0 || frequency == 0));
            }
        }
    }

    #[test]
    fn rarer_symbols_have_longer_codes() {
        // Fibonacci numbers give the deepest tree.
        let mut frequencies = [1u32; 40];
        for i in 2..40 {
            frequencies[i] = frequencies[i - 1] + frequencies[i - 2];
        }
        let lengths = lengths(&frequencies, 15);
        assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
        assert_eq!(lengths[39], 1);
        assert_eq!(share(&lengths, 15), 1 << 15);
    }

    #[test]
    fn known_tree() {
        assert_eq!(lengths(&[5, 9, 12, 13, 16, 45], 15), [4, 4, 3, 3, 3, 1]);
    }

    #[test]
    fn there_are_always_two() {
        assert_eq!(lengths(&[0, 0, 0], 7), [1, 1, 0]);
        assert_eq!(lengths(&[0, 0, 9], 7), [1, 0, 1]);
        assert_eq!(lengths(&[9, 0, 0], 7), [1, 1, 0]);
    }
}
