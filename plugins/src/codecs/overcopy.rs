//! Copies that may run past their end, for the inner loops of LZ decoders.
//!
//! Most literals and matches of an LZ stream are shorter than a vector register. Copying whole registers and
//! correcting the position afterwards replaces a loop (or a call to `memcpy`) and its mispredicted end by two or three
//! instructions. The caller guarantees room: every function here may touch up to [`SLACK`] bytes after the last one
//! it is asked for, and says so in its contract.
//!
//! Matches that overlap themselves never read back what they have just written, as a load that needs bytes of two
//! pending stores waits for both. They keep the repeated bytes in registers instead.

/// How many bytes past the end a copy may read and write.
pub(super) const SLACK: usize = 32;

/// Returns `condition` and tells the compiler to lay out the code for it to be true.
#[inline(always)]
pub(super) fn likely(condition: bool) -> bool {
    #[cold]
    #[inline]
    fn unlikely() {}

    if !condition {
        unlikely();
    }
    condition
}

/// 16 bytes being copied. (As an integer they would be split between two general registers wherever they are kept for a
/// while.)
#[cfg(target_arch = "x86_64")]
pub(super) type CopyRegister = std::arch::x86_64::__m128i;

/// 16 bytes being copied.
#[cfg(not(target_arch = "x86_64"))]
pub(super) type CopyRegister = u128;

/// Reads 16 bytes.
///
/// # Safety
/// 16 bytes at `src` are readable.
#[inline(always)]
pub(super) unsafe fn load16(src: *const u8) -> CopyRegister {
    // SAFETY: by the contract of this function; unaligned reads have no further requirement.
    unsafe { src.cast::<CopyRegister>().read_unaligned() }
}

/// Writes 16 bytes.
///
/// # Safety
/// 16 bytes at `dst` are writable.
#[inline(always)]
pub(super) unsafe fn store16(dst: *mut u8, value: CopyRegister) {
    // SAFETY: by the contract of this function; unaligned writes have no further requirement.
    unsafe { dst.cast::<CopyRegister>().write_unaligned(value) }
}

/// `value`, computed before what it is added to is known: the compiler would otherwise add the constants in it last.
#[inline(always)]
pub(super) fn early(value: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let mut value = value;
        // SAFETY: the template is a comment: no instruction results from it.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(not(target_arch = "x86_64"))]
    value
}

/// How a machine repeats a few bytes through a register.
pub(super) trait RepeatKernel {
    /// The first `distance` bytes of `word` (in memory order), repeated; `distance` is 1..=16.
    ///
    /// # Safety
    /// The machine has the instructions that the implementation names.
    unsafe fn spread(word: CopyRegister, distance: usize) -> CopyRegister;
}

/// Any machine.
pub(super) struct Portable;

impl RepeatKernel for Portable {
    #[inline(always)]
    unsafe fn spread(word: CopyRegister, distance: usize) -> CopyRegister {
        // SAFETY: the types have the same size and no invalid values.
        let word = unsafe { std::mem::transmute::<CopyRegister, u128>(word) }.to_le();
        let spread = if distance >= 8 {
            let once = word & (u128::MAX >> (128 - 8 * distance));
            // At 16 the shift would be as wide as the word, which is already full.
            if distance < 16 { once | once << (8 * distance) } else { once }
        } else {
            // A product with ones at multiples of the distance repeats the bytes, since no two terms overlap.
            const FACTOR: [u64; 8] = {
                let mut table = [0; 8];
                let mut distance = 1;
                while distance < 8 {
                    let mut at = 0;
                    while at < 8 {
                        table[distance] |= 1 << (8 * at);
                        at += distance;
                    }
                    distance += 1;
                }
                table
            };
            let mask = u64::MAX >> (64 - 8 * distance);
            let low = (word as u64 & mask).wrapping_mul(FACTOR[distance]);
            // 8 bytes into the repetition its phase is 8 % distance. `low` still holds a whole period from there, since
            // 8 % distance + distance <= 8 for every distance below 8.
            let high = (low >> (8 * (8 % distance)) & mask).wrapping_mul(FACTOR[distance]);
            u128::from(high) << 64 | u128::from(low)
        };
        // SAFETY: as above.
        unsafe { std::mem::transmute::<u128, CopyRegister>(u128::from_le(spread)) }
    }
}

