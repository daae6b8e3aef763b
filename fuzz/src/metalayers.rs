//! What frames say about themselves: heads, metalayers, shapes, dtypes.

use bytes::Bytes;
use oxiblosc::frame::{FrameHeader, Metalayers, PartialHeader};
use oxiblosc::nd::{ArrayMeta, ItemPosition, item_size};

use crate::bound::Setup;
use crate::script::Script;

/// Reads `input` as the head of a frame, and as the content of an array's metalayer.
///
/// # Panics
/// When a value differs after it was written and read again.
pub(crate) fn check(input: &Bytes, setup: &Setup) {
    if let Ok(header) = FrameHeader::parse_unfinished(input) {
        let written = header.to_bytes();
        let back = FrameHeader::parse_unfinished(&written);
        // A filter more than a beta's six slots, say, is not kept.
        if let Ok(back) = back {
            assert_eq!((back.nbytes, back.cbytes, back.typesize), (header.nbytes, header.cbytes, header.typesize));
            assert_eq!((back.frame_len, back.header_len), (header.frame_len, header.header_len));
        } else {
            panic!("a header that was written does not parse: {header:?}");
        }
    }
    if let Ok(head) = PartialHeader::parse(input, &setup.limits) {
        names(&head.metalayers);
        if let Some(Ok(meta)) = ArrayMeta::find(&head.metalayers) {
            array(&meta);
        }
    }
    // An array's metalayer alone, in whatever is before the script.
    let (content, mut script) = Script::split(input);
    if let Ok(mut meta) = ArrayMeta::parse(content) {
        array(&meta);
        if script.byte() % 2 == 1 {
            meta.dtype = Some(String::from_utf8_lossy(content).into_owned());
            array(&meta);
        }
    }
    if let Ok(text) = std::str::from_utf8(content) {
        let _ = item_size(text);
    }
}

fn names(metalayers: &Metalayers) {
    assert_eq!(metalayers.iter().len(), metalayers.len());
    for (name, content) in metalayers.iter() {
        let lossless = !name.contains(char::REPLACEMENT_CHARACTER);
        let first = metalayers.get(&name);
        assert!(!lossless || first.is_some(), "metalayer {name:?} is listed but not found");
        assert!(content.len() <= i32::MAX as usize);
    }
}

fn array(meta: &ArrayMeta) {
    if let Ok(written) = meta.to_bytes() {
        let back = ArrayMeta::parse(&written);
        let same = back.as_ref().is_ok_and(|back| back.geometry == meta.geometry && back.dtype == meta.dtype);
        assert!(same, "an array's metalayer has changed in writing: {meta:?}, {back:?}");
    }
    let size = meta.dtype_item_size().unwrap_or(1);
    let Ok(tiling) = meta.geometry.clone().tile(size) else { return };
    let shape = tiling.shape().to_vec();
    for corner in [0, 1] {
        let index: Vec<u64> = shape.iter().map(|&len| if corner == 0 { 0 } else { len.saturating_sub(1) }).collect();
        match tiling.locate(&index) {
            Ok(ItemPosition { .. }) => assert!(shape.iter().all(|&len| len > 0), "an item of an empty array"),
            Err(e) => assert!(shape.contains(&0), "a corner of the array cannot be located: {e}"),
        }
    }
    assert!(tiling.locate(&shape).is_err() || shape.is_empty(), "an item outside of the array");
    let last = tiling.chunk_count().checked_sub(1);
    if let Some(last) = last {
        let position = tiling.chunk_position(last);
        assert!(position.is_ok_and(|at| tiling.chunk_at(&at) == Some(last)), "the place of the last chunk");
    }
    assert!(tiling.chunk_position(tiling.chunk_count()).is_err(), "a chunk behind the last one");
}
