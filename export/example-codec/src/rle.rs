//! Run lengths.

use std::ops::Range;

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::plugin_params::{ParamInfo, Params};

/// Facts about it.
pub(crate) const TRAITS: CodecTraits = CodecTraits::PLAIN.with_params(PARAMS).with_ranges();

const PARAMS: &[ParamInfo] = &[ParamInfo::recorded("key", "what each byte of a stream is combined with, 0 to 255")];

/// Pairs of a count, 1 to 255, and the byte that is repeated. With codec meta 13 it panics, for those who want to see
/// what happens then.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rle {
    key: u8,
}

impl Rle {
    /// Calls `run` with the place and the byte of each run, until the end or until it returns `false`. The runs end at
    /// `len` bytes at the latest.
    fn runs(&self, src: &[u8], len: usize, mut run: impl FnMut(Range<usize>, u8) -> bool) -> Result<usize, CodecError> {
        let mut at = 0;
        for (i, pair) in src.chunks(2).enumerate() {
            let end = match *pair {
                [count, _] => at + usize::from(count ^ self.key),
                _ => usize::MAX,
            };
            if end > len {
                return Err(CodecError::Corrupt { offset: 2 * i, reason: "a run does not fit into the block" });
            }
            if !run(at..end, pair[1] ^ self.key) {
                return Ok(end);
            }
            at = end;
        }
        Ok(at)
    }
}

impl Codec for Rle {
    fn configure(&mut self, params: &Params) -> Result<(), CodecError> {
        self.key = params.get("key", "0..=255")?.unwrap_or(0);
        Ok(())
    }

    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        assert!(ctx.meta != 13, "thirteen on writing");
        let mut written = 0;
        for run in src.chunk_by(|a, b| a == b) {
            for part in run.chunks(255) {
                let Some(pair) = dst.get_mut(written..written + 2) else { return Ok(None) };
                // The part has at most 255 bytes.
                pair.copy_from_slice(&[part.len() as u8 ^ self.key, part[0] ^ self.key]);
                written += 2;
            }
        }
        Ok(Some(written))
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        assert!(ctx.meta != 13, "thirteen on reading");
        self.runs(src, dst.len(), |run, byte| {
            dst[run].fill(byte);
            true
        })
    }

    fn decompress_range(
        &mut self,
        ctx: &CodecContext<'_>,
        src: &[u8],
        range: Range<usize>,
        len: usize,
        dst: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        assert!(ctx.meta != 13, "thirteen on reading");
        let found = self.runs(src, len, |run, byte| {
            let (from, to) = (run.start.max(range.start), run.end.min(range.end));
            if from < to {
                dst[from - range.start..to - range.start].fill(byte);
            }
            run.end < range.end
        })?;
        match found < range.end {
            true => Err(CodecError::Length { expected: len, found }),
            false => Ok(Some(dst.len())),
        }
    }
}
