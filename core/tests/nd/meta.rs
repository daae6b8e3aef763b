//! The b2nd metalayer.

use oxiblosc_core::nd::{ArrayMeta, FrameSizes, Geometry, NdError};
use proptest::prelude::*;

use crate::array::config;

fn geometry(shape: &[u64], chunk: &[u32], block: &[u32]) -> Geometry {
    Geometry { shape: shape.to_vec(), chunk_shape: chunk.to_vec(), block_shape: block.to_vec() }
}

/// What python-blosc2 wrote for `[[1, 2, 3], [4, 5, 6]]` of `<i2`.
const PYTHON: [u8; 53] = [
    0x97, 0x00, 0x02, 0x92, 0xd3, 0, 0, 0, 0, 0, 0, 0, 2, 0xd3, 0, 0, 0, 0, 0, 0, 0, 3, 0x92, 0xd2, 0, 0, 0, 2, 0xd2,
    0, 0, 0, 2, 0x92, 0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2, 0x00, 0xdb, 0, 0, 0, 3, b'<', b'i', b'2',
];

#[test]
fn the_bytes_are_those_of_c_blosc2() {
    let meta = ArrayMeta::new(geometry(&[2, 3], &[2, 2], &[1, 2]), "<i2");
    assert_eq!(ArrayMeta::parse(&PYTHON).unwrap(), meta);
    assert_eq!(meta.to_bytes().unwrap(), PYTHON);
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn what_is_written_is_read(
        axes in prop::collection::vec((0..=i64::MAX as u64, 0..=i32::MAX as u32, 0..=i32::MAX as u32), 0..=16),
        (version, dtype_format) in (0..=127_u8, 0..=127_u8),
        dtype in prop::option::of("\\PC{0,20}"),
    ) {
        let geometry = Geometry {
            shape: axes.iter().map(|a| a.0).collect(),
            chunk_shape: axes.iter().map(|a| a.1).collect(),
            block_shape: axes.iter().map(|a| a.2).collect(),
        };
        let dtype_format = if dtype.is_some() { dtype_format } else { 0 };
        let meta = ArrayMeta { version, geometry, dtype_format, dtype };
        let bytes = meta.to_bytes().unwrap();
        prop_assert_eq!(&ArrayMeta::parse(&bytes).unwrap(), &meta);
        // The first byte says how many elements there are.
        prop_assert_eq!(bytes[0], if meta.dtype.is_some() { 0x97 } else { 0x95 });

        // Every cut is noticed, but for the one that leaves out the dtype as a whole.
        let without = ArrayMeta { dtype: None, ..meta.clone() }.to_bytes().unwrap().len();
        for cut in 0..bytes.len() {
            let parsed = ArrayMeta::parse(&bytes[..cut]);
            prop_assert_eq!(parsed.is_ok(), cut == without, "cut at {} of {}", cut, bytes.len());
        }
        // What follows is ignored, as C-Blosc2 does.
        if meta.dtype.is_some() {
            let longer = [&bytes[..], b"more"].concat();
            prop_assert_eq!(ArrayMeta::parse(&longer).unwrap(), meta);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200), ndim in 0..20_u8) {
        let _ = ArrayMeta::parse(&bytes);
        if let Some(byte) = bytes.get_mut(2) {
            *byte = ndim;
        }
        if let Ok(meta) = ArrayMeta::parse(&bytes) {
            let sizes = FrameSizes { typesize: 1, chunksize: 1, blocksize: 1, nchunks: 1 };
            let _ = meta.tiling(&sizes);
            let _ = meta.dtype_item_size();
        }
    }
}

#[test]
fn markers_are_not_looked_at() {
    let mut bytes = PYTHON;
    for at in [0, 3, 4, 13, 22, 23, 28, 33, 34, 39] {
        bytes[at] = 0x55;
    }
    assert_eq!(ArrayMeta::parse(&bytes).unwrap().geometry, geometry(&[2, 3], &[2, 2], &[1, 2]));
    // With 16 dimensions the array markers are 0x90 + 16, which is no msgpack array.
    let wide = ArrayMeta::new(geometry(&[1; 16], &[1; 16], &[1; 16]), "|u1");
    let bytes = wide.to_bytes().unwrap();
    assert_eq!(bytes[3], 0xa0);
    assert_eq!(ArrayMeta::parse(&bytes).unwrap(), wide);
}

#[test]
fn damage_is_named() {
    let parse = |at: usize, byte: u8| {
        let mut bytes = PYTHON;
        bytes[at] = byte;
        ArrayMeta::parse(&bytes).unwrap_err()
    };
    assert_eq!(parse(2, 17), NdError::TooManyDims { limit: 16, found: 17 });
    assert_eq!(parse(2, 0xff), NdError::TooManyDims { limit: 16, found: 255 });
    assert!(matches!(parse(5, 0x80), NdError::Extent { what: "the shape", axis: 0, .. }));
    assert!(matches!(parse(29, 0x80), NdError::Extent { what: "the chunk shape", axis: 1, .. }));
    assert!(matches!(parse(35, 0x80), NdError::Extent { what: "the block shape", axis: 0, .. }));
    assert_eq!(parse(45, 0xd9), NdError::Marker { what: "the dtype", offset: 45, expected: 0xdb, found: 0xd9 });
    assert_eq!(parse(49, 4), NdError::Truncated { what: "the dtype", offset: 50, expected: 4, found: 3 });
    assert_eq!(parse(46, 0xff), NdError::Truncated { what: "the dtype", offset: 50, expected: 0xff00_0003, found: 3 });
    assert_eq!(parse(51, 0xff), NdError::DtypeText { offset: 51 });
    // More dimensions than there are bytes for.
    assert!(matches!(parse(2, 3), NdError::Truncated { .. } | NdError::Extent { .. } | NdError::Marker { .. }));
}

