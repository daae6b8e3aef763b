//! Commits that are cut short: at every byte position of every write, the file is the old frame or the new one, here and
//! (for a sample) in python-blosc2.

use std::fs;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use oxiblosc::blocking::FrameEditor;
use oxiblosc::edit::{EditOptions, FrameFile};
use oxiblosc::{EncodeParams, WriteOptions, blocking};
use serde_json::json;

use crate::worker::Worker;

const CHUNK: usize = 96;
/// A disk writes so many bytes at once. The write that commits lies within them.
const SECTOR: u64 = 512;
/// One in so many images is shown to the other side too.
const SAMPLE: usize = 11;

#[derive(Debug, Clone)]
enum Action {
    Write(u64, Vec<u8>),
    Truncate(u64),
    Replace(Vec<u8>),
    Sync,
}

type Edit = fn(&mut FrameEditor);

/// A file in memory that remembers what is done to it.
#[derive(Debug, Default)]
struct Recorder {
    file: Vec<u8>,
    log: Vec<Action>,
}

impl FrameFile for Recorder {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.file.read_at(range)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.log.push(Action::Write(at, bytes.to_vec()));
        self.file.write_at(at, bytes)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.log.push(Action::Truncate(size));
        FrameFile::truncate(&mut self.file, size)
    }

    fn replace(&mut self, head: &[u8], tail_at: u64, tail: &[u8]) -> io::Result<()> {
        self.file.replace(head, tail_at, tail)?;
        self.log.push(Action::Replace(self.file.clone()));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.log.push(Action::Sync);
        Ok(())
    }
}

fn apply(file: &mut Vec<u8>, action: &Action) {
    match action {
        Action::Write(at, bytes) => file.write_at(*at, bytes).unwrap(),
        Action::Truncate(size) => FrameFile::truncate(file, *size).unwrap(),
        Action::Replace(bytes) => file.clone_from(bytes),
        Action::Sync => {}
    }
}

/// What may be in the file when the machine stops while the last of these actions is under way: all that was synced;
/// of what came later all, nothing, or every other write, which may have happened in any order; and of the last action
/// every number of bytes, unless they lie in one sector of what the file has, which is written as a whole.
fn images(before: &[u8], log: &[Action]) -> Vec<Vec<u8>> {
    let Some((last, done)) = log.split_last() else { return vec![before.to_vec()] };
    let synced = done.iter().rposition(|action| matches!(action, Action::Sync)).map_or(0, |at| at + 1);
    let mut file = before.to_vec();
    done[..synced].iter().for_each(|action| apply(&mut file, action));
    let pending = &done[synced..];
    let choices: [fn(usize) -> bool; 4] = [|_| true, |_| false, |i| i % 2 == 0, |i| i % 2 == 1];
    let mut images = Vec::new();
    for choice in choices {
        let mut file = file.clone();
        let chosen = pending.iter().enumerate().filter(|(i, _)| choice(*i));
        chosen.for_each(|(_, action)| apply(&mut file, action));
        let end = file.len() as u64;
        match last {
            Action::Write(at, bytes) => {
                let whole = at / SECTOR == (at + bytes.len() as u64 - 1) / SECTOR && at + (bytes.len() as u64) <= end;
                let step = if whole { bytes.len() } else { 1 };
                for cut in (0..=bytes.len()).step_by(step) {
                    let mut file = file.clone();
                    file.write_at(*at, &bytes[..cut]).unwrap();
                    images.push(file);
                }
            }
            action => {
                images.push(file.clone());
                apply(&mut file, action);
                images.push(file);
            }
        }
        if pending.is_empty() {
            break;
        }
    }
    images
}

fn data(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * i / 7 + seed * 31) ^ (i >> 3)) as u8).collect()
}

/// The decoded chunks, read by us.
fn read(image: Vec<u8>) -> Vec<Vec<u8>> {
    let reader = blocking::FrameReader::from_bytes(image).unwrap();
    (0..reader.nchunks()).map(|i| reader.chunk(i).unwrap().to_vec()).collect()
}

const EDITS: [(&str, Edit); 8] = [
    ("append", |editor| editor.append(&data(2 * CHUNK + 8, 1)).unwrap()),
    ("update", |editor| editor.update(1, &data(CHUNK, 2)).unwrap()),
    ("insert", |editor| editor.insert(0, &data(CHUNK, 3)).unwrap()),
    ("delete", |editor| editor.delete(2).unwrap()),
    ("vlmetalayer", |editor| editor.set_vlmetalayer("v", b"\xa5hello").unwrap()),
    ("reorder", |editor| {
        let order: Vec<u64> = (0..editor.nchunks()).collect();
        let swapped: Vec<u64> = [1, 0].into_iter().chain(order[2..].iter().copied()).collect();
        editor.reorder(&swapped).unwrap();
    }),
    ("several", |editor| {
        editor.update(0, &data(CHUNK, 4)).unwrap();
        editor.append(&data(CHUNK, 5)).unwrap();
        editor.set_metalayer("m", b"\xa1b").unwrap();
    }),
    ("delete all", |editor| (0..editor.nchunks()).for_each(|_| editor.delete(0).unwrap())),
];

#[test]
fn at_every_byte_the_old_frame_or_the_new_one() {
    cut_commits(1, &EDITS, 500);
}

/// The metalayer that changes lies across two sectors, and so would the trailer of an empty frame.
#[test]
fn at_every_byte_behind_a_long_header() {
    cut_commits(390, &EDITS[5..], 200);
}

fn cut_commits(pad: usize, edits: &[(&str, Edit)], least: u32) {
    let mut worker = Worker::start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.b2frame");
    let params = EncodeParams { typesize: 4, ..EncodeParams::default() };
    let options = WriteOptions::new(params).chunk_size(CHUNK).metalayer("pad", vec![0xC0; pad]);
    let mut writer = blocking::FrameWriter::in_memory(options.metalayer("m", &b"\xa1a"[..])).unwrap();
    io::Write::write_all(&mut writer, &data(3 * CHUNK + 20, 0)).unwrap();
    writer.finish().unwrap();
    let mut file = writer.into_bytes();

    let (mut seen, mut shown, mut count) = ([0_u32; 2], 0_u32, 0);
    for (name, edit) in edits {
        let old = read(file.clone());
        let before = file.clone();
        let disk = Arc::new(Mutex::new(Recorder { file, log: Vec::new() }));
        let mut editor = FrameEditor::with_file(Arc::clone(&disk), EditOptions::new()).unwrap();
        edit(&mut editor);
        editor.commit().unwrap();
        drop(editor);
        let disk = disk.lock().unwrap();
        let new = read(disk.file.clone());
        for end in 1..=disk.log.len() {
            for image in images(&before, &disk.log[..end]) {
                let found = read(image.clone());
                assert!(found == old || found == new, "{name}: cut in action {end} of {}", disk.log.len());
                seen[usize::from(found == new)] += 1;
                count += 1;
                if count % SAMPLE == 0
                    && let Some(worker) = &mut worker
                {
                    fs::write(&path, &image).unwrap();
                    let answer = worker.call("frame_edits.chunks", json!({ "path": path }), &[]);
                    assert_eq!(answer.blobs, found, "{name}: cut in action {end}, in python-blosc2");
                    shown += 1;
                }
            }
        }
        file = disk.file.clone();
    }
    println!("{count} images, {seen:?} old and new, {shown} of them shown to python-blosc2");
    assert!(seen[0] > least && seen[1] > 10, "{seen:?}");
    assert!(worker.is_none() || shown > least / 5, "{shown}");
}
