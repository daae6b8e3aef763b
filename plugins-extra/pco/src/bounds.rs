//! What the metadata of a damaged stream may ask for.
//!
//! Pco checks what it reads, but allocates a dictionary of up to 2^25 entries and a window of up to 2^24 before the stream
//! has shown that it has any. Both are in the first bits of the metadata, and this is a reader of those.
//!
//! Source: format.md of Pco, "Chunk Metadata": bits are numbered from the lowest of each byte on. The mode is 4 bits and
//! its parameter, the delta encoding is 4 bits and its parameters.

use pco::metadata::FormatVersion;

use crate::number::Number;

/// Bits of the number of a mode, and of that of a delta encoding.
const VARIANT_BITS: usize = 4;

/// Modes: without a parameter, with a number as the base, with a count of bits.
const CLASSIC: u32 = 0;
const INT_MULT: u32 = 1;
const FLOAT_MULT: u32 = 2;
const FLOAT_QUANT: u32 = 3;

/// Bits of the parameter of [`FLOAT_QUANT`].
const QUANT_BITS: usize = 8;

/// Delta encodings: none, differences, and differences from an earlier number in a window.
const NO_DELTA: u32 = 0;
const CONSECUTIVE: u32 = 1;
const LOOKBACK: u32 = 2;

/// Bits of the logarithm of the window, of which 1 is subtracted.
const WINDOW_LOG_BITS: usize = 5;

/// Pco's encoder uses no longer windows, as a logarithm.
const MAX_WINDOW_LOG: u32 = 15;

/// Whether streams of this version have the layout that [`check`] reads. Earlier ones were never written here.
pub(crate) fn is_known(version: &FormatVersion) -> bool {
    version.major == FormatVersion::max_supported().major
}

/// Checks what the metadata at the beginning of `chunk` ask for.
///
/// # Errors
/// Says what Pco would not have written by itself. Missing bits are zeros here, and an error of Pco later.
pub(crate) fn check<T: Number>(chunk: &[u8]) -> Result<(), &'static str> {
    let mut at = 0;
    let parameter = match bits(chunk, &mut at, VARIANT_BITS) {
        CLASSIC => 0,
        INT_MULT | FLOAT_MULT => 8 * T::SIZE,
        FLOAT_QUANT => QUANT_BITS,
        _ => return Err("a mode of Pco that its encoder does not choose"),
    };
    at += parameter;
    match bits(chunk, &mut at, VARIANT_BITS) {
        NO_DELTA | CONSECUTIVE => Ok(()),
        LOOKBACK if bits(chunk, &mut at, WINDOW_LOG_BITS) < MAX_WINDOW_LOG => Ok(()),
        LOOKBACK => Err("a longer window than Pco's encoder uses"),
        _ => Err("a delta encoding of Pco that its encoder does not choose"),
    }
}

/// The next `count` bits, the first of which is the lowest.
fn bits(bytes: &[u8], at: &mut usize, count: usize) -> u32 {
    let first = *at;
    *at += count;
    (0..count).fold(0, |value, i| {
        let bit = bytes.get((first + i) / 8).map_or(0, |byte| byte >> ((first + i) % 8) & 1);
        value | u32::from(bit) << i
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_lowest() {
        let mut at = 0;
        let bytes = [0b1010_0110, 0b0000_0011];
        assert_eq!([4, 3, 5, 8].map(|count| bits(&bytes, &mut at, count)), [0b0110, 0b010, 0b00111, 0]);
    }

    #[test]
    fn what_the_encoder_does_not_write_is_refused() {
        // The mode, 16 bits of a base, the delta encoding, and the window.
        let chunk = |mode: u32, delta: u32, window: u32| (mode | delta << 20 | window << 24).to_le_bytes();
        assert_eq!(check::<u16>(&chunk(INT_MULT, CONSECUTIVE, 31)), Ok(()));
        assert_eq!(check::<u16>(&chunk(FLOAT_MULT, LOOKBACK, 14)), Ok(()));
        assert!(check::<u16>(&chunk(INT_MULT, LOOKBACK, 15)).is_err());
        assert!(check::<u16>(&chunk(INT_MULT, 3, 0)).is_err());
        assert!(check::<u16>(&chunk(4, 0, 0)).is_err());
        assert_eq!(check::<u16>(&[]), Ok(()));
    }
}