#[test]
fn lengths_that_do_not_fit_are_not_written() {
    let fail = |geometry| ArrayMeta::new(geometry, "|u1").to_bytes().unwrap_err();
    assert!(matches!(fail(geometry(&[1 << 63], &[1], &[1])), NdError::TooLarge { .. }));
    assert!(matches!(fail(geometry(&[1], &[1 << 31], &[1])), NdError::TooLarge { .. }));
    assert!(matches!(fail(geometry(&[1], &[1], &[1 << 31])), NdError::TooLarge { .. }));
    assert!(matches!(fail(geometry(&[1; 17], &[1; 17], &[1; 17])), NdError::TooManyDims { .. }));
    assert!(matches!(fail(geometry(&[1], &[1, 1], &[1])), NdError::Rank { .. }));
}

#[test]
fn the_frame_must_agree() {
    let meta = ArrayMeta::new(geometry(&[10, 7], &[4, 5], &[3, 2]), "<i4");
    let good = FrameSizes { typesize: 4, chunksize: 144, blocksize: 24, nchunks: 6 };
    assert_eq!(meta.tiling(&good).unwrap().chunk_count(), 6);
    // Frames before February 2021 do not tell the block size.
    assert!(meta.tiling(&FrameSizes { blocksize: 0, ..good }).is_ok());
    for bad in [
        FrameSizes { typesize: 8, ..good },
        FrameSizes { typesize: 0, ..good },
        FrameSizes { typesize: 1, ..good },
        FrameSizes { chunksize: 80, ..good },
        FrameSizes { chunksize: 0, ..good },
        FrameSizes { chunksize: u64::MAX, ..good },
        FrameSizes { typesize: u64::MAX, ..good },
        FrameSizes { blocksize: 28, ..good },
        FrameSizes { nchunks: 5, ..good },
        FrameSizes { nchunks: 7, ..good },
        FrameSizes { nchunks: 0, ..good },
        FrameSizes { nchunks: u64::MAX, ..good },
    ] {
        assert!(matches!(meta.tiling(&bad), Err(NdError::Frame { .. })), "{bad:?}");
    }
    // Without a dtype the frame alone says how wide an item is.
    let untyped = ArrayMeta { dtype: None, ..meta.clone() };
    assert_eq!(untyped.tiling(&good).unwrap().item_size(), 4);
    assert!(untyped.tiling(&FrameSizes { typesize: 8, ..good }).is_err());
    assert_eq!(untyped.tiling(&FrameSizes { typesize: 0, ..good }), Err(NdError::ItemSize));
    assert!(matches!(untyped.tiling(&FrameSizes { typesize: u64::MAX, ..good }), Err(NdError::TooLarge { .. })));
    // So it does when the dtype is in another format, or not to be understood.
    assert!(ArrayMeta { dtype_format: 1, ..meta.clone() }.tiling(&good).is_ok());
    assert!(ArrayMeta { dtype: Some("float4_e2m1".into()), ..meta }.tiling(&good).is_ok());
}

#[test]
fn wide_items_may_have_type_size_1_in_the_frame() {
    let meta = ArrayMeta::new(geometry(&[10, 7], &[4, 5], &[3, 2]), "|S300");
    let python = FrameSizes { typesize: 1, chunksize: 10_800, blocksize: 1800, nchunks: 6 };
    assert_eq!(meta.tiling(&python).unwrap().item_size(), 300);
    assert_eq!(meta.tiling(&FrameSizes { typesize: 300, ..python }).unwrap().item_size(), 300);
    assert_eq!(ArrayMeta { dtype: None, ..meta.clone() }.tiling(&python).unwrap().item_size(), 300);
    // python-blosc2's `full` makes an array of one byte for each item and cannot read it either.
    assert!(meta.tiling(&FrameSizes { chunksize: 36, blocksize: 6, ..python }).is_err());
}

#[test]
fn frames_of_empty_arrays_have_no_chunk_size_yet() {
    for (chunk, block, bytes) in [(2, 1, 40), (0, 0, 0)] {
        let meta = ArrayMeta::new(geometry(&[0, 5], &[chunk, 5], &[block, 5]), "<i4");
        for chunksize in [0, bytes] {
            let sizes = FrameSizes { typesize: 4, chunksize, blocksize: 0, nchunks: 0 };
            assert_eq!(meta.tiling(&sizes).unwrap().chunk_count(), 0);
        }
        let sizes = FrameSizes { typesize: 4, chunksize: 41, blocksize: 0, nchunks: 0 };
        assert!(meta.tiling(&sizes).is_err());
    }
}
