//! Frames without totals, read while they grow and afterwards.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{CHUNK, data, frame, lengths, options};
use futures::io::{AllowStdIo, AsyncReadExt as _, AsyncWriteExt, Cursor};
use futures::{StreamExt, TryStreamExt};
use oxiblosc_core::frame::SpecialPlacement;
use oxiblosc_streaming::edit::EditOptions;
use oxiblosc_streaming::nd::ArrayOptions;
use oxiblosc_streaming::recover::{seal, seal_file};
use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::target::OpenTarget;
use oxiblosc_streaming::{ChecksumPolicy, FrameStream, Pool, ReadError, ReadOptions, WriteOptions, block_on, blocking};

fn open_ended(data: &[u8], options: WriteOptions) -> Vec<u8> {
    let mut sink = options.pool(&Pool::inline()).sink(OpenTarget::new(Cursor::new(Vec::new()))).unwrap();
    block_on(async {
        sink.write_all(data).await.unwrap();
        sink.close().await.unwrap();
    });
    sink.into_target().into_inner().into_inner()
}

fn reading(pool: &Pool) -> ReadOptions {
    ReadOptions::new().pool(pool).open_ended(true)
}

/// Chunks until the end or the error, and what the stream then says.
fn stream(bytes: &[u8], options: ReadOptions) -> (Vec<u8>, Option<ReadError>, blocking::FrameStream) {
    let mut stream = blocking::FrameStream::with_options(std::io::Cursor::new(bytes.to_vec()), options).unwrap();
    assert!(stream.is_immediate());
    let (mut decoded, mut error) = (Vec::new(), None);
    for chunk in &mut stream {
        match chunk {
            Ok(chunk) => decoded.extend_from_slice(&chunk),
            Err(e) => error = Some(e),
        }
    }
    assert!(stream.next().is_none(), "the end stays the end");
    (decoded, error, stream)
}

#[test]
fn closed_frames() {
    let pool = Pool::new(2);
    for len in lengths() {
        let content = data(len);
        for metalayer in [&b""[..], &[7; 70_000]] {
            let options = options().checksums(true).fingerprint(Some(Default::default())).metalayer("m", &b"\xc0"[..]);
            let bytes = open_ended(&content, options.vlmetalayer("name", metalayer));
            let checked = reading(&pool).checksums(ChecksumPolicy::Require);
            let (decoded, error, stream) = stream(&bytes, checked.clone());
            assert!(error.is_none(), "{len}: {error:?}");
            assert!(decoded == content, "{len}");
            let end = stream.open_end().unwrap();
            assert_eq!((end.closed, end.left_over), (true, 0));

            assert!(blocking::FrameReader::from_bytes(bytes.clone()).is_err(), "only on request");
            let reader = blocking::FrameReader::with_options(bytes.clone(), checked).unwrap();
            assert_eq!(reader.open_end(), Some(end));
            assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), content);
            assert_eq!(reader.vlmetalayer("name").unwrap().unwrap(), metalayer);
            let findings = reader.verify().unwrap().findings;
            assert!(findings.is_empty(), "{len}: {findings:?}");
            // It is the frame that sealing makes of it.
            let mut sealed = bytes;
            seal(&mut sealed).unwrap();
            let plain = blocking::FrameReader::from_bytes(sealed).unwrap();
            assert_eq!(plain.open_end(), None);
            assert_eq!(Some(plain.frame()), stream.frame(), "{len}");
            assert_eq!(plain.frame(), reader.frame(), "{len}");
        }
    }
}

