//! Reading: every way to get at the bytes, from sources that are slow, fail, or are damaged.

mod common;

use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::Bytes;
use common::{CHUNK, Counting, Random, data, frame, lengths, options, poll_and_drop};
use futures::Stream;
use futures::io::{AsyncReadExt, AsyncSeekExt};
use futures::stream::{FusedStream, StreamExt, TryStreamExt};
use oxiblosc_core::chunk::{ChunkContext, ChunkEncoder, ChunkFormat, EncodeParams};
use oxiblosc_core::filter::BitshuffleRule;
use oxiblosc_core::frame::{FrameLayout, FrameParams, FrameWriter};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{CodecId, FilterId, Inline, Limits, Registry};
use oxiblosc_streaming::source::{FileSource, SeekSource};
use oxiblosc_streaming::{FrameReader, IoMode, Pool, ReadError, ReadOptions, WriteOptions, block_on, blocking};

fn assert_all_ways(
    reader: &blocking::FrameReader<impl oxiblosc_streaming::source::RangeSource + 'static>,
    data: &[u8],
) {
    let nbytes = data.len() as u64;
    assert_eq!(reader.nbytes(), nbytes);
    assert_eq!(reader.bytes(0..nbytes).unwrap(), data);
    let chunks: Vec<Bytes> = reader.chunks().collect::<Result<_, _>>().unwrap();
    assert_eq!(chunks.len() as u64, reader.nchunks());
    assert_eq!(chunks.concat(), data);
    for (i, chunk) in chunks.iter().enumerate() {
        assert_eq!(reader.chunk(i as u64).unwrap(), chunk, "chunk {i}");
    }
    let mut random = Random::new(nbytes);
    for _ in 0..60 {
        let start = random.below(nbytes + 1);
        let end = start + random.below(nbytes - start + 1);
        assert_eq!(reader.bytes(start..end).unwrap(), &data[start as usize..end as usize], "{start}..{end}");
        let near = (start + random.below(9)).min(nbytes);
        assert_eq!(reader.bytes(start..near).unwrap(), &data[start as usize..near as usize], "{start}..{near}");
    }
}

#[test]
fn every_way_to_read_every_length() {
    for len in lengths() {
        let data = data(len);
        let frame = Bytes::from(frame(&data, options()));
        for threads in [0, 2] {
            let read = ReadOptions::new().pool(&Pool::new(threads));
            assert_all_ways(&blocking::FrameReader::with_options(frame.clone(), read).unwrap(), &data);
        }
    }
}

#[test]
fn every_source() {
    let data = data(7 * CHUNK + 3);
    let frame = frame(&data, options());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &frame).unwrap();
    assert_all_ways(&blocking::FrameReader::open(file.path()).unwrap(), &data);
    assert_all_ways(&blocking::FrameReader::new(Cursor::new(frame.clone())).unwrap(), &data);
    let offloaded = block_on(async { FrameReader::open(FileSource::open(file.path()).await?).await }).unwrap();
    assert_all_ways(&offloaded.into(), &data);
    let handle = FileSource::new(std::fs::File::open(file.path()).unwrap(), IoMode::Inline);
    assert_all_ways(&block_on(FrameReader::open(handle)).unwrap().into(), &data);
    let boxed: Box<dyn oxiblosc_streaming::source::RangeSource> = Box::new(frame);
    assert_all_ways(&block_on(FrameReader::open(boxed)).unwrap().into(), &data);
}

#[test]
fn every_codec_and_filter_block_by_block() {
    let data = data(6 * CHUNK + 1001);
    for codec in [CodecId::BLOSCLZ, CodecId::LZ4, CodecId::ZSTD, CodecId::ZLIB] {
        for filters in [
            FilterSlots::NONE,
            FilterSlots::SHUFFLE,
            FilterSlots::from_list(&[(FilterId::DELTA, 0), (FilterId::BITSHUFFLE, 0)]).unwrap(),
        ] {
            for (level, use_dict, typesize) in [(0, false, 4), (5, false, 1), (5, false, 300), (5, true, 8)] {
                let params = EncodeParams {
                    codec,
                    filters,
                    level,
                    typesize,
                    use_dict: use_dict && codec == CodecId::ZSTD,
                    block_size: Some(1200),
                    ..EncodeParams::default()
                };
                let options = WriteOptions::new(params).chunk_size(CHUNK * 3 / 1200 * 1200);
                let frame = frame(&data, options);
                assert_all_ways(&blocking::FrameReader::from_bytes(frame).unwrap(), &data);
            }
        }
    }
}

