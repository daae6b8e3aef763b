//! Shared by the tests of all codecs: data of several kinds, and checks that every codec must pass.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use oxiblosc_core::filter::BlockContext;

/// Lengths around those at which one of the codecs changes its behaviour.
pub(crate) const LENGTHS: &[usize] = &[
    1, 2, 3, 4, 5, 7, 8, 12, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 67, 127, 128, 129, 255, 256, 1000, 4095, 4096,
    65_535, 65_536, 65_537, 70_000,
];

/// A pseudo-random sequence, the same in every run (xorshift64*).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n
    }
}

/// Test data: a name and `len` bytes.
pub(crate) fn data(len: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut random = Random(0x0123_4567_89AB_CDEF);
    let noise: Vec<u8> = (0..len).map(|_| (random.next() >> 56) as u8).collect();
    let mut runs = Vec::with_capacity(len);
    while runs.len() < len {
        let magnitude = 1 + random.below(10);
        let run = 1 + random.below(1 << magnitude);
        runs.extend(std::iter::repeat_n(random.below(7) as u8, run.min(len - runs.len())));
    }
    let words = ["the ", "cat ", "sat ", "on ", "mat", ", ", "dog", " ran", "\n", "and "];
    let mut text = Vec::with_capacity(len + 4);
    while text.len() < len {
        text.extend_from_slice(words[random.below(words.len())].as_bytes());
    }
    text.truncate(len);
    let float = |i: usize| ((i as f32 / 50.0).sin() * 100.0).to_le_bytes();
    let floats = (0..len.div_ceil(4)).flat_map(float).take(len).collect();
    let quarter = len.div_ceil(4).max(1);
    let shuffled = (0..len).map(|i| float(i % quarter)[(i / quarter).min(3)]).collect();
    // Every four of them have been there before, as in the high bytes of numbers.
    let letters = (0..len).map(|_| random.below(3) as u8).collect();
    let period = 1 + random.below(40);
    let periodic = (0..len).map(|i| (i % period * 7) as u8).collect();
    vec![
        ("zeros", vec![0; len]),
        ("noise", noise),
        ("runs", runs),
        ("text", text),
        ("floats", floats),
        ("shuffled floats", shuffled),
        ("letters", letters),
        ("periodic", periodic),
    ]
}

/// The byte planes of `count` times, one each day, in milliseconds: the lowest bytes come back after more of them than a
/// piece of a sample has.
pub(crate) fn shuffled_times(count: u64) -> Vec<u8> {
    let times: Vec<_> = (0..count).map(|i| (1_600_000_000_000 + 86_400_000 * i).to_le_bytes()).collect();
    (0..8).flat_map(|byte| times.iter().map(move |time| time[byte])).collect()
}

/// A context for one stream at `level`.
pub(crate) fn context(level: u8) -> CodecContext<'static> {
    CodecContext::new(BlockContext::new(1), level)
}

/// Compresses with as much room as the data takes, which is what the chunk encoder gives; `None` if it does not fit.
pub(crate) fn compress(codec: &mut dyn Codec, ctx: &CodecContext<'_>, src: &[u8]) -> Option<Vec<u8>> {
    let mut dst = vec![0xEE; src.len()];
    let len = codec.compress(ctx, src, &mut dst).expect("compress reports no error")?;
    dst.truncate(len);
    Some(dst)
}

/// Decompresses to `len` bytes.
pub(crate) fn decompress(
    codec: &mut dyn Codec,
    ctx: &CodecContext<'_>,
    src: &[u8],
    len: usize,
) -> Result<Vec<u8>, CodecError> {
    let mut dst = vec![0xDD; len];
    let found = codec.decompress(ctx, src, &mut dst)?;
    assert_eq!(found, len, "a decoder that does not fail fills its output");
    Ok(dst)
}

