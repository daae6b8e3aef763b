//! [Pco](https://github.com/pcodec/pcodec) as a codec: it models a column of numbers instead of looking for repeated bytes,
//! and needs no filter before it.
//!
//! Linking this crate is all it takes; [`link`] does that for a program that uses nothing else of it.
//!
//! ```
//! use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
//! use oxiblosc_core::pipeline::FilterSlots;
//! use oxiblosc_core::{Inline, Registry};
//! use oxiblosc_pco::{NumberKind, PCO};
//!
//! oxiblosc_pco::link();
//! let registry = Registry::linked()?;
//! let params = EncodeParams {
//!     codec: PCO,
//!     codec_meta: NumberKind::Float.meta(),
//!     typesize: 8,
//!     filters: FilterSlots::NONE,
//!     ..EncodeParams::default()
//! };
//!
//! let prices: Vec<u8> = (0..10_000u32).flat_map(|i| (f64::from(i * i % 977) * 0.01).to_le_bytes()).collect();
//! let chunk = ChunkEncoder::new(&params, registry)?.encode(&prices, &ChunkContext::default(), &Inline)?;
//! assert!(chunk.len() < prices.len() / 5);
//! assert_eq!(ChunkDecoder::new(registry).decode(&chunk, &ChunkContext::default(), &Inline)?, prices);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Numbers are little-endian, and the size of one is the type size. The meta byte says what kind they are, see
//! [`NumberKind`]. With the wrong kind the data are restored just as well, but come out larger. Streams of a split block
//! hold one byte of each number and are compressed as bytes, which is not what Pco is for: with shuffle or another filter
//! that groups bytes, take another codec.
//!
//! The levels 1 to 9 are Pco's 1, 2, 4, 6, 8, 9, 10, 11 and 12; 8 is its own default. The parameters `level` and `delta`
//! take Pco's own values instead, as in `--codec pco:delta=2,level=8`.
//!
//! # Format of a stream
//!
//! | bytes | |
//! |---|---|
//! | 4 | length of the decoded stream in bytes, little-endian |
//! | 2 | version of Pco's format, as its wrapped format begins |
//! | | for each 262144 numbers, and for what is left of them: chunk metadata and one page of Pco's wrapped format |
//! | fewer than a number | the end of a stream that is no whole number, as it is |
//!
//! Metadata use the modes and delta encodings that Pco chooses by itself. Others are refused when they are read: a
//! dictionary or a long window could ask for more memory than the stream gives reason to, and convolutions overflow.
#![forbid(unsafe_code)]

mod bounds;
mod number;

use std::io::{self, ErrorKind, Write};

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::plugin_params::{ParamInfo, Params};
use oxiblosc_core::{CodecId, register_codec};
use pco::errors::PcoError;
use pco::wrapped::{FileCompressor, FileDecompressor};
use pco::{ChunkConfig, DeltaSpec};

pub use number::NumberKind;
use number::{Number, with_number_type};

/// The id of the codec, in the range for users.
pub const PCO: CodecId = CodecId(225);

register_codec!(PCO, "pco", CodecTraits::PLAIN.high_ratio().with_params(PARAMS), || Box::new(Pco::default()));

/// What readers find in the stream itself.
const PARAMS: &[ParamInfo] = &[
    ParamInfo::encoder("level", "Pco's own level, 0 to 12, instead of that of Blosc"),
    ParamInfo::encoder("delta", "how many times to take differences, 0 to 7; without it, Pco finds out"),
];

/// Makes the linker keep this crate, and with it the registration of the codec. Does nothing else.
pub const fn link() {}

/// Bytes before what Pco writes: the decoded length. Without it, a column of one repeated number would decode to any
/// length.
const LENGTH: usize = 4;

/// Numbers that are compressed together, as many as Pco would put on a page. Its working memory is some multiple of this.
const GROUP: usize = 1 << 18;

/// Numbers that are decoded before they are copied. Pco asks for a multiple of 256.
const BATCH: usize = 1024;

/// Pco's levels by those of Blosc.
const LEVELS: [usize; 10] = [1, 1, 2, 4, 6, 8, 9, 10, 11, 12];

/// The codec. It has no state but its parameters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pco {
    level: Option<usize>,
    delta: Option<usize>,
}

