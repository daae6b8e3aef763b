//! The LZ4 block decoder.
//!
//! Source: LZ4 block format. A block is a series of sequences: a token (high nibble: number of literals, low nibble:
//! match length less 4; 15 in either is continued by bytes that are added up to and including one that is not 255),
//! the literals, a 16-bit little-endian distance, 1 or more. The last sequence ends after its literals.
//!
//! Two decoders share this grammar: [`decode_checked`] checks every step and decodes anything; [`decode_fast`] decodes
//! the sequences that are far enough from the ends of both buffers to copy whole registers, and leaves the rest, and
//! everything that looks wrong, to the checked one.

use oxiblosc_core::codec::CodecError;

use crate::codecs::overcopy::{self, Portable, RepeatKernel, SLACK};

/// "The minimum match length is 4": what a match length of 0 in the token stands for.
const MIN_MATCH: usize = 4;

/// The value of a nibble whose length continues in the following bytes.
const CONTINUED: usize = 15;

/// The position of a decoder, always between two sequences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cursor {
    /// Bytes of the block consumed.
    input: usize,
    /// Bytes produced.
    output: usize,
}

/// Decodes the LZ4 block `src` into all of `dst`. Matches may reach back into `dict`, which logically precedes `dst`.
pub(super) fn decompress(src: &[u8], dst: &mut [u8], dict: &[u8]) -> Result<usize, CodecError> {
    decompress_with::<false>(decode_fast, src, dst, dict)
}

/// [`decompress`] of as much as fits `dst`. What comes after that is not looked at.
pub(super) fn decompress_prefix(src: &[u8], dst: &mut [u8], dict: &[u8]) -> Result<usize, CodecError> {
    decompress_with::<true>(decode_fast, src, dst, dict)
}

fn decompress_with<const PREFIX: bool>(
    fast: impl Fn(&[u8], &mut [u8], Cursor) -> Cursor,
    src: &[u8],
    dst: &mut [u8],
    dict: &[u8],
) -> Result<usize, CodecError> {
    let mut position = Cursor::default();
    loop {
        position = fast(src, dst, position);
        match decode_checked::<PREFIX>(src, dst, dict, position)? {
            Progress::Done => return Ok(dst.len()),
            Progress::At(next) => position = next,
        }
    }
}

/// How far the checked decoder has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// To the end.
    Done,
    /// Past a match in the dictionary or a [`LONG`] length, which the fast decoder does not handle.
    At(Cursor),
}

fn corrupt(offset: usize, reason: &'static str) -> CodecError {
    CodecError::Corrupt { offset, reason }
}

/// The length that begins in a nibble and, if it is continued, ends in the bytes from `input` on, which it consumes.
fn length(src: &[u8], input: &mut usize, nibble: u8) -> Result<usize, CodecError> {
    let nibble = usize::from(nibble);
    if nibble != CONTINUED {
        return Ok(nibble);
    }
    let rest = &src[*input..];
    let eights = rest.chunks_exact(8).take_while(|&eight| eight == [255; 8]).count();
    let full = 8 * eights + rest[8 * eights..].iter().take_while(|&&byte| byte == 255).count();
    // Where a `usize` has 32 bits, sums with a longer one could overflow. No block can be so long.
    let last = rest.get(full).filter(|_| full <= usize::MAX / 512);
    let last = last.ok_or_else(|| corrupt(src.len(), "the block ends within a length"))?;
    *input += full + 1;
    Ok(CONTINUED + 255 * full + usize::from(*last))
}

