//! What the chunks of a sink take of a budget.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use crate::budget::{Allowance, Budget, Held};

/// What the chunks of a sink take of a budget that it shares with others, from their way to the pool until the target
/// has them: all of them the same.
#[derive(Debug)]
pub(super) struct Shares {
    allowance: Allowance,
    held: VecDeque<Held>,
    /// For the next chunk.
    spare: Option<Held>,
    /// What the next chunk takes, when there was too little for it.
    wanted: Option<usize>,
}

impl Shares {
    pub(super) fn new(budget: Option<&Budget>) -> Self {
        Self { allowance: Allowance::new(budget), held: VecDeque::new(), spare: None, wanted: None }
    }

    /// Whether one more chunk may go, which takes `bytes`; always when there is none on its way.
    pub(super) fn try_take(&mut self, bytes: usize) -> bool {
        let held = self.spare.take().or_else(|| self.allowance.try_take(bytes));
        self.wanted = held.is_none().then_some(bytes);
        self.held.extend(held);
        self.wanted.is_none()
    }

    /// Has the task of `cx` woken once the chunk may go that was last refused, if it still `waits`.
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

    /// Gives back what is not used: `chunks` are on their way.
    pub(super) fn keep(&mut self, chunks: usize) {
        let gone = self.held.len().saturating_sub(chunks);
        self.held.drain(..gone);
    }
}