/// An x86-64 machine with SSSE3, which has a byte permutation.
#[cfg(target_arch = "x86_64")]
pub(super) struct Ssse3;

#[cfg(target_arch = "x86_64")]
impl RepeatKernel for Ssse3 {
    #[inline(always)]
    unsafe fn spread(word: CopyRegister, distance: usize) -> CopyRegister {
        // SAFETY: SSSE3 is there by the contract of the trait.
        unsafe { std::arch::x86_64::_mm_shuffle_epi8(word, load16(SPREAD[distance].as_ptr())) }
    }
}

/// For each distance up to 16, the permutation that repeats the first `distance` bytes of a register.
#[cfg(target_arch = "x86_64")]
static SPREAD: [[u8; 16]; 17] = {
    let mut table = [[0; 16]; 17];
    let mut distance = 1;
    while distance <= 16 {
        let mut at = 0;
        while at < 16 {
            table[distance][at] = (at % distance) as u8;
            at += 1;
        }
        distance += 1;
    }
    table
};

/// For each distance up to 16, its largest multiple up to 16.
const STEP: [u8; 17] = {
    let mut table = [0; 17];
    let mut distance = 1;
    while distance <= 16 {
        table[distance] = (16 - 16 % distance) as u8;
        distance += 1;
    }
    table
};

/// Copies `len` bytes in steps of 32.
///
/// # Safety
/// Whole steps are readable at `src` and writable at `dst`, for which `len + SLACK` bytes are enough, and a step does not
/// overlap what it reads: `dst` is before `src`, or at least 32 after it.
#[inline(always)]
pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
    let mut done = 0;
    loop {
        // SAFETY: `done` is 0 or less than `len`, so the step ends at most `SLACK` bytes after `len`.
        // (Moved in one piece, the compiler would make a call of `memcpy` of the loop, which is what it is to replace.)
        unsafe {
            let (low, high) = (load16(src.add(done)), load16(src.add(done + 16)));
            store16(dst.add(done), low);
            store16(dst.add(done + 16), high);
        }
        done += 32;
        if done >= len {
            return;
        }
    }
}

/// Appends 18 bytes at `dst`, each equal to the one `distance` before it.
///
/// # Safety
/// `distance` is at least 8, the `distance` bytes before `dst` are readable, and 18 bytes at `dst` are readable and
/// writable, all in one allocation.
#[inline(always)]
pub(super) unsafe fn repeat18(dst: *mut u8, distance: usize) {
    // A piece of 8 bytes lies within one pending store more often than one of 16, and can then be had before it is in
    // the cache.
    // SAFETY: by the contract.
    unsafe {
        let src = dst.sub(distance);
        for at in [0, 8] {
            dst.add(at).cast::<u64>().write_unaligned(src.add(at).cast::<u64>().read_unaligned());
        }
        dst.add(16).cast::<u16>().write_unaligned(src.add(16).cast::<u16>().read_unaligned());
    }
}

/// Appends `len` bytes at `dst`, each equal to the one `distance` before it: the match of an LZ stream, which repeats
/// itself when it is longer than its distance. Best for matches that are expected to fit a register.
///
/// # Safety
/// The machine is an `M`. `distance` is at least 1, the `distance` bytes before `dst` are readable, and `len + SLACK`
/// bytes at `dst` are readable and writable, all in one allocation.
#[inline(always)]
pub(super) unsafe fn repeat_short<M: RepeatKernel>(dst: *mut u8, distance: usize, len: usize) {
    // SAFETY: the 16 bytes read at `dst - distance` end before `dst + SLACK`; the rest by the contract.
    unsafe {
        // No branch on the distance, which is hard to predict.
        store16(dst, M::spread(load16(dst.sub(distance)), distance.min(16)));
        if !likely(len <= 16) {
            repeat::<M>(dst, distance, len);
        }
    }
}