/// Decodes from `at` to the end of the block, or to the end of the next sequence that has a [`LONG`] length or begins in
/// the dictionary, and checks everything. A `PREFIX` ends where `dst` does.
fn decode_checked<const PREFIX: bool>(
    src: &[u8],
    dst: &mut [u8],
    dict: &[u8],
    at: Cursor,
) -> Result<Progress, CodecError> {
    let Cursor { mut input, mut output } = at;
    let expected = dst.len();
    loop {
        if PREFIX && output == expected {
            return Ok(Progress::Done);
        }
        let token = *src.get(input).ok_or_else(|| corrupt(input, "the block ends without a last literal run"))?;
        input += 1;

        let mut len = length(src, &mut input, token >> 4)?;
        let long_literals = len >= LONG;
        if len > expected - output {
            if !PREFIX {
                return Err(CodecError::Length { expected, found: output + len });
            }
            len = expected - output;
        }
        let literals = src.get(input..input + len).ok_or_else(|| corrupt(input, "literals extend past the block"))?;
        dst[output..output + len].copy_from_slice(literals);
        input += len;
        output += len;
        if PREFIX && output == expected {
            return Ok(Progress::Done);
        }
        if input == src.len() {
            break;
        }

        let Some(&[low, high]) = src.get(input..input + 2) else {
            return Err(corrupt(input, "the block ends within a distance"));
        };
        let distance = usize::from(u16::from_le_bytes([low, high]));
        if distance == 0 || distance > output + dict.len() {
            return Err(corrupt(input, "distance is 0 or reaches before the first byte"));
        }
        input += 2;

        let mut len = length(src, &mut input, token & 15)? + MIN_MATCH;
        let long = long_literals || len >= LONG;
        if len > expected - output {
            if !PREFIX {
                return Err(CodecError::Length { expected, found: output + len });
            }
            len = expected - output;
        }
        let in_dict = distance > output;
        if in_dict {
            // The match begins in the dictionary and, if it is long enough, continues at the start of the output.
            let start = dict.len() - (distance - output);
            let from_dict = len.min(dict.len() - start);
            dst[output..output + from_dict].copy_from_slice(&dict[start..start + from_dict]);
            output += from_dict;
            len -= from_dict;
        }
        if len > 0 {
            overcopy::repeat_exact(dst, output, distance, len);
        }
        output += len;
        if in_dict || long {
            return Ok(Progress::At(Cursor { input, output }));
        }
    }
    if output == expected { Ok(Progress::Done) } else { Err(CodecError::Length { expected, found: output }) }
}

/// Output room that a sequence without continued lengths needs: 14 literals, a match of 18 and the slack of its copy.
const SHORT_OUTPUT: usize = 14 + 18 + SLACK;

/// Input bytes that such a sequence needs: the token, 16 bytes read for the literals, and the distance after 14 of
/// them.
const SHORT_INPUT: usize = 1 + 16 + 2;

/// Runs of literals are copied in steps of so many bytes. A call of `memcpy` takes longer for a few hundred bytes: it
/// branches on the length, which is hard to predict.
const LITERAL_STEP: usize = 64;

const _: () = assert!(SHORT_OUTPUT >= LITERAL_STEP);

/// The fast decoder leaves lengths from here on to the checked one, for which they take no longer. (To count and copy them
/// fast takes calls, which would take registers away from the loop for what is short.)
const LONG: usize = 16 * 255;

/// A match nearer than this does not consist of the bytes that copies of 8 bytes at a time find before it.
const NEAR: usize = 8;

/// Code that does not expect near matches tolerates one in this many bytes of input: if they are more frequent and
/// without a pattern, mispredicted branches cost more than doing without the branch.
const NEAR_INTERVAL: usize = 64;

/// This many near matches may occur in a burst.
const NEAR_BURST: usize = 16;

/// After such a burst, near matches are expected for this many bytes of output.
const NEAR_STRETCH: usize = 16 << 10;

/// Decodes sequences from `at` on as long as both buffers have room for copies that overshoot, and returns where it
/// stopped. The output before that position is what [`decode_checked`] would have produced; the output after it is
/// unspecified.
///
/// Two things limit the speed on short sequences: the next token cannot be read before the literals of this one have been
/// counted, and a match cannot be read before the stores of the bytes it repeats have left the processor, unless each
/// load lies within one of them. So few steps lie between tokens, and matches are copied in pieces of 8 bytes.
fn decode_fast(src: &[u8], dst: &mut [u8], at: Cursor) -> Cursor {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was just found.
        return unsafe { decode_fast_avx2(src, dst, at) };
    }
    // SAFETY: `Portable` needs no instructions of its own.
    unsafe { decode_fast_on::<Portable>(src, dst, at) }
}

