//! Zlib: a zlib stream (RFC 1950) around deflate (RFC 1951).
//!
//! Source: chunk format document, codec 4; the wrapper is zlib's, neither gzip's nor bare deflate.
//!
//! Three of the five encoders are our own, because libdeflate and zlib each fall short on some filtered data: the quick
//! one of level 1 builds no codes, the greedy one hurries through noise, and the greedy and the parsing one end their
//! blocks where one byte plane ends and another begins.
//! [`choice`] says which encoder is used when.

mod bits;
mod block;
mod blocks;
mod choice;
mod codes;
mod cost;
mod greedy;
mod huffman;
mod library;
mod parse;
mod prices;
mod quick;

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, FilterId, register_codec};

use self::choice::Encoder;
use self::greedy::GreedyEncoder;
use self::library::{Deflate, Inflate, InflateError, ZlibDeflate};
use self::parse::{Effort, ParsingEncoder};
use self::quick::QuickEncoder;

register_codec!(builtin CodecId::ZLIB, "zlib", CodecTraits::PLAIN.high_ratio(), || Box::new(Zlib::default()));

/// The codec `zlib`. The level is deflate's own, 1..=9.
///
/// Streams are written by one of five encoders: the fastest one whose result is no larger than zlib's, within half a
/// percent, on nearly all data sets that the choice was made on. Where long
/// parts come back, it may be up to a tenth larger. All are decoded by libdeflate. In programs without C (no feature
/// `libdeflate`) zlib does what is said of it.
///
/// An instance keeps the encoder states from stream to stream: setting one up costs more than coding a short stream.
#[derive(Default)]
pub struct Zlib {
    quick: Option<QuickEncoder>,
    greedy: Option<GreedyEncoder>,
    parsing: Option<ParsingEncoder>,
    libdeflate: Option<(u8, Deflate)>,
    zlib: Option<(u8, ZlibDeflate)>,
    inflate: Inflate,
}

