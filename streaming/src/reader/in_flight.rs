//! Futures polled a few at a time, within a limit on memory.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use futures::stream::{Fuse, FuturesOrdered, StreamExt};

use super::inner::ReadAhead;
use crate::budget::{Budget, BudgetShare, Reservation};

/// A future, and the bytes it takes from its start until its result is taken.
pub(crate) struct Task<F> {
    pub(crate) bytes: usize,
    pub(crate) work: F,
}

/// The results of futures in order, a few of which are in progress at a time: limited in number, and in the bytes of
/// work and of results not yet taken. One is always allowed.
pub(crate) struct BoundedFutures<T, F: Future> {
    tasks: Fuse<T>,
    /// The next one, which there was no room for yet.
    next: Option<Task<F>>,
    running: FuturesOrdered<F>,
    /// What each of those takes.
    taken: VecDeque<(usize, Reservation)>,
    bytes: usize,
    limits: ReadAhead,
    allowance: BudgetShare,
}

impl<T: Stream<Item = Task<F>>, F: Future> BoundedFutures<T, F> {
    pub(crate) fn new(tasks: T, limits: ReadAhead, budget: Option<&Budget>) -> Self {
        Self {
            tasks: tasks.fuse(),
            next: None,
            running: FuturesOrdered::new(),
            taken: VecDeque::new(),
            bytes: 0,
            limits,
            allowance: BudgetShare::new(budget),
        }
    }
}

impl<T: Stream<Item = Task<F>> + Unpin, F: Future> BoundedFutures<T, F> {
    /// Starts as many as there is room for.
    fn begin(&mut self, cx: &mut Context<'_>) {
        while self.running.len() < self.limits.chunks.max(1) {
            let task = match self.next.take() {
                Some(task) => task,
                None => match self.tasks.poll_next_unpin(cx) {
                    Poll::Ready(Some(task)) => task,
                    Poll::Ready(None) | Poll::Pending => break,
                },
            };
            let with_it = self.bytes.saturating_add(task.bytes);
            if !self.running.is_empty() && with_it > self.limits.bytes {
                self.next = Some(task);
                break;
            }
            let Poll::Ready(held) = self.allowance.poll_take(cx, task.bytes) else {
                self.next = Some(task);
                break;
            };
            self.bytes = with_it;
            self.taken.push_back((task.bytes, held));
            self.running.push_back(task.work);
        }
        if self.next.is_none() {
            self.allowance.give_up();
        }
    }
}

impl<T: Stream<Item = Task<F>> + Unpin, F: Future> Stream for BoundedFutures<T, F> {
    type Item = F::Output;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let this = &mut *self;
        this.begin(cx);
        match this.running.poll_next_unpin(cx) {
            Poll::Ready(Some(result)) => {
                if let Some((bytes, held)) = this.taken.pop_front() {
                    this.bytes -= bytes;
                    drop(held);
                }
                Poll::Ready(Some(result))
            }
            Poll::Ready(None) if this.next.is_none() && this.tasks.is_done() => Poll::Ready(None),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

// The futures are pinned where they run.
impl<T, F: Future> Unpin for BoundedFutures<T, F> {}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::stream;

    use super::*;
    use crate::compute::block_on;

    #[test]
    fn order_and_bounds() {
        for (chunks, bytes, most) in [(4, 100, 100), (1, usize::MAX, 30), (4, 1, 30), (64, usize::MAX, 64 * 30)] {
            let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let tasks = (0..200_usize).map(|i| {
                let (now, peak, cost) = (Arc::clone(&now), Arc::clone(&peak), 1 + i * 7 % 30);
                let work = async move {
                    peak.fetch_max(now.fetch_add(cost, Ordering::SeqCst) + cost, Ordering::SeqCst);
                    // Some are there at once, others later.
                    for _ in 0..i % 3 {
                        let mut once = false;
                        futures::future::poll_fn(|cx| {
                            cx.waker().wake_by_ref();
                            if std::mem::replace(&mut once, true) { Poll::Ready(()) } else { Poll::Pending }
                        })
                        .await;
                    }
                    (i, cost)
                };
                Task { bytes: cost, work }
            });
            let budget = Budget::new(bytes.min(1000));
            let mut flight = BoundedFutures::new(stream::iter(tasks), ReadAhead { chunks, bytes }, Some(&budget));
            let mut expected = 0;
            block_on(async {
                while let Some((i, cost)) = flight.next().await {
                    assert_eq!(i, expected);
                    now.fetch_sub(cost, Ordering::SeqCst);
                    expected += 1;
                }
            });
            assert_eq!((expected, budget.used()), (200, 0));
            assert!(peak.load(Ordering::SeqCst) <= most, "{chunks} {bytes}: {}", peak.load(Ordering::SeqCst));
            assert!(budget.peak() <= budget.limit().max(30), "{}", budget.peak());
        }
    }
}