/// [`decode_fast`] with a byte permutation, and 32-byte moves where the compiler finds a use for them.
///
/// # Safety
/// The machine has AVX2, and thus SSSE3.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn decode_fast_avx2(src: &[u8], dst: &mut [u8], at: Cursor) -> Cursor {
    // SAFETY: AVX2 implies SSSE3.
    unsafe { decode_fast_on::<overcopy::Ssse3>(src, dst, at) }
}

/// # Safety
/// The machine is an `M`.
#[inline(always)]
unsafe fn decode_fast_on<M: RepeatKernel>(src: &[u8], dst: &mut [u8], mut at: Cursor) -> Cursor {
    let Some(end) = dst.len().checked_sub(SHORT_OUTPUT) else { return at };
    loop {
        // SAFETY: the machine is an `M` by contract, and no output goes past `end`.
        unsafe {
            at = sequences::<M, false>(src, dst, at, end);
            let next = sequences::<M, true>(src, dst, at, end.min(at.output + NEAR_STRETCH));
            if next == at {
                return at;
            }
            at = next;
        }
    }
}

/// Decodes sequences from `at` on, up to the first that begins after `until` in the output, is too near the end of a
/// buffer, or looks wrong. Also stops where near matches become frequent, unless they are `EXPECTED`.
///
/// # Safety
/// The machine is an `M`, and `until + SHORT_OUTPUT <= dst.len()`.
#[inline(always)]
unsafe fn sequences<M: RepeatKernel, const EXPECTED: bool>(
    src: &[u8],
    dst: &mut [u8],
    at: Cursor,
    until: usize,
) -> Cursor {
    let mut done = at;
    let Some(input_end) = src.len().checked_sub(SHORT_INPUT) else { return done };
    let from = src.as_ptr();
    // Each near match advances this by an interval, and it never falls behind the input.
    let mut near = at.input;
    loop {
        let Cursor { input, mut output } = done;
        if input > input_end || output > until {
            return done;
        }
        // SAFETY: input <= src.len() - SHORT_INPUT.
        let token = unsafe { *from.add(input) };
        // Where the next token would be if there were no literals. To add these is then the only step from their number
        // to the next token.
        let mut next = overcopy::early(input + 1 + 2);

        // The literals begin at `input + 1`, however many bytes it takes to say how many they are.
        let mut len = usize::from(token >> 4);
        if overcopy::likely(len != CONTINUED) {
            // SAFETY: 16 bytes are left of the input after the token, and more than 16 of the output, by the check
            // at the top of the loop. At most 14 of them are kept.
            unsafe { overcopy::store16(dst.as_mut_ptr().add(output), overcopy::load16(from.add(input + 1))) };
        } else {
            let Some((more, begin)) = continuation(src, input + 1) else { return done };
            len += more;
            // After the literals there must be as much room as after the literals of a short sequence.
            if src.len() - begin < len + LITERAL_STEP || dst.len() - output < len + SHORT_OUTPUT {
                return done;
            }
            next = begin + 2;
            // SAFETY: both buffers hold `len + LITERAL_STEP` bytes from here, by the check above, and a step begins before
            // `len`; they are different allocations, one borrowed mutably.
            unsafe {
                let (from, to) = (from.add(begin), dst.as_mut_ptr().add(output));
                let mut done = 0;
                while done < len {
                    overcopy::copy(from.add(done), to.add(done), LITERAL_STEP);
                    done += LITERAL_STEP;
                }
            }
        }
        output += len;

        next += len;
        // SAFETY: a short run leaves at least SHORT_INPUT - 1 - 14 = 4 bytes of the input, another one LITERAL_STEP.
        let distance = unsafe { u16::from_le(from.add(next - 2).cast::<u16>().read_unaligned()) };
        let distance = usize::from(distance);
        if distance.wrapping_sub(1) >= output {
            return done;
        }
        let mut len = usize::from(token & 15);
        if overcopy::likely(len != CONTINUED) {
            len += MIN_MATCH;
            // SAFETY: 1 <= distance <= output, so the bytes before are inside the output. At least SHORT_OUTPUT - 14 =
            // 18 + SLACK bytes are left of it. The machine is an `M` by contract.
            unsafe {
                let to = dst.as_mut_ptr().add(output);
                if !EXPECTED && overcopy::likely(distance >= NEAR) {
                    overcopy::repeat18(to, distance);
                } else {
                    overcopy::repeat_short::<M>(to, distance, len);
                    near = near.max(next) + NEAR_INTERVAL;
                    if !EXPECTED && near > next + NEAR_BURST * NEAR_INTERVAL {
                        return Cursor { input: next, output: output + len };
                    }
                }
            }
        } else {
            let Some((more, end)) = continuation(src, next) else { return done };
            (len, next) = (len + more + MIN_MATCH, end);
            if dst.len() - output < len + SLACK {
                return done;
            }
            // SAFETY: 1 <= distance <= output, and the match ends SLACK bytes before the end of the output, or earlier.
            // The machine is an `M` by contract.
            unsafe { overcopy::repeat::<M>(dst.as_mut_ptr().add(output), distance, len) };
        }
        done = Cursor { input: next, output: output + len };
    }
}

