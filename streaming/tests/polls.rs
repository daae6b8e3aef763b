//! How long one poll takes, in time of the processor: an executor's thread is given back soon, whatever the size of the
//! chunks and wherever they go.

use std::future::{Future, poll_fn};
use std::io::{self, SeekFrom};
use std::pin::{Pin, pin};
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use cpu_time::ThreadTime;
use futures::SinkExt;
use futures::io::{AsyncSeek, AsyncWrite, AsyncWriteExt};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::frame::FingerprintKind;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_plugins as _;
use oxiblosc_streaming::nd::ArrayOptions;
use oxiblosc_streaming::sparse::MemoryDirectory;
use oxiblosc_streaming::target::{
    FileTarget, MemoryTarget, OpenTarget, PlaceTarget, SeekTarget, SparseTarget, SpoolTarget, Target,
};
use oxiblosc_streaming::{Pool, WriteOptions, block_on};

/// Interrupts and the faults of memory that the system takes back are counted as the thread's own time: a poll that takes
/// long does so every time.
const TRIES: usize = 3;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Chunk sizes, and bytes written in chunks of them: several chunks, the last one short.
const SIZES: [(usize, usize); 4] =
    [(64 * KIB, 12 * MIB + 5), (MIB, 12 * MIB + 5), (16 * MIB, 34 * MIB + 5), (64 * MIB, 65 * MIB + 5)];

fn noise() -> &'static Bytes {
    static NOISE: OnceLock<Bytes> = OnceLock::new();
    NOISE.get_or_init(|| {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_le_bytes()
        };
        (0..(65 * MIB + 5).div_ceil(8)).flat_map(|_| next()).collect::<Vec<_>>().into()
    })
}

/// How long a poll may take: a quarter of what this machine needs for a copy of the largest chunk in fresh memory.
fn most() -> Duration {
    static MOST: OnceLock<Duration> = OnceLock::new();
    let copying = || {
        let start = ThreadTime::now();
        std::hint::black_box(noise().to_vec());
        start.elapsed()
    };
    *MOST.get_or_init(|| (0..TRIES).map(|_| copying()).min().unwrap() / 4)
}

/// The result of `future`, and how long its longest poll took.
fn longest<F: Future>(future: F) -> (F::Output, Duration) {
    let mut future = pin!(future);
    let mut longest = Duration::ZERO;
    let output = block_on(poll_fn(|cx| {
        let start = ThreadTime::now();
        let polled = future.as_mut().poll(cx);
        longest = longest.max(start.elapsed());
        polled
    }));
    (output, longest)
}

/// How the bytes come to the sink.
#[derive(Debug, Clone, Copy)]
enum Way {
    AsyncWrite,
    Sink,
    /// As rows of an array that are cut into two chunks.
    Array,
    /// As rows of an array that are chunks.
    Rows,
    /// As a sink, with checksums and a fingerprint.
    Digested,
}

fn options(chunk_size: usize, pool: &Pool) -> WriteOptions {
    let params = EncodeParams { level: 0, filters: FilterSlots::NONE, typesize: 1, ..EncodeParams::default() };
    WriteOptions::new(params).chunk_size(chunk_size).pool(pool)
}

fn write<T: Target>(target: T, way: Way, chunk_size: usize, len: usize, pool: &Pool) -> Duration {
    let data = noise().slice(..len);
    let options = options(chunk_size, pool);
    let (written, longest) = match way {
        Way::AsyncWrite => {
            let mut sink = options.sink(target).unwrap();
            longest(async {
                sink.write_all(&data).await?;
                sink.flush().await?;
                sink.close().await
            })
        }
        Way::Sink | Way::Digested => {
            let digested = matches!(way, Way::Digested);
            let options = options.checksums(digested).fingerprint(digested.then(FingerprintKind::default));
            let mut sink = options.sink(target).unwrap();
            longest(async {
                sink.send(data).await?;
                sink.close().await
            })
        }
        Way::Array | Way::Rows => {
            let wide = if matches!(way, Way::Array) { 1024 } else { 512 };
            let rows = (len / wide) as u64;
            let array = ArrayOptions::new([rows, wide as u64], "|u1");
            let array = array.chunks([(chunk_size / 512) as u32, 512]).blocks([64, 512]).frame(options);
            let mut sink = array.sink(target).unwrap();
            let items = data.slice(..rows as usize * wide);
            longest(async {
                sink.push(items).await.unwrap();
                Ok(sink.close().await.unwrap().frame)
            })
        }
    };
    written.unwrap();
    longest
}

