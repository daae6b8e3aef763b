//! Writing arrays.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::Sink;
use futures::io::AsyncWrite;
use oxiblosc_core::nd::{ArrayMeta, Tiling};

use super::ArrayError;
use crate::sink::{Chunker, Drive, Driven, Driver, FrameSink, Sealed, Summary, Tiler, WriteOptions, driven, row_bytes};
use crate::target::Target;

/// Takes the items of an array in C order, as rows or in buffers of any size, and writes it to a target.
///
/// It is a [`futures::Sink`] of [`Bytes`] and a [`futures::io::AsyncWrite`], made by
/// [`ArrayOptions`](super::ArrayOptions). Rows are collected into a slab, the chunks that share them; memory holds one
/// slab, the previous one while workers cut it into chunks, and what is in flight. An array made by
/// [`ArrayOptions::rows`](super::ArrayOptions::rows) gets the number of rows that it was given by the time it is
/// closed; only then is its shape written.
///
/// Back-pressure, errors and cancellation are those of [`FrameSink`].
///
/// ```
/// use futures::{AsyncWriteExt, executor::block_on};
/// use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
/// # use oxiblosc_plugins as _;
///
/// block_on(async {
///     let mut sink = ArrayOptions::rows(&[3], "<u2").in_memory()?;
///     for row in 0..1000u16 {
///         let row: Vec<u8> = [row, row + 1, row + 2].into_iter().flat_map(u16::to_le_bytes).collect();
///         sink.write_all(&row).await?;
///     }
///     assert_eq!(sink.close().await?.shape, [1000, 3]);
///
///     let array = NdArray::open(sink.into_target().into_bytes()).await?;
///     assert_eq!(array.item(&[-1, 0]).await?, &999u16.to_le_bytes()[..]);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })
/// # .unwrap();
/// ```
pub struct NdSink<T> {
    sink: FrameSink<T>,
    meta: ArrayMeta,
    row_bytes: u64,
    /// Bytes that the array must have, if its shape is known.
    expected: Option<u64>,
}

/// What a finished sink has written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArraySummary {
    /// Shape of the array.
    pub shape: Vec<u64>,
    /// The frame. Its `nbytes` include the padding of chunks.
    pub frame: Summary,
}

impl<T> NdSink<T> {
    pub(super) fn new(
        target: T,
        mut options: WriteOptions,
        meta: ArrayMeta,
        tiling: &Tiling,
        growing: bool,
    ) -> Result<Self, ArrayError>
    where
        T: Target,
    {
        let pool = options.pool.get_or_insert_default();
        let tiler = Tiler::new(tiling, options.bytes_in_flight, pool.buffers())?;
        Ok(Self {
            sink: FrameSink::with_feed(target, options, |_| Chunker::Array(tiler))?,
            meta,
            row_bytes: row_bytes(tiling)? as u64,
            expected: (!growing).then(|| tiling.array_bytes()),
        })
    }

    /// Rows taken so far; the last one may be incomplete.
    pub fn rows(&self) -> u64 {
        self.sink.nbytes().div_ceil(self.row_bytes.max(1))
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// The dtype of the items.
    pub(crate) fn dtype(&self) -> Option<&str> {
        self.meta.dtype.as_deref()
    }

    /// The target.
    pub fn target(&self) -> &T {
        self.sink.target()
    }

    /// The target; finished if the sink is.
    pub fn into_target(self) -> T {
        self.sink.into_target()
    }

    /// Bytes held here: rows of an incomplete slab, slabs, and chunks in flight or on their way to the target.
    pub fn held_bytes(&self) -> usize {
        self.sink.held_bytes()
    }

    /// Checks that `more` bytes fit into the array.
    fn check_room(&self, more: usize) -> Result<(), ArrayError> {
        let Some(expected) = self.expected else { return Ok(()) };
        let found = self.sink.nbytes().saturating_add(more as u64);
        if found > expected { Err(ArrayError::Length { expected, found }) } else { Ok(()) }
    }

    /// Sets the final shape before the sink is closed.
    fn set_shape(&mut self) -> Result<(), ArrayError>
    where
        T: Target,
    {
        if self.sink.summary().is_some() || self.sink.check_open().is_err() {
            // Closed or closing, or a permanent error, which closing reports.
            return Ok(());
        }
        let found = self.sink.nbytes();
        if let Some(expected) = self.expected.filter(|&expected| expected != found) {
            return Err(ArrayError::Length { expected, found });
        }
        if self.expected.is_none() {
            // Rows have at least one byte.
            if !found.is_multiple_of(self.row_bytes) {
                return Err(ArrayError::PartialRow { row_bytes: self.row_bytes, found: found % self.row_bytes });
            }
            let rows = found / self.row_bytes;
            if let Some(len) = self.meta.geometry.shape.first_mut() {
                *len = rows;
            }
            let meta = self.meta.to_bytes()?;
            self.sink.set_metalayer(ArrayMeta::NAME, &meta)?;
            if self.sink.target().is_open_ended() {
                // The header may never be written; a recovery then finds the shape in the trailer.
                self.sink.set_vlmetalayer(ArrayMeta::NAME, &meta)?;
            }
        }
        Ok(())
    }
}

impl<T: Target> NdSink<T> {
    /// Takes the bytes of any number of items. Slabs that are complete within them are not copied.
    ///
    /// When the future is dropped before it is ready, `items` are dropped with it: use
    /// [`write_bytes`](Self::write_bytes) where that may happen.
    ///
    /// # Errors
    /// See [`FrameSink`]; [`ArrayError::Length`] when the array does not have as many items.
    pub async fn push(&mut self, mut items: Bytes) -> Result<(), ArrayError> {
        self.write_bytes(&mut items).await
    }

