//! The buffers of a pool: one user at a time, and no more kept than allowed.

use bytes::Bytes;
use shuttle::thread;

use super::explore;
use crate::compute::Buffers;

/// Three threads take buffers, write to them, share parts of them and return them, while the free list may be dropped.
#[test]
fn a_buffer_has_one_user() {
    explore("buffers", || {
        let buffers = Buffers::with_limits(2, 100);
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
                    }
                    buffers.put(vec![user; 30]);
                })
            })
            .collect();
        let last = buffers.take(10);
        drop(buffers);
        users.into_iter().for_each(|user| user.join().unwrap());
        drop(last);
    });
}