/// A copy of `stream` that is cut, or in which some bits are flipped.
pub(crate) fn damaged(random: &mut Random, stream: &[u8]) -> Vec<u8> {
    let mut damaged = stream.to_vec();
    if random.below(4) == 0 {
        damaged.truncate(random.below(stream.len()));
        return damaged;
    }
    for _ in 0..=random.below(3) {
        let at = random.below(damaged.len());
        damaged[at] ^= 1 << random.below(8);
    }
    damaged
}

/// Runs `decode` on a copy of `src` and on `len` bytes that end at a guard page, and also returns what it wrote.
#[cfg(unix)]
pub(crate) fn between_guards<T>(src: &[u8], len: usize, decode: impl FnOnce(&[u8], &mut [u8]) -> T) -> (T, Vec<u8>) {
    use crate::guard_pages::{GuardedPages, Side, SlicePosition};
    let (mut input, mut output) = (GuardedPages::new(src.len()), GuardedPages::new(len));
    let src = input.with(SlicePosition(Side::High, 0), src);
    let (result, dst) = output.write(SlicePosition(Side::High, 0), len, |dst| decode(src, dst));
    (result, dst.to_vec())
}

/// Runs `decode` on `src` and on `len` bytes, and also returns what it wrote.
#[cfg(not(unix))]
pub(crate) fn between_guards<T>(src: &[u8], len: usize, decode: impl FnOnce(&[u8], &mut [u8]) -> T) -> (T, Vec<u8>) {
    let mut dst = vec![0xA5; len];
    (decode(src, &mut dst), dst)
}

/// Every kind and length of data round-trips at the given levels, and a reused instance gives the same result as a new
/// one.
pub(crate) fn round_trips<C: Codec + Default>(levels: &[u8], dict: Option<&[u8]>) {
    let mut used = C::default();
    for &len in LENGTHS {
        for (kind, src) in data(len) {
            for &level in levels {
                let mut ctx = context(level);
                ctx.dict = dict;
                let what = format!("{len} bytes of {kind} at level {level}");
                let packed = compress(&mut used, &ctx, &src);
                assert_eq!(packed, compress(&mut C::default(), &ctx, &src), "{what}: depends on what came before");
                let Some(packed) = packed else { continue };
                let back = decompress(&mut used, &ctx, &packed, len).unwrap_or_else(|e| panic!("{what}: {e}"));
                assert!(back == src, "{what}: differs");
            }
        }
    }
}

/// Truncated, damaged and mislabelled streams give an error or (a flipped literal) other bytes, never a panic.
pub(crate) fn survives_damage<C: Codec + Default>(dict: Option<&[u8]>) {
    let mut codec = C::default();
    let mut random = Random(42);
    for len in [1, 40, 100, 700, 3000] {
        for (kind, src) in data(len) {
            let mut ctx = context(5);
            ctx.dict = dict;
            let Some(packed) = compress(&mut codec, &ctx, &src) else { continue };
            for end in 0..packed.len() {
                let result = decompress(&mut codec, &ctx, &packed[..end], len);
                assert!(result.is_err(), "{kind} {len} cut to {end} of {} bytes", packed.len());
            }
            for other in [len - 1, len + 1, 2 * len + 64] {
                if other > 0 {
                    assert!(decompress(&mut codec, &ctx, &packed, other).is_err(), "{kind} {len} as {other}");
                }
            }
            for _ in 0..400 {
                let mut damaged = packed.clone();
                for _ in 0..=random.below(3) {
                    let at = random.below(damaged.len());
                    damaged[at] ^= 1 << random.below(8);
                }
                let _ = decompress(&mut codec, &ctx, &damaged, len);
            }
            // The instance still works.
            assert_eq!(decompress(&mut codec, &ctx, &packed, len).expect("an undamaged stream"), src);
        }
    }
    for _ in 0..3000 {
        let len = random.below(200);
        let noise: Vec<u8> = (0..len).map(|_| (random.next() >> 56) as u8).collect();
        let mut ctx = context(0);
        ctx.dict = dict;
        let _ = decompress(&mut codec, &ctx, &noise, 1 + random.below(1000));
    }
}
