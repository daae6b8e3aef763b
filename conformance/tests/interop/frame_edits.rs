//! One frame, edited by turns: by us with copies of what changes, and by C-Blosc2 in its own way. After every turn both
//! sides must see the same chunks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use oxiblosc::Pool;
use oxiblosc::blocking::{FrameEditor, FrameReader, compact};
use oxiblosc::chunk::SpecialValue;
use oxiblosc::edit::{EditError, EditOptions};
use oxiblosc::frame::{INDEX_FILE, MetaValue};
use oxiblosc::source::RangeSource;
use oxiblosc_conformance::edits::with_padded_header;
use serde_json::json;

use crate::random::Random;
use crate::worker::Worker;

const CHUNK: usize = 2000;
const TYPESIZE: usize = 8;

/// Where the frame is between two turns, and how each side edits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    File,
    Directory,
    /// In a file that both read into memory.
    Memory,
}

#[test]
fn frames_in_files_by_turns() {
    by_turns(Place::File);
}

#[test]
fn frames_in_directories_by_turns() {
    by_turns(Place::Directory);
}

#[test]
fn frames_in_memory_by_turns() {
    by_turns(Place::Memory);
}

/// C-Blosc2 rewrites the header too, and is not asked to edit these.
#[test]
fn padded_headers_edited_here_are_read_there() {
    let Some(mut worker) = Worker::start() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    for place in [Place::File, Place::Directory, Place::Memory] {
        for (seed, padding) in (1..=12).zip([1, 10, 300, 405, 700].into_iter().cycle()) {
            let path = dir.path().join(format!("{place:?}-{seed}.b2frame"));
            create(&mut worker, &path, place);
            let file = if place == Place::Directory { path.join(INDEX_FILE) } else { path.clone() };
            let frame = fs::read(&file).expect("it has been made");
            fs::write(&file, with_padded_header(&frame, padding).expect("a frame")).expect("room on the disk");
            let random = Random::new(seed);
            let mut turns = Turns { path: &path, place, random, chunks: Vec::new(), vlmeta: BTreeMap::new() };
            let mut told = format!("seed {seed} in {place:?} with {padding} bytes");
            turns.check(&mut worker, &told);
            for _ in 0..5 {
                told += turns.ours();
                turns.check(&mut worker, &told);
            }
        }
    }
}

fn create(worker: &mut Worker, path: &Path, place: Place) {
    let contiguous = place != Place::Directory;
    let case = json!({ "chunksize": CHUNK, "typesize": TYPESIZE, "contiguous": contiguous, "meta": { "m": "abc" } });
    worker.call("frame_edits.create", json!({ "path": path, "case": case }), &[]);
}

fn by_turns(place: Place) {
    let Some(mut worker) = Worker::start() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    for seed in 1..=25 {
        let path = dir.path().join(format!("{seed}.b2frame"));
        create(&mut worker, &path, place);
        let random = Random::new(seed);
        let mut turns = Turns { path: &path, place, random, chunks: Vec::new(), vlmeta: BTreeMap::new() };
        let mut told = format!("seed {seed} in {place:?}");
        for _ in 0..8 {
            told += if turns.random.one_in(2) { turns.ours() } else { turns.theirs(&mut worker) };
            turns.check(&mut worker, &told);
            if place != Place::Memory && turns.random.one_in(6) {
                compact(&path).unwrap_or_else(|e| panic!("{told}: {e}"));
                told += ", compacted";
                turns.check(&mut worker, &told);
            }
        }
    }
}

