//! Changing arrays in files, directories and memory.

mod common;

use std::path::Path;

use common::array::{Reference, options, params, random_selection, random_tiling};
use common::disk::{Image, SharedDisk};
use common::{Random, data};
use oxiblosc_core::chunk::{EncodeParams, SpecialValue};
use oxiblosc_core::nd::{ArrayMeta, Geometry, NdError, Tiling};
use oxiblosc_streaming::blocking::{self, FrameEditor, FrameReader, NdEditor};
use oxiblosc_streaming::edit::{EditError, EditOptions};
use oxiblosc_streaming::nd::{ArrayError, ArrayOptions, Selection};
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::target::SparseTarget;
use oxiblosc_streaming::{Pool, WriteOptions};

/// A shape that is a little longer or shorter along some axes.
fn near(shape: &[u64], random: &mut Random) -> Vec<u64> {
    let len = |&len: &u64| match random.below(6) {
        0 => len + random.below(4),
        1 => len.saturating_sub(random.below(4)),
        2 => random.below(8),
        _ => len,
    };
    shape.iter().map(len).collect()
}

/// One random change, made to the array and to the reference.
fn change(editor: &mut NdEditor, reference: &mut Reference, random: &mut Random) {
    let shape = reference.shape.clone();
    match random.below(3) {
        0 => {
            let (selection, members) = random_selection(&shape, random);
            let count: usize = members.iter().map(Vec::len).product();
            let items: Vec<u8> = (0..count * reference.item_size).map(|_| random.below(256) as u8).collect();
            editor.write(&selection, &items).unwrap();
            reference.write(&members, &items);
        }
        1 => {
            let shape = near(&shape, random);
            if shape.iter().product::<u64>() > 5000 {
                return;
            }
            editor.resize(&shape).unwrap();
            *reference = reference.resized(&shape);
        }
        _ if shape.is_empty() => {}
        _ => {
            let axis = random.below(shape.len() as u64) as usize;
            let mut longer = shape.clone();
            let row: u64 = (0..shape.len()).filter(|&d| d != axis).map(|d| shape[d]).product();
            let rows = if row == 0 { 0 } else { random.below(5) };
            longer[axis] += rows;
            let items: Vec<u8> =
                (0..rows * row).flat_map(|_| vec![1 + random.below(255) as u8; reference.item_size]).collect();
            editor.append(axis, &items).unwrap();
            *reference = reference.resized(&longer);
            let members: Vec<Vec<u64>> =
                (0..shape.len()).map(|d| if d == axis { shape[d]..longer[d] } else { 0..shape[d] }.collect()).collect();
            reference.write(&members, &items);
        }
    }
    assert_eq!(editor.shape(), reference.shape);
}

/// Changes an array at random, and has `reopen` look at it after every commit.
fn edit_at_random(
    mut editor: NdEditor,
    mut reference: Reference,
    random: &mut Random,
    mut reopen: impl FnMut(NdEditor, &Reference) -> NdEditor,
) {
    for _ in 0..6 {
        for _ in 0..1 + random.below(3) {
            change(&mut editor, &mut reference, random);
        }
        let (selection, members) = random_selection(&reference.shape, random);
        assert_eq!(*editor.read(&selection).unwrap().bytes(), reference.product(&members));
        editor.commit().unwrap();
        editor = reopen(editor, &reference);
    }
}

fn same(array: &blocking::NdArray<impl RangeSource + 'static>, reference: &Reference) {
    assert_eq!(array.shape(), reference.shape);
    assert!(*array.read(&Selection::all()).unwrap().bytes() == reference.bytes);
}

#[test]
fn random_changes_are_those_of_the_reference() {
    let mut random = Random::new(5);
    for round in 0..60 {
        let tiling = random_tiling(&mut random);
        let reference = Reference::new(tiling.shape(), tiling.item_size());
        let frame = WriteOptions::new(params(&mut random)).pool(&Pool::inline());
        let mut writer = blocking::NdWriter::in_memory(options(&tiling, false).frame(frame)).unwrap();
        writer.push(reference.bytes.clone().into()).unwrap();
        writer.finish().unwrap();
        let frame = writer.into_bytes();
        if round % 3 < 2 {
            let editor = NdEditor::from_bytes(frame).unwrap();
            edit_at_random(editor, reference, &mut random, |mut editor, reference| {
                let frame = editor.frame_bytes().unwrap();
                same(&blocking::NdArray::from_bytes(frame.clone()).unwrap(), reference);
                NdEditor::from_bytes(frame).unwrap()
            });
        } else {
            // A sparse frame; the editor stays open.
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("array.b2nd");
            let target = oxiblosc_streaming::target::SparseTarget::create(&path).unwrap();
            let mut writer = blocking::NdWriter::with_target(target, options(&tiling, false)).unwrap();
            writer.push(reference.bytes.clone().into()).unwrap();
            writer.finish().unwrap();
            let editor = NdEditor::open(&path).unwrap();
            edit_at_random(editor, reference, &mut random, |editor, reference| {
                same(&blocking::NdArray::open(&path).unwrap(), reference);
                editor
            });
        }
    }
}

