//! A correct codec, with a flaw to choose.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};

/// What is wrong with the codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// Loses a byte above 70,000.
    LongStreams,
    /// Loses a byte from one to four MiB.
    Megabytes,
    /// Loses a byte at this level.
    OneLevel(u8),
    /// Only of long blocks.
    OneLevelLong(u8),
    /// Loses a byte at this length.
    OneLength(usize),
    WideTypes,
    WideItems,
    /// Copies words that it believes to be aligned.
    Misaligned,
    MisalignedDestination,
    UsesBlock,
    UsesOffset,
    UsesStream,
    /// A counter in the streams, which decoders ignore.
    EncoderState,
    DecoderState,
    SharedScratch,
    /// Zeros for what is missing.
    AcceptsCut,
    AcceptsHalf,
    PanicsOnDamage,
    /// Only in streams of more bytes than this.
    PanicsOnLongDamage(usize),
    /// Only for one value of one byte.
    PanicsRarely,
    PanicsWhenEmpty,
    NoLength,
    ClaimsTooMuch,
    ClaimsNothing,
    DecoderClaimsTooMuch,
    NeverCompresses,
    LosesBits,
    DecodesByChance,
    /// The last byte stays what it was.
    LeavesBytes,
    PadsWithWhatWasThere,
    OverwritesRoom,
    IgnoresMeta,
    MetaAtEncode,
    PanicsOnMeta,
    PanicsOnOddLengths,
    RefusesNoise,
    StaysDamaged,
    UsesLevelToDecode,
    NeedsArray,
}

/// Marker, length, and pairs of a count and a byte.
#[derive(Clone)]
pub(crate) struct Rle {
    flaw: Flaw,
    calls: u8,
    damaged: bool,
    scratch: Arc<Mutex<Vec<u8>>>,
    shared: Arc<AtomicU8>,
}

const HEAD: usize = 5;

impl Rle {
    pub(crate) fn new(flaw: Flaw) -> Self {
        Self { flaw, calls: 0, damaged: false, scratch: Arc::default(), shared: Arc::default() }
    }

    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    /// Where the block is, to the extent that a flaw makes it matter.
    fn key(&self, ctx: &CodecContext<'_>) -> u8 {
        match self.flaw {
            Flaw::UsesBlock => ctx.block.block as u8,
            Flaw::UsesOffset => ctx.block.offset.map_or(9, |offset| (offset >> 4) as u8),
            Flaw::UsesStream => ctx.stream as u8,
            _ => 0,
        }
    }

    fn spoils(&self, ctx: &CodecContext<'_>, src: &[u8]) -> bool {
        match self.flaw {
            Flaw::LongStreams => src.len() > 70_000,
            Flaw::Megabytes => (1 << 20..=4 << 20).contains(&src.len()),
            Flaw::OneLevel(level) => ctx.level == Some(level),
            Flaw::OneLevelLong(level) => ctx.level == Some(level) && src.len() > 60_000,
            Flaw::OneLength(len) => src.len() == len,
            Flaw::WideTypes => ctx.block.typesize > 8,
            Flaw::WideItems => ctx.block.item_size.is_some_and(|size| size > 255),
            Flaw::Misaligned => src.len() > 100 && !(src.as_ptr() as usize).is_multiple_of(8),
            _ => false,
        }
    }
}

