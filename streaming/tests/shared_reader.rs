//! One reader for many threads and tasks: every byte right, no request twice, no more of them than agreed.

mod common;

use std::future::Future;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use common::{Random, data, frame, options};
use futures::future::{BoxFuture, join_all};
use futures::{FutureExt, StreamExt, TryStreamExt};
use oxiblosc_core::nd::Selection;
use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
use oxiblosc_streaming::source::{FileSource, RangeSource};
use oxiblosc_streaming::{ErrorKind, FrameReader, ReadError, ReadOptions, block_on};

const SIDE: usize = 600;

/// An array of 600 x 600 items of four bytes, in chunks that do not divide it.
fn array() -> (Vec<u8>, Vec<u8>) {
    let content = data(4 * SIDE * SIDE);
    let options = ArrayOptions::new([SIDE as u64, SIDE as u64], "<u4").chunks([128, 256]).blocks([32, 64]);
    let mut sink = options.in_memory().unwrap();
    block_on(async {
        futures::AsyncWriteExt::write_all(&mut sink, &content).await.unwrap();
        sink.close().await.unwrap();
    });
    (content, sink.into_target().into_bytes())
}

/// Some reads of each kind, compared byte for byte.
async fn some_reads<S: RangeSource + 'static>(array: &NdArray<S>, content: &[u8], seed: u64) {
    let mut random = Random::new(seed);
    let mut range = |len: usize| {
        let start = random.below(len as u64) as usize;
        start..start + random.below((len - start) as u64 + 1).min(300) as usize
    };
    for _ in 0..4 {
        let (rows, columns) = (range(SIDE), range(SIDE));
        let axes = [rows.start as i64..rows.end as i64, columns.start as i64..columns.end as i64];
        let found = array.read(&Selection::axes(axes)).await.unwrap().into_bytes();
        let expected: Vec<u8> = rows
            .flat_map(|row| content[4 * (row * SIDE + columns.start)..4 * (row * SIDE + columns.end)].to_vec())
            .collect();
        assert_eq!(found, expected);
        let (row, column) = (range(SIDE).start, range(SIDE).start);
        let at = 4 * (row * SIDE + column);
        assert_eq!(array.item(&[row as i64, column as i64]).await.unwrap(), content[at..at + 4]);
    }
}

/// The decoded bytes of the frame, by which ranges of bytes, items and chunks are compared.
async fn some_bytes<S: RangeSource + 'static>(reader: &FrameReader<S>, stored: &[u8], seed: u64) {
    let mut random = Random::new(seed);
    let chunk_size = reader.chunk_size().unwrap();
    for _ in 0..4 {
        let start = random.below(stored.len() as u64);
        let end = start + random.below(stored.len() as u64 - start + 1).min(400_000);
        assert_eq!(reader.bytes(start..end).await.unwrap(), stored[start as usize..end as usize]);
        let item = random.below(reader.items_len());
        assert_eq!(reader.items(item..item + 1).await.unwrap(), stored[4 * item as usize..][..4]);
        let chunk = random.below(reader.nchunks());
        let expected = stored.chunks(chunk_size).nth(chunk as usize).unwrap();
        assert_eq!(reader.chunk(chunk).await.unwrap(), expected);
    }
    if seed.is_multiple_of(16) {
        let all: Vec<Bytes> = reader.chunks().try_collect().await.unwrap();
        assert_eq!(all.concat(), stored);
    }
}

/// 64 threads, each with some tasks, on one reader.
fn many_threads<S: RangeSource + 'static>(source: S, content: &[u8], stored: &[u8]) {
    let array = block_on(NdArray::open(source)).unwrap();
    thread::scope(|scope| {
        for thread in 0..64 {
            let array = array.clone();
            scope.spawn(move || {
                block_on(async {
                    some_reads(&array, content, thread).await;
                    some_bytes(array.reader(), stored, thread).await;
                });
            });
        }
    });
    // And 64 tasks on one thread.
    let tasks = (0..64).map(|task| {
        let array = array.clone();
        async move {
            some_reads(&array, content, 1000 + task).await;
            some_bytes(array.reader(), stored, 1000 + task).await;
        }
    });
    block_on(join_all(tasks));
}

