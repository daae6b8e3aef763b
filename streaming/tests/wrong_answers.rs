//! Sources whose answers are as long as asked for and are not what was asked for.

mod common;

use std::io;
use std::ops::Range;

use bytes::Bytes;
use common::{CHUNK, data, frame, options};
use futures::StreamExt;
use futures::future::BoxFuture;
use oxiblosc_core::frame::FingerprintKind;
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::{ChecksumPolicy, ErrorKind, FrameReader, ReadError, ReadOptions, block_on};

/// What is wrong with the answers, once the frame is open.
#[derive(Debug, Clone)]
enum Wrong {
    Nothing,
    /// Two of a round that follow each other are swapped if they are of one length, or are cut and filled to it.
    Swapped,
    /// Each begins one byte too late.
    Shifted,
    /// All are of this other version.
    Stale(Bytes),
    /// Responses that begin at these offsets start with these bytes.
    Forged(Vec<(u64, Bytes)>),
}

struct Liar {
    bytes: Bytes,
    wrong: std::sync::Mutex<Wrong>,
}

impl Liar {
    fn answer(&self, ranges: &[Range<u64>]) -> Vec<Bytes> {
        let wrong = self.wrong.lock().unwrap().clone();
        let of = |bytes: &Bytes, shift: u64, range: &Range<u64>| {
            let part = |i: u64| bytes.get((i + shift) as usize).copied().unwrap_or(0);
            range.clone().map(part).collect::<Vec<u8>>()
        };
        let mut found: Vec<Vec<u8>> = match &wrong {
            Wrong::Stale(other) => ranges.iter().map(|range| of(other, 0, range)).collect(),
            Wrong::Shifted => ranges.iter().map(|range| of(&self.bytes, 1, range)).collect(),
            _ => ranges.iter().map(|range| of(&self.bytes, 0, range)).collect(),
        };
        if let Wrong::Forged(forged) = &wrong {
            for (range, found) in ranges.iter().zip(&mut found) {
                if let Some((_, bytes)) = forged.iter().find(|(at, _)| *at == range.start) {
                    let len = bytes.len().min(found.len());
                    found[..len].copy_from_slice(&bytes[..len]);
                }
            }
        }
        if matches!(wrong, Wrong::Swapped) {
            for pair in found.chunks_exact_mut(2) {
                let lens = (pair[0].len(), pair[1].len());
                pair.swap(0, 1);
                pair[0].resize(lens.0, 0);
                pair[1].resize(lens.1, 0);
            }
        }
        found.into_iter().map(Bytes::from).collect()
    }
}

impl RangeSource for &'static Liar {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        RangeSource::size(&self.bytes)
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        let answer = self.answer(&ranges);
        Box::pin(async move { Ok(answer) })
    }

    /// Readers request single blocks.
    fn request_cost(&self) -> u64 {
        1
    }
}

fn liar(bytes: Vec<u8>) -> &'static Liar {
    Box::leak(Box::new(Liar { bytes: bytes.into(), wrong: std::sync::Mutex::new(Wrong::Nothing) }))
}

