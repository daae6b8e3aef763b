//! Power that fails in the middle of a commit leaves the frame as it was or as it is, wherever the header ends and
//! whatever has changed.

mod common;

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use common::disk::{Image, SharedDisk};
use common::{Random, data, frame, options};
use oxiblosc_core::chunk::SpecialValue;
use oxiblosc_streaming::blocking::{FrameEditor, FrameReader, NdArray, NdEditor, NdWriter};
use oxiblosc_streaming::edit::{EditError, EditOptions, FrameFile};
use oxiblosc_streaming::nd::{ArrayError, ArrayOptions, Selection};
use oxiblosc_streaming::{Pool, ReadOptions, WriteOptions};

const SMALL: usize = 96;
const SECTOR: usize = 512;
/// Where the contents of the metalayers begin in the header of a frame that has `pad` and `m`.
const CONTENTS_AT: usize = 87 + 7 + (3 + 6) + (1 + 6) + 3 + 5;
/// Bytes of the metalayer `m`.
const META: usize = 16;

fn edit() -> EditOptions {
    EditOptions::new().pool(&Pool::inline()).durable(false)
}

fn with_header(pad: usize, checksums: bool) -> WriteOptions {
    options()
        .chunk_size(SMALL)
        .pool(&Pool::inline())
        .checksums(checksums)
        .metalayer("pad", vec![7; pad])
        .metalayer("m", vec![1; META])
        .vlmetalayer("v", vec![2; 10])
}

/// Everything that a frame holds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Contents {
    chunks: Vec<Vec<u8>>,
    metalayers: Vec<(String, Vec<u8>)>,
    vlmetalayers: Vec<(String, Vec<u8>)>,
}

impl Contents {
    fn of(file: &[u8]) -> Result<Self, String> {
        let options = ReadOptions::new().pool(&Pool::inline());
        let reader =
            FrameReader::with_options(bytes::Bytes::copy_from_slice(file), options).map_err(|e| e.to_string())?;
        let chunks = (0..reader.nchunks()).map(|i| reader.chunk(i).map(|chunk| chunk.to_vec()));
        let named = reader.vlmetalayer_names().into_iter().filter(|name| !name.starts_with("oxiblosc"));
        let vlmetalayers = named.map(|name| {
            let content = reader.vlmetalayer(&name).map_err(|e| e.to_string())?;
            Ok((name, content.unwrap_or_default().to_vec()))
        });
        let metalayers = reader.metalayers().iter().map(|(name, content)| (name.into_owned(), content.to_vec()));
        Ok(Self {
            chunks: chunks.collect::<Result<_, _>>().map_err(|e| e.to_string())?,
            metalayers: metalayers.collect(),
            vlmetalayers: vlmetalayers.collect::<Result<_, String>>()?,
        })
    }
}

type Edit = fn(&mut FrameEditor) -> Result<(), EditError>;

const EDITS: [(&str, Edit); 10] = [
    ("append", |editor| editor.append(&data(2 * SMALL + 5))),
    ("update", |editor| if editor.nchunks() > 1 { editor.update(0, &[9; SMALL]) } else { Ok(()) }),
    ("insert", |editor| if editor.nchunks() > 0 { editor.insert(0, &data(SMALL)) } else { Ok(()) }),
    ("zeros", |editor| if editor.nchunks() > 1 { editor.update_special(0, SpecialValue::Zero) } else { Ok(()) }),
    ("delete", |editor| if editor.nchunks() > 0 { editor.delete(0) } else { Ok(()) }),
    ("delete all", |editor| (0..editor.nchunks()).try_for_each(|_| editor.delete(0))),
    ("metalayer", |editor| editor.set_metalayer("m", &[4; META])),
    ("vlmetalayer", |editor| editor.set_vlmetalayer("v", &[5; 12])),
    ("long vlmetalayer", |editor| {
        let mut random = Random::new(3);
        editor.set_vlmetalayer("long", &(0..1500).map(|_| random.below(256) as u8).collect::<Vec<u8>>())
    }),
    ("no vlmetalayer", |editor| editor.delete_vlmetalayer("v")),
];

/// How many crashes there were, and how many of them left the old frame, and the new one.
#[derive(Debug, Default)]
struct Seen {
    crashes: u64,
    old: u64,
    new: u64,
    copies: u64,
}

