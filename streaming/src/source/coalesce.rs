//! Joining ranges that lie close together.

use std::ops::Range;

use bytes::Bytes;

/// Ranges joined into fewer and larger ones, and the way to split them again. For implementations of a
/// [`RangeSource`](super::RangeSource) to which a request costs more than reading some unneeded bytes.
///
/// ```
/// use bytes::Bytes;
/// use oxiblosc_streaming::source::Coalesced;
///
/// let coalesced = Coalesced::new(&[90..100, 10..20, 20..25, 0..4], 10, 1000);
/// assert_eq!(coalesced.ranges(), [0..25, 90..100]);
///
/// let file: Vec<u8> = (0..100).collect();
/// let read = |r: &std::ops::Range<u64>| Bytes::copy_from_slice(&file[r.start as usize..r.end as usize]);
/// let bytes = coalesced.split(coalesced.ranges().iter().map(read).collect());
/// assert_eq!(bytes[1], &file[10..20]);
/// ```
#[derive(Debug, Clone)]
pub struct Coalesced {
    joined: Vec<Range<u64>>,
    /// For each requested range: which joined range holds it, at which offset, and its length.
    parts: Vec<(usize, usize, usize)>,
}

impl Coalesced {
    /// Joins ranges that overlap, touch, or leave a gap of at most `gap` bytes between them, as long as the result has
    /// at most `max` bytes.
    pub fn new(ranges: &[Range<u64>], gap: u64, max: u64) -> Self {
        let mut order: Vec<usize> = (0..ranges.len()).filter(|&i| !ranges[i].is_empty()).collect();
        order.sort_by_key(|&i| ranges[i].start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        let mut parts = vec![(0, 0, 0); ranges.len()];
        for i in order {
            let range = &ranges[i];
            match joined.last_mut() {
                Some(last)
                    if range.start <= last.end.saturating_add(gap)
                        && (range.end <= last.end || range.end - last.start <= max) =>
                {
                    last.end = last.end.max(range.end);
                }
                _ => joined.push(range.clone()),
            }
            let holder = joined.len() - 1;
            parts[i] = (holder, (range.start - joined[holder].start) as usize, (range.end - range.start) as usize);
        }
        Self { joined, parts }
    }

    /// The joined ranges, in increasing order; none of them is empty.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.joined
    }

    /// The bytes of the requested ranges, in the order of the request, taken from those of the joined ones. Bytes
    /// missing there are missing here.
    pub fn split(&self, joined: Vec<Bytes>) -> Vec<Bytes> {
        let part = |&(holder, start, len): &(usize, usize, usize)| match joined.get(holder) {
            Some(bytes) if len > 0 => bytes.slice(start.min(bytes.len())..bytes.len().min(start + len)),
            _ => Bytes::new(),
        };
        self.parts.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_ranges_come_back_as_asked_for() {
        let file: Vec<u8> = (0..200u32).map(|i| (i * 31 % 251) as u8).collect();
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for round in 0..500 {
            let (gap, max) = (random(20), 1 + random(60));
            let ranges: Vec<Range<u64>> = (0..random(12))
                .map(|_| {
                    let start = random(200);
                    start..start + random(200 - start + 1)
                })
                .collect();
            let coalesced = Coalesced::new(&ranges, gap, max);
            let read = |r: &Range<u64>| Bytes::copy_from_slice(&file[r.start as usize..r.end as usize]);
            let found = coalesced.split(coalesced.ranges().iter().map(read).collect());
            assert_eq!(found, ranges.iter().map(read).collect::<Vec<_>>(), "round {round}");
            let longest = ranges.iter().map(|r| r.end - r.start).max().unwrap_or(0);
            for range in coalesced.ranges() {
                assert!(range.end - range.start <= max.max(longest) && !range.is_empty());
            }
        }
    }
}
