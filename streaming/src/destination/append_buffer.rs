//! Collecting bytes in memory.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use crate::compute::block_on;
use crate::disk::{IoMode, IoTask};

/// Up to this size bytes are copied on the calling thread.
const SMALL: usize = 256 << 10;

/// Up to this size a buffer that is full gets room for four times as much, and beyond for twice, as usual. Growing may copy
/// everything into fresh memory, while pages that are never touched take none.
const AMPLE: usize = 16 << 20;

/// Bytes collected in one buffer.
///
/// They are copied, since they may be a small part of a large buffer. Copying megabytes, and allocating memory for
/// them, takes milliseconds, during which an executor could do other things, so it is done where file operations are.
/// Only small amounts that fit are copied immediately.
#[derive(Default)]
pub(crate) struct AppendBuffer {
    mode: IoMode,
    /// Set unless another thread is appending to them.
    bytes: OnceLock<Vec<u8>>,
    away: Mutex<Option<Appending>>,
}

/// The bytes are with the thread that appends to them.
struct Appending {
    len: usize,
    task: IoTask<Vec<u8>>,
}

impl AppendBuffer {
    pub(crate) fn new(mode: IoMode) -> Self {
        Self { mode, ..Self::default() }
    }

    pub(crate) fn set_mode(&mut self, mode: IoMode) {
        self.mode = mode;
    }

    /// Bytes collected, including those being copied.
    pub(crate) fn len(&self) -> usize {
        let away = || self.away.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, |away| away.len);
        self.bytes.get().map_or_else(away, Vec::len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes bytes from the front of `bytes` while fewer than `limit` are held: at least one if it is ready (unless
    /// there are none, or the limit is reached), none otherwise.
    pub(crate) fn poll_take(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes, limit: usize) -> Poll<()> {
        let mode = self.mode;
        let gathered = ready!(self.poll_bytes(cx));
        let len = limit.saturating_sub(gathered.len()).min(bytes.len());
        if len == 0 {
            return Poll::Ready(());
        }
        let piece = bytes.split_to(len);
        let end = gathered.len() + len;
        if len <= SMALL && (end <= gathered.capacity() || end <= SMALL) {
            gathered.extend_from_slice(&piece);
            return Poll::Ready(());
        }
        let mut gathered = mem::take(gathered);
        self.bytes = OnceLock::new();
        let task = mode.run(move || {
            // On this thread that may take time.
            if end > gathered.capacity() {
                let more = end.max(end.saturating_mul(3).min(AMPLE)).max(SMALL);
                gathered.reserve_exact(len.saturating_add(more).min(limit - gathered.len()));
            }
            gathered.extend_from_slice(&piece);
            gathered
        });
        *self.away.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(Appending { len: end, task });
        Poll::Ready(())
    }

    /// The bytes, once all of them are there.
    pub(crate) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<&mut Vec<u8>> {
        let away = self.away.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(Appending { task, .. }) = away {
            self.bytes = OnceLock::from(ready!(Pin::new(task).poll(cx)));
            *away = None;
        }
        self.bytes.get_or_init(Vec::new);
        match self.bytes.get_mut() {
            Some(bytes) => Poll::Ready(bytes),
            None => Poll::Pending,
        }
    }

    /// The bytes. Waits for those being copied.
    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get_or_init(|| {
            let away = self.away.lock().unwrap_or_else(PoisonError::into_inner).take();
            away.map_or_else(Vec::new, |away| block_on(away.task))
        })
    }

    /// As [`as_slice`](Self::as_slice).
    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.as_slice();
        self.bytes.into_inner().unwrap_or_default()
    }
}

impl Clone for AppendBuffer {
    fn clone(&self) -> Self {
        Self { mode: self.mode, bytes: OnceLock::from(self.as_slice().to_vec()), away: Mutex::default() }
    }
}

impl fmt::Debug for AppendBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather").field("mode", &self.mode).field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[test]
    fn pieces_of_any_size_keep_their_order() {
        for mode in [IoMode::Inline, IoMode::Offloaded] {
            let mut gather = AppendBuffer::new(mode);
            let mut expected = Vec::new();
            for (i, len) in [10, SMALL - 10, 1, 0, 5 * SMALL, SMALL + 1, 7, SMALL].into_iter().enumerate() {
                let mut piece = Bytes::from((0..len).map(|at| (i + at / 3) as u8).collect::<Vec<_>>());
                expected.extend_from_slice(&piece);
                block_on(poll_fn(|cx| gather.poll_take(cx, &mut piece, usize::MAX)));
                assert!(piece.is_empty());
                assert_eq!(gather.len(), expected.len());
            }
            assert!(gather.clone().as_slice() == expected);
            assert!(block_on(poll_fn(|cx| gather.poll_bytes(cx).map(|bytes| bytes.clone()))) == expected);
            assert!(gather.into_vec() == expected);
        }
    }

    #[test]
    fn no_more_are_taken_than_asked_for() {
        let mut gather = AppendBuffer::default();
        for (len, limit, taken) in [(100, 30, 30), (100, 30, 0), (2 * SMALL, SMALL + 5, SMALL - 25)] {
            let mut piece = Bytes::from(vec![1; len]);
            block_on(poll_fn(|cx| gather.poll_take(cx, &mut piece, limit)));
            assert_eq!(len - piece.len(), taken);
        }
        assert_eq!(gather.len(), SMALL + 5);
    }
}
