//! Zstandard: one frame per stream, with its content size and without a checksum.
//!
//! Source: chunk format document, codec 5, and RFC 8878.

use oxiblosc_core::codec::{Codec, CodecContext, CodecError, CodecTraits};
use oxiblosc_core::{CodecId, register_codec};
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd::zstd_safe::{self, CCtx, CDict, DCtx, DDict, ErrorCode};

register_codec!(CodecId::ZSTD, "zstd", CodecTraits::PLAIN.high_ratio().split_up_to(5).with_dict(), || Box::new(
    Zstd::default()
));

/// Level with which C-Blosc2 compresses against a dictionary, whatever level was asked for: the gain comes from the
/// dictionary, and a prepared one can serve all levels.
const DICT_LEVEL: i32 = 1;

/// The codec `zstd`. Levels 1..=8 are Zstandard's 1, 3, 5, .. 15; 9 is its highest, 22.
///
/// An instance keeps its contexts and, as long as the dictionary stays the same, the tables prepared from it.
#[derive(Default)]
pub struct Zstd {
    cctx: Option<CCtx<'static>>,
    dctx: Option<DCtx<'static>>,
    cdict: Prepared<CDict<'static>>,
    ddict: Prepared<DDict<'static>>,
}

impl Clone for Zstd {
    /// An instance with contexts of its own, made when they are first needed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Zstandard's level for ours.
fn inner_level(level: u8) -> i32 {
    match level {
        // 0 only arrives for chunks of variable-length blocks, which cannot be stored as they are: -1 is fast.
        0..=8 => 2 * i32::from(level) - 1,
        _ => zstd_safe::max_c_level(),
    }
}

impl Codec for Zstd {
    fn compress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let cctx = get_or_try_init(&mut self.cctx, CCtx::try_create)?;
        let result = match ctx.dict {
            None => cctx.compress(dst, src, inner_level(ctx.level)),
            Some(dict) => {
                let dict = self.cdict.get(dict, |bytes| CDict::try_create(bytes, DICT_LEVEL))?;
                cctx.compress_using_cdict(dst, src, dict)
            }
        };
        match result {
            Ok(written) => Ok(Some(written)),
            Err(code) if is(code, ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall) => Ok(None),
            Err(code) => Err(library(zstd_safe::get_error_name(code))),
        }
    }

    fn decompress(&mut self, ctx: &CodecContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let dctx = get_or_try_init(&mut self.dctx, DCtx::try_create)?;
        let expected = dst.len();
        let result = match ctx.dict {
            None => dctx.decompress(dst, src),
            Some(dict) => dctx.decompress_using_ddict(dst, src, self.ddict.get(dict, DDict::try_create)?),
        };
        match result {
            Ok(found) if found == expected => Ok(found),
            Ok(found) => Err(CodecError::Length { expected, found }),
            // Zstandard reports no offset; the frame begins at 0.
            Err(code) => Err(CodecError::Corrupt { offset: 0, reason: zstd_safe::get_error_name(code) }),
        }
    }

    fn train_dict(
        &mut self,
        samples: &[u8],
        sample_len: usize,
        sample_count: usize,
        max_len: usize,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        let total = sample_len.checked_mul(sample_count).filter(|&total| total > 0 && total <= samples.len());
        let Some(total) = total else {
            return Ok(None);
        };
        let mut dict = Vec::with_capacity(max_len);
        // Training fails on samples that are too few, too short or have nothing in common: no dictionary then.
        match zstd_safe::train_from_buffer(&mut dict, &samples[..total], &vec![sample_len; sample_count]) {
            Ok(_) if !dict.is_empty() => Ok(Some(dict)),
            _ => Ok(None),
        }
    }
}

/// The tables prepared from a dictionary, with the bytes they were made from.
struct Prepared<T>(Option<(Vec<u8>, T)>);

impl<T> Default for Prepared<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Prepared<T> {
    fn get(&mut self, bytes: &[u8], prepare: impl FnOnce(&[u8]) -> Option<T>) -> Result<&T, CodecError> {
        // Comparing 32 KiB costs far less than building tables from them, and is safe where comparing addresses is
        // not: another dictionary may be in the same place.
        let kept = self.0.take().filter(|(of, _)| of == bytes);
        let entry = match kept {
            Some(entry) => entry,
            None => {
                let tables =
                    prepare(bytes).ok_or(CodecError::Corrupt { offset: 0, reason: "not a usable zstd dictionary" })?;
                (bytes.to_vec(), tables)
            }
        };
        Ok(&self.0.insert(entry).1)
    }
}

fn get_or_try_init<T>(slot: &mut Option<T>, init: impl FnOnce() -> Option<T>) -> Result<&mut T, CodecError> {
    match slot {
        Some(value) => Ok(value),
        None => Ok(slot.insert(init().ok_or_else(|| library("out of memory"))?)),
    }
}

fn is(code: ErrorCode, error: ZSTD_ErrorCode) -> bool {
    // Zstandard returns errors as the negated error number in an unsigned size.
    code == 0usize.wrapping_sub(error as usize)
}

fn library(message: &str) -> CodecError {
    CodecError::Library { library: "zstd", message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing;

    #[test]
    fn round_trips() {
        testing::round_trips::<Zstd>(&[1, 3, 5, 9], None);
    }

    #[test]
    fn survives_damage() {
        testing::survives_damage::<Zstd>(None);
    }
}
