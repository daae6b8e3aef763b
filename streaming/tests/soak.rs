//! Many sinks and readers at once, for a while: every byte is compared, and memory stays bounded.
//!
//! Runs for 20 seconds; `OXIBLOSC_SOAK_SECONDS=60` makes it a minute.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{CHUNK, Flaky, Mood, Random, data, options};
use futures::future::join_all;
use futures::io::AsyncWriteExt;
use futures::{SinkExt, TryStreamExt};
use oxiblosc_streaming::target::{FileTarget, OpenTarget, SpoolTarget};
use oxiblosc_streaming::{Pool, ReadOptions, block_on, recover};

const TASKS: u64 = 500;
/// Most memory that the process may ever have had, with 500 of each at work: buffers of a few chunks each, a
/// frame and the data it was made from in each task, and the threads.
const MOST_MEMORY: u64 = 400 << 20;

struct Soak {
    pool: Pool,
    end: Instant,
    frames: AtomicU64,
    bytes: AtomicU64,
    directory: tempfile::TempDir,
}

impl Soak {
    /// Writes and reads frames until the time is over.
    async fn task(&self, number: u64) {
        let mut random = Random::new(number);
        let mut round = 0;
        while Instant::now() < self.end || round == 0 {
            self.frame(number, round, &mut random).await;
            round += 1;
        }
    }

    async fn frame(&self, number: u64, round: u64, random: &mut Random) {
        let data = data(random.below(24 * CHUNK as u64) as usize);
        let options = options().pool(&self.pool).chunks_in_flight(1 + random.below(3) as usize);
        let mood = Mood { pending: 3, most: 20_000, ..Mood::GOOD };
        let writer = Flaky::new(b"", mood, number ^ round);
        let frame = match random.below(4) {
            0 => {
                let mut sink = options.seekable(writer.clone()).unwrap();
                for piece in data.chunks(1 + random.below(9000) as usize) {
                    sink.write_all(piece).await.unwrap();
                }
                sink.close().await.unwrap();
                writer.bytes()
            }
            1 => {
                let limit = [0, 10_000, 1 << 20][random.below(3) as usize];
                let mut sink = options.sink(SpoolTarget::new(writer.clone()).memory_limit(limit)).unwrap();
                for piece in data.chunks(1 + random.below(30_000) as usize) {
                    sink.feed(Bytes::copy_from_slice(piece)).await.unwrap();
                }
                sink.close().await.unwrap();
                writer.bytes()
            }
            2 => {
                let mut sink = options.sink(OpenTarget::new(writer.clone())).unwrap();
                sink.write_all(&data).await.unwrap();
                sink.close().await.unwrap();
                let mut frame = writer.bytes();
                recover::seal(&mut frame).unwrap();
                frame
            }
            _ => {
                let path = self.directory.path().join(number.to_string());
                let mut sink = options.sink(FileTarget::create(&path).unwrap()).unwrap();
                sink.write_all(&data).await.unwrap();
                sink.close().await.unwrap();
                std::fs::read(path).unwrap()
            }
        };
        let reader = ReadOptions::new().pool(&self.pool).open(frame).await.unwrap();
        assert_eq!(reader.nbytes(), data.len() as u64, "task {number}, round {round}");
        let chunks: Vec<Bytes> = reader.chunks().try_collect().await.unwrap();
        assert!(chunks.concat() == data, "task {number}, round {round}: other bytes came back");
        if !data.is_empty() {
            let from = random.below(data.len() as u64);
            let to = from + random.below(data.len() as u64 - from + 1);
            let part = reader.bytes(from..to).await.unwrap();
            assert!(part == data[from as usize..to as usize], "task {number}, round {round}, {from}..{to}");
        }
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
    }
}

#[test]
fn five_hundred_sinks_and_readers() {
    let seconds = std::env::var("OXIBLOSC_SOAK_SECONDS").map_or(20, |seconds| seconds.parse().unwrap());
    let soak = Soak {
        pool: Pool::new(2),
        end: Instant::now() + Duration::from_secs(seconds),
        frames: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        directory: tempfile::tempdir().unwrap(),
    };
    std::thread::scope(|scope| {
        for half in 0..2 {
            let soak = &soak;
            scope.spawn(move || block_on(join_all((0..TASKS).filter(|n| n % 2 == half).map(|n| soak.task(n)))));
        }
    });
    let (frames, bytes) = (soak.frames.into_inner(), soak.bytes.into_inner());
    println!("{frames} frames, {} MiB, most memory {:?} MiB", bytes >> 20, most_memory().map(|bytes| bytes >> 20));
    assert!(frames >= TASKS);
    if let Some(bytes) = most_memory() {
        assert!(bytes < MOST_MEMORY, "the process has had {bytes} bytes, expected less than {MOST_MEMORY}");
    }
}

/// The most memory that the process has had, where the system tells.
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}
