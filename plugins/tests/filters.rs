//! The filters against their definitions, written down here a second time in the plainest way there is.

use oxiblosc_core::filter::{BitshuffleRule, BlockContext, FilterError};
use oxiblosc_core::{FilterId, Registry};
use oxiblosc_plugins as _;

/// Lengths around everything that matters to a kernel: nothing, less than an item, vectors, strips, one less and one
/// more.
const LENGTHS: [usize; 22] =
    [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 1000, 4003, 8192, 30_001];
const TYPESIZES: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 24, 32, 255];

/// Bytes that look random but are the same in every run (splitmix64).
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    (0..len)
        .map(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z >> 56) as u8
        })
        .collect()
}

type Outcome = Result<Vec<u8>, FilterError>;

fn forward(id: FilterId, ctx: &BlockContext<'_>, src: &[u8]) -> Outcome {
    // Not zero: every byte of the output must be written.
    let mut dst = vec![0xA5; src.len()];
    Registry::linked().unwrap().filter(id).unwrap().instance().forward(ctx, src, &mut dst).map(|()| dst)
}

fn backward(id: FilterId, ctx: &BlockContext<'_>, src: &[u8]) -> Outcome {
    let mut dst = vec![0x5A; src.len()];
    Registry::linked().unwrap().filter(id).unwrap().instance().backward(ctx, src, &mut dst).map(|()| dst)
}

/// Checks the filter against `expected` and that it takes it back.
fn check(id: FilterId, ctx: &BlockContext<'_>, src: &[u8], expected: &[u8]) {
    let what = || format!("filter {id}, {} bytes, type size {}, meta {}", src.len(), ctx.typesize, ctx.meta);
    assert!(forward(id, ctx, src).unwrap() == expected, "forward: {}", what());
    assert!(backward(id, ctx, expected).unwrap() == src, "backward: {}", what());
}

fn shuffled(width: usize, src: &[u8]) -> Vec<u8> {
    let n = src.len() / width;
    let mut out = src.to_vec();
    for i in 0..n {
        for j in 0..width {
            out[j * n + i] = src[i * width + j];
        }
    }
    out
}

#[test]
fn shuffle_is_a_byte_transposition() {
    for len in LENGTHS {
        let src = noise(len, 1);
        for typesize in TYPESIZES {
            check(FilterId::SHUFFLE, &BlockContext::new(typesize), &src, &shuffled(typesize, &src));
        }
    }
}

#[test]
fn shuffle_takes_the_width_from_its_meta_byte() {
    let src = noise(1003, 2);
    for (typesize, meta) in [(4, 8), (8, 3), (1, 255), (255, 1)] {
        let mut ctx = BlockContext::new(typesize);
        ctx.meta = meta;
        check(FilterId::SHUFFLE, &ctx, &src, &shuffled(meta.into(), &src));
    }
}

fn bitshuffled(width: usize, src: &[u8]) -> Vec<u8> {
    let n = src.len() / width / 8 * 8;
    let bit = |byte: u8, k: usize| (byte >> k) & 1;
    let mut out = src.to_vec();
    for j in 0..width {
        for k in 0..8 {
            for g in 0..n / 8 {
                let bits = (0..8).map(|t| bit(src[(8 * g + t) * width + j], k) << t);
                out[(8 * j + k) * (n / 8) + g] = bits.sum();
            }
        }
    }
    out
}

#[test]
fn bitshuffle_is_a_bit_transposition_of_the_leading_eights() {
    for len in LENGTHS {
        let src = noise(len, 3);
        for typesize in TYPESIZES {
            check(FilterId::BITSHUFFLE, &BlockContext::new(typesize), &src, &bitshuffled(typesize, &src));
        }
    }
}

#[test]
fn bitshuffle_of_blosc_1_leaves_other_counts_alone() {
    for (len, typesize, transposed) in [
        (1024, 4, true),
        // 256 items and a tail of 3 bytes.
        (1027, 4, true),
        // 255 and 257 items.
        (1020, 4, false),
        (1028, 4, false),
        (7, 1, false),
        (8, 1, true),
        // Less than one item: zero items are a multiple of 8, and nothing is transposed either way.
        (3, 4, true),
    ] {
        let src = noise(len, 4);
        let mut ctx = BlockContext::new(typesize);
        ctx.bitshuffle = BitshuffleRule::WholeBlockOrNothing;
        let expected = if transposed { bitshuffled(typesize, &src) } else { src.clone() };
        check(FilterId::BITSHUFFLE, &ctx, &src, &expected);
    }
}

