//! Memory that several sinks and readers share.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::task::AtomicWaker;

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// A limit on memory that sinks and readers share: the bytes that all of them together have in flight, encoded and
/// decoded, stay within it. Clones are the same budget.
///
/// Give it to any number of [`WriteOptions`](crate::WriteOptions) and [`ReadOptions`](crate::ReadOptions); their own
/// limits of bytes and chunks in flight apply as well. Those that find it exhausted wait, first come, first served.
///
/// **No deadlock.** A sink, stream or call that has nothing in flight takes one chunk (or one group of small ones that
/// are fetched together) whether or not there is room. So each of them makes progress, whatever the others hold and
/// whether or not they are polled, and a program may feed a sink from a stream of the same budget. The bytes in use
/// therefore never exceed the budget plus one chunk (or group) for each of them; [`peak`](Self::peak) reports the
/// maximum.
///
/// Programs may count their own buffers against it: [`acquire`](Self::acquire).
///
/// ```
/// use oxiblosc_streaming::{Budget, ReadOptions, WriteOptions, block_on};
/// # use oxiblosc_plugins as _;
///
/// let budget = Budget::new(64 << 20);
/// let mut sink = WriteOptions::default().budget(&budget).in_memory()?;
/// # block_on(sink.close())?;
/// let reader = block_on(ReadOptions::new().budget(&budget).open(sink.into_target().into_bytes()))?;
/// # assert_eq!(reader.nbytes(), 0);
/// assert_eq!(budget.used(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Budget {
    ledger: Arc<BudgetInner>,
}

struct BudgetInner {
    books: Mutex<BudgetState>,
}

#[derive(Default)]
struct BudgetState {
    limit: u64,
    used: u64,
    peak: u64,
    next_ticket: u64,
    /// Waiters, and those that have been granted bytes and not taken them yet, in order of arrival.
    queue: BTreeMap<u64, Waiting>,
}

struct Waiting {
    bytes: u64,
    granted: bool,
    waker: Waker,
}

impl BudgetState {
    fn take(&mut self, bytes: u64) {
        self.used = self.used.saturating_add(bytes);
        self.peak = self.peak.max(self.used);
    }

    /// A request larger than the whole budget is granted when nothing else is in use.
    fn has_room(&self, bytes: u64) -> bool {
        self.used == 0 || self.used.saturating_add(bytes) <= self.limit
    }

    fn is_contended(&self) -> bool {
        self.queue.values().any(|waiting| !waiting.granted)
    }

    /// Grants the next waiters what there is room for, and returns their wakers, to be woken after the lock is
    /// released.
    fn grant(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        let waiting: Vec<u64> = self.queue.iter().filter(|(_, w)| !w.granted).map(|(&ticket, _)| ticket).collect();
        for ticket in waiting {
            let Some(bytes) = self.queue.get(&ticket).map(|waiting| waiting.bytes) else { break };
            if !self.has_room(bytes) {
                break;
            }
            self.take(bytes);
            if let Some(waiting) = self.queue.get_mut(&ticket) {
                waiting.granted = true;
                woken.push(waiting.waker.clone());
            }
        }
        woken
    }
}

impl BudgetInner {
    fn lock(&self) -> MutexGuard<'_, BudgetState> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, bytes: u64) {
        let mut books = self.lock();
        books.used = books.used.saturating_sub(bytes);
        let woken = books.grant();
        drop(books);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Budget {
    /// A budget of `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let books = BudgetState { limit: bytes as u64, ..BudgetState::default() };
        Self { ledger: Arc::new(BudgetInner { books: Mutex::new(books) }) }
    }

    /// The size of the budget in bytes.
    pub fn limit(&self) -> u64 {
        self.ledger.lock().limit
    }

    /// The bytes in use now.
    pub fn used(&self) -> u64 {
        self.ledger.lock().used
    }

    /// The most bytes that have been in use at one time.
    pub fn peak(&self) -> u64 {
        self.ledger.lock().peak
    }

    /// Waits for `bytes` bytes, first come, first served. A request larger than the whole budget is granted once
    /// nothing else is in use. Dropping the future gives up the place in the queue and anything granted.
    ///
    /// A caller that already holds some bytes and waits here for more can deadlock with another that does the same.
    pub fn acquire(&self, bytes: usize) -> Acquire {
        Acquire { budget: self.clone(), bytes: bytes as u64, ticket: None }
    }

    /// Takes `bytes` bytes if they are available and nobody is waiting.
    pub fn try_acquire(&self, bytes: usize) -> Option<Permit> {
        let bytes = bytes as u64;
        let mut books = self.ledger.lock();
        if books.is_contended() || !books.has_room(bytes) {
            return None;
        }
        books.take(bytes);
        Some(Permit { ledger: Arc::clone(&self.ledger), bytes })
    }

