//! Data, frames, and writers and sources that behave as badly as they may.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod array;
pub(crate) mod disk;
pub(crate) mod places;

use std::future::Future;
use std::io::{self, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::io::{AsyncSeek, AsyncWrite};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_plugins as _;
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::{Pool, WriteOptions, blocking};

pub(crate) const CHUNK: usize = 4096;

/// A small generator: the same numbers for the same seed, everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    pub(crate) fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// Bytes with something to compress, a stretch of zeros longer than a chunk, and something incompressible.
pub(crate) fn data(len: usize) -> Vec<u8> {
    let mut random = Random::new(len as u64);
    (0..len)
        .map(|i| match i / CHUNK % 5 {
            2 | 3 => 0,
            4 => random.below(256) as u8,
            _ if random.chance(16) => random.below(256) as u8,
            _ => (i / 70) as u8,
        })
        .collect()
}

/// The decoded content of a frame.
#[track_caller]
pub(crate) fn decoded(frame: &[u8]) -> Vec<u8> {
    let reader = blocking::FrameReader::from_bytes(frame.to_vec()).unwrap();
    reader.bytes(0..reader.nbytes()).unwrap().to_vec()
}

/// The decoded content of the frame in a file or directory.
#[track_caller]
pub(crate) fn decoded_file(path: &Path) -> Vec<u8> {
    let reader = blocking::FrameReader::open(path).unwrap();
    reader.bytes(0..reader.nbytes()).unwrap().to_vec()
}

/// Lengths at which something changes.
pub(crate) fn lengths() -> Vec<usize> {
    let mut lengths = vec![0, 1, 2, 31, 32, 33];
    for chunks in [1, 2, 3, 5, 9] {
        lengths.extend([chunks * CHUNK - 1, chunks * CHUNK, chunks * CHUNK + 1]);
    }
    lengths
}

/// Chunks of 4 KiB in blocks of 1 KiB.
pub(crate) fn options() -> WriteOptions {
    let params = EncodeParams { typesize: 4, block_size: Some(1024), ..EncodeParams::default() };
    WriteOptions::new(params).chunk_size(CHUNK)
}

/// The frame of these options, written in the plainest way.
pub(crate) fn frame(data: &[u8], options: WriteOptions) -> Vec<u8> {
    let mut writer = blocking::FrameWriter::in_memory(options.pool(&Pool::inline())).unwrap();
    io::Write::write_all(&mut writer, data).unwrap();
    writer.finish().unwrap();
    writer.into_bytes()
}

/// Polls `future` at most `polls` times and then drops it.
pub(crate) fn poll_and_drop<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..polls {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        std::thread::yield_now();
    }
    None
}

/// What a [`Flaky`] writer does besides writing.
#[derive(Debug, Clone)]
pub(crate) struct Mood {
    /// One call in so many is not ready; 0 for none.
    pub(crate) pending: u64,
    /// Most bytes accepted by one write.
    pub(crate) most: usize,
    /// The calls, counted from 0, that fail.
    pub(crate) fails_at: Range<u64>,
    /// Whether a failing write moves the position first.
    pub(crate) moves_on_failure: bool,
}

impl Mood {
    pub(crate) const GOOD: Self = Self { pending: 0, most: usize::MAX, fails_at: 0..0, moves_on_failure: false };
}

/// A file in memory that is slow, accepts little, and fails.
#[derive(Debug, Clone)]
pub(crate) struct Flaky {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    bytes: Vec<u8>,
    position: usize,
    calls: u64,
    mood: Mood,
    random: Random,
    /// A writer that is not ready stays so once more before it may change its mind.
    closed: bool,
}

