//! Every built-in filter and codec keeps the promises that plugins of others are held to.

use oxiblosc_conformance::{CodecCheck, FilterCheck};
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::nd::Geometry;
use oxiblosc_core::{CodecId, FilterId, Registry};
// The facade links the plugins.
use oxiblosc as _;

fn filter(id: FilterId) -> FilterCheck<'static> {
    FilterCheck::new(Registry::linked().unwrap(), id)
}

fn codec(id: CodecId) -> CodecCheck<'static> {
    CodecCheck::new(Registry::linked().unwrap(), id)
}

fn geometry(chunk_shape: &[u32], block_shape: &[u32]) -> Geometry {
    let shape = chunk_shape.iter().map(|&n| u64::from(n) * 2 + 3).collect();
    Geometry { shape, chunk_shape: chunk_shape.to_vec(), block_shape: block_shape.to_vec() }
}

#[test]
fn shuffle() {
    filter(FilterId::SHUFFLE).run().unwrap().assert_passed();
}

#[test]
fn bitshuffle() {
    filter(FilterId::BITSHUFFLE).run().unwrap().assert_passed();
}

#[test]
fn delta() {
    filter(FilterId::DELTA).run().unwrap().assert_passed();
}

#[test]
fn bytedelta() {
    filter(FilterId::BYTEDELTA).metas(&[0, 1, 4, 7]).run().unwrap().assert_passed();
    filter(FilterId::BYTEDELTA_OLD).metas(&[0, 1, 4, 7]).decode_only().run().unwrap().assert_passed();
}

#[test]
fn trunc_prec() {
    // As many bits as the meta byte says are left of the mantissa, or so many fewer if it is negative.
    let check = filter(FilterId::TRUNC_PREC).typesizes(&[4, 8]);
    check.clone().metas(&[10, 23, 0xfc]).run().unwrap().assert_passed();
    let relative = |ctx: &BlockContext<'_>, src: &[u8], back: &[u8]| {
        let bound = 0.5f64.powi(ctx.meta.into());
        let (src, back) = (src.as_chunks::<8>().0, back.as_chunks::<8>().0);
        for (&src, &back) in src.iter().zip(back) {
            let (src, back) = (f64::from_le_bytes(src), f64::from_le_bytes(back));
            if src.is_normal() && (src - back).abs() > src.abs() * bound {
                return Err(format!("{back:e} instead of {src:e}"));
            }
        }
        Ok(())
    };
    check.typesizes(&[8]).metas(&[3, 10, 40]).tolerance(relative).run().unwrap().assert_passed();
}

#[test]
fn int_trunc() {
    filter(FilterId::INT_TRUNC).typesizes(&[1, 2, 4, 8]).metas(&[3, 0xfe]).run().unwrap().assert_passed();
}

#[test]
fn ndcell() {
    filter(FilterId::NDCELL).metas(&[1, 2, 4, 5]).run().unwrap().assert_passed();
    let wide = filter(FilterId::NDCELL).metas(&[2]).geometry(geometry(&[20, 30], &[8, 7]), 3);
    wide.geometry(geometry(&[4, 5, 6, 7], &[2, 3, 4, 3]), 16).run().unwrap().assert_passed();
}

#[test]
fn ndmean() {
    // What goes from -10 to 10 cannot be further from a mean than that.
    filter(FilterId::NDMEAN).metas(&[2, 4]).max_error(20.0).run().unwrap().assert_passed();
}

#[test]
fn blosclz() {
    codec(CodecId::BLOSCLZ).run().unwrap().assert_passed();
}

#[test]
fn lz4() {
    codec(CodecId::LZ4).run().unwrap().assert_passed();
}

#[test]
fn lz4hc() {
    codec(CodecId::LZ4HC).run().unwrap().assert_passed();
}

#[test]
fn zlib() {
    codec(CodecId::ZLIB).run().unwrap().assert_passed();
}

#[test]
fn zstd() {
    codec(CodecId::ZSTD).run().unwrap().assert_passed();
}

#[test]
fn snappy() {
    // A length, a literal, and a copy.
    let stream = b"\x0c\x0cabcd\x11\x04";
    codec(CodecId::SNAPPY).known(stream, b"abcdabcdabcd").run().unwrap().assert_passed();
}

#[test]
fn ndlz() {
    let check = codec(CodecId::NDLZ).metas(&[4, 8]);
    let check = check.geometry(geometry(&[40, 60], &[20, 30]), 1).geometry(geometry(&[64, 64], &[32, 17]), 1);
    check.run().unwrap().assert_passed();
}

#[test]
fn zfp_accuracy() {
    codec(CodecId::ZFP_ACCURACY).metas(&[-1i8 as u8]).max_error(0.1).run().unwrap().assert_passed();
    codec(CodecId::ZFP_ACCURACY).metas(&[-3i8 as u8, 0]).max_error(1.0).run().unwrap().assert_passed();
}

#[test]
fn zfp_precision() {
    codec(CodecId::ZFP_PRECISION).metas(&[20, 30]).run().unwrap().assert_passed();
}

#[test]
fn zfp_rate() {
    codec(CodecId::ZFP_RATE).metas(&[13, 50]).run().unwrap().assert_passed();
}

/// Every plugin is in one of the tests above.
#[test]
fn none_is_left_out() {
    let registry = Registry::linked().unwrap();
    assert_eq!(registry.filters().map(|e| e.info().id.0).collect::<Vec<_>>(), [1, 2, 3, 4, 32, 33, 34, 35, 36]);
    assert_eq!(registry.codecs().map(|e| e.info().id.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 32, 33, 34, 35]);
}
