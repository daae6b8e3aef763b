//! How the LZ encoders read what they compress.
//!
//! An encoder reads four or eight bytes at millions of positions, all of which its loop conditions keep inside the
//! input. [`UncheckedInput`] relies on that. [`Checked`] does not, and tests run the same encoder on it to see that it holds.

/// The bytes to be compressed, by position.
///
/// # Safety
/// [`bytes`](Self::bytes) returns the same slice every time, and the loads are sound wherever their contracts allow them.
pub(super) unsafe trait Input<'a>: Copy {
    /// All of them.
    fn bytes(self) -> &'a [u8];

    /// The four bytes at `at`, in the machine's byte order: only for comparisons.
    ///
    /// # Safety
    /// `at + 4 <= self.bytes().len()`.
    unsafe fn load4(self, at: usize) -> u32;

    /// The eight bytes at `at`, in the machine's byte order.
    ///
    /// # Safety
    /// `at + 8 <= self.bytes().len()`.
    unsafe fn load8(self, at: usize) -> u64;

    /// The sixteen bytes at `at`, in the machine's byte order.
    ///
    /// # Safety
    /// `at + 16 <= self.bytes().len()`.
    unsafe fn load16(self, at: usize) -> u128;
}

/// An [`Input`] that does not check positions.
#[derive(Clone, Copy)]
pub(super) struct UncheckedInput<'a>(pub(super) &'a [u8]);

// SAFETY: the slice is a field that nothing changes, and all loads read from it.
unsafe impl<'a> Input<'a> for UncheckedInput<'a> {
    #[inline(always)]
    fn bytes(self) -> &'a [u8] {
        self.0
    }

    #[inline(always)]
    unsafe fn load4(self, at: usize) -> u32 {
        // SAFETY: by the contract, four bytes are readable; unaligned reads have no further requirement.
        unsafe { self.0.as_ptr().add(at).cast::<u32>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn load8(self, at: usize) -> u64 {
        // SAFETY: by the contract, eight bytes are readable; unaligned reads have no further requirement.
        unsafe { self.0.as_ptr().add(at).cast::<u64>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn load16(self, at: usize) -> u128 {
        // SAFETY: by the contract, sixteen bytes are readable; unaligned reads have no further requirement.
        unsafe { self.0.as_ptr().add(at).cast::<u128>().read_unaligned() }
    }
}

/// An [`Input`] that panics on positions out of range.
#[cfg(test)]
#[derive(Clone, Copy)]
pub(super) struct Checked<'a>(pub(super) &'a [u8]);

// SAFETY: the slice is a field that nothing changes, and all loads index it.
#[cfg(test)]
unsafe impl<'a> Input<'a> for Checked<'a> {
    fn bytes(self) -> &'a [u8] {
        self.0
    }

    unsafe fn load4(self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("a slice of 4"))
    }

    unsafe fn load8(self, at: usize) -> u64 {
        u64::from_ne_bytes(self.0[at..at + 8].try_into().expect("a slice of 8"))
    }

    unsafe fn load16(self, at: usize) -> u128 {
        u128::from_ne_bytes(self.0[at..at + 16].try_into().expect("a slice of 16"))
    }
}

/// The number of equal bytes before the first difference between two times sixteen bytes, in memory order.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn equal_bytes(a: u128, b: u128) -> usize {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8};
    use std::mem::transmute;
    // SAFETY: the types have the same size and no invalid values; SSE2 is part of x86-64.
    let equal = unsafe {
        let (a, b) = (transmute::<u128, __m128i>(a), transmute::<u128, __m128i>(b));
        _mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) as u32
    };
    (!equal | 1 << 16).trailing_zeros() as usize
}

/// The number of equal bytes before the first difference between two times sixteen bytes, in memory order.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn equal_bytes(a: u128, b: u128) -> usize {
    equal_bytes_scalar(a, b)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn equal_bytes_scalar(a: u128, b: u128) -> usize {
    (a ^ b).to_le().trailing_zeros() as usize / 8
}

/// The number of bytes from `at` on that equal those from `earlier` on, up to position `end`.
///
/// # Safety
/// `earlier <= at <= end <= input.bytes().len()`.
#[inline(always)]
pub(super) unsafe fn common<'a>(input: impl Input<'a>, earlier: usize, at: usize, end: usize) -> usize {
    let distance = at - earlier;
    let mut here = at;
    if here + 8 <= end {
        // SAFETY: here + 8 <= end, and `here - distance` is not behind it.
        let difference = unsafe { input.load8(here) ^ input.load8(here - distance) };
        if difference != 0 {
            return difference.to_le().trailing_zeros() as usize / 8;
        }
        here += 8;
    }
    while here + 16 <= end {
        // SAFETY: here + 16 <= end, and `here - distance` is not behind it.
        let equal = unsafe { equal_bytes(input.load16(here), input.load16(here - distance)) };
        if equal < 16 {
            return here - at + equal;
        }
        here += 16;
    }
    let bytes = input.bytes();
    while here < end && bytes[here] == bytes[here - distance] {
        here += 1;
    }
    here - at
}

