//! Sets of chunk numbers, of which there may be millions.

use std::fmt;
use std::ops::Range;

/// Chunk numbers in ascending order, stored as ranges.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ChunkNumbers {
    ranges: Vec<Range<u64>>,
}

impl ChunkNumbers {
    /// The number of chunk numbers.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether `chunk` is in the set.
    pub fn contains(&self, chunk: &u64) -> bool {
        let after = self.ranges.partition_point(|range| range.end <= *chunk);
        self.ranges.get(after).is_some_and(|range| range.contains(chunk))
    }

    /// Iterates over the single numbers.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().flat_map(|range| range.clone())
    }

    /// The ranges of consecutive numbers.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Adds numbers after all others.
    pub(crate) fn push(&mut self, chunks: Range<u64>) {
        match self.ranges.last_mut() {
            _ if chunks.is_empty() => {}
            Some(last) if last.end == chunks.start => last.end = chunks.end,
            _ => self.ranges.push(chunks),
        }
    }
}

impl fmt::Debug for ChunkNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.ranges).finish()
    }
}

impl<T: AsRef<[u64]>> PartialEq<T> for ChunkNumbers {
    fn eq(&self, other: &T) -> bool {
        self.len() == other.as_ref().len() as u64 && self.iter().eq(other.as_ref().iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_ranges() {
        let mut numbers = ChunkNumbers::default();
        assert!(numbers.is_empty() && !numbers.contains(&0) && numbers == [0; 0]);
        [3..4, 4..4, 4..6, 9..10].into_iter().for_each(|range| numbers.push(range));
        assert_eq!(numbers.ranges(), [3..6, 9..10]);
        assert!(numbers == [3, 4, 5, 9] && numbers != [3, 4, 5]);
        assert_eq!((0..12).filter(|chunk| numbers.contains(chunk)).collect::<Vec<_>>(), [3, 4, 5, 9]);
    }
}
