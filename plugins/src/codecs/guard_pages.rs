//! Runs every codec with a guard page right before and right after what it reads and writes, and compares the results
//! with those in plain memory. That the fast paths of our own codecs equal their checked twins is tested next to them.
//!
//! Codecs with unsafe code of ours are run at every alignment and every length up to [`LONGEST`], of input and output
//! ([`Effort::Every`]). The others are run at all alignments, but not at all combinations with a length.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::nd::Geometry;

#[cfg(any(feature = "zstd", feature = "pure"))]
use super::Zstd;
use super::testing::{self, Random};
use super::{Blosclz, Lz4, Lz4Hc, Ndlz, Snappy, Zlib};
#[cfg(feature = "zfp")]
use super::{Zfp, ZfpMode};
use crate::guard_pages::{ALIGNMENTS, GuardedPages, LONGEST, Side, SlicePosition, exhaustive};

const DICT: &[u8] = b"the cat sat on the mat, and the dog ran";

/// The length of the longest stream or output.
const ROOM: usize = 1 << 17;

/// How many alignments and lengths to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// All alignments at all lengths.
    Every,
    /// A random alignment each time, at every n-th length.
    Some(usize),
}

/// Decodes a stream into the whole output.
type Decoder<'d> = dyn FnMut(&[u8], &mut [u8]) -> Result<usize, CodecError> + 'd;

/// Guarded memory for the streams, and a count of the calls.
struct GuardedCalls {
    input: GuardedPages,
    output: GuardedPages,
    random: Random,
    runs: u64,
}

impl GuardedCalls {
    fn new() -> Self {
        Self { input: GuardedPages::new(ROOM), output: GuardedPages::new(ROOM), random: Random(77), runs: 0 }
    }

    /// The alignments for one call.
    fn gaps(&mut self, effort: Effort) -> std::ops::Range<usize> {
        if effort == Effort::Every || exhaustive() {
            return 0..ALIGNMENTS;
        }
        let gap = self.random.below(ALIGNMENTS);
        gap..gap + 1
    }

    /// Runs `work` on a copy of `src` and on `room` bytes, in plain memory and then at the places for each of `gaps`, and
    /// checks that the results are the same. Returns what was written, if it succeeded.
    fn same(
        &mut self,
        src: &[u8],
        room: usize,
        gaps: std::ops::Range<usize>,
        mut work: impl FnMut(&[u8], &mut [u8]) -> Result<Option<usize>, CodecError>,
        what: impl Fn() -> String,
    ) -> Option<Vec<u8>> {
        let mut plain = vec![0xDD; room];
        let expected = work(src, &mut plain).map_err(|e| e.to_string());
        let len = expected.as_ref().ok().copied().flatten();
        for (from, to) in gaps.flat_map(SlicePosition::pairs) {
            let src = self.input.with(from, src);
            let (result, found) = self.output.write(to, room, |dst| work(src, dst));
            match (&result, &expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{}, {from:?} to {to:?}", what()),
                _ => assert_eq!(result.map_err(|e| e.to_string()), expected, "{}, {from:?} to {to:?}", what()),
            }
            let len = len.unwrap_or(0);
            assert!(found[..len] == plain[..len], "{}, {from:?} to {to:?}: other bytes", what());
            self.runs += 1;
        }
        plain.truncate(len?);
        Some(plain)
    }

    /// Compresses `src` into buffers of several lengths, some of them too small. Returns the stream if it is shorter.
    fn compress(
        &mut self,
        codec: &mut dyn Codec,
        ctx: &CodecContext<'_>,
        src: &[u8],
        effort: Effort,
        what: &str,
    ) -> Option<Vec<u8>> {
        let mut room = |bench: &mut Self, room: usize, effort| {
            let gaps = bench.gaps(effort);
            bench.same(
                src,
                room,
                gaps,
                |src, dst| codec.compress(ctx, src, dst),
                || format!("{what}: {} bytes into {room}", src.len()),
            )
        };
        let stream = room(self, src.len(), effort);
        let exact = stream.as_ref().map_or(src.len(), Vec::len);
        for other in [src.len() + 64, exact, exact.saturating_sub(1), exact / 2] {
            room(self, other, Effort::Some(1));
        }
        stream
    }

