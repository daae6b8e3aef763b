//! The BloscLZ decoder.
//!
//! Source: C-Blosc2's BloscLZ. The stream is a series of operations, and the first is always a run of literals:
//!
//! - `000lllll`: l + 1 literals follow.
//! - `LLLddddd [255.. n] D`: a match of L + 2 bytes at distance 256 d + D + 1. L = 7 is continued by bytes that are
//!   added up to and including one that is not 255. If d and D both have their largest value, two more bytes follow,
//!   the high one first, and the distance is 8192 plus their value.
//!
//! The top bits of the first byte are a marker. Another operation must follow a match: C-Blosc2 drops the match
//! otherwise.
//!
//! Two decoders share this grammar: [`decode_checked`] checks every step and decodes anything; [`decode_fast`] decodes
//! the operations that are far enough from the ends of both buffers to copy whole registers, and leaves the rest, and
//! everything that looks wrong, to the checked one.

use oxiblosc_core::codec::CodecError;

use super::{CONTINUED, FAR_DISTANCE, LENGTH_BIAS, MAX_LITERALS};
use crate::codecs::overcopy::{self, Portable, RepeatKernel, SLACK};

/// The position of a decoder, always before an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    /// Bytes of the stream consumed.
    input: usize,
    /// Bytes produced.
    output: usize,
}

/// Decodes the stream `src` into all of `dst`.
pub(super) fn decompress(src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
    let position = decode_fast(src, dst);
    decode_checked::<false>(src, dst, position)
}

/// [`decompress`] of as much as fits `dst`. What comes after that is not looked at.
pub(super) fn decompress_prefix(src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
    let position = decode_fast(src, dst);
    decode_checked::<true>(src, dst, position)
}

/// [`decompress`] on one kind of machine.
#[cfg(all(test, unix))]
pub(in crate::codecs) type Decoder = fn(&[u8], &mut [u8]) -> Result<usize, CodecError>;

/// All decoders that this machine can run.
#[cfg(all(test, unix))]
pub(in crate::codecs) fn on_each_machine() -> Vec<(&'static str, Decoder)> {
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut machines: Vec<(_, Decoder)> = vec![("portable", |src, dst| {
        // SAFETY: `Portable` needs no instructions of its own.
        let position = unsafe { decode_fast_on::<Portable>(src, dst) };
        decode_checked::<false>(src, dst, position)
    })];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        machines.push(("avx2", |src, dst| {
            // SAFETY: AVX2 was just found.
            let position = unsafe { decode_fast_avx2(src, dst) };
            decode_checked::<false>(src, dst, position)
        }));
    }
    machines
}

fn corrupt(offset: usize, reason: &'static str) -> CodecError {
    CodecError::Corrupt { offset, reason }
}

/// The operation at `input`, without the marker in the first byte of the stream, which would turn it into a match.
fn operation(src: &[u8], input: usize) -> Option<u8> {
    src.get(input).map(|&byte| if input == 0 { byte & 31 } else { byte })
}

/// Decodes from `at` to the end of the stream and checks everything. A `PREFIX` ends where `dst` does.
fn decode_checked<const PREFIX: bool>(src: &[u8], dst: &mut [u8], at: Cursor) -> Result<usize, CodecError> {
    let Cursor { mut input, mut output } = at;
    let expected = dst.len();
    let byte = |input: usize| {
        // A match is never the last operation, so another byte follows each of its own.
        if input + 1 < src.len() {
            Ok(usize::from(src[input]))
        } else {
            Err(corrupt(input, "the stream ends in a match"))
        }
    };
    // How much of the next `len` bytes is wanted.
    let clipped = |output: usize, len: usize| {
        let room = expected - output;
        if PREFIX || len <= room {
            Ok(len.min(room))
        } else {
            Err(CodecError::Length { expected, found: output + len })
        }
    };
    while let Some(op) = operation(src, input) {
        if PREFIX && output == expected {
            break;
        }
        if op < 32 {
            let len = clipped(output, usize::from(op) + 1)?;
            input += 1;
            let literals =
                src.get(input..input + len).ok_or_else(|| corrupt(input, "literals extend past the stream"))?;
            dst[output..output + len].copy_from_slice(literals);
            input += len;
            output += len;
            continue;
        }
        let start = input;
        byte(input)?;
        input += 1;
        let mut len = usize::from(op >> 5);
        if len == CONTINUED {
            loop {
                let more = byte(input)?;
                input += 1;
                len += more;
                // The second condition prevents overflow of the sum. Such a length is refused below. (A prefix has its
                // end somewhere in the match, and needs the distance; there is no overflow in 2 GiB.)
                if more != 255 || (!PREFIX && len > expected) {
                    break;
                }
            }
        }
        len = clipped(output, len + LENGTH_BIAS)?;
        let mut distance = usize::from(op & 31) << 8 | byte(input)?;
        input += 1;
        if distance == FAR_DISTANCE {
            distance += byte(input)? << 8 | byte(input + 1)?;
            input += 2;
        }
        distance += 1;
        if distance > output {
            return Err(corrupt(start, "distance reaches before the first byte"));
        }
        overcopy::repeat_exact(dst, output, distance, len);
        output += len;
    }
    if output == expected { Ok(output) } else { Err(CodecError::Length { expected, found: output }) }
}

