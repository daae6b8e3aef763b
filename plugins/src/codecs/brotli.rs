//! Brotli, for ids of the user range: the Blosc2 format has no id for it.
//!
//! Source: RFC 7932 for the payload, one brotli stream per Blosc2 stream.

use std::io::{self, ErrorKind, Read, Write};

use brotli::enc::BrotliEncoderParams;
use oxiblosc_core::codec::{Codec, CodecContext, CodecError};

/// Bytes to read ahead. The whole stream is in memory anyway.
const BUFFER: usize = 4096;

/// Window sizes, as logarithms, that RFC 7932 allows.
const WINDOW_LOG: std::ops::RangeInclusive<i32> = 10..=24;

/// "The value 0010001 is reserved" as the first bits of a stream (RFC 7932, section 9.1). The library interprets it as
/// the large-window extension, with which a few bytes could ask for a gigabyte.
const LARGE_WINDOW: u8 = 0b001_0001;

/// The bits that [`LARGE_WINDOW`] is compared with.
const LARGE_WINDOW_MASK: u8 = 0b111_1111;

/// The codec brotli, to be registered under an id of the user's range (160..=255).
///
/// The level is brotli's quality: levels 1..=8 are qualities 1..=8, and level 9 is 11, the highest. Files that use it
/// can only be read where it is registered under the same id.
///
/// ```
/// use oxiblosc_core::codec::CodecTraits;
/// use oxiblosc_core::registry::CodecInfo;
/// use oxiblosc_core::{CodecId, Registry};
/// use oxiblosc_plugins::codecs::Brotli;
///
/// oxiblosc_plugins::link();
/// let mut registry = Registry::linked()?.clone();
/// let info = CodecInfo::new(CodecId(160), "brotli", CodecTraits::PLAIN.high_ratio(), oxiblosc_core::provider!());
/// registry.add_codec(info, Box::new(Brotli))?;
/// assert!(registry.codec_by_name("brotli").is_ok());
/// # Ok::<(), oxiblosc_core::registry::RegistryError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Brotli;

impl Codec for Brotli {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let level = ctx.level_or_default();
        let quality = if level >= 9 { 11 } else { level.into() };
        // A window larger than the data only takes memory.
        let lgwin = (src.len().max(2).ilog2() as i32 + 1).clamp(*WINDOW_LOG.start(), *WINDOW_LOG.end());
        let params = BrotliEncoderParams { quality, lgwin, size_hint: src.len(), ..BrotliEncoderParams::default() };
        let mut output = SliceWriter { dst, at: 0 };
        match brotli::BrotliCompress(&mut &*src, &mut output, &params) {
            Ok(_) => Ok(Some(output.at)),
            Err(error) if error.kind() == ErrorKind::WriteZero => Ok(None),
            Err(error) => Err(CodecError::Library { library: "brotli", message: error.to_string() }),
        }
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        if src.first().is_some_and(|first| first & LARGE_WINDOW_MASK == LARGE_WINDOW) {
            return Err(CodecError::Corrupt { offset: 0, reason: "a window size that RFC 7932 does not allow" });
        }
        let mut stream = brotli::Decompressor::new(src, BUFFER.min(src.len().max(1)));
        let mut read = |into: &mut [u8]| {
            stream.read(into).map_err(|_| CodecError::Corrupt { offset: 0, reason: "not a valid brotli stream" })
        };
        let expected = dst.len();
        let mut found = 0;
        while found < expected {
            match read(&mut dst[found..])? {
                0 => return Err(CodecError::Length { expected, found }),
                more => found += more,
            }
        }
        // One more byte of room shows whether the stream continues, and makes the decoder check its end.
        match read(&mut [0])? {
            0 => Ok(found),
            more => Err(CodecError::Length { expected, found: found + more }),
        }
    }
}

/// A writer into a slice that fails when it is full: given a count of 0, the library would retry forever.
struct SliceWriter<'a> {
    dst: &'a mut [u8],
    at: usize,
}

impl Write for SliceWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.dst.get_mut(self.at..self.at + bytes.len()).ok_or(ErrorKind::WriteZero)?;
        room.copy_from_slice(bytes);
        self.at += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing;

    #[test]
    fn round_trips() {
        testing::round_trips::<Brotli>(&[1, 5], None);
    }

    #[test]
    fn survives_damage() {
        testing::survives_damage::<Brotli>(None);
    }

    #[test]
    fn refuses_large_windows() {
        // An empty stream with a window of 2^30 bytes: the reserved bits, the logarithm, and a last, empty meta-block.
        // And one with some bytes in it, for which the decoder would allocate the window.
        let empty = [0x11, 30 | 0b11 << 6];
        let text = b"\x11\x1e \0\0\x90\0\xa9A\x90\xa9\x03\x0f\xa7g\0\x18\0\x08more\x03";
        for stream in [&empty[..], text] {
            let error = Brotli.decompress(&testing::context(0), stream, &mut [0; 40]).unwrap_err().to_string();
            assert_eq!(error, "stream damaged at byte 0: a window size that RFC 7932 does not allow");
        }
    }
}
