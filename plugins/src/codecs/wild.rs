//! Copies that may run past their end, for the inner loops of LZ decoders.
//!
//! Most literals and matches of an LZ stream are shorter than a vector register. Copying whole registers and
//! correcting the position afterwards replaces a loop (or a call to `memcpy`) and its mispredicted end by two or three
//! instructions. The caller guarantees room: every function here may touch up to [`SLACK`] bytes after the last one
//! it is asked for, and says so in its contract.

/// How many bytes past the end a copy may read and write.
pub(super) const SLACK: usize = 32;

/// Reads 8 bytes as a little-endian number.
///
/// # Safety
/// 8 bytes at `src` are readable.
#[inline(always)]
unsafe fn load8(src: *const u8) -> u64 {
    // SAFETY: by the contract of this function; unaligned reads have no further requirement.
    u64::from_le(unsafe { src.cast::<u64>().read_unaligned() })
}

/// Reads 16 bytes.
///
/// # Safety
/// 16 bytes at `src` are readable.
#[inline(always)]
pub(super) unsafe fn load16(src: *const u8) -> u128 {
    // SAFETY: by the contract of this function; unaligned reads have no further requirement.
    unsafe { src.cast::<u128>().read_unaligned() }
}

/// Writes 16 bytes.
///
/// # Safety
/// 16 bytes at `dst` are writable.
#[inline(always)]
pub(super) unsafe fn store16(dst: *mut u8, value: u128) {
    // SAFETY: by the contract of this function; unaligned writes have no further requirement.
    unsafe { dst.cast::<u128>().write_unaligned(value) }
}

/// Copies `len` bytes in steps of 32.
///
/// # Safety
/// `len + SLACK` bytes are readable at `src` and writable at `dst`, and the two do not overlap within any 32 bytes:
/// `dst` is before `src`, or at least 32 after it.
#[inline(always)]
pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
    let mut done = 0;
    loop {
        // SAFETY: `done` is 0 or less than `len`, so the step ends at most `SLACK` bytes after `len`.
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

/// For a distance below 8: the mask of that many bytes, the factor that repeats them through 8 bytes, and the shift
/// that moves the pattern from the first 8 bytes of a repetition to the next 8.
const PATTERN: [(u64, u64, u32); 8] = {
    let mut table = [(0, 0, 0); 8];
    let mut distance = 1;
    while distance < 8 {
        let mask = (1 << (8 * distance)) - 1;
        let mut factor: u64 = 0;
        let mut at = 0;
        while at < 8 {
            factor |= 1 << (8 * at);
            at += distance;
        }
        table[distance] = (mask, factor, 8 * (8 % distance) as u32);
        distance += 1;
    }
    table
};

/// Appends `len` bytes at `dst`, each equal to the one `distance` before it: the match of an LZ stream, which repeats
/// itself when it is longer than its distance.
///
/// # Safety
/// `distance` is at least 1, the `distance` bytes before `dst` are readable, and `len + SLACK` bytes at `dst` are
/// readable and writable, all in one allocation.
#[inline(always)]
pub(super) unsafe fn repeat(dst: *mut u8, distance: usize, len: usize) {
    // SAFETY: every access is at most 16 bytes long and starts between `dst - distance` and `dst + len + 15`: loops
    // end as soon as `done >= len`, and a step writes at most 16 bytes at `done` and 16 more at `done + 16` or less.
    unsafe {
        let src = dst.sub(distance);
        if distance >= 32 {
            return copy(src, dst, len);
        }
        if distance >= 16 {
            // Half steps in order: the second may read what the first has written.
            let mut done = 0;
            loop {
                store16(dst.add(done), load16(src.add(done)));
                store16(dst.add(done + 16), load16(src.add(done + 16)));
                done += 32;
                if done >= len {
                    return;
                }
            }
        }
        // A register full of the pattern, moved on by a multiple of the distance, continues it without reading back
        // what was just written, whose store the load would have to wait for.
        let (pattern, step) = if distance >= 8 {
            // The bytes after the first `distance` are stale; the next store overwrites them.
            (load16(src), distance)
        } else {
            let (mask, factor, shift) = PATTERN[distance];
            let once = load8(src) & mask;
            let low = once.wrapping_mul(factor);
            // 8 bytes into the repetition its phase is 8 % distance. `low` still holds a whole turn from there, since
            // 8 % distance + distance <= 8 for every distance below 8.
            let high = ((low >> shift) & mask).wrapping_mul(factor);
            ((u128::from(high) << 64 | u128::from(low)).to_le(), 16 - 16 % distance)
        };
        let mut done = 0;
        loop {
            store16(dst.add(done), pattern);
            store16(dst.add(done + step), pattern);
            done += 2 * step;
            if done >= len {
                return;
            }
        }
    }
}

/// The safe form of [`repeat`]: appends `len` bytes at `at` in `dst`, each equal to the one `distance` before it.
/// Touches nothing after them.
///
/// # Panics
/// When `distance` is 0 or more than `at`, or `at + len` is past the end of `dst`.
pub(super) fn repeat_exact(dst: &mut [u8], at: usize, distance: usize, len: usize) {
    let start = at - distance;
    // What lies between `start` and the end so far is a whole number of repetitions, so it can be copied as one piece
    // and doubles each time.
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

    #[test]
    fn repeat_equals_the_byte_loop() {
        for distance in 1..=80 {
            for len in 0..=200 {
                let before: Vec<u8> = (0..distance).map(|i| (i * 37 + 11) as u8).collect();
                let mut expected = before.clone();
                (0..len).for_each(|i| expected.push(expected[i]));

                let mut wide = before.clone();
                wide.resize(distance + len + SLACK, 0xEE);
                // SAFETY: `distance` bytes precede and `len + SLACK` follow.
                unsafe { repeat(wide.as_mut_ptr().add(distance), distance, len) };
                assert_eq!(wide[..distance + len], expected, "distance {distance}, length {len}");

                let mut exact = before.clone();
                exact.resize(distance + len, 0xEE);
                repeat_exact(&mut exact, distance, distance, len);
                assert_eq!(exact, expected, "distance {distance}, length {len}");
            }
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
