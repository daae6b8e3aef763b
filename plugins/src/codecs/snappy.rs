//! Snappy, which only Blosc 1 wrote: decode only.
//!
//! Source: header format document of Blosc 1, codec format 2: a raw snappy block, without snappy's framing.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, register_codec};

register_codec!(builtin CodecId::SNAPPY, "snappy", CodecTraits::PLAIN.decode_only(), || Box::new(Snappy));

/// The codec `snappy`, which decodes chunks of Blosc 1 and cannot encode.
#[derive(Debug, Clone, Copy, Default)]
pub struct Snappy;

impl Codec for Snappy {
    fn compress(&mut self, _: &CodecContext<'_>, _: &[u8], _: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Err(CodecError::DecodeOnly)
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        // The block begins with its decoded length. Refuse a wrong one before decoding anything.
        let found = snap::raw::decompress_len(src)
            .map_err(|_| CodecError::Corrupt { offset: 0, reason: "no valid length at the start of a snappy block" })?;
        if found != dst.len() {
            return Err(CodecError::Length { expected: dst.len(), found });
        }
        snap::raw::Decoder::new()
            .decompress(src, dst)
            .map_err(|e| CodecError::Library { library: "snappy", message: e.to_string() })
    }
}
