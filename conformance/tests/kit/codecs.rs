//! Codecs with a flaw.

use oxiblosc_conformance::Promise;
use oxiblosc_core::codec::CodecTraits;

use crate::pairs::{Pairs, PairsFlaw};
use crate::rle::{Flaw, Rle};
use crate::{assert_all_found, assert_broken, check_codec, with_codec};

#[test]
fn flaws_of_codecs_are_found() {
    let flaws = [
        (Flaw::LongStreams, Promise::Restores),
        (Flaw::Megabytes, Promise::Restores),
        (Flaw::WideTypes, Promise::Restores),
        (Flaw::WideItems, Promise::Restores),
        (Flaw::Misaligned, Promise::Alignment),
        (Flaw::MisalignedDestination, Promise::Alignment),
        (Flaw::UsesBlock, Promise::Position),
        (Flaw::UsesOffset, Promise::Position),
        (Flaw::UsesStream, Promise::Position),
        (Flaw::EncoderState, Promise::Calls),
        (Flaw::DecoderState, Promise::Calls),
        (Flaw::SharedScratch, Promise::Clones),
        (Flaw::AcceptsCut, Promise::Cut),
        (Flaw::AcceptsHalf, Promise::Cut),
        (Flaw::PanicsOnDamage, Promise::Damage),
        (Flaw::PanicsRarely, Promise::Damage),
        (Flaw::PanicsWhenEmpty, Promise::Damage),
        (Flaw::NoLength, Promise::Length),
        (Flaw::ClaimsTooMuch, Promise::Claims),
        (Flaw::ClaimsNothing, Promise::Claims),
        (Flaw::DecoderClaimsTooMuch, Promise::Claims),
        (Flaw::NeverCompresses, Promise::Compresses),
        (Flaw::LosesBits, Promise::Restores),
        (Flaw::DecodesByChance, Promise::Calls),
        (Flaw::LeavesBytes, Promise::Written),
        (Flaw::PadsWithWhatWasThere, Promise::Written),
        (Flaw::OverwritesRoom, Promise::Room),
        (Flaw::PanicsOnMeta, Promise::EveryMeta),
        (Flaw::PanicsOnOddLengths, Promise::Accepts),
        (Flaw::RefusesNoise, Promise::Accepts),
        (Flaw::StaysDamaged, Promise::Calls),
        (Flaw::UsesLevelToDecode, Promise::Restores),
        (Flaw::NeedsArray, Promise::Array),
        (Flaw::MetaAtEncode, Promise::EveryMeta),
    ];
    assert_all_found(&flaws, |flaw| check_codec(&with_codec(CodecTraits::PLAIN, Rle::new(flaw))).run().unwrap());
}

#[test]
fn flaws_at_the_usual_lengths_of_blocks_are_found() {
    let lengths = [8192, 65_535, 65_536, 1 << 18];
    let flaws = lengths.map(|len| (Flaw::OneLength(len), Promise::Restores));
    assert_all_found(&flaws, |flaw| check_codec(&with_codec(CodecTraits::PLAIN, Rle::new(flaw))).run().unwrap());
}

#[test]
fn flaws_at_any_level_are_found() {
    let short = (1..=9).map(|level| (Flaw::OneLevel(level), Promise::Restores));
    let long = [2, 4, 6, 8].map(|level| (Flaw::OneLevelLong(level), Promise::Restores));
    let flaws: Vec<_> = short.chain(long).collect();
    assert_all_found(&flaws, |flaw| check_codec(&with_codec(CodecTraits::PLAIN, Rle::new(flaw))).run().unwrap());
}

#[test]
fn panics_on_damage_to_long_streams_are_found() {
    let flaws = [3000, 6000, 9000].map(|len| (Flaw::PanicsOnLongDamage(len), Promise::Damage));
    assert_all_found(&flaws, |flaw| check_codec(&with_codec(CodecTraits::PLAIN, Rle::new(flaw))).run().unwrap());
}

#[test]
fn meta_bytes_that_are_ignored_are_found() {
    let registry = with_codec(CodecTraits::PLAIN, Rle::new(Flaw::IgnoresMeta));
    let check = check_codec(&registry).metas(&[1, 2, 9]);
    assert_broken("ignored", &check.run().unwrap(), Promise::Metas);
    check.ignores_meta().run().unwrap().assert_passed();
    let registry = with_codec(CodecTraits::PLAIN, Rle::new(Flaw::MetaAtEncode));
    assert_broken("ignored by the decoder", &check_codec(&registry).metas(&[1, 2]).run().unwrap(), Promise::Restores);
}

#[test]
fn false_declarations_are_found() {
    let plain = CodecTraits::PLAIN;
    let run = |traits| check_codec(&with_codec(traits, Rle::new(Flaw::None))).run().unwrap();
    assert_broken("needs_array", &run(plain.for_arrays()), Promise::Array);
    assert_broken("decode only", &run(plain.decode_only()), Promise::DecodeOnly);
    assert_broken("dict", &run(plain.with_dict()), Promise::Dictionary);
    let registry = with_codec(plain, Rle::new(Flaw::NeverCompresses));
    check_codec(&registry).may_never_compress().run().unwrap().assert_passed();
}

#[test]
fn bad_dictionaries_are_found() {
    for flaw in [
        PairsFlaw::DictionaryTooLong,
        PairsFlaw::DictionaryEmpty,
        PairsFlaw::DictionaryOfChance,
        PairsFlaw::EncoderIgnoresDictionary,
        PairsFlaw::DecoderIgnoresDictionary,
        PairsFlaw::NobodyUsesDictionary,
        PairsFlaw::NothingTrained,
        PairsFlaw::PanicsOnShortDictionary,
    ] {
        let registry = with_codec(CodecTraits::PLAIN.with_dict(), Pairs::new(flaw));
        let promise = if flaw == PairsFlaw::PanicsOnShortDictionary { Promise::Damage } else { Promise::Dictionary };
        assert_broken(&format!("{flaw:?}"), &check_codec(&registry).run().unwrap(), promise);
    }
    let registry = with_codec(CodecTraits::PLAIN, Pairs::new(PairsFlaw::None));
    assert_broken("not declared", &check_codec(&registry).run().unwrap(), Promise::Dictionary);
}

#[test]
fn total_and_large_losses_are_found() {
    let lossy = CodecTraits::PLAIN.lossy();
    let registry = with_codec(lossy, Pairs::new(PairsFlaw::LosesEverything));
    assert_broken("all is lost", &check_codec(&registry).run().unwrap(), Promise::Loss);
    let registry = with_codec(lossy, Pairs::new(PairsFlaw::Coarse));
    check_codec(&registry).run().unwrap().assert_passed();
    let near = |bound: u8| {
        move |_: &oxiblosc_core::filter::BlockContext<'_>, src: &[u8], back: &[u8]| {
            let error = src.iter().zip(back).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
            if error <= bound { Ok(()) } else { Err(format!("the error is {error}")) }
        }
    };
    check_codec(&registry).tolerance(near(15)).run().unwrap().assert_passed();
    assert_broken("coarse", &check_codec(&registry).tolerance(near(3)).run().unwrap(), Promise::Tolerance);
}