/// Wherever the end is missing, the complete chunks are returned, and then the number of bytes left over.
#[test]
fn every_truncation() {
    let content = data(3 * CHUNK + 100);
    let bytes = open_ended(&content, options().vlmetalayer("name", &b"\xa3abc"[..]));
    let mut sealed = bytes.clone();
    seal(&mut sealed).unwrap();
    let whole = blocking::FrameReader::from_bytes(sealed).unwrap();
    let frame = whole.frame();
    let ends: Vec<u64> = (0..frame.nchunks()).map(|i| frame.span(i).unwrap().unwrap().start).collect();
    let ends = [&ends[1..], &[frame.chunks_end()]].concat();
    let header_len = u64::from(frame.header().header_len);
    let pool = Pool::inline();
    for len in 0..bytes.len() as u64 {
        let cut = &bytes[..len as usize];
        if len < header_len {
            assert!(blocking::FrameStream::open(std::io::Cursor::new(cut.to_vec())).is_err(), "{len}");
            assert!(blocking::FrameReader::with_options(cut.to_vec(), reading(&pool)).is_err(), "{len}");
            continue;
        }
        let chunks = ends.iter().filter(|&&end| end <= len).count();
        let complete = ends[..chunks].last().copied().unwrap_or(header_len);
        let expected = &content[..content.len().min(chunks * CHUNK)];
        let (decoded, error, stream) = stream(cut, reading(&pool));
        assert!(decoded == expected, "{len}");
        let left_over = match error {
            None => 0,
            Some(ReadError::BreaksOff { chunks: found, offset, left_over }) => {
                assert_eq!((found, offset), (chunks as u64, complete), "{len}");
                left_over
            }
            Some(error) => panic!("{len}: {error}"),
        };
        assert_eq!(left_over, len - complete, "{len}");
        let end = stream.open_end().unwrap();
        assert_eq!((end.closed, end.left_over), (false, left_over), "{len}");

        let reader = blocking::FrameReader::with_options(cut.to_vec(), reading(&pool)).unwrap();
        assert_eq!(reader.open_end(), Some(end), "{len}");
        assert_eq!(Some(reader.frame()), stream.frame(), "{len}");
        assert!(reader.bytes(0..reader.nbytes()).unwrap() == expected, "{len}");
        let findings = reader.verify().unwrap().findings;
        assert!(findings.is_empty(), "{len}: {findings:?}");
    }
    let unchecked = ReadOptions::new().checksums(ChecksumPolicy::Require);
    let (_, error, _) = stream(&bytes[..ends[1] as usize], unchecked);
    assert!(matches!(error, Some(ReadError::Checksums { .. })), "{error:?}");
}

/// A stream that ends before index and trailer has lost something, even if it ends between two chunks: no reader says
/// that all is well, unless it was told to expect that.
#[test]
fn a_stream_without_its_end_is_an_error() {
    let content = data(3 * CHUNK + 100);
    let bytes = open_ended(&content, options());
    let mut sealed = bytes.clone();
    seal(&mut sealed).unwrap();
    let frame = blocking::FrameReader::from_bytes(sealed).unwrap().frame().clone();
    let mut cuts: Vec<u64> = (0..frame.nchunks()).map(|i| frame.span(i).unwrap().unwrap().start).collect();
    cuts.extend([frame.chunks_end(), bytes.len() as u64]);
    let check = |error: ReadError, chunks: u64, left: u64, len: u64| {
        let offset = cuts[chunks as usize];
        match &error {
            ReadError::BreaksOff { chunks: found, offset: at, left_over } => {
                assert_eq!((*found, *at, *left_over), (chunks, offset, left), "{len}");
            }
            other => panic!("{len}: {other}"),
        }
        let text = error.to_string();
        assert!(["seal", "recover", "open_ended"].iter().all(|way| text.contains(way)), "{text}");
        assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::InvalidData);
    };
    let ends = &cuts[1..cuts.len() - 1];
    for &cut in &cuts {
        for len in (cut.saturating_sub(40)..cut + 40).filter(|&len| len >= cuts[0] && len < bytes.len() as u64) {
            let chunks = ends.iter().filter(|&&end| end <= len).count() as u64;
            let left = len - cuts[chunks as usize];
            let (cut, expected) = (&bytes[..len as usize], &content[..content.len().min(chunks as usize * CHUNK)]);
            let (decoded, error, _) = stream(cut, ReadOptions::new());
            assert!(decoded == expected, "{len}");
            check(error.expect("the end is missing"), chunks, left, len);

            let mut decoded = Vec::new();
            let mut plain = blocking::FrameStream::open(std::io::Cursor::new(cut.to_vec())).unwrap().into_read();
            let error = plain.read_to_end(&mut decoded).unwrap_err();
            assert!(decoded == expected && error.to_string().contains("breaks off"), "{len}: {error}");
            let (decoded, error) = block_on(async {
                let mut decoded = Vec::new();
                let stream = FrameStream::open(Cursor::new(cut.to_vec())).await.unwrap();
                let error = stream.map_err(std::io::Error::from).into_async_read().read_to_end(&mut decoded).await;
                (decoded, error.unwrap_err())
            });
            assert!(decoded == expected && error.to_string().contains("breaks off"), "{len}: {error}");
            assert!(blocking::FrameReader::from_bytes(cut.to_vec()).is_err(), "{len}");

            let pool = Pool::inline();
            let (decoded, error, stream) = stream(cut, reading(&pool));
            assert!(decoded == expected && error.is_none() == (left == 0), "{len}: {error:?}");
            let end = stream.open_end().unwrap();
            assert_eq!((end.closed, end.left_over), (false, left), "{len}");
        }
    }
    let (decoded, error, stream) = stream(&bytes, ReadOptions::new());
    assert!(decoded == content && error.is_none() && stream.open_end().unwrap().closed);
}