#[test]
fn what_is_not_committed_does_not_count() {
    let (reference, frame) = table(500, 400);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array.b2nd");
    std::fs::write(&path, frame).unwrap();
    let mut editor = NdEditor::open(&path).unwrap();
    editor.write(&"0".parse().unwrap(), &[1; 1600]).unwrap();
    editor.resize(&[100, 500]).unwrap();
    editor.append(1, &[2; 800]).unwrap();
    same(&blocking::NdArray::open(&path).unwrap(), &reference);
    drop(editor);
    same(&blocking::NdArray::open(&path).unwrap(), &reference);

    let mut editor = NdEditor::open(&path).unwrap();
    let nd = |result: Result<(), ArrayError>| matches!(result, Err(ArrayError::Nd(_)));
    assert!(nd(editor.write(&"0".parse().unwrap(), &[1; 1599])));
    assert!(nd(editor.write(&"500".parse().unwrap(), &[1; 1600])));
    assert!(nd(editor.resize(&[100])));
    assert!(nd(editor.append(2, &[1; 1600])));
    assert!(matches!(editor.append(1, &[1; 1999]), Err(ArrayError::PartialRow { row_bytes: 2000, found: 1999 })));
    editor.commit().unwrap();
    same(&blocking::NdArray::open(&path).unwrap(), &reference);
    assert!(matches!(NdEditor::from_bytes(common::frame(&[1; 9], common::options())), Err(ArrayError::NotAnArray)));
}

/// A table of so many rows and columns of 4-byte items, in four chunks, and its frame.
fn table(rows: u64, columns: u64) -> (Reference, Vec<u8>) {
    let half = |n: u64| n.div_ceil(2) as u32;
    let geometry = Geometry {
        shape: vec![rows, columns],
        chunk_shape: vec![half(rows), half(columns)],
        block_shape: vec![half(rows).div_ceil(3), half(columns)],
    };
    let tiling = geometry.tile(4).unwrap();
    let reference = Reference::new(tiling.shape(), 4);
    let frame = write(&tiling, &reference, WriteOptions::default());
    (reference, frame)
}

fn write(tiling: &Tiling, reference: &Reference, frame: WriteOptions) -> Vec<u8> {
    let mut writer = blocking::NdWriter::in_memory(options(tiling, false).frame(frame.pool(&Pool::inline()))).unwrap();
    writer.push(reference.bytes.clone().into()).unwrap();
    writer.finish().unwrap();
    writer.into_bytes()
}

fn write_sparse(path: &Path, tiling: &Tiling, reference: &Reference, frame: WriteOptions) {
    let target = SparseTarget::create(path).unwrap().inline();
    let mut writer = blocking::NdWriter::with_target(target, options(tiling, false).frame(frame)).unwrap();
    writer.push(reference.bytes.clone().into()).unwrap();
    writer.finish().unwrap();
}

fn inline() -> EditOptions {
    EditOptions::new().pool(&Pool::inline())
}

fn edit(frame: Vec<u8>) -> NdEditor {
    NdEditor::new(FrameEditor::with_file(frame, inline()).unwrap()).unwrap()
}

fn edit_on(disk: &SharedDisk) -> NdEditor {
    NdEditor::new(disk.edit(inline()).unwrap()).unwrap()
}

#[test]
fn a_crash_leaves_the_array_as_it_was_or_as_it_is() {
    let mut random = Random::new(6);
    let directory = tempfile::tempdir().unwrap();
    let mut seen = [0; 2];
    for round in 0..40 {
        let tiling = random_tiling(&mut random);
        let mut reference = Reference::new(tiling.shape(), tiling.item_size());
        // With checksums, a frame that is neither is detected by them too.
        let frame = WriteOptions::new(params(&mut random)).checksums(round % 4 < 2);
        let mut image = if round % 2 == 0 {
            Image::contiguous(write(&tiling, &reference, frame))
        } else {
            let path = directory.path().join(round.to_string());
            write_sparse(&path, &tiling, &reference, frame);
            Image::sparse(&path)
        };
        for _ in 0..3 {
            let disk = SharedDisk::new(image);
            let mut editor = edit_on(&disk);
            let before = reference.clone();
            for _ in 0..1 + random.below(3) {
                change(&mut editor, &mut reference, &mut random);
            }
            editor.commit().unwrap();
            drop(editor);
            let disk = disk.lock();
            for after in 0..=disk.actions() {
                let mut crashed = edit_on(&SharedDisk::new(disk.crash(after, &mut random)));
                let found = crashed.read(&Selection::all()).unwrap();
                let is = |reference: &Reference| found.shape() == reference.shape && *found.bytes() == reference.bytes;
                assert!(is(&before) || is(&reference), "round {round}, after {after} of {} actions", disk.actions());
                seen[usize::from(is(&reference))] += 1;
            }
            image = disk.image().clone();
        }
        let found = edit_on(&SharedDisk::new(image)).read(&Selection::all()).unwrap();
        assert!(found.shape() == reference.shape && *found.bytes() == reference.bytes);
    }
    assert!(seen[0] > 200 && seen[1] > 200, "{seen:?}");
}

