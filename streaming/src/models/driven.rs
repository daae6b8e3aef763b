//! Driven sinks, with the producer and the driver on two threads.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::channel::oneshot;
use shuttle::thread;

use super::explore;
use super::queue::{CHUNK, params, registry, turns};
use crate::compute::{Pool, block_on};
use crate::reader::ReadOptions;
use crate::sink::{FrameSink, WriteOptions};
use crate::target::{MemoryTarget, Part, Target};

/// A target in memory that calls `ask` for each piece of a chunk first, and returns its answer if there is one.
struct Asking<F> {
    memory: MemoryTarget,
    ask: F,
}

impl<F: FnMut() -> Option<Poll<io::Result<()>>>> Target for Asking<F> {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        let answer = if part.is_chunk() { (self.ask)() } else { None };
        answer.unwrap_or_else(|| self.memory.poll_append(cx, part, bytes))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.memory.poll_flush(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        self.memory.poll_commit(cx, header)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.memory.poll_close(cx)
    }
}

fn sink<F: FnMut() -> Option<Poll<io::Result<()>>>>(ask: F) -> FrameSink<Asking<F>> {
    let options = WriteOptions::new(params()).chunk_size(CHUNK).pool(&Pool::new(1)).registry(&registry());
    options.sink(Asking { memory: MemoryTarget::new().inline(), ask }).unwrap()
}

/// Written data moves while the producer waits for something else, everything arrives in order, and the driver ends when
/// the sink is closed.
#[test]
fn the_driver_moves_what_was_written_and_ends() {
    explore("driven sink", || {
        let (tell, arrived) = oneshot::channel();
        let mut tell = Some(tell);
        let ask = move || {
            tell.take().map(|tell| tell.send(()).unwrap());
            None
        };
        let (mut producer, driver) = sink(ask).into_driven();
        let driver = thread::spawn(move || block_on(driver));
        let summary = block_on(async {
            producer.write_bytes(&mut turns(1)).await?;
            arrived.await.unwrap();
            for first in 2..=3 {
                producer.write_bytes(&mut turns(first)).await?;
                thread::yield_now();
            }
            producer.close().await
        });
        assert_eq!(summary.unwrap().chunks, 3);
        driver.join().unwrap();
        let frame = Bytes::from(producer.into_inner().into_target().memory.into_bytes());
        let reader = block_on(ReadOptions::new().registry(&registry()).pool(&Pool::inline()).open(frame)).unwrap();
        let expected = [turns(1), turns(2), turns(3)].concat();
        assert_eq!(block_on(reader.bytes(0..expected.len() as u64)).unwrap(), expected);
    });
}

/// The producer is told of an error exactly once, whichever side ran into it, and can then go on.
#[test]
fn an_error_reaches_the_producer() {
    explore("driven sink, an error", || {
        let mut asked = 0;
        let ask = move || {
            asked += 1;
            match asked {
                // Nobody is woken for this one: whoever polls next gets the error.
                1 => Some(Poll::Pending),
                2 => Some(Poll::Ready(Err(io::Error::other("once")))),
                _ => None,
            }
        };
        let (mut producer, driver) = sink(ask).into_driven();
        let driver = thread::spawn(move || block_on(driver));
        let mut errors = 0;
        block_on(async {
            for first in 1..=2 {
                let mut bytes = turns(first);
                while !bytes.is_empty() {
                    errors += usize::from(producer.write_bytes(&mut bytes).await.is_err());
                }
                thread::yield_now();
            }
            errors += usize::from(producer.flush().await.is_err());
            producer.flush().await.unwrap();
        });
        assert_eq!(errors, 1);
        drop(producer);
        driver.join().unwrap();
    });
}
