//! Frames read front to back.

mod common;

use common::{CHUNK, data, frame, lengths, options};
use futures::TryStreamExt;
use futures::io::{AsyncReadExt, Cursor};
use oxiblosc_core::frame::{FrameError, SpecialPlacement};
use oxiblosc_streaming::{ChecksumPolicy, FrameStream, Pool, ReadError, ReadOptions, block_on, blocking};

/// The chunks of a frame, and whether they were decoded as they came.
fn read(bytes: &[u8], options: ReadOptions) -> Result<(Vec<u8>, bool), ReadError> {
    block_on(async {
        let mut stream = options.stream(Cursor::new(bytes.to_vec())).await?;
        let immediate = stream.is_immediate();
        let mut chunks = Vec::new();
        while let Some(chunk) = stream.try_next().await? {
            chunks.extend_from_slice(&chunk);
        }
        assert!(stream.frame().is_some());
        assert!(stream.try_next().await?.is_none(), "the end stays the end");
        Ok((chunks, immediate))
    })
}

fn plain() -> ReadOptions {
    ReadOptions::new().pool(&Pool::new(2))
}

#[test]
fn with_and_without_a_promise() {
    for len in lengths() {
        let content = data(len);
        let promised = frame(&content, options().sequential(true).checksums(true));
        let checked = plain().checksums(ChecksumPolicy::Require);
        assert_eq!(read(&promised, checked).unwrap(), (content.clone(), true), "{len}");
        let other = frame(&content, options());
        for memory in [0, other.len() - 1, other.len(), usize::MAX] {
            let found = read(&other, plain().spool_memory(memory)).unwrap();
            assert_eq!(found, (content.clone(), false), "{len}, {memory}");
        }
        let stored = frame(&content, options().special(SpecialPlacement::Stored));
        assert_eq!(read(&stored, plain().trust_order(true)).unwrap(), (content, true), "{len}");
    }
}

#[test]
fn nothing_behind_the_frame_is_taken() {
    for sequential in [false, true] {
        let mut bytes = frame(&data(3 * CHUNK + 5), options().sequential(sequential));
        let len = bytes.len();
        bytes.extend_from_slice(b"more");
        let cursor = futures::io::AllowStdIo::new(std::io::Cursor::new(bytes));
        block_on(async {
            // The reader is lent for one stream and looked at afterwards.
            let (reader, position) = Counted::new(cursor);
            let stream = plain().stream(reader).await.unwrap();
            stream.try_collect::<Vec<_>>().await.unwrap();
            assert_eq!(position.load(std::sync::atomic::Ordering::SeqCst), len);
        });
    }
}

struct Counted<R>(R, std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl<R> Counted<R> {
    fn new(reader: R) -> (Self, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
        let count = std::sync::Arc::default();
        (Self(reader, std::sync::Arc::clone(&count)), count)
    }
}

impl<R: futures::AsyncRead + Unpin> futures::AsyncRead for Counted<R> {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &mut [u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        let read = std::task::ready!(std::pin::Pin::new(&mut self.0).poll_read(cx, buf))?;
        self.1.fetch_add(read, std::sync::atomic::Ordering::SeqCst);
        std::task::Poll::Ready(Ok(read))
    }
}

#[test]
fn a_broken_promise_is_told() {
    let content = data(6 * CHUNK);
    // Edited by software that knows of promises or not: the lengths differ, and the order is not relied on.
    let mut editor = blocking::FrameEditor::from_bytes(frame(&content, options().sequential(true))).unwrap();
    editor.reorder(&[5, 4, 3, 2, 1, 0]).unwrap();
    editor.commit().unwrap();
    let edited = editor.frame_bytes().unwrap();
    let expected: Vec<u8> = content.chunks(CHUNK).rev().flatten().copied().collect();
    assert_eq!(read(&edited, plain()).unwrap(), (expected, false));
    // Trusted all the same, it is found out at the end.
    let error = read(&edited, plain().trust_order(true)).unwrap_err();
    assert!(matches!(error, ReadError::OutOfOrder { .. } | ReadError::Frame(_) | ReadError::Decode { .. }), "{error}");
    // Chunks of zeros that are in the index alone.
    let error = read(&frame(&content, options()), plain().trust_order(true)).unwrap_err();
    assert!(matches!(error, ReadError::Frame(FrameError::ChunkLen { .. }) | ReadError::OutOfOrder { .. }), "{error}");
}

#[test]
fn every_truncation_and_every_flipped_bit_ends() {
    let content = data(2 * CHUNK + 100);
    let good = frame(&content, options().sequential(true).checksums(true).fingerprint(Some(Default::default())));
    let pool = Pool::new(1);
    let options = || ReadOptions::new().pool(&pool).checksums(ChecksumPolicy::Require);
    for len in (0..good.len()).step_by(7) {
        assert!(read(&good[..len], options()).is_err(), "{len}");
    }
    for bit in (0..8 * good.len()).step_by(11) {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        // The fingerprint takes two passes over the header, which a stream does not make.
        let behind = bit / 8 >= good.len() - 18;
        if let Ok(found) = read(&bad, options()) {
            assert!(behind && found.0 == content, "bit {bit}");
        }
    }
}

#[test]
fn as_bytes() {
    let content = data(4 * CHUNK + 1);
    let bytes = frame(&content, options().sequential(true));
    let found = block_on(async {
        let stream = FrameStream::open(Cursor::new(bytes)).await.unwrap();
        let mut reader = stream.map_err(std::io::Error::from).into_async_read();
        let mut all = Vec::new();
        reader.read_to_end(&mut all).await.unwrap();
        all
    });
    assert_eq!(found, content);
}