/// Few items of large blocks, as a reader gets them that looks here and there, or goes from one to the next.
#[test]
fn few_items_are_those_of_the_whole() {
    let data = data(3_000_000);
    for codec in [CodecId::BLOSCLZ, CodecId::LZ4, CodecId::LZ4HC, CodecId::ZSTD, CodecId::ZLIB] {
        for filter in [FilterId::NONE, FilterId::SHUFFLE, FilterId::BITSHUFFLE, FilterId::DELTA] {
            let filters = FilterSlots::single(filter);
            let params = EncodeParams { codec, filters, typesize: 8, ..EncodeParams::default() };
            let frame = Bytes::from(frame(&data, WriteOptions::new(params).chunk_size(1 << 20)));
            for cache in [0, 1 << 20] {
                let options = ReadOptions::new().pool(&Pool::inline()).cache_bytes(cache);
                let reader = blocking::FrameReader::with_options(frame.clone(), options).unwrap();
                let mut random = Random::new(7);
                for round in 0..60 {
                    let start = if round < 30 { random.below(data.len() as u64 / 8) } else { 131_000 + 3 * round };
                    let end =
                        (start + 1 + random.below(if round % 2 == 0 { 1 } else { 400 })).min(data.len() as u64 / 8);
                    let expected = &data[8 * start as usize..8 * end as usize];
                    assert_eq!(reader.items(start..end).unwrap(), expected, "{start}..{end}, {codec:?}, {filter:?}");
                }
            }
        }
    }
}

/// A frame whose chunks have the lengths given.
fn variable(lengths: &[usize]) -> (Vec<u8>, Vec<u8>) {
    let registry = Registry::linked().unwrap();
    let params = EncodeParams { typesize: 2, ..EncodeParams::default() };
    let mut encoder = ChunkEncoder::new(&params, registry).unwrap();
    let mut writer = FrameWriter::new(&FrameParams::new(params, 0), registry).unwrap();
    let (mut frame, mut all) = (writer.header(), Vec::new());
    for &len in lengths {
        let data = data(len);
        let chunk = encoder.encode(&data, &ChunkContext::default(), &Inline).unwrap();
        let write = writer.push(&chunk).unwrap().unwrap();
        frame.extend_from_slice(write.bytes(&chunk));
        all.extend(data);
    }
    frame.extend(writer.finish().unwrap());
    let header = writer.header();
    frame[..header.len()].copy_from_slice(&header);
    (frame, all)
}

#[test]
fn chunks_of_varying_length() {
    for lengths in [&[100][..], &[1, 2, 3], &[50_000, 10, 20_000, 1], &[7; 300]] {
        let (frame, data) = variable(lengths);
        let reader = blocking::FrameReader::from_bytes(frame).unwrap();
        assert_eq!(reader.chunk_size(), None);
        assert_all_ways(&reader, &data);
        assert_eq!(block_on(reader.as_async().locate(0)).unwrap(), Some((0, 0)));
        assert_eq!(block_on(reader.as_async().locate(data.len() as u64)).unwrap(), None);
    }
}

#[test]
fn items_are_counted_in_type_sizes() {
    let data = data(2 * CHUNK + 6);
    let reader = blocking::FrameReader::from_bytes(frame(&data, options())).unwrap();
    assert_eq!(reader.items_len(), data.len() as u64 / 4);
    assert_eq!(reader.items(1000..1100).unwrap(), &data[4000..4400]);
    assert_eq!(reader.items(0..0).unwrap(), "");
    for bad in [0..reader.items_len() + 1, u64::MAX..u64::MAX] {
        assert!(matches!(reader.items(bad), Err(ReadError::OutOfRange { what: "items", .. })));
    }
    #[expect(clippy::reversed_empty_ranges, reason = "what must be refused")]
    let backwards = reader.bytes(5..4);
    assert!(matches!(backwards, Err(ReadError::OutOfRange { what: "bytes", .. })));
    assert!(reader.bytes(0..data.len() as u64 + 1).is_err());
    assert!(reader.chunk(3).is_err());
    assert!(reader.chunk(u64::MAX).is_err());
    assert!(reader.chunks_in(0..4).is_err());
    assert_eq!(reader.chunks_in(1..3).unwrap().map(|c| c.unwrap().len()).sum::<usize>(), CHUNK + 6);
}

