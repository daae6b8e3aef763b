//! Sources to which a request costs much: what is asked of them, and what is kept.

mod common;

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use common::Counting;
use futures::future::BoxFuture;
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::nd::Selection;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{FilterId, register_filter};
use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::{ReadOptions, WriteOptions, block_on};

/// A source of which every request costs as much as so many bytes.
struct Far(Counting, u64);

impl RangeSource for Far {
    fn size(&self) -> BoxFuture<'_, io::Result<u64>> {
        RangeSource::size(&self.0)
    }

    fn read_ranges(&self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, io::Result<Vec<Bytes>>> {
        self.0.read_ranges(ranges)
    }

    fn open(&self, head: u64) -> BoxFuture<'_, io::Result<(u64, Bytes)>> {
        self.0.open(head)
    }

    fn request_cost(&self) -> u64 {
        self.1
    }
}

const SIDE: u64 = 512;

/// Four chunks of 256 x 256 items that do not compress, in blocks of 32 rows.
fn array() -> (Vec<u8>, Vec<u8>) {
    let mut random = common::Random::new(5);
    let content: Vec<u8> = (0..4 * SIDE * SIDE).map(|_| random.below(256) as u8).collect();
    let params = EncodeParams { typesize: 4, level: 1, ..EncodeParams::default() };
    let options = ArrayOptions::new([SIDE, SIDE], "<u4").chunks([256, 256]).blocks([32, 256]);
    let mut sink = options.frame(WriteOptions::new(params)).in_memory().unwrap();
    block_on(async {
        futures::AsyncWriteExt::write_all(&mut sink, &content).await.unwrap();
        sink.close().await.unwrap();
    });
    (content, sink.into_target().into_bytes())
}

#[test]
fn blocks_where_they_are_worth_their_requests() {
    let (content, frame) = array();
    for (cost, rounds, at_most) in [(0, 2, 70_000), (32 << 10, 2, 70_000), (300 << 10, 1, 270_000)] {
        let source = Arc::new(Far(Counting::new(frame.clone()), cost));
        let array = block_on(async { NdArray::new(ReadOptions::new().open(Arc::clone(&source)).await?) }).unwrap();
        let (opening, _) = source.0.take();
        assert!(opening <= 2, "{opening} rounds to open");
        let row = block_on(array.read(&Selection::axes([300..301i64, 256..512]))).unwrap().into_bytes();
        let at = 4 * (300 * SIDE + 256) as usize;
        assert_eq!(row, content[at..at + 1024]);
        let (found, bytes) = source.0.take();
        // A chunk stored as it is needs no block starts.
        assert!(found <= rounds && bytes <= at_most, "cost {cost}: {found} rounds, {bytes} bytes");
    }
}

#[test]
fn what_is_kept_is_not_asked_for_again() {
    let (content, frame) = array();
    for limit in [0, 40_000, 1 << 30] {
        let source = Arc::new(Far(Counting::new(frame.clone()), 32 << 10));
        let options = ReadOptions::new().cache_bytes(limit);
        let array = block_on(async { NdArray::new(options.open(Arc::clone(&source)).await?) }).unwrap();
        let read = |rows: Range<i64>, columns: Range<i64>| {
            source.0.take();
            let found = block_on(array.clone().read(&Selection::axes([rows.clone(), columns.clone()]))).unwrap();
            let expected = rows.flat_map(|row| {
                let at = |column: i64| 4 * (row as usize * SIDE as usize + column as usize);
                content[at(columns.start)..at(columns.end)].to_vec()
            });
            assert_eq!(found.into_bytes(), expected.collect::<Vec<u8>>());
            source.0.take()
        };
        let first = read(5..6, 0..10);
        assert!(first.0 > 0);
        let again = read(6..7, 3..20);
        assert_eq!(again.0 == 0, limit >= 40_000, "{again:?} of {limit}");
        // Another block of the chunk: only that.
        let more = read(40..41, 0..10);
        assert!(more.1 <= first.1, "{more:?} {first:?}");
        // All of it, and then nothing.
        read(0..512, 0..512);
        let nothing = read(0..512, 0..512);
        assert_eq!(nothing == (0, 0), limit > 1 << 20, "{nothing:?} of {limit}");
    }
}

