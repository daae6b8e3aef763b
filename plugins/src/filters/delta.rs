//! Delta (filter 3).

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

use crate::simd::{self, Level};

/// XOR (not subtraction) with a reference.
///
/// The first block of a chunk is its own reference: every word is XORed with the previous one. Later blocks are XORed
/// with the decoded first block. The bytes after the last whole word are copied; C-Blosc2's encoder does not write
/// them, and its decoder takes them as they are. The meta byte is ignored.
#[derive(Debug, Clone, Default)]
pub struct Delta {
    level: Level,
}

impl Delta {
    /// Creates a filter that uses the kernels of `level`.
    pub const fn with_level(level: Level) -> Self {
        Self { level }
    }
}

/// Size of the words that are XORed, in bytes.
fn word(typesize: usize) -> usize {
    match typesize {
        1 | 2 | 4 | 8 => typesize,
        wide if wide.is_multiple_of(8) => 8,
        _ => 1,
    }
}

/// The leading bytes of the first block that this block is XORed with.
fn reference<'a>(ctx: &BlockContext<'a>, len: usize) -> Result<Option<&'a [u8]>, FilterError> {
    ctx.reference
        .map(|r| {
            r.get(..len).ok_or_else(|| {
                FilterError::Other(format!("delta needs {len} bytes of the first block, which has {}", r.len()).into())
            })
        })
        .transpose()
}

impl Delta {
    fn apply(
        &mut self,
        ctx: &BlockContext<'_>,
        src: &[u8],
        dst: &mut [u8],
        own_reference: fn(Level, usize, &[u8], &mut [u8]),
    ) -> Result<(), FilterError> {
        let word = word(super::typesize(ctx)?);
        let whole = src.len() - src.len() % word;
        let (src, tail) = src.split_at(whole);
        let (dst, dst_tail) = dst.split_at_mut(whole);
        match reference(ctx, whole)? {
            Some(reference) => simd::xor(src, reference, dst),
            None => own_reference(self.level, word, src, dst),
        }
        dst_tail.copy_from_slice(tail);
        Ok(())
    }
}

impl Filter for Delta {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.apply(ctx, src, dst, simd::xor_previous)
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.apply(ctx, src, dst, simd::xor_running)
    }
}

register_filter!(builtin FilterId::DELTA, "delta", FilterTraits::LOSSLESS.keeping_zeros().with_reference(), || Box::new(Delta::default()));