fn delta_word(typesize: usize) -> usize {
    match typesize {
        1 | 2 | 4 | 8 => typesize,
        16 | 24 | 32 => 8,
        _ => 1,
    }
}

#[test]
fn delta_of_the_first_block_is_the_xor_with_the_word_before() {
    for len in LENGTHS {
        let src = noise(len, 5);
        for typesize in TYPESIZES {
            let word = delta_word(typesize);
            let whole = len / word * word;
            let mut expected = src.clone();
            for i in word..whole {
                expected[i] = src[i] ^ src[i - word];
            }
            check(FilterId::DELTA, &BlockContext::new(typesize), &src, &expected);
        }
    }
}

#[test]
fn delta_of_later_blocks_is_the_xor_with_the_first_block() {
    let first = noise(30_001, 6);
    for len in LENGTHS {
        let src = noise(len, 7);
        for typesize in TYPESIZES {
            let word = delta_word(typesize);
            let whole = len / word * word;
            let mut expected = src.clone();
            for i in 0..whole {
                expected[i] = src[i] ^ first[i];
            }
            let mut ctx = BlockContext::new(typesize);
            ctx.reference = Some(&first);
            check(FilterId::DELTA, &ctx, &src, &expected);
        }
    }
}

#[test]
fn delta_refuses_a_reference_that_is_too_short() {
    let src = noise(100, 8);
    let mut ctx = BlockContext::new(4);
    ctx.reference = Some(&src[..99]);
    assert!(forward(FilterId::DELTA, &ctx, &src).is_err());
    assert!(backward(FilterId::DELTA, &ctx, &src).is_err());
}

/// The low `bits` of each whole word cleared.
fn cleared(word: usize, bits: i32, src: &[u8]) -> Vec<u8> {
    let mut out = src.to_vec();
    for item in out.chunks_exact_mut(word) {
        for bit in 0..bits as usize {
            item[bit / 8] &= !(1 << (bit % 8));
        }
    }
    out
}

/// Every meta byte: with `bits` of which `z` are cleared, valid for `z` in `0..bits`.
fn check_truncation(id: FilterId, typesize: usize, bits: i32) {
    for len in LENGTHS {
        let src = noise(len, 9);
        for meta in 0..=255u8 {
            let mut ctx = BlockContext::new(typesize);
            ctx.meta = meta;
            let asked = i32::from(meta as i8);
            let z = if asked >= 0 { bits - asked } else { -asked };
            match forward(id, &ctx, &src) {
                Ok(out) => {
                    assert!((0..bits).contains(&z), "filter {id}: meta {meta} should not be valid");
                    assert!(out == cleared(typesize, z, &src), "filter {id}, type size {typesize}, meta {meta}");
                    assert!(backward(id, &ctx, &out).unwrap() == out);
                }
                Err(FilterError::Meta { .. }) => {
                    assert!(!(0..bits).contains(&z), "filter {id}: meta {meta} should be valid");
                }
                Err(other) => panic!("filter {id}, meta {meta}: {other}"),
            }
        }
    }
}

#[test]
fn trunc_prec_clears_mantissa_bits() {
    check_truncation(FilterId::TRUNC_PREC, 4, 23);
    check_truncation(FilterId::TRUNC_PREC, 8, 52);
}

#[test]
fn trunc_prec_refuses_what_is_no_float() {
    for typesize in [1, 2, 3, 16, 255] {
        let mut ctx = BlockContext::new(typesize);
        ctx.meta = 10;
        assert!(matches!(forward(FilterId::TRUNC_PREC, &ctx, &[0; 64]), Err(FilterError::TypeSize { .. })));
        // Decoding changes nothing, so there is nothing to refuse.
        assert_eq!(backward(FilterId::TRUNC_PREC, &ctx, &[7; 64]).unwrap(), [7; 64]);
    }
}

#[test]
fn no_filter_divides_by_a_type_size_of_zero() {
    let ctx = BlockContext::new(0);
    for entry in Registry::linked().unwrap().filters() {
        // Whatever it answers, it must not panic.
        let _ = entry.instance().forward(&ctx, &[1; 64], &mut [0; 64]);
        let _ = entry.instance().backward(&ctx, &[1; 64], &mut [0; 64]);
    }
}
