//! A codec of one's own: Brotli in a user slot, from outside. Write a file with it, read the file back.
//!
//! The crate `oxiblosc-brotli` in `plugins-extra` is one that is ready for use, under an id of its own.
//!
//! Run it with `cargo run --release --example custom_codec`.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};

use brotli::enc::BrotliEncoderParams;
use oxiblosc::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc::{Chain, CodecId, EncodeParams, FilterSlots, Registry, WriteOptions, blocking, register_codec};

/// Brotli. The codec meta byte is the logarithm of its window; 0 leaves the choice to the level.
#[derive(Clone)]
struct Brotli;

/// 160 to 255 are the user's. The id travels in the `udcodec` byte of every chunk.
const BROTLI: CodecId = CodecId(200);

register_codec!(BROTLI, "my_brotli", CodecTraits::PLAIN.high_ratio(), || Box::new(Brotli));

impl Codec for Brotli {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let lgwin = match ctx.meta {
            0 => 22,
            meta @ 10..=24 => i32::from(meta),
            meta => return Err(CodecError::Meta { meta, expected: "0 or 10..=24" }),
        };
        let params = BrotliEncoderParams {
            quality: i32::from(ctx.level_or_default()),
            lgwin,
            size_hint: src.len(),
            ..BrotliEncoderParams::default()
        };
        let room = dst.len();
        let mut rest = dst;
        // Writing to a slice fails when it is full: then the result is not worth having, which is no error.
        match brotli::BrotliCompress(&mut &src[..], &mut rest, &params) {
            Ok(_) => Ok(Some(room - rest.len())),
            Err(e) if e.kind() == ErrorKind::WriteZero => Ok(None),
            Err(e) => Err(CodecError::Library { library: "brotli", message: e.to_string() }),
        }
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        // RFC 7932 reserves these first bits, and the library reads them as a window of up to a gigabyte.
        if src.first().is_some_and(|first| first & 0x7F == 0x11) {
            return Err(CodecError::Corrupt { offset: 0, reason: "a window size that RFC 7932 does not allow" });
        }
        let failed = |e: std::io::Error| CodecError::Library { library: "brotli", message: e.to_string() };
        let mut stream = brotli::Decompressor::new(src, 4096);
        stream.read_exact(dst).map_err(failed)?;
        // A stream that holds more than the block has is damaged, however much more it would be.
        match stream.read(&mut [0]).map_err(failed)? {
            0 => Ok(dst.len()),
            more => Err(CodecError::Length { expected: dst.len(), found: dst.len() + more }),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let data: Vec<u8> = (0..20_000)
        .flat_map(|i| {
            format!("{{\"id\": {i}, \"name\": \"item {}\", \"price\": {}.99}}\n", i * 7 % 1000, i % 50).into_bytes()
        })
        .collect();

    let directory = tempfile::tempdir()?;
    let path = directory.path().join("items.b2frame");
    let params =
        EncodeParams { codec: BROTLI, codec_meta: 18, level: 5, filters: FilterSlots::NONE, ..EncodeParams::default() };
    let mut writer = blocking::FrameWriter::create(&path, WriteOptions::new(params).chunk_size(256 << 10))?;
    writer.write_all(&data)?;
    let summary = writer.finish()?;
    println!("{} -> {} bytes in {} chunks", summary.nbytes, summary.cbytes, summary.chunks);
    assert!(summary.ratio() > 5.0);

    let reader = blocking::FrameReader::open(&path)?;
    assert_eq!((reader.header().codec, reader.header().codec_meta), (BROTLI, 18));
    assert_eq!(reader.bytes(0..reader.nbytes())?, data);
    println!("read back with {}", Registry::linked()?.codec(BROTLI)?.info().name);

    // A program without the codec can still open the frame; the error says what is missing.
    let options = oxiblosc::ReadOptions::new().registry(&Registry::empty());
    let reader = blocking::FrameReader::with_options(std::fs::read(&path)?, options)?;
    let error = reader.chunk(0).expect_err("the registry is empty");
    let error = Chain(&error).to_string();
    println!("without it: {error}");
    assert!(error.contains("200"));
    Ok(())
}
