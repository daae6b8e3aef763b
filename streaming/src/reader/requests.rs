//! Limiting requests in flight, and merging equal ones.

use crate::trace::{span, traced};
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::hash::Hash;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};

use crate::context::again;
use crate::source::RangeSource;
use crate::sync::{Mutex, MutexGuard};

/// The requests that the clones of a reader have in flight to a source.
///
/// A request equal to one in flight waits for the same response. Any of the waiters drives the request; it is dropped
/// with the last of them. At most `limit` requests are in flight at a time, the others wait in order.
///
/// A request of a source that does nothing unless it is polled would stall while the stream that made it is not polled,
/// and others would wait for its place forever. So waiters drive the requests in flight, too.
pub(crate) struct Requests<K, T> {
    state: Arc<Mutex<RequestsState<K, T>>>,
}

type Flight<T> = Shared<BoxFuture<'static, T>>;

struct RequestsState<K, T> {
    limit: usize,
    running: usize,
    next_number: u64,
    /// The number of the request for each key.
    numbers: HashMap<K, u64>,
    flights: BTreeMap<u64, RequestEntry<K, T>>,
}

struct RequestEntry<K, T> {
    key: K,
    flight: Option<WeakShared<BoxFuture<'static, T>>>,
    /// Whether it has been granted a place.
    granted: bool,
    waker: Option<Waker>,
}

/// Ranges of one file, or of several files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RequestKey {
    Ranges(Vec<Range<u64>>),
    Files(Vec<(u32, Range<u64>)>),
}

/// The response; errors are shared by all waiters.
type Response = Result<Arc<[Result<Bytes, Arc<io::Error>>]>, Arc<io::Error>>;

/// The requests of a reader.
pub(crate) type SourceRequests = Requests<RequestKey, Response>;

impl SourceRequests {
    /// The bytes of each range of `source`, in one round.
    pub(crate) async fn ranges(&self, source: Arc<dyn RangeSource>, ranges: Vec<Range<u64>>) -> io::Result<Vec<Bytes>> {
        let asked = ranges.clone();
        let ask = || async move {
            let span = span!(
                "request",
                ranges = asked.len(),
                bytes = asked.iter().map(|range| range.end - range.start).sum::<u64>()
            );
            let found = traced(span, source.read_ranges(asked)).await.map_err(Arc::new)?;
            Ok(found.into_iter().map(Ok).collect())
        };
        let found = self.get(RequestKey::Ranges(ranges), ask).await.map_err(|error| again(&error))?;
        found.iter().map(answered).collect()
    }

    /// A range of each numbered chunk file, or as much of it as the file has, in one round.
    pub(crate) async fn files(
        &self,
        source: Arc<dyn RangeSource>,
        files: Vec<(u32, Range<u64>)>,
    ) -> Vec<io::Result<Bytes>> {
        let asked = files.clone();
        let ask = || async move {
            let found = match source.chunk_files() {
                Some(files) => traced(span!("request", files = asked.len()), files.read_files(asked)).await,
                // Readers check this when they open a frame or one of its chunks.
                None => Vec::new(),
            };
            Ok(found.into_iter().map(|result| result.map_err(Arc::new)).collect())
        };
        let count = files.len();
        match self.get(RequestKey::Files(files), ask).await {
            Ok(found) => found.iter().map(answered).collect(),
            Err(error) => (0..count).map(|_| Err(again(&error))).collect(),
        }
    }
}

fn answered(answer: &Result<Bytes, Arc<io::Error>>) -> io::Result<Bytes> {
    answer.clone().map_err(|error| again(&error))
}

