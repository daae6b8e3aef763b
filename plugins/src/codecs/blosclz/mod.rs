//! BloscLZ, Blosc's own codec: LZ77 in the format of FastLZ level 2.
//!
//! Source: chunk format document, codec 0; the stream format, and what each level asks of the data, are C-Blosc2's. The
//! encoder searches in its own way, and mostly writes less.
//!
//! It is written here because the codec is part of C-Blosc2 and not a library of its own. `cargo run --release -p
//! oxiblosc-bench -- --codec blosclz` measures speed and size against C-Blosc2 and the crate blosc2-pure-rs.

mod count;
mod decode;
mod encode;
mod write;

use std::ops::Range;

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, register_codec};

use self::encode::Encoder;

register_codec!(builtin CodecId::BLOSCLZ, "blosclz", CodecTraits::PLAIN.split_up_to(9).with_prefixes(), || Box::new(Blosclz::default()));

#[cfg(all(test, unix))]
pub(super) use self::decode::on_each_machine as decoders;

/// "len + 1 literals follow", with a length of 5 bits.
const MAX_LITERALS: usize = 32;

/// Added to the length field of a match.
const LENGTH_BIAS: usize = 2;

/// The length field of a match whose length continues in the following bytes.
const CONTINUED: usize = 7;

/// A distance (less 1) of 13 one bits continues in 16 more bits.
const FAR_DISTANCE: usize = 8191;

/// The codec `blosclz`. The level sets how much the data must promise to shrink for a stream to be compressed at all.
#[derive(Default)]
pub struct Blosclz {
    encoder: Option<Encoder>,
}

impl Clone for Blosclz {
    /// An instance with its own table, allocated on first use.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Codec for Blosclz {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Ok(self.encoder.get_or_insert_with(Encoder::new).compress(ctx.level_or_default(), src, dst))
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        decode::decompress(src, dst)
    }

    fn decompress_range(
        &mut self,
        _: &CodecContext<'_>,
        src: &[u8],
        range: Range<usize>,
        _: usize,
        dst: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        if range.start == 0 { decode::decompress_prefix(src, dst).map(Some) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::Blosclz;
    use crate::codecs::testing;

    #[test]
    fn round_trips() {
        testing::round_trips::<Blosclz>(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None);
    }

    /// The encoder keeps 16 bits of a position. What repeats exactly 2^16 bytes back, as the planes of a block do, is found.
    #[test]
    fn repeats_around_2_to_the_16() {
        let mut random = testing::Random(3);
        for distance in 65_530..65_543 {
            let mut src: Vec<u8> = (0..distance).map(|_| (random.next() >> 56) as u8).collect();
            src.extend_from_within(..);
            src.extend_from_within(..100_000);
            let packed =
                testing::compress(&mut Blosclz::default(), &testing::context(9), &[&[7; 20_000], &src[..]].concat());
            let packed = packed.expect("its beginning shrinks");
            let back = testing::decompress(&mut Blosclz::default(), &testing::context(9), &packed, 20_000 + src.len());
            assert!(back.is_ok_and(|back| back[..20_000] == [7; 20_000] && back[20_000..] == src), "{distance}");
            assert_eq!(packed.len() < src.len() / 2, distance <= 1 << 16, "{distance}: {} bytes", packed.len());
        }
    }

    #[test]
    fn survives_damage() {
        testing::survives_damage::<Blosclz>(None);
    }
}