/// A compressed stream that is whole, around a frame that is not.
#[cfg(feature = "compression")]
#[test]
fn a_frame_that_was_cut_before_it_was_compressed() {
    use oxiblosc_streaming::transport::{Encoding, decode_as, encode};
    let content = data(2 * CHUNK);
    let bytes = open_ended(&content, options());
    let mut sealed = bytes.clone();
    seal(&mut sealed).unwrap();
    let end = blocking::FrameReader::from_bytes(sealed).unwrap().frame().chunks_end() as usize;
    for encoding in Encoding::ALL {
        let (cut, whole) = block_on(async {
            let decoded = async |bytes: &[u8]| {
                let mut encoder = encode(Vec::new(), encoding);
                encoder.write_all(bytes).await.unwrap();
                encoder.close().await.unwrap();
                let packed = Cursor::new(encoder.into_inner());
                let stream = FrameStream::open(decode_as(packed, Some(encoding))).await.unwrap();
                stream.try_collect::<Vec<_>>().await
            };
            (decoded(&bytes[..end]).await, decoded(&bytes).await)
        });
        assert!(matches!(cut, Err(ReadError::BreaksOff { chunks: 2, left_over: 0, .. })), "{encoding}: {cut:?}");
        assert!(whole.unwrap().concat() == content, "{encoding}");
    }
}

#[test]
fn every_flipped_bit_ends() {
    let content = data(2 * CHUNK + 100);
    let good = open_ended(&content, options().checksums(true));
    let pool = Pool::inline();
    let header_len = 200;
    for bit in (0..8 * good.len()).step_by(13) {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let options = || reading(&pool).checksums(ChecksumPolicy::Require);
        let (mut decoded, mut failed) = (Vec::new(), false);
        match blocking::FrameStream::with_options(std::io::Cursor::new(bad.clone()), options()) {
            Ok(stream) => {
                for chunk in stream {
                    match chunk {
                        Ok(chunk) => decoded.extend_from_slice(&chunk),
                        Err(_) => failed = true,
                    }
                }
            }
            Err(_) => failed = true,
        }
        // What the header says besides is covered once it has totals.
        assert!(failed || decoded == content || bit / 8 < header_len, "bit {bit}");
        if let Ok(reader) = blocking::FrameReader::with_options(bad, options()) {
            let _ = reader.bytes(0..reader.nbytes());
        }
    }
}

#[test]
fn nothing_behind_the_frame_is_taken() {
    for len in [0, 1, 3 * CHUNK] {
        let content = data(len);
        let mut bytes = open_ended(&content, options().vlmetalayer("name", &b"\xa3abc"[..]));
        let frame_len = bytes.len();
        bytes.extend_from_slice(&frame(&content, options()));
        // The rest of the pipe is the next frame.
        let (mut pipe, path) = tempfile::NamedTempFile::new().unwrap().into_parts();
        pipe.write_all(&bytes).unwrap();
        let mut first = fs::File::open(&path).unwrap();
        let second = first.try_clone().unwrap();
        let decoded: Vec<u8> =
            blocking::FrameStream::open(first.try_clone().unwrap()).unwrap().fold(Vec::new(), |mut all, chunk| {
                all.extend_from_slice(&chunk.unwrap());
                all
            });
        assert!(decoded == content);
        assert_eq!(std::io::Seek::stream_position(&mut first).unwrap(), frame_len as u64);
        let mut decoded = Vec::new();
        blocking::FrameStream::open(second).unwrap().into_read().read_to_end(&mut decoded).unwrap();
        assert!(decoded == content);
    }
}

/// Chunks that look like an index: 8-byte items that are the offsets of all chunks before them.
#[test]
fn chunks_that_look_like_an_index() {
    let params = oxiblosc_core::chunk::EncodeParams {
        typesize: 8,
        codec: oxiblosc_core::id::CodecId::LZ4,
        level: 0,
        ..Default::default()
    };
    // One item a chunk, stored: 32 + 8 bytes each. The first is followed by its own offset.
    let items: [u64; 4] = [5, 0, 0, 40];
    let content: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
    let options = WriteOptions::new(params).chunk_size(8);
    let bytes = open_ended(&content, options.clone());
    let (decoded, error, _) = stream(&bytes, ReadOptions::new());
    assert!(error.is_none() && decoded == content, "{error:?}");
    let pool = Pool::inline();
    let reader = blocking::FrameReader::with_options(bytes, reading(&pool)).unwrap();
    assert_eq!(reader.bytes(0..32).unwrap(), content);
}

