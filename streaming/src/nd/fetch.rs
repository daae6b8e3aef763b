//! Fetching the bytes that a part of a selection is decoded from.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use oxiblosc_core::nd::{ChunkPlan, Plan};

use crate::error::ReadError;
use crate::reader::{EncodedPart, PartRequest, ReaderInner};
use crate::source::RangeSource;

/// Bytes of chunks, by the number of the chunk; shared by the jobs that decode parts of them.
pub(super) type Fetched = Arc<BTreeMap<u64, EncodedPart>>;

/// The decoded bytes that plans need: for each chunk, ascending ranges of whole blocks.
#[derive(Debug, Default)]
pub(super) struct FetchList {
    chunks: BTreeMap<u64, Vec<Range<usize>>>,
    bytes: usize,
}

impl FetchList {
    /// Adds what `plan` needs.
    pub(super) fn add(&mut self, plan: &Plan) {
        plan.chunks().for_each(|chunk| self.add_chunk(&chunk));
    }

    /// Adds what a plan needs of one chunk.
    pub(super) fn add_chunk(&mut self, chunk: &ChunkPlan<'_>) {
        let ranges = self.chunks.entry(chunk.number()).or_default();
        for block in chunk.blocks() {
            let block = block.bytes();
            self.bytes += block.len();
            match ranges.last_mut() {
                Some(last) if last.end == block.start => last.end = block.end,
                _ => ranges.push(block),
            }
        }
    }

    /// The number of decoded bytes; bytes needed twice count twice.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Upper bound of the bytes to be fetched: fewer are where single blocks are fetched.
    pub(super) fn stored<S: RangeSource + 'static>(&self, shared: &ReaderInner<S>) -> usize {
        let stored = |&chunk: &u64| match shared.stored_span(chunk) {
            Ok(Some(span)) => usize::try_from(span.len()).unwrap_or(usize::MAX),
            _ => 0,
        };
        self.chunks.keys().map(stored).fold(0, usize::saturating_add)
    }

    /// Number of chunks.
    pub(super) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Fetches all of it.
    pub(super) async fn fetch<S: RangeSource + 'static>(
        mut self,
        shared: &ReaderInner<S>,
        chunk_len: usize,
    ) -> Result<Fetched, ReadError> {
        for ranges in self.chunks.values_mut() {
            // Plans are in the order of the result, which may be descending.
            ranges.sort_unstable_by_key(|range| range.start);
        }
        let wanted = self.chunks.iter().map(|(&chunk, ranges)| PartRequest { chunk, ranges, chunk_len });
        let found = shared.fetch_parts(&wanted.collect::<Vec<_>>()).await?;
        Ok(Arc::new(self.chunks.into_keys().zip(found).collect()))
    }
}
