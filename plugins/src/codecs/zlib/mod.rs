//! Zlib: a zlib stream (RFC 1950) around deflate (RFC 1951).
//!
//! Source: chunk format document, codec 4; the wrapper is zlib's, neither gzip's nor bare deflate.

mod fixed;
mod quick;

use flate2::{Compress, Compression, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, FilterId, register_codec};

use self::quick::QuickEncoder;

register_codec!(CodecId::ZLIB, "zlib", CodecTraits::PLAIN.high_ratio(), || Box::new(Zlib::default()));

/// libdeflate's level for ours, where there is one at which it is faster than zlib and its streams are no larger (by more
/// than half a percent, on a dozen kinds of data).
fn libdeflate_level(ctx: &CodecContext<'_>) -> Option<u8> {
    match ctx.level {
        4..=6 => Some(ctx.level),
        // On other data it loses a few percent here and there: its blocks are longer than zlib's, which has more codes then.
        8.. if ctx.filter == FilterId::BITSHUFFLE => Some(8),
        _ => None,
    }
}

/// Whether it is so for what gets much smaller, too. (At level 4 it finds too little, and without a filter some of that comes
/// out a few percent larger.)
fn at_any_ratio(ctx: &CodecContext<'_>) -> bool {
    ctx.level != 4 && matches!(ctx.filter, FilterId::SHUFFLE | FilterId::BITSHUFFLE)
}

/// What gets smaller than one part in so many is left to zlib otherwise.
const MUCH: usize = 2;

/// Bytes of the sample that tells.
const SAMPLE: usize = 8192;

/// How the sample is compressed.
const SAMPLE_LEVEL: u8 = 1;

/// The codec `zlib`. The level is deflate's own, 1..=9.
///
/// Streams of level 1 are written by an encoder of this crate; others by zlib-rs or, where that is faster and the result no
/// larger, by libdeflate; all are read by libdeflate. An instance keeps their states from stream to stream: setting one up
/// costs more than coding a short stream.
#[derive(Default)]
pub struct Zlib {
    quick: Option<QuickEncoder>,
    deflate: Option<(u8, Compress)>,
    libdeflate: Option<(u8, Compressor)>,
    sampler: Option<(u8, Compressor)>,
    inflate: Option<Decompressor>,
}

impl Clone for Zlib {
    /// An instance with states of its own, made when they are first needed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Zlib {
    /// Whether a sample from the middle of `src` gets much smaller: see [`MUCH`].
    fn shrinks_much(&mut self, src: &[u8]) -> bool {
        let start = (src.len() - src.len().min(SAMPLE)) / 2;
        let sample = &src[start..][..src.len().min(SAMPLE)];
        let mut room = [0; SAMPLE / MUCH];
        let room = &mut room[..sample.len() / MUCH];
        kept(&mut self.sampler, SAMPLE_LEVEL, compressor).zlib_compress(sample, room).is_ok()
    }

    fn compress_by_zlib(&mut self, level: u8, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let state = kept(&mut self.deflate, level, |level| Compress::new(Compression::new(level.into()), true));
        state.reset();
        match state.compress(src, dst, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => Ok(Some(state.total_out() as usize)),
            // The output is full before the stream ends.
            Ok(Status::Ok | Status::BufError) => Ok(None),
            Err(e) => Err(CodecError::Library { library: "zlib", message: e.to_string() }),
        }
    }
}

/// The state for `level`, made anew when the one that is kept is for another.
fn kept<T>(slot: &mut Option<(u8, T)>, level: u8, make: impl FnOnce(u8) -> T) -> &mut T {
    let state = match slot.take() {
        Some((of, state)) if of == level => state,
        _ => make(level),
    };
    &mut slot.insert((level, state)).1
}

fn compressor(level: u8) -> Compressor {
    let level = CompressionLvl::new(level.into()).expect("libdeflate has the levels 0 to 12");
    Compressor::new(level)
}

impl Codec for Zlib {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        if ctx.level == 1 {
            return Ok(self.quick.get_or_insert_with(QuickEncoder::new).compress(src, dst));
        }
        if let Some(inner) = libdeflate_level(ctx)
            && (at_any_ratio(ctx) || !self.shrinks_much(src))
        {
            // Its only error is that the result does not fit.
            return Ok(kept(&mut self.libdeflate, inner, compressor).zlib_compress(src, dst).ok());
        }
        self.compress_by_zlib(ctx.level.min(9), src, dst)
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let expected = dst.len();
        // Bytes after the end of the stream are tolerated, as C-Blosc2 does.
        match self.inflate.get_or_insert_with(Decompressor::new).zlib_decompress(src, dst) {
            Ok(found) if found == expected => Ok(found),
            Ok(found) => Err(CodecError::Length { expected, found }),
            Err(DecompressionError::InsufficientSpace) => Err(CodecError::Length { expected, found: expected + 1 }),
            // libdeflate reports no offset; the stream begins at 0.
            Err(DecompressionError::BadData) => {
                Err(CodecError::Corrupt { offset: 0, reason: "not a valid zlib stream, or cut short" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing;

    #[test]
    fn round_trips() {
        testing::round_trips::<Zlib>(&[1, 5, 9], None);
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
}