#[test]
fn vectors_of_every_age() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/data/vectors");
    let mut streamed = [0; 2];
    for folder in ["early", "current", "samples"] {
        for entry in fs::read_dir(vectors.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(reader) = blocking::FrameReader::open(&path) else { continue };
            if path.is_dir() {
                continue;
            }
            let Ok(expected) = reader.bytes(0..reader.nbytes()) else { continue };
            let file = || fs::File::open(&path).unwrap();
            for memory in [0, usize::MAX] {
                let options = ReadOptions::new().spool_memory(memory);
                let stream = blocking::FrameStream::with_options(file(), options).unwrap();
                let mut decoded = Vec::new();
                stream.into_read().read_to_end(&mut decoded).unwrap();
                assert!(decoded == expected, "{}", path.display());
                streamed[0] += 1;
            }
            // In the order in which they come, if that is what the index says: else an error, never other bytes.
            let stream = blocking::FrameStream::with_options(file(), ReadOptions::new().trust_order(true)).unwrap();
            let immediate = stream.is_immediate();
            let mut decoded = Vec::new();
            match stream.into_read().read_to_end(&mut decoded) {
                Ok(_) => {
                    assert!(decoded == expected, "{}", path.display());
                    streamed[1] += usize::from(immediate);
                }
                Err(error) => assert!(immediate, "{}: {error}", path.display()),
            }
        }
    }
    assert!(streamed[0] >= 100 && streamed[1] >= 10, "{streamed:?}");
}

/// Not a test in itself: the other process of the tests below.
#[test]
fn other_process() {
    let Some(path) = std::env::var_os("OXIBLOSC_TEST_GROW") else { return };
    let path = Path::new(&path);
    let pause = || std::thread::sleep(Duration::from_millis(15));
    match std::env::var("OXIBLOSC_TEST_KIND").unwrap().as_str() {
        "append" => {
            let mut editor = blocking::FrameEditor::with_options(path, EditOptions::new().durable(false)).unwrap();
            for round in 0..ROUNDS {
                editor.append(&records(round * 1000, 1000)).unwrap();
                editor.commit().unwrap();
                pause();
            }
        }
        "open" => block_on(async {
            let file = AllowStdIo::new(fs::File::create(path).unwrap());
            let options = options().special(SpecialPlacement::Stored);
            let mut sink = options.sink(OpenTarget::new(file)).unwrap();
            for round in 0..ROUNDS {
                sink.write_all(&records(round * 1000, 1000)).await.unwrap();
                sink.flush().await.unwrap();
                pause();
            }
            sink.close().await.unwrap();
        }),
        "array" => block_on(async {
            let file = AllowStdIo::new(fs::File::create(path).unwrap());
            let options = ArrayOptions::rows(&[5], "<u4").chunks([64, 3]).blocks([16, 3]);
            let mut sink = options.sink(OpenTarget::new(file)).unwrap();
            for round in 0..ROUNDS {
                sink.write_all(&records(round * 1000, 1000)).await.unwrap();
                sink.flush().await.unwrap();
                pause();
            }
            sink.close().await.unwrap();
        }),
        kind => panic!("what is {kind}"),
    }
}

const ROUNDS: u32 = 20;

/// Numbers from `first` on.
fn records(first: u32, count: u32) -> Vec<u8> {
    (first..first + count).flat_map(u32::to_le_bytes).collect()
}

