//! Hundreds of sinks and readers on two threads, which share one pool.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use futures::future::join_all;
use futures::io::{AsyncSeek, AsyncWrite, AsyncWriteExt, Cursor};
use futures::{SinkExt, TryStreamExt};
use oxiblosc::chunk::EncodeParams;
use oxiblosc::target::{FileTarget, OpenTarget, SpoolTarget};
use oxiblosc::{Pool, ReadOptions, WriteOptions, block_on, recover};
use oxiblosc_conformance::data::Random;
use oxiblosc_conformance::target::{Faults, Faulty};

use crate::case::Data;
use crate::payload::Payload;
use crate::tally::Tally;

const TASKS: u64 = 200;
const CHUNK: usize = 4096;

/// Writes and reads frames, many at a time, until the time is over.
pub(crate) fn run(end: Instant, tally: &Tally) {
    let pool = Pool::new(2);
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    std::thread::scope(|scope| {
        for half in 0..2 {
            let (pool, path) = (&pool, directory.path());
            scope.spawn(move || {
                let tasks =
                    (0..TASKS).filter(|number| number % 2 == half).map(|number| task(number, pool, path, end, tally));
                block_on(join_all(tasks))
            });
        }
    });
}

async fn task(number: u64, pool: &Pool, directory: &Path, end: Instant, tally: &Tally) {
    let mut random = Random::new(number);
    let mut round = 0;
    while Instant::now() < end || round == 0 {
        frame(number, round, pool, directory, &mut random).await;
        tally.tasks();
        round += 1;
    }
}

async fn frame(number: u64, round: u64, pool: &Pool, directory: &Path, random: &mut Random) {
    let len = random.below(24 * CHUNK) as u64;
    let payload = Payload::new(Data::Mixed, len, CHUNK as u64, number ^ round << 20);
    let data = payload.bytes(0..len);
    let params = EncodeParams { typesize: 4, block_size: Some(1024), ..EncodeParams::default() };
    let options = WriteOptions::new(params).chunk_size(CHUNK).pool(pool).chunks_in_flight(1 + random.below(3));
    let file = InMemory::default();
    let writer = Faulty::new(file.clone(), Faults::slow(3, 20_000, number ^ round));
    let frame = match random.below(4) {
        0 => {
            let mut sink = options.seekable(writer).unwrap();
            for piece in data.chunks(1 + random.below(9000)) {
                sink.write_all(piece).await.unwrap();
            }
            sink.close().await.unwrap();
            file.bytes()
        }
        1 => {
            let limit = [0, 10_000, 1 << 20][random.below(3)];
            let mut sink = options.sink(SpoolTarget::new(writer).memory_limit(limit)).unwrap();
            for piece in data.chunks(1 + random.below(30_000)) {
                sink.feed(Bytes::copy_from_slice(piece)).await.unwrap();
            }
            sink.close().await.unwrap();
            file.bytes()
        }
        2 => {
            let mut sink = options.sink(OpenTarget::new(writer)).unwrap();
            sink.write_all(&data).await.unwrap();
            sink.close().await.unwrap();
            let mut frame = file.bytes();
            recover::seal(&mut frame).unwrap();
            frame
        }
        _ => {
            let path = directory.join(number.to_string());
            let mut sink = options.sink(FileTarget::create(&path).unwrap()).unwrap();
            sink.write_all(&data).await.unwrap();
            sink.close().await.unwrap();
            std::fs::read(path).unwrap()
        }
    };
    let reader = ReadOptions::new().pool(pool).open(frame).await.unwrap();
    assert_eq!(reader.nbytes(), len, "task {number}, round {round}");
    let chunks: Vec<Bytes> = reader.chunks().try_collect().await.unwrap();
    assert!(chunks.concat() == data, "task {number}, round {round}: other bytes came back");
    if len > 0 {
        let from = random.below(len as usize) as u64;
        let to = from + random.below((len - from + 1) as usize) as u64;
        let part = reader.bytes(from..to).await.unwrap();
        assert!(part == data[from as usize..to as usize], "task {number}, round {round}, {from}..{to}");
    }
}

/// A file in memory that others can look at.
#[derive(Clone, Default)]
struct InMemory(Arc<Mutex<Cursor<Vec<u8>>>>);

impl InMemory {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_ref().clone()
    }

    fn with<T>(&self, with: impl FnOnce(Pin<&mut Cursor<Vec<u8>>>) -> T) -> T {
        with(Pin::new(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl AsyncWrite for InMemory {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.with(|file| file.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|file| file.poll_flush(cx))
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|file| file.poll_close(cx))
    }
}

impl AsyncSeek for InMemory {
    fn poll_seek(self: Pin<&mut Self>, cx: &mut Context<'_>, to: io::SeekFrom) -> Poll<io::Result<u64>> {
        self.with(|file| file.poll_seek(cx, to))
    }
}
