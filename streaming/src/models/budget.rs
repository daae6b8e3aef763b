//! The budget: its limit holds, and every waiter is woken.

use futures::FutureExt;
use shuttle::thread;

use super::explore;
use crate::budget::{Budget, BudgetShare};
use crate::compute::block_on;

/// Three threads acquire more than fits at once, while a fourth one gives up its place in the queue.
#[test]
fn whoever_waits_gets_a_turn() {
    explore("budget", || {
        let budget = Budget::new(10);
        let users: Vec<_> = [7, 5, 4]
            .into_iter()
            .map(|bytes| {
                let budget = budget.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        let permit = block_on(budget.acquire(bytes));
                        assert_eq!(permit.bytes(), bytes as u64);
                        assert!((bytes as u64..=10).contains(&budget.used()));
                        thread::yield_now();
                        drop(permit);
                    }
                })
            })
            .collect();
        let mut waiting = budget.acquire(9);
        let taken = (&mut waiting).now_or_never();
        thread::yield_now();
        // At this point it may have been granted its bytes.
        drop((waiting, taken));
        users.into_iter().for_each(|user| user.join().unwrap());
        assert_eq!((budget.used(), budget.peak() <= 10), (0, true));
    });
}

/// With nothing in flight a piece is always allowed, even while others hold the whole budget.
#[test]
fn one_piece_may_always_go() {
    explore("budget, all of it taken", || {
        let budget = Budget::new(10);
        let mut allowance = BudgetShare::new(Some(&budget));
        let first = allowance.try_take(4).expect("there is room");
        let all = budget.try_acquire(6).expect("there is room");
        let other = thread::spawn(move || drop(first));
        let second = block_on(std::future::poll_fn(|cx| allowance.poll_take(cx, 8)));
        other.join().unwrap();
        drop((all, second, allowance));
        assert_eq!(budget.used(), 0);
    });
}
