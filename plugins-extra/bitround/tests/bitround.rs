//! The filter keeps the promises of its trait, rounds to nearest even within its bound, and leaves alone what has no
//! relative error; frames say how precise they are.

use oxiblosc::{CodecId, EncodeParams, FilterId, FilterSlots, ReadOptions, WriteOptions, blocking};
use oxiblosc_bitround::{BITROUND, Bitround, METALAYER, MetalayerError, Precision, PrecisionError};
use oxiblosc_conformance::FilterCheck;
use oxiblosc_conformance::data::Random;
use oxiblosc_core::Registry;
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};

fn round32(bits: u8, x: f32) -> f32 {
    let mut bytes = x.to_le_bytes();
    Precision::new(4, bits).unwrap().round(&mut bytes);
    f32::from_le_bytes(bytes)
}

fn round64(bits: u8, x: f64) -> f64 {
    let mut bytes = x.to_le_bytes();
    Precision::new(8, bits).unwrap().round(&mut bytes);
    f64::from_le_bytes(bytes)
}

fn round16(bits: u8, x: u16) -> u16 {
    let mut bytes = x.to_le_bytes();
    Precision::new(2, bits).unwrap().round(&mut bytes);
    u16::from_le_bytes(bytes)
}

/// The value of a half, which a double holds exactly.
fn half(bits: u16) -> f64 {
    let (sign, exponent, mantissa) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let value = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
    };
    if sign == 1 { -value } else { value }
}

#[test]
fn registers_itself() {
    let info = Registry::linked().unwrap().filter_by_name("bitround").unwrap().info();
    assert_eq!((info.id, info.provider.name), (BITROUND, "oxiblosc-bitround"));
    assert_eq!(BITROUND, FilterId(226), "the id that the table reserves");
    assert_eq!(info.traits, FilterTraits::FORWARD_ONLY);
}

#[test]
fn keeps_its_promises() {
    let check = FilterCheck::new(Registry::linked().unwrap(), BITROUND);
    check.typesizes(&[2, 4, 8]).metas(&[1, 7, 10]).run().unwrap().assert_passed();
}

#[test]
fn every_half_is_rounded_to_the_nearest_even() {
    for bits in 1..10 {
        let bound = Precision::new(2, bits).unwrap().relative_error();
        let dropped = 1u16 << (10 - bits);
        for x in 0..=u16::MAX {
            let rounded = round16(bits, x);
            assert_eq!(round16(bits, rounded), rounded, "{x:#06x} to {bits} bits, twice");
            let exponent = x >> 10 & 31;
            if exponent == 0 || exponent == 31 {
                assert_eq!(rounded, x, "zeros, subnormals, infinities and NaNs stay");
                continue;
            }
            let error = (half(rounded) - half(x)).abs();
            assert!(error <= bound * half(x).abs(), "{x:#06x} to {bits} bits: {rounded:#06x}");
            // The neighbours with so many bits: towards zero, and away from it, which may be infinity.
            let (down, up) = (x & !(dropped - 1), (x & !(dropped - 1)) + dropped);
            let up_is_finite = up >> 10 & 31 != 31;
            if rounded == x && !up_is_finite {
                continue;
            }
            let (below, above) = ((half(x) - half(down)).abs(), (half(up) - half(x)).abs());
            let nearest = match below.total_cmp(&above) {
                std::cmp::Ordering::Less => down,
                std::cmp::Ordering::Greater => up,
                std::cmp::Ordering::Equal if down & dropped == 0 => down,
                std::cmp::Ordering::Equal => up,
            };
            assert_eq!(rounded, nearest, "{x:#06x} to {bits} bits");
        }
    }
}

#[test]
fn singles_and_doubles_are_within_the_bound() {
    let mut random = Random::new(1);
    for _ in 0..200_000 {
        let bits = 1 + random.below(22) as u8;
        let x = f32::from_bits(random.next_u64() as u32);
        if x.is_normal() {
            let bound = Precision::new(4, bits).unwrap().relative_error();
            let (x, rounded) = (f64::from(x), f64::from(round32(bits, x)));
            assert!((rounded - x).abs() <= bound * x.abs(), "{x:e} to {bits} bits is {rounded:e}");
        }
        let bits = 1 + random.below(51) as u8;
        let x = f64::from_bits(random.next_u64());
        if x.is_normal() {
            let bound = Precision::new(8, bits).unwrap().relative_error();
            let rounded = round64(bits, x);
            assert!(rounded.is_finite());
            // The quotient is 1 or close to it, whatever the exponent.
            assert!((rounded / x - 1.0).abs() <= bound * (1.0 + 1e-9) + f64::EPSILON, "{x:e} to {bits} bits");
        }
    }
}

#[test]
fn ties_go_to_the_even_one() {
    // With two bits: 1, 1.25, 1.5, 1.75, 2.
    let rounded = [1.125, 1.375, 1.625, 1.875, -1.125, -1.375].map(|x| round32(2, x));
    assert_eq!(rounded, [1.0, 1.5, 1.5, 2.0, -1.0, -1.5]);
    assert_eq!([1.126, 1.374].map(|x| round64(2, x)), [1.25, 1.25]);
}

#[test]
fn what_has_no_relative_error_stays() {
    let singles = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE / 2.0, f32::from_bits(1), f32::MAX];
    for x in singles.into_iter().chain([0x7F80_0001, 0xFFC1_2345, 0x7FFF_FFFF].map(f32::from_bits)) {
        assert_eq!(round32(1, x).to_bits(), x.to_bits(), "{x:e}");
    }
    let doubles = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE / 2.0, f64::from_bits(1), f64::MIN];
    for x in doubles.into_iter().chain([0x7FF0_0000_0000_0001, u64::MAX].map(f64::from_bits)) {
        assert_eq!(round64(1, x).to_bits(), x.to_bits(), "{x:e}");
    }
    // The largest that has a neighbour above, and the smallest normal number.
    assert_eq!(round32(1, 1.7 * 2f32.powi(127)), 1.5 * 2f32.powi(127));
    assert_eq!(round32(1, f32::MIN_POSITIVE * 1.2), f32::MIN_POSITIVE);
}

