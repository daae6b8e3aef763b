//! Whole chunks, both ways: every codec, filter, format and awkward length.

mod support;

use oxiblosc_core::chunk::{
    ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, ChunkFormat, ChunkHeader, EncodeParams, SpecialKind,
    SplitMode, StreamError,
};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::registry::{CodecInfo, FilterInfo};
use oxiblosc_core::{CodecId, Executor, FilterId, Inline, Limits, Registry, provider};
use support::{Random, Threads, data, decode, encode, encoder, linked, map, slots};

const CODECS: [CodecId; 5] = [CodecId::BLOSCLZ, CodecId::LZ4, CodecId::LZ4HC, CodecId::ZLIB, CodecId::ZSTD];
const SPLITS: [SplitMode; 4] = [SplitMode::Always, SplitMode::Never, SplitMode::Auto, SplitMode::ForwardCompat];

/// Encodes on one and several workers, decodes in every way there is, and compares.
fn check(params: &EncodeParams, src: &[u8]) {
    let ctx = ChunkContext::default();
    let mut encoder = encoder(params);
    let chunk = encoder.encode(src, &ctx, &Inline).unwrap();
    let what = || format!("{} bytes, {params:?}", src.len());

    let header = ChunkHeader::parse(&chunk).unwrap();
    assert_eq!((header.nbytes, header.cbytes), (src.len(), chunk.len()), "{}", what());
    assert!(chunk.len() <= src.len() + header.header_len(), "{}", what());
    if header.is_split() && header.blocksize <= src.len() && !header.is_stored() && header.special().is_none() {
        // What Blosc2 readers take for granted.
        assert_eq!(header.blocksize % usize::from(header.typesize), 0, "{}", what());
    }
    for workers in [2, 5] {
        assert_eq!(encoder.encode(src, &ctx, &Threads(workers)).unwrap(), chunk, "{workers} workers, {}", what());
    }
    let mut appended = b"before".to_vec();
    assert_eq!(encoder.encode_append(src, &ctx, &mut appended, &Inline).unwrap(), chunk.len());
    assert_eq!(appended, [b"before", &chunk[..]].concat(), "{}", what());

    let mut random = Random(src.len() as u64 + 2);
    for executor in [&Inline as &dyn Executor, &Threads(3)] {
        let mut rest = src;
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(random.below(rest.len() / 2 + 2));
            pieces.push(piece);
            rest = behind;
        }
        let mut out = vec![0xa5; encoder.max_encoded_len(src.len())];
        let len = encoder.encode_pieces_into(&pieces, &ctx, &mut out, executor).unwrap();
        assert!(out[..len] == chunk, "{} pieces, {}", pieces.len(), what());
    }

    let mut decoder = ChunkDecoder::new(linked());
    assert_eq!(decoder.decode(&chunk, &ctx, &Inline).unwrap(), src, "{}", what());
    let mut dst = vec![0xa5; src.len()];
    decoder.decode_into(&chunk, &ctx, &mut dst, &Threads(3)).unwrap();
    assert_eq!(dst, src, "{}", what());

    let map = map(&chunk).unwrap();
    let mut first: Option<Vec<u8>> = None;
    for block in 0..map.block_count() {
        let span = &chunk[map.span(block)];
        let decoded = decoder.decode_block(&map, block, span, first.as_deref(), &ctx).unwrap();
        assert_eq!(decoded, src[map.block_bytes(block).unwrap()], "block {block}, {}", what());
        first.get_or_insert(decoded);
    }
    let mut random = Random(src.len() as u64 + 1);
    for _ in 0..4 {
        let start = random.below(src.len() + 1);
        let end = start + random.below(src.len() - start + 1);
        let mut part = vec![0; end - start];
        decoder.decode_bytes_into(&chunk, start..end, &ctx, &mut part).unwrap();
        assert_eq!(part, src[start..end], "bytes {start}..{end}, {}", what());
    }
}

