//! A source read from front to back, in large pieces.

use std::io;
use std::ops::Range;

use bytes::Bytes;

use super::RangeSource;

/// Headers of chunks have 32 bytes; reading them one by one would take a request each.
const PIECE: u64 = 1 << 20;

/// The part of a source that was read last.
pub(crate) struct BufferedSource<'a, S: ?Sized> {
    source: &'a S,
    size: u64,
    /// The least to read at a time.
    piece: u64,
    start: u64,
    bytes: Bytes,
}

impl<'a, S: RangeSource + ?Sized> BufferedSource<'a, S> {
    pub(crate) fn new(source: &'a S, size: u64) -> Self {
        Self { source, size, piece: PIECE, start: 0, bytes: Bytes::new() }
    }

    /// For readers that skip most of the source: reads no more at a time than a request costs.
    pub(crate) fn for_skipping(source: &'a S, size: u64) -> Self {
        Self { piece: source.request_cost().min(PIECE), ..Self::new(source, size) }
    }

    /// Bytes of the source.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of `range`, or as many of them as there are.
    pub(crate) async fn get(&mut self, range: Range<u64>) -> io::Result<Bytes> {
        let range = range.start.min(self.size)..range.end.min(self.size);
        let end = self.start + self.bytes.len() as u64;
        if range.start < self.start || range.end > end {
            let wanted = range.start..range.end.max(range.start.saturating_add(self.piece)).min(self.size);
            self.bytes = self.source.read_range(wanted).await?;
            self.start = range.start;
        }
        // Lossless: both lie within the buffer.
        let at = (range.start - self.start) as usize;
        Ok(self.bytes.slice(at..at + (range.end - range.start) as usize))
    }
}
