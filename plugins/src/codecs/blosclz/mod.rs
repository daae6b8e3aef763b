//! BloscLZ, the codec of Blosc's own: LZ77 in the format of FastLZ level 2.
//!
//! Source: chunk format document, codec 0; the stream format and what its encoder chooses are C-Blosc2's, byte by byte.

mod decode;
mod encode;
mod write;

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, register_codec};

use self::encode::Encoder;

register_codec!(CodecId::BLOSCLZ, "blosclz", CodecTraits::PLAIN.split_up_to(9), || Box::new(Blosclz::default()));

/// "len + 1 literals follow", with a length of 5 bits.
const MAX_LITERALS: usize = 32;

/// Added to the length field of a match.
const LENGTH_BIAS: usize = 2;

/// The length field of a match that is continued in the bytes that follow.
const CONTINUED: usize = 7;

/// A distance of 13 bits with all bits set says that it goes on in 16 more bits.
const FAR_DISTANCE: usize = 8191;

/// The codec `blosclz`. Its output is the same as C-Blosc2's.
#[derive(Default)]
pub struct Blosclz {
    encoder: Option<Encoder>,
}

impl Clone for Blosclz {
    /// An instance with a table of its own, made when it is first needed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Codec for Blosclz {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Ok(self.encoder.get_or_insert_with(Encoder::new).compress(ctx.level, src, dst))
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        decode::decompress(src, dst)
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

    #[test]
    fn survives_damage() {
        testing::survives_damage::<Blosclz>(None);
    }
}