/// An empty frame of C-Blosc2 has no chunk size, whatever it was made with. Its first chunk is taken for a full one, and
/// nothing can be appended behind a short one that is alone.
#[test]
fn empty_frames_can_be_appended_to_there_after_here() {
    let Some(mut worker) = Worker::start() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    // The least that settles the chunk size, more, and more than the usual one.
    for (i, len) in [64 << 10, 100_000, 5 << 20].into_iter().enumerate() {
        for place in [Place::File, Place::Directory] {
            let path = dir.path().join(format!("{place:?}-{i}.b2frame"));
            create(&mut worker, &path, place);
            let random = Random::new(i as u64);
            let mut turns = Turns { path: &path, place, random, chunks: Vec::new(), vlmeta: BTreeMap::new() };
            let data = turns.random.bytes(len);
            let mut editor = FrameEditor::open(&path).expect("a current frame");
            editor.append(&data).expect("bytes");
            editor.commit().expect("good edits");
            drop(editor);
            turns.chunks = data.chunks(4 << 20).map(<[u8]>::to_vec).collect();
            let told = format!("{len} bytes in {place:?}");
            turns.check(&mut worker, &told);
            for len in [CHUNK, turns.chunks[0].len(), CHUNK] {
                let next = turns.random.bytes(len);
                let args = json!({ "path": &path, "steps": [["append", 0]], "in_memory": false });
                worker.call("frame_edits.edit", args, &[&next]);
                turns.chunks.push(next);
                turns.check(&mut worker, &told);
            }
        }
    }
}

struct Turns<'a> {
    path: &'a Path,
    place: Place,
    random: Random,
    /// What the frame must hold.
    chunks: Vec<Vec<u8>>,
    vlmeta: BTreeMap<String, Vec<u8>>,
}

