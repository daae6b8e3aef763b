//! How much is done before an executor gets its thread back.

use std::task::{Context, Poll};

/// Counts what is done on the thread that polls, so that much of it is done in several polls.
///
/// Whoever is always ready, such as a sink into memory, would keep an executor from everything else. After so much work the
/// next question is answered with `Pending`, and asked again at once.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    work: usize,
}

impl Turn {
    /// Bytes copied in one turn: with fresh memory some tenths of a millisecond.
    const MOST: usize = 512 << 10;
    /// Most bytes to be copied at once.
    pub(crate) const PIECE: usize = 256 << 10;
    /// What handing a chunk from one to the next costs, as bytes that could be copied meanwhile.
    pub(crate) const HANDLING: usize = 16 << 10;

    /// Counts work that takes as long as copying `bytes`.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.work = self.work.saturating_add(bytes);
    }

    /// Whether it is time to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.work >= Self::MOST
    }

    /// Ready unless the turn is over. Then another one has begun, and `cx` has been woken.
    pub(crate) fn poll_proceed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_over() {
            return Poll::Ready(());
        }
        self.work = 0;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
