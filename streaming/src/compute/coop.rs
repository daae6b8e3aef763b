//! How much work is done before yielding to the executor.

use std::task::{Context, Poll};

/// Counts the work done on the polling thread, so that long work is split over several polls.
///
/// Otherwise something that is always ready, such as a sink into memory, would starve the executor's other tasks. After
/// a certain amount of work the next poll returns `Pending` and wakes the task at once.
#[derive(Debug, Default)]
pub(crate) struct CoopBudget {
    work: usize,
}

impl CoopBudget {
    /// Bytes copied per turn, which takes some tenths of a millisecond with fresh memory.
    const MOST: usize = 512 << 10;
    /// Most bytes to be copied at once.
    pub(crate) const PIECE: usize = 256 << 10;
    /// The cost of passing on a chunk, as the bytes that could be copied in the same time.
    pub(crate) const HANDLING: usize = 16 << 10;

    /// Counts work that takes as long as copying `bytes` bytes.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.work = self.work.saturating_add(bytes);
    }

    /// Whether it is time to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.work >= Self::MOST
    }

    /// Ready unless the turn is over; in that case starts a new turn and wakes `cx`.
    pub(crate) fn poll_proceed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_over() {
            return Poll::Ready(());
        }
        self.work = 0;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