/// One commit of some edits, with a crash at every moment.
fn crash_everywhere(start: &[u8], edits: &[(&str, Edit)], random: &mut Random, seen: &mut Seen, told: &str) {
    let names: Vec<&str> = edits.iter().map(|(name, _)| *name).collect();
    let before = Contents::of(start).unwrap();
    let disk = SharedDisk::new(Image::contiguous(start.to_vec()));
    let mut editor = disk.edit(edit().chunk_size(SMALL)).unwrap();
    for (_, edit) in edits {
        edit(&mut editor).unwrap();
    }
    editor.commit().unwrap();
    drop(editor);
    let disk = disk.lock();
    seen.copies += u64::from(disk.replaces_file());
    let actions = disk.actions();
    let after = Contents::of(&disk.image().file).unwrap();
    // Different steps leave the same bytes more often than not.
    let mut known = HashSet::new();
    for done in 0..=actions {
        disk.every_crash(done, 7, random, |image| {
            seen.crashes += 1;
            let mut hasher = DefaultHasher::new();
            image.file.hash(&mut hasher);
            if !known.insert(hasher.finish()) {
                return;
            }
            let found = Contents::of(&image.file)
                .unwrap_or_else(|e| panic!("{told}, {names:?}: after {done} of {actions} actions: {e}"));
            assert!(found == before || found == after, "{told}, {names:?}: after {done} of {actions} actions");
            seen.old += u64::from(found == before);
            seen.new += u64::from(found == after);
        });
    }
    // What the disk holds in the end is the new frame, and nothing behind it.
    let frame = FrameReader::from_bytes(disk.image().file.clone()).unwrap();
    assert_eq!(frame.frame().frame_len(), disk.image().file.len() as u64, "{told}, {names:?}");
}

/// Lengths of the metalayer `pad` that put `m`, or the end of the header, at and around the ends of sectors.
fn pads(sectors: usize) -> Vec<usize> {
    // The content of `m` comes after that of `pad` and its own marker and length.
    let before = CONTENTS_AT + 5;
    let mut pads = vec![0, 40];
    for end in (1..=sectors).map(|sector| sector * SECTOR) {
        pads.extend([META + 1, META, META - 1, 8, 1, 0].map(|inside| end - inside - before));
        // The trailer of an empty frame begins behind `m`.
        pads.extend([79, 52, 35, 34, 1].map(|room| end - room - META - before));
    }
    pads
}

#[test]
fn power_may_fail_between_any_sectors() {
    // All pairs and all lengths of the header take minutes; a part of them in every run.
    let (sectors, one_in) = match std::env::var_os("OXIBLOSC_COMMITS_ALL") {
        Some(_) => (4, 1_u64),
        None => (2, 4),
    };
    let mut random = Random::new(12);
    let mut seen = Seen::default();
    for pad in pads(sectors) {
        for checksums in [false, true] {
            for len in [0, SMALL, 3 * SMALL + 20] {
                let start = frame(&data(len), with_header(pad, checksums));
                let told = format!("{pad} bytes before, {len} bytes in it, checksums: {checksums}");
                for (i, one) in EDITS.into_iter().enumerate() {
                    if random.chance(one_in.div_ceil(2)) {
                        crash_everywhere(&start, &[one], &mut random, &mut seen, &told);
                    }
                    for other in &EDITS[i + 1..] {
                        if random.chance(one_in) {
                            crash_everywhere(&start, &[one, *other], &mut random, &mut seen, &told);
                        }
                    }
                }
            }
        }
    }
    println!("{seen:?}");
    assert!(seen.crashes > 50_000 && seen.old > 10_000 && seen.new > 1000 && seen.copies > 100, "{seen:?}");
}

/// The shape of an array is in the header too, and changes with its chunks.
#[test]
fn power_may_fail_while_an_array_changes() {
    type Change = fn(&mut NdEditor) -> Result<(), ArrayError>;
    let changes: [(&str, Change); 5] = [
        ("append", |array| array.append(0, &[9; 10])),
        ("longer", |array| array.resize(&[9, 12])),
        ("shorter", |array| array.resize(&[3, 2])),
        ("empty", |array| array.resize(&[0, 5])),
        ("write", |array| array.write(&":2, 1:3".parse().unwrap(), &[8; 4])),
    ];
    let read = |file: &[u8]| -> Result<(Vec<u64>, Vec<u8>), ArrayError> {
        let array = NdArray::from_bytes(file.to_vec())?;
        Ok((array.shape().to_vec(), array.read(&Selection::all())?.bytes().to_vec()))
    };
    let mut random = Random::new(13);
    let mut seen = Seen::default();
    for pad in [0, 200, 350, 360, 370, 380, 390, 400, 860, 880, 900] {
        for checksums in [false, true] {
            let frame =
                WriteOptions::default().pool(&Pool::inline()).metalayer("pad", vec![7; pad]).checksums(checksums);
            let options = ArrayOptions::new([5, 5], "|u1").chunks([2, 3]).blocks([1, 2]).frame(frame);
            let mut writer = NdWriter::in_memory(options).unwrap();
            writer.push((1..26).collect::<Vec<u8>>().into()).unwrap();
            writer.finish().unwrap();
            let start = writer.into_bytes();
            for (i, (first, one)) in changes.into_iter().enumerate() {
                for (second, other) in &changes[i..] {
                    let disk = SharedDisk::new(Image::contiguous(start.clone()));
                    let mut array = NdEditor::new(disk.edit(edit()).unwrap()).unwrap();
                    one(&mut array).unwrap();
                    // Selections and rows of the first shape may not fit the next.
                    let _ = other(&mut array);
                    array.commit().unwrap();
                    drop(array);
                    let disk = disk.lock();
                    seen.copies += u64::from(disk.replaces_file());
                    let (before, after) = (read(&start).unwrap(), read(&disk.image().file).unwrap());
                    let mut known = HashSet::new();
                    for done in 0..=disk.actions() {
                        disk.every_crash(done, 7, &mut random, |image| {
                            seen.crashes += 1;
                            if known.insert(image.file.clone()) {
                                let told = format!("{pad} bytes before, {first}, {second}: after {done} actions");
                                let found = read(&image.file).unwrap_or_else(|e| panic!("{told}: {e}"));
                                assert!(found == before || found == after, "{told}");
                                seen.old += u64::from(found == before);
                                seen.new += u64::from(found == after);
                            }
                        });
                    }
                }
            }
        }
    }
    println!("{seen:?}");
    assert!(seen.old > 1000 && seen.new > 300 && seen.copies > 30, "{seen:?}");
}

