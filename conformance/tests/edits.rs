//! Frames of every kind, edited at random by us: after every commit they hold what a plain model of them holds.

#[allow(dead_code, reason = "other test programs use the rest")]
mod vectors;

use std::fs;
use std::path::{Path, PathBuf};

use oxiblosc as _;
use oxiblosc::blocking::{FrameEditor, NdEditor};
use oxiblosc::chunk::SpecialValue;
use oxiblosc::edit::{EditError, EditOptions, copy};
use oxiblosc::source::FileSource;
use oxiblosc::target::{FileTarget, SparseTarget};
use oxiblosc::{Pool, block_on, blocking};
use oxiblosc_conformance::data::Random;
use oxiblosc_conformance::edits::{ArrayModel, FrameModel, with_padded_header};
use oxiblosc_core::Limits;
use oxiblosc_core::frame::{FrameLayout, FrameWriteError, INDEX_FILE};
use oxiblosc_core::nd::ArrayMeta;
use vectors::Vector;

/// Sessions for each frame; a long form makes more.
fn sessions() -> usize {
    std::env::var("OXIBLOSC_EDIT_SESSIONS").map_or(4, |n| n.parse().expect("a number"))
}

/// Odd frames that claim to be larger are not read whole.
const MAX_BYTES: u64 = 1 << 24;
const MAX_CHUNKS: u64 = 5000;

type Reader = blocking::FrameReader<FileSource>;

fn open(path: &Path) -> Result<Reader, String> {
    blocking::FrameReader::open(path).map_err(|e| e.to_string())
}

fn edit(path: &Path) -> Result<FrameEditor, EditError> {
    FrameEditor::with_options(path, EditOptions::new().pool(&Pool::inline()).durable(false))
}

/// How many sessions were committed, and what was refused.
#[derive(Debug, Default)]
struct Seen {
    frames: u64,
    changes: u64,
    commits: u64,
    refused: Vec<String>,
}

/// Several sessions of several changes and a commit each. When `sound`, nothing may be refused.
fn edit_frame(path: &Path, seed: u64, sound: bool, seen: &mut Seen) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let reader = open(path).unwrap_or_else(|e| panic!("{name}: {e}"));
    if reader.nbytes() > MAX_BYTES || reader.nchunks() > MAX_CHUNKS {
        return edit_unread(path, seen);
    }
    let mut model = match FrameModel::of(&reader) {
        Ok(model) => model,
        // A chunk that cannot be read is nothing that a model could hold.
        Err(_) if !sound => return edit_unread(path, seen),
        Err(e) => panic!("{name}: {e}"),
    };
    drop(reader);
    let mut random = Random::new(seed);
    seen.frames += 1;
    for session in 0..sessions() {
        let mut told = format!("{name}, seed {seed}, session {session}");
        let committed = model.clone();
        let mut editor = match edit(path) {
            Ok(editor) => editor,
            Err(e) if !sound => return seen.refused.push(format!("{name}: {e}")),
            Err(e) => panic!("{told}: {e}"),
        };
        let mut keep = true;
        for _ in 0..1 + random.below(5) {
            let change = model.change(&mut editor, &mut random);
            told = format!("{told}; {}", change.description);
            seen.changes += 1;
            if let Some(error) = change.refused {
                assert!(!sound, "{told}: {error}");
                seen.refused.push(format!("{name}: {}: {error}", change.description));
                keep &= !change.partial;
            }
            if !keep {
                break;
            }
        }
        let result = if keep && random.below(8) > 0 { Some(editor.commit()) } else { None };
        match result {
            Some(Ok(())) => seen.commits += 1,
            Some(Err(error)) => {
                assert!(!sound, "{told}: {error}");
                seen.refused.push(format!("{name}: commit: {error}"));
                model = committed;
            }
            None => model = committed,
        }
        drop(editor);
        let reader = open(path).unwrap_or_else(|e| panic!("{told}: the frame does not open: {e}"));
        model.compare(&reader).unwrap_or_else(|e| panic!("{told}: {e}"));
    }
}

type Step = fn(&mut FrameEditor) -> Result<(), EditError>;

/// A frame whose chunks are too much or cannot be read can be edited nevertheless, and opens after that.
fn edit_unread(path: &Path, seen: &mut Seen) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let steps: [Step; 4] = [
        |_| Ok(()),
        |editor| editor.set_vlmetalayer("v", &[1; 40]),
        |editor| editor.update_special(0, SpecialValue::Zero),
        |editor| editor.delete(0),
    ];
    seen.frames += 1;
    for (i, step) in steps.into_iter().enumerate() {
        let edited = edit(path).and_then(|mut editor| step(&mut editor).and_then(|()| editor.commit()));
        match edited {
            Ok(()) => seen.commits += 1,
            Err(error) => seen.refused.push(format!("{name}: {error}")),
        }
        open(path).unwrap_or_else(|e| panic!("{name}, step {i}: the frame does not open: {e}"));
    }
}

