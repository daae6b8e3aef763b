//! LZ4 and its high-compression variant: raw LZ4 blocks, without LZ4's framing.
//!
//! Source: chunk format document, codecs 1 and 2, and the LZ4 block format. A dictionary is an external dictionary in
//! terms of LZ4: its bytes logically precede those of the stream, and matches may reach into its last 64 KiB.
//!
//! The encoders and the decoder are our own, because both codecs need in one place, and without C, what Blosc asks of
//! LZ4: acceleration by level, the high-compression levels, external dictionaries in both directions, and an encoder
//! that gives up as soon as the result does not fit. The crate `lz4_flex` serves the tests as an independent decoder.
//! `cargo run --release -p oxiblosc-bench -- --codec lz4,lz4hc` measures speed and size against C-Blosc2 with the
//! reference library.

mod decode;
mod encode;
mod hc;
mod high;
mod matches;
mod mid;
mod segment;
mod sequence;

use std::ops::Range;

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, FilterId, register_codec};

use self::encode::{Effort, FastEncoder};
use self::high::{HighEncoder, MID};
use super::sample::is_noise;

#[cfg(all(test, unix))]
pub(super) use self::decode::{Decoder, on_each_machine as decoders};

register_codec!(builtin CodecId::LZ4, "lz4", CodecTraits::PLAIN.split_up_to(9).with_dict().with_prefixes(), || Box::new(Lz4::default()));
register_codec!(builtin CodecId::LZ4HC, "lz4hc", CodecTraits::PLAIN.high_ratio().with_dict().with_prefixes(), || Box::new(Lz4Hc::default()));

/// The codec `lz4`. The level sets how soon it gives up on bytes that do not compress: the acceleration is 10 - level.
#[derive(Default)]
pub struct Lz4 {
    encoder: Option<FastEncoder>,
}

impl Clone for Lz4 {
    /// An instance with its own tables, allocated on first use.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Codec for Lz4 {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let acceleration = 10usize.saturating_sub(ctx.level_or_default().into()).max(1);
        let dict = ctx.dict.unwrap_or_default();
        let effort = Effort { acceleration, filtered: ctx.filter != FilterId::NONE };
        Ok(self.encoder.get_or_insert_with(FastEncoder::new).compress(src, dict, dst, effort))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        decode::decompress(src, dst, ctx.dict.unwrap_or_default())
    }

    fn decompress_range(
        &mut self,
        ctx: &CodecContext<'_>,
        src: &[u8],
        range: Range<usize>,
        _: usize,
        dst: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        let dict = ctx.dict.unwrap_or_default();
        if range.start == 0 { decode::decompress_prefix(src, dst, dict).map(Some) } else { Ok(None) }
    }

    fn train_dict(
        &mut self,
        samples: &[u8],
        len: usize,
        count: usize,
        max: usize,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        Ok(train(samples, len, count, max))
    }
}

/// The codec `lz4hc`, which searches longer for matches and is decoded like `lz4`.
#[derive(Default)]
pub struct Lz4Hc {
    encoder: Option<HighEncoder>,
}

impl Clone for Lz4Hc {
    /// An instance with its own tables, allocated on first use.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Codec for Lz4Hc {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let level = match ctx.level_or_default() {
            // In noise a longer search finds as little.
            level if level > MID && ctx.dict.is_none() && is_noise(src, ctx.block.typesize) => MID,
            level => level,
        };
        Ok(self.encoder.get_or_insert_default().compress(src, ctx.dict.unwrap_or_default(), dst, level))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        decode::decompress(src, dst, ctx.dict.unwrap_or_default())
    }

    fn decompress_range(
        &mut self,
        ctx: &CodecContext<'_>,
        src: &[u8],
        range: Range<usize>,
        _: usize,
        dst: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        let dict = ctx.dict.unwrap_or_default();
        if range.start == 0 { decode::decompress_prefix(src, dst, dict).map(Some) } else { Ok(None) }
    }

    fn train_dict(
        &mut self,
        samples: &[u8],
        len: usize,
        count: usize,
        max: usize,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        Ok(train(samples, len, count, max))
    }
}

/// LZ4 has no training: the dictionary is the start of the samples, as in C-Blosc2.
fn train(samples: &[u8], sample_len: usize, sample_count: usize, max_len: usize) -> Option<Vec<u8>> {
    let total = sample_len.saturating_mul(sample_count).min(samples.len()).min(max_len);
    (total > 0).then(|| samples[..total].to_vec())
}

#[cfg(test)]
mod tests {
    use super::{Lz4, Lz4Hc};
    use crate::codecs::testing;

    #[test]
    fn round_trips() {
        testing::round_trips::<Lz4>(&[0, 1, 5, 9], None);
        testing::round_trips::<Lz4>(&[5], Some(b"the cat sat on the mat"));
        testing::round_trips::<Lz4Hc>(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None);
        testing::round_trips::<Lz4Hc>(&[1, 5, 9], Some(b"the cat sat on the mat"));
    }

    #[test]
    fn survives_damage() {
        testing::survives_damage::<Lz4>(None);
        testing::survives_damage::<Lz4>(Some(b"the cat sat on the mat, and dog ran"));
    }
}
