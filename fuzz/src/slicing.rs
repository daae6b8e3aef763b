//! Checks slices of an array against those of its items, put in order one by one.

use oxiblosc::blocking::{FrameReader, NdArray};
use oxiblosc::nd::Selection;
use oxiblosc_conformance::data::Random;

use crate::array::{Array, selection};
use crate::bound::Setup;
use crate::place::Place;
use crate::reading::Content;

/// Selections tried.
const TRIES: usize = 6;

/// Reads slices if the frame is an array.
///
/// # Panics
/// When one differs from the items of the chunks, or fails where the chunks decode.
pub(crate) fn check<P: Place>(reader: &FrameReader<P>, content: Option<&Content>, setup: &Setup, random: &mut Random) {
    let Ok(array) = NdArray::from_frame(reader) else { return };
    check_small(&array, random);
    let whole = content.and_then(|content| content.chunks.iter().cloned().collect::<Option<Vec<_>>>());
    let Some(model) = whole.and_then(|chunks| Array::of_chunks(array.tiling(), &chunks, setup.whole)) else {
        return;
    };
    let read = |selection: &Selection, how: &str| match array.read(selection) {
        Ok(found) => found.into_bytes(),
        Err(e) => panic!("all chunks decode, but {how} does not: {e}"),
    };
    assert!(read(&Selection::all(), "the whole array") == model.bytes, "the whole array differs");
    for _ in 0..TRIES {
        let (selection, axes) = selection(&model.shape, random);
        let found = read(&selection, &format!("{selection:?}"));
        assert!(found == model.take(&axes), "{selection:?} differs");
        let mut pieces = Vec::new();
        for piece in array.pieces(&selection).into_iter().flatten() {
            match piece {
                Ok(piece) => pieces.extend_from_slice(&piece),
                Err(e) => panic!("{selection:?} can be read, but not streamed: {e}"),
            }
        }
        assert!(found == pieces, "{selection:?} differs when it is streamed");
    }
}

/// Single items, and selections that hold few of them: of any array, however large.
fn check_small<P: Place>(array: &NdArray<P>, random: &mut Random) {
    let shape = array.shape();
    for corner in [0, 1] {
        let index: Vec<i64> = shape.iter().map(|&len| if corner == 0 { 0 } else { len as i64 - 1 }).collect();
        if array.item_size() <= 1 << 20
            && let Ok(item) = array.item(&index)
        {
            assert_eq!(item.len(), array.item_size());
        }
    }
    let (selection, axes) = selection(&shape.iter().map(|&len| len.min(8)).collect::<Vec<_>>(), random);
    let items: usize = axes.iter().map(Vec::len).product();
    if items.saturating_mul(array.item_size()) <= 1 << 20 && shape.iter().all(|&len| len <= 8) {
        let _ = array.read(&selection).map(|found| assert_eq!(found.bytes().len(), items * array.item_size()));
    }
    let outside: Vec<i64> = shape.iter().map(|&len| i64::try_from(len).unwrap_or(i64::MAX)).collect();
    assert!(shape.is_empty() || array.item(&outside).is_err(), "there is an item outside");
}
