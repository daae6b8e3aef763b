//! Block size and split: the choices of C-Blosc2 3.3.5 and C-Blosc 1.21, taken from chunks of zeros that they wrote.

use oxiblosc_core::chunk::SplitMode::{self, Always, Auto, ForwardCompat, Never};
use oxiblosc_core::chunk::{ChunkContext, ChunkEncoder, ChunkFormat, ChunkHeader, EncodeParams};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{CodecId, FilterId, Inline, Registry};
use oxiblosc_plugins as _;

fn header(params: &EncodeParams, nbytes: usize) -> ChunkHeader {
    let mut encoder = ChunkEncoder::new(params, Registry::linked().unwrap()).unwrap();
    let chunk = encoder.encode(&vec![0; nbytes], &ChunkContext::default(), &Inline).unwrap();
    ChunkHeader::parse(&chunk).unwrap()
}

#[test]
fn blosc2() {
    for &(codec, level, typesize, filter, split, asked, nbytes, blocksize, flags) in BLOSC2 {
        let params = EncodeParams {
            codec,
            level,
            typesize,
            filters: FilterSlots::single(filter),
            split,
            block_size: (asked > 0).then_some(asked),
            ..EncodeParams::default()
        };
        let header = header(&params, nbytes);
        assert_eq!((header.blocksize, header.flags), (blocksize, flags), "{nbytes} bytes, {params:?}");
    }
}

#[test]
fn blosc1() {
    for &(codec, level, typesize, filter, nbytes, blocksize, flags) in BLOSC1 {
        let filters = FilterSlots::single(filter);
        let format = ChunkFormat::Blosc1;
        let params = EncodeParams { codec, level, typesize, filters, format, ..EncodeParams::default() };
        let header = header(&params, nbytes);
        assert_eq!((header.blocksize, header.flags), (blocksize, flags), "{nbytes} bytes, {params:?}");
    }
}

/// A block size that is no multiple of the item is rounded down, and written so; C-Blosc2 3.x writes it unrounded.
#[test]
fn asked_for_sizes_are_rounded_to_items() {
    for (asked, typesize, nbytes, blocksize) in [
        (1000, 3, 100_000, 999),
        (1000, 300, 100_000, 900),
        (1000, 8, 900, 896),
        (2, 4, 1000, 2),
        (5000, 7, 5000, 4998),
        (usize::MAX, 4, 1002, 1000),
        (64, 100, 40, 1),
    ] {
        let params = EncodeParams { typesize, block_size: Some(asked), ..EncodeParams::default() };
        let header = header(&params, nbytes);
        assert_eq!(header.blocksize, blocksize, "{asked} for {nbytes} bytes of {typesize}");
    }
}

/// Codec, level, type size, filter, split mode, block size asked for (0: none), bytes; block size, flags.
type Row = (CodecId, u8, usize, FilterId, SplitMode, usize, usize, usize, u8);

