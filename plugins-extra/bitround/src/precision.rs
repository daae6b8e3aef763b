//! How precise rounded floats are.

use oxiblosc_core::pipeline::FilterSlot;

use crate::float::Float;
use crate::{BITROUND, PrecisionError};

/// The size of a float, and how many bits of its mantissa are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Precision {
    typesize: usize,
    bits: u8,
}

impl Precision {
    /// Floats of `typesize` bytes of which `mantissa_bits` bits of the mantissa are kept.
    ///
    /// # Errors
    /// [`PrecisionError::TypeSize`] for sizes other than 2, 4 and 8; [`PrecisionError::Bits`] for no bits, or more than the
    /// mantissa has: 10, 23 or 52.
    pub const fn new(typesize: usize, mantissa_bits: u8) -> Result<Self, PrecisionError> {
        match Self::mantissa(typesize) {
            None => Err(PrecisionError::TypeSize { typesize }),
            Some(most) if mantissa_bits == 0 || mantissa_bits > most => {
                Err(PrecisionError::Bits { bits: mantissa_bits, most })
            }
            Some(_) => Ok(Self { typesize, bits: mantissa_bits }),
        }
    }

    /// The fewest bits with which no number is off by more than `bound` times itself. For 0, and for what is less than the
    /// type can tell, these are all bits, and nothing is rounded.
    ///
    /// ```
    /// use oxiblosc_bitround::Precision;
    ///
    /// let precision = Precision::for_relative_error(8, 0.01)?;
    /// assert_eq!((precision.mantissa_bits(), precision.relative_error()), (6, 1.0 / 128.0));
    /// assert_eq!(Precision::for_relative_error(4, 0.0)?.mantissa_bits(), 23);
    /// # Ok::<(), oxiblosc_bitround::PrecisionError>(())
    /// ```
    ///
    /// # Errors
    /// [`PrecisionError::Bound`] for a bound that is negative or not a number; [`PrecisionError::TypeSize`].
    pub fn for_relative_error(typesize: usize, bound: f64) -> Result<Self, PrecisionError> {
        let most = Self::mantissa(typesize).ok_or(PrecisionError::TypeSize { typesize })?;
        if bound.is_nan() || bound < 0.0 {
            return Err(PrecisionError::Bound { bound });
        }
        let bits = (1..most).find(|bits| unit(*bits) <= bound).unwrap_or(most);
        Ok(Self { typesize, bits })
    }

    /// Bits of the mantissa that are stored in a float of this size.
    const fn mantissa(typesize: usize) -> Option<u8> {
        match typesize {
            u16::SIZE => Some(u16::MANTISSA_BITS),
            u32::SIZE => Some(u32::MANTISSA_BITS),
            u64::SIZE => Some(u64::MANTISSA_BITS),
            _ => None,
        }
    }

    /// Bytes of a float.
    pub const fn typesize(self) -> usize {
        self.typesize
    }

    /// Bits of the mantissa that are kept, which is the meta byte of the filter.
    pub const fn mantissa_bits(self) -> u8 {
        self.bits
    }

    /// The filter with this precision, to be put before shuffle or another one that groups bytes or bits.
    pub const fn slot(self) -> FilterSlot {
        FilterSlot { id: BITROUND, meta: self.bits }
    }

    /// By how much a number can be off, as a part of the number: half of the last bit kept, or 0 if all are kept.
    pub fn relative_error(self) -> f64 {
        match Self::mantissa(self.typesize) {
            Some(most) if most == self.bits => 0.0,
            _ => unit(self.bits),
        }
    }

    /// Rounds the floats in `items`, which are little-endian. Bytes at the end that are no whole float stay as they are.
    pub fn round(self, items: &mut [u8]) {
        match self.typesize {
            u16::SIZE => round::<u16>(items, self.bits),
            u32::SIZE => round::<u32>(items, self.bits),
            u64::SIZE => round::<u64>(items, self.bits),
            _ => unreachable!("checked when it was made"),
        }
    }
}

/// Half of the last bit, if the first is 1 and so many follow it.
fn unit(bits: u8) -> f64 {
    0.5f64.powi(i32::from(bits) + 1)
}

fn round<F: Float>(items: &mut [u8], keep: u8) {
    if keep < F::MANTISSA_BITS {
        items.chunks_exact_mut(F::SIZE).for_each(|bytes| F::round(bytes, keep));
    }
}
