//! Parts of a selection that are fetched together.

use std::collections::VecDeque;

use oxiblosc_core::nd::{Band, BandAxis, NdError, Plan};

use super::fetch::FetchList;

/// Decoded bytes that are fetched together: enough to keep requests to a remote source few.
const GROUP_BYTES: usize = 8 << 20;
/// Chunks that are fetched together.
const GROUP_CHUNKS: usize = 1024;
/// A larger row of chunks is not fetched at once, as its bytes are held until all of it is decoded.
const LARGE_BAND: usize = 32 << 20;

/// Bands that are fetched together and follow each other in the buffer.
#[derive(Debug, Default)]
pub(super) struct BandGroup {
    /// Each to be decoded by a job of its own.
    pub(super) bands: Vec<Band>,
    pub(super) wants: FetchList,
}

impl BandGroup {
    /// Bytes of the buffer that these bands fill.
    pub(super) fn bytes(&self) -> usize {
        self.bands.iter().map(|band| band.buffer.len()).sum()
    }

    fn is_full(&self, bytes: usize) -> bool {
        self.wants.bytes() >= bytes.max(1) || self.wants.chunks() >= GROUP_CHUNKS
    }

    fn add(&mut self, band: Band) {
        self.wants.add(&band.plan);
        self.bands.push(band);
    }
}

/// The bands of a plan in groups: rows of chunks, cut between blocks where they are too few for the threads or too
/// large.
pub(super) struct BandGroups<B> {
    /// Rows of chunks that were examined.
    first: VecDeque<Band>,
    rows: B,
    /// The pieces that a row has been cut into.
    pieces: VecDeque<Band>,
    cut: BandAxis,
    /// Decoded bytes that are fetched together.
    group_bytes: usize,
    /// A row of chunks with more bytes is cut.
    large: usize,
}

impl BandGroups<Box<dyn Iterator<Item = Band> + Send>> {
    /// `plan` must be one that can be cut.
    pub(super) fn new(plan: &Plan, threads: usize) -> Result<Self, NdError> {
        let mut rows = plan.bands(BandAxis::Chunks)?;
        let enough = 2 * threads;
        let first: VecDeque<Band> = rows.by_ref().take(enough).collect();
        let cut = if first.len() < enough { BandAxis::Blocks } else { BandAxis::Chunks };
        let rows = Box::new(rows);
        Ok(Self { first, rows, pieces: VecDeque::new(), cut, group_bytes: GROUP_BYTES, large: LARGE_BAND })
    }

    /// Limits the groups so that several fit into `bytes`.
    pub(super) fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.group_bytes = self.group_bytes.min(bytes / 4);
        self.large = self.large.min(bytes / 2);
        self
    }
}

impl<B: Iterator<Item = Band>> BandGroups<B> {
    fn next_row(&mut self) -> Option<Band> {
        self.first.pop_front().or_else(|| self.rows.next())
    }
}

impl<B: Iterator<Item = Band>> Iterator for BandGroups<B> {
    type Item = BandGroup;

    fn next(&mut self) -> Option<BandGroup> {
        let mut group = BandGroup::default();
        while !group.is_full(self.group_bytes) {
            if let Some(piece) = self.pieces.pop_front() {
                group.add(piece);
                continue;
            }
            let Some(row) = self.next_row() else { break };
            let large = row.buffer.len() > self.large;
            let cut = if large { BandAxis::Blocks } else { self.cut };
            // A band is part of a buffer whose length fits a usize.
            let pieces = row.plan.bands(cut).into_iter().flatten();
            if large {
                self.pieces.extend(pieces);
            } else {
                // The pieces of one row of chunks stay together, or the chunks would be fetched piece by piece.
                pieces.for_each(|piece| group.add(piece));
            }
        }
        (!group.bands.is_empty()).then_some(group)
    }
}

/// What a plan needs, in groups of chunks.
pub(super) fn chunk_groups(plan: &Plan) -> impl Iterator<Item = FetchList> {
    let mut chunks = plan.chunks();
    std::iter::from_fn(move || {
        let mut wants = FetchList::default();
        while wants.bytes() < GROUP_BYTES && wants.chunks() < GROUP_CHUNKS {
            let Some(chunk) = chunks.next() else { break };
            wants.add_chunk(&chunk);
        }
        (wants.chunks() > 0).then_some(wants)
    })
}