/// Writes every size in every way and says which poll took longest.
fn check<T: Target>(name: &str, ways: &[Way], create: impl Fn() -> T) {
    let pool = Pool::new(2);
    let limit = most();
    let mut most = Duration::ZERO;
    for &way in ways {
        for (chunk_size, len) in SIZES {
            let tries = (0..TRIES).map(|_| write(create(), way, chunk_size, len, &pool));
            let mut best = Duration::MAX;
            for longest in tries {
                best = best.min(longest);
                if best < limit {
                    break;
                }
            }
            println!("{name}, {way:?}, chunks of {chunk_size}: longest poll {best:?}");
            assert!(best < limit, "{name}, {way:?}, chunks of {chunk_size}: a poll took {best:?} of {limit:?}");
            most = most.max(best);
        }
    }
    println!("{name}: longest poll {most:?} of {limit:?}");
}

const WAYS: [Way; 3] = [Way::AsyncWrite, Way::Sink, Way::Array];

#[test]
fn memory() {
    check("memory", &[Way::AsyncWrite, Way::Sink, Way::Array, Way::Rows, Way::Digested], MemoryTarget::new);
}

#[test]
fn file() {
    let directory = tempfile::tempdir().unwrap();
    check("file", &WAYS, || FileTarget::create(directory.path().join("data.b2frame")).unwrap());
}

/// A file in memory that has room for everything: what takes time is what the targets do.
struct Roomy {
    bytes: Vec<u8>,
    at: usize,
}

impl Roomy {
    fn new() -> Self {
        Self { bytes: Vec::with_capacity(140 * MIB), at: 0 }
    }
}

impl AsyncWrite for Roomy {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let at = self.at;
        let inside = buf.len().min(self.bytes.len() - at);
        self.bytes[at..at + inside].copy_from_slice(&buf[..inside]);
        self.bytes.extend_from_slice(&buf[inside..]);
        self.at += buf.len();
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for Roomy {
    fn poll_seek(mut self: Pin<&mut Self>, _: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        match to {
            SeekFrom::Start(n) => self.at = n as usize,
            SeekFrom::Current(0) => {}
            other => panic!("nobody seeks to {other:?}"),
        }
        Poll::Ready(Ok(self.at as u64))
    }
}

#[test]
fn seekable() {
    check("seekable", &WAYS, || SeekTarget::new(Roomy::new()));
}

#[test]
fn spooled() {
    check("spooled in a file", &WAYS, || SpoolTarget::new(Roomy::new()));
    check("spooled in memory", &WAYS, || SpoolTarget::new(Roomy::new()).memory_limit(usize::MAX));
}

#[test]
fn open_ended() {
    check("open-ended", &WAYS, || OpenTarget::new(Roomy::new()));
}

#[test]
fn sparse() {
    let directory = tempfile::tempdir().unwrap();
    check("sparse", &WAYS, || SparseTarget::create(directory.path().join("data.b2frame")).unwrap());
    check("sparse in memory", &WAYS, || PlaceTarget::new(MemoryDirectory::new()));
}

#[cfg(feature = "object_store")]
#[test]
fn object() {
    use std::sync::Arc;

    use object_store::memory::InMemory;
    use oxiblosc_streaming::object::ObjectPrefix;
    use oxiblosc_streaming::target::ObjectTarget;

    check("object", &WAYS, || ObjectTarget::with_multipart(Arc::new(InMemory::new()), "data.b2frame"));
    check("object in order", &WAYS, || ObjectTarget::new(Arc::new(InMemory::new()), "data.b2frame"));
    check("objects", &WAYS, || PlaceTarget::new(ObjectPrefix::new(Arc::new(InMemory::new()), "data.b2frame")));
}
