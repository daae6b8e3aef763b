//! Compares every kernel of every level of this machine with its scalar twin.

use super::*;

/// Bytes around the block that no kernel may touch.
const GUARD: usize = 64;

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// All small lengths, and larger ones around the strips and slabs of the kernels: multiples of large powers of two, one
/// less, one more, and primes.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=300).chain([511, 512, 513, 1000, 1021, 2048, 4003, 8191, 8192, 8193, 12_289, 40_961])
}

fn widths() -> impl Iterator<Item = usize> {
    (1..=40).chain([47, 48, 63, 64, 65, 100, 127, 128, 200, 255])
}

/// Runs `kernel` on memory between guards, aligned in a way that depends on the length, and returns what it wrote.
fn run(len: usize, mut kernel: impl FnMut(&mut [u8])) -> Vec<u8> {
    let guard = GUARD + len % 67;
    let mut memory = vec![0xA5; guard + len + GUARD];
    kernel(&mut memory[guard..guard + len]);
    let (before, rest) = memory.split_at(guard);
    let (written, after) = rest.split_at(len);
    assert!(before.iter().chain(after).all(|b| *b == 0xA5), "a kernel wrote outside of its block");
    written.to_vec()
}

type Kernel = fn(Level, usize, &[u8], &mut [u8]);

/// The kernels of two slices with their inverses, and whether they need whole words.
#[cfg(unix)]
const KERNELS: [(&str, Kernel, bool); 8] = [
    ("shuffle", shuffle, false),
    ("unshuffle", unshuffle, false),
    ("bitshuffle", bitshuffle, false),
    ("bitunshuffle", bitunshuffle, false),
    ("xor with previous", xor_previous, true),
    ("running xor", xor_running, true),
    ("difference to previous", |level, _, src, dst| sub_previous(level, src, dst), false),
    ("running sum", |level, _, src, dst| add_running(level, src, dst), false),
];

/// Compares `kernel` on all levels with the scalar one, and checks that `inverse` takes it back.
fn compare(name: &str, widths: impl Iterator<Item = usize>, whole_words: bool, kernel: Kernel, inverse: Kernel) {
    let noise = noise(50_000);
    for width in widths {
        for len in lengths() {
            // In a separate allocation, so that a tool like Valgrind notices reads beyond it.
            let src = &noise[width..][..if whole_words { len - len % width } else { len }].to_vec()[..];
            compare_block(name, width, src, kernel, inverse);
        }
    }
}

/// See [`compare`].
fn compare_block(name: &str, width: usize, src: &[u8], kernel: Kernel, inverse: Kernel) {
    let len = src.len();
    let expected = run(len, |dst| kernel(Level::SCALAR, width, src, dst));
    let restored = run(len, |dst| inverse(Level::SCALAR, width, &expected, dst));
    assert!(restored == src, "{name}: scalar, width {width}, {len} bytes");
    for level in Level::available() {
        let there = run(len, |dst| kernel(level, width, src, dst));
        assert!(there == expected, "{name}: {level}, width {width}, {len} bytes");
        let back = run(len, |dst| inverse(level, width, &expected, dst));
        assert!(back == src, "inverse of {name}: {level}, width {width}, {len} bytes");
    }
}

#[test]
fn shuffle_twins() {
    compare("shuffle", widths(), false, shuffle, unshuffle);
}

#[test]
fn bitshuffle_twins() {
    compare("bitshuffle", widths(), false, bitshuffle, bitunshuffle);
}

/// Planes whose lines share places of a cache, for which kernels collect more at a time; and those next to them.
#[test]
fn twins_of_crowded_planes() {
    let noise = noise(64 * 8200);
    for width in (1..=17).chain([24, 32, 64]) {
        for items in [4088, 4096, 4104, 8192, 12_288, 32_760, 32_768, 32_776] {
            let Some(src) = noise.get(..items * width + 7.min(width - 1)) else { continue };
            compare_block("shuffle", width, src, shuffle, unshuffle);
            compare_block("bitshuffle", width, src, bitshuffle, bitunshuffle);
        }
    }
}

/// The strides at which planes crowd: powers of two, and what is a third of one.
#[test]
fn crowded_planes() {
    let crowds = [(16, 4096), (16, 8192), (32, 2048), (64, 1024), (96, 1365), (128, 512)];
    assert!(crowds.into_iter().all(|(planes, stride)| crowded(planes, stride)));
    let rooms = [(0, 0), (2, 1 << 20), (8, 4096), (12, 4096), (16, 2048), (16, 4160), (128, 64), (32, 3001)];
    assert!(rooms.into_iter().all(|(planes, stride)| !crowded(planes, stride)));
}

#[test]
fn running_xor_twins() {
    compare("xor with previous", [1, 2, 4, 8].into_iter(), true, xor_previous, xor_running);
}

#[test]
fn running_sum_twins() {
    let sub: Kernel = |level, _, src, dst| sub_previous(level, src, dst);
    let add: Kernel = |level, _, src, dst| add_running(level, src, dst);
    compare("difference to previous", [1, 7].into_iter(), false, sub, add);
}

#[test]
fn xor_twins() {
    let noise = noise(100_000);
    for len in lengths() {
        let (src, other) = (&noise[3..][..len], &noise[50_001..][..len]);
        let expected: Vec<u8> = src.iter().zip(other).map(|(a, b)| a ^ b).collect();
        assert!(run(len, |dst| xor(src, other, dst)) == expected, "xor: {len} bytes");
    }
}