    /// Takes all of `items`, the bytes of any number of items, and leaves it empty; see [`FrameSink::write_bytes`]. If
    /// the future is dropped, either all of them have been taken or none.
    ///
    /// # Errors
    /// As [`push`](Self::push); nothing has been taken then.
    pub async fn write_bytes(&mut self, items: &mut Bytes) -> Result<(), ArrayError> {
        poll_fn(|cx| self.poll_write_bytes(cx, items)).await
    }

    /// Splits the sink into the producer's side and a driver; see [`FrameSink::into_driven`].
    pub fn into_driven(self) -> (Driven<Self>, Driver<Self>) {
        driven(self)
    }

    /// Passes every complete slab to the target and flushes the target.
    ///
    /// # Errors
    /// See [`FrameSink`].
    pub async fn flush(&mut self) -> Result<(), ArrayError> {
        Ok(self.sink.flush().await?)
    }

    /// Completes the array and leaves the writer underneath the target open.
    ///
    /// # Errors
    /// As [`close`](Self::close).
    pub async fn finish(&mut self) -> Result<ArraySummary, ArrayError> {
        poll_fn(|cx| self.poll_finish_frame(cx)).await
    }

    /// Completes the array and closes the writer underneath the target.
    ///
    /// # Errors
    /// See [`FrameSink`]. [`ArrayError::Length`] and [`ArrayError::PartialRow`] when items are missing, which may then
    /// still be written.
    pub async fn close(&mut self) -> Result<ArraySummary, ArrayError> {
        poll_fn(|cx| Drive::poll_close_frame(self, cx)).await
    }

    /// Abandons the array; see [`FrameSink::abort`].
    ///
    /// # Errors
    /// See [`FrameSink::abort`].
    pub async fn abort(&mut self) -> Result<(), ArrayError> {
        Ok(self.sink.abort().await?)
    }

    /// Sets or replaces a variable-length metalayer; see [`FrameSink::set_vlmetalayer`].
    ///
    /// # Errors
    /// See [`FrameSink::set_vlmetalayer`].
    pub fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), ArrayError> {
        Ok(self.sink.set_vlmetalayer(name, content)?)
    }

    fn summary(&self, frame: Summary) -> ArraySummary {
        ArraySummary { shape: self.meta.geometry.shape.clone(), frame }
    }
}

impl<T: Target> Sink<Bytes> for NdSink<T> {
    type Error = ArrayError;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ArrayError>> {
        self.sink.poll_room(cx).map_err(ArrayError::from)
    }

    fn start_send(mut self: Pin<&mut Self>, item: Bytes) -> Result<(), ArrayError> {
        self.check_room(item.len())?;
        Ok(self.sink.take(item)?)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ArrayError>> {
        self.sink.poll_flush_chunks(cx).map_err(ArrayError::from)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ArrayError>> {
        Drive::poll_close_frame(&mut *self, cx).map_ok(drop)
    }
}

impl<T: Target> Sealed for NdSink<T> {}

impl<T: Target> Drive for NdSink<T> {
    type Summary = ArraySummary;

    fn poll_drive(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ArrayError>> {
        self.sink.poll_drive_chunks(cx).map_err(ArrayError::from)
    }

    fn poll_write_bytes(&mut self, cx: &mut Context<'_>, items: &mut Bytes) -> Poll<Result<(), ArrayError>> {
        self.check_room(items.len())?;
        self.sink.poll_write_bytes(cx, items).map_err(ArrayError::from)
    }

    fn poll_finish_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<ArraySummary, ArrayError>> {
        self.set_shape()?;
        let frame = ready!(self.sink.poll_finish(cx))?;
        Poll::Ready(Ok(self.summary(frame)))
    }

    fn poll_close_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<ArraySummary, ArrayError>> {
        self.set_shape()?;
        let frame = ready!(self.sink.poll_close_frame(cx))?;
        Poll::Ready(Ok(self.summary(frame)))
    }

    fn poll_abort_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ArrayError>> {
        self.sink.poll_abort(cx).map_err(ArrayError::from)
    }

    fn is_settled(&self) -> bool {
        self.sink.is_final_or_aborted()
    }
}

/// Errors are those of [`NdSink`] as [`io::Error`]s.
impl<T: Target> AsyncWrite for NdSink<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            self.sink.check_open()?;
            return Poll::Ready(Ok(0));
        }
        // The part that the array has room for; an error if it has none.
        let room = self.expected.map_or(u64::MAX, |expected| expected.saturating_sub(self.sink.nbytes()));
        if room == 0 {
            self.check_room(buf.len()).map_err(io::Error::from)?;
        }
        let buf = &buf[..buf.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        ready!(self.sink.poll_room(cx))?;
        Poll::Ready(Ok(self.sink.take_copy(buf)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink.poll_flush_chunks(cx).map_err(io::Error::from)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Drive::poll_close_frame(&mut *self, cx).map_ok(drop).map_err(io::Error::from)
    }
}

impl<T> fmt::Debug for NdSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NdSink").field("meta", &self.meta).field("sink", &self.sink).finish_non_exhaustive()
    }
}
