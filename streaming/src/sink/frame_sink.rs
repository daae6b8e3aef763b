//! The state machine between the caller's bytes and a target.

use crate::trace::{Span, span};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use oxiblosc_core::frame::{FrameWriteError, FrameWriter};
use oxiblosc_core::nd::ArrayMeta;

use super::chunk_permits::ChunkPermits;
use super::chunker::Chunker;
use super::emit::FrameEnd;
use super::encoding::{ChunkEncoders, EncodeQueue};
use super::rechunk::Rechunker;
use super::{Driven, Driver, Summary, WriteOptions, driven, emit};
use crate::compute::{CoopBudget, Job, Pool};
use crate::error::WriteError;
use crate::sync::{Mutex, MutexGuard};
use crate::target::{OfferError, Part, Target, poll_offer};

/// Takes decoded bytes and writes a frame to a target.
///
/// It is a [`futures::Sink`] of [`Bytes`] and a [`futures::io::AsyncWrite`]; buffers may be of any size. They are cut
/// into chunks, the chunks are encoded on a pool, and the results are written in order.
///
/// - **Back-pressure.** [`WriteOptions`] limit the chunks and bytes in flight; beyond that, `poll_ready` and
///   `poll_write` wait. A chunk is in flight until the target has accepted it.
/// - **Flush** passes on every complete chunk. The bytes of an incomplete one stay: only the last chunk may be short.
/// - **Close** writes the short last chunk, index and trailer, and commits the target. It is explicit: a sink that is
///   dropped before that leaves its target unfinished.
/// - **Errors.** After one that [is resumable](WriteError::is_resumable) every call may be repeated and continues where
///   the failed one stopped. All others are permanent.
/// - **Cancellation.** All state is here, none in the futures of the methods: any of them may be dropped at any time
///   and called again, and what has been taken ([`nbytes`](FrameSink::nbytes)) is neither lost nor repeated. What has
///   *not* been taken stays with the caller. [`write_bytes`](FrameSink::write_bytes) leaves it in the caller's hands,
///   and so do `AsyncWriteExt::write` and `Sink::poll_ready` with `start_send`: they take all they are going to take in
///   the poll that is ready. The adapters of the `futures` crate do not: `feed`, `send`, `send_all` and `forward` own
///   their item until there is room for it, and if they are dropped before that, it is lost with them; after a dropped
///   `write_all`, `nbytes` shows how much was written.
/// - **Work is done when the sink is polled**, and otherwise only what the pool and the target have started. For chunks
///   to be written while their producer waits for something else, drive the sink:
///   [`into_driven`](FrameSink::into_driven).
/// - **No poll takes long.** Long work is left to the pool and to threads that may block; at most about half a megabyte
///   is copied per poll.
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
    encoders: ChunkEncoders,
    pool: Pool,
    /// Shared with the jobs below; everyone else locks it for a single call only.
    writer: Arc<Mutex<FrameWriter>>,
    feed: Chunker,
    in_flight: EncodeQueue,
    /// The chunk that is being digested; the next one waits for it.
    placing: Option<Digesting>,
    /// The job that builds the index.
    finishing: Option<Job<Result<FrameEnd, FrameWriteError>>>,
    shares: ChunkPermits,
    outgoing: OutputQueue,
    limits: FlightLimits,
    next_chunk: u64,
    taken: u64,
    phase: Phase,
    failed: Option<WriteError>,
    turn: CoopBudget,
    /// The commit in progress.
    commit: Option<Span>,
}

/// A chunk on its way into the frame.
struct Digesting {
    number: u64,
    len: usize,
    job: Job<Result<Option<(Part, Bytes)>, FrameWriteError>>,
}

#[derive(Debug, Clone)]
enum Phase {
    /// Taking bytes.
    Open,
    /// Waiting until the target has accepted every chunk, including a short last one.
    LastChunks,
    /// Writing index and trailer.
    Tail { committed: Bytes },
    /// Committing the target.
    Commit { committed: Bytes },
    /// The frame is complete.
    Finished,
    /// The writer underneath the target is closed, too.
    Closed,
    /// The frame has been abandoned.
    Aborted,
}

/// The limits on what may be in flight.
#[derive(Debug, Clone, Copy)]
struct FlightLimits {
    chunks: usize,
    bytes: usize,
    chunk_size: usize,
}