impl<K, T> Requests<K, T> {
    /// At most `limit` at a time.
    pub(crate) fn new(limit: usize) -> Self {
        let state = RequestsState {
            limit: limit.max(1),
            running: 0,
            next_number: 0,
            numbers: HashMap::new(),
            flights: BTreeMap::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }
}

impl<K, T> Requests<K, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// The response for `key`: from the request in flight, or else from a new one that `ask` makes.
    pub(crate) fn get<F>(&self, key: K, ask: impl FnOnce() -> F) -> Waiter<K, T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut state = lock(&self.state);
        if let Some((&number, flight)) = state.numbers.get(&key).and_then(|number| {
            let flight = state.flights.get(number)?.flight.as_ref()?.upgrade()?;
            // A response that has already arrived must not serve a new request.
            flight.peek().is_none().then_some((number, flight))
        }) {
            return Waiter { number, flight: Some(flight), helped: HashMap::new(), state: Arc::clone(&self.state) };
        }
        let number = state.next_number;
        state.next_number += 1;
        let place = RequestSlot { number, state: Arc::clone(&self.state) };
        let work = ask();
        let flight = async move {
            // Released when the response has arrived or the future is dropped.
            let _place = place.wait().await;
            work.await
        };
        let flight = flight.boxed().shared();
        let entry = RequestEntry { key: key.clone(), flight: flight.downgrade(), granted: false, waker: None };
        state.flights.insert(number, entry);
        state.numbers.insert(key, number);
        let woken = state.grant();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        Waiter { number, flight: Some(flight), helped: HashMap::new(), state: Arc::clone(&self.state) }
    }
}

fn lock<K, T>(state: &Mutex<RequestsState<K, T>>) -> MutexGuard<'_, RequestsState<K, T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Eq + Hash, T> RequestsState<K, T> {
    /// Grants places to those there is room for.
    fn grant(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        let room = self.limit.saturating_sub(self.running);
        for entry in self.flights.values_mut().filter(|entry| !entry.granted).take(room) {
            entry.granted = true;
            self.running += 1;
            woken.extend(entry.waker.take());
        }
        woken
    }

    fn remove(&mut self, number: u64) -> Vec<Waker> {
        let Some(entry) = self.flights.remove(&number) else { return Vec::new() };
        if self.numbers.get(&entry.key) == Some(&number) {
            self.numbers.remove(&entry.key);
        }
        if entry.granted {
            self.running -= 1;
        }
        self.grant()
    }
}

/// The place of a request among those in flight, or in the queue.
struct RequestSlot<K: Eq + Hash, T> {
    number: u64,
    state: Arc<Mutex<RequestsState<K, T>>>,
}

impl<K: Eq + Hash, T> RequestSlot<K, T> {
    async fn wait(self) -> Self {
        std::future::poll_fn(|cx| {
            let mut state = lock(&self.state);
            match state.flights.get_mut(&self.number) {
                Some(entry) if !entry.granted => {
                    entry.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
                _ => Poll::Ready(()),
            }
        })
        .await;
        self
    }
}

impl<K: Eq + Hash, T> Drop for RequestSlot<K, T> {
    fn drop(&mut self) {
        let woken = lock(&self.state).remove(self.number);
        woken.into_iter().for_each(Waker::wake);
    }
}

/// Waits for a response.
pub(crate) struct Waiter<K: Eq + Hash, T: Clone> {
    number: u64,
    flight: Option<Flight<T>>,
    /// Requests of others that this one waits for.
    helped: HashMap<u64, Flight<T>>,
    state: Arc<Mutex<RequestsState<K, T>>>,
}

impl<K: Eq + Hash, T: Clone> Waiter<K, T> {
    /// Drives the requests ahead of this one.
    fn help(&mut self, cx: &mut Context<'_>) -> bool {
        let state = lock(&self.state);
        if state.flights.get(&self.number).is_none_or(|entry| entry.granted) {
            drop(state);
            self.helped.clear();
            return false;
        }
        for (number, entry) in state.flights.iter().filter(|(_, entry)| entry.granted) {
            if let Some(flight) = entry.flight.as_ref().and_then(WeakShared::upgrade) {
                self.helped.entry(*number).or_insert(flight);
            }
        }
        drop(state);
        let before = self.helped.len();
        self.helped.retain(|_, flight| flight.poll_unpin(cx).is_pending());
        self.helped.len() < before
    }
}

impl<K: Eq + Hash, T: Clone> Future for Waiter<K, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        loop {
            let Some(flight) = &mut self.flight else { return Poll::Pending };
            if let Poll::Ready(answer) = flight.poll_unpin(cx) {
                self.flight = None;
                self.helped.clear();
                return Poll::Ready(answer);
            }
            // If some of those have completed, this one may have got its place.
            if !self.help(cx) {
                return Poll::Pending;
            }
        }
    }
}

impl<K: Eq + Hash, T: Clone> Unpin for Waiter<K, T> {}