    /// Decodes `stream`, whole, truncated and damaged, into `len` bytes and into fewer and more.
    fn decode(&mut self, decode: &mut Decoder<'_>, stream: &[u8], len: usize, effort: Effort, what: &str) {
        let mut attempt = |bench: &mut Self, stream: &[u8], room: usize, effort| {
            let gaps = bench.gaps(effort);
            let what = || format!("{what}: {} bytes into {room} of {len}", stream.len());
            bench.same(stream, room, gaps, |src, dst| decode(src, dst).map(Some), what);
        };
        attempt(self, stream, len, effort);
        let damaged: Vec<_> = (0..10).map(|_| testing::damaged(&mut self.random, stream)).collect();
        for stream in damaged.iter().map(Vec::as_slice).chain([stream]) {
            for room in [len, len - 1, len / 2, len + 1, len + 40] {
                attempt(self, stream, room, Effort::Some(1));
            }
        }
    }

    /// Decodes input of every length, truncated streams and noise, and decodes into outputs of every length.
    fn decode_parts(&mut self, decode: &mut Decoder<'_>, streams: &[Vec<u8>], what: &str) {
        for stream in streams {
            for cut in 0..=stream.len().min(LONGEST) {
                let what = || format!("{what}: the first {cut} bytes");
                let work = |src: &[u8], dst: &mut [u8]| decode(src, dst).map(Some);
                self.same(&stream[..cut], LONGEST, 0..ALIGNMENTS, work, what);
            }
            for room in 0..=LONGEST {
                let what = || format!("{what}: into {room} bytes");
                self.same(stream, room, 0..ALIGNMENTS, |src, dst| decode(src, dst).map(Some), what);
            }
        }
        for len in 0..=LONGEST {
            let noise: Vec<u8> = (0..len).map(|_| self.random.next() as u8).collect();
            let what = || format!("{what}: {len} bytes of noise");
            self.same(&noise, LONGEST, 0..ALIGNMENTS, |src, dst| decode(src, dst).map(Some), what);
        }
    }

    /// Decodes each of `streams` into `room` bytes.
    fn decode_all(&mut self, decode: &mut Decoder<'_>, streams: &[Vec<u8>], room: usize, what: &str) {
        for (number, stream) in streams.iter().enumerate() {
            let work = |src: &[u8], dst: &mut [u8]| decode(src, dst).map(Some);
            self.same(stream, room, 0..ALIGNMENTS, work, || format!("{what} {number}"));
        }
    }

    /// Decodes a stream of `len` zeros that is cut in the bytes of a long length.
    fn decode_cut_length(&mut self, codec: &mut dyn Codec, decode: &mut Decoder<'_>, len: usize, what: &str) {
        let stream = testing::compress(codec, &testing::context(5), &vec![0; len]).expect("zeros are compressed");
        for cut in 0..stream.len() {
            let gaps = self.gaps(Effort::Some(1));
            let work = |src: &[u8], dst: &mut [u8]| decode(src, dst).map(Some);
            self.same(&stream[..cut], len, gaps, work, || format!("{what}: the first {cut} bytes"));
        }
    }

