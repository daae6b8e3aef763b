//! Streams hold no more ahead than their options allow.

mod common;

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use common::Random;
use futures::future::BoxFuture;
use futures::{AsyncRead, StreamExt};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::nd::Selection;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::{Budget, FrameReader, ReadOptions, WriteOptions, block_on};

const MIB: usize = 1 << 20;

/// Counts the bytes that are asked for, and takes a moment for them.
struct Watched {
    bytes: Bytes,
    asked: AtomicU64,
}

impl RangeSource for Watched {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        RangeSource::size(&self.bytes)
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        self.asked.fetch_add(ranges.iter().map(|range| range.end - range.start).sum(), Ordering::SeqCst);
        Box::pin(async move {
            let mut polled = false;
            std::future::poll_fn(|cx| {
                cx.waker().wake_by_ref();
                if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            self.bytes.read_ranges(ranges).await
        })
    }
}

/// 64 MiB that do not compress, as 4096 x 4096 items in chunks of 1 MiB; and the frame.
fn large() -> (Vec<u8>, Bytes) {
    let mut random = Random::new(64);
    let content: Vec<u8> =
        (0..8 * MIB).flat_map(|_| (random.below(1 << 31) << 32 | random.below(1 << 31)).to_le_bytes()).collect();
    let params = EncodeParams { level: 0, typesize: 4, filters: FilterSlots::NONE, ..EncodeParams::default() };
    let options = ArrayOptions::new([4096, 4096], "<u4").chunks([256, 1024]).blocks([32, 1024]);
    let mut sink = options.frame(WriteOptions::new(params).sequential(true)).in_memory().unwrap();
    block_on(async {
        futures::AsyncWriteExt::write_all(&mut sink, &content).await.unwrap();
        sink.close().await.unwrap();
    });
    (content, sink.into_target().into_bytes().into())
}

#[test]
fn streams_keep_within_bytes_ahead() {
    let (content, frame) = large();
    for bytes_ahead in [1, MIB, 4 * MIB, 20 * MIB, ReadOptions::BYTES_AHEAD] {
        let budget = Budget::new(256 * MIB);
        let source = Arc::new(Watched { bytes: frame.clone(), asked: AtomicU64::new(0) });
        let options = ReadOptions::new().bytes_ahead(bytes_ahead).budget(&budget);
        let array = block_on(async { NdArray::new(options.clone().open(Arc::clone(&source)).await?) }).unwrap();
        source.asked.store(0, Ordering::SeqCst);
        let mut pieces = array.stream(&Selection::all()).unwrap();
        let (mut at, mut ahead, mut largest) = (0, 0, 0);
        block_on(async {
            while let Some(piece) = pieces.next().await {
                let piece = piece.unwrap();
                assert_eq!(piece, content[at..at + piece.len()], "at {at} of {bytes_ahead}");
                // What is asked for is held encoded, and decoded besides: this piece is not counted any more.
                at += piece.len();
                largest = largest.max(piece.len());
                ahead = ahead.max((source.asked.load(Ordering::SeqCst) as usize).saturating_sub(at));
            }
        });
        assert_eq!(at, content.len());
        // Where blocks are, of each chunk, is asked for as well.
        let slack = MIB / 2;
        assert!(
            2 * ahead <= bytes_ahead + 2 * largest + slack,
            "{ahead} ahead, {bytes_ahead} allowed, {largest} a piece"
        );
        // A piece counts encoded and decoded; how large it is depends on the number of threads.
        if bytes_ahead >= 4 * largest + slack {
            assert!(ahead >= 2 * MIB, "only {ahead} ahead of {bytes_ahead}");
        }
        // Its own accounts: what is fetched for a piece is counted as whole chunks.
        assert!(budget.peak() <= (bytes_ahead.max(64 * MIB)) as u64, "{} of {bytes_ahead}", budget.peak());
        assert_eq!(budget.used(), 0);

        let reader = array.reader().clone();
        let mut chunks = reader.chunks();
        let budget_before = budget.used();
        let (mut count, mut ahead) = (0, 0);
        source.asked.store(0, Ordering::SeqCst);
        block_on(async {
            while let Some(chunk) = chunks.next().await {
                assert_eq!(chunk.unwrap().len(), MIB);
                count += 1;
                ahead = ahead.max((source.asked.load(Ordering::SeqCst) as usize).saturating_sub(count * MIB));
            }
        });
        assert_eq!((count, budget.used()), (64, budget_before));
        assert!(2 * ahead <= bytes_ahead + 2 * MIB + slack, "{ahead} ahead, {bytes_ahead} allowed");
    }
}

/// A pipe that counts what is taken from it.
struct Pipe {
    bytes: Bytes,
    taken: Arc<AtomicU64>,
}

impl AsyncRead for Pipe {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let len = buf.len().min(self.bytes.len()).min(100_000);
        let part = self.bytes.split_to(len);
        buf[..len].copy_from_slice(&part);
        self.taken.fetch_add(len as u64, Ordering::SeqCst);
        Poll::Ready(Ok(len))
    }
}

#[test]
fn so_do_frames_that_arrive_front_to_back() {
    let (_, frame) = large();
    let reader = block_on(FrameReader::open(frame.clone())).unwrap();
    let stored = block_on(reader.bytes(0..reader.nbytes())).unwrap();
    for bytes_ahead in [1, 4 * MIB, 20 * MIB] {
        let taken = Arc::new(AtomicU64::new(0));
        let pipe = Pipe { bytes: frame.clone(), taken: Arc::clone(&taken) };
        let budget = Budget::new(3 * MIB);
        let options = ReadOptions::new().bytes_ahead(bytes_ahead).budget(&budget);
        let mut stream = block_on(options.stream(pipe)).unwrap();
        assert!(stream.is_immediate());
        let (mut at, mut ahead) = (0, 0);
        block_on(async {
            while let Some(chunk) = stream.next().await {
                let chunk = chunk.unwrap();
                assert_eq!(chunk, stored[at..at + chunk.len()]);
                at += chunk.len();
                ahead = ahead.max((taken.load(Ordering::SeqCst) as usize).saturating_sub(at));
            }
        });
        assert_eq!((at, budget.used()), (64 * MIB, 0));
        // One chunk beside the one that is always allowed has been read and is not decoded yet.
        assert!(ahead <= bytes_ahead.min(3 * MIB) / 2 + 2 * MIB + MIB / 2, "{ahead} ahead, {bytes_ahead} allowed");
        assert!(budget.peak() <= 4 * MIB as u64);
    }
}
