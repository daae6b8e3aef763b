//! The pool: jobs submitted, awaited and cancelled while their pool is dropped.

use std::panic::resume_unwind;
use std::sync::Arc;

use oxiblosc_core::Executor;
use oxiblosc_core::executor::for_each;
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::thread;

use super::explore;
use crate::compute::{Pool, block_on};

/// Work that yields in the middle, and counts itself.
fn work(done: &Arc<AtomicUsize>, result: usize) -> impl FnOnce() -> usize + Send + 'static {
    let done = Arc::clone(done);
    move || {
        thread::yield_now();
        done.fetch_add(1, Ordering::SeqCst);
        result
    }
}

/// Two threads submit jobs to one pool and wait for them: each gets its own results, and neither sleeps forever.
#[test]
fn every_job_has_its_result() {
    explore("pool, jobs of two threads", || {
        let done = Arc::new(AtomicUsize::new(0));
        let pool = Pool::new(2);
        let other = thread::spawn({
            let (pool, done) = (pool.clone(), Arc::clone(&done));
            move || {
                let jobs = [10, 11].map(|n| pool.spawn(work(&done, n)));
                assert!((1..=2).contains(&pool.share().workers()));
                let results = jobs.map(|job| block_on(job).unwrap());
                // A job is counted until shortly after its result is available. In the end none is.
                while pool.share().workers() < 2 {
                    thread::yield_now();
                }
                results
            }
        });
        let jobs = [20, 21].map(|n| pool.spawn(work(&done, n)));
        drop(pool);
        assert_eq!(jobs.map(|job| block_on(job).unwrap()), [20, 21]);
        assert_eq!(other.join().unwrap(), [10, 11]);
        assert_eq!(done.load(Ordering::SeqCst), 4);
    });
}

/// A dropped job may or may not run; the other jobs run in either case.
#[test]
fn a_job_that_is_taken_back_harms_nobody() {
    explore("pool, a job taken back", || {
        let done = Arc::new(AtomicUsize::new(0));
        let pool = Pool::new(2);
        let [first, second, third] = [1, 2, 3].map(|n| pool.spawn(work(&done, n)));
        thread::yield_now();
        drop(second);
        assert_eq!((block_on(first), block_on(third)), (Ok(1), Ok(3)));
        assert!((2..=3).contains(&done.load(Ordering::SeqCst)));
    });
}

/// The last handle may be dropped by a job of its own pool, when no one waits any more.
#[test]
fn the_last_handle_ends_the_pool() {
    explore("pool, the last handle in a job", || {
        let pool = Pool::new(2);
        let inner = pool.clone();
        let job = pool.spawn(move || {
            let job = inner.spawn(|| 5);
            drop(inner);
            job
        });
        drop(pool);
        let inner = block_on(job).unwrap();
        assert_eq!(block_on(inner), Ok(5));
    });
}

/// Divided work covers every part once, even inside a job of the same pool.
#[test]
fn divided_work_reaches_every_part_once() {
    explore("pool, divided work", || {
        let pool = Pool::new(2);
        let job = pool.spawn({
            let pool = pool.clone();
            move || {
                let parts: Vec<_> = (0..4).map(|_| AtomicUsize::new(0)).collect();
                let (share, busy) = (pool.share(), [false; 2].map(AtomicBool::new));
                for_each(&share, parts.len(), |worker, i| {
                    assert!(!busy[worker].swap(true, Ordering::SeqCst), "two threads are worker {worker}");
                    assert!(worker < share.workers());
                    thread::yield_now();
                    parts[i].fetch_add(1, Ordering::SeqCst);
                    busy[worker].store(false, Ordering::SeqCst);
                });
                parts.into_iter().map(AtomicUsize::into_inner).collect::<Vec<_>>()
            }
        });
        let sum = AtomicUsize::new(0);
        for_each(&pool, 3, |_, i| {
            sum.fetch_add(i + 1, Ordering::SeqCst);
        });
        assert_eq!(sum.load(Ordering::SeqCst), 6);
        assert_eq!(block_on(job), Ok(vec![1; 4]));
    });
}

/// A panic affects only its own job.
#[test]
fn a_panic_stays_in_its_job() {
    explore("pool, a panic", || {
        let pool = Pool::new(2);
        let before = pool.spawn(|| 1);
        // Not `panic!`: the panic hook of shuttle would print a schedule each time.
        let panics = pool.spawn(|| -> usize { resume_unwind(Box::new("meant")) });
        let after = pool.spawn(|| 2);
        assert_eq!(block_on(panics).unwrap_err().message(), "meant");
        assert_eq!((block_on(before), block_on(after)), (Ok(1), Ok(2)));
    });
}