fn edit_array(path: &Path, seed: u64, sound: bool, seen: &mut Seen) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let open = |path: &Path| blocking::NdArray::open(path).map_err(|e| e.to_string());
    if open(path)
        .is_ok_and(|array| array.tiling().stored_bytes() > MAX_BYTES || array.tiling().chunk_count() > MAX_CHUNKS)
    {
        return edit_unread(path, seen);
    }
    let mut model = match open(path).and_then(|array| ArrayModel::of(&array).map_err(|e| e.to_string())) {
        Ok(model) => model,
        Err(_) if !sound => return,
        Err(e) => panic!("{name}: {e}"),
    };
    let mut random = Random::new(seed);
    seen.frames += 1;
    for session in 0..sessions() {
        let mut told = format!("{name}, seed {seed}, session {session}");
        let committed = model.clone();
        let mut editor =
            match edit(path).map_err(|e| e.to_string()).and_then(|e| NdEditor::new(e).map_err(|e| e.to_string())) {
                Ok(editor) => editor,
                Err(e) if !sound => return seen.refused.push(format!("{name}: {e}")),
                Err(e) => panic!("{told}: {e}"),
            };
        for _ in 0..1 + random.below(4) {
            seen.changes += 1;
            match model.change(&mut editor, &mut random) {
                Ok(change) => told = format!("{told}; {change}"),
                Err(error) => {
                    assert!(!sound, "{told}: {error}");
                    seen.refused.push(format!("{name}: {error}"));
                }
            }
        }
        match editor.commit() {
            Ok(()) => seen.commits += 1,
            Err(error) => {
                assert!(!sound, "{told}: {error}");
                seen.refused.push(format!("{name}: commit: {error}"));
                model = committed;
            }
        }
        drop(editor);
        let array = open(path).unwrap_or_else(|e| panic!("{told}: the array does not open: {e}"));
        model.compare(&array).unwrap_or_else(|e| panic!("{told}: {e}"));
    }
}

/// A copy of a file or a directory.
fn copy_of(path: &Path, directory: &Path) -> PathBuf {
    let to = directory.join(path.file_name().expect("a name"));
    let _ = fs::remove_dir_all(&to);
    if path.is_dir() {
        fs::create_dir_all(&to).expect("room");
        for entry in fs::read_dir(path).expect("a directory") {
            let entry = entry.expect("an entry");
            fs::write(to.join(entry.file_name()), fs::read(entry.path()).expect("a file")).expect("room");
        }
    } else {
        fs::write(&to, fs::read(path).expect("a file")).expect("room");
    }
    to
}

/// A copy of a frame of `data/edits`. A sparse one is its index alone, or a file of all of its files: for each its name,
/// a zero, its length in four bytes from the lowest on, and its content.
fn unpacked(source: &Path, directory: &Path) -> PathBuf {
    if !source.to_string_lossy().contains("sparse") {
        return copy_of(source, directory);
    }
    let path = directory.join(source.file_name().expect("a name"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).expect("room");
    let packed = fs::read(source).expect("a file");
    if packed[0] == 0x9E {
        fs::write(path.join(INDEX_FILE), packed).expect("room");
        return path;
    }
    let mut rest = &packed[..];
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == 0).expect("a name");
        let (name, behind) = (std::str::from_utf8(&rest[..end]).expect("a name"), &rest[end + 1..]);
        let (len, behind) = behind.split_first_chunk().expect("a length");
        let (content, behind) = behind.split_at(u32::from_le_bytes(*len) as usize);
        fs::write(path.join(name), content).expect("room");
        rest = behind;
    }
    path
}

/// Puts `padding` bytes between header and chunks.
fn pad_header(path: &Path, padding: u32) {
    let file = if path.is_dir() { path.join(INDEX_FILE) } else { path.to_owned() };
    let padded = with_padded_header(&fs::read(&file).expect("a file"), padding).expect("a frame");
    fs::write(&file, padded).expect("room");
}

fn is_array(path: &Path) -> bool {
    open(path).is_ok_and(|reader| ArrayMeta::find(reader.metalayers()).is_some())
}

/// Chunks whose blocks differ in length take none with regular blocks, which is all that the model makes.
fn has_vl_blocks(path: &Path) -> bool {
    open(path).is_ok_and(|reader| reader.header().vl_blocks)
}

