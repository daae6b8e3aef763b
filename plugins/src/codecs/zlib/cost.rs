//! Estimates costs in bits.

/// One bit, in the unit in which costs are counted.
pub(super) const BIT: u32 = 256;

/// The binary logarithm of `x`, in units of 1 / [`BIT`]; 0 for 0.
#[inline(always)]
pub(super) fn log2(x: u32) -> u32 {
    let x = x.max(1);
    let whole = x.ilog2();
    // The next eight bits; between two powers the logarithm is a parabola, within a fiftieth of a bit.
    let part = ((u64::from(x) << 8 >> whole) & 0xFF) as u32;
    whole * BIT + part + ((part * (256 - part) * 88) >> 16)
}

/// The total length of symbols with these counts in the best code for them, and the number of symbols.
pub(super) fn entropy(counts: &[u32]) -> (u64, u64) {
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let used = counts.iter().filter(|&&count| count > 0).count() as u64;
    let all = u64::from(log2(u32::try_from(total).unwrap_or(u32::MAX)));
    let bits = |&count: &u32| {
        // No code is shorter than a bit.
        u64::from(count) * (all - u64::from(log2(count))).max(u64::from(BIT))
    };
    (counts.iter().filter(|&&count| count > 0).map(bits).sum(), used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms() {
        for x in (1..100_000).chain([u32::MAX / 2, u32::MAX]) {
            let exact = f64::from(x).log2() * f64::from(BIT);
            assert!((f64::from(log2(x)) - exact).abs() * 50.0 < f64::from(BIT), "{x}: {} {exact}", log2(x));
        }
        assert_eq!(log2(0), 0);
    }

    #[test]
    fn four_equal_symbols_take_two_bits_each() {
        assert_eq!(entropy(&[10, 0, 10, 10, 10]), (40 * 2 * u64::from(BIT), 4));
    }
}
