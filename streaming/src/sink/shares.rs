//! What the chunks of a sink take of a budget.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use crate::budget::{Allowance, Budget, Held};

/// What the chunks of a sink take of a budget that it shares with others, from their way to the pool until the target
/// has them.
#[derive(Debug)]
pub(super) struct Shares {
    allowance: Allowance,
    held: VecDeque<Held>,
}

impl Shares {
    pub(super) fn new(budget: Option<&Budget>) -> Self {
        Self { allowance: Allowance::new(budget), held: VecDeque::new() }
    }

    /// Whether one more chunk may go, which takes `bytes`; always when there is none on its way. When it may not, the
    /// task of `cx`, if there is one, is woken once it may.
    pub(super) fn take(&mut self, cx: Option<&mut Context<'_>>, bytes: usize) -> bool {
        let held = match cx {
            Some(cx) => match self.allowance.poll_take(cx, bytes) {
                Poll::Ready(held) => Some(held),
                Poll::Pending => None,
            },
            None => self.allowance.try_take(bytes),
        };
        let taken = held.is_some();
        self.held.extend(held);
        taken
    }

    /// Gives back what is not used: `chunks` are on their way.
    pub(super) fn keep(&mut self, chunks: usize) {
        let gone = self.held.len().saturating_sub(chunks);
        self.held.drain(..gone);
    }
}