#[test]
fn of_a_file_and_of_memory() {
    let (content, frame) = array();
    let stored = block_on(async {
        let reader = FrameReader::open(frame.clone()).await.unwrap();
        reader.bytes(0..reader.nbytes()).await.unwrap()
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &frame).unwrap();
    many_threads(block_on(FileSource::open(file.path())).unwrap(), &content, &stored);
    many_threads(Bytes::from(frame.clone()), &content, &stored);
    #[cfg(feature = "mmap")]
    {
        #[allow(unsafe_code, reason = "as any program that maps a file")]
        // SAFETY: the file is this test's own, and nothing writes to it.
        let source = unsafe { oxiblosc_streaming::source::MmapSource::open(file.path()).unwrap() };
        many_threads(source, &content, &stored);
    }
    #[cfg(feature = "object_store")]
    {
        use object_store::ObjectStoreExt;
        let store = Arc::new(object_store::memory::InMemory::new());
        let path = object_store::path::Path::from("x");
        block_on(store.put(&path, frame.into())).unwrap();
        many_threads(oxiblosc_streaming::source::ObjectSource::new(store, path), &content, &stored);
    }
}

/// A source that takes a while for each request, and counts them.
struct Slow {
    bytes: Bytes,
    now: AtomicUsize,
    most: AtomicUsize,
    rounds: AtomicUsize,
    /// Rounds that fail.
    failing: AtomicUsize,
}

impl Slow {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        let zero = || AtomicUsize::new(0);
        Arc::new(Self { bytes: bytes.into(), now: zero(), most: zero(), rounds: zero(), failing: zero() })
    }

    /// Rounds, and the most of them at a time, since the last call.
    fn take(&self) -> (usize, usize) {
        (self.rounds.swap(0, Ordering::SeqCst), self.most.swap(0, Ordering::SeqCst))
    }
}

struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl RangeSource for Slow {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        RangeSource::size(&self.bytes)
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        Box::pin(async move {
            self.rounds.fetch_add(1, Ordering::SeqCst);
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            let _under_way = UnderWay(&self.now);
            self.most.fetch_max(now, Ordering::SeqCst);
            a_while().await;
            if self.failing.load(Ordering::SeqCst) > 0 {
                self.failing.fetch_sub(1, Ordering::SeqCst);
                return Err(io::Error::new(io::ErrorKind::ConnectionReset, "the cable is cut"));
            }
            self.bytes.read_ranges(ranges).await
        })
    }
}

/// As long as a server takes.
async fn a_while() {
    let (sender, receiver) = futures::channel::oneshot::channel();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(40));
        let _ = sender.send(());
    });
    let _ = receiver.await;
}

/// Bytes of which every chunk is stored.
fn noise(len: usize) -> Vec<u8> {
    let mut random = Random::new(9);
    (0..len).map(|_| random.below(256) as u8).collect()
}

#[test]
fn two_hundred_tasks_on_one_slice_make_the_requests_of_one() {
    let (content, frame) = array();
    let source = Slow::new(frame);
    let array = block_on(NdArray::open(Arc::clone(&source))).unwrap();
    let slice = Selection::axes([100..103i64, 0..SIDE as i64]);
    let expected = &content[4 * 100 * SIDE..4 * 103 * SIDE];
    source.take();
    assert_eq!(block_on(array.read(&slice)).unwrap().into_bytes(), expected);
    let (alone, _) = source.take();
    assert!(alone > 0);
    let tasks = (0..200).map(|_| array.read(&slice));
    for found in block_on(join_all(tasks)) {
        assert_eq!(found.unwrap().into_bytes(), expected);
    }
    let (together, _) = source.take();
    // On a busy machine a task may come too late for a round.
    assert!(together <= 4 * alone, "{together} requests, one alone makes {alone}");
}

#[test]
fn no_more_requests_at_a_time_than_agreed() {
    let content = noise(256 * common::CHUNK);
    let bytes = frame(&content, options());
    for limit in [8, ReadOptions::REQUESTS_IN_FLIGHT] {
        let source = Slow::new(bytes.clone());
        let options = ReadOptions::new().requests_in_flight(limit);
        let reader = block_on(options.open(Arc::clone(&source))).unwrap();
        source.take();
        let tasks = (0..200).map(|i| {
            let (reader, content) = (reader.clone(), &content);
            async move {
                let expected = &content[i * common::CHUNK..][..common::CHUNK];
                assert_eq!(reader.chunk(i as u64).await.unwrap(), expected);
            }
        });
        block_on(join_all(tasks));
        let (rounds, most) = source.take();
        assert_eq!(rounds, 200);
        assert!(most <= limit && (limit > 1 || most == 1), "{most} at a time");
    }
}

