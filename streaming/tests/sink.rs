//! Writing: all ways in, all ways out, and everything that can go wrong between.

mod common;

use std::fs;
use std::future::poll_fn;
use std::io::{self, Cursor};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use common::{CHUNK, Flaky, Mood, Random, data, decoded, frame, lengths, options, poll_and_drop};
use futures::io::{AsyncWrite, AsyncWriteExt};
use futures::{Sink, SinkExt, StreamExt, TryStreamExt, stream};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{Chain, CodecId, FilterId};
use oxiblosc_streaming::target::{FileTarget, MemoryTarget, Part, SeekTarget, SpoolTarget, Target};
use oxiblosc_streaming::{FrameSink, IoMode, Pool, ReadOptions, WriteError, WriteOptions, block_on, blocking};

#[test]
fn frames_decode_to_what_went_in() {
    for len in lengths() {
        let data = data(len);
        let frame = frame(&data, options());
        assert_eq!(decoded(&frame), data, "{len} bytes");
    }
}

#[test]
fn every_way_in_and_every_pool_gives_the_same_frame() {
    for len in lengths() {
        let data = data(len);
        let expected = frame(&data, options());
        for threads in [0, 1, 3] {
            let pool = Pool::new(threads);
            for piece in [1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, usize::MAX] {
                if piece == 1 && len > 3 * CHUNK {
                    continue;
                }
                let pieces = || data.chunks(piece.min(len.max(1)));
                let mut sink = options().pool(&pool).in_memory().unwrap();
                block_on(async {
                    for bytes in pieces() {
                        sink.feed(Bytes::copy_from_slice(bytes)).await.unwrap();
                    }
                    let summary = sink.close().await.unwrap();
                    assert_eq!(summary.nbytes, len as u64);
                    assert_eq!(summary.chunks, len.div_ceil(CHUNK) as u64);
                    assert_eq!(summary.frame_len, expected.len() as u64);
                });
                assert_eq!(sink.into_target().into_bytes(), expected, "{len} bytes as Sink, {piece}, {threads}");

                let mut sink = options().pool(&pool).in_memory().unwrap();
                block_on(async {
                    for bytes in pieces() {
                        sink.write_all(bytes).await.unwrap();
                    }
                    AsyncWriteExt::close(&mut sink).await.unwrap();
                });
                assert_eq!(sink.into_target().into_bytes(), expected, "{len} bytes as AsyncWrite, {piece}, {threads}");
            }
        }
    }
}

/// Pieces as they come from files and sockets, some of which are shared and some copied, make chunks of several blocks.
#[test]
fn large_pieces_of_any_length_give_the_same_frame() {
    let data = Bytes::from(data(5_000_003));
    let filters = FilterSlots::from_list(&[(FilterId::DELTA, 0), (FilterId::SHUFFLE, 0)]).unwrap();
    for (codec, filters, level, use_dict, typesize, chunk_size) in [
        (CodecId::LZ4, FilterSlots::SHUFFLE, 5, false, 4, 2 << 20),
        (CodecId::ZSTD, FilterSlots::NONE, 1, false, 1, 1 << 20),
        (CodecId::ZSTD, FilterSlots::SHUFFLE, 3, true, 8, 1_000_000),
        (CodecId::BLOSCLZ, filters, 5, false, 4, 2 << 20),
        (CodecId::LZ4, FilterSlots::SHUFFLE, 0, false, 4, 300_000),
    ] {
        let params = EncodeParams { codec, filters, level, use_dict, typesize, ..EncodeParams::default() };
        let options = || WriteOptions::new(params.clone()).chunk_size(chunk_size);
        let expected = frame(&data, options());
        assert_eq!(decoded(&expected), data);
        for pool in [Pool::inline(), Pool::new(2)] {
            for piece in [4 << 10, 64 << 10, 100_000, 1 << 20, 3_000_001] {
                let mut writer = blocking::FrameWriter::in_memory(options().pool(&pool)).unwrap();
                for start in (0..data.len()).step_by(piece) {
                    writer.push(data.slice(start..data.len().min(start + piece))).unwrap();
                }
                writer.finish().unwrap();
                assert!(writer.into_bytes() == expected, "pieces of {piece}, {params:?}");
            }
        }
    }
}

