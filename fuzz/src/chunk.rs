//! Chunks: the header alone, and every way to decode one.

use oxiblosc::chunk::{BlockMap, ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader, EncodeParams, MapProgress};
use oxiblosc::nd::Geometry;
use oxiblosc::{CodecId, Inline, Registry};

use crate::bound::Setup;
use crate::reading::numbers;
use crate::target::LARGE;

/// Checks that a parsed header can be written and parsed again.
pub(crate) fn check_header(input: &[u8]) {
    let Ok(header) = ChunkHeader::parse(input) else { return };
    let written = header.to_bytes();
    assert_eq!(written.len(), header.header_len(), "length of the header");
    assert_eq!(ChunkHeader::parse(&written).ok(), Some(header.clone()), "the header that was written");
    assert_eq!(ChunkHeader::parse(&input[..header.header_len()]).ok(), Some(header.clone()), "the header alone");
    assert!(header.block_count() <= header.nbytes.max(1), "more blocks than bytes");
    let mut given = 0;
    // A map asks for more bytes each time, and for no more than there are.
    while given <= header.cbytes.min(input.len()) {
        match BlockMap::parse(&input[..given]) {
            Ok(MapProgress::NeedPrefix(needed)) => {
                assert!(needed > given, "{needed} bytes are said to be needed, but {given} are there");
                given = needed;
            }
            _ => break,
        }
    }
}

/// Checks that reading by chunk, by block, by range and by item gives the same bytes.
///
/// # Panics
/// When any of them differ, or when the data do not survive being encoded again.
pub fn check(input: &[u8], setup: &Setup) {
    check_header(input);
    let Ok(header) = ChunkHeader::parse(input) else { return };
    let geometry = geometry(&header);
    decode(input, &header, &ChunkContext::default(), setup);
    let mut ctx = ChunkContext::numbered(3);
    ctx.nd = geometry.as_ref();
    decode(input, &header, &ctx, setup);
}

/// Shapes that the blocks of a chunk could have: for codecs and filters that need them.
fn geometry(header: &ChunkHeader) -> Option<Geometry> {
    let items = u32::try_from(header.blocksize / usize::from(header.typesize)).ok().filter(|&n| n > 0)?;
    let side = (1..=64).rev().find(|side| items.is_multiple_of(*side))?;
    let block_shape = vec![items / side, side];
    let shape = block_shape.iter().map(|&len| u64::from(len)).collect();
    Some(Geometry { shape, chunk_shape: block_shape.clone(), block_shape })
}

fn decode(input: &[u8], header: &ChunkHeader, ctx: &ChunkContext<'_>, setup: &Setup) {
    let Ok(registry) = Registry::linked() else { return };
    let mut decoder = ChunkDecoder::new(registry).with_limits(setup.limits);
    if header.nbytes > LARGE && setup.limits.chunk_bytes > LARGE {
        // As long as the limits allow: then a part of it must do.
        for at in [0, header.nbytes / 2, header.nbytes - 1] {
            let _ = decoder.decode_bytes_into(input, at..at + 1, ctx, &mut [0]);
        }
        return;
    }
    let whole = decoder.decode(input, ctx, &Inline);
    let map = match BlockMap::parse(input) {
        Ok(MapProgress::Ready(map)) if header.cbytes <= input.len() => map,
        _ => {
            assert!(whole.is_err(), "a chunk without a map decodes");
            return;
        }
    };
    if header.nbytes > setup.limits.chunk_bytes {
        assert!(whole.is_err(), "{} bytes are more than the limit", header.nbytes);
        return;
    }
    // What was decoded before must not show: another content of the destination, and a decoder that has failed.
    let mut again = vec![0xA5; header.nbytes];
    let result = decoder.decode_into(&input[..header.cbytes], ctx, &mut again, &Inline);
    match (&whole, &result) {
        (Ok(whole), Ok(())) => assert!(*whole == again, "decoded twice, with different bytes"),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(e)) => panic!("decoding failed the second time: {e}"),
        (Err(e), Ok(())) => panic!("decoding failed the first time only: {e}"),
    }
    blocks(input, &map, whole.as_deref().ok(), ctx, &mut decoder);
    let Ok(whole) = whole else { return };
    assert_eq!(whole.len(), header.nbytes);
    let mut random = numbers(input);
    if !header.has_vl_blocks() {
        for _ in 0..4 {
            let start = random.below(whole.len() + 1);
            let range = start..start + random.below(whole.len() - start + 1);
            let mut part = vec![0x5A; range.len()];
            match decoder.decode_bytes_into(input, range.clone(), ctx, &mut part) {
                Ok(()) => assert!(part == whole[range.clone()], "bytes {range:?} differ"),
                Err(e) => panic!("the chunk decodes, but its bytes {range:?} do not: {e}"),
            }
            let item = usize::from(header.typesize);
            let items = range.start / item..range.end / item;
            match decoder.decode_items(input, items.clone(), ctx) {
                Ok(found) => assert!(found == whole[items.start * item..items.end * item], "items {items:?} differ"),
                Err(e) => panic!("the chunk decodes, but its items {items:?} do not: {e}"),
            }
        }
    }
    encode_again(header, &whole, registry, &mut decoder);
}