/// [`repeat_short`] for matches that are expected to be longer.
///
/// # Safety
/// As for [`repeat_short`].
#[inline(always)]
pub(super) unsafe fn repeat<M: RepeatKernel>(dst: *mut u8, distance: usize, len: usize) {
    // SAFETY: reads begin at `dst - distance` or later. Loops begin a step at `done`, which is 0 or less than `len`, and
    // a step touches no more than the 32 bytes from there: in the second loop because 16 <= distance <= 32, in the third
    // because no step is above 16.
    unsafe {
        let src = dst.sub(distance);
        let mut done = 0;
        if distance >= 32 {
            copy(src, dst, len);
        } else if distance >= 16 {
            // Two overlapping registers hold one period.
            let (first, last) = (load16(src), load16(src.add(distance - 16)));
            loop {
                store16(dst.add(done), first);
                store16(dst.add(done + distance - 16), last);
                done += distance;
                if done >= len {
                    return;
                }
            }
        } else {
            // One register holds several periods: advanced by a multiple of the distance, it continues them.
            let turns = M::spread(load16(src), distance);
            let step = usize::from(STEP[distance]);
            loop {
                store16(dst.add(done), turns);
                store16(dst.add(done + step), turns);
                done += 2 * step;
                if done >= len {
                    return;
                }
            }
        }
    }
}

/// [`repeat`] at position `at` of `dst`, which may end right after the match.
///
/// # Safety
/// The machine is an `M`; `1 <= distance <= at` and `at + len <= dst.len()`.
#[inline(always)]
pub(super) unsafe fn repeat_inside<M: RepeatKernel>(dst: &mut [u8], at: usize, distance: usize, len: usize) {
    let room = dst.len() - at;
    let wide = if room >= len + SLACK { len } else { room.saturating_sub(SLACK) };
    if wide > 0 {
        // SAFETY: wide + SLACK <= room; the rest by the contract.
        unsafe { repeat::<M>(dst.as_mut_ptr().add(at), distance, wide) };
    }
    if wide < len {
        repeat_exact(dst, at + wide, distance, len - wide);
    }
}