#[test]
fn a_stream_can_be_forwarded() {
    let data = data(10 * CHUNK + 5);
    let pieces: Vec<_> = data.chunks(1000).map(|piece| Ok::<_, WriteError>(Bytes::copy_from_slice(piece))).collect();
    let mut sink = options().in_memory().unwrap();
    block_on(stream::iter(pieces).forward(&mut sink)).unwrap();
    assert_eq!(sink.summary().unwrap().nbytes, data.len() as u64);
    assert_eq!(sink.into_target().into_bytes(), frame(&data, options()));
}

#[test]
fn many_chunk_and_flight_sizes() {
    let data = data(9 * CHUNK + 17);
    for chunk_size in [4, 8, 1000, 4096, 1 << 20] {
        let expected = frame(&data, options().chunk_size(chunk_size));
        for (chunks, bytes) in [(1, 0), (1, usize::MAX), (2, 10_000), (50, 1)] {
            let options = options().chunk_size(chunk_size).chunks_in_flight(chunks).bytes_in_flight(bytes);
            let mut sink = options.pool(&Pool::new(2)).in_memory().unwrap();
            block_on(async {
                sink.feed(data.clone().into()).await.unwrap();
                sink.close().await.unwrap();
            });
            assert_eq!(sink.into_target().into_bytes(), expected);
        }
    }
}

#[test]
fn chunk_sizes_that_cannot_be() {
    for size in [0, 3, 5, i32::MAX as usize / 4 * 4] {
        let error = options().chunk_size(size).in_memory().unwrap_err();
        assert!(matches!(error, WriteError::ChunkSize { .. }), "{size}: {error}");
    }
    let wide = EncodeParams { typesize: 5 << 20, ..EncodeParams::default() };
    assert_eq!(WriteOptions::new(wide).in_memory().unwrap().chunk_size(), 5 << 20);
    let odd = EncodeParams { typesize: 3, ..EncodeParams::default() };
    assert_eq!(WriteOptions::new(odd).in_memory().unwrap().chunk_size(), (4 << 20) - 1);
}

/// Writes `data` with everything that can fail tried again, futures dropped after `polls` polls.
fn stubborn<T: Target>(mut sink: FrameSink<T>, data: &[u8], polls: usize, random: &mut Random) -> (FrameSink<T>, u32) {
    let mut failures = 0;
    let mut rest = data;
    while !rest.is_empty() {
        match random.below(3) {
            0 => {
                let piece = &rest[..rest.len().min(1 + random.below(3 * CHUNK as u64) as usize)];
                match poll_and_drop(polls, sink.write(piece)) {
                    Some(Ok(n)) => rest = &rest[n..],
                    Some(Err(_)) => failures += 1,
                    None => {}
                }
            }
            1 => match poll_and_drop(polls, poll_fn(|cx| Pin::new(&mut sink).poll_ready(cx))) {
                Some(Ok(())) => {
                    let n = rest.len().min(1 + random.below(3 * CHUNK as u64) as usize);
                    Pin::new(&mut sink).start_send(Bytes::copy_from_slice(&rest[..n])).unwrap();
                    rest = &rest[n..];
                }
                Some(Err(_)) => failures += 1,
                None => {}
            },
            _ => {
                if let Some(Err(error)) = poll_and_drop(polls, sink.flush()) {
                    assert!(error.is_retryable());
                    failures += 1;
                }
            }
        }
    }
    let summary = loop {
        match poll_and_drop(polls, sink.close()) {
            Some(Ok(summary)) => break summary,
            Some(Err(error)) => {
                assert!(error.is_retryable());
                failures += 1;
            }
            None => {}
        }
    };
    assert_eq!(summary.nbytes, data.len() as u64);
    // Closing again changes nothing.
    assert_eq!(block_on(sink.close()).unwrap(), summary);
    (sink, failures)
}

#[test]
fn futures_may_be_dropped_at_any_poll() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let data = data(random.below(8 * CHUNK as u64) as usize);
        let expected = frame(&data, options());
        let mood = Mood { pending: 2, most: 700, ..Mood::GOOD };
        let pool = Pool::new([0, 2][seed as usize % 2]);
        for polls in [1, 2, 5] {
            let before = &b"before"[..random.below(7) as usize];
            let writer = Flaky::new(before, mood.clone(), seed);
            let sink = options().pool(&pool).seekable(writer.clone()).unwrap();
            stubborn(sink, &data, polls, &mut random);
            assert_eq!(writer.bytes(), [before, &expected].concat(), "seed {seed}");
            assert_eq!(writer.position(), before.len() + expected.len());
            assert!(writer.is_closed());

            let writer = Flaky::new(before, mood.clone(), seed);
            let limit = [0, 5000, usize::MAX][seed as usize % 3];
            let target = SpoolTarget::new(writer.clone()).memory_limit(limit);
            stubborn(options().pool(&pool).sink(target).unwrap(), &data, polls, &mut random);
            assert_eq!(writer.bytes(), [before, &expected].concat(), "seed {seed}, spooled above {limit}");
        }
    }
}

