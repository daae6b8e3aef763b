//! Zlib: a zlib stream (RFC 1950) around deflate (RFC 1951).
//!
//! Source: chunk format document, codec 4; the wrapper is zlib's, neither gzip's nor bare deflate.
//!
//! Three of the five encoders are our own, because libdeflate and zlib each fall short on some filtered data: the quick
//! one of level 1 builds no codes, the greedy one hurries through noise, and the greedy and the parsing one end their
//! blocks where one byte plane ends and another begins.
//! `Zlib::encoder` says which encoder is used when. `cargo run --release -p oxiblosc-bench -- --codec zlib` measures
//! speed and size against C-Blosc2; to judge an encoder, let `Zlib::encoder` return another one and measure again.

mod bits;
mod block;
mod blocks;
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

use self::greedy::GreedyEncoder;
use self::library::{Deflate, Inflate, InflateError, ZlibDeflate};
use self::parse::{Effort, ParsingEncoder};
use self::quick::QuickEncoder;
use super::sample::{different_triples, is_noise, sample};

register_codec!(builtin CodecId::ZLIB, "zlib", CodecTraits::PLAIN.high_ratio(), || Box::new(Zlib::default()));

/// The codec `zlib`. The level is deflate's own, 1..=9.
///
/// Streams are written by one of five encoders: the fastest one whose result is no larger than zlib's, within half a
/// percent, on nearly all data sets that the choice was made on. Where matches lie about as far back as zlib looks, it
/// may be up to a half larger. All are decoded by libdeflate. In programs without C (no feature `libdeflate`) zlib does
/// what is said of it.
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

/// The encoder of a stream.
#[derive(Debug, Clone, Copy)]
enum Encoder {
    Quick,
    /// Compares up to this many earlier positions at each one.
    Greedy {
        ways: usize,
    },
    Parsing,
    /// libdeflate at this level of its own.
    Libdeflate(u8),
    Zlib,
}

/// The search effort of the parsing encoder.
const EFFORT: Effort = Effort { depth: 28, lazy: 2 };

/// Pieces of a sample.
const PIECES: usize = 8;

/// Bytes of a piece.
const PIECE: usize = 1024;

/// Of the letters of log lines and JSON, taken as items of two bytes and more and shuffled, fewer triples differ, in percent.
/// The greedy encoder misses far matches there from level 4 on.
const LETTERS: usize = 13;

impl Zlib {
    /// Each choice was made on data sets of the role `tuned`, filtered and not: the fastest encoder whose result is not
    /// larger than that of zlib's level.
    ///
    /// zlib stays ahead in size where nearly everything repeats. libdeflate's blocks cross byte planes, those of the
    /// greedy and the parsing encoder do not; without a filter there are no planes, and libdeflate finds far matches of
    /// three bytes that the greedy encoder does not look for.
    fn encoder(&mut self, ctx: &CodecContext<'_>, src: &[u8]) -> Encoder {
        use Encoder::{Greedy, Libdeflate, Parsing, Quick};
        use FilterId as Filter;

        let level = ctx.level_or_default();
        if level == 1 {
            return Quick;
        }
        // What the other encoders lose where nearly everything repeats grows with the level.
        let repetitive = match (level, ctx.filter) {
            (..4, _) => 4,
            (4 | 5, Filter::SHUFFLE) => 7,
            (5, Filter::BYTEDELTA) => 20,
            (5.., Filter::BITSHUFFLE) => 12,
            _ => 10,
        };
        if self.shrinks(src, repetitive) {
            return Encoder::Zlib;
        }
        let filtered = matches!(ctx.filter, Filter::SHUFFLE | Filter::BITSHUFFLE | Filter::BYTEDELTA);
        let bytes = ctx.block.typesize == 1;
        // The same three bytes occur so often that only zlib looks far enough back to find the longest match.
        let least_variety = match (level, ctx.filter) {
            (..4, _) => 0,
            (5, Filter::SHUFFLE) => LETTERS,
            (4.., Filter::BITSHUFFLE) => 12,
            (6.., Filter::SHUFFLE | Filter::BYTEDELTA) => 12,
            (7.., _) => 25,
            _ => 0,
        };
        if least_variety > 0 && !bytes && different_triples(src) < least_variety {
            return Encoder::Zlib;
        }
        if filtered && level <= 5 {
            return match level {
                2 => Greedy { ways: 1 },
                3 => Greedy { ways: 2 },
                // Single bytes have no planes of noise: their differences repeat as masks and text do.
                _ if bytes && ctx.filter == Filter::BYTEDELTA => Libdeflate(level + 1),
                4 if !bytes && ctx.filter == Filter::SHUFFLE && different_triples(src) < LETTERS => Libdeflate(5),
                _ => Greedy { ways: 4 },
            };
        }
        match level {
            // zlib and libdeflate search noise as long as anything else, and find as little.
            _ if is_noise(src, ctx.block.typesize) => Greedy { ways: 4 },
            6 if ctx.filter == Filter::BYTEDELTA && self.shrinks(src, 25) => Encoder::Zlib,
            _ if level > 5 && bytes && filtered && self.shrinks(src, 30) => Encoder::Zlib,
            // Differences of bytes that hardly repeat are left to the codes, which the parsing encoder fits to each plane.
            9.. if !bytes && ctx.filter == Filter::BYTEDELTA && different_triples(src) >= 85 => Parsing,
            // Noise is much the same to all encoders, and libdeflate's is through it first.
            9.. if ctx.filter == Filter::SHUFFLE && self.shrinks(src, 98) => Parsing,
            6 | 7 if filtered => Libdeflate(level),
            8.. if filtered => Libdeflate(8),
            4..=6 if bytes && self.shrinks(src, 55) => Libdeflate(level + 1),
            4..=6 if !bytes && self.shrinks(src, 60) => Encoder::Zlib,
            // libdeflate's level 4 takes the first match, and what is left of the mantissas of rounded floats costs 5 to
            // 15 % more.
            4 if !bytes => Libdeflate(5),
            // Pixels have near matches of three bytes, and coordinates have far ones.
            9.. if !self.shrinks(src, 80) && bytes => Parsing,
            9.. if !self.shrinks(src, 80) => Encoder::Zlib,
            8.. if self.shrinks(src, 12) => Encoder::Zlib,
            8.. if bytes => Libdeflate(8),
            8.. => Libdeflate(7),
            _ => Libdeflate(level),
        }
    }

    /// Whether a sample of `src` shrinks to less than `percent` of its length.
    fn shrinks(&mut self, src: &[u8], percent: usize) -> bool {
        let mut pieces = [0; PIECES * PIECE];
        let sample = sample(src, PIECE, &mut pieces);
        let mut room = [0; PIECES * PIECE];
        let quick = self.quick.get_or_insert_with(QuickEncoder::new);
        quick.compress(sample, &mut room[..sample.len() * percent / 100]).is_some()
    }
}

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
        match self.encoder(ctx, src) {
            Encoder::Quick => Ok(self.quick.get_or_insert_with(QuickEncoder::new).compress(src, dst)),
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
