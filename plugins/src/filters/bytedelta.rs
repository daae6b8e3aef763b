//! Byte delta (filter 35) and its first version (filter 34).

use std::num::NonZeroUsize;

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

use crate::simd::{self, Level};

/// Replaces each byte by its difference, modulo 256, from the previous byte of the same channel. Meant to follow
/// [`Shuffle`](super::Shuffle), which gathers the bytes of equal significance in such channels.
///
/// A block of `len` bytes has `c` consecutive channels of `len / c` bytes; the rest is copied. The meta byte is `c`; 0
/// stands for the true item size, even above 255.
#[derive(Debug, Clone, Default)]
pub struct ByteDelta {
    level: Level,
}

impl ByteDelta {
    /// Creates a filter that uses the kernels of `level`.
    pub const fn with_level(level: Level) -> Self {
        Self { level }
    }
}

impl Filter for ByteDelta {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        per_channel(ctx, src, dst, |src, dst| simd::sub_previous(self.level, src, dst))
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        per_channel(ctx, src, dst, |src, dst| simd::add_running(self.level, src, dst))
    }
}

register_filter!(builtin FilterId::BYTEDELTA, "bytedelta", FilterTraits::LOSSLESS.keeping_zeros(), || Box::new(ByteDelta::default()));

/// Byte delta as C-Blosc2 wrote it before 2.5: decode only.
///
/// Its vector code handed the remainder of each channel to scalar code without the last byte: in each channel of `n`
/// bytes the difference restarts at byte `n - n % 16`.
#[derive(Debug, Clone, Default)]
pub struct ByteDeltaOld {
    level: Level,
}

impl ByteDeltaOld {
    /// Bytes in the vectors of the code that wrote it.
    const VECTOR: usize = 16;

    /// Creates a filter that uses the kernels of `level`.
    pub const fn with_level(level: Level) -> Self {
        Self { level }
    }
}

impl Filter for ByteDeltaOld {
    /// Always an error: new data should use [`ByteDelta`].
    fn forward(&mut self, _: &BlockContext<'_>, _: &[u8], _: &mut [u8]) -> Result<(), FilterError> {
        Err(FilterError::Other("filter 34, the first version of bytedelta, can only be read; use filter 35".into()))
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        per_channel(ctx, src, dst, |src, dst| {
            let seam = src.len() - src.len() % Self::VECTOR;
            simd::add_running(self.level, &src[..seam], &mut dst[..seam]);
            simd::add_running(self.level, &src[seam..], &mut dst[seam..]);
        })
    }
}

register_filter!(builtin FilterId::BYTEDELTA_OLD, "bytedelta_old", FilterTraits::LOSSLESS.keeping_zeros(), || {
    Box::new(ByteDeltaOld::default())
});

fn per_channel(
    ctx: &BlockContext<'_>,
    src: &[u8],
    dst: &mut [u8],
    mut apply: impl FnMut(&[u8], &mut [u8]),
) -> Result<(), FilterError> {
    let channels = if ctx.meta == 0 { ctx.item_size_or_typesize() } else { ctx.meta.into() };
    let Some(channels) = NonZeroUsize::new(channels) else {
        let expected = "the number of channels, since the item size is not known";
        return Err(FilterError::Meta { meta: 0, typesize: ctx.typesize, expected });
    };
    let n = src.len() / channels;
    let (src, tail) = src.split_at(n * channels.get());
    let (dst, dst_tail) = dst.split_at_mut(src.len());
    if n > 0 {
        src.chunks_exact(n).zip(dst.chunks_exact_mut(n)).for_each(|(src, dst)| apply(src, dst));
    }
    dst_tail.copy_from_slice(tail);
    Ok(())
}
