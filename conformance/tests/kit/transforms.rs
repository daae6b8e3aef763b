//! A correct filter, with a flaw to choose.

use std::sync::{Arc, Mutex};

use oxiblosc_core::filter::{BlockContext, Filter, FilterError};

/// What is wrong with the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// Loses a byte above 70,000.
    LongBlocks,
    Megabytes,
    /// Loses a byte at this length.
    OneLength(usize),
    WideTypes,
    WideItems,
    Misaligned,
    UsesBlock,
    UsesOffset,
    ForgetsTail,
    ForgetsTailBackward,
    LosesBits,
    PanicsOnOddLengths,
    PanicsOnDamage,
    PanicsOnMeta,
    /// With a listed meta byte, backward takes 0 for it.
    MetaAtEncode,
    IgnoresMeta,
    UsesReference,
    NeedsArray,
    Zeros,
    TruncatesHard,
    Drifts,
    RefusesOneLength,
}

/// Adds the meta byte and 1 to each byte.
#[derive(Clone)]
pub(crate) struct Transform(pub(crate) Flaw);

impl Transform {
    fn key(&self, ctx: &BlockContext<'_>) -> u8 {
        match self.0 {
            Flaw::UsesBlock => ctx.block as u8,
            Flaw::UsesOffset => ctx.offset.map_or(9, |offset| (offset >> 4) as u8),
            Flaw::IgnoresMeta => 1,
            _ => ctx.meta.wrapping_add(1),
        }
    }

    fn spoils(&self, ctx: &BlockContext<'_>, src: &[u8]) -> bool {
        match self.0 {
            Flaw::LongBlocks => src.len() > 70_000,
            Flaw::Megabytes => (1 << 20..=4 << 20).contains(&src.len()),
            Flaw::OneLength(len) => src.len() == len,
            Flaw::WideTypes => ctx.typesize > 8,
            Flaw::WideItems => ctx.item_size.is_some_and(|size| size > 255),
            Flaw::Misaligned => src.len() > 100 && !(src.as_ptr() as usize).is_multiple_of(8),
            _ => false,
        }
    }
}

impl Filter for Transform {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let key = self.key(ctx);
        match self.0 {
            Flaw::PanicsOnOddLengths => assert_eq!(src.len() % ctx.typesize, 0, "whole items only"),
            Flaw::PanicsOnMeta => assert!(ctx.meta != 77, "no such mode"),
            Flaw::NeedsArray if ctx.nd.is_none() => {
                return Err(FilterError::Geometry { reason: "there is no array".into() });
            }
            Flaw::RefusesOneLength if src.len() == 1023 => return Err(FilterError::Other("1023".into())),
            Flaw::Zeros => {
                dst.fill(0);
                return Ok(());
            }
            Flaw::TruncatesHard => {
                dst.iter_mut().zip(src).for_each(|(d, s)| *d = s & 0xc0);
                return Ok(());
            }
            Flaw::Drifts => {
                dst.iter_mut().zip(src).for_each(|(d, s)| *d = s / 2);
                return Ok(());
            }
            _ => {}
        }
        let whole = if self.0 == Flaw::ForgetsTail { src.len() / ctx.typesize * ctx.typesize } else { src.len() };
        let mask = if self.0 == Flaw::LosesBits { 0xf0 } else { 0xff };
        dst[..whole].iter_mut().zip(src).for_each(|(d, s)| *d = (s & mask).wrapping_add(key));
        if self.0 == Flaw::UsesReference
            && let Some(reference) = ctx.reference
        {
            dst.iter_mut().zip(reference).for_each(|(d, r)| *d ^= r);
        }
        if self.spoils(ctx, src) {
            *dst.last_mut().unwrap() ^= 1;
        }
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        let key = if self.0 == Flaw::MetaAtEncode { 1 } else { self.key(ctx) };
        match self.0 {
            Flaw::PanicsOnDamage => assert!(src[0] != 0xee, "a byte that nobody expects"),
            Flaw::Zeros | Flaw::TruncatesHard | Flaw::Drifts => {
                dst.copy_from_slice(src);
                return Ok(());
            }
            _ => {}
        }
        let whole =
            if self.0 == Flaw::ForgetsTailBackward { src.len() / ctx.typesize * ctx.typesize } else { src.len() };
        let mut src = src.to_vec();
        if self.0 == Flaw::UsesReference
            && let Some(reference) = ctx.reference
        {
            src.iter_mut().zip(reference).for_each(|(d, r)| *d ^= r);
        }
        dst[..whole].iter_mut().zip(&src).for_each(|(d, s)| *d = s.wrapping_sub(key));
        Ok(())
    }
}

/// What is wrong with a filter that remembers something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    Encoder,
    Decoder,
    SharedScratch,
}

/// Adds what it remembers.
#[derive(Clone)]
pub(crate) struct Remembers {
    what: Memory,
    calls: u8,
    scratch: Arc<Mutex<Vec<u8>>>,
}

impl Remembers {
    pub(crate) fn new(what: Memory) -> Self {
        Self { what, calls: 0, scratch: Arc::default() }
    }

    fn through_scratch(&self, src: &[u8], dst: &mut [u8]) {
        *self.scratch.lock().unwrap() = src.to_vec();
        crate::dawdle();
        let scratch = self.scratch.lock().unwrap();
        dst.iter_mut().zip(&*scratch).for_each(|(d, s)| *d = *s);
    }
}

impl Filter for Remembers {
    fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        match self.what {
            Memory::SharedScratch => self.through_scratch(src, dst),
            Memory::Encoder => {
                dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_add(self.calls));
                self.calls = self.calls.wrapping_add(1);
            }
            Memory::Decoder => dst.copy_from_slice(src),
        }
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        match self.what {
            Memory::SharedScratch => self.through_scratch(src, dst),
            Memory::Encoder => dst.copy_from_slice(src),
            Memory::Decoder => {
                dst.iter_mut().zip(src).for_each(|(d, s)| *d = s.wrapping_add(self.calls));
                self.calls = self.calls.wrapping_add(1);
            }
        }
        Ok(())
    }
}
