//! The buffers of a pool: one user at a time, and no more kept than allowed.

use bytes::Bytes;
use shuttle::thread;

use super::explore;
use crate::compute::Buffers;

const MOST: usize = 2;
const MOST_BYTES: usize = 100;

fn check_kept(buffers: &Buffers) {
    let kept = buffers.kept();
    assert!(
        kept.len() <= MOST && kept.iter().sum::<usize>() <= MOST_BYTES,
        "the free list is over its limits: {kept:?}"
    );
}

/// Three threads take buffers, write to them, share parts of them and return them.
#[test]
fn a_buffer_has_one_user() {
    explore("buffers", || {
        let buffers = Buffers::with_limits(MOST, MOST_BYTES);
        let users: Vec<_> = (1..=3u8)
            .map(|user| {
                let buffers = buffers.clone();
                thread::spawn(move || {
                    for round in 0..2 {
                        let mut buffer = buffers.take(20 + usize::from(user));
                        buffer.fill(user);
                        thread::yield_now();
                        assert!(buffer.iter().all(|byte| *byte == user), "somebody else wrote to it");
                        let whole = Bytes::from(buffer);
                        let part = whole.slice(round..round + 5);
                        drop(whole);
                        thread::yield_now();
                        assert_eq!(part, [user; 5][..]);
                        drop(part);
                        check_kept(&buffers);
                    }
                    buffers.put(vec![user; 30]);
                    check_kept(&buffers);
                })
            })
            .collect();
        users.into_iter().for_each(|user| user.join().unwrap());
        assert_eq!(buffers.kept().len(), MOST, "nine buffers have been returned");
    });
}

/// Buffers outlive the free list that they would return to.
#[test]
fn the_free_list_may_be_dropped_first() {
    explore("buffers, the free list dropped", || {
        let buffers = Buffers::with_limits(MOST, MOST_BYTES);
        let users = [1u8, 2].map(|user| {
            let mut buffer = buffers.take(20);
            thread::spawn(move || {
                buffer.fill(user);
                let bytes = Bytes::from(buffer);
                thread::yield_now();
                assert_eq!(bytes, [user; 20][..]);
            })
        });
        let mut last = buffers.take(20);
        drop(buffers);
        last.fill(3);
        users.into_iter().for_each(|user| user.join().unwrap());
        assert_eq!(last[..], [3; 20]);
    });
}