impl Turns<'_> {
    /// Several edits and a commit with our editor.
    fn ours(&mut self) -> &'static str {
        let options = EditOptions::new().pool(&Pool::inline()).durable(false).chunk_size(CHUNK);
        if self.place == Place::Memory {
            let frame = fs::read(self.path).expect("it is there");
            let mut editor = FrameEditor::with_file(frame, options).expect("a current frame");
            self.edit(&mut editor).expect("good edits");
            fs::write(self.path, editor.frame_bytes().expect("it is in memory")).expect("room on the disk");
        } else {
            let mut editor = FrameEditor::with_options(self.path, options).expect("a current frame");
            self.edit(&mut editor).expect("good edits");
        }
        ", ours"
    }

    fn edit(&mut self, editor: &mut FrameEditor) -> Result<(), EditError> {
        for _ in 0..1 + self.random.below(4) {
            let n = self.chunks.len();
            let i = self.random.below(n.max(1));
            match self.random.below(11) {
                0 | 1 => {
                    // Any number of chunks.
                    let chunks: Vec<_> = (0..self.random.below(3)).map(|_| chunk(&mut self.random)).collect();
                    editor.append(&chunks.concat())?;
                    self.chunks.extend(chunks);
                }
                2 => {
                    let (i, data) = (self.random.below(n + 1), chunk(&mut self.random));
                    editor.insert(i as u64, &data)?;
                    self.chunks.insert(i, data);
                }
                3 if n > 0 => {
                    let data = chunk(&mut self.random);
                    editor.update(i as u64, &data)?;
                    self.chunks[i] = data;
                }
                4 if n > 0 => {
                    editor.delete(i as u64)?;
                    self.chunks.remove(i);
                }
                5 if n > 0 => {
                    let order: Vec<u64> = (0..n).map(|k| ((k + i) % n) as u64).collect();
                    editor.reorder(&order)?;
                    self.chunks.rotate_left(i);
                }
                6 if n > 0 => {
                    let (value, item) = self.special();
                    editor.update_special(i as u64, value)?;
                    self.chunks[i] = item.repeat(CHUNK / TYPESIZE);
                }
                7 => {
                    let (value, item) = self.special();
                    let count = self.random.below(3);
                    editor.fill(value, (count * CHUNK) as u64)?;
                    self.chunks.extend(vec![item.repeat(CHUNK / TYPESIZE); count]);
                }
                8 => {
                    let name = format!("v{}", self.random.below(3));
                    if self.vlmeta.remove(&name).is_some() {
                        editor.delete_vlmetalayer(&name)?;
                    }
                }
                _ => {
                    let name = format!("v{}", self.random.below(3));
                    // msgpack: bin8.
                    let content = [&[0xC4, 3][..], &[1, 2, self.random.below(256) as u8]].concat();
                    editor.set_vlmetalayer(&name, &content)?;
                    self.vlmeta.insert(name, content[2..].to_vec());
                }
            }
        }
        editor.commit()
    }

    /// A special value and the bytes of its item. C-Blosc2 decodes uninitialised items to anything.
    fn special(&mut self) -> (SpecialValue<'static>, [u8; TYPESIZE]) {
        match self.random.below(3) {
            0 => (SpecialValue::Zero, [0; TYPESIZE]),
            1 => (SpecialValue::Nan, f64::NAN.to_le_bytes()),
            _ => (SpecialValue::Value(b"01234567"), *b"01234567"),
        }
    }

    /// Several edits with C-Blosc2.
    fn theirs(&mut self, worker: &mut Worker) -> &'static str {
        let mut steps = Vec::new();
        let mut blobs: Vec<Vec<u8>> = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let n = self.chunks.len();
            let i = self.random.below(n.max(1));
            match self.random.below(7) {
                1 if n > 0 => {
                    let data = chunk(&mut self.random);
                    steps.push(json!(["insert", i]));
                    blobs.push(data.clone());
                    self.chunks.insert(i, data);
                }
                2 if n > 0 => {
                    let data = chunk(&mut self.random);
                    steps.push(json!(["update", i]));
                    blobs.push(data.clone());
                    self.chunks[i] = data;
                }
                3 if n > 0 => {
                    steps.push(json!(["delete", i]));
                    self.chunks.remove(i);
                }
                4 => {
                    let data = vec![7, self.random.below(256) as u8];
                    steps.push(json!(["vlmeta", i % 3]));
                    self.vlmeta.insert(format!("v{}", i % 3), data.clone());
                    blobs.push(data);
                }
                5 if self.vlmeta.remove(&format!("v{}", i % 3)).is_some() => {
                    steps.push(json!(["delete_vlmeta", i % 3]));
                }
                _ => {
                    let data = chunk(&mut self.random);
                    steps.push(json!(["append", 0]));
                    blobs.push(data.clone());
                    self.chunks.push(data);
                }
            }
        }
        let blobs: Vec<&[u8]> = blobs.iter().map(Vec::as_slice).collect();
        let args = json!({ "path": self.path, "steps": steps, "in_memory": self.place == Place::Memory });
        worker.call("frame_edits.edit", args, &blobs);
        ", theirs"
    }

    fn check(&self, worker: &mut Worker, when: &str) {
        let reader = FrameReader::open(self.path).unwrap_or_else(|e| panic!("{when}: {e}"));
        self.check_ours(&reader, when);
        if self.place != Place::Directory {
            let frame = fs::read(self.path).expect("it is there");
            self.check_ours(&FrameReader::from_bytes(frame).unwrap_or_else(|e| panic!("{when}: {e}")), when);
        }
        let theirs = worker.call("frame_edits.chunks", json!({ "path": self.path }), &[]);
        assert!(theirs.blobs == self.chunks, "{when}: C-Blosc2 sees something else");
        assert_eq!(theirs.value["same_in_memory"], true, "{when}");
        assert_eq!(theirs.value["vlmeta"], json!(self.vlmeta), "{when}");
        assert_eq!(theirs.value["nbytes"], reader.nbytes(), "{when}");
    }

    fn check_ours<S: RangeSource + 'static>(&self, reader: &FrameReader<S>, when: &str) {
        let found: Result<Vec<_>, _> = reader.chunks().collect();
        let found = found.unwrap_or_else(|e| panic!("{when}: {e}"));
        assert!(found == self.chunks, "{when}: our reader sees something else");
        assert_eq!(reader.as_async().vlmetalayer_names().len(), self.vlmeta.len(), "{when}");
        for (name, content) in &self.vlmeta {
            let found = reader.vlmetalayer(name).expect("a good chunk").expect("it has been set");
            assert_eq!(MetaValue::read(&found), MetaValue::Bytes(content.clone()), "{when}: {name}");
        }
    }
}

/// A chunk that compresses, or does not, or is zeros.
fn chunk(random: &mut Random) -> Vec<u8> {
    let step = random.below(256);
    match random.below(4) {
        0 => vec![0; CHUNK],
        1 => random.bytes(CHUNK),
        _ => (0..CHUNK).map(|i| (i / 8 * step) as u8).collect(),
    }
}
