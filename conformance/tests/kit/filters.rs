//! Filters with a flaw.

use std::ops::Range;

use oxiblosc_conformance::Promise;
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterPart, FilterTraits};

use crate::transforms::{Flaw, Memory, Remembers, Transform};
use crate::{assert_all_found, assert_broken, check_filter, with_filter};

#[test]
fn flaws_of_filters_are_found() {
    let flaws = [
        (Flaw::LongBlocks, Promise::Restores),
        (Flaw::Megabytes, Promise::Restores),
        (Flaw::WideTypes, Promise::Restores),
        (Flaw::WideItems, Promise::Restores),
        (Flaw::Misaligned, Promise::Alignment),
        (Flaw::UsesBlock, Promise::Position),
        (Flaw::UsesOffset, Promise::Position),
        (Flaw::ForgetsTail, Promise::Written),
        (Flaw::ForgetsTailBackward, Promise::Written),
        (Flaw::LosesBits, Promise::Restores),
        (Flaw::PanicsOnOddLengths, Promise::Accepts),
        (Flaw::RefusesOneLength, Promise::Accepts),
        (Flaw::PanicsOnDamage, Promise::Damage),
        (Flaw::PanicsOnMeta, Promise::EveryMeta),
        (Flaw::MetaAtEncode, Promise::EveryMeta),
        (Flaw::UsesReference, Promise::Reference),
        (Flaw::NeedsArray, Promise::Array),
    ];
    assert_all_found(&flaws, |flaw| check_filter(&with_filter(FilterTraits::LOSSLESS, Transform(flaw))).run().unwrap());
}

#[test]
fn flaws_at_the_usual_lengths_of_blocks_are_found() {
    let lengths = [8192, 65_535, 65_536, 1 << 18];
    let flaws = lengths.map(|len| (Flaw::OneLength(len), Promise::Restores));
    assert_all_found(&flaws, |flaw| check_filter(&with_filter(FilterTraits::LOSSLESS, Transform(flaw))).run().unwrap());
}

#[test]
fn state_is_found() {
    for (what, promise) in
        [(Memory::Encoder, Promise::Calls), (Memory::Decoder, Promise::Calls), (Memory::SharedScratch, Promise::Clones)]
    {
        let registry = with_filter(FilterTraits::LOSSLESS, Remembers::new(what));
        assert_broken(&format!("{what:?}"), &check_filter(&registry).run().unwrap(), promise);
    }
}

#[test]
fn meta_bytes_that_are_ignored_are_found() {
    let registry = with_filter(FilterTraits::LOSSLESS, Transform(Flaw::IgnoresMeta));
    let check = check_filter(&registry).metas(&[1, 2, 9]);
    assert_broken("ignored", &check.run().unwrap(), Promise::Metas);
    check.ignores_meta().run().unwrap().assert_passed();
    let registry = with_filter(FilterTraits::LOSSLESS, Transform(Flaw::MetaAtEncode));
    assert_broken("ignored by backward", &check_filter(&registry).metas(&[1, 2]).run().unwrap(), Promise::Restores);
}

#[test]
fn false_declarations_are_found() {
    let run = |traits| check_filter(&with_filter(traits, Transform(Flaw::None))).run().unwrap();
    assert_broken("keeps_zeros", &run(FilterTraits::LOSSLESS.keeping_zeros()), Promise::Zeros);
    assert_broken("forward_only", &run(FilterTraits::FORWARD_ONLY), Promise::ForwardOnly);
    assert_broken("needs_reference", &run(FilterTraits::LOSSLESS.with_reference()), Promise::Reference);
    assert_broken("needs_array", &run(FilterTraits::LOSSLESS.for_arrays()), Promise::Array);
    assert_broken("parts", &run(FilterTraits::LOSSLESS.with_parts()), Promise::Ranges);
}

/// A filter of single bytes, so that any part of a block can be undone alone.
#[derive(Clone)]
struct Parted {
    filter: Transform,
    /// How many bytes too late a part begins.
    late: usize,
}

impl Filter for Parted {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.filter.forward(ctx, src, dst)
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.filter.backward(ctx, src, dst)
    }

    fn part(&self, _: &BlockContext<'_>, len: usize, range: Range<usize>) -> Option<FilterPart> {
        let first = range.start + self.late..range.end + self.late;
        Some(FilterPart { bytes: range, first, stride: len, count: 1 })
    }
}

#[test]
fn parts_are_what_the_whole_has_there() {
    let run = |traits, late| {
        let parted = Parted { filter: Transform(Flaw::None), late };
        check_filter(&with_filter(traits, parted)).run().unwrap()
    };
    run(FilterTraits::LOSSLESS.with_parts(), 0).assert_passed();
    assert_broken("not declared", &run(FilterTraits::LOSSLESS, 0), Promise::Ranges);
    assert_broken("other bytes", &run(FilterTraits::LOSSLESS.with_parts(), 1), Promise::Ranges);
    assert_broken("no such bytes", &run(FilterTraits::LOSSLESS.with_parts(), 1 << 40), Promise::Ranges);
}

#[test]
fn total_and_large_losses_are_found() {
    let lossy = |flaw| with_filter(FilterTraits::FORWARD_ONLY, Transform(flaw));
    assert_broken("all is lost", &check_filter(&lossy(Flaw::Zeros)).run().unwrap(), Promise::Loss);
    assert_broken("more every time", &check_filter(&lossy(Flaw::Drifts)).run().unwrap(), Promise::Loss);
    let registry = lossy(Flaw::TruncatesHard);
    check_filter(&registry).run().unwrap().assert_passed();
    let report = check_filter(&registry).typesizes(&[4, 8]).max_error(0.1).run().unwrap();
    assert_broken("further than the bound", &report, Promise::Tolerance);
}
