//! Fault injection below a target.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, SeekFrom};
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use futures::io::{AsyncSeek, AsyncWrite};

use crate::data::Random;

/// Faults below a target. Clones share their counters.
///
/// The implementation below the target calls [`poll`](Faults::poll) (or awaits [`turn`](Faults::turn)) before each
/// operation, and does nothing unless that is `Ready(Ok)`.
#[derive(Clone)]
pub struct Faults {
    state: Arc<Mutex<State>>,
}

struct State {
    /// One call in this many is not ready; 0 for none.
    pending: u64,
    /// The most bytes accepted by one write.
    most: usize,
    /// The calls, counted from 0, that fail.
    fails: Range<u64>,
    /// No call is ready at all.
    blocked: bool,
    /// The tasks that wait until it is unblocked.
    waiting: Vec<Waker>,
    calls: u64,
    random: Random,
}

impl Faults {
    /// No faults.
    pub fn none() -> Self {
        let state = State {
            pending: 0,
            most: usize::MAX,
            fails: 0..0,
            blocked: false,
            waiting: Vec::new(),
            calls: 0,
            random: Random::new(0),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// One call in `pending` is not ready at once, and writes accept up to `most` bytes.
    pub fn slow(pending: u64, most: usize, seed: u64) -> Self {
        let faults = Self::none();
        {
            let mut state = faults.lock();
            (state.pending, state.most, state.random) = (pending, most, Random::new(seed));
        }
        faults
    }

    /// These calls fail, counted from 0.
    pub fn failing(calls: Range<u64>) -> Self {
        let faults = Self::none();
        faults.lock().fails = calls;
        faults
    }

    /// Ends all faults.
    pub fn clear(&self) {
        let mut state = self.lock();
        (state.pending, state.most, state.fails) = (0, usize::MAX, 0..0);
    }

    /// `calls` calls fail from number `call` on, and no others.
    pub fn fail_from(&self, call: u64, calls: u64) {
        self.lock().fails = call..call.saturating_add(calls);
    }

    /// Call number `call` fails, and no other.
    pub(super) fn fail(&self, call: u64) {
        self.fail_from(call, 1);
    }

    /// No call gets through.
    pub(super) fn block(&self, blocked: bool) {
        let mut state = self.lock();
        state.blocked = blocked;
        if !blocked {
            state.waiting.drain(..).for_each(Waker::wake);
        }
    }

    /// How many calls have got through, failed ones included.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Ready when the call may be made, or with the error with which it fails.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        if state.blocked {
            state.waiting.push(cx.waker().clone());
            return Poll::Pending;
        }
        let pending = state.pending;
        if pending > 0 && state.random.below(pending as usize) == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let call = state.calls;
        state.calls += 1;
        if state.fails.contains(&call) {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                format!("call {call} was made to fail"),
            )));
        }
        Poll::Ready(Ok(()))
    }

    /// As [`poll`](Faults::poll).
    ///
    /// # Errors
    /// When the call fails.
    pub async fn turn(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// How many of `len` bytes a write accepts.
    pub fn accept(&self, len: usize) -> usize {
        let mut state = self.lock();
        let most = state.most.min(len);
        if most > 1 && state.most != usize::MAX { 1 + state.random.below(most) } else { most }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("calls", &self.calls()).finish_non_exhaustive()
    }
}

/// A writer with injected faults.
#[derive(Debug)]
pub struct Faulty<W> {
    inner: W,
    faults: Faults,
}

impl<W> Faulty<W> {
    /// Writes to `inner`, subject to `faults`.
    pub fn new(inner: W, faults: Faults) -> Self {
        Self { inner, faults }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Faulty<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.faults.poll(cx))?;
        let most = self.faults.accept(buf.len());
        Pin::new(&mut self.inner).poll_write(cx, &buf[..most])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.faults.poll(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.faults.poll(cx))?;
        Pin::new(&mut self.inner).poll_close(cx)
    }
}

impl<W: AsyncSeek + Unpin> AsyncSeek for Faulty<W> {
    fn poll_seek(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        ready!(self.faults.poll(cx))?;
        Pin::new(&mut self.inner).poll_seek(cx, to)
    }
}
