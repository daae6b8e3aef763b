//! Read-ahead: decoded chunks in order, fetched and decoded in advance.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use futures::stream::{FusedStream, FuturesOrdered, StreamExt};
use oxiblosc_core::chunk::ChunkHeader;
use oxiblosc_core::frame::FrameError;

use super::decoding::DecodeJob;
use super::inner::{ReadAhead, ReaderInner};
use super::options::FAR_AWAY;
use crate::budget::{BudgetShare, Reservation};
use crate::error::ReadError;
use crate::source::RangeSource;

/// Smaller chunks are fetched together, to save requests to a remote source.
const FETCH_BYTES: usize = 1 << 20;

type Fetched = Result<Vec<(u64, Result<Bytes, ReadError>)>, ReadError>;

/// The decoded chunks of a frame in order, as a [`Stream`].
///
/// Chunks are fetched and decoded ahead, within the bounds given by [`ReadOptions`](super::ReadOptions). A damaged
/// chunk yields an error, and the stream continues after it. When the source fails, the stream ends with that error; it
/// also ends with an error when chunks of differing sizes do not add up to the total in the header. Dropping the stream
/// cancels the read-ahead.
pub struct ChunkStream<S> {
    shared: Arc<ReaderInner<S>>,
    /// Chunks not yet requested.
    rest: Range<u64>,
    limits: ReadAhead,
    /// The number of chunks that may be ahead now; grows to the limit while chunks are taken in sequence.
    window: usize,
    fetching: FuturesOrdered<BoxFuture<'static, Fetched>>,
    fetched: VecDeque<(u64, Result<Bytes, ReadError>)>,
    decoding: VecDeque<AheadChunk>,
    /// Set when the source has failed.
    last: Option<ReadError>,
    chunks_ahead: usize,
    bytes_ahead: usize,
    /// What the groups ahead take of a budget, each with the number of the chunk after it, and the means to take more.
    held: VecDeque<(u64, Reservation)>,
    allowance: BudgetShare,
    /// The most that a group of several chunks takes of a budget.
    group_bytes: usize,
    /// The end of a group that waits for its share of a budget.
    waiting: Option<u64>,
    /// Decoded bytes so far, if only their sum can be compared with the header: for all chunks of a frame without a
    /// common chunk size.
    total: Option<u64>,
}

enum AheadChunk {
    Job { chunk: u64, job: DecodeJob<Bytes> },
    Failed { chunk: u64, error: ReadError },
}

