//! The bits of floats, and how they are rounded.

/// The bits of a float of IEEE 754: the sign, the exponent, and the mantissa in the low bits.
pub(crate) trait Float: Copy {
    /// Bytes of a float.
    const SIZE: usize;
    /// Bits of the mantissa that are stored.
    const MANTISSA_BITS: u8;

    /// Rounds the float in `bytes`, of which there are [`Float::SIZE`], to `keep` bits of the mantissa, which is at least 1
    /// and below [`Float::MANTISSA_BITS`].
    fn round(bytes: &mut [u8], keep: u8);
}

macro_rules! float {
    ($bits:ty, $mantissa:literal) => {
        impl Float for $bits {
            const SIZE: usize = size_of::<Self>();
            const MANTISSA_BITS: u8 = $mantissa;

            #[inline(always)]
            fn round(bytes: &mut [u8], keep: u8) {
                const EXPONENT: $bits = (<$bits>::MAX >> 1) & !((1 << $mantissa) - 1);
                let bits = Self::from_le_bytes((&*bytes).try_into().expect("as many bytes as the float has"));
                let dropped: $bits = 1 << ($mantissa - keep);
                // A little less than half of what is dropped, so that a tie is carried if the last bit kept is odd. The
                // carry may reach the exponent, as it should. It goes no further, because of the check of the exponent.
                let odd = (bits & dropped != 0) as $bits;
                let rounded = bits.wrapping_add(dropped / 2 - 1 + odd) & !(dropped - 1);
                let (exponent, result) = (bits & EXPONENT, rounded & EXPONENT);
                let inexact = exponent != 0 && exponent != EXPONENT && result != EXPONENT;
                bytes.copy_from_slice(&(if inexact { rounded } else { bits }).to_le_bytes());
            }
        }
    };
}

float!(u16, 10);
float!(u32, 23);
float!(u64, 52);