#[test]
fn mask_twins() {
    let noise = noise(50_000);
    for width in [1, 2, 4, 8] {
        for len in lengths() {
            let src = &noise[5..][..len - len % width];
            for bits in [0, 1, 7, 8, 8 * width as u32 - 1] {
                let pattern = (u64::MAX << bits).to_le_bytes();
                let expected: Vec<u8> = src.iter().enumerate().map(|(i, b)| b & pattern[i % width]).collect();
                let out = run(src.len(), |dst| mask(width, u64::MAX << bits, src, dst));
                assert!(out == expected, "mask: width {width}, {bits} bits, {len} bytes");
            }
        }
    }
}

#[test]
fn the_best_level_is_the_last_one() {
    assert_eq!(Level::available().first(), Some(&Level::SCALAR));
    assert_eq!(Level::available().last(), Some(&Level::best()));
    assert_eq!(Level::best().to_string(), Level::best().name());
}

#[test]
fn slabs_cover_everything() {
    for len in 0..200 {
        for (size, least) in [(16, 16), (16, 8), (64, 16)] {
            for phase in 0..size {
                let mut covered = vec![false; len];
                for (first, count) in slabs(phase, len, size, least) {
                    assert!((least..=size).contains(&count));
                    covered[first..first + count].fill(true);
                }
                assert!(covered.iter().all(|c| *c == (len >= least)), "{len} in {size} or {least} from {phase} on");
            }
        }
    }
}

/// Widths that take different paths through the kernels; all of them in the exhaustive form.
#[cfg(unix)]
fn ways(kernel: &str, whole_words: bool) -> Vec<usize> {
    match kernel {
        "difference to previous" | "running sum" => vec![1],
        _ if whole_words => vec![1, 2, 4, 8],
        _ if crate::guard_pages::exhaustive() => widths().collect(),
        _ => vec![1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 40],
    }
}

/// All lengths up to 300, and those around which items of `width` bytes begin to fill vectors, strips and slabs.
#[cfg(unix)]
fn lengths_around(width: usize) -> impl Iterator<Item = usize> {
    let items = [16, 32, 64, 65, 128, 130, 512, 513].into_iter();
    (0..=300).chain(items.flat_map(move |n| [n * width - 1, n * width, n * width + 1, (n + 1) * width - 1]))
}

/// Every kernel at every level of this machine, with a guard page right before and right after its input and output,
/// gives what the scalar one gives.
#[cfg(unix)]
#[test]
fn between_guard_pages() {
    use crate::guard_pages::{GuardedPages, SlicePosition, gaps};

    let noise = noise(150_000);
    let (mut input, mut output) = (GuardedPages::new(140_000), GuardedPages::new(140_000));
    let mut runs = 0_u64;
    for (name, kernel, whole_words) in KERNELS {
        for width in ways(name, whole_words) {
            for len in lengths_around(width) {
                let src = &noise[width..][..if whole_words { len - len % width } else { len }];
                let mut expected = vec![0; src.len()];
                kernel(Level::SCALAR, width, src, &mut expected);
                for (from, to) in gaps(len).into_iter().flat_map(SlicePosition::pairs) {
                    let src = input.with(from, src);
                    for level in Level::available() {
                        let ((), found) = output.write(to, src.len(), |dst| kernel(level, width, src, dst));
                        assert!(found == expected, "{name}: {level}, width {width}, {len} bytes, {from:?} to {to:?}");
                        runs += 1;
                    }
                }
            }
        }
    }
    println!("{runs} runs of kernels between guard pages");
}

/// The same for the kernels that are the same at all levels.
#[cfg(unix)]
#[test]
fn words_between_guard_pages() {
    use crate::guard_pages::{GuardedPages, SlicePosition, gaps};

    let noise = noise(2000);
    let (mut input, mut second, mut output) =
        (GuardedPages::new(1000), GuardedPages::new(1000), GuardedPages::new(1000));
    let mut runs = 0_u64;
    for len in 0..=300 {
        let (src, other) = (&noise[3..][..len], &noise[1001..][..len]);
        let xored: Vec<u8> = src.iter().zip(other).map(|(a, b)| a ^ b).collect();
        for (from, to) in gaps(len).into_iter().flat_map(SlicePosition::pairs) {
            let src = input.with(from, src);
            let ((), found) = output.write(to, len, |dst| xor(src, second.with(from, other), dst));
            assert!(found == xored, "xor: {len} bytes, {from:?} to {to:?}");
            runs += 1;
            for width in [1, 2, 4, 8] {
                let whole = len - len % width;
                let pattern = 0xF0F1_F2F3_F4F5_F6F7_u64.to_le_bytes();
                let masked: Vec<u8> = src[..whole].iter().enumerate().map(|(i, b)| b & pattern[i % width]).collect();
                let src = second.with(from, &src[..whole]);
                let ((), found) = output.write(to, whole, |dst| mask(width, u64::from_le_bytes(pattern), src, dst));
                assert!(found == masked, "mask: width {width}, {len} bytes, {from:?} to {to:?}");
                runs += 1;
            }
        }
    }
    println!("{runs} runs of kernels between guard pages");
}
