//! Chunks that C-Blosc2 3.3.5 and C-Blosc 1.21 wrote, byte by byte, and what they decode to; and the same chunks
//! written here, wherever the bytes do not depend on the version of a compression library.

use oxiblosc_core::chunk::{
    ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, ChunkFormat, EncodeParams, LazyChunk, SpecialValue,
    special_chunk,
};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{CodecId, FilterId, Inline, Registry};
use oxiblosc_plugins as _;

fn bytes(hex: &str) -> Vec<u8> {
    let hex: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    hex.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn u32s(items: impl IntoIterator<Item = u32>) -> Vec<u8> {
    items.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// 72 bytes of text.
const TEXT: &[u8] = b"the cat sat on the mat, the cat sat on the mat, the cat sat on the mat. ";

fn decode(chunk: &[u8]) -> Vec<u8> {
    let mut decoder = ChunkDecoder::new(Registry::linked().unwrap());
    decoder.decode(chunk, &ChunkContext::default(), &Inline).unwrap()
}

fn encode(src: &[u8], params: EncodeParams) -> Vec<u8> {
    let mut encoder = ChunkEncoder::new(&params, Registry::linked().unwrap()).unwrap();
    encoder.encode(src, &ChunkContext::default(), &Inline).unwrap()
}

fn slots(list: &[(usize, FilterId, u8)]) -> FilterSlots {
    let mut slots = FilterSlots::NONE;
    for &(slot, id, meta) in list {
        slots.0[slot].id = id;
        slots.0[slot].meta = meta;
    }
    slots
}

fn lz4(typesize: usize) -> EncodeParams {
    EncodeParams { codec: CodecId::LZ4, typesize, ..EncodeParams::default() }
}

/// empty: blosclz cl5 ts1, default filters, 0 bytes
#[test]
fn empty() {
    let chunk = bytes("0501070100000000010000002000000000000000000100000000000000000000");
    let data = vec![];
    assert_eq!(decode(&chunk), data);
    assert_eq!(encode(&data, EncodeParams::default()), chunk);
}

/// 1 byte 'A' (<32 B so memcpyed), blosclz ts1
#[test]
fn one_byte_is_stored() {
    let chunk = bytes("050107010100000001000000210000000000000000010000000000000000000041");
    let data = b"A".to_vec();
    assert_eq!(decode(&chunk), data);
    assert_eq!(encode(&data, EncodeParams::default()), chunk);
}

/// 32x'A', blosclz cl5 ts1 shuffle slot5: run token -65,0x01 (split with 1 stream)
#[test]
fn run_of_a_byte() {
    let chunk = bytes("050105012000000020000000290000000000000000010000000000000000000024000000bfffffff01");
    let data = vec![b'A'; 32];
    assert_eq!(decode(&chunk), data);
    assert_eq!(encode(&data, EncodeParams::default()), chunk);
}

/// clevel 0, lz4 ts4, bytes 0..31: memcpyed, codec bits zero but byte 22 = 1
#[test]
fn level_0_stores() {
    let chunk = bytes(
        "
            0501070420000000200000004000000000000000000101000000000000000000000102030405060708090a0b0c0d0e0f
            101112131415161718191a1b1c1d1e1f",
    );
    let data = (0..32).collect::<Vec<u8>>();
    assert_eq!(decode(&chunk), data);
    assert_eq!(encode(&data, EncodeParams { level: 0, ..lz4(4) }), chunk);
}

/// 1000 zero bytes through compressor, lz4 cl5 ts4 shuffle: promoted to special ZERO (filters and flags kept)
#[test]
fn zeros_become_a_special_chunk() {
    let chunk = bytes("05012504e8030000e80300002000000000000000000101000000000000000010");
    let data = vec![0; 1000];
    assert_eq!(decode(&chunk), data);
    assert_eq!(encode(&data, lz4(4)), chunk);
}

/// constructor ZERO, 1000 B, ts4 (filters/codec bytes all 0)
#[test]
fn special_zero() {
    let chunk = bytes("05010504e8030000e80300002000000000000000000000000000000000000010");
    let data = vec![0; 1000];
    assert_eq!(decode(&chunk), data);
    assert_eq!(special_chunk(SpecialValue::Zero, 1000, 4, 1000).unwrap(), chunk);
}

/// constructor NAN f32, 1000 B (each item 00 00 c0 7f)
#[test]
fn special_nan() {
    let chunk = bytes("05010504e8030000e80300002000000000000000000000000000000000000020");
    let data = [0, 0, 0xc0, 0x7f].repeat(250);
    assert_eq!(decode(&chunk), data);
    assert_eq!(special_chunk(SpecialValue::Nan, 1000, 4, 1000).unwrap(), chunk);
}

/// constructor VALUE 'xyz', ts3, 999 B
#[test]
fn special_value() {
    let chunk = bytes("05010503e7030000e7030000230000000000000000000000000000000000003078797a");
    let data = b"xyz".repeat(333);
    assert_eq!(decode(&chunk), data);
    assert_eq!(special_chunk(SpecialValue::Value(b"xyz"), 999, 3, 999).unwrap(), chunk);
}

/// constructor UNINIT ts8 1000 B (contents undefined)
#[test]
fn special_uninit() {
    let chunk = bytes("05010508e8030000e80300002000000000000000000000000000000000000040");
    let data = vec![0; 1000];
    assert_eq!(decode(&chunk), data);
    assert_eq!(special_chunk(SpecialValue::Uninit, 1000, 8, 1000).unwrap(), chunk);
}

/// u32 0..39 (160 B), lz4 cl5 ts4 shuffle: split into 4 streams: raw 40 B + three csize=0
#[test]
fn split_in_four() {
    let chunk = bytes(
        "
            05012504a0000000a00000005c0000000000000000010100000000000000000024000000280000000001020304050607
            08090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324252627000000000000000000000000",
    );
    let data = u32s(0..40);
    assert_eq!(decode(&chunk), data);
    assert_eq!(encode(&data, lz4(4)), chunk);
}

/// u32 0..39, lz4 cl5 ts4 bitshuffle: not split, one stream, 40 elements
#[test]
fn bitshuffle_is_not_split() {
    let chunk = bytes(
        "
            05013504a0000000a00000005300000000000000000201000000000000000000240000002b00000010aa010010cc0100
            10f00100ff0500ff00ff000000ffff0000000000ff0000000000050065500000000000",
    );
    let data = u32s(0..40);
    assert_eq!(decode(&chunk), data);
    // Another LZ4 finds other matches; the rest is the same.
    assert_eq!(
        encode(&data, EncodeParams { filters: FilterSlots::single(FilterId::BITSHUFFLE), ..lz4(4) })[..12],
        chunk[..12]
    );
}

/// u32 i*3 for i<32, blocksize 64 (2 blocks), lz4 cl5 ts4 delta slot4 + shuffle slot5 (64/4<32 so not split)
#[test]
fn delta_over_two_blocks() {
    let chunk = bytes(
        "
            05013d0480000000400000006700000000000000030101000000000000000000280000004c00000020000000ff060003
            050f05031d070d03053f05030d070000000000050013500000000000170000001130010010500100107001001f000100
            17500000000000",
    );
    let data = u32s((0..32).map(|i| i * 3));
    assert_eq!(decode(&chunk), data);
    let params = EncodeParams {
        block_size: Some(64),
        filters: slots(&[(4, FilterId::DELTA, 0), (5, FilterId::SHUFFLE, 0)]),
        ..lz4(4)
    };
    assert_eq!(encode(&data, params)[..12], chunk[..12]);
}

/// 1001 x 0x07, lz4 cl5 ts4 shuffle: block0 1000 B split in 4 run tokens, leftover 1 B block single run token
#[test]
fn runs_and_short_last_block() {
    let chunk = bytes(
        "
            05012504e9030000e80300004100000000000000000101000000000000000000280000003c000000f9ffffff01f9ffff
            ff01f9ffffff01f9ffffff01f9ffffff01",
    );
    let data = vec![7; 1001];
    assert_eq!(decode(&chunk), data);
    assert_eq!(encode(&data, lz4(4)), chunk);
}

/// 216 B = 3 x T where T (72 B) = "the cat sat on the mat, " x2 + "the cat sat on the mat. "; blosclz cl5 ts1 nofilter
#[test]
fn blosclz() {
    let chunk = bytes(
        "
            05011501d8000000d8000000580000000000000000000000000000000000000024000000300000003b74686520636174
            20736174206f6e20746865206d61742c2074686520e0201701742ee0252fe00f5fe03f4702742e20",
    );
    let data = TEXT.repeat(3);
    assert_eq!(decode(&chunk), data);
    // Our encoder searches in its own way, and must not find less.
    let ours = encode(&data, EncodeParams { filters: FilterSlots::NONE, ..EncodeParams::default() });
    assert_eq!(decode(&ours), data);
    assert!(ours.len() <= chunk.len(), "{} bytes, and {} by C-Blosc2", ours.len(), chunk.len());
}

/// T (72 B), lz4hc cl5
#[test]
fn lz4hc() {
    let chunk = bytes(
        "
            0501350148000000480000004a000000000000000000020000000000000000002400000022000000f000746865206361
            7420736174206f6e200f005f6d61742c20180018506d61742e20",
    );
    let data = TEXT.to_vec();
    assert_eq!(decode(&chunk), data);
}

/// T, zlib cl5 (zlib-ng)
#[test]
fn zlib() {
    let chunk = bytes(
        "
            0501750148000000480000004d000000000000000000040000000000000000002400000025000000785e2bc94855484e
            2c51284e2c51c8cf5328c94855c84d2cd101338817d75300007f57182a",
    );
    let data = TEXT.to_vec();
    assert_eq!(decode(&chunk), data);
}

/// T, zstd cl5
#[test]
fn zstd() {
    let chunk = bytes(
        "
            0501950148000000480000005200000000000000000005000000000000000000240000002a00000028b52ffd20480d01
            00d07468652063617420736174206f6e20746865206d61742c202e200100bce61c03",
    );
    let data = TEXT.to_vec();
    assert_eq!(decode(&chunk), data);
}

/// VL-block chunk, lz4 cl5 ts1 nofilter, 3 blocks: "abc"x10, "xy", 20 zero bytes (stream word = uncompressed size; "xy" stored raw; zeros NOT run-encoded)
#[test]
fn variable_length_blocks() {
    let chunk = bytes(
        "
            06013501340000000300000054000000000000000000010000000000000001002c00000040000000460000001e000000
            6f616263616263060000506263616263020000007879140000001a000100500000000000",
    );
    let data = [&b"abc".repeat(10)[..], b"xy", &[0; 20]].concat();
    assert_eq!(decode(&chunk), data);
    let mut decoder = ChunkDecoder::new(Registry::linked().unwrap());
    let blocks = decoder.decode_blocks(&chunk, &ChunkContext::default()).unwrap();
    assert_eq!(blocks, [b"abc".repeat(10), b"xy".to_vec(), vec![0; 20]]);
    let params = EncodeParams { filters: FilterSlots::NONE, ..lz4(1) };
    let mut encoder = ChunkEncoder::new(&params, Registry::linked().unwrap()).unwrap();
    let ours = encoder.encode_blocks(&blocks, &ChunkContext::default(), &Inline).unwrap();
    assert_eq!(ours[..12], chunk[..12]);
    assert_eq!(ours[16..32], chunk[16..32]);
    assert_eq!(decoder.decode_blocks(&ours, &ChunkContext::default()).unwrap(), blocks);
}

/// u16 1000+i for i<24 (48 B), zlib cl5 ts2 shuffle slot4 + bytedelta(35, meta 2) slot5
#[test]
fn bytedelta() {
    let chunk = bytes(
        "
            0501750230000000300000003700000000000000012304000000000000020000240000000f000000785e7bc1881d3033
            6007002f340103",
    );
    let data = (0..24u16).flat_map(|i| (1000 + i).to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(decode(&chunk), data);
}

/// ten f32 1+i/7, lz4 cl5 ts4 trunc_prec meta 8 slot4 + shuffle slot5 (lossy: low 15 mantissa bits zeroed)
#[test]
fn trunc_prec() {
    let chunk = bytes(
        "
            0501350428000000280000004a00000000000000040101000000000008000000240000002200000017000100f00d8080
            0000800000008092a4b6c9dbed0009123f3f3f3f3f3f3f404040",
    );
    let data = (0..10)
        .flat_map(|i| {
            let bits = (1.0 + i as f32 / 7.0).to_bits() & !0x7fff;
            bits.to_le_bytes()
        })
        .collect::<Vec<u8>>();
    assert_eq!(decode(&chunk), data);
}

/// Blosc1 (v2, 16 B header) u32 0..63 lz4 bitshuffle cl5 ts4: 64*4/4=64<128 so Blosc1 does not split (bit4 set)
#[test]
fn blosc1_bitshuffle() {
    let chunk = bytes(
        "
            02013404000100000001000042000000140000002a00000013aa010013cc010013f001002300ff02002300ff04007000
            00ffffffff0009000f0200b3500000000000",
    );
    let data = u32s(0..64);
    assert_eq!(decode(&chunk), data);
}

/// Blosc1 v2: 2048 x 0x05 zstd shuffle ts4 (no run tokens in 16 B headers)
#[test]
fn blosc1_without_runs() {
    let chunk = bytes("0201910400080000000800002b000000140000001300000028b52ffd6000074d00001005050100fbff000b");
    let data = vec![5; 2048];
    assert_eq!(decode(&chunk), data);
}

/// Blosc1 v2 "hello" memcpyed (codec + dont_split bits still set)
#[test]
fn blosc1_stored() {
    let chunk = bytes("0201120105000000050000001500000068656c6c6f");
    let data = b"hello".to_vec();
    assert_eq!(decode(&chunk), data);
    assert_eq!(
        encode(
            &data,
            EncodeParams {
                format: ChunkFormat::Blosc1,
                filters: FilterSlots::NONE,
                split: oxiblosc_core::chunk::SplitMode::Never,
                ..EncodeParams::default()
            }
        ),
        chunk
    );
}

/// typesize 256: stored as ts1, blocksize still multiple of 256 (3840+160)
#[test]
fn typesize_above_255() {
    let chunk = bytes(
        "
            05012501a00f0000000f00003200000000000000000101000000000000000000280000002d000000f9ffffff01f9ffff
            ff01",
    );
    let data = vec![7; 4000];
    assert_eq!(decode(&chunk), data);
    assert_eq!(encode(&data, EncodeParams { codec: CodecId::LZ4, typesize: 256, ..EncodeParams::default() }), chunk);
}

/// dict: "0123456789abcdef" cycled to 6000 B, lz4 cl5 ts1 nofilter, blocksize 2000, use_dict
#[test]
fn dictionary() {
    let chunk = bytes(
        "
            0501350170170000d0070000b3010000000000000000010000000000000000015c01000079010000960100002c010000
            3031323334353637383961622c0100003031323334353637383961626364656630313233343536373839616263646566
            303132333435363738396162636465663031323334353637383961626364656630313233343536373839616263646566
            303132333435363738396162636465663031323334353637383961626364656630313233343536373839616263646566
            303132333435363738396162636465663031323334353637383961626364656630313233343536373839616263646566
            303132333435363738396162636465663031323334353637383961626364656630313233343536373839616263646566
            303132333435363738396162636465663031323334353637383961626364656630313233343536373839616263646566
            303132333435363738396162190000000f1c00090f4c001d0f3000ffffffffffffff73506263646566190000000f1c00
            090f4c001d0f3000ffffffffffffff73506263646566190000000f1c00090f4c001d0f3000ffffffffffffff73506263
            646566",
    );
    let data = b"0123456789abcdef".repeat(375);
    assert_eq!(decode(&chunk), data);
}

/// lazy form of a 4-block lz4 chunk (u32, blocksize 2000) read from an on-disk frame
#[test]
fn lazy() {
    let bytes = bytes(
        "
            05012504401f0000d00700005d0f00000100000000000100000000000000000830000000cd0300008a070000660b0000
            01000000fe0d0000000000009d030000bd030000dc030000f7030000",
    );
    let chunk = LazyChunk::parse(&bytes).unwrap();
    assert_eq!((chunk.number(), chunk.offset()), (1, 3582));
    let lens: Vec<usize> = (0..4).map(|block| chunk.span(block).unwrap().len()).collect();
    assert_eq!(lens, [925, 957, 988, 1015]);
    assert_eq!(chunk.to_bytes(), bytes);
    let mut decoder = ChunkDecoder::new(Registry::linked().unwrap());
    assert!(matches!(decoder.decode(&bytes, &ChunkContext::default(), &Inline), Err(ChunkError::Lazy)));
}