#[test]
fn awkward_lengths() {
    for format in [ChunkFormat::Blosc2, ChunkFormat::Blosc1] {
        for len in [0, 1, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025, 4095, 4096, 4097] {
            for kind in 0..5 {
                for typesize in [1, 4, 7] {
                    let block_size = Some(1024);
                    let params = EncodeParams { typesize, block_size, format, ..EncodeParams::default() };
                    check(&params, &data(kind, len));
                }
            }
        }
    }
}

#[test]
fn blocks_of_noise_before_between_and_behind_others() {
    const BLOCK: usize = 1000;
    let noise = data(0, 40 * BLOCK);
    for blocks in [1, 2, 3, 5, 12, 40] {
        for (begin, end) in [(0, 0), (0, 1), (1, 2), (blocks / 2, blocks / 2 + 1), (blocks - 1, blocks), (0, blocks)] {
            let mut src = noise[..blocks * BLOCK - 10].to_vec();
            let len = src.len();
            src[(begin * BLOCK).min(len)..(end * BLOCK).min(len)].iter_mut().for_each(|byte| *byte = b'a' + *byte % 2);
            for (codec, filters, use_dict) in [
                (CodecId::LZ4, FilterSlots::NONE, false),
                (CodecId::ZSTD, FilterSlots::NONE, true),
                (CodecId::BLOSCLZ, FilterSlots::SHUFFLE, false),
            ] {
                let block_size = Some(BLOCK);
                let params = EncodeParams { codec, filters, use_dict, block_size, ..EncodeParams::default() };
                check(&params, &src);
                let cut: Vec<&[u8]> = src.chunks(BLOCK - 1).collect();
                let chunk = encoder(&params).encode_blocks(&cut, &ChunkContext::default(), &Inline).unwrap();
                assert_eq!(decode(&chunk).unwrap(), src, "{blocks} blocks, {begin}..{end}, {params:?}");
            }
        }
    }
}

#[test]
fn every_codec_filter_and_split() {
    use FilterId as F;
    let mut random = Random(1);
    for codec in CODECS {
        for filters in [
            &[][..],
            &[(F::SHUFFLE, 0)],
            &[(F::BITSHUFFLE, 0)],
            &[(F::DELTA, 0)],
            &[(F::DELTA, 0), (F::SHUFFLE, 0)],
            &[(F::SHUFFLE, 0), (F::DELTA, 0)],
            &[(F::SHUFFLE, 0), (F::BYTEDELTA, 4)],
            &[(F::SHUFFLE, 3), (F::DELTA, 0), (F::BITSHUFFLE, 0), (F::SHUFFLE, 0)],
        ] {
            for split in SPLITS {
                let level = random.pick(&[0, 1, 5, 6, 9]);
                let typesize = random.pick(&[1, 2, 3, 4, 8, 12, 16, 17, 255, 256, 300]);
                let block_size = random.pick(&[None, Some(512), Some(1000), Some(4096)]);
                let filters = slots(filters);
                let params =
                    EncodeParams { codec, level, typesize, filters, block_size, split, ..EncodeParams::default() };
                check(&params, &data(random.below(5), random.pick(&[5000, 8192, 20_001])));
            }
        }
    }
}

#[test]
fn blosc1_chunks() {
    let mut random = Random(2);
    for codec in CODECS {
        for filters in [FilterSlots::NONE, FilterSlots::SHUFFLE, FilterSlots::single(FilterId::BITSHUFFLE)] {
            for split in SPLITS {
                let level = random.pick(&[1, 4, 9]);
                let typesize = random.pick(&[1, 2, 4, 8, 16, 17]);
                let block_size = random.pick(&[None, Some(512), Some(4096)]);
                let format = ChunkFormat::Blosc1;
                let params = EncodeParams {
                    codec,
                    level,
                    typesize,
                    filters,
                    block_size,
                    split,
                    format,
                    ..EncodeParams::default()
                };
                for len in [1000, 5000, 8192, 20_001] {
                    let src = data(random.below(5), len);
                    check(&params, &src);
                    let chunk = encode(&params, &src);
                    assert_eq!((chunk[0], chunk[1]), (2, 1));
                }
            }
        }
    }
}