/// Bytes that the target has not yet accepted.
#[derive(Default)]
struct OutputQueue {
    queue: VecDeque<(Part, Bytes)>,
    bytes: usize,
    /// How many of them are chunks.
    chunks: usize,
    /// Whether the target has accepted bytes since a driver last flushed it.
    unflushed: bool,
}

// Nothing here is ever pinned: targets take `&mut self`.
impl<T> Unpin for FrameSink<T> {}

impl<T> FrameSink<T> {
    pub(super) fn with_options(target: T, options: WriteOptions) -> Result<Self, WriteError>
    where
        T: Target,
    {
        let chunk_size = options.resolved_chunk_size()?;
        Self::with_feed(target, options, |pool| Chunker::Stream(Rechunker::new(chunk_size, pool.buffers())))
    }

    /// A sink whose chunks are cut by `feed`, which gets the pool.
    pub(crate) fn with_feed(
        target: T,
        options: WriteOptions,
        feed: impl FnOnce(&Pool) -> Chunker,
    ) -> Result<Self, WriteError>
    where
        T: Target,
    {
        let chunk_size = options.resolved_chunk_size()?;
        let params = options.frame_params(chunk_size)?;
        let registry = crate::given_or_linked(options.registry.as_ref())?;
        let pool = options.pool.unwrap_or_default();
        let chunks = options.chunks_in_flight.unwrap_or_else(|| pool.chunks_in_progress(chunk_size)).max(1);
        let limits = FlightLimits { chunks, bytes: options.bytes_in_flight, chunk_size };

        let mut writer = emit::writer_for(&params, &registry, &target)?;
        for (name, content) in &options.vlmetalayers {
            writer.set_vlmetalayer(name, content)?;
        }
        writer.copy_encoded_vlmetalayers(&options.encoded_vlmetalayers)?;
        let mut outgoing = OutputQueue::default();
        outgoing.push(Part::Header, writer.header());
        let array = params.metalayers.get(ArrayMeta::NAME).and_then(|content| ArrayMeta::parse(content).ok());
        let geometry = array.map(|meta| Arc::new(meta.geometry));
        let feed = feed(&pool);
        let encoders = ChunkEncoders::new(options.params, registry, geometry, pool.clone())
            .map_err(|source| WriteError::Params(source.into()))?;
        Ok(Self {
            target,
            encoders,
            pool,
            writer: Arc::new(Mutex::new(writer)),
            feed,
            in_flight: EncodeQueue::default(),
            placing: None,
            finishing: None,
            shares: ChunkPermits::new(options.budget.as_ref()),
            outgoing,
            limits,
            next_chunk: 0,
            taken: 0,
            phase: Phase::Open,
            failed: None,
            turn: CoopBudget::default(),
            commit: None,
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

    /// Bytes of an item.
    pub(crate) fn typesize(&self) -> usize {
        self.encoders.typesize()
    }

    /// Decoded bytes of a chunk.
    pub fn chunk_size(&self) -> usize {
        self.limits.chunk_size
    }

    /// Bytes taken so far.
    pub fn nbytes(&self) -> u64 {
        self.taken
    }

    /// Bytes held here: of an incomplete chunk, in flight, or on their way to the target.
    pub fn held_bytes(&self) -> usize {
        self.feed.buffered() + FlightLimits::cost(self.in_flight.bytes()) + self.encoded_bytes()
    }

    /// Bytes of encoded chunks that the target has not accepted.
    fn encoded_bytes(&self) -> usize {
        self.outgoing.bytes + self.placing.as_ref().map_or(0, |placing| placing.len)
    }

    fn writer(&self) -> MutexGuard<'_, FrameWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has been written, once the frame is complete.
    pub fn summary(&self) -> Option<Summary> {
        matches!(self.phase, Phase::Finished | Phase::Closed).then(|| emit::summary(&self.writer()))
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

    /// Records a permanent error.
    fn fail(&mut self, error: WriteError) -> WriteError {
        self.failed = error.again();
        error
    }

    /// Chunks that the pool or the target is not done with.
    fn chunks_on_their_way(&self) -> usize {
        self.in_flight.chunks() + self.outgoing.chunks + usize::from(self.placing.is_some())
    }

    /// Whether the shared budget has room for the next chunk.
    fn reserve_next(&mut self) -> bool {
        self.shares.try_take(FlightLimits::cost(self.limits.chunk_size))
    }

    fn has_room(&self) -> bool {
        let limits = &self.limits;
        let chunks = self.chunks_on_their_way();
        let bytes = FlightLimits::cost(self.in_flight.bytes()) + self.encoded_bytes();
        // One chunk is always allowed, or there would be no progress; the header alone is no reason to wait.
        chunks == 0 || chunks < limits.chunks && bytes + FlightLimits::cost(limits.chunk_size) <= limits.bytes
    }

    /// Gives chunks to the pool while there is room for them. Returns whether there was one.
    fn dispatch(&mut self) -> bool {
        let mut moved = false;
        self.shares.keep(self.chunks_on_their_way());
        if self.feed.wants_more() && !matches!(self.phase, Phase::LastChunks) {
            return false;
        }
        while self.has_room() && !self.turn.is_over() && self.reserve_next() {
            let mut input = self.feed.next_chunk();
            if input.is_none() && matches!(self.phase, Phase::LastChunks) {
                input = self.feed.last_chunk();
            }
            let Some(input) = input else { break };
            let len = input.len();
            // Without threads the chunk is encoded here and now.
            self.turn.spend(if self.pool.threads() == 0 { 4 * len } else { CoopBudget::HANDLING });
            let job = self.encoders.encode(self.next_chunk, input);
            self.in_flight.push(self.next_chunk, len, job);
            self.next_chunk += 1;
            moved = true;
        }
        self.shares.keep(self.chunks_on_their_way());
        moved
    }

    /// Takes encoded chunks from the pool, in order. Returns whether there was one.
    fn collect(&mut self, cx: &mut Context<'_>) -> Result<bool, WriteError> {
        let mut moved = false;
        loop {
            if let Some(placing) = &mut self.placing {
                let Poll::Ready(placed) = Pin::new(&mut placing.job).poll(cx) else { return Ok(moved) };
                let chunk = placing.number;
                self.placing = None;
                let placed = placed.map_err(|panic| self.fail(WriteError::Panicked { chunk, panic }))?;
                self.send_out(placed)?;
            } else {
                let Poll::Ready(Some(result)) = self.in_flight.poll_next(cx) else { return Ok(moved) };
                let (number, encoded) = result.map_err(|e| self.fail(e))?;
                self.add_chunk(number, encoded.chunk)?;
            }
            moved = true;
        }
    }

    /// Adds an encoded chunk to the frame: at once, or on the pool if it has to be digested.
    fn add_chunk(&mut self, number: u64, chunk: Bytes) -> Result<(), WriteError> {
        let (len, mut writer) = (chunk.len(), self.writer());
        debug_assert_eq!(number, writer.nchunks());
        if emit::pushes_quickly(&writer, len) {
            let placed = emit::push(&mut writer, chunk);
            drop(writer);
            return self.send_out(placed);
        }
        drop(writer);
        let writer = Arc::clone(&self.writer);
        let job =
            self.pool.spawn(move || emit::push(&mut writer.lock().unwrap_or_else(PoisonError::into_inner), chunk));
        self.placing = Some(Digesting { number, len, job });
        Ok(())
    }

    fn send_out(&mut self, placed: Result<Option<(Part, Bytes)>, FrameWriteError>) -> Result<(), WriteError> {
        if let Some((part, bytes)) = placed.map_err(|e| self.fail(e.into()))? {
            self.outgoing.push(part, bytes);
        }
        Ok(())
    }

    /// Ends the frame.
    fn poll_tail(&mut self, cx: &mut Context<'_>) -> Poll<Result<FrameEnd, WriteError>> {
        let finish =
            |writer: &Mutex<FrameWriter>| emit::finish(&mut writer.lock().unwrap_or_else(PoisonError::into_inner));
        if self.finishing.is_none() && emit::finishes_quickly(&self.writer()) {
            return Poll::Ready(finish(&self.writer).map_err(|e| self.fail(e.into())));
        }
        let (pool, writer) = (&self.pool, &self.writer);
        let job = self.finishing.get_or_insert_with(|| {
            let writer = Arc::clone(writer);
            pool.spawn(move || finish(&writer))
        });
        let finished = ready!(Pin::new(job).poll(cx));
        self.finishing = None;
        let chunk = self.next_chunk;
        let finished = finished.map_err(|panic| self.fail(WriteError::Panicked { chunk, panic }))?;
        Poll::Ready(finished.map_err(|e| self.fail(e.into())))
    }
}

impl<T: Target> FrameSink<T> {
    /// Takes all of `bytes` as soon as less than a chunk is held here that is not in flight, and leaves it empty.
    /// Chunks that are complete within it are not copied, nor are blocks of other chunks that are complete within a buffer
    /// of 64 KiB or more.
    ///
    /// Until then the caller keeps them: if the future is dropped, either all of them have been taken or none.
    ///
    /// ```
    /// # use futures::executor::block_on;
    /// # use oxiblosc_streaming::WriteOptions;
    /// # use oxiblosc_plugins as _;
    /// # block_on(async {
    /// let mut sink = WriteOptions::default().in_memory()?;
    /// let mut bytes = bytes::Bytes::from(vec![7; 100_000]);
    /// sink.write_bytes(&mut bytes).await?;
    /// assert!(bytes.is_empty() && sink.nbytes() == 100_000);
    /// # Ok::<(), oxiblosc_streaming::WriteError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`FrameSink`]; nothing has been taken then.
    pub async fn write_bytes(&mut self, bytes: &mut Bytes) -> Result<(), WriteError> {
        poll_fn(|cx| self.poll_write_bytes(cx, bytes)).await
    }

    /// Splits the sink into the producer's side and a future that writes and flushes what the sink holds while the
    /// producer does something else.
    pub fn into_driven(self) -> (Driven<Self>, Driver<Self>) {
        driven(self)
    }

    /// Passes everything taken so far to the target, except the bytes of an incomplete chunk, and flushes the target.
    ///
    /// # Errors
    /// See [`FrameSink`].
    pub async fn flush(&mut self) -> Result<(), WriteError> {
        poll_fn(|cx| self.poll_flush_chunks(cx)).await
    }

    /// Completes the frame and leaves the writer underneath the target open.
    ///
    /// # Errors
    /// See [`FrameSink`]; may be called again, and returns the same summary once it has succeeded.
    pub async fn finish(&mut self) -> Result<Summary, WriteError> {
        poll_fn(|cx| self.poll_finish(cx)).await
    }

    /// Completes the frame and closes the writer underneath the target.
    ///
    /// # Errors
    /// See [`FrameSink`]; may be called again, and returns the same summary once it has succeeded.
    pub async fn close(&mut self) -> Result<Summary, WriteError> {
        poll_fn(|cx| self.poll_close_frame(cx)).await
    }

    /// Abandons the frame and makes the target remove what it can. A complete frame is left alone.
    ///
    /// # Errors
    /// [`WriteError::Target`]; may be called again.
    pub async fn abort(&mut self) -> Result<(), WriteError> {
        poll_fn(|cx| self.poll_abort(cx)).await
    }

    /// Replaces the content of a metalayer of the header with other content of the same length, at any time before the
    /// sink is closed.
    ///
    /// # Errors
    /// When there is none with that name or the length differs, and when the sink is closed. None of these is
    /// permanent.
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), WriteError> {
        self.check_open()?;
        Ok(self.writer().set_metalayer(name, content)?)
    }

    /// Sets or replaces a variable-length metalayer of the trailer, at any time before the sink is closed.
    ///
    /// # Errors
    /// When the name has more than 31 bytes or there are 16 others, and when the sink is closed. None of these is
    /// permanent.
    pub fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), WriteError> {
        self.check_open()?;
        Ok(self.writer().set_vlmetalayer(name, content)?)
    }

    /// Makes as much progress as possible. When it is ready, there is nothing to do until `cx` is woken; when it is
    /// pending, the turn is over, there may be more to do, and `cx` has been woken.
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        self.check_usable()?;
        loop {
            let written = self.outgoing.write(&mut self.target, cx, &mut self.turn);
            let mut moved = written.map_err(|refusal| self.fail(refusal.into()))?;
            moved |= self.collect(cx)?;
            moved |= self.dispatch();
            if self.turn.is_over() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !moved {
                self.shares.wait(cx, self.has_room());
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Ready when less than a chunk is held here that is not in flight.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        self.check_open()?;
        ready!(self.turn.poll_proceed(cx));
        if self.chunks_on_their_way() > 0 || !self.outgoing.queue.is_empty() || !self.feed.wants_more() {
            // There may be room even if there is more to do.
            let _ = self.poll_advance(cx)?;
        }
        if self.feed.wants_more() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    pub(crate) fn poll_write_bytes(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<Result<(), WriteError>> {
        ready!(self.poll_room(cx))?;
        Poll::Ready(self.take(mem::take(bytes)))
    }

    /// Makes progress while the producer does not; ready when the target has all complete chunks and is flushed.
    pub(crate) fn poll_drive_chunks(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        if !matches!(self.phase, Phase::Open) {
            // The call that finishes the frame does the rest.
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_drained(cx))?;
        if self.outgoing.unflushed {
            ready!(self.target.poll_flush(cx))?;
            self.outgoing.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Whether the frame is complete or abandoned.
    pub(crate) fn is_final_or_aborted(&self) -> bool {
        matches!(self.phase, Phase::Finished | Phase::Closed | Phase::Aborted)
    }

    /// Takes all of `bytes`, and passes on complete chunks as far as there is room.
    pub(crate) fn take(&mut self, bytes: Bytes) -> Result<(), WriteError> {
        self.check_open()?;
        self.taken += bytes.len() as u64;
        self.feed.push(bytes);
        self.dispatch();
        Ok(())
    }

    /// Copies from the front of `bytes` what fits into the current chunk, up to an amount that is copied quickly.
    /// Returns the number of bytes.
    pub(crate) fn take_copy(&mut self, bytes: &[u8]) -> usize {
        let taken = self.feed.fill(&bytes[..bytes.len().min(CoopBudget::PIECE)]);
        self.taken += taken as u64;
        self.turn.spend(taken);
        self.dispatch();
        taken
    }

    /// Ready when the target has accepted all complete chunks.
    fn poll_drained(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        ready!(self.turn.poll_proceed(cx));
        ready!(self.poll_advance(cx))?;
        // At the end no bytes may be left, and certainly not the short last chunk.
        let cut = self.feed.wants_more() && (!matches!(self.phase, Phase::LastChunks) || self.feed.buffered() == 0);
        let encoded = self.in_flight.is_empty() && self.placing.is_none();
        if cut && encoded && self.outgoing.queue.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
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
                    let FrameEnd { tail, committed } = ready!(self.poll_tail(cx))?;
                    self.outgoing.push(Part::Tail, tail);
                    Phase::Tail { committed }
                }
                Phase::Tail { committed } => {
                    let committed = committed.clone();
                    ready!(self.poll_drained(cx))?;
                    Phase::Commit { committed }
                }
                Phase::Commit { committed } => {
                    // One span for all polls; an attempt that fails ends it.
                    let span = self.commit.get_or_insert_with(|| span!("commit", chunks = self.next_chunk)).clone();
                    let done = ready!(span.in_scope(|| self.target.poll_commit(cx, committed)));
                    self.commit = None;
                    done?;
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

    pub(crate) fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        if !matches!(self.phase, Phase::Finished | Phase::Closed) {
            // Chunks that no worker has started are cancelled.
            self.in_flight = EncodeQueue::default();
            self.placing = None;
            self.outgoing = OutputQueue::default();
            self.shares.keep(0);
            self.phase = Phase::Aborted;
            ready!(self.target.poll_abort(cx))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl FlightLimits {
    /// The memory that chunks of `len` decoded bytes may take while they are encoded: the same again for the result.
    const fn cost(len: usize) -> usize {
        len.saturating_mul(2)
    }
}

impl OutputQueue {
    fn push(&mut self, part: Part, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.bytes += bytes.len();
            self.chunks += usize::from(part.is_chunk());
            self.queue.push_back((part, bytes));
        }
    }

    /// Offers bytes to `target` until it accepts no more or the turn is over. Returns whether it accepted any.
    fn write(
        &mut self,
        target: &mut impl Target,
        cx: &mut Context<'_>,
        turn: &mut CoopBudget,
    ) -> Result<bool, OfferError> {
        let mut moved = false;
        while let Some((part, bytes)) = self.queue.front_mut().filter(|_| !turn.is_over()) {
            let Poll::Ready(taken) = poll_offer(target, cx, *part, bytes) else { break };
            let taken = taken?;
            self.bytes -= taken;
            self.unflushed = true;
            // Most targets copy what they take.
            turn.spend(taken.max(CoopBudget::HANDLING));
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
