//! Sinks and readers that share their memory.

mod common;

use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use common::{Random, frame};
use futures::future::join_all;
use futures::{AsyncWriteExt, SinkExt, StreamExt, TryStreamExt};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::target::FileTarget;
use oxiblosc_streaming::{Budget, FrameReader, Pool, ReadOptions, WriteOptions, block_on};

const CHUNK: usize = 128 << 10;
/// What a chunk takes, encoded and decoded, with the little that a chunk that does not compress has more.
const COST: usize = 2 * CHUNK + 4096;

fn content(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..21 * CHUNK / 4 + 3)
        .flat_map(|i| if i % 3 == 0 { [0; 4] } else { (random.below(1 << 31) as u32).to_le_bytes() })
        .collect()
}

fn options() -> WriteOptions {
    WriteOptions::new(EncodeParams { typesize: 4, level: 1, ..EncodeParams::default() }).chunk_size(CHUNK)
}

/// Eight sinks and eight readers, each on its own thread, on a budget that has room for four chunks.
#[test]
fn eight_sinks_and_eight_readers() {
    let directory = tempfile::tempdir().unwrap();
    let budget = Budget::new(4 * COST);
    let pool = Pool::default();
    thread::scope(|scope| {
        for i in 0..8_u64 {
            let (for_sink, of_sink) = (budget.clone(), pool.clone());
            let path = directory.path().join(format!("{i}.b2frame"));
            scope.spawn(move || {
                let data = content(i);
                let mut sink =
                    options().budget(&for_sink).pool(&of_sink).sink(FileTarget::create(&path).unwrap()).unwrap();
                block_on(async {
                    sink.write_all(&data).await.unwrap();
                    AsyncWriteExt::close(&mut sink).await.unwrap();
                });
            });
            let (budget, pool) = (budget.clone(), pool.clone());
            let path = directory.path().join(format!("read-{i}.b2frame"));
            scope.spawn(move || {
                let data = content(100 + i);
                std::fs::write(&path, frame(&data, options())).unwrap();
                let source = block_on(FileSource::open(&path)).unwrap();
                let options = ReadOptions::new().budget(&budget).pool(&pool);
                let reader = block_on(options.open(source)).unwrap();
                let found: Vec<Bytes> = block_on(reader.chunks().try_collect()).unwrap();
                assert!(found.concat() == data);
                let part = block_on(reader.bytes(12_345..3 * CHUNK as u64)).unwrap();
                assert!(part == data[12_345..3 * CHUNK]);
            });
        }
    });
    assert_eq!(budget.used(), 0);
    // One chunk for each that has nothing in flight, beside the budget.
    assert!(budget.peak() <= (4 * COST + 16 * COST) as u64, "{}", budget.peak());
    assert!(budget.peak() >= COST as u64);
    for i in 0..8 {
        let reader = block_on(async {
            let source = FileSource::open(directory.path().join(format!("{i}.b2frame"))).await?;
            FrameReader::open(source).await
        });
        let reader = reader.unwrap();
        assert!(block_on(reader.bytes(0..reader.nbytes())).unwrap() == content(i));
    }
}

/// What a stream holds ahead takes all of the budget, and the sink that it feeds gets along with what is always allowed;
/// so does one whose task holds a stream that is not polled.
#[test]
fn from_a_stream_into_a_sink() {
    for limit in [0, 1, 2 * COST, 100 * COST] {
        let budget = Budget::new(limit);
        let data = content(7);
        let source = Bytes::from(frame(&data, options()));
        let reader = block_on(ReadOptions::new().budget(&budget).open(source)).unwrap();
        let copied = block_on(async {
            let mut idle = reader.chunks();
            assert!(idle.next().await.is_some());
            let mut sink = options().budget(&budget).in_memory().unwrap();
            let mut chunks = reader.chunks();
            while let Some(chunk) = chunks.next().await {
                sink.send(chunk.unwrap()).await.unwrap();
            }
            sink.close().await.unwrap();
            assert!(idle.next().await.is_some());
            sink.into_target().into_bytes()
        });
        let copy = block_on(FrameReader::open(copied)).unwrap();
        assert!(block_on(copy.bytes(0..copy.nbytes())).unwrap() == data);
        assert!(budget.peak() <= (limit + 3 * COST) as u64, "{} of {limit}", budget.peak());
        drop(reader);
        assert_eq!(budget.used(), 0);
    }
}

/// A future that is dropped in the middle releases everything.
#[test]
fn dropped_in_the_middle() {
    let budget = Budget::new(3 * COST);
    let data = content(3);
    let source = Arc::new(Bytes::from(frame(&data, options())));
    let reader = block_on(ReadOptions::new().budget(&budget).open(source)).unwrap();
    for polls in 0..30 {
        common::poll_and_drop(polls, reader.bytes(0..data.len() as u64));
        common::poll_and_drop(polls, async {
            let mut chunks = reader.chunks();
            while chunks.next().await.is_some() {}
        });
        common::poll_and_drop(polls, async {
            let mut sink = options().budget(&budget).in_memory().unwrap();
            sink.write_all(&data).await.unwrap();
        });
        assert_eq!(budget.used(), 0, "after {polls} polls");
    }
    let tasks = (0..8).map(|_| reader.bytes(0..data.len() as u64));
    for found in block_on(join_all(tasks)) {
        assert!(found.unwrap() == data);
    }
}