impl<S: RangeSource + 'static> ChunkStream<S> {
    /// A stream of the chunks `range`, which must exist.
    pub(super) fn new(shared: &Arc<ReaderInner<S>>, range: Range<u64>) -> Self {
        let limits = shared.ahead;
        let frame = &shared.frame;
        let total = (frame.chunk_size().is_none() && range == (0..frame.nchunks())).then_some(0);
        Self {
            shared: Arc::clone(shared),
            rest: range,
            limits,
            window: limits.chunks,
            fetching: FuturesOrdered::new(),
            fetched: VecDeque::new(),
            decoding: VecDeque::new(),
            last: None,
            chunks_ahead: 0,
            bytes_ahead: 0,
            held: VecDeque::new(),
            allowance: BudgetShare::new(shared.budget.as_ref()),
            group_bytes: shared.budget.as_ref().map_or(usize::MAX, |budget| (budget.limit() / 8) as usize),
            waiting: None,
            total,
        }
    }

    /// Starts with one chunk ahead and doubles that with every chunk taken, for readers that may soon seek elsewhere.
    pub(super) fn with_slow_start(mut self) -> Self {
        self.window = 1;
        self
    }

    /// The bytes that have to be fetched for a chunk.
    fn stored(&self, chunk: u64) -> usize {
        match self.shared.stored_span(chunk) {
            Ok(Some(span)) => usize::try_from(span.len()).unwrap_or(usize::MAX),
            _ => ChunkHeader::EXTENDED_LEN,
        }
    }

    /// The bytes that a chunk may take while it is ahead, encoded and decoded.
    fn cost(&self, chunk: u64) -> usize {
        let stored = self.stored(chunk);
        stored.saturating_add(self.shared.frame.chunk_len(chunk).unwrap_or(stored))
    }

    /// Decoded bytes of a chunk, as far as known.
    fn chunk_len(&self) -> usize {
        self.shared.frame.header().chunk_size.fixed().unwrap_or(0)
    }

    fn is_far(&self) -> bool {
        self.shared.source_ref().request_cost() > FAR_AWAY
    }

    /// Requests more chunks while there is room for them. Returns whether it did.
    fn fetch(&mut self, cx: &mut Context<'_>) -> bool {
        if self.shared.source_ref().is_immediate()
            && self.chunks_ahead >= self.shared.decoding.pool.chunks_in_progress(self.chunk_len())
        {
            return false;
        }
        let first = self.rest.start;
        let (mut next, mut chunks, mut bytes, mut stored) = (first, self.chunks_ahead, self.bytes_ahead, 0usize);
        while next < self.waiting.unwrap_or(self.rest.end) && (stored < FETCH_BYTES || self.waiting.is_some()) {
            let cost = self.cost(next);
            let room = chunks < self.window
                && bytes.saturating_add(cost) <= self.limits.bytes
                && (next == first || (bytes - self.bytes_ahead).saturating_add(cost) <= self.group_bytes);
            if chunks > 0 && !room && self.waiting.is_none() {
                break;
            }
            chunks += 1;
            bytes = bytes.saturating_add(cost);
            stored = stored.saturating_add(self.stored(next));
            next += 1;
        }
        let group = first..next;
        // While much is ahead, wait for more room rather than requesting a single chunk from a remote source.
        let small = stored < FETCH_BYTES / 2
            && (chunks - self.chunks_ahead) < self.window / 4
            && (bytes - self.bytes_ahead) < self.limits.bytes / 4;
        let wait = small && self.chunks_ahead > 0 && next < self.rest.end && self.is_far() && self.waiting.is_none();
        if group.is_empty() || wait {
            return false;
        }
        // One chunk is always allowed, and of a budget one group of those that are fetched together.
        let Poll::Ready(held) = self.allowance.poll_take(cx, bytes - self.bytes_ahead) else {
            self.waiting = Some(next);
            return false;
        };
        self.waiting = None;
        self.held.push_back((next, held));
        (self.rest.start, self.chunks_ahead, self.bytes_ahead) = (next, chunks, bytes);
        let shared = Arc::clone(&self.shared);
        self.fetching.push_back(Box::pin(async move { shared.fetch_chunks(group).await }));
        true
    }

    /// Gives fetched chunks to the pool. Returns whether there were any.
    fn decode(&mut self) -> bool {
        let at_once = self.shared.decoding.pool.chunks_in_progress(self.chunk_len());
        let mut moved = false;
        while self.decoding.len() < at_once
            && let Some((chunk, fetched)) = self.fetched.pop_front()
        {
            let ctx = self.shared.frame.chunk_context(chunk);
            self.decoding.push_back(match fetched {
                Ok(bytes) => AheadChunk::Job { chunk, job: self.shared.decoding.decode(bytes, ctx) },
                Err(error) => AheadChunk::Failed { chunk, error },
            });
            moved = true;
        }
        moved
    }

    fn tally(&mut self, item: &Result<Bytes, ReadError>) {
        self.total = match (self.total, item) {
            (Some(total), Ok(chunk)) => Some(total.saturating_add(chunk.len() as u64)),
            _ => None,
        };
    }

    /// The error concerning all chunks together, if it has not been reported yet.
    fn at_end(&mut self) -> Option<ReadError> {
        let (expected, found) = (self.shared.frame.nbytes(), self.total.take()?);
        (found != expected).then(|| FrameError::TotalLen { expected, found }.into())
    }

    fn poll_front(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ReadError>>> {
        let result = match self.decoding.front_mut() {
            None => return Poll::Ready(None),
            Some(AheadChunk::Job { job, .. }) => Some(ready!(Pin::new(job).poll(cx))),
            Some(AheadChunk::Failed { .. }) => None,
        };
        Poll::Ready(self.decoding.pop_front().map(|entry| {
            let chunk = match entry {
                AheadChunk::Job { chunk, .. } | AheadChunk::Failed { chunk, .. } => chunk,
            };
            self.chunks_ahead -= 1;
            if self.held.front().is_some_and(|(end, _)| *end == chunk + 1) {
                self.held.pop_front();
            }
            self.bytes_ahead = self.bytes_ahead.saturating_sub(self.cost(chunk));
            self.window = self.window.saturating_mul(2).min(self.limits.chunks);
            match (entry, result) {
                (AheadChunk::Failed { error, .. }, _) => Err(error),
                (AheadChunk::Job { .. }, Some(result)) => self.shared.decoded(chunk, result),
                (AheadChunk::Job { .. }, None) => Err(self.shared.changed(chunk)),
            }
        }))
    }
}

impl<S: RangeSource + 'static> Stream for ChunkStream<S> {
    type Item = Result<Bytes, ReadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let mut moved = false;
            while self.last.is_none() && self.fetch(cx) {}
            while let Poll::Ready(Some(result)) = self.fetching.poll_next_unpin(cx) {
                moved = true;
                match result {
                    Ok(chunks) => self.fetched.extend(chunks),
                    Err(error) => {
                        self.rest.start = self.rest.end;
                        self.fetching.clear();
                        self.allowance.give_up();
                        self.last = Some(error);
                    }
                }
            }
            moved |= self.decode();
            if let Some(item) = ready!(self.poll_front(cx)) {
                self.tally(&item);
                return Poll::Ready(Some(item));
            }
            if self.is_idle() {
                let failed = self.last.take();
                if failed.is_some() {
                    self.total = None;
                }
                return Poll::Ready(failed.or_else(|| self.at_end()).map(Err));
            }
            if !moved {
                return Poll::Pending;
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.rest.end - self.rest.start).ok();
        let left = left.and_then(|rest| rest.checked_add(self.chunks_ahead));
        // Fewer when the source fails.
        (0, left.and_then(|left| left.checked_add(1)))
    }
}

impl<S> ChunkStream<S> {
    fn is_idle(&self) -> bool {
        self.rest.is_empty() && self.fetching.is_empty() && self.fetched.is_empty() && self.decoding.is_empty()
    }
}

impl<S: RangeSource + 'static> FusedStream for ChunkStream<S> {
    fn is_terminated(&self) -> bool {
        self.is_idle() && self.last.is_none() && self.total.is_none()
    }
}

// Nothing here is ever pinned.
impl<S> Unpin for ChunkStream<S> {}

impl<S> fmt::Debug for ChunkStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkStream")
            .field("rest", &self.rest)
            .field("chunks_ahead", &self.chunks_ahead)
            .field("bytes_ahead", &self.bytes_ahead)
            .finish_non_exhaustive()
    }
}
