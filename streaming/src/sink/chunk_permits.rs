//! The share of a budget that the chunks of a sink take.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use crate::budget::{Budget, BudgetShare, Reservation};

/// The share of a budget that the chunks of a sink take, from the time they go to the pool until the target has them.
/// All take the same.
#[derive(Debug)]
pub(super) struct ChunkPermits {
    allowance: BudgetShare,
    held: VecDeque<Reservation>,
    /// Already taken for the next chunk.
    spare: Option<Reservation>,
    /// What the next chunk takes, if there was too little for it.
    wanted: Option<usize>,
}

impl ChunkPermits {
    pub(super) fn new(budget: Option<&Budget>) -> Self {
        Self { allowance: BudgetShare::new(budget), held: VecDeque::new(), spare: None, wanted: None }
    }

    /// Whether one more chunk may go, which takes `bytes`; always if none is on its way.
    pub(super) fn try_take(&mut self, bytes: usize) -> bool {
        let held = self.spare.take().or_else(|| self.allowance.try_take(bytes));
        self.wanted = held.is_none().then_some(bytes);
        self.held.extend(held);
        self.wanted.is_none()
    }

    /// Registers the task of `cx` to be woken once the chunk that was last refused may go, if it still `waits`.
    pub(super) fn wait(&mut self, cx: &mut Context<'_>, waits: bool) {
        match self.wanted.filter(|_| waits) {
            Some(bytes) => {
                if let Poll::Ready(held) = self.allowance.poll_take(cx, bytes) {
                    self.spare = Some(held);
                    cx.waker().wake_by_ref();
                }
            }
            None => {
                self.spare = None;
                self.allowance.give_up();
            }
        }
    }

    /// Returns what is not needed for the `chunks` that are on their way.
    pub(super) fn keep(&mut self, chunks: usize) {
        let gone = self.held.len().saturating_sub(chunks);
        self.held.drain(..gone);
    }
}
