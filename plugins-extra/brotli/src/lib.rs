//! [Brotli](https://www.rfc-editor.org/rfc/rfc7932) as a codec: a little denser than Zstandard at the highest level, and
//! several times slower.
//!
//! Linking this crate is all it takes; [`link`] does that for a program that uses nothing else of it.
//!
//! ```
//! use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
//! use oxiblosc_core::pipeline::FilterSlots;
//! use oxiblosc_core::{Inline, Registry};
//!
//! oxiblosc_brotli::link();
//! let registry = Registry::linked()?;
//! let (codec, filters) = (oxiblosc_brotli::BROTLI, FilterSlots::NONE);
//! let params = EncodeParams { codec, level: 9, filters, ..EncodeParams::default() };
//!
//! let text = b"the cat sat on the mat, and the dog sat on the cat; ".repeat(100);
//! let chunk = ChunkEncoder::new(&params, registry)?.encode(&text, &ChunkContext::default(), &Inline)?;
//! assert!(chunk.len() < 150);
//! assert_eq!(ChunkDecoder::new(registry).decode(&chunk, &ChunkContext::default(), &Inline)?, text);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The level is brotli's quality: levels 1 to 8 are qualities 1 to 8, and level 9 is 11, the highest. The meta byte is not
//! used. The payload of each stream is one brotli stream as RFC 7932 has it. The Blosc2 format has no id for brotli: files
//! can only be read by programs that link this crate.
#![forbid(unsafe_code)]

use std::io::{self, ErrorKind, Read, Write};

use brotli::enc::BrotliEncoderParams;
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, register_codec};

/// The id of the codec, in the range for users.
pub const BROTLI: CodecId = CodecId(224);

register_codec!(BROTLI, "brotli", CodecTraits::PLAIN.high_ratio(), || Box::new(Brotli));

/// Makes the linker keep this crate, and with it the registration of the codec. Does nothing else.
pub const fn link() {}

/// Bytes to read ahead. The whole stream is in memory anyway.
const BUFFER: usize = 4096;

/// Window sizes, as logarithms, that RFC 7932 allows.
const WINDOW_LOG: std::ops::RangeInclusive<i32> = 10..=24;

/// "The value 0010001 is reserved" as the first bits of a stream (RFC 7932, section 9.1). The library interprets it as
/// the large-window extension, with which a few bytes could ask for a gigabyte.
const LARGE_WINDOW: u8 = 0b001_0001;

/// The bits that [`LARGE_WINDOW`] is compared with.
const LARGE_WINDOW_MASK: u8 = 0b111_1111;

/// The codec. It has no state; the encoder and decoder of the library are made for each stream.
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
