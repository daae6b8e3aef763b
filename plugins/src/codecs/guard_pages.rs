//! Runs every codec with a guard page right before and right after what it reads and writes, and compares the results
//! with those in plain memory. That the fast paths of our own codecs equal their checked twins is tested next to them.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::nd::Geometry;

use super::testing::{self, Random};
use super::{Blosclz, Brotli, Lz4, Lz4Hc, Ndlz, Snappy, Zfp, ZfpMode, Zlib, Zstd};
use crate::guarded::{Guarded, Place, exhaustive, gaps};

/// The longest input.
const LONGEST: usize = 300;

/// Guarded memory for the streams, and a count of the calls.
struct Bench {
    input: Guarded,
    output: Guarded,
    random: Random,
    runs: u64,
}

impl Bench {
    fn new() -> Self {
        Self { input: Guarded::new(8192), output: Guarded::new(8192), random: Random(77), runs: 0 }
    }

    /// Runs `work` on a copy of `src` and on `room` bytes in plain memory, and then at the places for `gap`; all must do
    /// the same. Returns what was written, if it succeeded.
    fn same(
        &mut self,
        src: &[u8],
        room: usize,
        gap: usize,
        mut work: impl FnMut(&[u8], &mut [u8]) -> Result<Option<usize>, CodecError>,
        what: impl Fn() -> String,
    ) -> Option<Vec<u8>> {
        let mut plain = vec![0xDD; room];
        let expected = work(src, &mut plain).map_err(|e| e.to_string());
        let len = expected.as_ref().ok().copied().flatten();
        for (from, to) in Place::pairs(gap) {
            let src = self.input.with(from, src);
            let (result, found) = self.output.write(to, room, |dst| work(src, dst));
            assert_eq!(result.map_err(|e| e.to_string()), expected, "{}, {from:?} to {to:?}", what());
            let len = len.unwrap_or(0);
            assert!(found[..len] == plain[..len], "{}, {from:?} to {to:?}: other bytes", what());
            self.runs += 1;
        }
        plain.truncate(len?);
        Some(plain)
    }

    /// Compresses `src` into buffers of several lengths, some of them too small. Returns the stream if it is shorter.
    fn compress(&mut self, codec: &mut dyn Codec, ctx: &CodecContext<'_>, src: &[u8], what: &str) -> Option<Vec<u8>> {
        let mut stream = None;
        for gap in gaps(src.len()) {
            let mut room = |bench: &mut Self, room: usize| {
                bench.same(
                    src,
                    room,
                    gap,
                    |src, dst| codec.compress(ctx, src, dst),
                    || format!("{what}: {} bytes into {room}", src.len()),
                )
            };
            stream = room(self, src.len());
            let exact = stream.as_ref().map_or(src.len(), Vec::len);
            for other in [src.len() + 64, exact, exact - 1, exact / 2] {
                room(self, other);
            }
        }
        stream
    }

    /// Decompresses `stream`, whole, cut and damaged, into `len` bytes and into fewer and more.
    fn decompress(&mut self, codec: &mut dyn Codec, ctx: &CodecContext<'_>, stream: &[u8], len: usize, what: &str) {
        let mut streams = vec![stream.to_vec()];
        streams.extend((0..10).map(|_| testing::damaged(&mut self.random, stream)));
        let gap = self.random.below(64);
        for gap in if exhaustive() { (0..64).collect() } else { vec![0, gap] } {
            for stream in &streams {
                for room in [len, len - 1, len / 2, len + 1, len + 40] {
                    self.same(
                        stream,
                        room,
                        gap,
                        |src, dst| codec.decompress(ctx, src, dst).map(Some),
                        || format!("{what}: {} bytes into {room} of {len}", stream.len()),
                    );
                }
            }
        }
    }