/// Output room that an operation without a continued length needs.
const SHORT_OUTPUT: usize = MAX_LITERALS + SLACK;

/// Input bytes that such an operation needs: its first byte and 32 literals, which is more than a match needs.
const SHORT_INPUT: usize = 1 + MAX_LITERALS;

/// Decodes operations as long as both buffers have room for copies that overshoot, and returns where it stopped. The
/// output before that position is what [`decode_checked`] would have produced; the output after it is unspecified.
fn decode_fast(src: &[u8], dst: &mut [u8]) -> Cursor {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was just found.
        return unsafe { decode_fast_avx2(src, dst) };
    }
    // SAFETY: `Portable` needs no instructions of its own.
    unsafe { decode_fast_on::<Portable>(src, dst) }
}

/// [`decode_fast`] with a byte permutation, and 32-byte moves where the compiler finds a use for them.
///
/// # Safety
/// The machine has AVX2, and thus SSSE3.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn decode_fast_avx2(src: &[u8], dst: &mut [u8]) -> Cursor {
    // SAFETY: AVX2 implies SSSE3.
    unsafe { decode_fast_on::<overcopy::Ssse3>(src, dst) }
}

/// # Safety
/// The machine is an `M`.
#[inline(always)]
unsafe fn decode_fast_on<M: RepeatKernel>(src: &[u8], dst: &mut [u8]) -> Cursor {
    let mut done = Cursor { input: 0, output: 0 };
    let (Some(input_end), Some(output_end)) = (src.len().checked_sub(SHORT_INPUT), dst.len().checked_sub(SHORT_OUTPUT))
    else {
        return done;
    };
    let from = src.as_ptr();
    // The marker in the first byte is not part of its operation.
    let mut mask = 31;
    while done.input <= input_end && done.output <= output_end {
        let Cursor { mut input, output } = done;
        // SAFETY: input <= src.len() - SHORT_INPUT.
        let op = usize::from(unsafe { *from.add(input) } & mask);
        mask = 255;
        input += 1;
        if op < 32 {
            // SAFETY: the input has SHORT_INPUT - 1 = 32 bytes after the operation's first, the output more than 32.
            // They are different allocations, one borrowed mutably.
            unsafe {
                let (low, high) = (overcopy::load16(from.add(input)), overcopy::load16(from.add(input + 16)));
                overcopy::store16(dst.as_mut_ptr().add(output), low);
                overcopy::store16(dst.as_mut_ptr().add(output + 16), high);
            }
            done = Cursor { input: input + op + 1, output: output + op + 1 };
            continue;
        }
        let mut len = op >> 5;
        if len == CONTINUED {
            loop {
                let Some(&more) = src.get(input) else { return done };
                input += 1;
                len += usize::from(more);
                if more != 255 {
                    break;
                }
                // Stop before the sum overflows.
                if len > dst.len() {
                    return done;
                }
            }
        }
        len += LENGTH_BIAS;
        // The low distance byte, two bytes of a far distance, and the operation that must follow.
        if src.len() - input < 4 {
            return done;
        }
        // SAFETY: four bytes are left, by the check above.
        let mut distance = (op & 31) << 8 | usize::from(unsafe { *from.add(input) });
        input += 1;
        if distance == FAR_DISTANCE {
            // SAFETY: three bytes are left.
            let far = unsafe { u16::from_be(from.add(input).cast::<u16>().read_unaligned()) };
            distance += usize::from(far);
            input += 2;
        }
        if distance >= output {
            return done;
        }
        let distance = distance + 1;
        if op >> 5 != CONTINUED {
            // SAFETY: distance <= output, so the bytes before are inside the output. At least SHORT_OUTPUT bytes are
            // left of it, and len <= 8. The machine is an `M` by contract.
            unsafe { overcopy::repeat_short::<M>(dst.as_mut_ptr().add(output), distance, len) };
        } else if len <= dst.len() - output {
            // SAFETY: as above, and the match ends inside the output.
            unsafe { overcopy::repeat_inside::<M>(dst, output, distance, len) };
        } else {
            return done;
        }
        done = Cursor { input, output: output + len };
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::testing::{Random, between_guards, damaged, data};

    fn both(src: &[u8], len: usize) -> Result<Vec<u8>, String> {
        let mut slow = vec![0x5A; len];
        let (fast_result, fast) = between_guards(src, len, decompress);
        let fast_result = fast_result.map_err(|e| e.to_string());
        let start = Cursor { input: 0, output: 0 };
        let slow_result = decode_checked::<false>(src, &mut slow, start).map_err(|e| e.to_string());
        assert_eq!(fast_result, slow_result);
        if fast_result.is_ok() {
            assert_eq!(fast, slow);
            for end in [0, 1, len / 3, len / 2, len.saturating_sub(40), len.saturating_sub(1)] {
                let end = end.min(len);
                let (result, prefix) = between_guards(src, end, decompress_prefix);
                assert_eq!(result.map_err(|e| e.to_string()), Ok(end));
                assert_eq!(prefix, slow[..end]);
            }
        }
        fast_result.map(|_| fast)
    }

    #[test]
    fn hand_made_streams() {
        assert_eq!(both(&[0x20, b'x'], 1).unwrap(), b"x");
        // Two literals, a match of 4 at distance 2, one literal.
        assert_eq!(both(&[0x21, b'a', b'b', 0x40, 1, 0, b'c'], 7).unwrap(), b"abababc");
        // A continued length: 7 + 255 + 3 + 2.
        let mut expected = vec![b'a'; 268];
        expected.push(b'z');
        assert_eq!(both(&[0x20, b'a', 0xE0, 255, 3, 0, 0, b'z'], 269).unwrap(), expected);
    }

    #[test]
    fn damaged_streams() {
        let mut random = Random(17);
        for len in [66, 100, 300, 1000] {
            for (_, src) in data(len) {
                let mut stream = vec![0; 2 * len + 66];
                let Some(written) = super::super::encode::Encoder::new().compress(9, &src, &mut stream) else {
                    continue;
                };
                stream.truncate(written);
                for _ in 0..200 {
                    let _ = both(&damaged(&mut random, &stream), len);
                }
                assert!(both(&stream, len).is_ok_and(|back| back == src));
            }
        }
    }

    #[test]
    fn errors() {
        for (src, len, what) in [
            (&[][..], 1, "stream decodes to 0 bytes, expected 1"),
            (&[0x20], 1, "stream damaged at byte 1: literals extend past the stream"),
            (&[0x21, b'a', b'b'], 1, "stream decodes to 2 bytes, expected 1"),
            (&[0x20, b'a', 0x40, 0], 5, "stream damaged at byte 3: the stream ends in a match"),
            (&[0x20, b'a', 0x40], 5, "stream damaged at byte 2: the stream ends in a match"),
            (&[0x20, b'a', 0x40, 1, 0, b'c'], 6, "stream damaged at byte 2: distance reaches before the first byte"),
            (&[0x20, b'a', 0x5F, 255, 0, 0], 6, "stream damaged at byte 5: the stream ends in a match"),
            (&[0x20, b'a', 0xE0, 255, 255], 9, "stream decodes to 265 bytes, expected 9"),
            (&[0x20, b'a', 0xE0, 255, 255], 900, "stream damaged at byte 4: the stream ends in a match"),
        ] {
            assert_eq!(both(src, len).unwrap_err(), what, "{src:?}");
        }
    }
}