/// Adds up the bytes from `input` on that continue a length, and returns where they end. `None` if they do not end, or
/// the length is a [`LONG`] one.
#[inline(always)]
fn continuation(src: &[u8], input: usize) -> Option<(usize, usize)> {
    let first = *src.get(input)?;
    // Usually there is no other. A separate branch for that is easier to predict than an iteration of the loop.
    if first != 255 {
        return Some((first.into(), input + 1));
    }
    let (mut len, mut input) = (255, input + 1);
    loop {
        let byte = *src.get(input)?;
        input += 1;
        len += usize::from(byte);
        if byte != 255 {
            return Some((len, input));
        }
        if len >= LONG {
            return None;
        }
    }
}

/// [`decompress`] on one kind of machine.
#[cfg(all(test, unix))]
pub(in crate::codecs) type Decoder = fn(&[u8], &mut [u8], &[u8]) -> Result<usize, CodecError>;

/// All decoders that this machine can run.
#[cfg(all(test, unix))]
pub(in crate::codecs) fn on_each_machine() -> Vec<(&'static str, Decoder)> {
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut machines: Vec<(_, Decoder)> = vec![("portable", |src, dst, dict| {
        // SAFETY: `Portable` needs no instructions of its own.
        decompress_with::<false>(|src, dst, at| unsafe { decode_fast_on::<Portable>(src, dst, at) }, src, dst, dict)
    })];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        machines.push(("avx2", |src, dst, dict| {
            // SAFETY: AVX2 was just found.
            decompress_with::<false>(|src, dst, at| unsafe { decode_fast_avx2(src, dst, at) }, src, dst, dict)
        }));
    }
    machines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::lz4::encode;
    use crate::codecs::testing::{Random, between_guards, damaged, data};

    /// Decodes with both decoders and checks that they agree, on errors too.
    fn both(src: &[u8], len: usize, dict: &[u8]) -> Result<Vec<u8>, String> {
        let mut slow = vec![0x5A; len];
        let (fast_result, fast) = between_guards(src, len, |src, dst| decompress(src, dst, dict));
        let fast_result = fast_result.map_err(|e| e.to_string());
        let mut progress = Ok(Progress::At(Cursor::default()));
        while let Ok(Progress::At(position)) = progress {
            progress = decode_checked::<false>(src, &mut slow, dict, position);
        }
        let slow_result = progress.map(|_| len).map_err(|e| e.to_string());
        assert_eq!(fast_result, slow_result);
        if fast_result.is_ok() {
            assert_eq!(fast, slow);
            for end in [0, 1, len / 3, len / 2, len.saturating_sub(40), len.saturating_sub(1)] {
                let end = end.min(len);
                let (result, prefix) = between_guards(src, end, |src, dst| decompress_prefix(src, dst, dict));
                assert_eq!(result.map_err(|e| e.to_string()), Ok(end));
                assert_eq!(prefix, slow[..end]);
            }
        }
        fast_result.map(|_| fast)
    }

    #[test]
    fn hand_made_blocks() {
        assert_eq!(both(&[0x10, b'x'], 1, &[]).unwrap(), b"x");
        // One literal, a run of 11 and five last literals.
        assert_eq!(
            both(&[0x17, b'a', 1, 0, 0x50, b'v', b'w', b'x', b'y', b'z'], 17, &[]).unwrap(),
            b"aaaaaaaaaaaavwxyz"
        );
        // A match that begins in the dictionary and goes on in the output.
        assert_eq!(both(&[0x14, b'!', 4, 0, 0x10, b'.'], 10, b"abc").unwrap(), b"!abc!abc!.");
    }

    /// Blocks of random sequences, alternately with many near matches and with few. What they decode to is made from the
    /// sequences, byte by byte.
    #[test]
    fn near_and_far() {
        let mut random = Random(9);
        for _ in 0..20 {
            let (mut block, mut expected) = (Vec::new(), Vec::new());
            for turn in 0..4 {
                for _ in 0..4000 {
                    let literals = match random.below(1000) {
                        0 => LONG - 1 + random.below(1000),
                        1..120 => 1 + random.below(700),
                        _ => random.below(15).max(usize::from(expected.is_empty())),
                    };
                    let matched = match random.below(1000) {
                        0 => LONG - 1 + random.below(1000),
                        1..120 => random.below(700),
                        _ => random.below(15),
                    };
                    block.push((literals.min(CONTINUED) << 4 | matched.min(CONTINUED)) as u8);
                    continued_length(&mut block, literals);
                    expected.extend((0..literals).map(|_| random.below(256) as u8));
                    block.extend_from_slice(&expected[expected.len() - literals..]);
                    let reach = if turn % 2 == 0 || random.below(100) == 0 { 40 } else { 65_535 };
                    let distance = 1 + random.below(expected.len().min(reach));
                    block.extend((distance as u16).to_le_bytes());
                    continued_length(&mut block, matched);
                    (0..matched + MIN_MATCH).for_each(|_| expected.push(expected[expected.len() - distance]));
                }
            }
            block.extend([0x10, b'.']);
            expected.push(b'.');
            assert!(both(&block, expected.len(), &[]).unwrap() == expected);
        }
    }

    /// Writes what continues a length that starts in a nibble.
    fn continued_length(block: &mut Vec<u8>, len: usize) {
        if let Some(rest) = len.checked_sub(CONTINUED) {
            block.extend(std::iter::repeat_n(255, rest / 255));
            block.push((rest % 255) as u8);
        }
    }

    #[test]
    fn damaged_blocks() {
        let mut random = Random(13);
        for len in [20, 64, 100, 300, 1000] {
            for (_, src) in data(len) {
                let mut block = vec![0; 2 * len + 16];
                let effort = encode::Effort { acceleration: 1, filtered: false };
                let written = encode::FastEncoder::new().compress(&src, &[], &mut block, effort);
                block.truncate(written.expect("there is room"));
                for _ in 0..200 {
                    let _ = both(&damaged(&mut random, &block), len, &[]);
                }
                assert!(both(&block, len, &[]).is_ok_and(|back| back == src));
            }
        }
    }

    #[test]
    fn errors() {
        for (src, len, what) in [
            (&[][..], 1, "stream damaged at byte 0: the block ends without a last literal run"),
            (&[0x20, b'x'], 2, "stream damaged at byte 1: literals extend past the block"),
            (&[0xF0, 255], 600, "stream damaged at byte 2: the block ends within a length"),
            (&[0x10, b'x', 1], 9, "stream damaged at byte 2: the block ends within a distance"),
            (&[0x10, b'x', 0, 0], 9, "stream damaged at byte 2: distance is 0 or reaches before the first byte"),
            (&[0x10, b'x', 2, 0], 9, "stream damaged at byte 2: distance is 0 or reaches before the first byte"),
            (&[0x10, b'x', 1, 0], 5, "stream damaged at byte 4: the block ends without a last literal run"),
            (&[0x10, b'x', 1, 0, 0], 4, "stream decodes to 5 bytes, expected 4"),
            (&[0x10, b'x', 1, 0, 0], 6, "stream decodes to 5 bytes, expected 6"),
            (&[0x30, b'x', b'y', b'z'], 2, "stream decodes to 3 bytes, expected 2"),
        ] {
            assert_eq!(both(src, len, &[]).unwrap_err(), what);
        }
    }
}
