//! A codec with dictionaries, or with a loss, and a flaw to choose.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use oxiblosc_core::codec::{Codec, CodecContext, CodecError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PairsFlaw {
    None,
    DictionaryTooLong,
    DictionaryEmpty,
    DictionaryOfChance,
    EncoderIgnoresDictionary,
    DecoderIgnoresDictionary,
    NobodyUsesDictionary,
    NothingTrained,
    PanicsOnShortDictionary,
    LosesEverything,
    Coarse,
}

/// Pairs of a count and a byte, after the length. The dictionary is what bytes are replaced with: its first byte is
/// combined with each of them.
#[derive(Clone)]
pub(crate) struct Pairs {
    flaw: PairsFlaw,
    trained: Arc<AtomicU8>,
}

impl Pairs {
    pub(crate) fn new(flaw: PairsFlaw) -> Self {
        Self { flaw, trained: Arc::default() }
    }

    fn key(&self, dict: Option<&[u8]>, ignoring: PairsFlaw) -> u8 {
        match dict {
            Some(dict) if self.flaw == PairsFlaw::PanicsOnShortDictionary => dict[0],
            Some(dict) if self.flaw != ignoring && self.flaw != PairsFlaw::NobodyUsesDictionary => {
                dict.first().copied().unwrap_or(0)
            }
            _ => 0,
        }
    }
}

impl Codec for Pairs {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let key = self.key(ctx.dict, PairsFlaw::EncoderIgnoresDictionary);
        let input: Vec<u8> = match self.flaw {
            PairsFlaw::LosesEverything => vec![0; src.len()],
            PairsFlaw::Coarse => src.iter().map(|b| b & 0xf0).collect(),
            _ => src.to_vec(),
        };
        let Some(head) = dst.first_chunk_mut::<4>() else { return Ok(None) };
        *head = (src.len() as u32).to_le_bytes();
        let mut at = 4;
        for run in input.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
            let Some(pair) = dst.get_mut(at..at + 2) else { return Ok(None) };
            pair.copy_from_slice(&[run.len() as u8, run[0] ^ key]);
            at += 2;
        }
        Ok(Some(at))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let key = self.key(ctx.dict, PairsFlaw::DecoderIgnoresDictionary);
        let Some((head, pairs)) = src.split_first_chunk::<4>() else {
            return Err(CodecError::Corrupt { offset: 0, reason: "no length" });
        };
        if u32::from_le_bytes(*head) as usize != dst.len() {
            return Err(CodecError::Length { expected: dst.len(), found: u32::from_le_bytes(*head) as usize });
        }
        let mut at = 0;
        for pair in pairs.chunks(2) {
            let &[count, byte] = pair else {
                return Err(CodecError::Corrupt { offset: src.len(), reason: "half a pair" });
            };
            let found = at + usize::from(count);
            let expected = dst.len();
            dst.get_mut(at..found).ok_or(CodecError::Length { expected, found })?.fill(byte ^ key);
            at = found;
        }
        if at == dst.len() { Ok(at) } else { Err(CodecError::Length { expected: dst.len(), found: at }) }
    }

    fn train_dict(
        &mut self,
        samples: &[u8],
        _: usize,
        _: usize,
        max_len: usize,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        if matches!(self.flaw, PairsFlaw::NothingTrained | PairsFlaw::LosesEverything | PairsFlaw::Coarse) {
            return Ok(None);
        }
        let len = match self.flaw {
            PairsFlaw::DictionaryTooLong => max_len + 1,
            PairsFlaw::DictionaryEmpty => 0,
            _ => max_len.min(100),
        };
        let mut dict = vec![samples[samples.len() / 2] | 1; len];
        if self.flaw == PairsFlaw::DictionaryOfChance {
            dict[0] = self.trained.fetch_add(2, Ordering::Relaxed) | 1;
        }
        Ok(Some(dict))
    }
}