/// The future that fetches for all may be dropped: another one takes over, and the request ends with the last one.
#[test]
fn the_one_that_fetches_is_dropped() {
    let content = noise(64 * common::CHUNK);
    let bytes = frame(&content, options());
    let source = Slow::new(bytes);
    let reader = block_on(ReadOptions::new().requests_in_flight(1).open(Arc::clone(&source))).unwrap();
    source.take();
    let mut cx = Context::from_waker(futures::task::noop_waker_ref());
    for dropped in [0, 1, 7, 19] {
        let mut tasks: Vec<_> = (0..20).map(|_| Box::pin(reader.chunk(7))).collect();
        for task in &mut tasks {
            assert!(task.as_mut().poll(&mut cx).is_pending());
        }
        // The first one has the request.
        tasks.drain(..dropped);
        for found in block_on(join_all(tasks)) {
            assert_eq!(found.unwrap(), content[7 * common::CHUNK..8 * common::CHUNK]);
        }
        assert!(source.take().0 <= 2);
        assert_eq!(source.now.load(Ordering::SeqCst), 0);
    }
    // All of them dropped: the place is free again.
    let mut task = Box::pin(reader.chunk(7));
    assert!(task.as_mut().poll(&mut cx).is_pending());
    drop(task);
    assert_eq!(source.now.load(Ordering::SeqCst), 0);
    assert_eq!(block_on(reader.chunk(8)).unwrap(), content[8 * common::CHUNK..9 * common::CHUNK]);
}

#[test]
fn all_that_wait_are_told_what_failed_and_the_next_one_asks_anew() {
    let content = noise(64 * common::CHUNK);
    let source = Slow::new(frame(&content, options()));
    let reader = block_on(FrameReader::open(Arc::clone(&source))).unwrap();
    source.take();
    source.failing.store(1, Ordering::SeqCst);
    for found in block_on(join_all((0..50).map(|_| reader.chunk(3)))) {
        let error: ReadError = found.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Transient, true));
        assert!(oxiblosc_core::Chain(&error).to_string().contains("the cable is cut"));
    }
    assert_eq!(source.take().0, 1);
    assert_eq!(block_on(reader.chunk(3)).unwrap(), content[3 * common::CHUNK..4 * common::CHUNK]);
}

/// A stream that is not polled has requests in flight; others make progress all the same.
#[test]
fn streams_that_are_not_polled_hold_nobody_up() {
    let content = noise(64 * common::CHUNK);
    let source = Slow::new(frame(&content, options()));
    let options = ReadOptions::new().requests_in_flight(1).chunks_ahead(2);
    let reader = block_on(options.open(Arc::clone(&source))).unwrap();
    block_on(async {
        let mut streams: Vec<_> = (0..5).map(|i| reader.chunks_in(i * 4..i * 4 + 4).unwrap()).collect();
        for stream in &mut streams {
            assert!(stream.next().now_or_never().is_none(), "it has only begun");
        }
        assert_eq!(reader.chunk(50).await.unwrap(), content[50 * common::CHUNK..51 * common::CHUNK]);
        for (i, stream) in streams.into_iter().enumerate() {
            let chunks: Vec<Bytes> = stream.try_collect().await.unwrap();
            assert_eq!(chunks.concat(), content[i * 4 * common::CHUNK..(i + 1) * 4 * common::CHUNK]);
        }
    });
    assert!(source.take().1 <= 1);
}

/// What an HTTP server sees of it: of an object, each run of bytes is a request.
#[cfg(feature = "http")]
#[test]
fn requests_to_a_server() {
    let (content, frame) = array();
    let server = Server::start(frame);
    for limit in [2, 16] {
        let location = format!("http://127.0.0.1:{}/frame", server.port).parse::<String>().unwrap();
        let location = oxiblosc_streaming::location::Location::parse(&location).unwrap();
        let array = block_on(async {
            let source = location.source().await?;
            let reader = ReadOptions::new().requests_in_flight(limit).cache_bytes(0).open(source).await?;
            Ok::<_, io::Error>(NdArray::new(reader)?)
        });
        let array = array.unwrap();
        server.take();
        let tasks = (0..200).map(|task| {
            let (array, content) = (array.clone(), &content);
            async move {
                let row = (task * 7) % SIDE;
                let slice = Selection::axes([row as i64..row as i64 + 1, 0..SIDE as i64]);
                let found = array.read(&slice).await.unwrap().into_bytes();
                assert_eq!(found, content[4 * row * SIDE..4 * (row + 1) * SIDE]);
            }
        });
        block_on(join_all(tasks));
        let (_, most) = server.take();
        assert!(most <= limit, "{most} at a time");
        let slice = Selection::axes([100..103i64, 0..SIDE as i64]);
        block_on(array.read(&slice)).unwrap();
        let (alone, _) = server.take();
        server.finish_when_idle(join_all((0..200).map(|_| array.read(&slice))));
        assert_eq!(server.take().0, alone, "requests of 200 readers, and of one");
    }
}