impl Clone for Zlib {
    /// An instance with its own states, allocated on first use.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The search effort of the parsing encoder.
const EFFORT: Effort = Effort { depth: 28, lazy: 2 };

/// The state for `level`, created if the kept one is for another level.
fn kept<T>(slot: &mut Option<(u8, T)>, level: u8, make: impl FnOnce(u8) -> T) -> &mut T {
    let state = match slot.take() {
        Some((of, state)) if of == level => state,
        _ => make(level),
    };
    &mut slot.insert((level, state)).1
}

/// Bytes of each of the planes that a stream of `len` bytes consists of.
fn plane(ctx: &CodecContext<'_>, len: usize) -> usize {
    let planes = match ctx.filter {
        FilterId::SHUFFLE | FilterId::BYTEDELTA => ctx.block.typesize / ctx.streams.max(1),
        _ => 1,
    };
    (len / planes.max(1)).max(1)
}

impl Codec for Zlib {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let quick = self.quick.get_or_insert_with(QuickEncoder::new);
        match choice::choose(quick, ctx.level_or_default(), ctx.filter, ctx.block.typesize, src, dst) {
            Encoder::Quick => Ok(quick.compress(src, dst)),
            Encoder::Greedy { ways } => {
                let plane = plane(ctx, src.len());
                Ok(self.greedy.get_or_insert_with(GreedyEncoder::new).compress(src, plane, dst, ways))
            }
            Encoder::Parsing => {
                let plane = plane(ctx, src.len());
                Ok(self.parsing.get_or_insert_default().compress(src, plane, dst, EFFORT))
            }
            Encoder::Libdeflate(level) => Ok(kept(&mut self.libdeflate, level, Deflate::new).compress(src, dst)),
            Encoder::Zlib => Ok(kept(&mut self.zlib, ctx.level_or_default(), ZlibDeflate::new).compress(src, dst)),
        }
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let expected = dst.len();
        // Bytes after the end of the stream are tolerated, as C-Blosc2 does.
        match self.inflate.decompress(src, dst) {
            Ok(found) if found == expected => Ok(found),
            Ok(found) => Err(CodecError::Length { expected, found }),
            Err(InflateError::TooLong) => Err(CodecError::Length { expected, found: expected + 1 }),
            // Neither library reports an offset; the stream begins at 0.
            Err(InflateError::Damaged) => {
                Err(CodecError::Corrupt { offset: 0, reason: "not a valid zlib stream, or cut short" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use oxiblosc_core::filter::BlockContext;

    use super::*;
    use crate::codecs::sample::is_noise;
    use crate::codecs::testing;

    #[test]
    fn round_trips() {
        testing::round_trips::<Zlib>(&[0, 1, 2, 5, 7, 9], None);
    }

    #[test]
    fn survives_damage() {
        testing::survives_damage::<Zlib>(None);
    }

    #[test]
    fn what_follows_a_stream_is_tolerated() {
        let (mut zlib, ctx) = (Zlib::default(), testing::context(5));
        let src = b"the cat sat on the mat, the cat sat on the mat, the cat sat on the mat";
        let mut packed = testing::compress(&mut zlib, &ctx, src).expect("the text repeats itself");
        packed.extend_from_slice(b"junk");
        assert_eq!(testing::decompress(&mut zlib, &ctx, &packed, src.len()).unwrap(), src);
    }

    #[test]
    fn a_stream_that_is_too_long_is_told_from_a_damaged_one() {
        let (mut zlib, ctx) = (Zlib::default(), testing::context(5));
        let packed = testing::compress(&mut zlib, &ctx, &[7; 100]).expect("it is all the same");
        let message = |len| Zlib::default().decompress(&ctx, &packed, &mut vec![0; len]).unwrap_err().to_string();
        assert_eq!(message(99), "stream decodes to 100 bytes, expected 99");
        assert_eq!(message(101), "stream decodes to 100 bytes, expected 101");
    }

    #[test]
    fn noise_is_as_small_as_by_zlib() {
        let mut random = testing::Random(5);
        let src: Vec<u8> = (0..60_000).map(|_| random.below(100) as u8).collect();
        assert!(is_noise(&src, 1));
        for level in 2..=9 {
            let mut dst = vec![0; src.len()];
            let by_zlib = ZlibDeflate::new(level).compress(&src, &mut dst).expect("bytes have fewer bits");
            let len = testing::compress(&mut Zlib::default(), &testing::context(level), &src).expect("as above").len();
            assert!(len <= by_zlib + by_zlib / 200, "{len} and {by_zlib} bytes at level {level}");
        }
    }

    #[test]
    fn what_repeats_nearly_everywhere_is_as_small_as_by_zlib() {
        let mut random = testing::Random(5);
        let src: Vec<u8> = (0..60_000).map(|_| if random.below(60) == 0 { 255 } else { 0 }).collect();
        for level in 4..=9 {
            let mut dst = vec![0; src.len()];
            let by_zlib = ZlibDeflate::new(level).compress(&src, &mut dst).expect("it is mostly zeros");
            for filter in [FilterId::BITSHUFFLE, FilterId::BYTEDELTA] {
                let mut ctx = CodecContext::new(BlockContext::new(2), level);
                ctx.filter = filter;
                let len = testing::compress(&mut Zlib::default(), &ctx, &src).expect("it is mostly zeros").len();
                assert!(len <= by_zlib + by_zlib / 100, "{len} and {by_zlib} bytes at level {level} after {filter:?}");
            }
        }
    }

    #[test]
    fn regular_columns_are_as_small_as_by_zlib() {
        // Steps of 33.7, rounded down.
        let numbers: Vec<_> = (0..1u32 << 16).map(|i| (i * 337 / 10).to_le_bytes()).collect();
        let numbers = (0..4).flat_map(|byte| numbers.iter().map(move |number| number[byte])).collect();
        for (typesize, src) in [(8, testing::shuffled_times(1 << 17)), (4, numbers)] {
            for level in 3..=9 {
                let mut dst = vec![0; src.len()];
                let by_zlib = ZlibDeflate::new(level).compress(&src, &mut dst).expect("they are regular");
                let mut ctx = CodecContext::new(BlockContext::new(typesize), level);
                ctx.filter = FilterId::SHUFFLE;
                let len = testing::compress(&mut Zlib::default(), &ctx, &src).expect("they are regular").len();
                assert!(len <= by_zlib, "{len} and {by_zlib} bytes of items of {typesize} bytes at level {level}");
            }
        }
    }

    /// Checks that a period of bytes below `below` takes no more than by zlib, at `levels` and after each of `filters`.
    fn check_periods(below: usize, levels: &[u8], filters: &[FilterId]) {
        let mut random = testing::Random(5);
        for period in [1324, 8 << 10, 12_345, 24_368] {
            let bytes: Vec<u8> = (0..period).map(|_| random.below(below) as u8).collect();
            let src: Vec<u8> = bytes.iter().copied().cycle().take(1 << 18).collect();
            for &level in levels {
                let by_zlib = ZlibDeflate::new(level).compress(&src, &mut vec![0; src.len()]).expect("it repeats");
                for &filter in filters {
                    let mut ctx = CodecContext::new(BlockContext::new(1), level);
                    ctx.filter = filter;
                    let len = testing::compress(&mut Zlib::default(), &ctx, &src).expect("it repeats").len();
                    let most = by_zlib + by_zlib / 100;
                    assert!(len <= most, "{len} and {by_zlib} bytes: period {period}, level {level}, {filter:?}");
                }
            }
        }
    }

    #[test]
    fn noise_that_comes_back_is_as_small_as_by_zlib() {
        let filters = [FilterId::NONE, FilterId::SHUFFLE, FilterId::BITSHUFFLE, FilterId::BYTEDELTA];
        check_periods(256, &[2, 3, 4, 5], &filters);
    }

    #[test]
    fn few_values_that_come_back_are_as_small_as_by_zlib() {
        check_periods(2, &[3, 4, 5, 6, 7, 8, 9], &[FilterId::NONE, FilterId::SHUFFLE, FilterId::BYTEDELTA]);
    }

    #[test]
    fn bit_planes_of_noise_do_not_hide_those_that_repeat() {
        // Planes of 32 KiB, the distance of which is the farthest that deflate has.
        let mut random = testing::Random(5);
        let mut plane = |noise: bool| (0..1 << 15).map(|_| if noise { random.below(256) as u8 } else { 0 }).collect();
        let planes: Vec<Vec<u8>> = (0..8).map(|i| plane(i % 2 == 0)).collect();
        let src = [&planes[..], &planes, &planes].concat().concat();
        let mut ctx = CodecContext::new(BlockContext::new(4), 9);
        ctx.filter = FilterId::BITSHUFFLE;
        let len = testing::compress(&mut Zlib::default(), &ctx, &src).expect("half of it is zero").len();
        let by_zlib = ZlibDeflate::new(9).compress(&src, &mut vec![0; src.len()]).expect("as above");
        assert!(len <= by_zlib, "{len} and {by_zlib} bytes");
    }

    #[test]
    fn log_lines_taken_as_wide_items_are_as_small_as_by_zlib() {
        let line = |i: usize| {
            let (minute, second, took) = (i / 60 % 60, i % 60, i * 37 % 211);
            format!("2026-11-25 01:{minute:02}:{second:02} INFO worker-{} request {i} took {took} ms\n", i % 7)
        };
        let log: String = (0..4000).map(line).collect();
        for typesize in [2, 4, 8] {
            let plane = |byte| log.as_bytes().chunks_exact(typesize).map(move |item| item[byte]);
            let src: Vec<u8> = (0..typesize).flat_map(plane).collect();
            for level in 1..=9 {
                let mut dst = vec![0; src.len()];
                let by_zlib = ZlibDeflate::new(level).compress(&src, &mut dst).expect("lines are much the same");
                let mut ctx = CodecContext::new(BlockContext::new(typesize), level);
                ctx.filter = FilterId::SHUFFLE;
                let len = testing::compress(&mut Zlib::default(), &ctx, &src).expect("lines are much the same").len();
                assert!(len <= by_zlib + by_zlib / 100, "{len} and {by_zlib} bytes at level {level}, {typesize}");
            }
        }
    }
}