#[test]
fn every_call_may_fail_once_and_be_tried_again() {
    let data = data(3 * CHUNK + 100);
    let expected = frame(&data, options());
    for moves_on_failure in [false, true] {
        for spooled in [false, true] {
            let run = |fails_at: std::ops::Range<u64>| {
                let mood = Mood { pending: 3, most: 3000, fails_at, moves_on_failure: moves_on_failure && !spooled };
                let writer = Flaky::new(b"x", mood, 5);
                let pool = Pool::inline();
                let mut random = Random::new(1);
                let failures = if spooled {
                    let sink = options().pool(&pool).spooled(writer.clone()).unwrap();
                    stubborn(sink, &data, 3, &mut random).1
                } else {
                    let sink = options().pool(&pool).seekable(writer.clone()).unwrap();
                    stubborn(sink, &data, 3, &mut random).1
                };
                assert_eq!(&writer.bytes()[1..], expected);
                assert!(writer.is_closed());
                (writer.calls(), failures)
            };
            let (calls, failures) = run(0..0);
            assert_eq!(failures, 0);
            for call in 0..calls {
                assert_eq!(run(call..call + 1).1, 1, "call {call} of {calls}");
                assert_eq!(run(call..call + 3).1, 3, "calls {call}..+3 of {calls}");
            }
        }
    }
}

/// A writer that accepts bytes and fails later, having lost them, as files of async runtimes do.
struct Forgetful {
    cursor: futures::io::Cursor<Vec<u8>>,
    lose: Option<u64>,
}