#[test]
fn read_seek_and_lines() {
    let text: String = (0..5000).map(|i| format!("line {i}\n")).collect();
    let reader = blocking::FrameReader::from_bytes(frame(text.as_bytes(), options())).unwrap();
    let mut reader = reader.into_read();
    for (i, line) in reader.by_ref().lines().enumerate() {
        assert_eq!(line.unwrap(), format!("line {i}"));
    }
    let mut random = Random::new(3);
    for _ in 0..300 {
        let to = match random.below(3) {
            0 => SeekFrom::Start(random.below(text.len() as u64 + 100)),
            1 => SeekFrom::End(-(random.below(text.len() as u64 + 1) as i64)),
            _ => SeekFrom::Current(random.below(9000) as i64 - 4500),
        };
        let before = reader.stream_position().unwrap();
        let Ok(position) = reader.seek(to) else {
            assert_eq!(reader.stream_position().unwrap(), before);
            continue;
        };
        let expected = text.as_bytes().get(position as usize..).unwrap_or_default();
        let mut buf = vec![0; random.below(10_000) as usize];
        let wanted = buf.len().min(expected.len());
        reader.read_exact(&mut buf[..wanted]).unwrap();
        assert_eq!(&buf[..wanted], &expected[..wanted]);
    }
    reader.seek(SeekFrom::Start(u64::MAX)).unwrap();
    assert_eq!(reader.read(&mut [0; 10]).unwrap(), 0);
    assert!(reader.seek(SeekFrom::Current(1)).is_err());
}

#[test]
fn async_read_survives_dropped_futures() {
    let data = data(12 * CHUNK + 77);
    let frame = frame(&data, options());
    for (threads, yields) in [(0, 3), (2, 0), (2, 5)] {
        let source = Counting::slow(frame.clone(), yields);
        let options = ReadOptions::new().pool(&Pool::new(threads));
        let mut bytes = block_on(options.open(source)).unwrap().into_async_read();
        let mut random = Random::new(9);
        let mut found = Vec::new();
        while found.len() < data.len() {
            let mut buf = vec![0; 1 + random.below(2 * CHUNK as u64) as usize];
            if let Some(n) = poll_and_drop(1, bytes.read(&mut buf)) {
                found.extend_from_slice(&buf[..n.unwrap()]);
            }
        }
        assert_eq!(found, data);
        assert_eq!(block_on(bytes.read(&mut [0; 9])).unwrap(), 0);
        assert_eq!(block_on(bytes.seek(SeekFrom::End(-77))).unwrap(), 12 * CHUNK as u64);
        let mut tail = Vec::new();
        block_on(bytes.read_to_end(&mut tail)).unwrap();
        assert_eq!(tail, &data[12 * CHUNK..]);
    }
}

#[test]
fn streams_keep_the_order_and_the_bounds() {
    let data = data(64 * CHUNK);
    let frame = frame(&data, options());
    for (chunks, bytes) in [(1, usize::MAX), (3, usize::MAX), (100, 0), (100, 5 * CHUNK), (100, usize::MAX)] {
        for threads in [0, 1, 4] {
            let options = ReadOptions::new().pool(&Pool::new(threads)).chunks_ahead(chunks).bytes_ahead(bytes);
            let reader = block_on(options.open(Counting::slow(frame.clone(), 2))).unwrap();
            let mut stream = reader.chunks();
            let mut found = Vec::new();
            while let Some(chunk) = block_on(stream.try_next()).unwrap() {
                assert_eq!(chunk.len(), CHUNK);
                found.extend_from_slice(&chunk);
            }
            assert!(stream.is_terminated());
            assert!(block_on(stream.next()).is_none());
            assert_eq!(found, data);
        }
    }
}

