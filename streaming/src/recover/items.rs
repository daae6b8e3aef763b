//! The chunks of a damaged frame, in order.

use std::ops::Range;

use oxiblosc_core::chunk::SpecialKind;

/// A chunk of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecoveredChunk {
    pub(super) content: ChunkContent,
    /// Decoded bytes.
    pub(super) nbytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkContent {
    Stored {
        offset: u64,
        len: u64,
        /// Whether it was decoded; not if its codec or one of its filters is not available.
        checked: bool,
    },
    Special(SpecialKind),
    /// It is damaged.
    Lost,
}

impl RecoveredChunk {
    pub(super) fn stored_len(&self) -> u64 {
        match self.content {
            ChunkContent::Stored { len, .. } => len,
            ChunkContent::Special(_) | ChunkContent::Lost => 0,
        }
    }
}

/// Chunks in order. Runs of equal ones are stored once, since an array may lack millions.
#[derive(Debug, Clone, Default)]
pub(super) struct RecoveredChunks {
    /// The end of each run, and its chunks.
    runs: Vec<(u64, RecoveredChunk)>,
}

impl RecoveredChunks {
    pub(super) fn len(&self) -> u64 {
        self.runs.last().map_or(0, |(end, _)| *end)
    }

    pub(super) fn push(&mut self, item: RecoveredChunk) {
        self.push_run(item, 1);
    }

    pub(super) fn push_run(&mut self, item: RecoveredChunk, count: u64) {
        let end = self.len().saturating_add(count);
        match self.runs.last_mut() {
            _ if count == 0 => {}
            Some((last, other)) if *other == item => *last = end,
            _ => self.runs.push((end, item)),
        }
    }

    pub(super) fn first(&self) -> Option<RecoveredChunk> {
        self.runs.first().map(|(_, item)| *item)
    }

    pub(super) fn last(&self) -> Option<RecoveredChunk> {
        self.runs.last().map(|(_, item)| *item)
    }

    /// Keeps only the first `len`.
    pub(super) fn truncate(&mut self, len: u64) {
        self.runs.truncate(self.runs.partition_point(|(end, _)| *end < len) + 1);
        if let Some((end, _)) = self.runs.last_mut() {
            *end = len.min(*end);
        }
        if len == 0 {
            self.runs.clear();
        }
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = (Range<u64>, RecoveredChunk)> {
        let starts = std::iter::once(0).chain(self.runs.iter().map(|(end, _)| *end));
        starts.zip(&self.runs).map(|(start, (end, item))| (start..*end, *item))
    }

    /// Iterates over single chunks.
    pub(super) fn each(&self) -> impl Iterator<Item = RecoveredChunk> {
        self.runs().flat_map(|(chunks, item)| chunks.map(move |_| item))
    }

    /// The lengths of the chunks, and how many have each, in order.
    pub(super) fn lens(&self) -> Vec<(u64, u64)> {
        self.runs().map(|(chunks, item)| (item.nbytes, chunks.end - chunks.start)).collect()
    }
}

impl FromIterator<(Range<u64>, RecoveredChunk)> for RecoveredChunks {
    fn from_iter<I: IntoIterator<Item = (Range<u64>, RecoveredChunk)>>(runs: I) -> Self {
        let mut items = Self::default();
        runs.into_iter().for_each(|(chunks, item)| items.push_run(item, chunks.end - chunks.start));
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_are_counted() {
        let item = |nbytes| RecoveredChunk { content: ChunkContent::Lost, nbytes };
        let mut items = RecoveredChunks::default();
        items.push(item(5));
        items.push_run(item(5), 1 << 40);
        items.push_run(item(6), 0);
        items.push(item(6));
        assert_eq!((items.len(), items.lens()), ((1 << 40) + 2, vec![(5, (1 << 40) + 1), (6, 1)]));
        items.truncate(1 << 40);
        assert_eq!((items.len(), items.last()), (1 << 40, Some(item(5))));
        items.truncate(1 << 41);
        assert_eq!((items.len(), items.runs().count()), (1 << 40, 1));
        items.truncate(0);
        assert_eq!((items.len(), items.first()), (0, None));
        items.truncate(0);
    }
}