#[test]
fn vectors_of_every_kind_with_and_without_padding() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut seen = Seen::default();
    let mut old = 0;
    for (i, vector) in (0_u64..).zip(Vector::all(|kind| kind != "chunk")) {
        let source = vector.path();
        if open(&source).expect("a vector").header().layout != FrameLayout::Current {
            let error = edit(&copy_of(&source, directory.path())).expect_err("not to be edited");
            assert!(matches!(error, EditError::Change(FrameWriteError::Layout { .. })), "{error}");
            old += 1;
            continue;
        }
        for padding in [0, 1, 10, 300, 700] {
            let path = copy_of(&source, directory.path());
            if padding > 0 {
                pad_header(&path, padding);
            }
            let seed = 1000 * i + u64::from(padding);
            if is_array(&path) {
                edit_array(&path, seed, true, &mut seen);
            } else {
                let sound = !has_vl_blocks(&path);
                edit_frame(&path, seed, sound, &mut seen);
            }
        }
    }
    println!("{} frames, {} changes, {} commits, {old} too old", seen.frames, seen.changes, seen.commits);
    let vl_blocks = |refused: &String| refused.contains("regular blocks");
    assert!(seen.refused.iter().all(vl_blocks), "{:?}", seen.refused);
    assert!(seen.frames > 300 && seen.commits > 1000 && old > 10);
}

/// What was written sparse becomes one file, and the other way about.
#[test]
fn copies_of_the_other_form() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut seen = Seen::default();
    for (i, vector) in (0_u64..).zip(Vector::all(|kind| kind != "chunk")).step_by(3) {
        let reader = open(&vector.path()).expect("a vector");
        let reader = reader.as_async();
        let path = directory.path().join(format!("{i}-{}", vector.file()));
        let copied = if vector.path().is_dir() {
            block_on(copy(reader, &mut FileTarget::create(&path).expect("a target")))
        } else {
            block_on(copy(reader, &mut SparseTarget::create(&path).expect("a target")))
        };
        copied.unwrap_or_else(|e| panic!("{}: {e}", vector.name()));
        if is_array(&path) {
            edit_array(&path, i, true, &mut seen);
        } else {
            let sound = !has_vl_blocks(&path);
            edit_frame(&path, i, sound, &mut seen);
        }
    }
    println!("{} frames, {} changes, {} commits", seen.frames, seen.changes, seen.commits);
    assert!(seen.commits > 50);
}

/// Frames that were found to be destroyed by edits, or to be changed by what only comes behind: every session ends
/// with what the model holds, or with a refusal.
#[test]
fn frames_that_edits_have_destroyed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/edits");
    let mut seen = Seen::default();
    let mut names: Vec<_> =
        fs::read_dir(data).expect("the data").map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    for source in &names {
        for seed in 0..25 {
            let path = unpacked(source, directory.path());
            if is_array(&path) {
                edit_array(&path, seed, false, &mut seen);
                let path = unpacked(source, directory.path());
                edit_frame(&path, seed, false, &mut seen);
            } else {
                edit_frame(&path, seed, false, &mut seen);
            }
        }
    }
    seen.refused.sort();
    seen.refused.dedup();
    let refused = seen.refused.len();
    println!("{} frames, {} changes, {} commits, {refused} refused", seen.frames, seen.changes, seen.commits);
    // Whatever is refused says why, and nothing was refused because it went wrong.
    let unexpected = |refused: &&String| refused.contains("nothing was committed");
    assert_eq!(seen.refused.iter().find(unexpected), None);
    assert!(names.len() > 15 && seen.commits > 500, "{} of {}", seen.commits, names.len());
}

/// The way out that the error names.
#[test]
fn a_copy_puts_a_wrong_total_right() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/edits/total-wrong-delete0.b2frame");
    let path = copy_of(&source, directory.path());
    let error = edit(&path).and_then(|mut editor| editor.delete(0)).expect_err("the total is too small");
    assert!(matches!(error, EditError::Change(FrameWriteError::Total { chunk: 0, .. })), "{error}");
    blocking::compact(&path).expect("a frame that can be read");
    let reader = open(&path).expect("a frame");
    let before = FrameModel::of(&reader).expect("good chunks");
    assert_eq!(reader.nbytes(), before.chunks().iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    let mut editor = edit(&path).expect("a current frame");
    editor.delete(0).expect("a right total");
    editor.commit().expect("room");
    let reader = open(&path).expect("a frame");
    assert_eq!(FrameModel::of(&reader).expect("good chunks").chunks(), &before.chunks()[1..]);
}

/// An array that would grow beyond what its readers allow does not begin to.
#[test]
fn arrays_stay_within_the_limits() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/vectors/current/nd-2-u1.b2nd");
    let mut limits = Limits::default();
    limits.chunks = 100;
    let options = EditOptions::new().pool(&Pool::inline()).limits(limits);
    let frame = fs::read(source).expect("a vector");
    let mut editor = NdEditor::new(FrameEditor::with_file(frame.clone(), options).expect("a frame")).expect("an array");
    let mut shape = editor.shape().to_vec();
    shape[0] += 100 * shape[0];
    let error = editor.resize(&shape).expect_err("too many chunks");
    assert!(error.to_string().contains("limit of 100"), "{error}");
    editor.commit().expect("nothing has changed");
    assert_eq!(editor.frame_bytes().expect("it is in memory"), frame);
}
