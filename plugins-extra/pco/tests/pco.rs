//! The codec keeps the promises of its trait, and restores every type of number bit by bit.

use half::f16;
use oxiblosc_conformance::CodecCheck;
use oxiblosc_conformance::data::{lengths, samples};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError};
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::{CodecId, Registry};
use oxiblosc_pco::{NumberKind, PCO, Pco};

/// The kinds of numbers with their sizes.
const TYPES: [(NumberKind, usize); 11] = [
    (NumberKind::Unsigned, 1),
    (NumberKind::Unsigned, 2),
    (NumberKind::Unsigned, 4),
    (NumberKind::Unsigned, 8),
    (NumberKind::Signed, 1),
    (NumberKind::Signed, 2),
    (NumberKind::Signed, 4),
    (NumberKind::Signed, 8),
    (NumberKind::Float, 2),
    (NumberKind::Float, 4),
    (NumberKind::Float, 8),
];

fn context(kind: NumberKind, typesize: usize, level: u8) -> CodecContext<'static> {
    let mut ctx = CodecContext::new(BlockContext::new(typesize), level);
    ctx.meta = kind.meta();
    ctx
}

/// Compresses with more room than the data take.
fn compress(ctx: &CodecContext<'_>, src: &[u8]) -> Option<Vec<u8>> {
    let mut packed = vec![0; 2 * src.len() + 100];
    let len = Pco::default().compress(ctx, src, &mut packed).unwrap()?;
    packed.truncate(len);
    Some(packed)
}

#[track_caller]
fn round_trip(ctx: &CodecContext<'_>, src: &[u8]) -> usize {
    let packed = compress(ctx, src).expect("a number and enough room");
    let mut back = vec![0xA5; src.len()];
    assert_eq!(Pco::default().decompress(ctx, &packed, &mut back).unwrap(), src.len());
    assert!(back == src, "other bytes come back");
    packed.len()
}

#[test]
fn registers_itself() {
    oxiblosc_pco::link();
    let info = Registry::linked().unwrap().codec_by_name("pco").unwrap().info();
    assert_eq!((info.id, info.provider.name), (PCO, "oxiblosc-pco"));
    assert_eq!(PCO, CodecId(225), "the id that the table reserves");
}

#[test]
fn parameters_are_pcos_own() {
    let squares: Vec<u8> = (0..20_000u64).flat_map(|i| (i * i * 3 + i).to_le_bytes()).collect();
    let ctx = context(NumberKind::Unsigned, 8, 5);
    let packed = |params: &str| {
        let (mut pco, mut packed) = (Pco::default(), vec![0; squares.len()]);
        pco.configure(&params.parse().unwrap()).unwrap();
        let len = pco.compress(&ctx, &squares, &mut packed).unwrap().expect("it gets shorter");
        let mut back = vec![0; squares.len()];
        Pco::default().decompress(&ctx, &packed[..len], &mut back).unwrap();
        assert!(back == squares, "{params}");
        len
    };
    // The second differences are all the same.
    let (none, once, twice) = (packed("delta=0"), packed("delta=1"), packed("delta=2"));
    assert!(twice < once && once < none, "{none}, {once}, {twice}");
    assert!(packed("delta=0,level=8") < packed("delta=0,level=0"));
    for wrong in ["level=13", "delta=8", "delta=x"] {
        assert!(Pco::default().configure(&wrong.parse().unwrap()).is_err(), "{wrong}");
    }
}

#[test]
fn keeps_its_promises() {
    let registry = Registry::linked().unwrap();
    let integers = [NumberKind::Unsigned.meta(), NumberKind::Signed.meta()];
    CodecCheck::new(registry, PCO).metas(&integers).typesizes(&[1, 2, 4, 8]).run().unwrap().assert_passed();
    let floats = [NumberKind::Float.meta()];
    CodecCheck::new(registry, PCO).metas(&floats).typesizes(&[2, 4, 8]).run().unwrap().assert_passed();
}

#[test]
fn every_type_round_trips_at_every_length() {
    for (kind, typesize) in TYPES {
        for len in lengths(typesize).into_iter().filter(|len| *len >= typesize && *len < 5000) {
            for sample in samples(len) {
                round_trip(&context(kind, typesize, 5), &sample.bytes);
            }
        }
    }
}

#[test]
fn several_groups_and_a_tail() {
    let bytes: Vec<u8> = (0..600_000u32).flat_map(|i| (i / 3).to_le_bytes()).chain([1, 2, 3]).collect();
    let len = round_trip(&context(NumberKind::Unsigned, 4, 1), &bytes);
    assert!(len < bytes.len() / 20, "{len} bytes");
}

#[test]
fn floats_that_are_no_numbers_keep_their_bits() {
    let doubles = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE / 4.0, f64::MAX];
    let payloads = [0x7FF0_0000_0000_0001, 0xFFF8_1234_5678_9ABC].map(f64::from_bits);
    let doubles: Vec<f64> = doubles.into_iter().chain(payloads).cycle().take(3000).collect();
    let bytes: Vec<u8> = doubles.iter().flat_map(|x| x.to_le_bytes()).collect();
    round_trip(&context(NumberKind::Float, 8, 5), &bytes);
    let bytes: Vec<u8> = (0..=u16::MAX).flat_map(|bits| f16::from_bits(bits).to_le_bytes()).collect();
    round_trip(&context(NumberKind::Float, 2, 5), &bytes);
}

#[test]
fn numbers_are_modelled_by_their_kind() {
    // Prices are multiples of a cent, which only those who know that they are floats can see.
    let prices: Vec<u8> = (0..20_000u32).flat_map(|i| (f64::from(i * 7919 % 10_007) * 0.01).to_le_bytes()).collect();
    let as_floats = round_trip(&context(NumberKind::Float, 8, 5), &prices);
    let as_integers = round_trip(&context(NumberKind::Unsigned, 8, 5), &prices);
    assert!(2 * as_floats < as_integers, "{as_floats} and {as_integers} bytes");
}

#[test]
fn the_streams_of_a_split_block_are_bytes() {
    let mut ctx = context(NumberKind::Float, 8, 5);
    (ctx.stream, ctx.streams) = (7, 8);
    round_trip(&ctx, &samples(1001)[2].bytes);
}

#[test]
fn types_that_are_not_there_are_errors() {
    for (kind, typesize) in [(NumberKind::Unsigned, 3), (NumberKind::Signed, 16), (NumberKind::Float, 1)] {
        let error = Pco::default().compress(&context(kind, typesize, 5), &[1; 48], &mut [0; 48]).unwrap_err();
        assert!(matches!(error, CodecError::Meta { .. }), "{error}");
    }
    let mut ctx = context(NumberKind::Unsigned, 4, 5);
    ctx.meta = 3;
    let error = Pco::default().decompress(&ctx, &[0; 9], &mut [0; 48]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "codec meta 3 is not valid: 0 for unsigned integers, 1 for signed ones, 2 for floats"
    );
}

#[test]
fn less_than_a_number_is_stored() {
    assert_eq!(compress(&context(NumberKind::Signed, 8, 5), &[1; 7]), None);
}

#[test]
fn a_stream_that_is_cut_is_refused() {
    for (kind, typesize) in TYPES {
        let ctx = context(kind, typesize, 5);
        for sample in samples(601) {
            let packed = compress(&ctx, &sample.bytes).unwrap();
            for end in 0..packed.len() {
                let result = Pco::default().decompress(&ctx, &packed[..end], &mut [0; 601]);
                assert!(result.is_err(), "{} cut to {end} of {}", sample.name, packed.len());
            }
        }
    }
}