struct Server {
    port: u16,
    state: Arc<Mutex<(usize, usize, usize)>>,
    gate: Arc<Gate>,
}

/// What keeps answers back.
#[derive(Default)]
struct Gate {
    /// Whether it is shut, and how often those who wait were let through.
    state: Mutex<(bool, u64)>,
    opened: Condvar,
}

impl Gate {
    fn set_shut(&self, shut: bool) {
        self.state.lock().unwrap().0 = shut;
        self.let_through();
    }

    fn let_through(&self) {
        self.state.lock().unwrap().1 += 1;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let state = self.state.lock().unwrap();
        let arrived = state.1;
        drop(self.opened.wait_while(state, |(shut, opened)| *shut && *opened == arrived).unwrap());
    }
}

/// Wakes a thread, and remembers it.
struct Woken {
    thread: thread::Thread,
    woken: AtomicBool,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Server {
    fn start(bytes: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (state, bytes) = (Arc::<Mutex<(usize, usize, usize)>>::default(), Arc::new(bytes));
        let shared = Arc::clone(&state);
        let gate = Arc::<Gate>::default();
        let gate_of_all = Arc::clone(&gate);
        // Ends with the test program.
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (shared, bytes, gate) = (Arc::clone(&shared), Arc::clone(&bytes), Arc::clone(&gate_of_all));
                thread::spawn(move || while answer(socket.as_ref().unwrap(), &shared, &gate, &bytes).is_some() {});
            }
        });
        Self { port, state, gate }
    }

    /// Drives `future` to its end. The server answers only while nothing can be polled: all tasks have asked by then,
    /// and how fast each of them runs makes no difference.
    fn finish_when_idle<F: Future>(&self, future: F) -> F::Output {
        let woken = Arc::new(Woken { thread: thread::current(), woken: AtomicBool::new(true) });
        let waker = Waker::from(Arc::clone(&woken));
        let mut future = pin!(future);
        self.gate.set_shut(true);
        let output = loop {
            while !woken.woken.swap(false, Ordering::SeqCst) {
                self.gate.let_through();
                thread::park_timeout(Duration::from_millis(1));
            }
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                break output;
            }
        };
        self.gate.set_shut(false);
        output
    }

    /// Requests, and the most of them at a time, since the last call.
    fn take(&self) -> (usize, usize) {
        let mut state = self.state.lock().unwrap();
        let found = (state.0, state.2);
        (state.0, state.2) = (0, 0);
        found
    }
}

fn answer(mut socket: &TcpStream, state: &Mutex<(usize, usize, usize)>, gate: &Gate, bytes: &[u8]) -> Option<()> {
    let mut lines = BufReader::new(socket).lines().map_while(Result::ok);
    lines.next()?;
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let range = head.iter().find_map(|line| {
        let (start, end) = line
            .to_ascii_lowercase()
            .strip_prefix("range: bytes=")?
            .split_once('-')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))?;
        Some(start.parse::<usize>().ok()?..end.parse::<usize>().ok()? + 1)
    })?;
    let range = range.start..range.end.min(bytes.len());
    {
        let mut state = state.lock().unwrap();
        state.0 += 1;
        state.1 += 1;
        state.2 = state.2.max(state.1);
    }
    gate.pass();
    thread::sleep(Duration::from_millis(1));
    state.lock().unwrap().1 -= 1;
    let (start, last, len) = (range.start, range.end - 1, range.len());
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Length: {len}\r\nETag: \"one\"\r\nLast-Modified: Fri, 20 Nov 2026 \
         10:00:00 GMT\r\nContent-Range: bytes {start}-{last}/{}\r\n\r\n",
        bytes.len()
    );
    socket.write_all(head.as_bytes()).ok()?;
    socket.write_all(&bytes[range]).ok()
}