impl AsyncWrite for Forgetful {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.lose {
            Some(at) if self.cursor.position() >= at => Poll::Ready(Ok(buf.len())),
            _ => Pin::new(&mut self.cursor).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let failed = self.lose.take().is_some();
        Poll::Ready(if failed { Err(io::Error::other("disk full")) } else { Ok(()) })
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl futures::io::AsyncSeek for Forgetful {
    fn poll_seek(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: io::SeekFrom) -> Poll<io::Result<u64>> {
        Pin::new(&mut self.cursor).poll_seek(cx, to)
    }
}

#[test]
fn bytes_lost_by_the_writer_are_noticed() {
    let writer = Forgetful { cursor: futures::io::Cursor::new(Vec::new()), lose: Some(5000) };
    let mut sink = options().seekable(writer).unwrap();
    block_on(async {
        sink.write_all(&data(9 * CHUNK)).await.unwrap();
        assert!(Chain(&sink.close().await.unwrap_err()).to_string().contains("disk full"));
        for _ in 0..3 {
            let error = sink.close().await.unwrap_err();
            assert!(Chain(&error).to_string().contains("lost"), "{error}");
        }
    });
}

#[test]
fn a_file_in_append_mode_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let file = fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let mut writer = blocking::FrameWriter::new(file, options()).unwrap();
    io::Write::write_all(&mut writer, &data(100)).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(Chain(&error).to_string().contains("append mode"), "{error}");
}

#[test]
fn back_pressure_waits_for_the_target() {
    /// Accepts nothing until it is opened.
    #[derive(Default)]
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
    let mut random = Random::new(1);
    let data: Vec<u8> = (0..100 * CHUNK).map(|_| random.below(256) as u8).collect();
    for (chunks, bytes, expected) in [(5, usize::MAX, 5), (100, 8 * CHUNK, 4), (100, 0, 1), (1, 0, 1)] {
        for threads in [0, 2] {
            let options = options().chunks_in_flight(chunks).bytes_in_flight(bytes).pool(&Pool::new(threads));
            let mut sink = options.sink(Gate::default()).unwrap();
            let mut cx = Context::from_waker(Waker::noop());
            let mut rest = &data[..];
            let mut idle = 0;
            while idle < 50 {
                match Pin::new(&mut sink).poll_write(&mut cx, rest) {
                    Poll::Ready(n) => rest = &rest[n.unwrap()..],
                    Poll::Pending => {
                        idle += 1;
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                }
            }
            let taken = (data.len() - rest.len()) / CHUNK;
            // The chunk being gathered comes on top; an encoded chunk takes half of what one in work may.
            assert!((expected + 1..=2 * expected + 1).contains(&taken), "{taken} chunks for {expected}");
            assert!(sink.held_bytes() <= (2 * expected + 2) * CHUNK, "{} bytes", sink.held_bytes());
            let Poll::Pending = Pin::new(&mut sink).poll_ready(&mut cx) else { panic!("ready while full") };
        }
    }
}

#[test]
fn a_closed_sink_takes_nothing() {
    block_on(async {
        let mut sink = options().in_memory().unwrap();
        sink.write_all(b"abc").await.unwrap();
        let summary = sink.finish().await.unwrap();
        assert_eq!(sink.finish().await.unwrap(), summary);
        assert_eq!(sink.summary(), Some(summary));
        assert!(sink.write(b"more").await.is_err());
        assert!(matches!(sink.feed(Bytes::from_static(b"more")).await, Err(WriteError::Closed)));
        assert!(matches!(sink.set_vlmetalayer("name", b"late"), Err(WriteError::Closed)));
        sink.flush().await.unwrap();
        assert_eq!(sink.close().await.unwrap(), summary);
        sink.abort().await.unwrap();
        assert_eq!(sink.close().await.unwrap(), summary);

        let mut sink = options().in_memory().unwrap();
        sink.abort().await.unwrap();
        assert!(matches!(sink.close().await, Err(WriteError::Closed)));
        assert!(sink.write(b"more").await.is_err());
    });
}

#[test]
fn finish_leaves_the_writer_open() {
    let writer = Flaky::new(b"", Mood::GOOD, 1);
    let mut sink = options().seekable(writer.clone()).unwrap();
    block_on(async {
        sink.write_all(&data(100)).await.unwrap();
        sink.finish().await.unwrap();
        assert!(!writer.is_closed());
        assert_eq!(decoded(&writer.bytes()), data(100));
        let mut writer = sink.into_target().into_inner();
        writer.write_all(b"and more").await.unwrap();
    });
    assert!(writer.bytes().ends_with(b"and more"));
}

#[test]
fn without_close_no_reader_takes_the_frame() {
    let mut sink = options().in_memory().unwrap();
    block_on(async {
        sink.write_all(&data(10 * CHUNK)).await.unwrap();
        sink.flush().await.unwrap();
    });
    let bytes = sink.into_target().into_bytes();
    assert!(bytes.len() > 2 * CHUNK);
    assert!(blocking::FrameReader::from_bytes(bytes).is_err());
}

#[test]
fn files_appear_when_they_are_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.b2frame");
    let entries = || fs::read_dir(directory.path()).unwrap().count();
    let data = data(300 * CHUNK + 3);
    for mode in [IoMode::Inline, IoMode::Offloaded] {
        for durable in [false, true] {
            // Dropped: nothing stays.
            let target = || FileTarget::create(&path).unwrap().io_mode(mode).durable(durable);
            let mut sink = options().sink(target()).unwrap();
            block_on(sink.write_all(&data)).unwrap();
            assert!(!path.exists());
            drop(sink);
            assert_eq!(entries(), 0);

            // Aborted: the same.
            let mut sink = options().sink(target()).unwrap();
            block_on(async {
                sink.write_all(&data).await.unwrap();
                sink.abort().await.unwrap();
            });
            assert_eq!(entries(), 0);

            // Complete: what was there is replaced.
            fs::write(&path, "something else").unwrap();
            let mut sink = options().sink(target()).unwrap();
            block_on(async {
                sink.write_all(&data).await.unwrap();
                assert_eq!(fs::read(&path).unwrap(), b"something else");
                sink.close().await.unwrap();
            });
            assert_eq!(entries(), 1);
            assert_eq!(fs::read(&path).unwrap(), frame(&data, options()));
            fs::remove_file(&path).unwrap();

            // In place: there from the start, but no frame yet.
            let mut sink = options().sink(FileTarget::in_place(&path).unwrap().io_mode(mode)).unwrap();
            block_on(async {
                sink.write_all(&data).await.unwrap();
                sink.flush().await.unwrap();
                assert!(blocking::FrameReader::open(&path).is_err());
                sink.close().await.unwrap();
            });
            assert_eq!(fs::read(&path).unwrap(), frame(&data, options().sequential(true)));
            fs::remove_file(&path).unwrap();
        }
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_are_not_replaced() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    fs::write(&real, "old").unwrap();
    symlink(&real, &link).unwrap();
    let mut writer = blocking::FrameWriter::create(&link, options()).unwrap();
    writer.finish().unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read(&real).unwrap(), frame(&[], options()));

    // Readable by those whom the umask lets.
    let ordinary = directory.path().join("ordinary");
    fs::write(&ordinary, "").unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&real), mode(&ordinary));

    // A link to nothing leads to where the frame is made.
    let (nothing, link) = (directory.path().join("nothing"), directory.path().join("loose"));
    symlink("nothing", &link).unwrap();
    blocking::FrameWriter::create(&link, options()).unwrap().finish().unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read(&nothing).unwrap(), frame(&[], options()));
    let circle = directory.path().join("circle");
    symlink("circle", &circle).unwrap();
    assert!(FileTarget::create(&circle).is_err());

    assert!(FileTarget::create("/dev/null").unwrap_err().to_string().contains("not a regular file"));
    assert!(FileTarget::create(directory.path()).is_err());
    assert!(FileTarget::create(directory.path().join("no/such/directory")).is_err());
}