/// Counts the blocks that are decoded.
#[derive(Clone)]
struct Counted;

static DECODED: AtomicU64 = AtomicU64::new(0);
const COUNTED: FilterId = FilterId(212);
register_filter!(COUNTED, "counted", FilterTraits::LOSSLESS, || Box::new(Counted));

impl Filter for Counted {
    fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s ^ 0x55);
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        DECODED.fetch_add(1, Ordering::SeqCst);
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s ^ 0x55);
        Ok(())
    }
}

/// Slices, items and ranges of bytes that overlap share blocks: no request and no decoding for what is there.
#[test]
fn decoded_blocks_are_shared() {
    let content: Vec<u8> = (0..SIDE * SIDE).flat_map(|i| (i as u32 / 7).to_le_bytes()).collect();
    for delta in [false, true] {
        let filters = match delta {
            false => FilterSlots::single(COUNTED),
            // Blocks that need the first one of their chunk.
            true => FilterSlots::from_list(&[(FilterId::DELTA, 0), (COUNTED, 0)]).unwrap(),
        };
        let params = EncodeParams { typesize: 4, filters, ..EncodeParams::default() };
        let options = ArrayOptions::new([SIDE, SIDE], "<u4").chunks([256, 256]).blocks([32, 256]);
        let mut sink = options.frame(WriteOptions::new(params)).in_memory().unwrap();
        block_on(async {
            futures::AsyncWriteExt::write_all(&mut sink, &content).await.unwrap();
            sink.close().await.unwrap();
        });
        let frame = sink.into_target().into_bytes();
        for (cost, limit) in [(0, Some(400_000)), (1 << 20, None), (1 << 20, Some(70_000)), (0, Some(100)), (0, None)] {
            let source = Arc::new(Far(Counting::new(frame.clone()), cost));
            let mut options = ReadOptions::new();
            if let Some(limit) = limit {
                options = options.cache_bytes(limit);
            }
            let keeps = limit.unwrap_or(if cost > 0 { ReadOptions::CACHE_BYTES } else { 0 }) > 1000;
            let array = block_on(async { NdArray::new(options.open(Arc::clone(&source)).await?) }).unwrap();
            let frame = array.reader().clone();
            let what = format!("delta {delta}, cost {cost}, limit {limit:?}");
            let work = || (source.0.take().0, DECODED.swap(0, Ordering::SeqCst));
            let row = |from: usize, to: usize| content[from * 2048 + 40..to * 2048 + 80].to_vec();
            let slice = |rows: Range<i64>| {
                let expected: Vec<u8> = rows.clone().flat_map(|r| row(r as usize, r as usize)).collect();
                let found = block_on(array.read(&Selection::axes([rows, 10..20i64]))).unwrap().into_bytes();
                assert!(found == expected, "{what}");
                work()
            };
            work();
            let first = slice(40..44);
            assert!(first.0 > 0 && first.1 > 0, "{what}: {first:?}");
            let second = slice(42..60);
            assert_eq!(second == (0, 0), keeps, "{what}: {second:?}");
            // Items and bytes of the frame: of chunk 0, in which they lie block by block.
            let at = 33 * 256 * 4;
            let expected = &content[33 * 2048..33 * 2048 + 100];
            assert_eq!(block_on(frame.bytes(at..at + 100)).unwrap(), expected, "{what}");
            assert_eq!(block_on(frame.items(at / 4..at / 4 + 25)).unwrap(), expected, "{what}");
            assert_eq!(work() == (0, 0), keeps, "{what}");
            // Part of it is there: the rest is fetched, and all of it right.
            slice(20..70);
            let all = slice(20..70);
            assert_eq!(all == (0, 0), keeps && limit != Some(70_000), "{what}: {all:?}");
        }
    }
}
