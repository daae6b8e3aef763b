//! The filter keeps the promises of its trait and of what it declares, and does what its format says.

use oxiblosc_conformance::FilterCheck;
use oxiblosc_conformance::data::{Random, lengths};
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{CodecId, FilterId, Inline, Registry};
use oxiblosc_timestamps::{Order, TIMESTAMPS, Timestamps};

const ORDERS: [Order; 2] = [Order::First, Order::Second];

fn context(typesize: usize, order: Order) -> BlockContext<'static> {
    let mut ctx = BlockContext::new(typesize);
    ctx.meta = order.meta();
    ctx
}

fn forward(ctx: &BlockContext<'_>, src: &[u8]) -> Vec<u8> {
    let mut dst = vec![0xA5; src.len()];
    Timestamps.forward(ctx, src, &mut dst).unwrap();
    dst
}

fn backward(ctx: &BlockContext<'_>, src: &[u8]) -> Vec<u8> {
    let mut dst = vec![0x5A; src.len()];
    Timestamps.backward(ctx, src, &mut dst).unwrap();
    dst
}

fn linked() -> &'static Registry {
    oxiblosc_plugins::link();
    Registry::linked().unwrap()
}

fn chunk(codec: CodecId, filters: &[(FilterId, u8)], data: &[u8]) -> Vec<u8> {
    let filters = FilterSlots::from_list(filters).unwrap();
    let params = EncodeParams { codec, typesize: 8, filters, ..EncodeParams::default() };
    let chunk = ChunkEncoder::new(&params, linked()).unwrap().encode(data, &ChunkContext::default(), &Inline).unwrap();
    let back = ChunkDecoder::new(linked()).decode(&chunk, &ChunkContext::default(), &Inline).unwrap();
    assert!(back == data, "other bytes come back");
    chunk
}

#[test]
fn registers_itself() {
    let info = linked().filter_by_name("timestamps").unwrap().info();
    assert_eq!((info.id, info.provider.name), (TIMESTAMPS, "oxiblosc-timestamps"));
    assert_eq!(TIMESTAMPS, FilterId(227), "the id that the table reserves");
}

#[test]
fn keeps_its_promises() {
    let check = FilterCheck::new(linked(), TIMESTAMPS).typesizes(&[4, 8]).metas(&[0, 1, 2]);
    check.run().unwrap().assert_passed();
}

#[test]
fn the_format_by_hand() {
    // Steps of 10, 10 and 9, and three bytes that are no item.
    let src: Vec<u8> = [100u32, 110, 120, 129].into_iter().flat_map(u32::to_le_bytes).chain([1, 2, 3]).collect();
    let zeros = [0; 12];
    // 100 and the differences 10, 10, 9, each doubled.
    let first = [&[200, 20, 20, 18][..], &zeros, &[1, 2, 3]].concat();
    assert_eq!(forward(&context(4, Order::First), &src), first);
    // 100, then 10 - 100, then 0 and -1.
    let second = [&[200, 179, 0, 1][..], &zeros, &[1, 2, 3]].concat();
    assert_eq!(forward(&context(4, Order::Second), &src), second);
}

#[test]
fn every_length_and_the_extremes_come_back() {
    let mut random = Random::new(3);
    for typesize in [4, 8] {
        for len in (0..40).chain(lengths(typesize)) {
            let noise: Vec<u8> = (0..len).map(|_| random.next_u64() as u8).collect();
            // Differences that leave the type: from the smallest item to the largest and back.
            let leaps = (0..len).map(|i| if i / typesize % 3 == 1 { 0xFF } else { 0x80 }).collect();
            for src in [noise, leaps] {
                for order in ORDERS {
                    let ctx = context(typesize, order);
                    assert_eq!(backward(&ctx, &forward(&ctx, &src)), src, "{len} bytes of {typesize}, {order:?}");
                    // Everything is a filtered block of something.
                    assert_eq!(forward(&ctx, &backward(&ctx, &src)), src, "{len} bytes of {typesize}, {order:?}");
                }
            }
        }
    }
}

#[test]
fn what_it_declares_is_true() {
    let traits = linked().filter(TIMESTAMPS).unwrap().info().traits;
    assert!(traits.keeps_zeros && traits.groups_bytes && !traits.lossy && !traits.positional);
    for (typesize, order) in [4, 8].into_iter().flat_map(|typesize| ORDERS.map(|order| (typesize, order))) {
        assert_eq!(backward(&context(typesize, order), &[0; 1003]), [0; 1003]);
    }
    // A chunk of zeros is its header.
    assert_eq!(chunk(CodecId::LZ4, &[(TIMESTAMPS, 0)], &[0; 80_000]).len(), 32);
}

#[test]
fn even_steps_are_zeros_and_larger_ones_small() {
    let times: Vec<u8> = (0..1000u64).flat_map(|i| (1_700_000_000 + 60 * i).to_le_bytes()).collect();
    let filtered = forward(&context(8, Order::Second), &times);
    let planes: Vec<&[u8]> = filtered.chunks(1000).collect();
    assert!(planes.iter().all(|plane| plane[2..].iter().all(|byte| *byte == 0)));
    let filtered = forward(&context(8, Order::First), &times);
    assert!(filtered[1..1000].iter().all(|byte| *byte == 120));
}

#[test]
fn it_gains_on_the_built_in_filters() {
    // A counter whose rate drifts.
    let mut total = 0;
    let counts = (0..50_000u32).flat_map(|i| {
        total += (1e6 + 5e5 * (f64::from(i) / 3000.0).sin()) as u64;
        total.to_le_bytes()
    });
    let counts: Vec<u8> = counts.collect();
    let shuffle = (FilterId::SHUFFLE, 0);
    for codec in [CodecId::LZ4, CodecId::ZSTD] {
        let [first, second] = ORDERS.map(|order| chunk(codec, &[(TIMESTAMPS, order.meta())], &counts).len());
        assert!(2 * second < first, "{codec}: {second} bytes, and {first} with differences of first order");
        for filters in [&[shuffle][..], &[(FilterId::DELTA, 0), shuffle], &[shuffle, (FilterId::BYTEDELTA, 0)]] {
            let theirs = chunk(codec, filters, &counts).len();
            assert!(3 * second < theirs, "{codec}: {second} bytes, and {theirs} with {filters:?}");
        }
    }
}

#[test]
fn what_it_does_not_work_on_is_an_error() {
    let mut ctx = BlockContext::new(2);
    let error = Timestamps.forward(&ctx, &[0; 8], &mut [0; 8]).unwrap_err();
    assert!(matches!(error, FilterError::TypeSize { typesize: 2, .. }), "{error}");
    (ctx.typesize, ctx.meta) = (4, 3);
    for error in [
        Timestamps.forward(&ctx, &[0; 8], &mut [0; 8]).unwrap_err(),
        Timestamps.backward(&ctx, &[0; 8], &mut [0; 8]).unwrap_err(),
    ] {
        assert!(matches!(error, FilterError::Meta { meta: 3, typesize: 4, .. }), "{error}");
    }
}