#[test]
fn a_stream_reads_ahead_and_stops_there() {
    let data = data(200 * CHUNK);
    let frame = frame(&data, options());
    let source = Arc::new(Counting::new(frame));
    let options = ReadOptions::new().pool(&Pool::new(2)).chunks_ahead(10);
    let reader = block_on(options.open(Arc::clone(&source))).unwrap();
    source.take();
    let mut stream = reader.chunks();
    assert!(source.take().0 == 0, "nothing is read before it is asked for");
    block_on(stream.next()).unwrap().unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    let _ = Pin::new(&mut stream).poll_next(&mut cx);
    let (_, bytes) = source.take();
    assert!(bytes < 16 * CHUNK as u64, "{bytes} bytes");
    drop(stream);
    assert_eq!(source.take().0, 0);
}

#[test]
fn small_frames_open_in_one_round_and_others_in_two() {
    let small = Counting::new(frame(&data(CHUNK), options()));
    let reader = block_on(FrameReader::open(small)).unwrap();
    assert_eq!(reader.source().take().0, 1);

    let mut random = Random::new(1);
    let noise: Vec<u8> = (0..20_000 * 8).map(|_| random.below(256) as u8).collect();
    let large = frame(&noise, options().chunk_size(8));
    let reader = block_on(FrameReader::open(Counting::new(large))).unwrap();
    assert_eq!(reader.source().take().0, 2);
}

#[test]
fn a_slice_reads_only_the_blocks_it_touches() {
    let mut random = Random::new(1);
    let noise: Vec<u8> = (0..4 << 20).map(|_| random.below(256) as u8 & 0x77).collect();
    let params = EncodeParams { block_size: Some(16 << 10), ..EncodeParams::default() };
    let frame = frame(&noise, WriteOptions::new(params).chunk_size(2 << 20));
    let reader = block_on(FrameReader::open(Counting::new(frame))).unwrap();
    reader.source().take();
    // One block: its chunk's block starts, then the block.
    assert_eq!(block_on(reader.bytes(100_000..100_100)).unwrap(), &noise[100_000..100_100]);
    let (rounds, bytes) = reader.source().take();
    assert_eq!(rounds, 2);
    assert!(bytes < 20_000, "{bytes} bytes");
    // Across two chunks: still two rounds.
    let middle = 2 << 20;
    let range = middle - 50_000..middle + 50_000;
    assert_eq!(block_on(reader.bytes(range.clone())).unwrap(), &noise[range.start as usize..range.end as usize]);
    let (rounds, bytes) = reader.source().take();
    assert_eq!(rounds, 2);
    assert!(bytes < 140_000, "{bytes} bytes");
    // Everything: one round for each few megabytes.
    assert_eq!(block_on(reader.bytes(0..4 << 20)).unwrap(), noise);
    assert_eq!(reader.source().take().0, 1);
}

#[test]
fn a_failing_source_is_an_error_once() {
    let data = data(30 * CHUNK);
    let reader = block_on(FrameReader::open(Counting::new(frame(&data, options())))).unwrap();
    let fail = |n| *reader.source().fails.lock().unwrap() = n;

    fail(1);
    assert!(matches!(block_on(reader.chunk(0)), Err(ReadError::Source(_))));
    assert_eq!(block_on(reader.chunk(0)).unwrap(), &data[..CHUNK]);
    fail(1);
    assert!(block_on(reader.bytes(5..6)).is_err());
    assert_eq!(block_on(reader.bytes(5..6)).unwrap(), &data[5..6]);

    // A stream ends with the error.
    fail(1);
    let results: Vec<_> = block_on(reader.chunks().collect());
    assert_eq!(results.iter().filter(|r| r.is_err()).count(), 1);
    assert!(results.last().unwrap().is_err());

    // A reader tries again, and goes on where it was.
    let mut bytes = reader.clone().into_async_read();
    let mut found = Vec::new();
    let mut failures = 0;
    loop {
        if found.len() / 5000 > failures {
            fail(1);
            failures = found.len() / 5000;
            block_on(bytes.seek(SeekFrom::Start(found.len() as u64 + 1))).unwrap();
            block_on(bytes.seek(SeekFrom::Current(-1))).unwrap();
        }
        let mut buf = [0; 1000];
        match block_on(bytes.read(&mut buf)) {
            Ok(0) => break,
            Ok(n) => found.extend_from_slice(&buf[..n]),
            Err(e) => assert_eq!(e.to_string(), "source failure"),
        }
    }
    assert_eq!(found, data);
    assert!(failures > 10);
}

