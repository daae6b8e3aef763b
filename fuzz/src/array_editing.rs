//! Checks that an edited array holds what the same edits make of a plain copy of its items.

use oxiblosc::blocking::{NdArray, NdEditor};
use oxiblosc::nd::Selection;

use crate::array::{Array, selection};
use crate::bound::Setup;
use crate::place::Place;
use crate::reading::{Content, is_lossy, numbers, open};
use crate::script::Script;

/// Arrays are not grown beyond this.
const MOST_BYTES: u64 = 256 << 10;
const MOST_CHANGES: usize = 6;

/// Changes items and shape of the array in `place` as `script` says, and commits.
///
/// # Panics
/// When the committed array differs from the model.
pub fn check<P: Place>(place: &P, script: &mut Script<'_>, setup: &Setup) {
    let Some(reader) = open(place, setup.read()) else { return };
    let lossy = is_lossy(reader.header());
    let Some(content) = Content::of(&reader, setup) else { return };
    let Ok(array) = NdArray::from_frame(&reader) else { return };
    let Some(chunks) = content.chunks.iter().cloned().collect::<Option<Vec<_>>>() else { return };
    let Some(mut model) = Array::of_chunks(array.tiling(), &chunks, MOST_BYTES) else { return };
    let copy = place.copy();
    let Ok(editor) = P::edit(&copy, setup.edit()) else { return };
    let mut editor = match NdEditor::new(editor) {
        Ok(editor) => editor,
        Err(e) => panic!("an array that can be read cannot be edited: {e}"),
    };
    for _ in 0..MOST_CHANGES {
        if script.is_over() {
            break;
        }
        change(&mut editor, &mut model, script, setup);
        assert_eq!(editor.shape(), model.shape, "the shape in the editor");
    }
    if editor.commit().is_err() {
        return;
    }
    drop(editor);
    let Some(reader) = open(&P::of(copy), setup.read()) else { panic!("a committed array does not open") };
    let array = match NdArray::from_frame(&reader) {
        Ok(array) => array,
        Err(e) => panic!("a committed array is no longer an array: {e}"),
    };
    assert_eq!(array.shape(), model.shape, "the shape of a committed array");
    match array.read(&Selection::all()) {
        Ok(found) => assert!(lossy || found.bytes()[..] == model.bytes, "the items of a committed array differ"),
        // Filters that need whole cells, say.
        Err(e) => assert!(lossy, "a committed array cannot be read: {e}"),
    }
}

fn change(editor: &mut NdEditor, model: &mut Array, script: &mut Script<'_>, setup: &Setup) {
    let operation = script.byte() % 3;
    let fits = |shape: &[u64], item: usize| {
        shape.iter().try_fold(item as u64, |bytes, &len| bytes.checked_mul(len)).is_some_and(|n| n <= MOST_BYTES)
    };
    match operation {
        0 => {
            let mut random = numbers(&[script.byte(), script.byte()]);
            let (selection, axes) = selection(&model.shape, &mut random);
            let items: usize = axes.iter().map(Vec::len).product();
            let data: Vec<u8> = (0..items * model.item).map(|i| (i / 5) as u8).collect();
            if editor.write(&selection, &data).is_ok() {
                model.put(&axes, &data);
            }
        }
        1 => {
            let shape: Vec<u64> = model.shape.iter().map(|&len| (len + script.below(7)).saturating_sub(3)).collect();
            // Short axes of tiny chunks make many of them.
            let chunks = shape.iter().zip(&editor.tiling().geometry().chunk_shape);
            let chunks = chunks.map(|(len, &chunk)| len.div_ceil(u64::from(chunk).max(1))).product::<u64>();
            if fits(&shape, model.item) && chunks <= setup.limits.chunks.min(1 << 10) && editor.resize(&shape).is_ok() {
                *model = model.resized(&shape);
            }
        }
        _ => {
            let axis = script.below(model.shape.len() as u64) as usize;
            if axis >= model.shape.len() {
                return;
            }
            let mut shape = model.shape.clone();
            let rows = 1 + script.below(3);
            shape[axis] += rows;
            let mut added = model.shape.clone();
            added[axis] = rows;
            let items: u64 = added.iter().product();
            if !fits(&shape, model.item) || items == 0 {
                return;
            }
            let data: Vec<u8> = (0..items as usize * model.item).map(|i| (i / 5) as u8).collect();
            if editor.append(axis, &data).is_ok() {
                let old = model.shape[axis];
                *model = model.resized(&shape);
                let axes = (0..shape.len())
                    .map(|i| if i == axis { (old..old + rows).collect() } else { (0..shape[i]).collect() });
                model.put(&axes.collect::<Vec<_>>(), &data);
            }
        }
    }
}