#[test]
fn what_fails_on_its_way_has_changed_nothing() {
    let mut random = Random::new(7);
    let directory = tempfile::tempdir().unwrap();
    let (mut failed, mut succeeded) = (0, 0);
    for round in 0..60 {
        let tiling = random_tiling(&mut random);
        if tiling.shape().is_empty() || tiling.shape().contains(&0) {
            continue;
        }
        let mut reference = Reference::new(tiling.shape(), tiling.item_size());
        let frame = WriteOptions::new(params(&mut random));
        let image = if round % 2 == 0 {
            Image::contiguous(write(&tiling, &reference, frame))
        } else {
            let path = directory.path().join(round.to_string());
            write_sparse(&path, &tiling, &reference, frame);
            Image::sparse(&path)
        };
        let disk = SharedDisk::new(image);
        let mut editor = edit_on(&disk);
        for _ in 0..6 {
            // The disk fails soon, and is repaired after that.
            disk.lock().left = random.below(6) as usize;
            let longer: Vec<u64> = reference.shape.iter().map(|len| len + random.below(4)).collect();
            let members: Vec<Vec<u64>> = reference.shape.iter().map(|&len| (0..len).collect()).collect();
            let items: Vec<u8> = reference.bytes.iter().map(|byte| byte ^ 0x5A).collect();
            match random.below(2) {
                0 if editor.write(&Selection::all(), &items).is_ok() => {
                    reference.write(&members, &items);
                    succeeded += 1;
                }
                1 if longer.iter().product::<u64>() < 5000 && editor.resize(&longer).is_ok() => {
                    reference = reference.resized(&longer);
                    succeeded += 1;
                }
                _ => failed += 1,
            }
            disk.lock().left = usize::MAX;
            let found = editor.read(&Selection::all()).unwrap();
            assert!(found.shape() == reference.shape && *found.bytes() == reference.bytes, "round {round}");
        }
        editor.commit().unwrap();
        drop(editor);
        let image = disk.lock().image().clone();
        let found = edit_on(&SharedDisk::new(image)).read(&Selection::all()).unwrap();
        assert!(found.shape() == reference.shape && *found.bytes() == reference.bytes, "round {round}");
    }
    assert!(failed > 50 && succeeded > 50, "{failed} changes have failed, {succeeded} have not");
}

#[test]
fn frames_of_arrays_take_no_bytes() {
    let (reference, frame) = table(10, 6);
    let mut editor = FrameEditor::from_bytes(frame.clone()).unwrap();
    assert!(matches!(editor.append(&[1; 100]), Err(EditError::IsArray)));
    assert!(matches!(editor.append_from(&[1; 100][..]), Err(EditError::IsArray)));
    assert!(matches!(editor.fill(SpecialValue::Zero, 60), Err(EditError::IsArray)));

    // Chunks may come and go, if only there are as many as the array has in the end.
    let chunk = editor.chunk(0).unwrap();
    editor.insert(1, &chunk).unwrap();
    let error = editor.commit().unwrap_err();
    assert!(matches!(error, EditError::NoArray(NdError::Frame { expected: 4, found: 5, .. })), "{error}");
    editor.delete(1).unwrap();
    editor.update(3, &vec![0; chunk.len()]).unwrap();
    editor.commit().unwrap();
    let array = blocking::NdArray::from_bytes(editor.frame_bytes().unwrap()).unwrap();
    let found = array.read(&":5, :".parse().unwrap()).unwrap();
    assert_eq!(*found.bytes(), reference.bytes[..5 * 24]);
    assert_eq!(*array.read(&"5:, 3:".parse().unwrap()).unwrap().bytes(), [0; 60][..]);

    // A metalayer that contradicts the frame is no better than chunks that do.
    let mut editor = FrameEditor::from_bytes(frame.clone()).unwrap();
    let mut meta = ArrayMeta::find(editor.metalayers()).unwrap().unwrap();
    meta.geometry.shape = vec![11, 6];
    editor.set_metalayer(ArrayMeta::NAME, &meta.to_bytes().unwrap()).unwrap();
    assert!(matches!(editor.commit(), Err(EditError::NoArray(NdError::Frame { expected: 6, .. }))));
    editor.set_metalayer(ArrayMeta::NAME, &[0; 64][..editor.metalayers().get(ArrayMeta::NAME).unwrap().len()]).unwrap();
    assert!(matches!(editor.commit(), Err(EditError::NoArray(_))));

    // One that is damaged already may be changed in any way.
    let mut damaged = frame;
    let at = damaged.windows(4).position(|bytes| bytes == b"b2nd").unwrap();
    damaged[at..][..4].copy_from_slice(b"B2ND");
    let mut editor = FrameEditor::from_bytes(damaged).unwrap();
    editor.append(&chunk).unwrap();
    editor.commit().unwrap();
    assert_eq!(FrameReader::from_bytes(editor.frame_bytes().unwrap()).unwrap().nchunks(), 5);
}

