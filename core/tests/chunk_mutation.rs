//! Whatever the bytes: an error, or some data, but never a panic.

mod support;

use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkFormat, EncodeParams, LazyChunk, SpecialValue};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{CodecId, FilterId, Inline, Limits};
use proptest::collection::vec;
use proptest::prelude::*;
use support::{Random, Threads, data, encode, encoder, linked, map, slots};

/// One chunk of every kind.
fn chunks() -> Vec<Vec<u8>> {
    let base = EncodeParams { typesize: 4, block_size: Some(512), ..EncodeParams::default() };
    let mut chunks = Vec::new();
    let ctx = ChunkContext::default();
    for codec in [CodecId::BLOSCLZ, CodecId::LZ4, CodecId::LZ4HC, CodecId::ZLIB, CodecId::ZSTD] {
        let all = [(FilterId::DELTA, 0), (FilterId::BITSHUFFLE, 0), (FilterId::SHUFFLE, 2), (FilterId::BYTEDELTA, 4)];
        for filters in [FilterSlots::NONE, FilterSlots::SHUFFLE, slots(&all)] {
            let params = EncodeParams { codec, filters, ..base.clone() };
            chunks.push(encode(&params, &data(1, 1999)));
            chunks.push(encode(&params, &data(4, 1999)));
            chunks
                .push(encoder(&params).encode_blocks(&[data(1, 300), data(2, 5), data(3, 70)], &ctx, &Inline).unwrap());
        }
        let params = EncodeParams { codec, format: ChunkFormat::Blosc1, ..base.clone() };
        chunks.push(encode(&params, &data(1, 1999)));
    }
    for codec in [CodecId::LZ4, CodecId::ZSTD] {
        let params = EncodeParams { codec, use_dict: true, filters: FilterSlots::NONE, ..base.clone() };
        chunks.push(encode(&params, &data(2, 8000)));
    }
    chunks.push(encode(&base, &data(0, 300)));
    chunks.push(encoder(&base).encode_special(SpecialValue::Value(b"abcd"), 400).unwrap());
    chunks.push(encoder(&base).encode_special(SpecialValue::Nan, 400).unwrap());
    chunks
}

/// Everything that reads a chunk. A damaged size may ask for up to this much memory, and no more.
fn read(decoder: &mut ChunkDecoder, chunk: &[u8]) {
    let ctx = ChunkContext::default();
    let whole = decoder.decode(chunk, &ctx, &Inline);
    if let Ok(whole) = &whole {
        let mut dst = vec![0; whole.len()];
        decoder.decode_into(chunk, &ctx, &mut dst, &Threads(2)).unwrap();
        assert_eq!(dst, *whole, "decoded differently on two threads");
    }
    let _ = decoder.decode_items(chunk, 1..3, &ctx);
    let _ = decoder.decode_blocks(chunk, &ctx);
    let _ = LazyChunk::parse(chunk);
    let Ok(map) = map(chunk) else { return };
    let mut first: Option<Vec<u8>> = None;
    for block in 0..map.block_count().min(8) {
        let Some(span) = chunk.get(map.span(block)) else { continue };
        let decoded = decoder.decode_block(&map, block, span, first.as_deref(), &ctx);
        if let (Ok(whole), Ok(decoded), Some(bytes)) = (&whole, &decoded, map.block_bytes(block)) {
            assert_eq!(decoded[..], whole[bytes], "block {block} differs from the whole");
        }
        if block == 0 {
            first = decoded.ok();
        }
    }
}

fn decoder() -> ChunkDecoder {
    let mut limits = Limits::default();
    limits.chunk_bytes = 1 << 20;
    ChunkDecoder::new(linked()).with_limits(limits)
}

#[test]
fn every_byte_of_the_head_takes_every_suspicious_value() {
    let mut decoder = decoder();
    for chunk in chunks() {
        for at in 0..chunk.len().min(72) {
            for value in [0, 1, 2, 0x0f, 0x10, 0x20, 0x7f, 0x80, 0xff, chunk[at] ^ 1, chunk[at].wrapping_add(1)] {
                let mut chunk = chunk.clone();
                chunk[at] = value;
                read(&mut decoder, &chunk);
            }
        }
    }
}

#[test]
fn every_truncation() {
    let mut decoder = decoder();
    for chunk in chunks() {
        for len in (0..chunk.len().min(80)).chain((80..chunk.len()).step_by(7)) {
            assert!(decoder.decode(&chunk[..len], &ChunkContext::default(), &Inline).is_err());
            // The same with a header that says so.
            let mut cut = chunk[..len].to_vec();
            if let Some(cbytes) = cut.get_mut(12..16) {
                cbytes.copy_from_slice(&(len as u32).to_le_bytes());
            }
            read(&mut decoder, &cut);
        }
    }
}

#[test]
fn random_damage() {
    let mut random = Random(5);
    let mut decoder = decoder();
    let chunks = chunks();
    for _ in 0..6000 {
        let mut chunk = chunks[random.below(chunks.len())].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(chunk.len());
            match random.below(3) {
                0 => chunk[at] = random.next() as u8,
                1 => chunk[at] ^= 1 << random.below(8),
                // A word, where they usually are.
                _ => {
                    let at = at & !3;
                    if let Some(word) = chunk.get_mut(at..at + 4) {
                        let value: i32 = random.pick(&[0, 1, -1, i32::MIN, i32::MAX, -255, -256, 0x1000]);
                        word.copy_from_slice(&value.to_le_bytes());
                    }
                }
            }
        }
        read(&mut decoder, &chunk);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Headers of any kind in front of anything.
    #[test]
    fn arbitrary_bytes(
        head in vec(any::<u8>(), 32),
        extended in any::<bool>(),
        nbytes in 0..5000u32,
        blocksize in 1..3000u32,
        body in vec(prop_oneof![Just(0u8), Just(40), any::<u8>()], 0..400),
    ) {
        let mut chunk = [head, body].concat();
        if extended {
            chunk[2] |= 0x05;
        }
        chunk[4..8].copy_from_slice(&nbytes.to_le_bytes());
        chunk[8..12].copy_from_slice(&blocksize.to_le_bytes());
        let len = chunk.len() as u32;
        chunk[12..16].copy_from_slice(&len.to_le_bytes());
        read(&mut decoder(), &chunk);
    }

    /// What goes in comes out, however it is encoded.
    #[test]
    fn any_data_and_parameters(
        src in vec(prop_oneof![3 => Just(0u8), 1 => any::<u8>()], 0..3000),
        codec in prop::sample::select(vec![CodecId::BLOSCLZ, CodecId::LZ4, CodecId::LZ4HC, CodecId::ZLIB, CodecId::ZSTD]),
        level in 0..=9u8,
        typesize in 1..=20usize,
        block_size in prop::option::of(1..2000usize),
        filters in vec(prop::sample::select(vec![FilterId::SHUFFLE, FilterId::BITSHUFFLE, FilterId::DELTA]), 0..=6),
        use_dict in any::<bool>(),
    ) {
        let filters: Vec<_> = filters.into_iter().map(|id| (id, 0)).collect();
        let use_dict = use_dict && !matches!(codec, CodecId::BLOSCLZ | CodecId::ZLIB);
        let params = EncodeParams {
            codec, level, typesize, block_size, filters: slots(&filters), use_dict, ..EncodeParams::default()
        };
        let chunk = encode(&params, &src);
        prop_assert!(chunk.len() <= src.len() + 32);
        prop_assert_eq!(decoder().decode(&chunk, &ChunkContext::default(), &Inline).unwrap(), src);
    }
}