#[rustfmt::skip]
const BLOSC2: &[Row] = &[
    (CodecId::BLOSCLZ, 1, 1, FilterId::SHUFFLE, ForwardCompat, 16384, 1000, 1000, 0x05),
    (CodecId::BLOSCLZ, 1, 3, FilterId::SHUFFLE, Always, 0, 100, 99, 0x05),
    (CodecId::BLOSCLZ, 1, 4, FilterId::SHUFFLE, Never, 16384, 32, 32, 0x15),
    (CodecId::BLOSCLZ, 3, 12, FilterId::SHUFFLE, Never, 0, 32, 24, 0x15),
    (CodecId::BLOSCLZ, 3, 17, FilterId::SHUFFLE, Never, 0, 100000, 65535, 0x15),
    (CodecId::BLOSCLZ, 4, 12, FilterId::BITSHUFFLE, Always, 0, 32767, 32760, 0x05),
    (CodecId::BLOSCLZ, 5, 3, FilterId::NONE, ForwardCompat, 0, 100000, 99999, 0x15),
    (CodecId::BLOSCLZ, 5, 12, FilterId::NONE, Always, 0, 5000001, 786432, 0x05),
    (CodecId::BLOSCLZ, 5, 17, FilterId::SHUFFLE, Auto, 0, 20000000, 131070, 0x15),
    (CodecId::BLOSCLZ, 6, 7, FilterId::SHUFFLE, Always, 0, 100, 98, 0x05),
    (CodecId::BLOSCLZ, 6, 16, FilterId::SHUFFLE, ForwardCompat, 1024, 100000, 1024, 0x05),
    (CodecId::BLOSCLZ, 6, 255, FilterId::BITSHUFFLE, Always, 0, 4096, 4080, 0x05),
    (CodecId::BLOSCLZ, 7, 1, FilterId::BITSHUFFLE, Always, 0, 262144, 131072, 0x05),
    (CodecId::BLOSCLZ, 7, 16, FilterId::SHUFFLE, Auto, 0, 262144, 262144, 0x05),
    (CodecId::BLOSCLZ, 7, 16, FilterId::BITSHUFFLE, Never, 0, 1000000, 262144, 0x15),
    (CodecId::BLOSCLZ, 7, 17, FilterId::SHUFFLE, Never, 0, 20000000, 262140, 0x15),
    (CodecId::BLOSCLZ, 8, 1, FilterId::SHUFFLE, Always, 1024, 100000, 1024, 0x05),
    (CodecId::BLOSCLZ, 8, 8, FilterId::SHUFFLE, ForwardCompat, 1024, 4096, 1024, 0x05),
    (CodecId::BLOSCLZ, 8, 256, FilterId::BITSHUFFLE, Always, 1024, 262144, 1024, 0x05),
    (CodecId::BLOSCLZ, 9, 100, FilterId::BITSHUFFLE, ForwardCompat, 0, 100000, 100000, 0x15),
    (CodecId::LZ4, 1, 300, FilterId::SHUFFLE, ForwardCompat, 0, 20000000, 16200, 0x25),
    (CodecId::LZ4, 2, 7, FilterId::SHUFFLE, Always, 0, 32769, 32767, 0x25),
    (CodecId::LZ4, 2, 256, FilterId::NONE, Never, 0, 4096, 4096, 0x35),
    (CodecId::LZ4, 2, 300, FilterId::SHUFFLE, Auto, 0, 100000, 32700, 0x25),
    (CodecId::LZ4, 3, 2, FilterId::SHUFFLE, Never, 0, 1000, 1000, 0x35),
    (CodecId::LZ4, 3, 256, FilterId::BITSHUFFLE, Never, 0, 5000001, 65536, 0x35),
    (CodecId::LZ4, 3, 300, FilterId::NONE, Always, 0, 100000, 99900, 0x25),
    (CodecId::LZ4, 4, 1, FilterId::BITSHUFFLE, Auto, 1024, 32768, 1024, 0x35),
    (CodecId::LZ4, 4, 1, FilterId::SHUFFLE, ForwardCompat, 0, 20000000, 65536, 0x25),
    (CodecId::LZ4, 4, 100, FilterId::NONE, Always, 0, 1000000, 1000000, 0x25),
    (CodecId::LZ4, 4, 256, FilterId::NONE, Always, 0, 32767, 32512, 0x25),
    (CodecId::LZ4, 4, 256, FilterId::SHUFFLE, Never, 1024, 32768, 1024, 0x35),
    (CodecId::LZ4, 5, 16, FilterId::NONE, Always, 16384, 100000, 16384, 0x25),
    (CodecId::LZ4, 7, 12, FilterId::BITSHUFFLE, ForwardCompat, 0, 5000001, 262140, 0x35),
    (CodecId::LZ4HC, 1, 1, FilterId::BITSHUFFLE, Always, 0, 100000, 32768, 0x25),
    (CodecId::LZ4HC, 1, 256, FilterId::SHUFFLE, Auto, 0, 32768, 32768, 0x35),
    (CodecId::LZ4HC, 2, 300, FilterId::SHUFFLE, ForwardCompat, 0, 20000000, 65400, 0x35),
    (CodecId::LZ4HC, 4, 1, FilterId::BITSHUFFLE, Always, 0, 20000000, 65536, 0x25),
    (CodecId::LZ4HC, 4, 4, FilterId::SHUFFLE, Always, 0, 1000, 1000, 0x25),
    (CodecId::LZ4HC, 5, 1, FilterId::SHUFFLE, Never, 1024, 32769, 1024, 0x35),
    (CodecId::LZ4HC, 6, 1, FilterId::SHUFFLE, Always, 0, 1000, 1000, 0x25),
    (CodecId::LZ4HC, 6, 4, FilterId::SHUFFLE, ForwardCompat, 1024, 1000, 1000, 0x35),
    (CodecId::LZ4HC, 6, 256, FilterId::SHUFFLE, Never, 0, 1000000, 524288, 0x35),
    (CodecId::LZ4HC, 7, 1, FilterId::BITSHUFFLE, Always, 0, 100, 100, 0x25),
    (CodecId::LZ4HC, 7, 17, FilterId::NONE, Auto, 0, 32768, 32759, 0x35),
    (CodecId::LZ4HC, 7, 256, FilterId::BITSHUFFLE, ForwardCompat, 0, 100000, 99840, 0x35),
    (CodecId::LZ4HC, 8, 16, FilterId::SHUFFLE, Never, 0, 32768, 32768, 0x35),
    (CodecId::LZ4HC, 9, 2, FilterId::NONE, ForwardCompat, 1024, 32768, 1024, 0x35),
    (CodecId::ZLIB, 1, 2, FilterId::SHUFFLE, Auto, 0, 32767, 32766, 0x75),
    (CodecId::ZLIB, 1, 2, FilterId::BITSHUFFLE, Always, 0, 20000000, 65536, 0x65),
    (CodecId::ZLIB, 2, 4, FilterId::NONE, Auto, 0, 262144, 65536, 0x75),
    (CodecId::ZLIB, 2, 12, FilterId::NONE, Always, 0, 100, 96, 0x65),
    (CodecId::ZLIB, 2, 12, FilterId::NONE, ForwardCompat, 0, 1000000, 65532, 0x75),
    (CodecId::ZLIB, 2, 17, FilterId::BITSHUFFLE, Always, 0, 32769, 32759, 0x65),
    (CodecId::ZLIB, 2, 100, FilterId::SHUFFLE, Auto, 0, 32768, 32700, 0x75),
    (CodecId::ZLIB, 3, 8, FilterId::SHUFFLE, ForwardCompat, 0, 262144, 131072, 0x75),
    (CodecId::ZLIB, 3, 16, FilterId::SHUFFLE, Never, 0, 5000001, 131072, 0x75),
    (CodecId::ZLIB, 3, 100, FilterId::SHUFFLE, ForwardCompat, 0, 1000, 1000, 0x75),
    (CodecId::ZLIB, 4, 1, FilterId::NONE, Never, 0, 32767, 32767, 0x75),
    (CodecId::ZLIB, 4, 4, FilterId::SHUFFLE, Never, 0, 1000000, 262144, 0x75),
    (CodecId::ZLIB, 4, 7, FilterId::SHUFFLE, ForwardCompat, 0, 262144, 262143, 0x75),
    (CodecId::ZLIB, 4, 8, FilterId::SHUFFLE, Auto, 16384, 4096, 4096, 0x75),
    (CodecId::ZLIB, 4, 17, FilterId::BITSHUFFLE, Auto, 0, 32767, 32759, 0x75),
    (CodecId::ZLIB, 5, 1, FilterId::SHUFFLE, Auto, 16384, 1000, 1000, 0x75),
    (CodecId::ZLIB, 5, 16, FilterId::NONE, Never, 0, 100, 96, 0x75),
    (CodecId::ZLIB, 5, 17, FilterId::SHUFFLE, Always, 0, 1000, 986, 0x65),
    (CodecId::ZLIB, 6, 256, FilterId::SHUFFLE, ForwardCompat, 1024, 4096, 1024, 0x75),
    (CodecId::ZLIB, 7, 2, FilterId::SHUFFLE, ForwardCompat, 0, 4096, 4096, 0x75),
    (CodecId::ZLIB, 7, 300, FilterId::SHUFFLE, Auto, 0, 4096, 3900, 0x75),
    (CodecId::ZLIB, 8, 12, FilterId::BITSHUFFLE, Auto, 0, 32769, 32760, 0x75),
    (CodecId::ZLIB, 9, 100, FilterId::BITSHUFFLE, Auto, 0, 100000, 100000, 0x75),
    (CodecId::ZSTD, 1, 255, FilterId::SHUFFLE, ForwardCompat, 0, 5000001, 32640, 0x95),
    (CodecId::ZSTD, 2, 1, FilterId::NONE, Never, 1024, 4096, 1024, 0x95),
    (CodecId::ZSTD, 2, 1, FilterId::SHUFFLE, Never, 0, 100000, 65536, 0x95),
    (CodecId::ZSTD, 3, 2, FilterId::SHUFFLE, Never, 0, 100000, 100000, 0x95),
    (CodecId::ZSTD, 3, 4, FilterId::SHUFFLE, Always, 0, 100, 100, 0x85),
    (CodecId::ZSTD, 3, 17, FilterId::BITSHUFFLE, ForwardCompat, 0, 32767, 32759, 0x95),
    (CodecId::ZSTD, 3, 100, FilterId::NONE, Always, 0, 100000, 100000, 0x85),
    (CodecId::ZSTD, 4, 16, FilterId::BITSHUFFLE, Never, 0, 20000000, 262144, 0x95),
    (CodecId::ZSTD, 4, 17, FilterId::SHUFFLE, Auto, 0, 5000001, 262140, 0x95),
    (CodecId::ZSTD, 4, 255, FilterId::SHUFFLE, Never, 0, 4096, 4080, 0x95),
    (CodecId::ZSTD, 5, 1, FilterId::NONE, ForwardCompat, 0, 100, 100, 0x95),
    (CodecId::ZSTD, 5, 2, FilterId::NONE, Never, 0, 262144, 262144, 0x95),
    (CodecId::ZSTD, 5, 8, FilterId::BITSHUFFLE, Auto, 16384, 100000, 16384, 0x95),
    (CodecId::ZSTD, 6, 1, FilterId::NONE, Never, 0, 1000, 1000, 0x95),
    (CodecId::ZSTD, 6, 2, FilterId::SHUFFLE, Never, 0, 100000, 100000, 0x95),
    (CodecId::ZSTD, 6, 8, FilterId::NONE, ForwardCompat, 0, 5000001, 524288, 0x95),
    (CodecId::ZSTD, 7, 12, FilterId::BITSHUFFLE, Always, 0, 1000000, 999996, 0x85),
    (CodecId::ZSTD, 8, 4, FilterId::SHUFFLE, ForwardCompat, 1024, 100, 100, 0x95),
    (CodecId::ZSTD, 9, 17, FilterId::SHUFFLE, ForwardCompat, 0, 1000000, 999991, 0x95),
];