/// Has another process write to `path`, and calls `look` until it has nothing more to see.
fn while_growing(path: &Path, kind: &str, mut look: impl FnMut() -> bool) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["other_process", "--exact"])
        .env("OXIBLOSC_TEST_GROW", path)
        .env("OXIBLOSC_TEST_KIND", kind)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !path.exists() || fs::metadata(path).unwrap().len() < 1000 {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
    while look() {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn appended_frames_are_followed_across_processes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    // With some chunks, so that it is not taken for one that has not begun.
    fs::write(&path, frame(&[0xFF; 4000], options())).unwrap();
    let mut reader = blocking::FrameReader::open(&path).unwrap();
    let (mut seen, mut looks) = (4000, 0);
    while_growing(&path, "append", || {
        if reader.refresh().unwrap() {
            looks += 1;
            let now = reader.nbytes();
            assert!(now > seen && now.is_multiple_of(4000), "a commit shows as a whole");
            let expected = records((seen as u32 - 4000) / 4, (now - seen) as u32 / 4);
            assert!(reader.bytes(seen..now).unwrap() == expected);
            seen = now;
        }
        seen < 4000 + u64::from(ROUNDS) * 4000
    });
    assert!(looks > 1);
}

#[test]
fn open_ended_frames_are_followed_across_processes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let pool = Pool::new(1);
    let mut reader = None;
    let (mut seen, mut looks) = (0, 0);
    while_growing(&path, "open", || {
        let reader = reader.get_or_insert_with(|| {
            blocking::FrameReader::with_options(FileSource::open_inline(&path).unwrap(), reading(&pool)).unwrap()
        });
        looks += usize::from(reader.refresh().unwrap());
        let now = reader.nbytes();
        assert!(reader.bytes(seen..now).unwrap() == records(seen as u32 / 4, (now - seen) as u32 / 4));
        seen = now;
        !reader.open_end().unwrap().closed
    });
    assert!(looks > 1);
    assert_eq!(seen, u64::from(ROUNDS) * 4000);
    // Sealed where it lies, it is the same frame; the reader takes note.
    let mut reader = reader.unwrap();
    assert!(!reader.refresh().unwrap());
    seal_file(&path).unwrap();
    reader.refresh().unwrap();
    assert_eq!((reader.open_end(), reader.nbytes()), (None, seen));
    // Another frame under the same name.
    let other = open_ended(&data(3 * CHUNK), options());
    fs::write(&path, &other).unwrap();
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), data(3 * CHUNK));
    let shorter = open_ended(&data(5), options());
    fs::write(&path, &shorter).unwrap();
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), data(5));
}

#[test]
fn growing_arrays_are_followed_across_processes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array");
    let pool = Pool::new(1);
    let mut array = None;
    let (mut rows, mut looks) = (0, 0);
    while_growing(&path, "array", || {
        let array = array.get_or_insert_with(|| {
            let source = FileSource::open_inline(&path).unwrap();
            let reader = blocking::FrameReader::with_options(source, reading(&pool)).unwrap();
            blocking::NdArray::from_frame(&reader).unwrap()
        });
        looks += usize::from(array.refresh().unwrap());
        let now = array.shape()[0];
        let closed = array.as_async().reader().open_end().unwrap().closed;
        // The last slab may show its padding until the trailer is there.
        let all = u64::from(ROUNDS) * 200;
        assert!(closed && now == all || !closed && now % 64 == 0 && now < all + 64, "{now}");
        let now = now.min(all);
        if now > rows {
            let found = array.read(&format!("{rows}:{now}").parse().unwrap()).unwrap().into_bytes();
            assert!(found == records(rows as u32 * 5, (now - rows) as u32 * 5), "{rows}..{now}");
        }
        rows = now;
        !closed
    });
    assert!(looks > 1);
    assert_eq!(array.unwrap().shape(), [u64::from(ROUNDS) * 200, 5]);
}

/// Chunks come out while the next are not there yet.
#[test]
fn a_live_stream() {
    let content = data(4 * CHUNK);
    let bytes = open_ended(&content, options());
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let (feed, parts) = futures::channel::mpsc::unbounded();
    let send = |part: &[u8]| feed.unbounded_send(Ok::<_, std::io::Error>(part.to_vec())).unwrap();
    send(first);
    let mut stream = block_on(FrameStream::open(parts.into_async_read())).unwrap();
    let mut found = block_on(stream.next()).unwrap().unwrap().to_vec();
    assert_eq!(found, &content[..CHUNK]);
    send(second);
    drop(feed);
    while let Some(chunk) = block_on(stream.next()) {
        found.extend_from_slice(&chunk.unwrap());
    }
    assert!(found == content);
}

/// The same without async: nothing must be read ahead, for reading waits.
#[test]
fn a_live_pipe() {
    let content = data(4 * CHUNK);
    let bytes = open_ended(&content, options());
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let (reader, mut pipe) = std::io::pipe().unwrap();
    pipe.write_all(first).unwrap();
    let options = ReadOptions::new().chunks_ahead(1);
    let mut stream = blocking::FrameStream::with_options(reader, options).unwrap();
    let mut found = stream.next().unwrap().unwrap().to_vec();
    assert_eq!(found, &content[..CHUNK]);
    pipe.write_all(second).unwrap();
    drop(pipe);
    stream.for_each(|chunk| found.extend_from_slice(&chunk.unwrap()));
    assert!(found == content);
}
