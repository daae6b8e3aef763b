//! Plugins with a parameter, and a flaw to choose.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use oxiblosc_conformance::{Promise, Report};
use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::plugin_params::{ParamError, ParamInfo, Params};

use crate::rle::{Flaw, Rle};
use crate::{assert_all_found, assert_broken, check_codec, check_filter, with_codec, with_filter};

/// What is wrong with the parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyFlaw {
    None,
    /// Readers need it, and it is declared as one for the encoder alone.
    NotRecorded,
    PanicsOnWords,
    /// Only for a number that is too large.
    PanicsOnLarge,
    Ignored,
    /// All clones of an instance have the key of the last.
    Shared,
    LostByClones,
    RefusesEverything,
    /// One value does not come back.
    OneValue,
    /// Reading with a key that is recorded fails.
    ReaderRefuses,
    /// The key is a word, which the kit cannot know.
    Word,
}

const RECORDED: &[ParamInfo] = &[ParamInfo::recorded("key", "0 to 255")];
const FOR_ENCODERS: &[ParamInfo] = &[ParamInfo::encoder("key", "0 to 255")];

fn declared(flaw: KeyFlaw) -> &'static [ParamInfo] {
    if flaw == KeyFlaw::NotRecorded { FOR_ENCODERS } else { RECORDED }
}

/// What codec and filter have in common.
struct Key {
    flaw: KeyFlaw,
    value: u8,
    shared: Arc<AtomicU8>,
}

impl Clone for Key {
    fn clone(&self) -> Self {
        let value = if self.flaw == KeyFlaw::LostByClones { 0 } else { self.value };
        Self { flaw: self.flaw, value, shared: Arc::clone(&self.shared) }
    }
}

impl Key {
    fn new(flaw: KeyFlaw) -> Self {
        Self { flaw, value: 0, shared: Arc::default() }
    }

    fn configure(&mut self, params: &Params) -> Result<(), ParamError> {
        let text = params.get::<String>("key", "")?.unwrap_or_default();
        self.value = match self.flaw {
            KeyFlaw::PanicsOnWords => text.parse().unwrap(),
            KeyFlaw::PanicsOnLarge => u8::try_from(params.get::<u64>("key", "a number")?.unwrap_or(0)).unwrap(),
            KeyFlaw::RefusesEverything => return Err(params.invalid("key", "another")),
            KeyFlaw::Word if text == "north" => 7,
            KeyFlaw::Word => return Err(params.invalid("key", "north")),
            KeyFlaw::Ignored => 0,
            _ => params.get("key", "0..=255")?.unwrap_or(0),
        };
        self.shared.store(self.value, Ordering::Relaxed);
        Ok(())
    }

    fn get(&self) -> u8 {
        if self.flaw == KeyFlaw::Shared { self.shared.load(Ordering::Relaxed) } else { self.value }
    }
}

#[derive(Clone)]
struct KeyedCodec(Key, Rle);

impl Codec for KeyedCodec {
    fn configure(&mut self, params: &Params) -> Result<(), CodecError> {
        Ok(self.0.configure(params)?)
    }

    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let Some(len) = self.1.compress(ctx, src, dst)? else { return Ok(None) };
        dst[..len].iter_mut().for_each(|byte| *byte ^= self.0.get());
        if self.0.flaw == KeyFlaw::OneValue && self.0.value == 64 {
            dst[len - 1] ^= 1;
        }
        Ok(Some(len))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        if self.0.flaw == KeyFlaw::ReaderRefuses && self.0.value != 0 {
            return Err(CodecError::Other("a key".into()));
        }
        let src: Vec<u8> = src.iter().map(|byte| byte ^ self.0.get()).collect();
        self.1.decompress(ctx, &src, dst)
    }
}

#[derive(Clone)]
struct KeyedFilter(Key);

impl Filter for KeyedFilter {
    fn configure(&mut self, params: &Params) -> Result<(), FilterError> {
        Ok(self.0.configure(params)?)
    }

    fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s ^ self.0.get());
        if self.0.flaw == KeyFlaw::OneValue && self.0.value == 64 {
            dst[0] ^= 1;
        }
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        if self.0.flaw == KeyFlaw::ReaderRefuses && self.0.value != 0 {
            return Err(FilterError::Other("a key".into()));
        }
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = s ^ self.0.get());
        Ok(())
    }
}

fn run_codec(flaw: KeyFlaw, listed: &[&str]) -> Report {
    let traits = CodecTraits::PLAIN.with_params(declared(flaw));
    let registry = with_codec(traits, KeyedCodec(Key::new(flaw), Rle::new(Flaw::None)));
    let check = check_codec(&registry);
    listed.iter().fold(check, |check, params| check.params(params.parse().unwrap())).run().unwrap()
}

fn run_filter(flaw: KeyFlaw, listed: &[&str]) -> Report {
    let registry = with_filter(FilterTraits::LOSSLESS.with_params(declared(flaw)), KeyedFilter(Key::new(flaw)));
    let check = check_filter(&registry);
    listed.iter().fold(check, |check, params| check.params(params.parse().unwrap())).run().unwrap()
}

const FLAWS: [KeyFlaw; 10] = [
    KeyFlaw::NotRecorded,
    KeyFlaw::PanicsOnWords,
    KeyFlaw::PanicsOnLarge,
    KeyFlaw::Ignored,
    KeyFlaw::Shared,
    KeyFlaw::LostByClones,
    KeyFlaw::RefusesEverything,
    KeyFlaw::OneValue,
    KeyFlaw::ReaderRefuses,
    KeyFlaw::Word,
];

#[test]
fn flaws_of_parameters_are_found() {
    let flaws = FLAWS.map(|flaw| (flaw, Promise::Params));
    assert_all_found(&flaws, |flaw| run_codec(flaw, &[]));
    assert_all_found(&flaws, |flaw| run_filter(flaw, &[]));
}

#[test]
fn what_the_author_lists_has_to_work() {
    assert_broken("codec", &run_codec(KeyFlaw::None, &["key=256"]), Promise::Params);
    assert_broken("filter", &run_filter(KeyFlaw::None, &["key=north"]), Promise::Params);
    let registry = with_codec(CodecTraits::PLAIN, Rle::new(Flaw::None));
    let check = check_codec(&registry).params("key=1".parse().unwrap());
    assert_broken("not declared", &check.run().unwrap(), Promise::Params);
}

#[test]
fn correct_parameters_pass() {
    for listed in [&[][..], &["key=3", "key=200"]] {
        run_codec(KeyFlaw::None, listed).assert_passed();
        run_filter(KeyFlaw::None, listed).assert_passed();
    }
    run_codec(KeyFlaw::Word, &["key=north"]).assert_passed();
    let traits = CodecTraits::PLAIN.with_params(RECORDED);
    let registry = with_codec(traits, KeyedCodec(Key::new(KeyFlaw::Ignored), Rle::new(Flaw::None)));
    check_codec(&registry).ignores_params().run().unwrap().assert_passed();
}