#[test]
fn all_bits_are_no_rounding() {
    let noise: Vec<u8> = (0..=255).collect();
    for (typesize, bits) in [(2, 10), (4, 23), (8, 52)] {
        let precision = Precision::new(typesize, bits).unwrap();
        let mut bytes = noise.clone();
        precision.round(&mut bytes);
        assert_eq!((bytes, precision.relative_error()), (noise.clone(), 0.0));
    }
}

#[test]
fn a_tail_stays() {
    let mut bytes = [&1.7f32.to_le_bytes()[..], &[0xFF; 3]].concat();
    Precision::new(4, 1).unwrap().round(&mut bytes);
    assert_eq!(bytes, [&1.5f32.to_le_bytes()[..], &[0xFF; 3]].concat());
}

#[test]
fn the_fewest_bits_for_a_bound() {
    for typesize in [2, 4, 8] {
        for bound in [0.9, 0.25, 0.2, 0.1, 0.01, 1e-3, 1e-6, 1e-12, 1e-300, 0.0] {
            let precision = Precision::for_relative_error(typesize, bound).unwrap();
            assert!(precision.relative_error() <= bound);
            if let Ok(fewer) = Precision::new(typesize, precision.mantissa_bits() - 1) {
                assert!(fewer.relative_error() > bound, "{precision:?} for {bound}");
            }
        }
    }
    assert_eq!(Precision::for_relative_error(4, -1.0), Err(PrecisionError::Bound { bound: -1.0 }));
    assert!(Precision::for_relative_error(4, f64::NAN).is_err());
    assert_eq!(Precision::for_relative_error(3, 0.1), Err(PrecisionError::TypeSize { typesize: 3 }));
    assert_eq!(Precision::new(2, 11), Err(PrecisionError::Bits { bits: 11, most: 10 }));
}

#[test]
fn a_forgotten_meta_byte_is_an_error() {
    let error = Bitround.forward(&BlockContext::new(4), &[0; 8], &mut [0; 8]).unwrap_err();
    assert!(matches!(error, FilterError::Meta { meta: 0, typesize: 4, .. }), "{error}");
    let mut ctx = BlockContext::new(16);
    ctx.meta = 7;
    let error = Bitround.forward(&ctx, &[0; 16], &mut [0; 16]).unwrap_err();
    assert!(matches!(error, FilterError::TypeSize { typesize: 16, .. }), "{error}");
}

#[test]
fn a_frame_records_its_precision() {
    let values: Vec<u8> = (0..20_000u16).flat_map(|i| (f64::from(i) * 0.37).cos().to_le_bytes()).collect();
    let precision = Precision::for_relative_error(8, 1e-4).unwrap();
    let mut rounded = values.clone();
    precision.round(&mut rounded);
    let shuffle = (FilterId::SHUFFLE, 0);
    let with_filter = [(precision.slot().id, precision.slot().meta), shuffle];
    // With the filter, and with data that were rounded before, for readers that do not have it.
    for (filters, data) in [(&with_filter[..], &values), (&[shuffle][..], &rounded)] {
        let filters = FilterSlots::from_list(filters).unwrap();
        let params = EncodeParams { codec: CodecId::ZSTD, typesize: 8, filters, ..EncodeParams::default() };
        let options = WriteOptions::new(params).metalayer(METALAYER, precision.metalayer());
        let mut writer = blocking::FrameWriter::in_memory(options).unwrap();
        writer.push(data.clone().into()).unwrap();
        writer.finish().unwrap();
        let reader = blocking::FrameReader::with_options(writer.into_bytes(), ReadOptions::new()).unwrap();
        assert_eq!(Precision::recorded_in(reader.metalayers()), Ok(Some(precision)));
        assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), rounded);
        assert!(reader.cbytes() < values.len() as u64 / 2, "{} bytes", reader.cbytes());
    }
}

#[test]
fn the_metalayer_by_hand() {
    let content = Precision::new(4, 7).unwrap().metalayer();
    let expected = b"\x83\xADmantissa_bits\x07\xA8typesize\x04\xAErelative_error\xCB\x3F\x70\0\0\0\0\0\0";
    assert_eq!(content, expected);
    assert_eq!(content.len(), 50);
}

#[test]
fn metalayers_of_others_are_judged() {
    let precision = Precision::new(8, 20).unwrap();
    let content = precision.metalayer();
    assert_eq!(Precision::from_metalayer(&content), Ok(precision));
    // A later version: one more entry, and what it is.
    let mut later = content.clone();
    later[0] += 1;
    later.extend(b"\xA4more\xC3");
    assert_eq!(Precision::from_metalayer(&later), Ok(precision));
    for end in 0..content.len() {
        assert!(matches!(Precision::from_metalayer(&content[..end]), Err(MetalayerError::Content { .. })), "{end}");
    }
    for at in 0..content.len() {
        for bit in 0..8 {
            let mut damaged = content.clone();
            damaged[at] ^= 1 << bit;
            // The number of entries may grow, and everything else is noticed.
            let result = Precision::from_metalayer(&damaged);
            assert!(result.is_err() || at == 0 && damaged[0] & 0xF > 3, "byte {at}, bit {bit}: {result:?}");
        }
    }
}
