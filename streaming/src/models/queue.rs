//! The ordered queue: chunks that are encoded concurrently are returned in the order in which they were given.

use std::future::poll_fn;

use bytes::Bytes;
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkHeader, EncodeParams};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::registry::CodecInfo;
use oxiblosc_core::{CodecId, Inline, Registry};
use shuttle::thread;

use super::explore;
use crate::compute::{Pool, block_on};
use crate::error::WriteError;
use crate::sink::encoding::{ChunkEncoders, EncodeQueue, EncodedChunk};
use crate::sink::input::ChunkInput;

pub(super) const CHUNK: usize = 64;

/// A codec that yields in the middle. It supports only streams of two alternating bytes, and fails for those that begin
/// with a certain one.
#[derive(Clone)]
struct Turns;

const BAD: u8 = 0xBB;

impl Codec for Turns {
    fn compress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        thread::yield_now();
        if src[0] == BAD {
            return Err(CodecError::Library { library: "turns", message: "a bad byte".into() });
        }
        dst[..2].copy_from_slice(&src[..2]);
        Ok(Some(2))
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        dst.chunks_mut(2).for_each(|turn| turn.copy_from_slice(src));
        Ok(dst.len())
    }
}

pub(super) fn registry() -> Registry {
    let mut registry = Registry::empty();
    let info = CodecInfo::new(CodecId(200), "turns", CodecTraits::PLAIN, oxiblosc_core::provider!());
    registry.add_codec(info, Box::new(Turns)).unwrap();
    registry
}

/// Parameters that make the encoder use the codec and nothing else.
pub(super) fn params() -> EncodeParams {
    EncodeParams { codec: CodecId(200), filters: FilterSlots::default(), typesize: 1, ..EncodeParams::default() }
}

fn encoders(pool: &Pool) -> ChunkEncoders {
    ChunkEncoders::new(params(), registry(), None, pool.clone()).unwrap()
}

/// The bytes of a chunk that begins with `first`.
pub(super) fn turns(first: u8) -> Bytes {
    [first, !first].repeat(CHUNK / 2).into()
}

/// A chunk: no two have the same bytes.
fn input(number: u64) -> ChunkInput {
    ChunkInput::Shared(turns(number as u8))
}

fn next(queue: &mut EncodeQueue) -> Option<Result<(u64, EncodedChunk), WriteError>> {
    block_on(poll_fn(|cx| queue.poll_next(cx)))
}

fn check(number: u64, encoded: &EncodedChunk) {
    assert_eq!(ChunkHeader::parse(&encoded.chunk).unwrap().cbytes, encoded.chunk.len());
    let mut decoded = vec![0; CHUNK];
    let mut decoder = ChunkDecoder::new(&registry());
    decoder.decode_into(&encoded.chunk, &ChunkContext::default(), &mut decoded, &Inline).unwrap();
    assert_eq!(decoded, turns(number as u8));
}

/// Chunks are pushed and taken in turns, with some in flight all the time.
#[test]
fn chunks_leave_in_order() {
    explore("queue, in order", || {
        let pool = Pool::new(2);
        let (encoders, mut queue) = (encoders(&pool), EncodeQueue::default());
        drop(pool);
        let (mut pushed, mut taken) = (0, 0);
        while taken < 5 {
            while pushed < 5 && queue.chunks() < 3 {
                queue.push(pushed, CHUNK, encoders.encode(pushed, input(pushed)));
                pushed += 1;
            }
            let (number, encoded) = next(&mut queue).expect("there are some").unwrap();
            assert_eq!(number, taken);
            check(number, &encoded);
            taken += 1;
            assert_eq!(queue.bytes(), queue.chunks() * CHUNK);
        }
        assert!(next(&mut queue).is_none() && queue.is_empty());
    });
}

/// Two sinks share a pool; each gets its own chunks.
#[test]
fn two_queues_share_a_pool() {
    explore("queue, two of one pool", || {
        let pool = Pool::new(2);
        let sink = |pool: Pool, first: u64| {
            let (encoders, mut queue) = (encoders(&pool), EncodeQueue::default());
            drop(pool);
            (first..first + 2).for_each(|number| queue.push(number, CHUNK, encoders.encode(number, input(number))));
            for expected in first..first + 2 {
                let (number, encoded) = next(&mut queue).expect("there are some").unwrap();
                assert_eq!(number, expected);
                check(number, &encoded);
            }
        };
        let other = thread::spawn({
            let pool = pool.clone();
            move || sink(pool, 10)
        });
        sink(pool, 20);
        other.join().unwrap();
    });
}

/// A chunk that cannot be encoded is an error in its turn, and with its number.
#[test]
fn an_error_comes_in_its_turn() {
    explore("queue, an error", || {
        let pool = Pool::new(2);
        let (encoders, mut queue) = (encoders(&pool), EncodeQueue::default());
        drop(pool);
        let bad = ChunkInput::Shared(turns(BAD));
        for (number, input) in [(0, input(0)), (1, bad), (2, input(2))] {
            queue.push(number, CHUNK, encoders.encode(number, input));
        }
        check(0, &next(&mut queue).expect("the first").expect("it is good").1);
        let error = next(&mut queue).expect("the second").err();
        let Some(WriteError::Encode { chunk: 1, source }) = error else { panic!("{error:?}") };
        assert!(format!("{source:?}").contains("a bad byte"), "{source:?}");
        check(2, &next(&mut queue).expect("the third").expect("it is good").1);
    });
}

/// After a queue is dropped with chunks in flight, the pool still works, and its buffers are no longer written to.
#[test]
fn a_dropped_queue_leaves_the_pool_whole() {
    explore("queue, dropped", || {
        let pool = Pool::new(2);
        let (encoders, mut queue) = (encoders(&pool), EncodeQueue::default());
        (0..3).for_each(|number| queue.push(number, CHUNK, encoders.encode(number, input(number))));
        let (_, first) = next(&mut queue).expect("the first").unwrap();
        drop(queue);
        let mut again = EncodeQueue::default();
        again.push(7, CHUNK, encoders.encode(7, input(7)));
        drop((encoders, pool));
        let (number, encoded) = next(&mut again).expect("the only one").unwrap();
        assert_eq!(number, 7);
        check(7, &encoded);
        check(0, &first);
    });
}
