//! The filters against their definitions, written down here a second time in the plainest way there is.

use std::collections::BTreeMap;

use oxiblosc_core::filter::{BitshuffleRule, BlockContext, FilterError};
use oxiblosc_core::nd::Geometry;
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
fn int_trunc_clears_low_bits() {
    for typesize in [1, 2, 4, 8] {
        check_truncation(FilterId::INT_TRUNC, typesize, 8 * typesize as i32);
    }
    for typesize in [3, 5, 16, 255] {
        let mut ctx = BlockContext::new(typesize);
        ctx.meta = 1;
        assert!(matches!(forward(FilterId::INT_TRUNC, &ctx, &[0; 64]), Err(FilterError::TypeSize { .. })));
    }
}

/// Differences within channels of `len / channels` bytes; in each of them they restart at every byte of `seams`.
fn bytedelta(channels: usize, src: &[u8], seam: impl Fn(usize) -> usize) -> Vec<u8> {
    let n = src.len() / channels;
    let mut out = src.to_vec();
    for i in 0..n * channels {
        let at = i % n;
        if at != 0 && at != seam(n) {
            out[i] = src[i].wrapping_sub(src[i - 1]);
        }
    }
    out
}

#[test]
fn bytedelta_is_the_difference_within_channels() {
    for len in LENGTHS {
        let src = noise(len, 10);
        for typesize in TYPESIZES {
            check(FilterId::BYTEDELTA, &BlockContext::new(typesize), &src, &bytedelta(typesize, &src, |_| 0));
            let mut ctx = BlockContext::new(1);
            ctx.meta = typesize as u8;
            check(FilterId::BYTEDELTA, &ctx, &src, &bytedelta(typesize, &src, |_| 0));
        }
        // The default number of channels is the true item size, also where the chunk header cannot hold it.
        let mut ctx = BlockContext::new(1);
        ctx.item_size = Some(300);
        check(FilterId::BYTEDELTA, &ctx, &src, &bytedelta(300, &src, |_| 0));
    }
}

#[test]
fn old_bytedelta_starts_anew_at_the_last_multiple_of_16() {
    for len in LENGTHS {
        let src = noise(len, 11);
        for typesize in TYPESIZES {
            let ctx = BlockContext::new(typesize);
            let stored = bytedelta(typesize, &src, |n| n / 16 * 16);
            assert!(backward(FilterId::BYTEDELTA_OLD, &ctx, &stored).unwrap() == src, "{len} bytes of {typesize}");
            assert!(forward(FilterId::BYTEDELTA_OLD, &ctx, &src).is_err());
        }
    }
}

#[test]
fn bytedelta_needs_a_number_of_channels() {
    let mut ctx = BlockContext::new(1);
    ctx.item_size = Some(0);
    for id in [FilterId::BYTEDELTA, FilterId::BYTEDELTA_OLD] {
        assert!(matches!(backward(id, &ctx, &[1; 64]), Err(FilterError::Meta { meta: 0, .. })));
    }
}

fn geometry(block_shape: &[u32]) -> Geometry {
    Geometry {
        shape: block_shape.iter().map(|e| u64::from(*e)).collect(),
        chunk_shape: block_shape.to_vec(),
        block_shape: block_shape.to_vec(),
    }
}

/// Number in the block of every item, cell by cell: all items are numbered, and sorted by the cell they are in and
/// then by their number.
fn cell_order(block_shape: &[u32], side: usize) -> Vec<Vec<usize>> {
    let mut cells = BTreeMap::<Vec<usize>, Vec<usize>>::new();
    for item in 0..block_shape.iter().product::<u32>() as usize {
        let mut rest = item;
        let mut cell: Vec<_> = block_shape
            .iter()
            .rev()
            .map(|extent| {
                let at = rest % *extent as usize;
                rest /= *extent as usize;
                at / side
            })
            .collect();
        cell.reverse();
        cells.entry(cell).or_default().push(item);
    }
    cells.into_values().collect()
}

