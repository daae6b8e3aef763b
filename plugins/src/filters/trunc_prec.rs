//! Truncation of floating-point precision (filter 4).

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

/// Clears low mantissa bits of IEEE 754 numbers of 4 or 8 bytes. Decoding restores nothing.
///
/// The meta byte, read as a signed number, is the count of mantissa bits to keep when positive and to clear when
/// negative; at least one bit must stay. A NaN whose payload lies entirely in the cleared bits becomes an infinity.
#[derive(Debug, Clone, Default)]
pub struct TruncPrec;

/// Number of low bits to clear.
fn cleared_bits(ctx: &BlockContext<'_>) -> Result<u32, FilterError> {
    // IEEE 754: explicit mantissa bits of binary32 and binary64.
    let (mantissa, expected) = match ctx.typesize {
        4 => (23, "1 to 23 bits to keep, or -1 to -22 bits to clear"),
        8 => (52, "1 to 52 bits to keep, or -1 to -51 bits to clear"),
        typesize => return Err(FilterError::TypeSize { typesize, expected: "4 or 8 (floating-point numbers)" }),
    };
    super::bits_to_clear(ctx, mantissa, expected)
}

impl Filter for TruncPrec {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        super::clear_low_bits(ctx.typesize, cleared_bits(ctx)?, src, dst);
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.copy_from_slice(src);
        Ok(())
    }
}

register_filter!(builtin FilterId::TRUNC_PREC, "trunc_prec", FilterTraits::FORWARD_ONLY, || Box::new(TruncPrec));
