//! The codec keeps the promises of its trait, and refuses what is damaged or asks for too much memory.

use oxiblosc_brotli::BROTLI;
use oxiblosc_conformance::CodecCheck;
use oxiblosc_conformance::data::samples;
use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::registry::CodecEntry;
use oxiblosc_core::{CodecId, Registry};

fn entry() -> &'static CodecEntry {
    Registry::linked().unwrap().codec_by_name("brotli").unwrap()
}

fn context(level: u8) -> CodecContext<'static> {
    CodecContext::new(BlockContext::new(1), level)
}

/// Compresses with as much room as the data take; `None` if the result does not fit.
fn compress(codec: &mut dyn Codec, level: u8, src: &[u8]) -> Option<Vec<u8>> {
    let mut packed = vec![0; src.len()];
    let len = codec.compress(&context(level), src, &mut packed).unwrap()?;
    packed.truncate(len);
    Some(packed)
}

#[test]
fn registers_itself() {
    let info = entry().info();
    assert_eq!((info.id, info.provider.name), (BROTLI, "oxiblosc-brotli"));
    assert_eq!(BROTLI, CodecId(224), "the id that the table reserves");
    assert!(info.traits.high_ratio && info.traits.encode && !info.traits.lossy);
}

#[test]
fn keeps_its_promises() {
    CodecCheck::new(Registry::linked().unwrap(), BROTLI).levels(&[0, 1, 5, 9]).run().unwrap().assert_passed();
}

#[test]
fn a_stream_that_is_cut_is_refused() {
    let mut codec = entry().instance();
    for len in [1, 40, 100, 700, 3000] {
        for sample in samples(len) {
            let Some(packed) = compress(&mut *codec, 5, &sample.bytes) else { continue };
            for end in 0..packed.len() {
                let result = codec.decompress(&context(0), &packed[..end], &mut vec![0; len]);
                assert!(result.is_err(), "{} of {len} bytes, cut to {end} of {}", sample.name, packed.len());
            }
        }
    }
}

#[test]
fn another_length_is_an_error_that_names_both() {
    let mut codec = entry().instance();
    let packed = compress(&mut *codec, 5, &[7; 1000]).unwrap();
    let error = codec.decompress(&context(0), &packed, &mut [0; 999]).unwrap_err();
    assert!(matches!(error, CodecError::Length { expected: 999, found: 1000 }), "{error}");
    let error = codec.decompress(&context(0), &packed, &mut [0; 1001]).unwrap_err();
    assert!(matches!(error, CodecError::Length { expected: 1001, found: 1000 }), "{error}");
}

#[test]
fn the_highest_level_is_the_densest() {
    let text = samples(70_001).into_iter().find(|sample| sample.name == "floats").unwrap().bytes;
    let len = |level| compress(&mut *entry().instance(), level, &text).unwrap().len();
    let (fast, middle, dense) = (len(1), len(5), len(9));
    assert!(dense < middle && middle < fast, "{fast}, {middle}, {dense} bytes");
}

#[test]
fn refuses_large_windows() {
    // An empty stream with a window of 2^30 bytes: the reserved bits, the logarithm, and a last, empty meta-block.
    // And one with some bytes in it, for which the decoder would allocate the window.
    let empty = [0x11, 30 | 0b11 << 6];
    let text = b"\x11\x1e \0\0\x90\0\xa9A\x90\xa9\x03\x0f\xa7g\0\x18\0\x08more\x03";
    for stream in [&empty[..], text] {
        let error = entry().instance().decompress(&context(0), stream, &mut [0; 40]).unwrap_err().to_string();
        assert_eq!(error, "stream damaged at byte 0: a window size that RFC 7932 does not allow");
    }
}