#[test]
fn damage_is_named_and_hides_nothing_else() {
    let data = data(10 * CHUNK);
    let mut frame = frame(&data, options());
    let reader = blocking::FrameReader::from_bytes(frame.clone()).unwrap();
    let span = reader.frame().span(1).unwrap().unwrap();
    // The first block start of chunk 1.
    frame[span.start as usize + 32..][..4].fill(0xFF);
    let reader = blocking::FrameReader::from_bytes(frame).unwrap();
    let error = reader.chunk(1).unwrap_err();
    assert!(matches!(error, ReadError::Decode { chunk: 1, .. }), "{error:?}");
    let said = format!("chunk 1, at offset {} of the frame, could not be decoded", span.start);
    assert_eq!(error.to_string(), said);
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidData);
    assert!(reader.bytes(0..data.len() as u64).is_err());
    assert_eq!(reader.chunk(0).unwrap(), &data[..CHUNK]);
    let results: Vec<_> = reader.chunks().collect();
    assert_eq!(results.len(), 10);
    for (i, result) in results.iter().enumerate() {
        assert_eq!(result.is_err(), i == 1, "chunk {i}");
    }
}

#[test]
fn truncated_and_foreign_files_are_errors() {
    let frame = frame(&data(3 * CHUNK + 5), options());
    for len in 0..frame.len() {
        assert!(blocking::FrameReader::from_bytes(frame[..len].to_vec()).is_err(), "{len} bytes");
    }
    assert!(blocking::FrameReader::from_bytes(vec![0; 100_000]).is_err());
    // More bytes may follow.
    let longer = [&frame[..], &[1; 40_000]].concat();
    assert_eq!(blocking::FrameReader::from_bytes(longer).unwrap().nchunks(), 4);
}

#[test]
fn a_frame_inside_a_file() {
    let data = data(5 * CHUNK);
    let file = [&[9; 1000][..], &frame(&data, options()), &[9; 50_000]].concat();
    let reader = blocking::FrameReader::with_options(file.clone(), ReadOptions::new().start(1000)).unwrap();
    assert_all_ways(&reader, &data);
    for start in [0, 999, 1001, file.len() as u64, file.len() as u64 + 1, u64::MAX] {
        assert!(blocking::FrameReader::with_options(file.clone(), ReadOptions::new().start(start)).is_err());
    }
}

#[test]
fn limits_hold() {
    let data = vec![0; 1 << 20];
    let frame = frame(&data, options().chunk_size(1 << 20));
    let mut limits = Limits::default();
    limits.chunk_bytes = (1 << 20) - 1;
    let reader = blocking::FrameReader::with_options(frame, ReadOptions::new().limits(limits)).unwrap();
    assert!(matches!(reader.chunk(0), Err(ReadError::Decode { .. })));
    assert!(reader.bytes(0..10).is_err());
}

#[test]
fn metalayers_of_both_kinds() {
    let long = vec![7; 100_000];
    let options = options()
        .metalayer("unit", &b"\xa1K"[..])
        .metalayer("empty", "")
        .vlmetalayer("notes", &b"\xa5hello"[..])
        .vlmetalayer("long", long.clone())
        .vlmetalayer("void", "");
    let mut writer = blocking::FrameWriter::in_memory(options).unwrap();
    writer.push(data(10).into()).unwrap();
    writer.sink().set_vlmetalayer("late", b"\xc0").unwrap();
    writer.sink().set_vlmetalayer("notes", b"\xa3new").unwrap();
    assert!(writer.sink().set_vlmetalayer(&"n".repeat(32), b"").is_err());
    writer.finish().unwrap();
    let reader = blocking::FrameReader::from_bytes(writer.into_bytes()).unwrap();
    assert_eq!(reader.metalayers().len(), 2);
    assert_eq!(reader.metalayer("unit").unwrap(), &b"\xa1K"[..]);
    assert_eq!(reader.metalayer("empty").unwrap(), "");
    assert_eq!(reader.metalayer("other"), None);
    assert_eq!(reader.vlmetalayer_names(), ["notes", "long", "void", "late"]);
    assert_eq!(reader.vlmetalayer("notes").unwrap().unwrap(), &b"\xa3new"[..]);
    assert_eq!(reader.vlmetalayer("long").unwrap().unwrap(), long);
    assert_eq!(reader.vlmetalayer("void").unwrap().unwrap(), "");
    assert_eq!(reader.vlmetalayer("other").unwrap(), None);
    assert_eq!(reader.chunk(0).unwrap(), data(10));
}

