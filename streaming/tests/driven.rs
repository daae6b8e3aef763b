//! Futures that are dropped, and sinks that go on while their producer does something else.

mod common;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{CHUNK, Flaky, Mood, data, frame, options, poll_and_drop};
use futures::future::join;
use futures::io::AsyncWriteExt;
use futures::{Sink, SinkExt};
use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
use oxiblosc_streaming::target::{MemoryTarget, Part, Target};
use oxiblosc_streaming::{Drive, Driven, FrameSink, Pool, WriteError, WriteOptions, block_on};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ready when `condition` holds; what an executor does otherwise it does meanwhile.
fn until(condition: impl Fn() -> bool) -> impl Future<Output = ()> {
    let end = Instant::now() + PATIENCE;
    poll_fn(move |cx| {
        if condition() {
            return Poll::Ready(());
        }
        assert!(Instant::now() < end, "nothing has moved for {PATIENCE:?}");
        thread::sleep(Duration::from_millis(1));
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

#[test]
fn write_bytes_may_be_dropped_at_any_poll() {
    let data = data(9 * CHUNK + 17);
    let expected = frame(&data, options());
    for polls in 1..8 {
        for threads in [0, 2] {
            for piece in [100, CHUNK - 1, 3 * CHUNK + 1] {
                let writer = Flaky::new(b"", Mood { pending: 2, most: 3000, ..Mood::GOOD }, polls as u64);
                let mut sink =
                    options().pool(&Pool::new(threads)).chunks_in_flight(1).seekable(writer.clone()).unwrap();
                let mut dropped = 0;
                for piece in data.chunks(piece) {
                    let mut bytes = Bytes::copy_from_slice(piece);
                    let taken = sink.nbytes();
                    while !bytes.is_empty() {
                        match poll_and_drop(polls, sink.write_bytes(&mut bytes)) {
                            Some(result) => result.unwrap(),
                            None => {
                                dropped += 1;
                                assert_eq!((&bytes[..], sink.nbytes()), (piece, taken), "a part was taken");
                            }
                        }
                    }
                    assert_eq!(sink.nbytes(), taken + piece.len() as u64);
                }
                block_on(sink.close()).unwrap();
                assert_eq!(writer.bytes(), expected, "{polls} polls, {threads} threads, pieces of {piece}");
                assert!(dropped > 0 || polls > 1, "no future was dropped");
            }
        }
    }
}

#[test]
fn items_of_arrays_may_be_dropped_at_any_poll() {
    let items: Vec<u8> = (0..100 * 200u32).map(|i| (i / 7) as u8).collect();
    for polls in 1..5 {
        let write = options().pool(&Pool::new(2)).chunks_in_flight(1);
        let array = ArrayOptions::new([100, 200], "|u1").chunks([16, 64]).blocks([8, 32]).frame(write);
        let writer = Flaky::new(b"", Mood { pending: 2, most: 3000, ..Mood::GOOD }, polls as u64);
        let mut sink = array.seekable(writer.clone()).unwrap();
        for piece in items.chunks(1777) {
            let mut bytes = Bytes::copy_from_slice(piece);
            while !bytes.is_empty() {
                if let Some(result) = poll_and_drop(polls, sink.write_bytes(&mut bytes)) {
                    result.unwrap();
                } else {
                    assert_eq!(bytes, piece);
                }
            }
        }
        let mut too_much = Bytes::from_static(b"x");
        assert!(block_on(sink.write_bytes(&mut too_much)).is_err());
        assert_eq!(too_much, "x");
        block_on(async {
            sink.close().await.unwrap();
            let found = NdArray::open(writer.bytes()).await.unwrap();
            assert!(found.read(&"...".parse().unwrap()).await.unwrap().bytes() == &items[..], "{polls} polls");
        });
    }
}

/// What the documentation says of the adapters of the `futures` crate.
#[test]
fn an_item_dropped_with_its_feed_is_not_counted_as_taken() {
    let target = Gate { open: false, inner: MemoryTarget::new() };
    let mut sink = options().pool(&Pool::inline()).chunks_in_flight(1).sink(target).unwrap();
    block_on(sink.feed(Bytes::from(data(3 * CHUNK)))).unwrap();
    assert!(poll_and_drop(3, sink.feed(Bytes::from_static(b"lost"))).is_none());
    assert_eq!(sink.nbytes(), 3 * CHUNK as u64);
    let mut kept = Bytes::from_static(b"kept");
    assert!(poll_and_drop(3, sink.write_bytes(&mut kept)).is_none());
    assert_eq!((kept.len(), sink.nbytes()), (4, 3 * CHUNK as u64));
}

/// Accepts nothing until it is opened.
struct Gate {
    open: bool,
    inner: MemoryTarget,
}

impl Target for Gate {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        if self.open { self.inner.poll_append(cx, part, bytes) } else { Poll::Pending }
    }
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_flush(cx)
    }
    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        self.inner.poll_commit(cx, header)
    }
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_close(cx)
    }
}