/// The header ends where the layout says; otherwise the test above tests less than it says.
#[test]
fn the_metalayer_lies_where_it_is_to_lie() {
    for pad in [0, 300] {
        let file = frame(&data(10), with_header(pad, false));
        let at = file.windows(META).position(|bytes| bytes == [1; META]).unwrap();
        assert_eq!(at, CONTENTS_AT + 5 + pad);
    }
}

/// In a file, the copy takes the place of the old one: under its name, with its permissions, and no other can edit it.
#[test]
fn a_change_across_sectors_replaces_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (directory.path().join("frame.b2frame"), directory.path().join("link"));
    let pad = 2 * SECTOR - CONTENTS_AT - 10;
    let bytes = data(40 * SMALL + 7);
    for durable in [false, true] {
        fs::write(&path, frame(&bytes, with_header(pad, true))).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&path, &link).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        }
        #[cfg(not(unix))]
        let link = &path;
        let old = FrameReader::open(&path).unwrap();
        let mut editor = FrameEditor::with_options(&link, edit().durable(durable)).unwrap();
        editor.append(&[3; 100]).unwrap();
        editor.set_metalayer("m", &[4; META]).unwrap();
        editor.commit().unwrap();
        // A reader that has the old file open goes on reading it.
        assert_eq!(old.bytes(0..old.nbytes()).unwrap(), bytes);
        assert!(
            matches!(FrameEditor::open(&path), Err(EditError::Store(e)) if e.kind() == std::io::ErrorKind::WouldBlock)
        );
        let found = Contents::of(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(found.chunks.concat(), [&bytes[..], &[3; 100]].concat());
        assert_eq!(found.metalayers[1].1, [4; META]);
        // The editor goes on with the new file.
        editor.append(&[5; 10]).unwrap();
        editor.commit().unwrap();
        editor.set_metalayer("m", &[6; META]).unwrap();
        editor.commit().unwrap();
        drop(editor);
        let found = Contents::of(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(found.chunks.concat(), [&bytes[..], &[3; 100], &[5; 10]].concat());
        assert_eq!(found.metalayers[1].1, [6; META]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        }
        let names = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(names, if cfg!(unix) { 2 } else { 1 }, "temporary files are left");
    }
}

/// A file that is written in place says why it cannot, and the frame stays as it was.
#[test]
fn a_file_that_cannot_be_replaced_refuses() {
    struct InPlace(Vec<u8>);

    impl FrameFile for InPlace {
        fn size(&self) -> std::io::Result<u64> {
            self.0.size()
        }

        fn read_at(&self, range: std::ops::Range<u64>) -> std::io::Result<bytes::Bytes> {
            self.0.read_at(range)
        }

        fn write_at(&mut self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
            self.0.write_at(at, bytes)
        }

        fn truncate(&mut self, size: u64) -> std::io::Result<()> {
            FrameFile::truncate(&mut self.0, size)
        }

        fn replace(&mut self, _: &[u8], _: u64, _: &[u8]) -> std::io::Result<()> {
            let reason = "the change spans sectors of the disk, and this file cannot be replaced in one step";
            Err(std::io::Error::new(std::io::ErrorKind::Unsupported, reason))
        }

        fn sync(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let start = frame(&data(300), with_header(2 * SECTOR, false));
    let file = Arc::new(Mutex::new(InPlace(start.clone())));
    let mut editor = FrameEditor::with_file(Arc::clone(&file), edit()).unwrap();
    editor.set_metalayer("m", &[4; META]).unwrap();
    editor.append(&[1; 10]).unwrap();
    let Err(EditError::Store(error)) = editor.commit() else { panic!("committed in more than one step") };
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    assert!(error.to_string().contains("sectors"), "{error}");
    assert_eq!(Contents::of(&file.lock().unwrap().0), Contents::of(&start));

    // What takes one step is possible there as well.
    let file = Arc::new(Mutex::new(InPlace(start.clone())));
    let mut editor = FrameEditor::with_file(Arc::clone(&file), edit()).unwrap();
    editor.append(&[1; 10]).unwrap();
    editor.commit().unwrap();
    assert_ne!(Contents::of(&file.lock().unwrap().0), Contents::of(&start));
}
