//! The state machine between the caller's bytes and a target.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::nd::ArrayMeta;

use super::encoding::{InFlight, Workshop};
use super::feed::Feed;
use super::machine::Machine;
use super::rechunk::Rechunker;
use super::{Summary, WriteOptions};
use crate::compute::Pool;
use crate::error::WriteError;
use crate::target::{Part, Refusal, Target, poll_offer};

/// Takes decoded bytes and writes a frame to a target.
///
/// It is a [`futures::Sink`] of [`Bytes`] and a [`futures::io::AsyncWrite`]; buffers may be of any size. They are cut
/// into chunks, the chunks are encoded on a pool, and what comes out is written in order.
///
/// - **Back-pressure.** At most so many chunks and bytes are in flight as [`WriteOptions`] say; beyond that,
///   `poll_ready` and `poll_write` wait. A chunk is in flight until the target has accepted it.
/// - **Flush** passes on every chunk that is whole. The bytes of a chunk that is not stay: a short chunk may only be
///   the last one.
/// - **Close** writes the short last chunk, index and trailer, and makes the target final. It is explicit: a sink that
///   is dropped before leaves its target unfinished.
/// - **Errors.** After one that [is resumable](WriteError::is_resumable) every call may be made again and goes on
///   where the failed one stopped. All others stay.
/// - **Cancellation.** All state is here, none in the futures: any of them may be dropped at any time, no byte is lost
///   or repeated.
///
/// ```
/// use futures::{AsyncWriteExt, executor::block_on};
/// use oxiblosc_streaming::WriteOptions;
/// # use oxiblosc_plugins as _;
///
/// block_on(async {
///     let mut sink = WriteOptions::default().in_memory()?;
///     sink.write_all(&[7; 100_000]).await?;
///     let summary = sink.close().await?;
///     assert_eq!((summary.chunks, summary.nbytes), (1, 100_000));
///     assert_eq!(sink.into_target().into_bytes().len() as u64, summary.frame_len);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })
/// # .unwrap();
/// ```
pub struct FrameSink<T> {
    target: T,
    workshop: Workshop,
    writer: Machine,
    feed: Feed,
    in_flight: InFlight,
    outgoing: Outgoing,
    limits: FlightLimits,
    next_chunk: u64,
    taken: u64,
    phase: Phase,
    failed: Option<WriteError>,
}

#[derive(Debug, Clone)]
enum Phase {
    /// Taking bytes.
    Open,
    /// Waiting until every chunk, the short last one included, has been accepted by the target.
    LastChunks,
    /// Writing index and trailer.
    Tail { header: Bytes },
    /// Making the target final.
    Commit { header: Bytes },
    /// The frame is final.
    Finished,
    /// So is what lies underneath the target.
    Closed,
    /// The frame has been given up.
    Aborted,
}

/// How much may be in flight.
#[derive(Debug, Clone, Copy)]
struct FlightLimits {
    chunks: usize,
    bytes: usize,
    chunk_size: usize,
}

/// Bytes on their way to the target.
#[derive(Default)]
struct Outgoing {
    queue: VecDeque<(Part, Bytes)>,
    bytes: usize,
    /// How many of them are chunks.
    chunks: usize,
}

// Nothing here is ever pinned: targets take `&mut self`.
impl<T> Unpin for FrameSink<T> {}

impl<T> FrameSink<T> {
    pub(super) fn with_options(target: T, options: WriteOptions) -> Result<Self, WriteError>
    where
        T: Target,
    {
        let chunk_size = options.resolved_chunk_size()?;
        Self::with_feed(target, options, |pool| Feed::Stream(Rechunker::new(chunk_size, pool.buffers())))
    }

    /// A sink whose chunks are cut by `feed`, which is told where they are encoded.
    pub(crate) fn with_feed(
        target: T,
        options: WriteOptions,
        feed: impl FnOnce(&Pool) -> Feed,
    ) -> Result<Self, WriteError>
    where
        T: Target,
    {
        let chunk_size = options.resolved_chunk_size()?;
        let params = options.frame_params(chunk_size)?;
        let registry = match options.registry {
            Some(registry) => registry,
            None => Registry::linked()?.clone(),
        };
        let pool = options.pool.unwrap_or_default();
        let chunks = options.chunks_in_flight.unwrap_or_else(|| pool.in_work(chunk_size)).max(1);
        let limits = FlightLimits { chunks, bytes: options.bytes_in_flight, chunk_size };

        let mut writer = Machine::new(&params, &registry, &target)?;
        for (name, content) in &options.vlmetalayers {
            writer.set_vlmetalayer(name, content)?;
        }
        let mut outgoing = Outgoing::default();
        if let Some((part, bytes)) = writer.head() {
            outgoing.push(part, bytes);
        }
        let array = params.metalayers.get(ArrayMeta::NAME).and_then(|content| ArrayMeta::parse(content).ok());
        let geometry = array.map(|meta| Arc::new(meta.geometry));
        let feed = feed(&pool);
        let workshop = Workshop::new(options.params, registry, geometry, pool)
            .map_err(|source| WriteError::Params(source.into()))?;
        Ok(Self {
            target,
            workshop,
            writer,
            feed,
            in_flight: InFlight::default(),
            outgoing,
            limits,
            next_chunk: 0,
            taken: 0,
            phase: Phase::Open,
            failed: None,
        })
    }