/// C-Blosc2 forgets the rest of a short last block, so bit shuffle gives way where it would.
#[test]
fn blosc1_bitshuffle_gives_way_to_shuffle() {
    let filters = FilterSlots::single(FilterId::BITSHUFFLE);
    for (len, flags) in [(4096, 0x04), (4099, 0x01), (4096 + 4 * 3 + 1, 0x04), (4096 + 4 * 8 + 1, 0x01)] {
        let params = EncodeParams {
            typesize: 4,
            filters,
            block_size: Some(1024),
            format: ChunkFormat::Blosc1,
            ..EncodeParams::default()
        };
        let chunk = encode(&params, &data(1, len));
        assert_eq!(chunk[2] & 0x05, flags, "{len} bytes");
        check(&params, &data(1, len));
    }
}

#[test]
fn blosc1_has_no_room_for_more() {
    let filters = |list| EncodeParams { filters: slots(list), ..EncodeParams::default() };
    for params in [
        EncodeParams { codec: CodecId::NDLZ, ..EncodeParams::default() },
        EncodeParams { use_dict: true, codec: CodecId::ZSTD, ..EncodeParams::default() },
        filters(&[(FilterId::DELTA, 0)]),
        filters(&[(FilterId::SHUFFLE, 2)]),
        filters(&[(FilterId::SHUFFLE, 0), (FilterId::BITSHUFFLE, 0)]),
    ] {
        let params = EncodeParams { format: ChunkFormat::Blosc1, ..params };
        assert!(matches!(
            ChunkEncoder::new(&params, linked()),
            Err(ChunkError::Parameter { .. } | ChunkError::Codec(_))
        ));
    }
}

/// Chunks from before the "do not split" flag have it clear without being split; "always split" of later releases
/// splits where Blosc 1 does not expect it.
#[test]
fn blosc1_splits_of_other_releases() {
    let words = |words: &[&[u8]]| {
        let mut chunk = vec![2, 1, 0x21, 4, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0];
        for stream in words {
            chunk.extend((stream.len() as u32).to_le_bytes());
            chunk.extend_from_slice(stream);
        }
        let len = chunk.len() as u32;
        chunk[12..16].copy_from_slice(&len.to_le_bytes());
        chunk
    };
    let src = data(0, 256);
    let shuffled: Vec<u8> =
        (0..4).flat_map(|byte| src.iter().skip(byte).step_by(4).copied().collect::<Vec<_>>()).collect();
    assert_eq!(decode(&words(&[&shuffled])).unwrap(), src);
    let split: Vec<&[u8]> = shuffled.chunks(64).collect();
    assert_eq!(decode(&words(&split)).unwrap(), src);
    assert!(matches!(decode(&words(&split[..3])), Err(ChunkError::Stream { block: 0, .. })));
}

/// C-Blosc2 3.x labels chunks with the block size that was asked for, and cuts them at the next item below.
#[test]
fn block_sizes_that_c_blosc2_did_not_round() {
    for (asked, typesize, len, split) in [
        (1000, 3, 5000, SplitMode::Never),
        (1000, 3, 5000, SplitMode::Always),
        // As many blocks as there would be without rounding.
        (500, 3, 900, SplitMode::Always),
        (5000, 7, 5000, SplitMode::Never),
        (100, 15, 20_000, SplitMode::Always),
    ] {
        for kind in 1..5 {
            let params = EncodeParams { typesize, block_size: Some(asked), split, ..EncodeParams::default() };
            let src = data(kind, len);
            let mut chunk = encode(&params, &src);
            chunk[8..12].copy_from_slice(&(asked as u32).to_le_bytes());
            assert_eq!(decode(&chunk).unwrap(), src, "{asked} for {len} bytes of {typesize}");
            let map = map(&chunk).unwrap();
            assert!(map.header().is_stored() || map.header().blocksize == asked - asked % typesize);
        }
    }
}