/// Every block alone.
fn blocks(input: &[u8], map: &BlockMap, whole: Option<&[u8]>, ctx: &ChunkContext<'_>, decoder: &mut ChunkDecoder) {
    let mut first: Option<Vec<u8>> = None;
    // Each block of a chunk with millions of tiny ones would take as long as the chunk.
    for block in 0..map.block_count().min(256) {
        let Some(span) = input.get(map.span(block)) else { continue };
        let decoded = decoder.decode_block(map, block, span, first.as_deref(), ctx);
        let Ok(decoded) = decoded else {
            assert!(whole.is_none(), "the chunk decodes, but block {block} does not");
            continue;
        };
        if let (Some(whole), Some(bytes)) = (whole, map.block_bytes(block)) {
            assert!(decoded == whole[bytes], "block {block} differs from the chunk");
        }
        if block == 0 {
            first = Some(decoded);
        }
    }
    if let (Some(whole), true) = (whole, map.header().has_vl_blocks()) {
        match decoder.decode_blocks(input, ctx) {
            Ok(blocks) => assert!(blocks.concat() == whole, "the blocks differ from the chunk"),
            Err(e) => panic!("the chunk decodes, but its blocks do not: {e}"),
        }
    }
}

/// Checks that the data survive being encoded and decoded.
fn encode_again(header: &ChunkHeader, data: &[u8], registry: &Registry, decoder: &mut ChunkDecoder) {
    let lossless = |id| registry.filter(id).is_ok_and(|filter| !filter.info().traits.lossy);
    let Ok(codec) = header.codec() else { return };
    let known = registry.codec(codec).is_ok_and(|codec| codec.info().traits.encode);
    // Those of zfp are lossy, and need the shape of an array as NDLZ does.
    if !known || codec.0 >= CodecId::NDLZ.0 || !header.filters.active().all(|(_, slot)| lossless(slot.id)) {
        return;
    }
    let params = EncodeParams {
        codec,
        codec_meta: header.codec_meta,
        typesize: header.typesize.into(),
        filters: header.filters,
        block_size: Some(header.blocksize),
        ..EncodeParams::default()
    };
    let Ok(mut encoder) = ChunkEncoder::new(&params, registry) else { return };
    let ctx = ChunkContext::default();
    let Ok(chunk) = encoder.encode(data, &ctx, &Inline) else { return };
    match decoder.decode(&chunk, &ctx, &Inline) {
        Ok(back) => assert!(back == data, "the data differ after they were encoded again"),
        Err(e) => panic!("the data were encoded again, but do not decode: {e}"),
    }
}