    /// The target.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// The target; finished if the sink is.
    pub fn into_target(self) -> T {
        self.target
    }

    /// Decoded bytes of a chunk.
    pub fn chunk_size(&self) -> usize {
        self.limits.chunk_size
    }

    /// Bytes taken in.
    pub fn nbytes(&self) -> u64 {
        self.taken
    }

    /// Bytes held here: not yet a whole chunk, in flight, or on their way to the target.
    pub fn held_bytes(&self) -> usize {
        self.feed.buffered() + FlightLimits::cost(self.in_flight.bytes()) + self.outgoing.bytes
    }

    /// What has been written, once the frame is final.
    pub fn summary(&self) -> Option<Summary> {
        matches!(self.phase, Phase::Finished | Phase::Closed).then(|| self.writer.summary())
    }

    fn check_usable(&self) -> Result<(), WriteError> {
        if let Some(failed) = self.failed.as_ref().and_then(WriteError::again) {
            return Err(failed);
        }
        if matches!(self.phase, Phase::Aborted) { Err(WriteError::Closed) } else { Ok(()) }
    }

    pub(crate) fn check_open(&self) -> Result<(), WriteError> {
        self.check_usable()?;
        if matches!(self.phase, Phase::Open) { Ok(()) } else { Err(WriteError::Closed) }
    }

    /// Remembers an error that stays.
    fn fail(&mut self, error: WriteError) -> WriteError {
        self.failed = error.again();
        error
    }

    fn has_room(&self) -> bool {
        let limits = &self.limits;
        let chunks = self.in_flight.chunks() + self.outgoing.chunks;
        let bytes = FlightLimits::cost(self.in_flight.bytes()) + self.outgoing.bytes;
        // One chunk is always allowed, or nothing would ever move; the header alone is no reason to wait.
        chunks == 0 || chunks < limits.chunks && bytes + FlightLimits::cost(limits.chunk_size) <= limits.bytes
    }

    /// Hands chunks to the pool while there is room for them; whether there was one.
    fn dispatch(&mut self) -> bool {
        let mut moved = false;
        while self.has_room() {
            let mut input = self.feed.next_chunk();
            if input.is_none() && matches!(self.phase, Phase::LastChunks) {
                input = self.feed.last_chunk();
            }
            let Some(input) = input else { break };
            let len = input.len();
            let job = self.workshop.encode(self.next_chunk, input);
            self.in_flight.push(self.next_chunk, len, job);
            self.next_chunk += 1;
            moved = true;
        }
        moved
    }

    /// Takes encoded chunks from the pool, in order; whether there was one.
    fn collect(&mut self, cx: &mut Context<'_>) -> Result<bool, WriteError> {
        let mut moved = false;
        while let Poll::Ready(Some(result)) = self.in_flight.poll_next(cx) {
            let (number, encoded) = result.map_err(|e| self.fail(e))?;
            self.feed.recycle(encoded.input);
            debug_assert_eq!(number, self.writer.nchunks());
            match self.writer.push(encoded.chunk) {
                Ok(Some((part, bytes))) => self.outgoing.push(part, bytes),
                Ok(None) => {}
                Err(e) => return Err(self.fail(e.into())),
            }
            moved = true;
        }
        Ok(moved)
    }
}

impl<T: Target> FrameSink<T> {
    /// Passes everything taken in so far to the target, but for the bytes of a chunk that is not whole yet, and has
    /// the target flush it.
    ///
    /// # Errors
    /// See [`FrameSink`].
    pub async fn flush(&mut self) -> Result<(), WriteError> {
        poll_fn(|cx| self.poll_flush_chunks(cx)).await
    }

    /// Makes the frame final and leaves what lies underneath the target open.
    ///
    /// # Errors
    /// See [`FrameSink`]; may be called again, and returns the same summary once it has succeeded.
    pub async fn finish(&mut self) -> Result<Summary, WriteError> {
        poll_fn(|cx| self.poll_finish(cx)).await
    }

    /// Makes the frame final and closes what lies underneath the target.
    ///
    /// # Errors
    /// See [`FrameSink`]; may be called again, and returns the same summary once it has succeeded.
    pub async fn close(&mut self) -> Result<Summary, WriteError> {
        poll_fn(|cx| self.poll_close_frame(cx)).await
    }

    /// Gives the frame up and has the target remove what it can. Nothing happens to a frame that is final.
    ///
    /// # Errors
    /// [`WriteError::Target`]; may be called again.
    pub async fn abort(&mut self) -> Result<(), WriteError> {
        poll_fn(|cx| self.poll_abort(cx)).await
    }