/// Delta refers to the first block as decoders have it, which is not the source when a filter before it is lossy.
#[test]
fn delta_after_a_lossy_filter() {
    let src: Vec<u8> = (0..4000u32).flat_map(|i| (1.0 + (i as f32).sin()).to_le_bytes()).collect();
    let truncated: Vec<u8> =
        src.chunks(4).flat_map(|b| (u32::from_le_bytes(b.try_into().unwrap()) & !0x7fff).to_le_bytes()).collect();
    for filters in [
        &[(FilterId::TRUNC_PREC, 8), (FilterId::DELTA, 0), (FilterId::SHUFFLE, 0)][..],
        &[(FilterId::TRUNC_PREC, 8), (FilterId::SHUFFLE, 0), (FilterId::DELTA, 0)],
    ] {
        let filters = slots(filters);
        let params = EncodeParams { typesize: 4, filters, block_size: Some(1024), ..EncodeParams::default() };
        let ctx = ChunkContext::default();
        let chunk = encode(&params, &src);
        assert!(chunk.len() < src.len());
        assert_eq!(decode(&chunk).unwrap(), truncated);
        assert_eq!(encoder(&params).encode(&src, &ctx, &Threads(3)).unwrap(), chunk);
    }
}

#[test]
fn dictionaries() {
    for codec in [CodecId::LZ4, CodecId::LZ4HC, CodecId::ZSTD] {
        for (filters, typesize) in [(FilterSlots::NONE, 1), (FilterSlots::SHUFFLE, 4)] {
            let params = EncodeParams {
                codec,
                typesize,
                filters,
                block_size: Some(1024),
                use_dict: true,
                ..EncodeParams::default()
            };
            let src = data(2 - usize::from(typesize == 4), 60_000);
            check(&params, &src);
            assert!(ChunkHeader::parse(&encode(&params, &src)).unwrap().has_dict());
            // Too short for one; nothing to learn from; and noise, which is stored without the flag.
            for (kind, len) in [(2, 3000), (3, 60_000), (0, 60_000)] {
                let src = data(kind, len);
                check(&params, &src);
                assert_eq!(encode(&params, &src)[31] & 1, 0);
            }
            assert_eq!(encode(&params, &vec![0; 60_000]).len(), 32, "zeros need no dictionary");
        }
    }
    let params = EncodeParams { codec: CodecId::ZLIB, use_dict: true, ..EncodeParams::default() };
    assert!(matches!(ChunkEncoder::new(&params, linked()), Err(ChunkError::Parameter { .. })));
}

#[test]
fn lossy_filters_are_not_applied_to_stored_data() {
    let src = data(0, 4096);
    let filters = slots(&[(FilterId::TRUNC_PREC, 23)]);
    let params = EncodeParams { typesize: 4, filters, codec: CodecId::LZ4, ..EncodeParams::default() };
    let chunk = encode(&params, &src);
    assert!(ChunkHeader::parse(&chunk).unwrap().is_stored());
    assert_eq!(decode(&chunk).unwrap(), src);
}

#[test]
fn parameters_out_of_range() {
    for params in [
        EncodeParams { level: 10, ..EncodeParams::default() },
        EncodeParams { typesize: 0, ..EncodeParams::default() },
        EncodeParams { typesize: 536_866_817, ..EncodeParams::default() },
        EncodeParams { block_size: Some(0), ..EncodeParams::default() },
        EncodeParams { codec: CodecId::SNAPPY, ..EncodeParams::default() },
    ] {
        let error = ChunkEncoder::new(&params, linked()).err().unwrap();
        assert!(matches!(error, ChunkError::Parameter { .. }), "{params:?}: {error:?}");
    }
}

#[test]
fn without_any_plugin_data_is_stored() {
    let registry = Registry::empty();
    let params = EncodeParams { level: 0, typesize: 4, ..EncodeParams::default() };
    let ctx = ChunkContext::default();
    let src = data(1, 5000);
    let chunk = ChunkEncoder::new(&params, &registry).unwrap().encode(&src, &ctx, &Inline).unwrap();
    assert_eq!(ChunkDecoder::new(&registry).decode(&chunk, &ctx, &Inline).unwrap(), src);
    assert!(matches!(ChunkEncoder::new(&EncodeParams::default(), &registry), Err(ChunkError::Codec(_))));
}

/// Turns everything into zeros, and zeros back into ones.
#[derive(Clone)]
struct Blank;