#[test]
fn new_chunks_have_the_blocks_of_the_array() {
    let (_, frame) = table(10, 6);
    let other = EncodeParams { typesize: 4, block_size: Some(8), ..EncodeParams::default() };
    let options = EditOptions::new().pool(&Pool::inline()).params(other);
    let mut editor = NdEditor::new(FrameEditor::with_file(frame, options).unwrap()).unwrap();
    editor.write(&Selection::all(), &data(240)).unwrap();
    editor.commit().unwrap();
    let reader = FrameReader::from_bytes(editor.frame_bytes().unwrap()).unwrap();
    let header = oxiblosc_core::chunk::ChunkHeader::parse(&reader.encoded_chunk(0).unwrap()).unwrap();
    assert_eq!(header.blocksize, 2 * 3 * 4);
}

#[test]
fn arrays_without_chunks_grow() {
    let frame = |name: &str| {
        let meta =
            ArrayMeta::new(Geometry { shape: vec![0, 5], chunk_shape: vec![2, 3], block_shape: vec![1, 3] }, "<i2");
        let params = EncodeParams { typesize: 2, ..EncodeParams::default() };
        let options = WriteOptions::new(params).chunk_size(12).metalayer(name, meta.to_bytes().unwrap());
        let mut writer = blocking::FrameWriter::in_memory(options.pool(&Pool::inline())).unwrap();
        writer.finish().unwrap();
        let mut frame = writer.into_bytes();
        // C-Blosc2 may say that the chunks differ in size, because there are none.
        assert_eq!(frame[58..62], [0, 0, 0, 12]);
        frame[61] = 0;
        frame
    };
    for name in [ArrayMeta::NAME, ArrayMeta::LEGACY_NAME] {
        let mut editor = edit(frame(name));
        editor.append(0, &[7; 30]).unwrap();
        editor.commit().unwrap();
        let array = blocking::NdArray::from_bytes(editor.frame_bytes().unwrap()).unwrap();
        assert_eq!(array.shape(), [3, 5]);
        assert_eq!(*array.read(&Selection::all()).unwrap().bytes(), [7; 30][..]);
    }
    // Chunks of no length never have any items.
    let mut writer = ArrayOptions::new([0, 5], "<i2").chunks([1, 5]).blocks([1, 5]).in_memory().unwrap();
    oxiblosc_streaming::block_on(writer.close()).unwrap();
    let mut none = writer.into_target().into_bytes();
    let content = none.windows(4).rposition(|bytes| bytes == b"b2nd").unwrap();
    assert!(content > 0);
    let meta = none.windows(3).position(|bytes| bytes == [0x97, 0, 2]).unwrap();
    // The chunk and block lengths of the first axis: behind marker, version, rank, the shape, and their own markers.
    for (what, at) in [("chunk", 3 + 19 + 2), ("block", 3 + 19 + 11 + 2)] {
        assert_eq!(none[meta + at..][..4], [0, 0, 0, 1], "{what}");
        none[meta + at + 3] = 0;
    }
    none[58..62].fill(0);
    none[53..57].fill(0);
    let mut editor = edit(none);
    assert!(matches!(editor.resize(&[1, 5]), Err(ArrayError::Nd(NdError::Extent { axis: 0, .. }))));
    editor.resize(&[0, 9]).unwrap();
    editor.commit().unwrap();
    assert_eq!(blocking::NdArray::from_bytes(editor.frame_bytes().unwrap()).unwrap().shape(), [0, 9]);
}
