//! The requests of a reader: identical ones are merged, the limit holds, and every waiter gets its response.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Wake, Waker};

use futures::FutureExt;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::{future, thread};

use super::explore;
use crate::reader::requests::Requests;

const LIMIT: usize = 1;

/// A source that counts the requests in progress, and those made for each key.
#[derive(Clone, Default)]
struct Source {
    running: Arc<AtomicUsize>,
    asked: Arc<[AtomicUsize; 5]>,
}

/// A request in progress, until it is dropped.
struct Running(Arc<AtomicUsize>);

impl Source {
    fn asked(&self, key: u8) -> usize {
        self.asked[usize::from(key)].load(Ordering::SeqCst)
    }

    async fn answer(self, key: u8) -> usize {
        self.asked[usize::from(key)].fetch_add(1, Ordering::SeqCst);
        assert!(self.running.fetch_add(1, Ordering::SeqCst) < LIMIT, "more requests than the limit");
        let _running = Running(self.running);
        future::yield_now().await;
        usize::from(key) * 10
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A waker that sets a flag. It must not switch threads as unparking does: a `Shared` future wakes its waiters while it
/// holds a lock of the standard library.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls `future` each time it has been woken. If a wake-up is lost, the schedule exceeds its limit of steps.
fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&flag));
    loop {
        if flag.0.swap(false, Ordering::SeqCst)
            && let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
        {
            return output;
        }
        thread::yield_now();
    }
}

/// Two threads request the same key and a third one another key, while one request before them is cancelled and another
/// one is not polled any more by the waiter that made it.
#[test]
fn everybody_gets_an_answer() {
    explore("requests", || {
        let (requests, source) = (Requests::new(LIMIT), Source::default());
        let ask = |key| requests.get(key, || source.clone().answer(key));
        let (mut sleeps, mut leaves) = (ask(4), ask(3));
        let _ = (&mut sleeps).now_or_never();
        let _ = (&mut leaves).now_or_never();
        let users = [1, 1, 2]
            .map(|key| (key, ask(key)))
            .map(|(key, waiter)| thread::spawn(move || assert_eq!(wait(waiter), usize::from(key) * 10)));
        thread::yield_now();
        drop(leaves);
        users.into_iter().for_each(|user| user.join().unwrap());
        assert_eq!(source.asked(1), 1, "requests for the key");
        drop(sleeps);
        // A finished request is not used again.
        assert_eq!(wait(ask(1)), 10);
        assert_eq!(source.asked(1), 2);
    });
}