/// Encoded by other threads.
fn pooled(chunk_size: usize) -> WriteOptions {
    options().chunk_size(chunk_size).pool(&Pool::new(2))
}

/// Writes three chunks and a bit, waits until they have left, and writes the rest.
async fn produce<S: Drive>(mut sink: Driven<S>, data: &[u8], left: impl Fn() -> bool) -> (S, S::Summary)
where
    <S as Sink<Bytes>>::Error: std::fmt::Debug,
{
    let mut bytes = Bytes::copy_from_slice(&data[..3 * CHUNK + 5]);
    sink.write_bytes(&mut bytes).await.unwrap();
    until(left).await;
    sink.write_all(&data[3 * CHUNK + 5..]).await.unwrap();
    let summary = sink.close().await.unwrap();
    (sink.into_inner(), summary)
}

#[test]
fn chunks_leave_while_the_producer_waits() {
    let data = data(7 * CHUNK + 3);
    let expected = frame(&data, options());
    // The header and three chunks.
    let first = frame(&data[..3 * CHUNK], options()).len() - 200;
    for mood in [Mood::GOOD, Mood { pending: 2, most: 900, ..Mood::GOOD }] {
        // Not by itself.
        let writer = Flaky::new(b"", mood.clone(), 3);
        let mut sink = pooled(CHUNK).seekable(writer.clone()).unwrap();
        block_on(sink.write_bytes(&mut Bytes::copy_from_slice(&data[..3 * CHUNK + 5]))).unwrap();
        thread::sleep(Duration::from_millis(50));
        assert!(writer.bytes().len() < first);

        // Joined.
        let writer = Flaky::new(b"", mood.clone(), 3);
        let (sink, driver) = pooled(CHUNK).seekable(writer.clone()).unwrap().into_driven();
        let left = || writer.bytes().len() >= first;
        let ((sink, summary), ()) = block_on(join(produce(sink, &data, left), driver));
        assert_eq!(sink.summary(), Some(summary));
        assert_eq!(writer.bytes(), expected);

        // On another thread.
        let writer = Flaky::new(b"", mood.clone(), 3);
        let (sink, driver) = pooled(CHUNK).seekable(writer.clone()).unwrap().into_driven();
        let driving = thread::spawn(move || block_on(driver));
        let left = || writer.bytes().len() >= first;
        block_on(produce(sink, &data, left));
        assert_eq!(writer.bytes(), expected);
        driving.join().unwrap();
    }
}

#[test]
fn tiles_leave_while_the_producer_waits() {
    let items: Vec<u8> = (0..8 * CHUNK as u32).map(|i| (i * 31 % 251) as u8).collect();
    let rows = (items.len() / 64) as u64;
    let writer = Flaky::new(b"", Mood { pending: 3, ..Mood::GOOD }, 3);
    let options = ArrayOptions::new([rows, 64], "|u1").chunks([32, 32]).blocks([16, 16]).frame(pooled(1024));
    let (sink, driver) = options.seekable(writer.clone()).unwrap().into_driven();
    let left = || writer.bytes().len() >= 1500;
    let ((_, summary), ()) = block_on(join(produce(sink, &items, left), driver));
    assert_eq!(summary.shape, [rows, 64]);
    let found = block_on(async {
        let array = NdArray::open(writer.bytes()).await.unwrap();
        array.read(&"...".parse().unwrap()).await.unwrap()
    });
    assert!(found.bytes() == &items[..]);
}

