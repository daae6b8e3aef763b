//! Codecs made of the encoders and decoders of flate2 and zstd keep the promises of the trait, and readers and writers that
//! misbehave do no harm.

use std::io::{self, ErrorKind, Read};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use oxiblosc_adaptor::{Encoder, IoCodec};
use oxiblosc_conformance::CodecCheck;
use oxiblosc_conformance::data::samples;
use oxiblosc_core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, EncodeParams};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::registry::CodecInfo;
use oxiblosc_core::{CodecId, Inline, Registry, provider, register_codec};

/// Logarithm of the longest window that a stream of zstd may ask for.
const WINDOW_LOG: u32 = 24;

fn zlib() -> Box<dyn Codec> {
    Box::new(IoCodec::new(
        |writer, level| Ok(Encoder::new(ZlibEncoder::new(writer, Compression::new(level.into())), ZlibEncoder::finish)),
        |reader| Ok(Box::new(ZlibDecoder::new(reader))),
    ))
}

fn zstd() -> Box<dyn Codec> {
    Box::new(IoCodec::new(
        |writer, level| {
            let encoder = zstd::stream::write::Encoder::new(writer, level.into())?;
            Ok(Encoder::new(encoder, zstd::stream::write::Encoder::finish))
        },
        |reader| {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
            decoder.window_log_max(WINDOW_LOG)?;
            Ok(Box::new(decoder))
        },
    ))
}

register_codec!(CodecId(200), "io_zlib", CodecTraits::PLAIN, zlib);
register_codec!(CodecId(201), "io_zstd", CodecTraits::PLAIN, zstd);

fn context() -> CodecContext<'static> {
    CodecContext::new(BlockContext::new(1), 5)
}

/// Only its decoder is used.
fn reading<R: Read + 'static>(reader: impl Fn() -> R + Clone + Send + Sync) -> impl Codec {
    IoCodec::new(|_, _| Err(ErrorKind::Unsupported.into()), move |_| Ok(Box::new(reader()) as Box<dyn Read>))
}

#[test]
fn zlib_keeps_its_promises() {
    CodecCheck::new(Registry::linked().unwrap(), CodecId(200)).run().unwrap().assert_passed();
}

#[test]
fn zstd_keeps_its_promises() {
    CodecCheck::new(Registry::linked().unwrap(), CodecId(201)).levels(&[1, 5]).run().unwrap().assert_passed();
}

#[test]
fn chunks_round_trip() {
    let data: Vec<u8> = (0..100_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
    for codec in [CodecId(200), CodecId(201)] {
        let params = EncodeParams { codec, typesize: 4, filters: FilterSlots::NONE, ..EncodeParams::default() };
        let registry = Registry::linked().unwrap();
        let mut encoder = ChunkEncoder::new(&params, registry).unwrap();
        let chunk = encoder.encode(&data, &ChunkContext::default(), &Inline).unwrap();
        assert!(chunk.len() < data.len() / 3, "{} bytes", chunk.len());
        let mut decoder = ChunkDecoder::new(registry);
        assert_eq!(decoder.decode(&chunk, &ChunkContext::default(), &Inline).unwrap(), data);
    }
}

#[test]
fn noise_does_not_fit_and_is_no_error() {
    let noise = samples(5000).swap_remove(2).bytes;
    for mut codec in [zlib(), zstd()] {
        assert!(codec.compress(&context(), &noise, &mut [0; 5000]).unwrap().is_none());
        assert!(codec.compress(&context(), &[0; 5000], &mut [0; 3]).unwrap().is_none());
    }
}

#[test]
fn a_damaged_stream_is_corrupt() {
    let mut codec = zlib();
    let mut packed = [0; 200];
    let len = codec.compress(&context(), &[5; 1000], &mut packed).unwrap().unwrap();
    let mut back = [0; 1000];
    codec.decompress(&context(), &packed[..len], &mut back).unwrap();
    assert_eq!(back, [5; 1000]);
    // The checksum behind the last byte of the block.
    packed[len - 1] ^= 1;
    let error = codec.decompress(&context(), &packed[..len], &mut back).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt { .. }), "{error}");
    let error = codec.decompress(&context(), &packed[..len / 2], &mut back).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt { .. } | CodecError::Length { .. }), "{error}");
}

#[test]
fn a_window_beyond_the_limit_is_refused() {
    // A frame header of zstd (RFC 8878, section 3.1.1.1): magic, no content size, a window of 2^31 bytes, and one raw block.
    let stream = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 21 << 3, 0x09, 0x00, 0x00, b'x'];
    assert!(zstd().decompress(&context(), &stream, &mut [0]).is_err());
}

#[test]
fn an_endless_stream_is_left_after_one_byte_too_many() {
    /// Counts what is asked of it.
    struct Endless(u64);

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0 += into.len() as u64;
            assert!(self.0 <= 1001, "more than a byte beyond the block");
            into.fill(1);
            Ok(into.len())
        }
    }

    let error = reading(|| Endless(0)).decompress(&context(), &[], &mut [0; 1000]).unwrap_err();
    assert!(matches!(error, CodecError::Length { expected: 1000, found: 1001 }), "{error}");
}

#[test]
fn a_short_stream_says_how_long_it_is() {
    let error = reading(|| &b"seven b"[..]).decompress(&context(), &[], &mut [0; 1000]).unwrap_err();
    assert!(matches!(error, CodecError::Length { expected: 1000, found: 7 }), "{error}");
}

#[test]
fn readers_that_break_their_contract_are_errors() {
    struct Liar;

    impl Read for Liar {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            Ok(into.len() + 1)
        }
    }

    struct Interrupted;

    impl Read for Interrupted {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(ErrorKind::Interrupted.into())
        }
    }

    let error = reading(|| Liar).decompress(&context(), &[], &mut [0; 10]).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt { .. }), "{error}");
    let error = reading(|| Interrupted).decompress(&context(), &[], &mut [0; 10]).unwrap_err();
    assert!(matches!(error, CodecError::Other(_)), "{error}");
}

#[test]
fn an_error_of_the_encoder_is_kept() {
    let mut codec = IoCodec::new(
        |_, _| Err(io::Error::other("no table for this level")),
        |reader| Ok(Box::new(reader) as Box<dyn Read>),
    );
    let error = codec.compress(&context(), &[1; 100], &mut [0; 100]).unwrap_err();
    assert_eq!(error.to_string(), "no table for this level");
}

#[test]
fn a_program_can_add_one_at_run_time() {
    let mut registry = Registry::empty();
    let info = CodecInfo::new(CodecId(202), "plain", CodecTraits::PLAIN, provider!());
    let plain = IoCodec::new(
        |writer, _| Ok(Encoder::new(writer, |_| io::Result::Ok(()))),
        |reader| Ok(Box::new(reader) as Box<dyn Read>),
    );
    registry.add_codec(info, Box::new(plain)).unwrap();
    // It stores.
    CodecCheck::new(&registry, CodecId(202)).may_never_compress().run().unwrap().assert_passed();
}
