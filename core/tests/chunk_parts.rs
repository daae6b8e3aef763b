//! Parts of chunks: single blocks, items, blocks of variable length, special values, the lazy form.

mod support;

use std::cell::RefCell;

use oxiblosc_core::chunk::{
    ChunkContext, ChunkDecoder, ChunkError, ChunkHeader, EncodeParams, LazyChunk, SpecialValue, SplitMode,
    special_chunk,
};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{CodecId, FilterId, Inline, Limits, Registry};
use support::{Random, Threads, data, decode, encode, encoder, linked, map, slots};

fn ctx() -> ChunkContext<'static> {
    ChunkContext::default()
}

#[test]
fn only_the_spans_that_are_needed_are_read() {
    let src = data(1, 10_000);
    let plain = EncodeParams { typesize: 4, block_size: Some(1024), ..EncodeParams::default() };
    let delta = EncodeParams { filters: slots(&[(FilterId::DELTA, 0), (FilterId::SHUFFLE, 0)]), ..plain.clone() };
    for (params, wanted, blocks) in [
        (&plain, 0..0, &[][..]),
        (&plain, 0..1, &[0]),
        (&plain, 1023..1025, &[0, 1]),
        (&plain, 2048..4096, &[2, 3]),
        (&plain, 9999..10_000, &[9]),
        (&delta, 0..1024, &[0]),
        (&delta, 5000..5001, &[0, 4]),
        (&delta, 1000..2000, &[0, 1]),
        (&delta, 9000..10_000, &[0, 8, 9]),
    ] {
        let chunk = encode(params, &src);
        let map = map(&chunk).unwrap();
        assert_eq!(map.blocks_needed(wanted.clone(), linked()).unwrap().collect::<Vec<_>>(), blocks);
        let asked = RefCell::new(Vec::new());
        let mut dst = vec![0; wanted.len()];
        let span_of = |block| {
            asked.borrow_mut().push(block);
            chunk.get(map.span(block))
        };
        ChunkDecoder::new(linked()).decode_spans_into(&map, wanted.clone(), span_of, &ctx(), &mut dst).unwrap();
        assert_eq!(dst, src[wanted]);
        assert_eq!(asked.into_inner(), blocks);
    }
}

#[test]
fn parts_of_a_stored_chunk_are_refused_when_the_whole_is() {
    let src = data(0, 200);
    let params = EncodeParams { level: 0, typesize: 4, ..EncodeParams::default() };
    let chunk = encode(&params, &src);
    let mut decoder = ChunkDecoder::new(linked());
    let mut refused = 0;
    for at in 0..ChunkHeader::EXTENDED_LEN {
        for byte in 0..=255 {
            let mut damaged = chunk.clone();
            damaged[at] = byte;
            let mut part = [0; 50];
            let read = decoder.decode_bytes_into(&damaged, 150..200, &ctx(), &mut part);
            match decoder.decode(&damaged, &ctx(), &Inline) {
                Ok(whole) if whole.len() >= 200 => {
                    read.unwrap();
                    assert_eq!(part, whole[150..200], "byte {at} is {byte}");
                }
                whole => {
                    refused += 1;
                    assert!(read.is_err(), "byte {at} is {byte}: {whole:?}");
                }
            }
        }
    }
    assert!(refused > 1000);
    for len in 0..chunk.len() {
        decoder.decode_bytes_into(&chunk[..len], 0..1, &ctx(), &mut [0]).unwrap_err();
    }
    let mut limits = Limits::default();
    limits.chunk_bytes = 199;
    let mut limited = ChunkDecoder::new(linked()).with_limits(limits);
    assert!(matches!(limited.decode_bytes_into(&chunk, 0..1, &ctx(), &mut [0]), Err(ChunkError::Limit { .. })));
}