fn open(source: &'static Liar, policy: ChecksumPolicy) -> FrameReader<&'static Liar> {
    *source.wrong.lock().unwrap() = Wrong::Nothing;
    block_on(ReadOptions::new().checksums(policy).open(source)).unwrap()
}

/// Every chunk either right or an error; how many errors there were.
fn errors(reader: &FrameReader<&'static Liar>, content: &[u8]) -> usize {
    let mut errors = 0;
    let mut chunks = reader.chunks();
    let mut i = 0;
    block_on(async {
        while let Some(chunk) = chunks.next().await {
            match chunk {
                Ok(chunk) => assert!(chunk == content[i * CHUNK..][..chunk.len()], "chunk {i}"),
                Err(error) => {
                    assert!(!error.is_retryable());
                    errors += 1;
                }
            }
            i += 1;
        }
    });
    match block_on(reader.bytes(100..content.len() as u64 - 100)) {
        Ok(bytes) => assert!(bytes == content[100..content.len() - 100]),
        Err(_) => errors += 1,
    }
    errors
}

#[test]
fn checksums_find_everything() {
    let (old, new) = (data(40 * CHUNK), common::data(41 * CHUNK)[CHUNK..].to_vec());
    // Stored as they are: chunks of the same length in the same places.
    let written = |data: &[u8]| {
        let params = oxiblosc_core::chunk::EncodeParams { level: 0, ..Default::default() };
        let options = oxiblosc_streaming::WriteOptions::new(params).chunk_size(CHUNK).checksums(true);
        frame(data, options.sequential(true))
    };
    let source = liar(written(&new));
    for wrong in [Wrong::Swapped, Wrong::Shifted, Wrong::Stale(written(&old).into())] {
        let reader = open(source, ChecksumPolicy::Check);
        assert_eq!(errors(&reader, &new), 0);
        *source.wrong.lock().unwrap() = wrong.clone();
        assert!(errors(&reader, &new) > 0, "{wrong:?}");
    }
}

/// Without checksums: whatever chunks and index say of each other.
#[test]
fn lengths_and_headers_find_the_rest() {
    let content = data(40 * CHUNK);
    let source = liar(frame(&content, options().sequential(true)));
    for wrong in [Wrong::Swapped, Wrong::Shifted] {
        let reader = open(source, ChecksumPolicy::Ignore);
        *source.wrong.lock().unwrap() = wrong.clone();
        assert!(errors(&reader, &content) > 0, "{wrong:?}");
    }
}

const BLOCK: usize = 1024;
const BLOCKS: usize = 8;

/// Two chunks whose blocks have one stream each, all of the same encoded and decoded length: the content, the frame and
/// the ranges of the streams.
fn blocks(checksums: bool) -> (Vec<u8>, Vec<u8>, Vec<Range<u64>>) {
    let content: Vec<u8> = (0..2 * BLOCKS * BLOCK).map(|i| (i / BLOCK * 3 + i % 4 + 1) as u8).collect();
    let params = oxiblosc_core::chunk::EncodeParams {
        filters: oxiblosc_core::pipeline::FilterSlots::NONE,
        codec: oxiblosc_core::CodecId::LZ4,
        block_size: Some(BLOCK),
        split: oxiblosc_core::chunk::SplitMode::Never,
        ..Default::default()
    };
    let options = oxiblosc_streaming::WriteOptions::new(params).chunk_size(BLOCKS * BLOCK).checksums(checksums);
    let frame = frame(&content, options.fingerprint(FingerprintKind::default()));
    let reader = block_on(FrameReader::open(frame.clone())).unwrap();
    let mut streams = Vec::new();
    for chunk in 0..2 {
        let span = reader.frame().span(chunk).unwrap().unwrap();
        let bytes = &frame[span.start as usize..span.end as usize];
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        for block in 0..BLOCKS {
            let start = word(32 + 4 * block);
            let len = word(start as usize);
            assert!((5..BLOCK as u32 / 2).contains(&len), "a block that is compressed");
            streams.push(span.start + u64::from(start)..span.start + u64::from(start + 4 + len));
        }
    }
    let len = |range: &Range<u64>| range.end - range.start;
    assert!(streams.iter().all(|stream| len(stream) == len(&streams[0])));
    (content, frame, streams)
}

/// Streams must lie within their block and decode to exactly its length. Nothing else is checked.
#[test]
fn streams_are_checked_by_their_lengths_and_by_nothing_else() {
    let (content, frame, streams) = blocks(false);
    let source = liar(frame.clone());
    let reader = open(source, ChecksumPolicy::Ignore);
    let stream = |i: usize| frame[streams[i].start as usize..streams[i].end as usize].to_vec();
    let read = |wrong: Wrong, block: usize| {
        *source.wrong.lock().unwrap() = wrong;
        let at = (block * BLOCK) as u64;
        block_on(reader.bytes(at + 10..at + 20)).map(|bytes| bytes.to_vec())
    };
    let expected = |block: usize| content[block * BLOCK + 10..block * BLOCK + 20].to_vec();
    let forged = |block: usize, bytes: Vec<u8>| Wrong::Forged(vec![(streams[block].start, bytes.into())]);
    for block in [1, BLOCKS + 3] {
        assert_eq!(read(Wrong::Nothing, block).unwrap(), expected(block));
        let with_len = |change: i32| {
            let mut bytes = stream(block);
            let len = i32::from_le_bytes(bytes[..4].try_into().unwrap()) + change;
            bytes[..4].copy_from_slice(&len.to_le_bytes());
            bytes
        };
        // Beyond its block.
        for change in [1, 1000, i32::MAX / 2, i32::MIN] {
            let error = read(forged(block, with_len(change)), block).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged, "{change}: {error}");
        }
        // Truncated.
        for change in [-1, -4] {
            assert!(read(forged(block, with_len(change)), block).is_err(), "{change}");
        }
        // More or fewer bytes than the block: one long sequence of literals.
        for len in [BLOCK - 1, BLOCK + 1, 10 * BLOCK] {
            let mut literals = vec![0xF0];
            let mut rest = len - 15;
            while rest >= 255 {
                literals.push(255);
                rest -= 255;
            }
            literals.push(rest as u8);
            let mut bytes = stream(block);
            let room = bytes.len() - 4;
            literals.resize(room.max(literals.len()), 1);
            bytes[4..].copy_from_slice(&literals[..room]);
            assert!(read(forged(block, bytes), block).is_err(), "{len} bytes in a block of {BLOCK}");
        }
        // A run of another byte and a block of another chunk are well-formed.
        let mut run = stream(block);
        run[..5].copy_from_slice(&[0xF9, 0xFF, 0xFF, 0xFF, 1]);
        assert_eq!(read(forged(block, run), block).unwrap(), [7; 10]);
        assert_eq!(read(forged(block, stream(5)), block).unwrap(), expected(5));
    }
}