#[test]
fn a_driver_ends_with_its_sink() {
    let driven = || pooled(CHUNK).in_memory().unwrap().into_driven();
    let ended = |driver| {
        let end = thread::spawn(move || block_on::<oxiblosc_streaming::Driver<FrameSink<MemoryTarget>>>(driver));
        end.join().unwrap();
    };
    // Closed, aborted, dropped, taken back: whether it has been polled before or not.
    for polled in [false, true] {
        for way in ["close", "abort", "drop", "take"] {
            let (mut sink, mut driver) = driven();
            if polled {
                let mut cx = Context::from_waker(Waker::noop());
                assert!(Pin::new(&mut driver).poll(&mut cx).is_pending());
            }
            block_on(sink.write_all(&data(2 * CHUNK))).unwrap();
            match way {
                "close" => drop(block_on(sink.close()).unwrap()),
                "abort" => block_on(sink.abort()).unwrap(),
                "drop" => drop(sink),
                _ => assert_eq!(sink.into_inner().nbytes(), 2 * CHUNK as u64),
            }
            ended(driver);
        }
    }
    // The other way round: without its driver the sink is what it was.
    let (mut sink, driver) = driven();
    drop(driver);
    block_on(async {
        sink.send(Bytes::from(data(9 * CHUNK))).await.unwrap();
        sink.close().await.unwrap();
    });
    assert_eq!(sink.into_inner().into_target().into_bytes(), frame(&data(9 * CHUNK), options()));
}

#[test]
fn what_the_driver_meets_is_told_to_the_producer() {
    let data = data(6 * CHUNK);
    let expected = frame(&data, options());
    for call in 0..12 {
        let writer = Flaky::new(b"", Mood { fails_at: call..call + 1, ..Mood::GOOD }, 1);
        let (mut sink, driver) = pooled(CHUNK).seekable(writer.clone()).unwrap().into_driven();
        let producer = async {
            let mut failures = 0;
            let mut bytes = Bytes::from(data.clone());
            while !bytes.is_empty() {
                failures += u32::from(sink.write_bytes(&mut bytes).await.is_err());
            }
            // The driver works, and fails, meanwhile; or the last calls do.
            let watched = writer.clone();
            let end = Instant::now() + Duration::from_millis(30);
            until(move || watched.calls() > call || Instant::now() > end).await;
            loop {
                match sink.close().await {
                    Ok(_) => return (failures, sink.into_inner()),
                    Err(error) => {
                        assert!(error.is_retryable());
                        failures += 1;
                    }
                }
            }
        };
        let ((failures, _), ()) = block_on(join(producer, driver));
        assert_eq!(failures, u32::from(writer.calls() > call), "call {call} of {}", writer.calls());
        assert_eq!(writer.bytes(), expected);
    }
}

#[test]
fn a_driven_sink_holds_its_producer_back() {
    let target = Gate { open: false, inner: MemoryTarget::new() };
    let (mut sink, mut driver) = pooled(CHUNK).chunks_in_flight(2).sink(target).unwrap().into_driven();
    let mut cx = Context::from_waker(Waker::noop());
    let data = data(40 * CHUNK);
    let mut taken = 0;
    for _ in 0..200 {
        let _ = Pin::new(&mut driver).poll(&mut cx);
        if let Poll::Ready(n) = Pin::new(&mut sink.write(&data[taken..])).poll(&mut cx) {
            taken += n.unwrap();
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert!((2 * CHUNK..=4 * CHUNK).contains(&taken), "{taken} bytes");
    sink.with_sink(|sink| sink.set_vlmetalayer("name", b"\x01")).unwrap();
    assert!(matches!(sink.with_sink(|sink| sink.set_metalayer("none", b"")), Err(WriteError::Frame(_))));
}