#[test]
fn ndcell_stores_cell_by_cell() {
    for (block_shape, side) in [
        (&[8, 8][..], 4),
        (&[9, 7], 4),
        (&[3, 20], 4),
        (&[20, 3], 3),
        (&[40], 8),
        (&[40], 40),
        (&[1], 1),
        (&[], 1),
        (&[5, 4, 7], 3),
        (&[1, 300], 17),
        (&[2, 3, 2, 3, 2, 3, 2, 3], 2),
    ] {
        let geometry = geometry(block_shape);
        for item_size in [1, 2, 3, 8, 17, 300] {
            let order = cell_order(block_shape, side);
            let src = noise(order.iter().flatten().count() * item_size, 12);
            let expected: Vec<u8> =
                order.iter().flatten().flat_map(|item| src[item * item_size..][..item_size].to_vec()).collect();
            let mut ctx = BlockContext::new(if item_size > 255 { 1 } else { item_size });
            ctx.item_size = Some(item_size);
            ctx.meta = side as u8;
            ctx.nd = Some((&geometry).into());
            check(FilterId::NDCELL, &ctx, &src, &expected);
        }
    }
}

#[test]
fn ndmean_stores_the_mean_of_each_cell() {
    for (block_shape, side) in [
        (&[8, 8][..], 4),
        (&[9, 7], 4),
        (&[20, 3], 8),
        (&[40], 8),
        (&[40], 127),
        (&[5, 5, 5], 2),
        (&[17, 2, 9], 4),
        (&[3, 3], 8),
    ] {
        let geometry = geometry(block_shape);
        let order = cell_order(block_shape, side);
        let items = order.iter().flatten().count();
        let values: Vec<f32> = noise(items, 13).iter().map(|b| f32::from(*b) / 7.0).collect();
        let mut stored = Vec::new();
        let mut restored = vec![0.0; items];
        for cell in &order {
            let mut mean = 0.0;
            cell.iter().for_each(|item| mean += values[*item]);
            mean /= cell.len() as f32;
            stored.extend(std::iter::repeat_n(mean, cell.len()));
            cell.iter().for_each(|item| restored[*item] = mean);
        }
        let mut ctx = BlockContext::new(4);
        ctx.meta = side as u8;
        ctx.nd = Some((&geometry).into());
        let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        assert!(forward(FilterId::NDMEAN, &ctx, &bytes(&values)).unwrap() == bytes(&stored), "{block_shape:?}");
        assert!(backward(FilterId::NDMEAN, &ctx, &bytes(&stored)).unwrap() == bytes(&restored), "{block_shape:?}");

        // The same numbers as doubles; sums of 256ths of them are exact, so the order of the sum does not matter here.
        let values: Vec<f64> = noise(items, 14).iter().map(|b| f64::from(*b) / 256.0).collect();
        let src: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let expected: Vec<u8> = order
            .iter()
            .flat_map(|cell| {
                let mean = cell.iter().map(|item| values[*item]).sum::<f64>() / cell.len() as f64;
                mean.to_le_bytes().repeat(cell.len())
            })
            .collect();
        ctx.typesize = 8;
        ctx.item_size = Some(8);
        assert!(forward(FilterId::NDMEAN, &ctx, &src).unwrap() == expected, "{block_shape:?}");
    }
}

#[test]
fn cell_filters_refuse_blocks_that_do_not_fit() {
    for id in [FilterId::NDCELL, FilterId::NDMEAN] {
        let refuses = |ctx: &BlockContext<'_>, len: usize| {
            let (there, back) = (forward(id, ctx, &vec![1; len]), backward(id, ctx, &vec![1; len]));
            assert_eq!(there.is_err(), back.is_err());
            there.err()
        };
        let mut ctx = BlockContext::new(4);
        ctx.meta = 4;
        assert!(matches!(refuses(&ctx, 256), Some(FilterError::Geometry { .. })), "no geometry");
        for (block_shape, len) in [
            (&[8, 8][..], 255),
            (&[8, 8], 260),
            (&[8, 8], 0),
            (&[8, 0], 0),
            (&[0, 8], 256),
            (&[u32::MAX; 8], 256),
            (&[2; 9], 2048),
        ] {
            let geometry = geometry(block_shape);
            let mut ctx = ctx;
            ctx.nd = Some((&geometry).into());
            assert!(matches!(refuses(&ctx, len), Some(FilterError::Geometry { .. })), "{block_shape:?}, {len}");
        }
        let geometry = geometry(&[8, 8]);
        ctx.nd = Some((&geometry).into());
        assert!(refuses(&ctx, 256).is_none());
        ctx.meta = 0;
        assert!(matches!(refuses(&ctx, 256), Some(FilterError::Meta { meta: 0, .. })));
    }
    // A cell with more items than the block, which only ndmean cuts to size; a negative side; a wrong type.
    let geometry = geometry(&[8, 8]);
    let mut ctx = BlockContext::new(4);
    ctx.nd = Some((&geometry).into());
    ctx.meta = 9;
    assert!(matches!(forward(FilterId::NDCELL, &ctx, &[1; 256]), Err(FilterError::Meta { .. })));
    assert!(forward(FilterId::NDMEAN, &ctx, &[1; 256]).is_ok());
    ctx.meta = 0x80;
    assert!(matches!(forward(FilterId::NDMEAN, &ctx, &[1; 256]), Err(FilterError::Meta { .. })));
    ctx.meta = 4;
    ctx.typesize = 2;
    assert!(matches!(forward(FilterId::NDMEAN, &ctx, &[1; 128]), Err(FilterError::TypeSize { .. })));
}