/// The number of bytes before `at` that equal those before `earlier`, up to `most`.
///
/// # Safety
/// `most <= earlier <= at <= input.bytes().len()`.
#[inline(always)]
pub(super) unsafe fn common_before<'a>(input: impl Input<'a>, earlier: usize, at: usize, most: usize) -> usize {
    let mut done = 0;
    // Eight bytes are compared even where nothing is asked for: whether anything is cannot be predicted.
    while earlier - done >= 8 {
        // SAFETY: both have eight bytes before them.
        let difference = unsafe { input.load8(at - done - 8) ^ input.load8(earlier - done - 8) };
        if difference != 0 {
            // In big-endian order, the bytes that are equal are the trailing zeros. Leading zeros are counted by `bsr` on
            // baseline x86-64, which is slow on AMD's processors.
            let equal = difference.to_be().trailing_zeros() as usize / 8;
            return (done + equal).min(most);
        }
        done += 8;
        if done >= most {
            return most;
        }
    }
    let bytes = input.bytes();
    while done < most && bytes[at - 1 - done] == bytes[earlier - 1 - done] {
        done += 1;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_end_at_the_first_that_differs() {
        let bytes: [u8; 16] = std::array::from_fn(|i| i as u8);
        let word = u128::from_ne_bytes(bytes);
        assert_eq!((equal_bytes(word, word), equal_bytes_scalar(word, word)), (16, 16));
        for first in 0..16 {
            for second in first..16 {
                let mut other = bytes;
                (other[first], other[second]) = (0xF0, 0xF1);
                let other = u128::from_ne_bytes(other);
                assert_eq!(equal_bytes(word, other), first);
                assert_eq!(equal_bytes_scalar(word, other), first);
            }
        }
    }

    /// Nothing outside the input is read.
    #[cfg(unix)]
    #[test]
    fn between_guard_pages() {
        use crate::guard_pages::{ALIGNMENTS, GuardedPages, LONGEST, Side, SlicePosition};

        let mut memory = GuardedPages::new(LONGEST);
        let mut runs = 0_u64;
        for len in 1..=LONGEST {
            for distance in [1, 7, 16, 40].into_iter().filter(|distance| *distance <= len) {
                let mut bytes: Vec<u8> = (0..len).map(|i| (i % distance) as u8).collect();
                for differs in [false, true] {
                    // In the middle of what is compared.
                    bytes[len - (len - distance).div_ceil(2) - 1] ^= u8::from(differs);
                    for place in [Side::Low, Side::High]
                        .into_iter()
                        .flat_map(|side| (0..ALIGNMENTS).map(move |n| SlicePosition(side, n)))
                    {
                        let here = memory.with(place, &bytes);
                        // SAFETY: 0 <= distance <= len, and nothing is before 0 or behind `len`.
                        let (checked, trusted) = unsafe {
                            let (before, at) = (len - distance, len);
                            (
                                (
                                    common(Checked(&bytes), 0, distance, len),
                                    common_before(Checked(&bytes), before, at, before),
                                ),
                                (
                                    common(UncheckedInput(here), 0, distance, len),
                                    common_before(UncheckedInput(here), before, at, before),
                                ),
                            )
                        };
                        assert_eq!(trusted, checked, "{len} bytes, distance {distance}, {place:?}");
                        runs += 2;
                    }
                }
            }
        }
        println!("{runs} runs of kernels between guard pages");
    }

    #[test]
    fn common_counts_equal_bytes() {
        for len in 0..40 {
            for distance in 1..20 {
                let mut bytes: Vec<u8> = (0..distance + len + 10).map(|i| (i % distance) as u8).collect();
                bytes[distance + len] ^= 1;
                for end in distance..bytes.len() {
                    // SAFETY: 0 <= distance <= end <= length.
                    let (checked, trusted) = unsafe {
                        (common(Checked(&bytes), 0, distance, end), common(UncheckedInput(&bytes), 0, distance, end))
                    };
                    assert_eq!(checked, len.min(end - distance));
                    assert_eq!(trusted, checked);
                }
            }
        }
    }

    #[test]
    fn common_before_counts_equal_bytes() {
        for len in 0..40 {
            for distance in 1..20 {
                for ahead in [0, 1, 7, 8, 9] {
                    // What differs has `ahead` bytes before it, and `len` equal ones between it and the end.
                    let mut bytes: Vec<u8> = (0..ahead + 1 + len + distance).map(|i| (i % distance) as u8).collect();
                    bytes[ahead] ^= 0x80;
                    let at = bytes.len();
                    let earlier = at - distance;
                    for most in 0..=earlier {
                        // SAFETY: most <= earlier <= at, which is the length.
                        let (checked, trusted) = unsafe {
                            (
                                common_before(Checked(&bytes), earlier, at, most),
                                common_before(UncheckedInput(&bytes), earlier, at, most),
                            )
                        };
                        assert_eq!(checked, len.min(most), "{len} bytes, distance {distance}, {ahead} ahead");
                        assert_eq!(trusted, checked);
                    }
                }
            }
        }
    }
}