/// Codec, level, type size, filter, bytes; block size, flags. The split mode is the default one.
type Row1 = (CodecId, u8, usize, FilterId, usize, usize, u8);

#[rustfmt::skip]
const BLOSC1: &[Row1] = &[
    (CodecId::BLOSCLZ, 1, 1, FilterId::BITSHUFFLE, 20000000, 65536, 0x04),
    (CodecId::BLOSCLZ, 1, 2, FilterId::SHUFFLE, 20000000, 65536, 0x01),
    (CodecId::BLOSCLZ, 1, 4, FilterId::BITSHUFFLE, 100000, 65536, 0x04),
    (CodecId::BLOSCLZ, 4, 255, FilterId::BITSHUFFLE, 4999785, 131070, 0x14),
    (CodecId::BLOSCLZ, 7, 7, FilterId::BITSHUFFLE, 994, 994, 0x04),
    (CodecId::BLOSCLZ, 7, 8, FilterId::SHUFFLE, 262144, 262144, 0x01),
    (CodecId::BLOSCLZ, 7, 17, FilterId::BITSHUFFLE, 986, 986, 0x14),
    (CodecId::BLOSCLZ, 7, 17, FilterId::BITSHUFFLE, 4999989, 262140, 0x14),
    (CodecId::BLOSCLZ, 9, 16, FilterId::BITSHUFFLE, 1000000, 1000000, 0x04),
    (CodecId::LZ4, 1, 16, FilterId::BITSHUFFLE, 100000, 100000, 0x24),
    (CodecId::LZ4, 1, 255, FilterId::NONE, 32640, 32640, 0x30),
    (CodecId::LZ4, 1, 255, FilterId::NONE, 19999905, 16320, 0x30),
    (CodecId::LZ4, 2, 17, FilterId::SHUFFLE, 986, 986, 0x31),
    (CodecId::LZ4, 5, 8, FilterId::BITSHUFFLE, 20000000, 1048576, 0x24),
    (CodecId::LZ4, 5, 16, FilterId::SHUFFLE, 1000000, 1000000, 0x21),
    (CodecId::LZ4, 6, 8, FilterId::SHUFFLE, 5000000, 1048576, 0x21),
    (CodecId::LZ4, 7, 1, FilterId::SHUFFLE, 5000000, 262144, 0x21),
    (CodecId::LZ4, 7, 2, FilterId::BITSHUFFLE, 262144, 262144, 0x24),
    (CodecId::LZ4, 8, 8, FilterId::BITSHUFFLE, 128, 128, 0x34),
    (CodecId::LZ4HC, 2, 8, FilterId::NONE, 262144, 262144, 0x20),
    (CodecId::LZ4HC, 3, 7, FilterId::BITSHUFFLE, 32767, 32767, 0x24),
    (CodecId::LZ4HC, 4, 1, FilterId::BITSHUFFLE, 32768, 32768, 0x24),
    (CodecId::LZ4HC, 6, 255, FilterId::BITSHUFFLE, 4999785, 524280, 0x34),
    (CodecId::LZ4HC, 6, 255, FilterId::BITSHUFFLE, 19999905, 524280, 0x34),
    (CodecId::ZLIB, 1, 255, FilterId::BITSHUFFLE, 99960, 32640, 0x74),
    (CodecId::ZLIB, 2, 7, FilterId::BITSHUFFLE, 999999, 458752, 0x64),
    (CodecId::ZLIB, 3, 1, FilterId::BITSHUFFLE, 4096, 4096, 0x64),
    (CodecId::ZLIB, 3, 7, FilterId::NONE, 999999, 917504, 0x60),
    (CodecId::ZLIB, 3, 255, FilterId::SHUFFLE, 19999905, 131070, 0x71),
    (CodecId::ZLIB, 4, 4, FilterId::SHUFFLE, 20000000, 1048576, 0x61),
    (CodecId::ZLIB, 4, 255, FilterId::SHUFFLE, 262140, 262140, 0x71),
    (CodecId::ZLIB, 5, 255, FilterId::BITSHUFFLE, 262140, 262140, 0x74),
    (CodecId::ZLIB, 6, 8, FilterId::BITSHUFFLE, 5000000, 1048576, 0x64),
    (CodecId::ZLIB, 7, 255, FilterId::NONE, 765, 765, 0x70),
    (CodecId::ZSTD, 1, 7, FilterId::BITSHUFFLE, 999999, 32767, 0x94),
    (CodecId::ZSTD, 1, 8, FilterId::SHUFFLE, 4096, 4096, 0x91),
    (CodecId::ZSTD, 1, 255, FilterId::SHUFFLE, 262140, 32640, 0x91),
    (CodecId::ZSTD, 2, 16, FilterId::BITSHUFFLE, 20000000, 65536, 0x94),
    (CodecId::ZSTD, 3, 100, FilterId::SHUFFLE, 4000, 4000, 0x91),
    (CodecId::ZSTD, 4, 4, FilterId::NONE, 100000, 100000, 0x90),
];