impl Codec for Pco {
    fn configure(&mut self, params: &Params) -> Result<(), CodecError> {
        let number = |name, most, expected| match params.get::<usize>(name, expected)? {
            Some(found) if found > most => Err(params.invalid(name, expected)),
            found => Ok(found),
        };
        self.level = number("level", 12, "0..=12")?;
        self.delta = number("delta", 7, "0..=7")?;
        Ok(())
    }

    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let level = self.level.unwrap_or(LEVELS[usize::from(ctx.level_or_default()).min(LEVELS.len() - 1)]);
        let delta = self.delta.map_or(DeltaSpec::Auto, DeltaSpec::TryConsecutive);
        let config =
            ChunkConfig::default().with_compression_level(level).with_delta_spec(delta).with_enable_8_bit(true);
        with_number_type!(ctx, T => compress::<T>(&config, src, dst))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        with_number_type!(ctx, T => decompress::<T>(src, dst))
    }
}

fn compress<T: Number>(config: &ChunkConfig, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
    let (numbers, tail) = src.split_at(src.len() / T::SIZE * T::SIZE);
    let Ok(len) = u32::try_from(src.len()) else { return Ok(None) };
    if numbers.is_empty() {
        return Ok(None);
    }
    let mut output = SliceWriter { dst, at: 0 };
    let written = output.write_all(&len.to_le_bytes()).map_err(PcoError::from).and_then(|()| {
        let compressor = FileCompressor::default();
        compressor.write_header(&mut output)?;
        let mut group = Vec::new();
        for bytes in numbers.chunks(GROUP * T::SIZE) {
            group.clear();
            group.extend(bytes.chunks_exact(T::SIZE).map(T::read));
            let mut chunk = compressor.chunk_compressor(&group, config)?;
            chunk.write_meta(&mut output)?;
            chunk.write_page(0, &mut output)?;
        }
        Ok(output.write_all(tail)?)
    });
    match written {
        Ok(()) => Ok(Some(output.at)),
        Err(error) if error.kind == pco::errors::ErrorKind::Io(ErrorKind::WriteZero) => Ok(None),
        Err(error) => Err(CodecError::Library { library: "pco", message: error.message }),
    }
}

fn decompress<T: Number>(src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
    let damaged = |rest: &[u8], reason| CodecError::Corrupt { offset: src.len() - rest.len(), reason };
    let Some((len, rest)) = src.split_first_chunk::<LENGTH>() else {
        return Err(damaged(&[], "the decoded length is missing"));
    };
    let found = u32::from_le_bytes(*len) as usize;
    if found != dst.len() {
        return Err(CodecError::Length { expected: dst.len(), found });
    }
    let (numbers, tail) = dst.split_at_mut(found / T::SIZE * T::SIZE);
    let (file, mut rest) = match FileDecompressor::new(rest) {
        Ok((file, rest)) if bounds::is_known(file.format_version()) => (file, rest),
        _ => return Err(damaged(rest, "not a version of Pco's format that this program knows")),
    };
    let mut batch = [T::default(); BATCH];
    for group in numbers.chunks_mut(GROUP * T::SIZE) {
        bounds::check::<T>(rest).map_err(|reason| damaged(rest, reason))?;
        let reason = "not valid metadata of Pco";
        let (mut chunk, page) = file.chunk_decompressor::<T, _>(rest).map_err(|_| damaged(rest, reason))?;
        let invalid = |_| damaged(page, "not a valid page of Pco");
        let mut numbers = chunk.page_decompressor(page, group.len() / T::SIZE).map_err(invalid)?;
        for bytes in group.chunks_mut(BATCH * T::SIZE) {
            let batch = &mut batch[..bytes.len() / T::SIZE];
            numbers.read(batch).map_err(invalid)?;
            bytes.chunks_exact_mut(T::SIZE).zip(batch).for_each(|(bytes, number)| number.write(bytes));
        }
        rest = numbers.into_src();
    }
    if rest.len() != tail.len() {
        return Err(damaged(rest, "the stream ends elsewhere"));
    }
    tail.copy_from_slice(rest);
    Ok(found)
}

/// A writer into a slice that fails when it is full.
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
