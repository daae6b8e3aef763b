//! Makes a codec of any pair of [`std::io::Write`] and [`std::io::Read`]: most compression crates have such a pair, and
//! with it they take ten lines instead of a crate.
//!
//! ```
//! use flate2::Compression;
//! use flate2::read::DeflateDecoder;
//! use flate2::write::DeflateEncoder;
//! use oxiblosc_adaptor::{Encoder, IoCodec};
//! use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
//! use oxiblosc_core::codec::CodecTraits;
//! use oxiblosc_core::pipeline::FilterSlots;
//! use oxiblosc_core::{CodecId, Inline, Registry, register_codec};
//!
//! const DEFLATE: CodecId = CodecId(200);
//!
//! register_codec!(DEFLATE, "deflate", CodecTraits::PLAIN, || Box::new(IoCodec::new(
//!     |writer, level| {
//!         let encoder = DeflateEncoder::new(writer, Compression::new(level.into()));
//!         Ok(Encoder::new(encoder, DeflateEncoder::finish))
//!     },
//!     |reader| Ok(Box::new(DeflateDecoder::new(reader))),
//! )));
//!
//! let params = EncodeParams { codec: DEFLATE, filters: FilterSlots::NONE, ..EncodeParams::default() };
//! let registry = Registry::linked()?;
//! let text = b"the cat sat on the mat, and the dog sat on the cat; ".repeat(100);
//! let chunk = ChunkEncoder::new(&params, registry)?.encode(&text, &ChunkContext::default(), &Inline)?;
//! assert!(chunk.len() < 200);
//! assert_eq!(ChunkDecoder::new(registry).decode(&chunk, &ChunkContext::default(), &Inline)?, text);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The adaptor itself allocates two boxes for each stream and no buffers. It reads one byte more than a block has, so that
//! a stream that goes on is noticed and one that never ends is left. What encoder and decoder allocate is up to them:
//! choose a format whose windows are small, or set the limit that the decoder has for them, as
//! `zstd::stream::read::Decoder::window_log_max` does. What follows the end of a compressed stream is not noticed unless
//! the decoder does.
//!
//! This crate registers nothing. An id, the [facts](oxiblosc_core::codec::CodecTraits) about the codec, and a test with
//! the kit `oxiblosc-conformance` are up to those who use it.
#![forbid(unsafe_code)]

mod encoder;

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};

pub use encoder::{BlockWriter, Encoder};

/// A codec that writes through one closure's encoder and reads through the other's decoder.
///
/// Dictionaries and the meta byte are not passed on; closures that need more than the level can be made for each codec.
#[derive(Clone)]
pub struct IoCodec<E, D> {
    encoder: E,
    decoder: D,
}

impl<E, D> IoCodec<E, D>
where
    E: for<'a> Fn(BlockWriter<'a>, u8) -> io::Result<Encoder<'a>> + Clone + Send + Sync,
    D: for<'a> Fn(&'a [u8]) -> io::Result<Box<dyn Read + 'a>> + Clone + Send + Sync,
{
    /// A codec of two closures, each of which is called once for each stream.
    ///
    /// `encoder` gets the writer to which the compressed stream goes, and the level, 1 to 9. The writer fails when the
    /// stream takes more bytes than it saves, which is no error of the codec: the caller then stores the data as they are.
    /// `decoder` gets the compressed stream, which may hold anything that a damaged file can contain.
    ///
    /// The same input and level must give the same bytes each time, so what the encoder does must not depend on time or on
    /// earlier streams.
    pub const fn new(encoder: E, decoder: D) -> Self {
        Self { encoder, decoder }
    }
}

impl<E, D> fmt::Debug for IoCodec<E, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoCodec").finish_non_exhaustive()
    }
}

impl<E, D> Codec for IoCodec<E, D>
where
    E: for<'a> Fn(BlockWriter<'a>, u8) -> io::Result<Encoder<'a>> + Clone + Send + Sync,
    D: for<'a> Fn(&'a [u8]) -> io::Result<Box<dyn Read + 'a>> + Clone + Send + Sync,
{
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let output = encoder::State::default();
        let writer = BlockWriter::new(dst, &output);
        let result = (self.encoder)(writer, ctx.level_or_default()).and_then(|mut encoder| {
            // An encoder need not notice at once that there is no room, and the rest of its work would be in vain.
            encoder.write_all(src)?;
            encoder.finish()
        });
        // Some encoders report an error of the writer as one of their own, and some not at all.
        if output.is_full() {
            return Ok(None);
        }
        match result {
            Ok(()) => Ok(Some(output.written())),
            Err(error) => Err(CodecError::Other(error.into())),
        }
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let mut decoder = (self.decoder)(src).map_err(|error| undecodable(src, error))?;
        let expected = dst.len();
        let mut found = 0;
        while found < expected {
            match read(&mut decoder, &mut dst[found..]).map_err(|error| undecodable(src, error))? {
                0 => return Err(CodecError::Length { expected, found }),
                more => found += more,
            }
        }
        // One more byte of room shows whether the stream continues, and makes the decoder check its end.
        match read(&mut decoder, &mut [0]).map_err(|error| undecodable(src, error))? {
            0 => Ok(found),
            more => Err(CodecError::Length { expected, found: found + more }),
        }
    }
}

/// How often a reader may be interrupted: data in memory gives no reason to be, and a block must come to an end.
const PATIENCE: usize = 16;

/// Reads something, or nothing at the end. A reader that claims more than there is room for breaks the contract of
/// [`Read`], and is not believed.
fn read(decoder: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    for _ in 0..PATIENCE {
        match decoder.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(found) if found > into.len() => return Err(ErrorKind::InvalidData.into()),
            result => return result,
        }
    }
    Err(ErrorKind::Interrupted.into())
}

/// What a decoder's error says about the stream. Those that mean damage become [`CodecError::Corrupt`]; the others are kept
/// as they are.
fn undecodable(src: &[u8], error: io::Error) -> CodecError {
    match error.kind() {
        ErrorKind::UnexpectedEof => CodecError::Corrupt { offset: src.len(), reason: "the stream ends too early" },
        ErrorKind::InvalidData | ErrorKind::InvalidInput => {
            CodecError::Corrupt { offset: 0, reason: "the decoder finds the stream invalid" }
        }
        _ => CodecError::Other(error.into()),
    }
}
