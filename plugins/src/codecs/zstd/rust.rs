//! Zstandard without C.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{Dictionary, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// The codec `zstd`. All levels are the only one that `ruzstd` has, whose streams were 13 to 96 % larger than at
/// Zstandard's level 1 on four shuffled arrays. It reads chunks with a dictionary and makes none.
#[derive(Default)]
pub struct Zstd {
    decoder: Option<Decoder>,
}

/// A decoder and the dictionary that it knows.
struct Decoder {
    frames: FrameDecoder,
    dict: Option<Vec<u8>>,
}

impl Clone for Zstd {
    /// An instance with its own decoder, allocated on first use.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// A window that decoders should take at least (RFC 8878, section 3.1.1.1.2). Only the bytes that are decoded into it
/// are allocated.
const WINDOW: u64 = 8 << 20;

impl Decoder {
    fn new(dict: Option<&[u8]>) -> Result<Self, CodecError> {
        let mut frames = FrameDecoder::new();
        if let Some(bytes) = dict {
            let known = Dictionary::decode_dict(bytes).ok().and_then(|dict| frames.add_dict(dict).ok());
            known.ok_or(CodecError::Corrupt { offset: 0, reason: "not a usable zstd dictionary" })?;
        }
        Ok(Self { frames, dict: dict.map(<[u8]>::to_vec) })
    }
}

impl Codec for Zstd {
    fn compress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let packed = compress_to_vec(src, CompressionLevel::Fastest);
        let room = dst.get_mut(..packed.len());
        Ok(room.map(|room| {
            room.copy_from_slice(&packed);
            packed.len()
        }))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        // Another dictionary may be at the same address, so the bytes are compared.
        let kept = self.decoder.take().filter(|decoder| decoder.dict.as_deref() == ctx.dict);
        let decoder = self.decoder.insert(match kept {
            Some(decoder) => decoder,
            None => Decoder::new(ctx.dict)?,
        });
        let expected = dst.len();
        decoder.frames.set_max_window_size(WINDOW.max(expected as u64));
        match decoder.frames.decode_all(src, dst) {
            Ok(found) if found == expected => Ok(found),
            Ok(found) => Err(CodecError::Length { expected, found }),
            Err(FrameDecoderError::TargetTooSmall) => Err(CodecError::Length { expected, found: expected + 1 }),
            // The errors of the crate have no offset; the frame begins at 0.
            Err(_) => Err(CodecError::Corrupt { offset: 0, reason: "not a valid zstd frame, or cut short" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing;

    #[test]
    fn round_trips() {
        testing::round_trips::<Zstd>(&[1, 9], None);
    }

    #[test]
    fn survives_damage() {
        testing::survives_damage::<Zstd>(None);
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn reads_what_the_library_writes_and_the_other_way_around() {
        use super::super::Zstd as Library;

        let (mut rust, mut library) = (Zstd::default(), Library::default());
        for &len in testing::LENGTHS.iter().chain(&[300_000, 1 << 20]) {
            for (kind, src) in testing::data(len) {
                for level in [1, 5, 9] {
                    let ctx = testing::context(level);
                    if let Some(packed) = testing::compress(&mut library, &ctx, &src) {
                        let back = testing::decompress(&mut rust, &ctx, &packed, len);
                        assert_eq!(back.unwrap(), src, "{len} bytes of {kind}, level {level}");
                    }
                }
                let ctx = testing::context(5);
                if let Some(packed) = testing::compress(&mut rust, &ctx, &src) {
                    assert_eq!(testing::decompress(&mut library, &ctx, &packed, len).unwrap(), src, "{len} of {kind}");
                }
            }
        }
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn reads_streams_with_a_dictionary() {
        use super::super::Zstd as Library;

        let samples: Vec<u8> =
            (0..60_000u32).flat_map(|i| format!("row {} of {};", i % 977, i / 7).into_bytes()).collect();
        let mut library = Library::default();
        let dict = library.train_dict(&samples, 500, samples.len() / 500, 16 << 10).unwrap();
        let dict = dict.expect("the rows have much in common");
        let mut rust = Zstd::default();
        for src in samples.chunks(3001).take(40) {
            let mut ctx = testing::context(5);
            ctx.dict = Some(&dict);
            let packed = testing::compress(&mut library, &ctx, src).unwrap();
            assert_eq!(testing::decompress(&mut rust, &ctx, &packed, src.len()).unwrap(), src);
            // And without one in between.
            ctx.dict = None;
            let packed = testing::compress(&mut library, &ctx, src).unwrap();
            assert_eq!(testing::decompress(&mut rust, &ctx, &packed, src.len()).unwrap(), src);
        }
    }
}