#[test]
fn encoded_chunks_decode_on_their_own() {
    let data = data(5 * CHUNK);
    let reader = blocking::FrameReader::from_bytes(frame(&data, options())).unwrap();
    let mut decoder = oxiblosc_core::chunk::ChunkDecoder::new(Registry::linked().unwrap());
    for i in 0..5 {
        let chunk = reader.encoded_chunk(i as u64).unwrap();
        let decoded = decoder.decode(&chunk, &ChunkContext::default(), &Inline).unwrap();
        assert_eq!(decoded, &data[i * CHUNK..(i + 1) * CHUNK]);
    }
}

#[test]
fn one_handle_serves_many_threads() {
    fn is_shareable<T: Send + Sync + Clone>(_: &T) {}
    let data = Arc::new(data(40 * CHUNK + 9));
    let reader = block_on(FrameReader::open(SeekSource::new(Cursor::new(frame(&data, options()))))).unwrap();
    is_shareable(&reader);
    let threads: Vec<_> = (0..8)
        .map(|seed| {
            let (reader, data) = (reader.clone(), Arc::clone(&data));
            std::thread::spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..40 {
                    let start = random.below(data.len() as u64);
                    let end = start + random.below(data.len() as u64 - start + 1);
                    let found = block_on(reader.bytes(start..end)).unwrap();
                    assert_eq!(found, &data[start as usize..end as usize]);
                }
                let all: Vec<Bytes> = block_on(reader.chunks().try_collect()).unwrap();
                assert_eq!(all.concat(), *data);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn reads_may_be_dropped_at_any_poll() {
    let data = data(20 * CHUNK);
    let options = ReadOptions::new().pool(&Pool::new(2));
    let reader = block_on(options.open(Counting::slow(frame(&data, common::options()), 4))).unwrap();
    for polls in 1..30 {
        let mut stream = reader.chunks();
        let mut found = Vec::new();
        loop {
            match poll_and_drop(polls, stream.try_next()) {
                Some(Ok(Some(chunk))) => found.extend_from_slice(&chunk),
                Some(Ok(None)) => break,
                Some(Err(e)) => panic!("{e}"),
                None => {}
            }
        }
        assert_eq!(found, data);
        if let Some(result) = poll_and_drop(polls, reader.bytes(10..70_000)) {
            assert_eq!(result.unwrap(), &data[10..70_000]);
        }
    }
    let mut cx = Context::from_waker(Waker::noop());
    let mut stream = reader.chunks();
    while Pin::new(&mut stream).poll_next(&mut cx).is_pending() {}
    drop(stream);
    assert_eq!(block_on(reader.chunk(3)).unwrap(), &data[3 * CHUNK..4 * CHUNK]);
}

/// A frame of 2019 says by which rule its bit-shuffled blocks are decoded; the user can say otherwise.
#[test]
fn the_rule_of_bit_shuffle_can_be_forced() {
    let params = EncodeParams {
        typesize: 4,
        filters: FilterSlots::single(FilterId::BITSHUFFLE),
        format: ChunkFormat::Early,
        ..EncodeParams::default()
    };
    // 1001 items: no multiple of 8, so the old rule copies the block and the new one does not.
    let data: Vec<u8> = (0..1001u32).flat_map(|i| (i / 3).to_le_bytes()).collect();
    let options = WriteOptions::new(params).layout(FrameLayout::Early).chunk_size(4096);
    let frame = frame(&data, options);
    let read = |options: ReadOptions| {
        let reader = blocking::FrameReader::with_options(frame.clone(), options).unwrap();
        reader.chunk(0).unwrap()
    };
    assert_eq!(read(ReadOptions::new()), data);
    assert_eq!(read(ReadOptions::new().bitshuffle(BitshuffleRule::WholeBlockOrNothing)), data);
    assert_ne!(read(ReadOptions::new().bitshuffle(BitshuffleRule::LeadingEights)), data);
}