    /// Takes `bytes` bytes whether or not they are available.
    fn exceed(&self, bytes: u64) -> Permit {
        self.ledger.lock().take(bytes);
        Permit { ledger: Arc::clone(&self.ledger), bytes }
    }

    /// Changes the size of the budget.
    #[cfg(feature = "object_store")]
    pub(crate) fn set_limit(&self, bytes: usize) {
        let mut books = self.ledger.lock();
        books.limit = bytes as u64;
        let woken = books.grant();
        drop(books);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let books = self.ledger.lock();
        f.debug_struct("Budget").field("limit", &books.limit).field("used", &books.used).finish_non_exhaustive()
    }
}

/// Waits for bytes of a [`Budget`]; see [`Budget::acquire`].
#[must_use = "nothing is taken before it is awaited"]
pub struct Acquire {
    budget: Budget,
    bytes: u64,
    /// The place in the queue.
    ticket: Option<u64>,
}

impl Future for Acquire {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Permit> {
        let bytes = self.bytes;
        let ledger = Arc::clone(&self.budget.ledger);
        let mut books = ledger.lock();
        match self.ticket {
            None if !books.is_contended() && books.has_room(bytes) => books.take(bytes),
            None => {
                let ticket = books.next_ticket;
                books.next_ticket += 1;
                books.queue.insert(ticket, Waiting { bytes, granted: false, waker: cx.waker().clone() });
                self.ticket = Some(ticket);
                return Poll::Pending;
            }
            Some(ticket) => {
                if let Some(waiting) = books.queue.get_mut(&ticket)
                    && !waiting.granted
                {
                    waiting.waker.clone_from(cx.waker());
                    return Poll::Pending;
                }
                books.queue.remove(&ticket);
                self.ticket = None;
            }
        }
        drop(books);
        Poll::Ready(Permit { ledger, bytes })
    }
}