#[test]
fn ndmean_refuses_what_c_blosc2_cannot_decode() {
    for (block_shape, side) in [(&[3, 20][..], 8), (&[2, 17, 9], 4)] {
        let geometry = geometry(block_shape);
        let mut ctx = BlockContext::new(4);
        ctx.nd = Some((&geometry).into());
        ctx.meta = side;
        let src = vec![0; 4 * block_shape.iter().product::<u32>() as usize];
        assert!(matches!(forward(FilterId::NDMEAN, &ctx, &src), Err(FilterError::Geometry { .. })));
        ctx.meta = block_shape[0] as u8;
        assert!(forward(FilterId::NDMEAN, &ctx, &src).is_ok());
    }
}

fn lz4(hex: &str, len: usize) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    let stream: Vec<u8> = hex.as_bytes().chunks_exact(2).map(|c| digit(c[0]) << 4 | digit(c[1])).collect();
    lz4_flex::block::decompress(&stream, len).unwrap()
}

/// Streams cut out of chunks that C-Blosc2 3.3.5 wrote.
#[test]
fn streams_of_c_blosc2() {
    let shuffle = FilterId::SHUFFLE;
    let ctx = BlockContext::new(4);

    // The numbers 0 to 39, bit shuffle.
    let numbers: Vec<u8> = (0..40u32).flat_map(u32::to_le_bytes).collect();
    let stored = lz4("10aa010010cc010010f00100ff0500ff00ff000000ffff0000000000ff0000000000050065500000000000", 160);
    check(FilterId::BITSHUFFLE, &ctx, &numbers, &stored);

    // 0, 3, .. 93 in two blocks, delta and then shuffle.
    let threes: Vec<u8> = (0..32u32).flat_map(|i| (3 * i).to_le_bytes()).collect();
    let (first, second) = threes.split_at(64);
    let stored = lz4("ff060003050f05031d070d03053f05030d070000000000050013500000000000", 64);
    check(FilterId::DELTA, &ctx, first, &backward(shuffle, &ctx, &stored).unwrap());
    let stored = lz4("1130010010500100107001001f00010017500000000000", 64);
    let mut later = ctx;
    later.reference = Some(first);
    check(FilterId::DELTA, &later, second, &backward(shuffle, &ctx, &stored).unwrap());

    // Ten f32, precision cut to 8 bits and shuffled.
    let floats: Vec<u8> = (0..10u8).flat_map(|i| (1.0 + f32::from(i) / 7.0).to_le_bytes()).collect();
    let mut eight_bits = ctx;
    eight_bits.meta = 8;
    let truncated = forward(FilterId::TRUNC_PREC, &eight_bits, &floats).unwrap();
    let stored = lz4("17000100f00d80800000800000008092a4b6c9dbed0009123f3f3f3f3f3f3f404040", 40);
    check(shuffle, &ctx, &truncated, &stored);

    // The u16 1000 to 1023, shuffle and then byte delta with two channels.
    let numbers: Vec<u8> = (1000..1024u16).flat_map(u16::to_le_bytes).collect();
    let shuffled = forward(shuffle, &BlockContext::new(2), &numbers).unwrap();
    let stored = [&[0xE8][..], &[1; 23], &[3], &[0; 23]].concat();
    let mut two_channels = ctx;
    two_channels.meta = 2;
    check(FilterId::BYTEDELTA, &two_channels, &shuffled, &stored);
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