/// Swapped blocks and chunks are detected by checksums on every read, and by `verify` with the fingerprint alone.
#[test]
fn other_bytes_of_the_right_form_are_found_by_digests_alone() {
    for checksums in [false, true] {
        let (content, frame, streams) = blocks(checksums);
        let source = liar(frame.clone());
        let swapped = |one: Range<u64>, other: Range<u64>| {
            let bytes = |range: &Range<u64>| Bytes::copy_from_slice(&frame[range.start as usize..range.end as usize]);
            Wrong::Forged(vec![(one.start, bytes(&other)), (other.start, bytes(&one))])
        };
        let reader = open(source, ChecksumPolicy::Ignore);
        let chunk = |i: u64| reader.frame().span(i).unwrap().unwrap();
        let chunks = swapped(chunk(0), chunk(1));
        *source.wrong.lock().unwrap() = swapped(streams[2].clone(), streams[3].clone());
        let blocks = block_on(reader.bytes(2 * BLOCK as u64 + 5..3 * BLOCK as u64 + 5)).unwrap();
        assert!(blocks != content[2 * BLOCK + 5..3 * BLOCK + 5], "nobody could know");
        *source.wrong.lock().unwrap() = chunks.clone();
        assert!(block_on(reader.chunk(0)).unwrap() == content[BLOCKS * BLOCK..]);
        assert!(!block_on(reader.verify()).unwrap().is_good());
        let checking = open(source, ChecksumPolicy::Check);
        assert!(block_on(checking.verify()).unwrap().is_good());
        *source.wrong.lock().unwrap() = chunks;
        match block_on(checking.chunk(0)) {
            Err(error) => assert!(checksums && error.kind() == ErrorKind::Damaged, "{error}"),
            Ok(_) => assert!(!checksums),
        }
    }
}

/// A length that is not the one asked for says whose fault it is.
#[test]
fn other_lengths() {
    struct Short(Bytes);
    impl RangeSource for Short {
        fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
            RangeSource::size(&self.0)
        }

        fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
            Box::pin(async move {
                let mut found = self.0.read_ranges(ranges.clone()).await?;
                if ranges.iter().all(|range| range.end - range.start < 5000 && range.start > 200) {
                    found.iter_mut().for_each(|bytes| bytes.truncate(bytes.len() / 2));
                }
                Ok(found)
            })
        }
    }
    let content = data(40 * CHUNK);
    let source = Short(frame(&content, options()).into());
    let Ok(reader) = block_on(FrameReader::open(source)) else { return };
    let error: ReadError = block_on(reader.chunk(4)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(oxiblosc_core::Chain(&error).to_string().contains("violated its contract"), "{error:?}");
}