impl Acquire {
    /// Takes the granted bytes, if they have been granted.
    fn take_granted(&mut self) -> Option<Permit> {
        let ledger = Arc::clone(&self.budget.ledger);
        let mut books = ledger.lock();
        let ticket = self.ticket.filter(|ticket| books.queue.get(ticket).is_some_and(|waiting| waiting.granted))?;
        books.queue.remove(&ticket);
        self.ticket = None;
        drop(books);
        Some(Permit { ledger, bytes: self.bytes })
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut books = self.budget.ledger.lock();
        if books.queue.remove(&ticket).is_some_and(|waiting| waiting.granted) {
            books.used = books.used.saturating_sub(self.bytes);
        }
        // Those further back in the queue may now have room, or need less.
        let woken = books.grant();
        drop(books);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for Acquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Bytes taken from a [`Budget`], returned to it on drop.
#[must_use = "dropping it gives the bytes back"]
pub struct Permit {
    ledger: Arc<BudgetInner>,
    bytes: u64,
}

impl Permit {
    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.ledger.release(self.bytes);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// The share of a budget that one sink, stream or call takes, chunk by chunk; unlimited without a budget.
#[derive(Debug)]
pub(crate) struct BudgetShare {
    budget: Option<Budget>,
    held: Arc<ReservedBytes>,
    waiting: Option<Acquire>,
}

#[derive(Debug, Default)]
struct ReservedBytes {
    held: AtomicUsize,
    /// The task that waits for more: it may go on without waiting once it holds nothing.
    waker: AtomicWaker,
}

/// Bytes that are in flight.
#[derive(Debug)]
pub(crate) struct Reservation {
    permit: Option<(Permit, Arc<ReservedBytes>)>,
}

impl BudgetShare {
    pub(crate) fn new(budget: Option<&Budget>) -> Self {
        Self { budget: budget.cloned(), held: Arc::default(), waiting: None }
    }

    /// Takes `bytes` for the next chunk to go into flight; always succeeds when nothing is in flight.
    ///
    /// A pending caller is woken when there is room, and must ask again for the same number of bytes.
    pub(crate) fn poll_take(&mut self, cx: &mut Context<'_>, bytes: usize) -> Poll<Reservation> {
        let Some(budget) = &self.budget else { return Poll::Ready(Reservation { permit: None }) };
        self.held.waker.register(cx.waker());
        if self.held.held.load(Ordering::SeqCst) == 0 {
            self.waiting = None;
            let permit = budget.exceed(bytes as u64);
            return Poll::Ready(self.hold(permit));
        }
        let waiting = self.waiting.take().filter(|waiting| waiting.bytes == bytes as u64);
        let mut waiting = waiting.unwrap_or_else(|| budget.acquire(bytes));
        match Pin::new(&mut waiting).poll(cx) {
            Poll::Ready(permit) => Poll::Ready(self.hold(permit)),
            Poll::Pending => {
                self.waiting = Some(waiting);
                Poll::Pending
            }
        }
    }

    /// As [`poll_take`](Self::poll_take), without registering a waker: takes what is available now.
    pub(crate) fn try_take(&mut self, bytes: usize) -> Option<Reservation> {
        let Some(budget) = &self.budget else { return Some(Reservation { permit: None }) };
        let permit = match self.held.held.load(Ordering::SeqCst) {
            0 => {
                self.waiting = None;
                budget.exceed(bytes as u64)
            }
            _ => match self.waiting.take() {
                Some(mut waiting) => match waiting.take_granted() {
                    Some(permit) => permit,
                    None => {
                        self.waiting = Some(waiting);
                        return None;
                    }
                },
                None => budget.try_acquire(bytes)?,
            },
        };
        Some(self.hold(permit))
    }

    fn hold(&self, permit: Permit) -> Reservation {
        self.held.held.fetch_add(1, Ordering::SeqCst);
        Reservation { permit: Some((permit, Arc::clone(&self.held))) }
    }

    /// Leaves the queue, when nothing more is needed.
    pub(crate) fn give_up(&mut self) {
        self.waiting = None;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some((permit, count)) = self.permit.take() {
            drop(permit);
            if count.held.fetch_sub(1, Ordering::SeqCst) == 1 {
                count.waker.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::future::{join_all, poll_fn};
    use futures::task::noop_waker;

    use super::*;
    use crate::compute::block_on;

    fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(&noop_waker()))
    }

    #[test]
    fn first_come_first_served() {
        let budget = Budget::new(10);
        let first = block_on(budget.acquire(7));
        let (mut large, mut small) = (budget.acquire(8), budget.acquire(1));
        assert!(poll(&mut large).is_pending());
        // There is room, but earlier waiters come first.
        assert!(poll(&mut small).is_pending() && budget.try_acquire(1).is_none());
        drop(first);
        let Poll::Ready(large) = poll(&mut large) else { panic!("it is the first in the queue") };
        let Poll::Ready(small) = poll(&mut small) else { panic!("there is room for both") };
        assert_eq!((large.bytes(), small.bytes(), budget.used(), budget.peak()), (8, 1, 9, 9));
        drop((large, small));
        assert_eq!((budget.used(), budget.limit()), (0, 10));
    }

    #[test]
    fn whoever_leaves_the_queue_lets_others_pass_and_gives_back_what_was_granted() {
        let budget = Budget::new(10);
        let first = block_on(budget.acquire(5));
        let (mut large, mut small) = (budget.acquire(9), budget.acquire(2));
        assert!(poll(&mut large).is_pending() && poll(&mut small).is_pending());
        drop(large);
        assert!(poll(&mut small).is_ready());
        let mut granted = budget.acquire(6);
        assert!(poll(&mut granted).is_pending());
        drop(first);
        assert_eq!(budget.used(), 6, "granted, but not taken yet");
        drop(granted);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn more_than_there_is_when_nothing_else_is_in_use() {
        let budget = Budget::new(10);
        let first = budget.try_acquire(1).unwrap();
        let mut all = budget.acquire(100);
        assert!(poll(&mut all).is_pending());
        drop(first);
        assert!(poll(&mut all).is_ready());
        assert_eq!(budget.peak(), 100);
    }

    #[test]
    fn one_piece_in_flight_is_always_allowed() {
        let budget = Budget::new(10);
        let all = budget.try_acquire(10).unwrap();
        let mut allowance = BudgetShare::new(Some(&budget));
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(one) = allowance.poll_take(&mut cx, 4) else { panic!("nothing is in flight") };
        assert!(allowance.poll_take(&mut cx, 4).is_pending());
        drop(one);
        assert!(allowance.poll_take(&mut cx, 4).is_ready());
        assert!(BudgetShare::new(None).poll_take(&mut cx, usize::MAX).is_ready());
        drop((all, allowance));
        assert_eq!((budget.used(), budget.peak()), (0, 14));
    }

    #[test]
    fn many_threads_stay_within_it() {
        let budget = Budget::new(100);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let budget = budget.clone();
                scope.spawn(move || {
                    let work = |i: usize| {
                        let budget = budget.clone();
                        async move {
                            for round in 0..200 {
                                let permit = budget.acquire(1 + (i * 7 + round * 13) % 60).await;
                                // Yields to the others.
                                let mut yielded = false;
                                poll_fn(|cx| {
                                    cx.waker().wake_by_ref();
                                    if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending }
                                })
                                .await;
                                drop(permit);
                            }
                        }
                    };
                    block_on(join_all((0..4).map(|i| work(thread * 4 + i))));
                });
            }
        });
        assert_eq!(budget.used(), 0);
        assert!(budget.peak() <= 100, "{}", budget.peak());
    }
}
