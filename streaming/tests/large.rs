//! Frames of tens of megabytes, with file operations on other threads: what a program does that changes nothing of the
//! defaults.

mod common;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use common::Random;
use futures::SinkExt;
use futures::io::{AsyncWrite, AsyncWriteExt, Cursor};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_streaming::target::{
    FileTarget, MemoryTarget, OpenTarget, Part, SeekTarget, SparseTarget, SpoolTarget, Target,
};
use oxiblosc_streaming::{ErrorKind, Pool, WriteError, WriteOptions, block_on, blocking};

const MIB: usize = 1 << 20;

/// Bytes that no codec makes smaller.
fn noise(len: usize) -> Vec<u8> {
    let mut random = Random::new(len as u64);
    let mut bytes = Vec::with_capacity(len + 4);
    while bytes.len() < len {
        bytes.extend_from_slice(&(random.below(1 << 31) as u32).rotate_left(16).to_le_bytes()[..3]);
    }
    bytes.truncate(len);
    bytes
}

/// Chunks that are stored, so that the time goes into moving bytes.
fn stored(chunk_size: usize) -> WriteOptions {
    let params = EncodeParams { level: 0, filters: FilterSlots::NONE, typesize: 1, ..EncodeParams::default() };
    WriteOptions::new(params).chunk_size(chunk_size)
}

