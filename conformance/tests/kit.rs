//! The kit finds what it is there to find: each broken plugin here breaks one promise.

use oxiblosc_conformance::{CodecCheck, FilterCheck, Report};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::registry::{CodecInfo, FilterInfo};
use oxiblosc_core::{CodecId, FilterId, Registry, provider};

type Apply = fn(&mut Vec<u8>, &BlockContext<'_>, &[u8], &mut [u8]);

/// A filter made of two functions; the vector is state that a broken one may abuse.
#[derive(Clone)]
struct Made {
    forward: Apply,
    backward: Apply,
    state: Vec<u8>,
}

impl Filter for Made {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        (self.forward)(&mut self.state, ctx, src, dst);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        (self.backward)(&mut self.state, ctx, src, dst);
        Ok(())
    }
}

const COPY: Apply = |_, _, src, dst| dst.copy_from_slice(src);

fn run_filter(forward: Apply, backward: Apply) -> Report {
    let mut registry = Registry::empty();
    let info = FilterInfo::new(FilterId(200), "made", FilterTraits::LOSSLESS, provider!());
    registry.add_filter(info, Box::new(Made { forward, backward, state: Vec::new() })).unwrap();
    FilterCheck::new(&registry, FilterId(200)).typesizes(&[4]).run().unwrap()
}

#[track_caller]
fn assert_broken(report: &Report, promise: &str) {
    assert!(report.broken().any(|name| name == promise), "expected {promise:?} to be broken:\n{report}");
}

#[test]
fn a_good_filter_passes() {
    run_filter(COPY, COPY).assert_passed();
}

#[test]
fn a_forgotten_tail_is_found() {
    let items_only: Apply = |_, ctx, src, dst| {
        let whole = src.len() / ctx.typesize * ctx.typesize;
        dst[..whole].copy_from_slice(&src[..whole]);
    };
    assert_broken(&run_filter(items_only, COPY), "every byte of the output is written");
    assert_broken(&run_filter(COPY, items_only), "backward undoes forward");
}

#[test]
fn state_between_calls_is_found() {
    let carries: Apply = |state, _, src, dst| {
        let carry = state.first().copied().unwrap_or(0);
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s ^ carry);
        *state = vec![carry.wrapping_add(1)];
    };
    assert_broken(&run_filter(carries, COPY), "one call does not influence the next");
}

#[test]
fn an_undeclared_loss_is_found() {
    let lossy: Apply = |_, _, src, dst| dst.iter_mut().zip(src).for_each(|(d, s)| *d = s & 0xf0);
    assert_broken(&run_filter(lossy, COPY), "backward undoes forward");
}

#[test]
fn a_panic_on_odd_lengths_is_found() {
    let panics: Apply = |_, ctx, src, dst| {
        assert_eq!(src.len() % ctx.typesize, 0, "whole items only");
        dst.copy_from_slice(src);
    };
    assert_broken(&run_filter(panics, COPY), "forward accepts every block");
}

/// Stores constant streams as value and length, with a flaw to choose.
#[derive(Clone)]
struct Constant(Flaw);

#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    TooLong,
    PanicsOnDamage,
    IgnoresLength,
}

impl Codec for Constant {
    fn compress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        if self.0 == Flaw::TooLong {
            return Ok(Some(dst.len() + 1));
        }
        let constant = src.iter().all(|b| *b == src[0]);
        if !constant || dst.len() < 9 {
            return Ok(None);
        }
        dst[0] = src[0];
        dst[1..9].copy_from_slice(&(src.len() as u64).to_le_bytes());
        Ok(Some(9))
    }

    fn decompress(&mut self, _: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        if self.0 == Flaw::PanicsOnDamage {
            assert_eq!(src.len(), 9, "damaged");
        }
        let (Some(&value), Some(len)) = (src.first(), src.get(1..9)) else {
            return Err(CodecError::Corrupt { offset: src.len(), reason: "nine bytes expected" });
        };
        let len = u64::from_le_bytes(len.try_into().unwrap());
        dst.fill(value);
        if self.0 == Flaw::IgnoresLength || len == dst.len() as u64 {
            return Ok(dst.len());
        }
        Err(CodecError::Length { expected: dst.len(), found: len as usize })
    }
}

fn run_codec(flaw: Flaw) -> Report {
    let mut registry = Registry::empty();
    let info = CodecInfo::new(CodecId(200), "constant", CodecTraits::PLAIN, provider!());
    registry.add_codec(info, Box::new(Constant(flaw))).unwrap();
    CodecCheck::new(&registry, CodecId(200)).levels(&[5]).run().unwrap()
}

#[test]
fn a_good_codec_passes() {
    run_codec(Flaw::None).assert_passed();
}

#[test]
fn flaws_of_codecs_are_found() {
    assert_broken(&run_codec(Flaw::TooLong), "compress accepts every stream");
    assert_broken(&run_codec(Flaw::PanicsOnDamage), "decompress survives damaged streams");
    assert_broken(&run_codec(Flaw::IgnoresLength), "a wrong decoded length is noticed");
}

#[test]
fn an_id_that_is_not_there_is_an_error() {
    assert!(FilterCheck::new(&Registry::empty(), FilterId(200)).run().is_err());
    assert!(CodecCheck::new(&Registry::empty(), CodecId(200)).run().is_err());
}
