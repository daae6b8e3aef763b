//! Sinks that make progress while their producer waits.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use futures::Sink;
use futures::io::AsyncWrite;
use futures::task::AtomicWaker;

use crate::sync::{Mutex, MutexGuard};

/// A sink that can be driven: a [`FrameSink`](crate::FrameSink) or an [`NdSink`](crate::nd::NdSink).
///
/// Its `into_driven` gives a [`Driven`] and a [`Driver`]. (The methods are those of the sinks themselves, as polls.)
pub trait Drive: Sink<Bytes, Error: Into<io::Error>> + AsyncWrite + Unpin + sealed::Sealed {
    /// The summary that closing returns.
    type Summary;

    /// Makes as much progress as possible; ready when there is nothing left to do.
    #[doc(hidden)]
    fn poll_drive(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure<Self>>>;
    #[doc(hidden)]
    fn poll_write_bytes(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<Result<(), Failure<Self>>>;
    #[doc(hidden)]
    fn poll_finish_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::Summary, Failure<Self>>>;
    #[doc(hidden)]
    fn poll_close_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::Summary, Failure<Self>>>;
    #[doc(hidden)]
    fn poll_abort_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure<Self>>>;
    /// Whether the frame is complete or abandoned.
    #[doc(hidden)]
    fn is_settled(&self) -> bool;
}

type Failure<S> = <S as Sink<Bytes>>::Error;

pub(crate) mod sealed {
    /// Keeps other types from implementing [`Drive`](super::Drive).
    pub trait Sealed {}
}

/// The producer's side of a driven sink, with the full interface of the sink.
///
/// A sink does its work when it is polled: while its producer waits for the next data, encoded chunks stay where they
/// are. A driven sink writes and flushes them meanwhile, because the [`Driver`] polls it as well.
///
/// Back-pressure, errors and cancellation are those of the sink. An error met by the driver is returned by the
/// producer's next call; until then there is no progress. Without its driver, or once that has been dropped, this
/// behaves like the plain sink.
///
/// ```
/// use futures::executor::block_on;
/// use futures::{AsyncWriteExt, future};
/// use oxiblosc_streaming::WriteOptions;
/// # use oxiblosc_plugins as _;
///
/// block_on(async {
///     let (mut sink, driver) = WriteOptions::default().in_memory()?.into_driven();
///     let producer = async move {
///         for _ in 0..3 {
///             // ... wait for data, as long as it takes ...
///             sink.write_all(&[7; 100_000]).await?;
///         }
///         let summary = sink.close().await?;
///         Ok::<_, std::io::Error>((summary, sink.into_inner()))
///     };
///     // Or spawned: the driver ends when the sink is closed, aborted or dropped.
///     let (produced, ()) = future::join(producer, driver).await;
///     let (summary, sink) = produced?;
///     assert_eq!(sink.into_target().into_bytes().len() as u64, summary.frame_len);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })
/// # .unwrap();
/// ```
pub struct Driven<S: Drive> {
    shared: Arc<DrivenInner<S>>,
}

/// The future that drives a [`Driven`] sink; see there. Spawn it, or join it with the producer.
///
/// It is ready when the frame is complete or abandoned, and when the producer has dropped its side or taken the sink
/// back: a producer that is joined with it must do one of these even if it fails.
#[must_use = "nothing is driven unless this is polled"]
pub struct Driver<S: Drive> {
    shared: Arc<DrivenInner<S>>,
}

struct DrivenInner<S: Drive> {
    state: Mutex<DrivenState<S>>,
    wakers: Arc<Wakers>,
}

struct DrivenState<S: Drive> {
    /// `None` once the producer has taken it back.
    sink: Option<S>,
    /// An error met by the driver and not yet reported to the producer.
    failed: Option<Failure<S>>,
}

/// The wakers of both sides. What the sink waits for remembers only the last task that polled, and there are two.
#[derive(Default)]
struct Wakers {
    producer: AtomicWaker,
    driver: AtomicWaker,
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.producer.wake();
        self.driver.wake();
    }
}

impl<S: Drive> DrivenInner<S> {
    fn lock(&self) -> MutexGuard<'_, DrivenState<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Splits a sink into the producer's side and its driver.
pub(crate) fn driven<S: Drive>(sink: S) -> (Driven<S>, Driver<S>) {
    let state = Mutex::new(DrivenState { sink: Some(sink), failed: None });
    let shared = Arc::new(DrivenInner { state, wakers: Arc::default() });
    (Driven { shared: Arc::clone(&shared) }, Driver { shared })
}

impl<S: Drive> Driven<S> {
    /// As `write_bytes` of the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub async fn write_bytes(&mut self, bytes: &mut Bytes) -> Result<(), Failure<S>> {
        poll_fn(|cx| self.poll_with(cx, |sink, cx| sink.poll_write_bytes(cx, bytes))).await
    }

