//! Truncation of integers (filter 36).

use oxiblosc_core::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc_core::{FilterId, register_filter};

/// Clears low bits of integers of 1, 2, 4 or 8 bytes. Decoding restores nothing.
///
/// The meta byte, read as a signed number, is the count of bits to keep when positive and to clear when negative; at
/// least one bit must stay.
#[derive(Debug, Clone, Default)]
pub struct IntTrunc;

/// Number of low bits to clear.
fn cleared_bits(ctx: &BlockContext<'_>) -> Result<u32, FilterError> {
    let (bits, expected) = match ctx.typesize {
        1 => (8, "1 to 8 bits to keep, or -1 to -7 bits to clear"),
        2 => (16, "1 to 16 bits to keep, or -1 to -15 bits to clear"),
        4 => (32, "1 to 32 bits to keep, or -1 to -31 bits to clear"),
        8 => (64, "1 to 64 bits to keep, or -1 to -63 bits to clear"),
        typesize => return Err(FilterError::TypeSize { typesize, expected: "1, 2, 4 or 8 (integers)" }),
    };
    super::bits_to_clear(ctx, bits, expected)
}

impl Filter for IntTrunc {
    fn forward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        super::clear_low_bits(ctx.typesize, cleared_bits(ctx)?, src, dst);
        Ok(())
    }

    fn backward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.copy_from_slice(src);
        Ok(())
    }
}

register_filter!(builtin FilterId::INT_TRUNC, "int_trunc", FilterTraits::FORWARD_ONLY, || Box::new(IntTrunc));