fn assert_decodes(frame: Vec<u8>, expected: &[u8], what: &str) {
    let reader = blocking::FrameReader::from_bytes(frame).unwrap_or_else(|e| panic!("{what}: {e}"));
    let found = reader.bytes(0..reader.nbytes()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let differs = found.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!((found.len(), differs), (expected.len(), None), "{what}");
}

fn write<T: Target>(data: &[u8], options: WriteOptions, target: T) -> (T, u64) {
    let mut sink = options.sink(target).unwrap();
    let summary = block_on(async {
        sink.write_all(data).await.unwrap();
        sink.close().await.unwrap()
    });
    assert_eq!(summary.nbytes, data.len() as u64);
    (sink.into_target(), summary.frame_len)
}

#[test]
fn spooled_frames_are_whole() {
    let data = noise(20 * MIB + 12_345);
    // Around the 256 KiB up to which files gather what they are given, and far from them.
    for chunk_size in [64 << 10, (256 << 10) - 33, (256 << 10) - 32, 256 << 10, (256 << 10) + 1, MIB, 4 * MIB] {
        for limit in [0, SpoolTarget::<()>::MEMORY_LIMIT] {
            let target = SpoolTarget::new(Vec::new()).memory_limit(limit);
            let (target, frame_len) = write(&data, stored(chunk_size), target);
            let frame = target.into_inner();
            assert_eq!(frame.len() as u64, frame_len, "chunks of {chunk_size}, spooled above {limit}");
            assert_decodes(frame, &data, &format!("chunks of {chunk_size}, spooled above {limit}"));
        }
    }
}

#[test]
fn spooled_frames_are_whole_with_every_default() {
    let data = noise(64 * MIB + 1);
    let mut sink = WriteOptions::default().spooled(Vec::new()).unwrap();
    let summary = block_on(async {
        sink.send(Bytes::from(data.clone())).await.unwrap();
        sink.close().await.unwrap()
    });
    let frame = sink.into_target().into_inner();
    assert_eq!(frame.len() as u64, summary.frame_len);
    assert_decodes(frame, &data, "with every default");
}

/// Without threads everything is done in the polls, which give the thread back after some work: at whatever point, the rest
/// is done in the next one.
#[test]
fn the_short_last_chunk_arrives_wherever_a_poll_ends() {
    for chunk_size in [100_000, 128 << 10, 250_000, 512 << 10, 600_000] {
        for chunks in 0..5 {
            for rest in [0, 1, 50_000, chunk_size - 1] {
                let data = noise(chunks * chunk_size + rest);
                let what = format!("{chunks} chunks of {chunk_size} and {rest} bytes");
                for pool in [Pool::inline(), Pool::new(1)] {
                    let target = MemoryTarget::new().inline();
                    let (target, _) = write(&data, stored(chunk_size).pool(&pool), target);
                    assert_decodes(target.into_bytes(), &data, &what);
                }
            }
        }
    }
}

#[test]
fn nothing_is_held_after_a_flush_and_as_much_may_be_in_flight_as_before() {
    const CHUNKS: usize = 6;
    let directory = tempfile::tempdir().unwrap();
    for chunk_size in [64 << 10, 256 << 10, MIB, 4 * MIB] {
        let path = directory.path().join("data.b2frame");
        let options = stored(chunk_size).chunks_in_flight(CHUNKS).bytes_in_flight(usize::MAX).pool(&Pool::new(2));
        let mut sink = options.sink(FileTarget::create(&path).unwrap()).unwrap();
        let data = noise(32 * MIB / chunk_size * chunk_size);
        for part in data.chunks(8 * MIB) {
            block_on(async {
                sink.write_all(part).await.unwrap();
                sink.flush().await.unwrap();
            });
            assert_eq!(sink.held_bytes(), 0, "chunks of {chunk_size}");
        }
        // None of them has been passed on before the sink is polled again: all that may be in flight fits.
        let mut cx = Context::from_waker(Waker::noop());
        let mut taken = 0;
        while taken < CHUNKS * chunk_size {
            match Pin::new(&mut sink).poll_write(&mut cx, &data[taken..CHUNKS * chunk_size]) {
                Poll::Ready(n) => taken += n.unwrap(),
                Poll::Pending => std::thread::yield_now(),
            }
        }
        block_on(sink.close()).unwrap();
        let mut expected = data.clone();
        expected.extend_from_slice(&data[..taken]);
        assert_decodes(std::fs::read(&path).unwrap(), &expected, &format!("chunks of {chunk_size}"));
    }
}

/// What a target that breaks its contract does.
#[derive(Debug, Clone, Copy)]
enum Fault {
    TakesAndWaits,
    TakesAndFails,
    GivesMoreBack,
}

/// Does one wrong thing once.
struct Wrong {
    inner: MemoryTarget,
    fault: Option<Fault>,
}

impl Target for Wrong {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        if !matches!(part, Part::Chunk(2)) {
            return self.inner.poll_append(cx, part, bytes);
        }
        cx.waker().wake_by_ref();
        match self.fault.take() {
            None => self.inner.poll_append(cx, part, bytes),
            Some(Fault::GivesMoreBack) => {
                *bytes = [&bytes[..], &bytes[..]].concat().into();
                Poll::Ready(Ok(()))
            }
            Some(fault) => {
                let mut some = bytes.split_to(bytes.len() / 2);
                let _ = self.inner.poll_append(cx, part, &mut some);
                match fault {
                    Fault::TakesAndWaits => Poll::Pending,
                    _ => Poll::Ready(Err(io::Error::other("disk full"))),
                }
            }
        }
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

#[test]
fn a_target_that_breaks_its_contract_is_an_error_that_stays() {
    for fault in [Fault::TakesAndWaits, Fault::TakesAndFails, Fault::GivesMoreBack] {
        let target = Wrong { inner: MemoryTarget::new(), fault: Some(fault) };
        let mut sink = stored(1000).sink(target).unwrap();
        block_on(async {
            let written = sink.write_all(&noise(10_000)).await;
            let errors = [sink.flush().await.unwrap_err(), sink.close().await.unwrap_err()];
            for error in &errors {
                assert!(matches!(error, WriteError::TargetContract { .. }), "{fault:?}: {error}");
                assert!(!error.is_retryable());
            }
            drop(written);
        });
    }
}

#[test]
fn a_frame_that_lacks_bytes_is_not_made_final() {
    fn commit<T: Target>(mut target: T, header: &Bytes, body: &[u8]) -> io::Result<T> {
        let mut bytes = Bytes::copy_from_slice(body);
        block_on(async {
            poll_fn(|cx| target.poll_append(cx, Part::Header, &mut header.clone())).await?;
            while !bytes.is_empty() {
                poll_fn(|cx| target.poll_append(cx, Part::Tail, &mut bytes)).await?;
            }
            poll_fn(|cx| target.poll_commit(cx, header)).await
        })?;
        Ok(target)
    }
    let frame = common::frame(&noise(5000), stored(1000));
    let header_len = u32::from_be_bytes(frame[11..15].try_into().unwrap()) as usize;
    let (header, body) = (Bytes::copy_from_slice(&frame[..header_len]), &frame[header_len..]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.b2frame");
    let longer = [body, b"x"].concat();
    for (body, whole) in [(body, true), (&body[1..], false), (&longer, false)] {
        let seek = commit(SeekTarget::new(Cursor::new(Vec::new())), &header, body);
        assert_eq!(seek.is_ok(), whole);
        assert_eq!(commit(MemoryTarget::new(), &header, body).is_ok(), whole);
        assert_eq!(commit(OpenTarget::new(Vec::new()), &header, body).is_ok(), whole);
        for limit in [0, usize::MAX] {
            let spool = commit(SpoolTarget::new(Vec::new()).memory_limit(limit), &header, body);
            assert_eq!(spool.is_ok(), whole);
        }
        let file = commit(FileTarget::create(&path).unwrap(), &header, body);
        assert_eq!((file.is_ok(), path.exists()), (whole, whole), "{:?}", file.err());
        if whole {
            assert_eq!(std::fs::read(&path).unwrap(), frame);
            std::fs::remove_file(&path).unwrap();
        }
    }
}

#[cfg(feature = "object_store")]
#[test]
fn an_object_that_lacks_bytes_is_not_made_final() {
    use object_store::{ObjectStoreExt, memory::InMemory};
    use oxiblosc_streaming::target::ObjectTarget;

    let frame = common::frame(&noise(5000), stored(1000));
    let header_len = u32::from_be_bytes(frame[11..15].try_into().unwrap()) as usize;
    let header = Bytes::copy_from_slice(&frame[..header_len]);
    let store = std::sync::Arc::new(InMemory::new());
    let targets =
        [ObjectTarget::with_multipart(store.clone(), "data.b2frame"), ObjectTarget::new(store.clone(), "data.b2frame")];
    for mut target in targets {
        block_on(async {
            poll_fn(|cx| target.poll_append(cx, Part::Header, &mut header.clone())).await.unwrap();
            poll_fn(|cx| target.poll_append(cx, Part::Tail, &mut Bytes::from_static(b"too few"))).await.unwrap();
            assert!(poll_fn(|cx| target.poll_commit(cx, &header)).await.is_err());
            assert!(store.head(&"data.b2frame".into()).await.is_err());
        });
    }
}

/// Each reader has the chunks of its own commit or says that they are gone, whatever the editor does meanwhile.
#[test]
fn a_directory_is_read_while_it_is_edited() {
    const CHUNKS: usize = 16;
    const SIZE: usize = 4 * MIB;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let seed = noise(SIZE + CHUNKS * 8);
    // Chunk `i` of commit `n`: other bytes in every one.
    let chunk = |i: usize, commit: usize| {
        let mut bytes = seed[i * 8..i * 8 + SIZE].to_vec();
        bytes[..8].copy_from_slice(&((commit * CHUNKS + i) as u64).to_le_bytes());
        bytes
    };
    let mut writer = blocking::FrameWriter::with_target(SparseTarget::create(&path).unwrap(), stored(SIZE)).unwrap();
    for i in 0..CHUNKS {
        io::Write::write_all(&mut writer, &chunk(i, 0)).unwrap();
    }
    writer.finish().unwrap();
    let (kept, gone, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for start in [0, 7] {
            let (path, chunk, kept, gone, done) = (&path, &chunk, &kept, &gone, &done);
            scope.spawn(move || {
                let mut last = 0;
                while !done.load(Relaxed) {
                    let reader = blocking::FrameReader::open(path).unwrap();
                    let mut commit = None;
                    for i in (0..CHUNKS).map(|i| (i + start) % CHUNKS) {
                        match reader.chunk(i as u64) {
                            Ok(found) => {
                                let number = u64::from_le_bytes(found[..8].try_into().unwrap()) as usize;
                                assert_eq!(number % CHUNKS, i);
                                let of = *commit.get_or_insert(number / CHUNKS);
                                assert!(of >= last && found == chunk(i, of), "chunk {i} of another commit");
                                last = of;
                                kept.fetch_add(1, Relaxed);
                            }
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::Replaced, "{error:?}");
                                gone.fetch_add(1, Relaxed);
                            }
                        }
                    }
                }
            });
        }
        let mut editor = blocking::FrameEditor::open(&path).unwrap();
        for commit in 1..=12 {
            for i in 0..CHUNKS {
                editor.update(i as u64, &chunk(i, commit)).unwrap();
            }
            editor.commit().unwrap();
        }
        done.store(true, Relaxed);
    });
    let (kept, gone) = (kept.into_inner(), gone.into_inner());
    assert!(kept > 0, "{kept} chunks were read, {gone} were gone");
    let reader = blocking::FrameReader::open(&path).unwrap();
    let expected: Vec<u8> = (0..CHUNKS).flat_map(|i| chunk(i, 12)).collect();
    assert!(reader.bytes(0..reader.nbytes()).unwrap() == expected);
}