#[test]
fn missing_pieces_are_named() {
    let src = data(1, 4000);
    let filters = slots(&[(FilterId::DELTA, 0), (FilterId::SHUFFLE, 0)]);
    let params = EncodeParams { typesize: 4, filters, block_size: Some(1024), ..EncodeParams::default() };
    let chunk = encode(&params, &src);
    let map = map(&chunk).unwrap();
    let mut decoder = ChunkDecoder::new(linked());
    let span = &chunk[map.span(2)];
    for (reference, length) in [(None, 0), (Some(&src[..1023]), 1023)] {
        match decoder.decode_block(&map, 2, span, reference, &ctx()) {
            Err(ChunkError::Reference { block: 2, expected: 1024, found }) => assert_eq!(found, length),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(decoder.decode_block(&map, 2, span, Some(&src[..1024]), &ctx()).unwrap(), src[2048..3072]);
    // The short last block needs no more reference than it has bytes.
    let last = &chunk[map.span(3)];
    assert_eq!(decoder.decode_block(&map, 3, last, Some(&src[..928]), &ctx()).unwrap(), src[3072..]);
    assert!(matches!(
        decoder.decode_block(&map, 2, &span[1..], Some(&src[..1024]), &ctx()),
        Err(ChunkError::Truncated { offset, .. }) if offset == map.span(2).start
    ));
    assert!(matches!(
        decoder.decode_block(&map, 4, &[], None, &ctx()),
        Err(ChunkError::OutOfRange { what: "blocks", start: 4, end: 5, available: 4 })
    ));
    let nothing = |_| None;
    assert!(matches!(
        decoder.decode_spans_into(&map, 0..10, nothing, &ctx(), &mut [0; 10]),
        Err(ChunkError::Truncated { .. })
    ));
}

#[test]
fn blocks_in_any_order() {
    let src = data(1, 5000);
    let params = EncodeParams { typesize: 4, block_size: Some(1024), ..EncodeParams::default() };
    let chunk = encode(&params, &src);
    let spans: Vec<_> = (0..5).map(|block| map(&chunk).unwrap().span(block)).collect();
    let mut shuffled = chunk[..52].to_vec();
    for block in [3, 0, 4, 2, 1] {
        let start = shuffled.len() as u32;
        shuffled[32 + 4 * block..][..4].copy_from_slice(&start.to_le_bytes());
        shuffled.extend_from_slice(&chunk[spans[block].clone()]);
    }
    assert_eq!(decode(&shuffled).unwrap(), src);
    let map = map(&shuffled).unwrap();
    for block in 0..5 {
        assert_eq!(map.span(block).len(), spans[block].len());
        let decoded = ChunkDecoder::new(linked()).decode_block(&map, block, &shuffled[map.span(block)], None, &ctx());
        assert_eq!(decoded.unwrap(), src[map.block_bytes(block).unwrap()]);
    }
}

#[test]
fn items() {
    let mut random = Random(3);
    for typesize in [1, 2, 3, 7, 16, 255, 256, 300] {
        for filters in [FilterSlots::SHUFFLE, slots(&[(FilterId::DELTA, 0), (FilterId::BITSHUFFLE, 0)])] {
            // Half an item remains at the end and is out of reach.
            let src = data(1, 40 * typesize + typesize / 2);
            let params = EncodeParams {
                typesize,
                filters,
                block_size: Some(8 * typesize),
                codec: CodecId::LZ4,
                ..EncodeParams::default()
            };
            let chunk = encode(&params, &src);
            let mut ctx = ctx();
            // The header says 1 above 255; who knows the frame knows better.
            ctx.item_size = (typesize > 255).then_some(typesize);
            let mut decoder = ChunkDecoder::new(linked());
            for _ in 0..20 {
                let start = random.below(41);
                let end = start + random.below(41 - start);
                let items = decoder.decode_items(&chunk, start..end, &ctx).unwrap();
                assert_eq!(items, src[start * typesize..end * typesize], "{start}..{end} of {typesize}");
            }
            assert!(matches!(
                decoder.decode_items(&chunk, 0..41, &ctx),
                Err(ChunkError::OutOfRange { what: "items", start: 0, end: 41, available: 40 })
            ));
        }
    }
}

#[test]
fn stored_chunks_are_read_in_place() {
    let src = data(0, 5000);
    let chunk = encode(&EncodeParams { typesize: 4, block_size: Some(1024), ..EncodeParams::default() }, &src);
    let map = map(&chunk).unwrap();
    assert!(map.header().is_stored());
    assert_eq!(chunk[map.stored_bytes(1000..3000).unwrap()], src[1000..3000]);
    assert_eq!(map.stored_bytes(4000..5001), None);
    assert_eq!(chunk[map.span(4)], src[4096..]);
    assert!(map.span(5).is_empty());
}

#[test]
fn special_values() {
    let repeated = |item: &[u8], len: usize| item.iter().copied().cycle().take(len).collect::<Vec<u8>>();
    let wide: Vec<u8> = (0..300u32).map(|i| i as u8).collect();
    for (value, typesize, nbytes, expected) in [
        (SpecialValue::Zero, 4, 1003, vec![0; 1003]),
        (SpecialValue::Uninit, 8, 1000, vec![0; 1000]),
        (SpecialValue::Nan, 4, 1000, repeated(&f32::NAN.to_le_bytes(), 1000)),
        (SpecialValue::Nan, 8, 1000, repeated(&f64::NAN.to_le_bytes(), 1000)),
        (SpecialValue::Value(b"x"), 1, 77, vec![b'x'; 77]),
        (SpecialValue::Value(b"abcdefg"), 7, 7007, repeated(b"abcdefg", 7007)),
        (SpecialValue::Value(&wide), 300, 3000, repeated(&wide, 3000)),
        (SpecialValue::Zero, 1, 0, vec![]),
    ] {
        let block_size = Some(1000);
        let params = EncodeParams { typesize, block_size, ..EncodeParams::default() };
        let chunk = encoder(&params).encode_special(value, nbytes).unwrap();
        let mut decoder = ChunkDecoder::new(&Registry::empty());
        assert_eq!(decoder.decode(&chunk, &ctx(), &Inline).unwrap(), expected, "{value:?}");
        let map = map(&chunk).unwrap();
        for block in 0..map.block_count() {
            let bytes = map.block_bytes(block).unwrap();
            assert_eq!(decoder.decode_block(&map, block, &[], None, &ctx()).unwrap(), expected[bytes], "{value:?}");
        }
        // A part that begins inside an item keeps its phase.
        for start in [0, 1, 10, 301, nbytes] {
            let bytes = start.min(nbytes)..nbytes.min(start + 500);
            let mut part = vec![1; bytes.len()];
            decoder.decode_bytes_into(&chunk, bytes.clone(), &ctx(), &mut part).unwrap();
            assert_eq!(part, expected[bytes], "{value:?}");
        }
    }
    for (value, nbytes, typesize) in [
        (SpecialValue::Nan, 8, 2),
        (SpecialValue::Nan, 7, 4),
        (SpecialValue::Uninit, 7, 4),
        (SpecialValue::Value(b"ab"), 8, 4),
        (SpecialValue::Value(b"abcd"), 7, 4),
        (SpecialValue::Value(b"abcd"), 0, 4),
        (SpecialValue::Value(b""), 8, 0),
    ] {
        assert!(matches!(special_chunk(value, nbytes, typesize, 8), Err(ChunkError::Parameter { .. })), "{value:?}");
    }
    assert!(matches!(special_chunk(SpecialValue::Zero, 1 << 31, 1, 8), Err(ChunkError::Limit { .. })));
}

#[test]
fn blocks_of_variable_length() {
    let mut random = Random(4);
    let mut decoder = ChunkDecoder::new(linked());
    for codec in [CodecId::BLOSCLZ, CodecId::LZ4, CodecId::ZLIB, CodecId::ZSTD] {
        for (filters, typesize) in [
            (FilterSlots::NONE, 1),
            (FilterSlots::SHUFFLE, 4),
            (slots(&[(FilterId::DELTA, 0), (FilterId::BITSHUFFLE, 0)]), 2),
        ] {
            for level in [0, 1, 9] {
                let lens: Vec<usize> = (0..9).map(|_| 1 + random.below(3000)).chain([1, 2, 31]).collect();
                let blocks: Vec<Vec<u8>> = lens.iter().enumerate().map(|(i, &len)| data(i, len)).collect();
                let params = EncodeParams { codec, filters, typesize, level, ..EncodeParams::default() };
                let mut encoder = encoder(&params);
                let chunk = encoder.encode_blocks(&blocks, &ctx(), &Inline).unwrap();
                assert_eq!(encoder.encode_blocks(&blocks, &ctx(), &Threads(3)).unwrap(), chunk);
                let header = ChunkHeader::parse(&chunk).unwrap();
                assert!(header.has_vl_blocks() && header.version == 6 && header.blocksize == blocks.len());
                assert!(chunk.len() <= 32 + 8 * blocks.len() + blocks.concat().len());

                assert_eq!(decoder.decode_blocks(&chunk, &ctx()).unwrap(), blocks);
                assert_eq!(decoder.decode(&chunk, &ctx(), &Inline).unwrap(), blocks.concat());
                let mut dst = vec![0; header.nbytes];
                decoder.decode_into(&chunk, &ctx(), &mut dst, &Threads(3)).unwrap();
                assert_eq!(dst, blocks.concat());
                let map = map(&chunk).unwrap();
                assert_eq!(map.decoded_lens(&chunk).unwrap(), lens);
                for (block, expected) in blocks.iter().enumerate() {
                    let span = &chunk[map.span(block)];
                    assert!(!map.needs_reference(block, linked()));
                    assert_eq!(decoder.decode_block(&map, block, span, None, &ctx()).unwrap(), *expected);
                }
            }
        }
    }
    assert!(matches!(
        encoder(&EncodeParams::default()).encode_blocks::<&[u8]>(&[], &ctx(), &Inline),
        Err(ChunkError::Parameter { .. })
    ));
    let hollow = [&b"a"[..], b"", b"b"];
    assert!(matches!(
        encoder(&EncodeParams::default()).encode_blocks(&hollow, &ctx(), &Inline),
        Err(ChunkError::Parameter { .. })
    ));
    let regular = encode(&EncodeParams::default(), &data(1, 1000));
    assert!(matches!(decoder.decode_blocks(&regular, &ctx()), Err(ChunkError::BlockKind { .. })));
}

#[test]
fn blocks_of_variable_length_with_a_dictionary() {
    for codec in [CodecId::LZ4, CodecId::LZ4HC, CodecId::ZSTD] {
        let blocks: Vec<Vec<u8>> = (0..64).map(|i| data(2, 500 + 7 * i)).collect();
        let params = EncodeParams { codec, use_dict: true, filters: FilterSlots::NONE, ..EncodeParams::default() };
        let chunk = encoder(&params).encode_blocks(&blocks, &ctx(), &Inline).unwrap();
        assert!(ChunkHeader::parse(&chunk).unwrap().has_dict(), "codec {codec}");
        assert_eq!(ChunkDecoder::new(linked()).decode_blocks(&chunk, &ctx()).unwrap(), blocks);
        // Seven blocks are too few to train on.
        let chunk = encoder(&params).encode_blocks(&blocks[..7], &ctx(), &Inline).unwrap();
        assert!(!ChunkHeader::parse(&chunk).unwrap().has_dict());
        assert_eq!(ChunkDecoder::new(linked()).decode_blocks(&chunk, &ctx()).unwrap(), blocks[..7]);
    }
}

#[test]
fn lazy_chunks_lead_to_their_blocks() {
    let src = data(1, 10_000);
    let plain = EncodeParams { typesize: 4, block_size: Some(1024), ..EncodeParams::default() };
    let dict = EncodeParams { codec: CodecId::ZSTD, use_dict: true, filters: FilterSlots::NONE, ..plain.clone() };
    let stored = EncodeParams { level: 0, ..plain.clone() };
    for params in [&plain, &dict, &stored] {
        let chunk = encode(params, &src);
        let whole = map(&chunk).unwrap();
        let bytes = LazyChunk::new(&whole, 5, 123_456_789_012).unwrap().to_bytes();
        assert_eq!(bytes.len(), 32 + 40 + 12 + 40);
        let lazy = LazyChunk::parse(&bytes).unwrap();
        assert_eq!((lazy.number(), lazy.offset(), lazy.header().cbytes), (5, 123_456_789_012, chunk.len()));
        assert_eq!(lazy.dict_offset().is_some(), whole.header().has_dict());
        let dict = lazy.dict_offset().map(|at| {
            let len = u32::from_le_bytes(chunk[at..at + 4].try_into().unwrap()) as usize;
            chunk[at + 4..at + 4 + len].to_vec()
        });
        let map = lazy.into_map(dict).unwrap();
        for block in 0..10 {
            assert_eq!(map.span(block), whole.span(block));
            let span = &chunk[map.span(block)];
            let decoded = ChunkDecoder::new(linked()).decode_block(&map, block, span, None, &ctx()).unwrap();
            assert_eq!(decoded, src[map.block_bytes(block).unwrap()]);
        }
    }
    let chunk = encode(&dict, &src);
    let lazy = LazyChunk::new(&map(&chunk).unwrap(), 0, 0).unwrap();
    assert!(lazy.into_map(None).is_err(), "without its dictionary");
    let zeros = special_chunk(SpecialValue::Zero, 100, 1, 100).unwrap();
    assert_eq!(LazyChunk::new(&map(&zeros).unwrap(), 0, 0), None);
}

/// Short and long ranges of chunks with blocks of the usual size, against the bytes that they were made of.
#[test]
fn parts_of_blocks_are_what_the_whole_has_there() {
    use CodecId as C;
    use FilterId as F;
    let mut random = Random(11);
    let src = data(1, 400_003);
    let mut partial = 0;
    for codec in [C::BLOSCLZ, C::LZ4, C::LZ4HC, C::ZLIB, C::ZSTD] {
        for filters in [
            &[][..],
            &[(F::SHUFFLE, 0)],
            &[(F::SHUFFLE, 3)],
            &[(F::BITSHUFFLE, 0)],
            &[(F::DELTA, 0)],
            &[(F::DELTA, 0), (F::SHUFFLE, 0)],
            &[(F::TRUNC_PREC, 20), (F::SHUFFLE, 0)],
            &[(F::SHUFFLE, 0), (F::BYTEDELTA, 4)],
        ] {
            for (typesize, split, use_dict) in [
                (1, SplitMode::Auto, false),
                (4, SplitMode::Auto, false),
                (4, SplitMode::Never, false),
                (7, SplitMode::Always, false),
                (8, SplitMode::Auto, codec == C::ZSTD || codec == C::LZ4),
                (17, SplitMode::Always, false),
                (255, SplitMode::Auto, false),
            ] {
                let is_unfit = filters.iter().any(|(id, _)| *id == F::TRUNC_PREC) && ![4, 8].contains(&typesize)
                    || filters.iter().any(|(id, _)| *id == F::BYTEDELTA) && typesize != 4;
                if is_unfit {
                    continue;
                }
                let params = EncodeParams {
                    codec,
                    filters: slots(filters),
                    typesize,
                    split,
                    use_dict,
                    ..EncodeParams::default()
                };
                let chunk = encode(&params, &src);
                let whole = decode(&chunk).unwrap();
                let map = map(&chunk).unwrap();
                let mut decoder = ChunkDecoder::new(linked());
                partial += usize::from(decoder.decodes_ranges(&map));
                let block = map.header().blocksize;
                for round in 0..24 {
                    // Near the beginning, the end and the last block, and anywhere; single bytes, items, and most of a block.
                    let start = match round % 4 {
                        0 => random.below(20),
                        1 => src.len() - 1 - random.below(300),
                        2 => src.len() / block * block - random.below(100).min(src.len() / block * block),
                        _ => random.below(src.len()),
                    };
                    let len = 1 + random.below([1, typesize, 100, block][round / 4 % 4]);
                    let range = start..src.len().min(start + len);
                    let mut part = vec![0xa5; range.len()];
                    decoder.decode_bytes_into(&chunk, range.clone(), &ctx(), &mut part).unwrap();
                    assert!(part == whole[range.clone()], "{range:?} of {params:?}");
                    part.fill(0x5a);
                    let span_of = |block| chunk.get(map.span(block));
                    decoder.decode_spans_into(&map, range.clone(), span_of, &ctx(), &mut part).unwrap();
                    assert!(part == whole[range.clone()], "spans, {range:?} of {params:?}");
                }
            }
        }
    }
    assert!(partial > 50, "{partial}");
}