    /// Replaces the content of a metalayer of the header by one of the same length, any time before the sink is closed.
    ///
    /// # Errors
    /// When there is none of that name or the length differs, and when the sink is closed. None of these stays.
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), WriteError> {
        self.check_open()?;
        Ok(self.writer.set_metalayer(name, content)?)
    }

    /// Sets or replaces a variable-length metalayer of the trailer, any time before the sink is closed.
    ///
    /// # Errors
    /// When the name has more than 31 bytes or there are 16 others, and when the sink is closed. None of these stays.
    pub fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), WriteError> {
        self.check_open()?;
        Ok(self.writer.set_vlmetalayer(name, content)?)
    }

    /// Moves everything as far as it goes now. Afterwards nothing more is done until `cx` is woken.
    fn advance(&mut self, cx: &mut Context<'_>) -> Result<(), WriteError> {
        self.check_usable()?;
        loop {
            let mut moved = self.outgoing.write(&mut self.target, cx).map_err(|refusal| self.fail(refusal.into()))?;
            moved |= self.collect(cx)?;
            moved |= self.dispatch();
            if !moved {
                return Ok(());
            }
        }
    }

    /// Ready when there is less than a chunk here that is not in flight.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        self.check_open()?;
        self.advance(cx)?;
        if self.feed.wants_more() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// Takes all of `bytes`, and hands on what makes whole chunks as far as there is room.
    pub(crate) fn take(&mut self, bytes: Bytes) -> Result<(), WriteError> {
        self.check_open()?;
        self.taken += bytes.len() as u64;
        self.feed.push(bytes);
        self.dispatch();
        Ok(())
    }

    /// Copies from the front of `bytes` what fits into the current chunk; the number of bytes.
    pub(crate) fn take_copy(&mut self, bytes: &[u8]) -> usize {
        let taken = self.feed.fill(bytes);
        self.taken += taken as u64;
        self.dispatch();
        taken
    }

    /// Ready when all whole chunks have been accepted by the target.
    fn poll_drained(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        self.advance(cx)?;
        if self.feed.wants_more() && self.in_flight.is_empty() && self.outgoing.queue.is_empty() {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    pub(crate) fn poll_flush_chunks(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        if matches!(self.phase, Phase::Finished | Phase::Closed) {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_drained(cx))?;
        self.target.poll_flush(cx).map_err(WriteError::from)
    }

    pub(crate) fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<Summary, WriteError>> {
        loop {
            self.phase = match &self.phase {
                Phase::Open => {
                    self.check_usable()?;
                    Phase::LastChunks
                }
                Phase::LastChunks => {
                    ready!(self.poll_drained(cx))?;
                    let (tail, header) = self.writer.finish().map_err(|e| self.fail(e.into()))?;
                    self.outgoing.push(Part::Tail, tail.unwrap_or_default());
                    Phase::Tail { header }
                }
                Phase::Tail { header } => {
                    let header = header.clone();
                    ready!(self.poll_drained(cx))?;
                    Phase::Commit { header }
                }
                Phase::Commit { header } => {
                    ready!(self.target.poll_commit(cx, header))?;
                    Phase::Finished
                }
                Phase::Finished | Phase::Closed | Phase::Aborted => {
                    return Poll::Ready(self.summary().ok_or(WriteError::Closed));
                }
            };
        }
    }

    pub(crate) fn poll_close_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Summary, WriteError>> {
        let summary = ready!(self.poll_finish(cx))?;
        if matches!(self.phase, Phase::Finished) {
            ready!(self.target.poll_close(cx))?;
            self.phase = Phase::Closed;
        }
        Poll::Ready(Ok(summary))
    }

    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        if !matches!(self.phase, Phase::Finished | Phase::Closed) {
            // Chunks that no worker has begun with are taken back.
            self.in_flight = InFlight::default();
            self.outgoing = Outgoing::default();
            self.phase = Phase::Aborted;
            ready!(self.target.poll_abort(cx))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl FlightLimits {
    /// What chunks of `len` decoded bytes may take while they are encoded: as much again for the result.
    const fn cost(len: usize) -> usize {
        len.saturating_mul(2)
    }
}

impl Outgoing {
    fn push(&mut self, part: Part, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.bytes += bytes.len();
            self.chunks += usize::from(part.is_chunk());
            self.queue.push_back((part, bytes));
        }
    }

    /// Offers bytes to `target` until it accepts no more; whether it accepted any.
    fn write(&mut self, target: &mut impl Target, cx: &mut Context<'_>) -> Result<bool, Refusal> {
        let mut moved = false;
        while let Some((part, bytes)) = self.queue.front_mut() {
            let Poll::Ready(taken) = poll_offer(target, cx, *part, bytes) else { break };
            self.bytes -= taken?;
            moved = true;
            if bytes.is_empty() {
                self.chunks -= usize::from(part.is_chunk());
                self.queue.pop_front();
            }
        }
        Ok(moved)
    }
}

impl<T> fmt::Debug for FrameSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameSink")
            .field("limits", &self.limits)
            .field("taken", &self.taken)
            .field("chunks_in_flight", &self.in_flight.chunks())
            .field("held_bytes", &self.held_bytes())
            .field("phase", &self.phase)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