    /// Round trips for data of every `step`th length.
    fn round_trips(&mut self, codec: &mut dyn Codec, levels: &[u8], dict: Option<&[u8]>, step: usize, name: &str) {
        for len in (1..=LONGEST).step_by(if exhaustive() { 1 } else { step }) {
            for (number, (kind, src)) in testing::data(len).into_iter().enumerate() {
                // Three kinds of data for each length, and others for the next one.
                if !exhaustive() && (number + len) % 7 > 2 {
                    continue;
                }
                for &level in levels {
                    let mut ctx = testing::context(level);
                    ctx.dict = dict;
                    let what = format!("{name} {level}, {kind}");
                    if let Some(stream) = self.compress(codec, &ctx, &src, &what) {
                        self.decompress(codec, &ctx, &stream, len, &what);
                    }
                }
            }
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        println!("{} runs of codecs between guard pages", self.runs);
    }
}

#[test]
fn blosclz() {
    Bench::new().round_trips(&mut Blosclz::default(), &[1, 5, 9], None, 1, "blosclz");
}

#[test]
fn lz4() {
    Bench::new().round_trips(&mut Lz4::default(), &[1, 9], None, 1, "lz4");
    let dict = b"the cat sat on the mat, and the dog ran";
    Bench::new().round_trips(&mut Lz4::default(), &[5], Some(dict), 3, "lz4 with a dictionary");
}

#[test]
fn lz4hc() {
    Bench::new().round_trips(&mut Lz4Hc::default(), &[1, 4, 9], None, 1, "lz4hc");
    let dict = b"the cat sat on the mat, and the dog ran";
    Bench::new().round_trips(&mut Lz4Hc::default(), &[1, 5, 9], Some(dict), 7, "lz4hc with a dictionary");
}

#[test]
fn zlib() {
    Bench::new().round_trips(&mut Zlib::default(), &[1, 9], None, 1, "zlib");
    Bench::new().round_trips(&mut Zlib::default(), &[5], None, 11, "zlib");
}

#[test]
fn zstd() {
    Bench::new().round_trips(&mut Zstd::default(), &[1, 5], None, 13, "zstd");
}

#[test]
fn brotli() {
    Bench::new().round_trips(&mut Brotli, &[1], None, 37, "brotli");
}

#[test]
fn snappy() {
    let mut bench = Bench::new();
    let ctx = testing::context(5);
    for len in 1..=LONGEST {
        for (kind, src) in testing::data(len) {
            let stream = snap::raw::Encoder::new().compress_vec(&src).expect("snappy compresses anything");
            bench.decompress(&mut Snappy, &ctx, &stream, len, kind);
        }
    }
}

fn geometry(shape: &[u32]) -> Geometry {
    Geometry {
        shape: shape.iter().map(|&extent| extent.into()).collect(),
        chunk_shape: shape.to_vec(),
        block_shape: shape.to_vec(),
    }
}

#[test]
fn ndlz() {
    let mut bench = Bench::new();
    let mut codec = Ndlz::default();
    for height in 1..=17 {
        for width in 1..=17 {
            let geometry = geometry(&[height, width]);
            for (kind, src) in testing::data((height * width) as usize) {
                for meta in [4, 8] {
                    let mut block = BlockContext::new(1);
                    block.nd = Some(&geometry);
                    let mut ctx = CodecContext::new(block, 5);
                    ctx.meta = meta;
                    let what = format!("ndlz, {kind} of {height} x {width} in cells of {meta}");
                    if let Some(stream) = bench.compress(&mut codec, &ctx, &src, &what) {
                        bench.decompress(&mut codec, &ctx, &stream, src.len(), &what);
                    }
                }
            }
        }
    }
}

#[test]
fn zfp() {
    let mut bench = Bench::new();
    let shapes: &[&[u32]] = &[&[4], &[5], &[37], &[4, 4], &[7, 5], &[4, 4, 4], &[5, 4, 6], &[4, 4, 4, 4]];
    for (mode, meta) in [(ZfpMode::Accuracy, 0), (ZfpMode::Precision, 20), (ZfpMode::Rate, 40)] {
        let mut codec = Zfp::new(mode);
        for shape in shapes {
            let geometry = geometry(shape);
            for typesize in [4, 8] {
                let len = shape.iter().product::<u32>() as usize;
                let src: Vec<u8> =
                    (0..len).map(|i| (i as f64 / 7.0).sin() * 100.0).fold(Vec::new(), |mut src, value| {
                        match typesize {
                            4 => src.extend((value as f32).to_le_bytes()),
                            _ => src.extend(value.to_le_bytes()),
                        }
                        src
                    });
                let mut block = BlockContext::new(typesize);
                block.nd = Some(&geometry);
                let mut ctx = CodecContext::new(block, 5);
                ctx.meta = meta;
                let what = format!("zfp {mode:?}, {shape:?} of {typesize} bytes");
                if let Some(stream) = bench.compress(&mut codec, &ctx, &src, &what) {
                    bench.decompress(&mut codec, &ctx, &stream, src.len(), &what);
                }
            }
        }
    }
}
