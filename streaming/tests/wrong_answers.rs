//! Sources whose answers are as long as asked for and are not what was asked for.

mod common;

use std::io;
use std::ops::Range;

use bytes::Bytes;
use common::{CHUNK, data, frame, options};
use futures::StreamExt;
use futures::future::BoxFuture;
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
    assert!(oxiblosc_core::Chain(&error).to_string().contains("broke its contract"), "{error:?}");
}