/// The safe form of [`repeat`]: appends `len` bytes at `at` in `dst`, each equal to the one `distance` before it. Does
/// not touch any byte after them.
///
/// # Panics
/// When `distance` is 0 or more than `at`, or `at + len` is past the end of `dst`.
// Few matches of a stream come here. Inlined, it takes registers from the loops that copy the others.
#[inline(never)]
pub(super) fn repeat_exact(dst: &mut [u8], at: usize, distance: usize, len: usize) {
    if distance == 1 {
        let byte = dst[at - 1];
        return dst[at..at + len].fill(byte);
    }
    let start = at - distance;
    // The bytes between `start` and the current end are a whole number of repetitions, so they can be copied as one
    // piece that doubles each time.
    let mut done = 0;
    while done < len {
        let piece = (distance + done).min(len - done);
        dst.copy_within(start..start + piece, at + done);
        done += piece;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Repeat = unsafe fn(*mut u8, usize, usize);

    fn kernels() -> Vec<(&'static str, Repeat)> {
        let mut kernels: Vec<(&'static str, Repeat)> =
            vec![("portable", repeat::<Portable>), ("portable, short", repeat_short::<Portable>)];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("ssse3") {
            kernels.push(("ssse3", repeat::<Ssse3>));
            kernels.push(("ssse3, short", repeat_short::<Ssse3>));
        }
        kernels
    }

    #[test]
    fn repeat_equals_the_byte_loop() {
        for distance in 1..=80 {
            for len in 1..=200 {
                let before: Vec<u8> = (0..distance).map(|i| (i * 37 + 11) as u8).collect();
                let mut expected = before.clone();
                (0..len).for_each(|i| expected.push(expected[i]));

                for (name, repeat) in kernels() {
                    let mut wide = before.clone();
                    wide.resize(distance + len + SLACK, 0xEE);
                    // SAFETY: `distance` bytes precede and `len + SLACK` follow; the machine was asked.
                    unsafe { repeat(wide.as_mut_ptr().add(distance), distance, len) };
                    assert_eq!(wide[..distance + len], expected, "{name}: distance {distance}, length {len}");
                }

                for room in [0, 1, SLACK - 1, SLACK, SLACK + 1] {
                    let mut inside = before.clone();
                    inside.resize(distance + len + room, 0xEE);
                    // SAFETY: `distance` bytes precede and at least `len` follow.
                    unsafe { repeat_inside::<Portable>(&mut inside, distance, distance, len) };
                    assert_eq!(inside[..distance + len], expected, "distance {distance}, length {len}, room {room}");
                }

                let mut exact = before.clone();
                exact.resize(distance + len, 0xEE);
                repeat_exact(&mut exact, distance, distance, len);
                assert_eq!(exact, expected, "distance {distance}, length {len}");
            }
        }
    }

    /// The bytes that a kernel may touch by its contract, and no others, lie between guard pages.
    #[cfg(unix)]
    #[test]
    fn between_guard_pages() {
        use crate::guard_pages::{ALIGNMENTS, GuardedPages, LONGEST, Side, SlicePosition};

        let (mut memory, mut output) = (GuardedPages::new(1000), GuardedPages::new(1000));
        let mut runs = 0_u64;
        let places = || {
            [Side::Low, Side::High].into_iter().flat_map(|side| (0..ALIGNMENTS).map(move |n| SlicePosition(side, n)))
        };
        for distance in (1..=33).chain([48, 64, 80]) {
            let before: Vec<u8> = (0..distance).map(|i| (i * 37 + 11) as u8).collect();
            for len in 1..=LONGEST {
                let expected: Vec<u8> = before.iter().copied().cycle().take(distance + len).collect();
                for (name, repeat) in kernels() {
                    for place in places() {
                        let ((), found) = memory.write(place, distance + len + SLACK, |bytes| {
                            bytes[..distance].copy_from_slice(&before);
                            // SAFETY: `distance` bytes precede and `len + SLACK` follow; the machine was asked.
                            unsafe { repeat(bytes.as_mut_ptr().add(distance), distance, len) };
                        });
                        assert!(found.starts_with(&expected), "{name}: distance {distance}, length {len}, {place:?}");
                        runs += 1;
                    }
                }
            }
        }
        for len in 0..=LONGEST {
            let src: Vec<u8> = (0..len + SLACK).map(|i| (i * 29) as u8).collect();
            for (from, to) in (0..ALIGNMENTS).flat_map(SlicePosition::pairs) {
                let from = memory.with(from, &src);
                // SAFETY: both have `len + SLACK` bytes and are apart.
                let work = |dst: &mut [u8]| unsafe { copy(from.as_ptr(), dst.as_mut_ptr(), len) };
                let ((), found) = output.write(to, len + SLACK, work);
                assert_eq!(found[..len], src[..len], "length {len}, to {to:?}");
                runs += 1;
            }
        }
        for (distance, place) in (8..=33).flat_map(|distance| places().map(move |place| (distance, place))) {
            let expected: Vec<u8> = (0..distance + 18).map(|i| (i % distance * 37 + 11) as u8).collect();
            let ((), found) = memory.write(place, distance + 18, |bytes| {
                bytes[..distance].copy_from_slice(&expected[..distance]);
                // SAFETY: `distance` bytes precede and 18 follow.
                unsafe { repeat18(bytes.as_mut_ptr().add(distance), distance) };
            });
            assert_eq!(*found, expected, "distance {distance}, {place:?}");
            runs += 1;
        }
        println!("{runs} runs of kernels between guard pages");
    }

    #[test]
    fn repeat18_equals_the_byte_loop() {
        for distance in 8..60 {
            let expected: Vec<u8> = (0..distance + 18).map(|i| (i % distance * 29) as u8).collect();
            let mut bytes = expected[..distance].to_vec();
            bytes.resize(distance + 18, 0xEE);
            // SAFETY: `distance` bytes precede and 18 follow.
            unsafe { repeat18(bytes.as_mut_ptr().add(distance), distance) };
            assert_eq!(bytes, expected, "distance {distance}");
        }
    }

    #[test]
    fn copy_equals_the_slice_copy() {
        for len in 0..=200 {
            let src: Vec<u8> = (0..len + SLACK).map(|i| (i * 29) as u8).collect();
            let mut dst = vec![0xEE; len + SLACK];
            // SAFETY: both have `len + SLACK` bytes and are apart.
            unsafe { copy(src.as_ptr(), dst.as_mut_ptr(), len) };
            assert_eq!(dst[..len], src[..len], "length {len}");
        }
    }
}
