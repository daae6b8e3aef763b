//! Integers of 4 and 8 bytes, as the filter sees them.

/// An unsigned integer that stands for a signed one as well. Arithmetic is modulo the type.
pub(crate) trait Integer: Copy + Default {
    /// Bytes of an integer.
    const SIZE: usize;

    /// The integer in `bytes`, of which there are [`Integer::SIZE`].
    fn read(bytes: &[u8]) -> Self;
    /// Writes the integer to `bytes`, of which there are [`Integer::SIZE`].
    fn write(self, bytes: &mut [u8]);
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// 0, -1, 1, -2 become 0, 1, 2, 3.
    fn zigzag(self) -> Self;
    fn unzigzag(self) -> Self;
    /// The byte at a position, 0 for the lowest.
    fn byte(self, position: usize) -> u8;
    /// Sets a byte that was zero.
    fn put_byte(&mut self, position: usize, byte: u8);
}

macro_rules! integer {
    ($type:ty, $signed:ty) => {
        impl Integer for $type {
            const SIZE: usize = size_of::<Self>();

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the integer has"))
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn zigzag(self) -> Self {
                self << 1 ^ (self as $signed >> (Self::BITS - 1)) as Self
            }

            #[inline(always)]
            fn unzigzag(self) -> Self {
                self >> 1 ^ (self & 1).wrapping_neg()
            }

            #[inline(always)]
            fn byte(self, position: usize) -> u8 {
                (self >> (8 * position)) as u8
            }

            #[inline(always)]
            fn put_byte(&mut self, position: usize, byte: u8) {
                *self |= Self::from(byte) << (8 * position);
            }
        }
    };
}

integer!(u32, i32);
integer!(u64, i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zigzag_makes_small_numbers_of_small_differences() {
        let differences = [0i32, -1, 1, -2, 2, i32::MAX, i32::MIN];
        assert_eq!(differences.map(|d| (d as u32).zigzag()), [0, 1, 2, 3, 4, u32::MAX - 1, u32::MAX]);
        for d in differences {
            assert_eq!((d as u32).zigzag().unzigzag(), d as u32);
            let wide = i64::from(d) << 32;
            assert_eq!((wide as u64).zigzag().unzigzag(), wide as u64);
        }
    }
}