impl Filter for Blank {
    fn forward(&mut self, _: &BlockContext<'_>, _: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.fill(0);
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, _: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.fill(1);
        Ok(())
    }
}

/// Run lengths, in pairs of a count and a byte; the meta byte is added to every byte.
#[derive(Clone)]
struct Rle;

impl Codec for Rle {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        assert_eq!((ctx.level, ctx.meta, ctx.version), (Some(7), 3, 1));
        let mut len = 0;
        for run in src.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
            let Some(pair) = dst.get_mut(len..len + 2) else { return Ok(None) };
            pair.copy_from_slice(&[run.len() as u8, run[0].wrapping_add(ctx.meta)]);
            len += 2;
        }
        Ok(Some(len))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        assert_eq!((ctx.level, ctx.meta, ctx.version), (None, 3, 1));
        let mut len = 0;
        for pair in src.chunks_exact(2) {
            let run = usize::from(pair[0]);
            let expected = dst.len();
            let found = len + run;
            let Some(dst) = dst.get_mut(len..found) else { return Err(CodecError::Length { expected, found }) };
            dst.fill(pair[1].wrapping_sub(ctx.meta));
            len += run;
        }
        Ok(len)
    }
}

fn with_user_plugins() -> Registry {
    let mut registry = linked().clone();
    let info = FilterInfo::new(FilterId(200), "blank", FilterTraits::LOSSY, provider!());
    registry.add_filter(info, Box::new(Blank)).unwrap();
    let info = CodecInfo::new(CodecId(201), "rle", CodecTraits::PLAIN.split_up_to(9), provider!());
    registry.add_codec(info, Box::new(Rle)).unwrap();
    registry
}

#[test]
fn a_user_filter_that_ends_in_zeros_makes_no_chunk_of_zeros() {
    let registry = with_user_plugins();
    let ctx = ChunkContext::default();
    let params = EncodeParams { filters: slots(&[(FilterId(200), 0)]), ..EncodeParams::default() };
    let mut encoder = ChunkEncoder::new(&params, &registry).unwrap();
    let mut decoder = ChunkDecoder::new(&registry);
    let chunk = encoder.encode(&[5; 1000], &ctx, &Inline).unwrap();
    assert_eq!(ChunkHeader::parse(&chunk).unwrap().special(), None);
    assert_eq!(decoder.decode(&chunk, &ctx, &Inline).unwrap(), [1; 1000]);
    // Zeros themselves may be called so.
    let chunk = encoder.encode(&[0; 1000], &ctx, &Inline).unwrap();
    assert_eq!(ChunkHeader::parse(&chunk).unwrap().special(), Some(SpecialKind::Zero));
}

#[test]
fn a_user_codec_is_found_by_its_id_and_sees_its_context() {
    let registry = with_user_plugins();
    let ctx = ChunkContext::numbered(11);
    let params = EncodeParams { codec: CodecId(201), codec_meta: 3, level: 7, typesize: 4, ..EncodeParams::default() };
    let src: Vec<u8> = (0..20_000u32).flat_map(|i| (i / 300).to_le_bytes()).collect();
    let chunk = ChunkEncoder::new(&params, &registry).unwrap().encode(&src, &ctx, &Inline).unwrap();
    let header = ChunkHeader::parse(&chunk).unwrap();
    assert_eq!((header.codec().unwrap(), header.flags >> 5, header.codec_meta), (CodecId(201), 6, 3));
    assert!(header.is_split() && chunk.len() < src.len() / 4);
    assert_eq!(ChunkDecoder::new(&registry).decode(&chunk, &ctx, &Inline).unwrap(), src);
    let Err(ChunkError::Stream { source: StreamError::Registry(_), .. }) =
        ChunkDecoder::new(linked()).decode(&chunk, &ctx, &Inline)
    else {
        panic!("decoded without its codec")
    };
}

#[test]
fn encoders_and_decoders_move_between_threads() {
    fn moves<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    moves::<ChunkEncoder>();
    moves::<ChunkDecoder>();
    shared::<oxiblosc_core::chunk::BlockMap>();
    shared::<ChunkError>();
    shared::<Limits>();
}