    /// Round trips for data of every length. Each of `decoders` decodes the streams, or the codec if there are none.
    fn round_trips(
        &mut self,
        codec: &mut dyn Codec,
        decoders: &mut [(String, Box<Decoder<'_>>)],
        levels: &[u8],
        dict: Option<&[u8]>,
        effort: Effort,
        name: &str,
    ) {
        let step = match effort {
            Effort::Some(step) if !exhaustive() => step,
            _ => 1,
        };
        for len in (0..=LONGEST).step_by(step) {
            for (number, (kind, src)) in testing::data(len).into_iter().enumerate() {
                // Three kinds of data for each length, and others for the next one.
                if !exhaustive() && (number + len) % 7 > 2 {
                    continue;
                }
                for &level in levels {
                    let mut ctx = testing::context(level);
                    ctx.dict = dict;
                    let what = format!("{name} {level}, {kind}");
                    let Some(stream) = self.compress(codec, &ctx, &src, effort, &what) else { continue };
                    if len == 0 || stream.is_empty() {
                        continue;
                    }
                    if decoders.is_empty() {
                        self.decode(&mut |src, dst| codec.decompress(&ctx, src, dst), &stream, len, effort, &what);
                    }
                    for (machine, decode) in &mut *decoders {
                        self.decode(decode, &stream, len, effort, &format!("{what}, {machine}"));
                    }
                }
            }
        }
    }
}

impl Drop for GuardedCalls {
    fn drop(&mut self) {
        println!("{} runs of codecs between guard pages", self.runs);
    }
}

/// Streams of all kinds of data, some of them longer than [`LONGEST`].
fn streams(codec: &mut dyn Codec, level: u8) -> Vec<Vec<u8>> {
    let data = testing::data(2 * LONGEST).into_iter().chain(testing::data(LONGEST));
    data.filter_map(|(_, src)| testing::compress(codec, &testing::context(level), &src)).collect()
}

/// The output of streams that [`blosclz_distances`] and [`lz4_distances`] return is about as long as this.
const DISTANCES_LEN: usize = 120;

/// Streams with `n` literals and a match at a distance of about `n`: it may begin before the output.
fn blosclz_distances() -> Vec<Vec<u8>> {
    let mut streams = Vec::new();
    for n in 1..=32_u8 {
        for distance in n - 1..=n + 1 {
            for len in [3, 7] {
                let mut stream = vec![n - 1];
                stream.extend(1..=n);
                stream.push(len << 5);
                stream.extend((len == 7).then_some(2));
                stream.push(distance);
                // Far from the end of the input the fast path is taken.
                for _ in 0..4 {
                    stream.push(31);
                    stream.extend([7; 32]);
                }
                streams.push(stream);
            }
        }
    }
    streams
}

/// As [`blosclz_distances`].
fn lz4_distances() -> Vec<Vec<u8>> {
    let mut streams = Vec::new();
    for n in 1..=14_u8 {
        for distance in n..=n + 2 {
            for len in [0, 14, 15] {
                let mut stream = vec![n << 4 | len];
                stream.extend(1..=n);
                stream.extend([distance - 1, 0]);
                stream.extend((len == 15).then_some(2));
                for _ in 0..6 {
                    stream.push(0xE0);
                    stream.extend([7; 14]);
                    stream.extend([14, 0]);
                }
                stream.extend([0x50, 1, 2, 3, 4, 5]);
                streams.push(stream);
            }
        }
    }
    streams
}

fn blosclz_decoders() -> Vec<(String, Box<Decoder<'static>>)> {
    let machines = super::blosclz::decoders().into_iter();
    machines.map(|(machine, decode)| (machine.to_owned(), Box::new(decode) as Box<Decoder<'_>>)).collect()
}

fn lz4_decoders(dict: &[u8]) -> Vec<(String, Box<Decoder<'_>>)> {
    let decoder = |(machine, decode): (&str, super::lz4::Decoder)| {
        let decode = move |src: &[u8], dst: &mut [u8]| decode(src, dst, dict);
        (machine.to_owned(), Box::new(decode) as Box<Decoder<'_>>)
    };
    super::lz4::decoders().into_iter().map(decoder).collect()
}

#[test]
fn blosclz() {
    let mut decoders = blosclz_decoders();
    let mut bench = GuardedCalls::new();
    bench.round_trips(&mut Blosclz::default(), &mut decoders, &[1, 5, 9], None, Effort::Every, "blosclz");
    let streams = streams(&mut Blosclz::default(), 9);
    for (machine, decode) in &mut decoders {
        bench.decode_parts(decode, &streams, &format!("blosclz, {machine}"));
        bench.decode_all(decode, &blosclz_distances(), DISTANCES_LEN, &format!("blosclz, {machine}, distances"));
        bench.decode_cut_length(&mut Blosclz::default(), decode, 20_000, &format!("blosclz, {machine}, zeros"));
    }
}

#[test]
fn lz4() {
    let mut decoders = lz4_decoders(&[]);
    let mut bench = GuardedCalls::new();
    bench.round_trips(&mut Lz4::default(), &mut decoders, &[1, 9], None, Effort::Every, "lz4");
    let streams = streams(&mut Lz4::default(), 9);
    for (machine, decode) in &mut decoders {
        bench.decode_parts(decode, &streams, &format!("lz4, {machine}"));
        bench.decode_all(decode, &lz4_distances(), DISTANCES_LEN, &format!("lz4, {machine}, distances"));
        bench.decode_cut_length(&mut Lz4::default(), decode, 20_000, &format!("lz4, {machine}, zeros"));
    }
}

#[test]
fn lz4hc() {
    // One level for each way to search for matches.
    let (mut bench, mut codec) = (GuardedCalls::new(), Lz4Hc::default());
    bench.round_trips(&mut codec, &mut lz4_decoders(&[]), &[1, 4, 9], None, Effort::Every, "lz4hc");
}

/// The dictionary is next to a guard page, too.
#[test]
fn lz4_with_a_dictionary() {
    let mut memory = GuardedPages::new(DICT.len());
    for place in [Side::Low, Side::High].map(|side| SlicePosition(side, 0)) {
        let dict = memory.with(place, DICT);
        let mut decoders = lz4_decoders(dict);
        let mut bench = GuardedCalls::new();
        let (mut lz4, mut lz4hc) = (Lz4::default(), Lz4Hc::default());
        bench.round_trips(&mut lz4, &mut decoders, &[5], Some(dict), Effort::Some(3), "lz4 with a dictionary");
        bench.round_trips(
            &mut lz4hc,
            &mut decoders,
            &[1, 5, 9],
            Some(dict),
            Effort::Some(7),
            "lz4hc with a dictionary",
        );
    }
}

/// Encoders use other tables for inputs of more than 64 KiB.
#[test]
fn long_inputs() {
    let codecs: [(&str, Box<dyn Codec>, &[u8]); 4] = [
        ("blosclz", Box::new(Blosclz::default()), &[5, 9]),
        ("lz4", Box::new(Lz4::default()), &[1, 9]),
        ("lz4hc", Box::new(Lz4Hc::default()), &[1, 4, 9]),
        ("zlib", Box::new(Zlib::default()), &[1, 9]),
    ];
    let mut bench = GuardedCalls::new();
    for (name, mut codec, levels) in codecs {
        for len in [65_535, 65_536, 65_537, 70_001] {
            for (kind, src) in testing::data(len) {
                for &level in levels {
                    let (ctx, what) = (testing::context(level), format!("{name} {level}, {kind}"));
                    let gap = bench.random.below(ALIGNMENTS);
                    let work = |src: &[u8], dst: &mut [u8]| codec.compress(&ctx, src, dst);
                    let Some(stream) = bench.same(&src, len, gap..gap + 1, work, || what.clone()) else { continue };
                    let work = |src: &[u8], dst: &mut [u8]| codec.decompress(&ctx, src, dst).map(Some);
                    bench.same(&stream, len, gap..gap + 1, work, || what.clone());
                }
            }
        }
    }
}

#[test]
fn zlib() {
    // The levels of our own two encoders, then some others.
    let mut bench = GuardedCalls::new();
    bench.round_trips(&mut Zlib::default(), &mut [], &[1, 9], None, Effort::Every, "zlib");
    bench.round_trips(&mut Zlib::default(), &mut [], &[2, 5, 7], None, Effort::Some(11), "zlib");
}

#[cfg(any(feature = "zstd", feature = "pure"))]
#[test]
fn zstd() {
    GuardedCalls::new().round_trips(&mut Zstd::default(), &mut [], &[1, 5], None, Effort::Some(7), "zstd");
}

#[test]
fn snappy() {
    let mut bench = GuardedCalls::new();
    let ctx = testing::context(5);
    for len in 1..=LONGEST {
        for (kind, src) in testing::data(len) {
            let stream = snap::raw::Encoder::new().compress_vec(&src).expect("snappy compresses anything");
            let decode = &mut |src: &[u8], dst: &mut [u8]| Snappy.decompress(&ctx, src, dst);
            bench.decode(decode, &stream, len, Effort::Some(1), kind);
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
    let mut bench = GuardedCalls::new();
    let mut codec = Ndlz::default();
    for height in 1..=17 {
        for width in 1..=17 {
            let geometry = geometry(&[height, width]);
            for (kind, src) in testing::data((height * width) as usize) {
                for meta in [4, 8] {
                    let mut block = BlockContext::new(1);
                    block.nd = Some((&geometry).into());
                    let mut ctx = CodecContext::new(block, 5);
                    ctx.meta = meta;
                    let what = format!("ndlz, {kind} of {height} x {width} in cells of {meta}");
                    let Some(stream) = bench.compress(&mut codec, &ctx, &src, Effort::Some(1), &what) else { continue };
                    let decode = &mut |src: &[u8], dst: &mut [u8]| codec.decompress(&ctx, src, dst);
                    bench.decode(decode, &stream, src.len(), Effort::Some(1), &what);
                }
            }
        }
    }
}

#[cfg(feature = "zfp")]
#[test]
fn zfp() {
    let mut bench = GuardedCalls::new();
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
                block.nd = Some((&geometry).into());
                let mut ctx = CodecContext::new(block, 5);
                ctx.meta = meta;
                let what = format!("zfp {mode:?}, {shape:?} of {typesize} bytes");
                let Some(stream) = bench.compress(&mut codec, &ctx, &src, Effort::Some(1), &what) else { continue };
                let decode = &mut |src: &[u8], dst: &mut [u8]| codec.decompress(&ctx, src, dst);
                bench.decode(decode, &stream, src.len(), Effort::Some(1), &what);
            }
        }
    }
}