impl Flaky {
    pub(crate) fn new(before: &[u8], mood: Mood, seed: u64) -> Self {
        let state = State {
            bytes: before.to_vec(),
            position: before.len(),
            calls: 0,
            mood,
            random: Random::new(seed),
            closed: false,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.state.lock().unwrap().bytes.clone()
    }

    pub(crate) fn calls(&self) -> u64 {
        self.state.lock().unwrap().calls
    }

    pub(crate) fn position(&self) -> usize {
        self.state.lock().unwrap().position
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().unwrap().closed
    }

    fn call<T>(
        &self,
        cx: &mut Context<'_>,
        work: impl FnOnce(&mut State) -> io::Result<T>,
        on_failure: impl FnOnce(&mut State),
    ) -> Poll<io::Result<T>> {
        let state = &mut *self.state.lock().unwrap();
        if state.mood.pending > 0 && state.random.chance(state.mood.pending) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let call = state.calls;
        state.calls += 1;
        if state.mood.fails_at.contains(&call) {
            on_failure(state);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionReset, format!("call {call}"))));
        }
        Poll::Ready(work(state))
    }
}

impl AsyncWrite for Flaky {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let write = |state: &mut State| {
            let most = state.mood.most.min(buf.len());
            let n = if most > 1 { 1 + state.random.below(most as u64) as usize } else { most };
            let end = state.position + n;
            if state.bytes.len() < end {
                state.bytes.resize(end, 0xEE);
            }
            state.bytes[state.position..end].copy_from_slice(&buf[..n]);
            state.position = end;
            Ok(n)
        };
        let failure = |state: &mut State| {
            if state.mood.moves_on_failure {
                let end = state.position + buf.len().min(3);
                if state.bytes.len() < end {
                    state.bytes.resize(end, 0xDD);
                }
                state.position = end;
            }
        };
        self.call(cx, write, failure)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.call(cx, |_| Ok(()), |_| ())
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let close = |state: &mut State| {
            state.closed = true;
            Ok(())
        };
        self.call(cx, close, |_| ())
    }
}

impl AsyncSeek for Flaky {
    fn poll_seek(self: Pin<&mut Self>, cx: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        let seek = |state: &mut State| {
            let position = match to {
                SeekFrom::Start(n) => n as i64,
                SeekFrom::End(n) => state.bytes.len() as i64 + n,
                SeekFrom::Current(n) => state.position as i64 + n,
            };
            state.position = usize::try_from(position).map_err(io::Error::other)?;
            Ok(state.position as u64)
        };
        self.call(cx, seek, |_| ())
    }
}

/// A source that counts, waits and fails.
#[derive(Debug)]
pub(crate) struct Counting {
    pub(crate) bytes: Bytes,
    pub(crate) log: Mutex<Vec<Vec<Range<u64>>>>,
    pub(crate) fails: Mutex<u32>,
    pub(crate) yields: usize,
}

impl Counting {
    pub(crate) fn new(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), log: Mutex::default(), fails: Mutex::new(0), yields: 0 }
    }

    pub(crate) fn slow(bytes: impl Into<Bytes>, yields: usize) -> Self {
        Self { yields, ..Self::new(bytes) }
    }

    /// Rounds and bytes since the last call.
    pub(crate) fn take(&self) -> (usize, u64) {
        let log = std::mem::take(&mut *self.log.lock().unwrap());
        (log.len(), log.iter().flatten().map(|r| r.end - r.start).sum())
    }
}

impl RangeSource for Counting {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        RangeSource::size(&self.bytes)
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        Box::pin(async move {
            for _ in 0..self.yields {
                let mut yielded = false;
                std::future::poll_fn(|cx| {
                    if std::mem::replace(&mut yielded, true) {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
            }
            self.log.lock().unwrap().push(ranges.clone());
            {
                let mut fails = self.fails.lock().unwrap();
                if *fails > 0 {
                    *fails -= 1;
                    return Err(io::Error::other("source failure"));
                }
            }
            self.bytes.read_ranges(ranges).await
        })
    }

    fn open(&self, head: u64) -> BoxFuture<'_, io::Result<(u64, Bytes)>> {
        Box::pin(async move {
            let len = RangeSource::size(&self.bytes).await?;
            let bytes = self.read_ranges(std::iter::once(0..head.min(len)).collect()).await?;
            Ok((len, bytes.into_iter().next().unwrap_or_default()))
        })
    }
}