impl Codec for Rle {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.calls = self.calls.wrapping_add(1);
        match self.flaw {
            Flaw::ClaimsTooMuch => return Ok(Some(dst.len() + 1)),
            Flaw::ClaimsNothing if src.iter().all(|&b| b == 0) => return Ok(Some(0)),
            Flaw::NeverCompresses => return Ok(None),
            Flaw::PanicsOnOddLengths => {
                assert!(src.len() < 8 || src.len().is_multiple_of(ctx.block.typesize), "whole items")
            }
            Flaw::RefusesNoise if src.len() > 1000 && !src.windows(4).any(|w| w == [w[0]; 4]) => {
                return Err(CodecError::Other("this does not compress".into()));
            }
            Flaw::PanicsOnMeta => assert!(ctx.meta != 77, "no such mode"),
            Flaw::NeedsArray if ctx.block.nd.is_none() => {
                return Err(CodecError::Geometry { reason: "there is no array".into() });
            }
            _ => {}
        }
        if self.is(Flaw::PanicsWhenEmpty) && dst.len() < HEAD {
            return Ok(None);
        }
        let key = self.key(ctx);
        let mask = if self.is(Flaw::LosesBits) { 0xfe } else { 0xff };
        let mut input: Vec<u8> = src.iter().map(|b| b & mask).collect();
        if self.spoils(ctx, src) {
            *input.last_mut().unwrap() ^= 1;
        }
        if self.is(Flaw::SharedScratch) {
            *self.scratch.lock().unwrap() = input;
            crate::dawdle();
            input = self.scratch.lock().unwrap().clone();
        }
        let Some(head) = dst.first_chunk_mut::<HEAD>() else { return Ok(None) };
        head[0] = match self.flaw {
            Flaw::EncoderState => self.calls,
            Flaw::UsesLevelToDecode => ctx.level.unwrap_or(0),
            Flaw::IgnoresMeta => 0,
            _ => ctx.meta,
        } ^ key;
        head[1..].copy_from_slice(&(src.len() as u32).to_le_bytes());
        let meta = if self.is(Flaw::MetaAtEncode) { ctx.meta } else { 0 };
        let mut at = HEAD;
        for run in input.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
            let Some(pair) = dst.get_mut(at..at + 2) else {
                // As if what did not fit were not needed.
                return Ok(self.is(Flaw::OverwritesRoom).then_some(at));
            };
            pair.copy_from_slice(&[run.len() as u8, run[0] ^ meta]);
            at += 2;
        }
        if self.is(Flaw::PadsWithWhatWasThere) && at < dst.len() {
            at += 1;
        }
        Ok(Some(at))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let corrupt = |offset, reason| Err(CodecError::Corrupt { offset, reason });
        if self.is(Flaw::StaysDamaged) && self.damaged {
            return corrupt(0, "still damaged");
        }
        if self.is(Flaw::PanicsWhenEmpty) {
            assert!(src[0] < u8::MAX);
        }
        if self.is(Flaw::DecoderClaimsTooMuch) && src.len() > HEAD && src[1] == 0xff {
            return Ok(usize::MAX);
        }
        let Some((head, pairs)) = src.split_first_chunk::<HEAD>() else { return corrupt(src.len(), "no head") };
        let len = u32::from_le_bytes(head[1..].try_into().unwrap());
        if len as usize != dst.len() && self.flaw != Flaw::NoLength {
            return Err(CodecError::Length { expected: dst.len(), found: len as usize });
        }
        let key = self.key(ctx);
        if head[0] ^ key != ctx.meta && matches!(self.flaw, Flaw::UsesBlock | Flaw::UsesOffset | Flaw::UsesStream) {
            return corrupt(0, "another place");
        }
        if self.is(Flaw::UsesLevelToDecode) && ctx.level.is_none() {
            return corrupt(0, "the level is not known");
        }
        if self.is(Flaw::MisalignedDestination) && dst.len() > 100 {
            assert_eq!(dst.as_ptr() as usize % 4, 0, "words");
        }
        if self.is(Flaw::PanicsRarely) {
            assert!(pairs.len() < 2 || pairs[0] != 0 || pairs[1] != 0, "a run of nothing");
        }
        let left = dst.last().copied();
        let mut at = 0;
        for pair in pairs.chunks(2) {
            let &[count, byte] = pair else {
                if matches!(self.flaw, Flaw::PanicsOnDamage) {
                    panic!("half a pair");
                }
                if self.is(Flaw::PadsWithWhatWasThere) {
                    break;
                }
                self.damaged = true;
                return corrupt(src.len(), "half a pair");
            };
            if let Flaw::PanicsOnLongDamage(len) = self.flaw {
                assert!(count > 0 || src.len() <= len, "a run of nothing");
            }
            let found = at + usize::from(count);
            let Some(run) = dst.get_mut(at..found) else {
                if self.is(Flaw::NoLength) {
                    dst[at..].fill(byte);
                    return Ok(dst.len());
                }
                return Err(CodecError::Length { expected: dst.len(), found });
            };
            run.fill(byte);
            at = found;
        }
        match self.flaw {
            Flaw::NoLength | Flaw::AcceptsCut if at < dst.len() => {
                dst[at..].fill(0);
                at = dst.len();
            }
            Flaw::AcceptsHalf if at >= dst.len() / 2 && at < dst.len() => {
                let last = dst[at.saturating_sub(1)];
                dst[at..].fill(last);
                at = dst.len();
            }
            Flaw::DecoderState if self.calls > 3 && at == dst.len() => dst[at - 1] ^= 0x80,
            Flaw::DecodesByChance if at == dst.len() && at > 16 => {
                dst[at - 1] ^= self.shared.fetch_add(2, Ordering::Relaxed) | 1;
            }
            // As a loop over words that stops early.
            Flaw::LeavesBytes if at == dst.len() && at > 16 => dst[at - 1] = left.unwrap_or(0),
            _ => {}
        }
        if self.is(Flaw::DecoderState) {
            self.calls = self.calls.wrapping_add(1);
        }
        if at == dst.len() { Ok(at) } else { Err(CodecError::Length { expected: dst.len(), found: at }) }
    }
}