    /// As `flush` of the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub async fn flush(&mut self) -> Result<(), Failure<S>> {
        poll_fn(|cx| self.poll_with(cx, |sink, cx| Sink::poll_flush(Pin::new(sink), cx))).await
    }

    /// As `finish` of the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub async fn finish(&mut self) -> Result<S::Summary, Failure<S>> {
        poll_fn(|cx| self.poll_with(cx, S::poll_finish_frame)).await
    }

    /// As `close` of the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub async fn close(&mut self) -> Result<S::Summary, Failure<S>> {
        poll_fn(|cx| self.poll_with(cx, S::poll_close_frame)).await
    }

    /// As `abort` of the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub async fn abort(&mut self) -> Result<(), Failure<S>> {
        poll_fn(|cx| self.poll_with(cx, S::poll_abort_frame)).await
    }

    /// Calls `ask` with the sink, to query it or set a metalayer. The driver waits meanwhile.
    pub fn with_sink<R>(&mut self, ask: impl FnOnce(&mut S) -> R) -> R {
        let mut state = self.shared.lock();
        match &mut state.sink {
            Some(sink) => ask(sink),
            None => unreachable!("only `into_inner` takes the sink, and the handle with it"),
        }
    }

    /// Takes back the sink; its driver ends.
    pub fn into_inner(self) -> S {
        match self.take() {
            Some(sink) => sink,
            None => unreachable!("only `into_inner` takes the sink, and the handle with it"),
        }
    }

    fn take(&self) -> Option<S> {
        let sink = self.shared.lock().sink.take();
        self.shared.wakers.driver.wake();
        sink
    }

    fn poll_with<R>(
        &mut self,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut S, &mut Context<'_>) -> Poll<Result<R, Failure<S>>>,
    ) -> Poll<Result<R, Failure<S>>> {
        let wakers = &self.shared.wakers;
        wakers.producer.register(cx.waker());
        let mut state = self.shared.lock();
        let answer = match (state.failed.take(), &mut state.sink) {
            (Some(error), _) => Poll::Ready(Err(error)),
            (None, Some(sink)) => {
                let waker = Waker::from(Arc::clone(wakers));
                ask(sink, &mut Context::from_waker(&waker))
            }
            (None, None) => Poll::Pending,
        };
        drop(state);
        // Work that has just started must be polled by the driver while the producer does something else.
        wakers.driver.wake();
        answer
    }
}

impl<S: Drive> Drop for Driven<S> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<S: Drive> Future for Driver<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let wakers = &self.shared.wakers;
        wakers.driver.register(cx.waker());
        let state = &mut *self.shared.lock();
        let Some(sink) = state.sink.as_mut().filter(|sink| !sink.is_settled()) else { return Poll::Ready(()) };
        if state.failed.is_none() {
            let waker = Waker::from(Arc::clone(wakers));
            if let Poll::Ready(Err(error)) = sink.poll_drive(&mut Context::from_waker(&waker)) {
                state.failed = Some(error);
                wakers.producer.wake();
            }
        }
        Poll::Pending
    }
}

impl<S: Drive> Sink<Bytes> for Driven<S> {
    type Error = Failure<S>;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Failure<S>>> {
        self.poll_with(cx, |sink, cx| Pin::new(sink).poll_ready(cx))
    }

    fn start_send(mut self: Pin<&mut Self>, item: Bytes) -> Result<(), Failure<S>> {
        let sent = self.with_sink(|sink| Pin::new(sink).start_send(item));
        self.shared.wakers.driver.wake();
        sent
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Failure<S>>> {
        self.poll_with(cx, |sink, cx| Sink::poll_flush(Pin::new(sink), cx))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Failure<S>>> {
        self.poll_with(cx, |sink, cx| Sink::poll_close(Pin::new(sink), cx))
    }
}

impl<S: Drive> AsyncWrite for Driven<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut written = None;
        let room = self.poll_with(cx, |sink, cx| {
            written = Some(Pin::new(sink).poll_write(cx, buf));
            Poll::Ready(Ok(()))
        });
        match (written, room) {
            (Some(written), _) => written,
            (None, Poll::Ready(Err(error))) => Poll::Ready(Err(error.into())),
            (None, _) => Poll::Pending,
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Sink::poll_flush(self, cx).map_err(Into::into)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Sink::poll_close(self, cx).map_err(Into::into)
    }
}

impl<S: Drive> fmt::Debug for Driven<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driven").finish_non_exhaustive()
    }
}

impl<S: Drive> fmt::Debug for Driver<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}