#[test]
fn the_disk_may_be_full() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut writer = blocking::FrameWriter::spooled(full, options()).unwrap();
    io::Write::write_all(&mut writer, &data(100)).unwrap();
    for _ in 0..2 {
        let error = writer.finish().unwrap_err();
        assert!(error.is_resumable(), "{error}");
    }
}

#[test]
fn blocking_writers_write_the_same() {
    let data = data(20 * CHUNK + 1);
    let expected = frame(&data, options());

    let mut cursor = Cursor::new(b"before".to_vec());
    cursor.set_position(6);
    let mut writer = blocking::FrameWriter::new(cursor, options()).unwrap();
    writer.push(data.clone().into()).unwrap();
    assert_eq!(writer.finish().unwrap().nbytes, data.len() as u64);
    assert_eq!(&writer.into_inner().into_inner()[6..], expected);

    let mut writer = blocking::FrameWriter::spooled(Vec::new(), options()).unwrap();
    io::copy(&mut &data[..], &mut writer).unwrap();
    writer.finish().unwrap();
    assert_eq!(writer.into_inner(), expected);
}

#[test]
fn targets_in_memory_and_seekable_agree_with_tokio_files() {
    // A seekable writer of another runtime, by way of the blocking crate.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let data = data(50 * CHUNK);
    let file = blocking_crate(&path);
    let mut sink = options().sink(SeekTarget::new(file)).unwrap();
    block_on(async {
        sink.write_all(&data).await.unwrap();
        sink.close().await.unwrap();
    });
    assert_eq!(fs::read(&path).unwrap(), frame(&data, options()));
}

fn blocking_crate(path: &std::path::Path) -> ::blocking::Unblock<fs::File> {
    ::blocking::Unblock::new(fs::File::create(path).unwrap())
}

#[test]
fn a_rename_that_fails_can_be_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.b2frame");
    let mut writer = blocking::FrameWriter::create(&path, options()).unwrap();
    io::Write::write_all(&mut writer, &data(3 * CHUNK)).unwrap();
    // Someone puts something there that cannot be replaced.
    fs::create_dir_all(path.join("occupied")).unwrap();
    for _ in 0..2 {
        assert!(writer.finish().unwrap_err().is_resumable());
    }
    fs::remove_dir_all(&path).unwrap();
    writer.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), frame(&data(3 * CHUNK), options()));
}

#[test]
fn many_sinks_and_readers_share_one_pool() {
    let pool = Pool::new(2);
    let one = |seed: u64| {
        let pool = pool.clone();
        async move {
            let data = data((seed as usize * 977) % (12 * CHUNK));
            let mood = Mood { pending: 3, most: 5000, ..Mood::GOOD };
            let writer = Flaky::new(b"", mood, seed);
            let mut sink = options().pool(&pool).seekable(writer.clone()).unwrap();
            for piece in data.chunks(1 + seed as usize * 31) {
                sink.write_all(piece).await.unwrap();
            }
            sink.close().await.unwrap();
            let reader = ReadOptions::new().pool(&pool).open(writer.bytes()).await.unwrap();
            let chunks: Vec<Bytes> = reader.chunks().try_collect().await.unwrap();
            assert_eq!(chunks.concat(), data, "sink {seed}");
            let middle = data.len() as u64 / 2;
            assert_eq!(reader.bytes(middle / 2..middle).await.unwrap(), &data[middle as usize / 2..middle as usize]);
        }
    };
    block_on(futures::future::join_all((0..200).map(one)));
}
