//! One frame, edited by turns: by us with the copy-on-write editor and by C-Blosc2 in its own way. After every turn both
//! sides must see the same chunks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use oxiblosc::core::Limits;
use oxiblosc::core::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder, ChunkHeader, EncodeParams, SpecialKind};
use oxiblosc::core::frame::{
    ChunkEntry, ChunkWrite, Commit, Frame, FrameEditor, FrameOpener, INDEX_FILE, MetaValue, OpenStep, Target,
    chunk_file_name,
};
use serde_json::json;

use crate::case::registry;
use crate::worker::Worker;

const CHUNK: usize = 2000;
const TYPESIZE: usize = 8;

#[test]
fn contiguous_frames_by_turns() {
    by_turns(true);
}

#[test]
fn sparse_frames_by_turns() {
    by_turns(false);
}

fn by_turns(contiguous: bool) {
    let Some(mut worker) = Worker::start() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    for seed in 1..=25 {
        let path = dir.path().join(format!("{seed}.b2frame"));
        let case =
            json!({ "chunksize": CHUNK, "typesize": TYPESIZE, "contiguous": contiguous, "meta": { "m": "abc" } });
        worker.call("frame_edits.create", json!({ "path": path, "case": case }), &[]);
        let mut turns = Turns { path: &path, random: Random(seed), chunks: Vec::new(), vlmeta: BTreeMap::new() };
        for turn in 0..8 {
            if turns.random.below(2) == 0 {
                turns.ours();
            } else {
                turns.theirs(&mut worker);
            }
            turns.check(&mut worker, &format!("seed {seed}, turn {turn}"));
        }
    }
}

struct Turns<'a> {
    path: &'a Path,
    random: Random,
    /// What the frame must hold.
    chunks: Vec<Vec<u8>>,
    vlmeta: BTreeMap<String, Vec<u8>>,
}

impl Turns<'_> {
    /// Several edits and a commit with our editor.
    fn ours(&mut self) {
        let frame = open(self.path);
        let mut editor = FrameEditor::new(&frame, registry()).expect("a current frame");
        if frame.nchunks() == 0 {
            editor.set_chunk_size(CHUNK).expect("the frame is empty");
        }
        for _ in 0..1 + self.random.below(4) {
            let n = self.chunks.len();
            match self.random.below(7) {
                0 | 1 => {
                    let data = self.random.chunk();
                    let write = editor.append(&encode(&data)).expect("a whole chunk");
                    store(self.path, write, &encode(&data));
                    self.chunks.push(data);
                }
                2 => {
                    let (i, data) = (self.random.below(n + 1), self.random.chunk());
                    let write = editor.insert(i as u64, &encode(&data)).expect("a whole chunk");
                    store(self.path, write, &encode(&data));
                    self.chunks.insert(i, data);
                }
                3 if n > 0 => {
                    let (i, data) = (self.random.below(n), self.random.chunk());
                    let write = editor.update(i as u64, &encode(&data)).expect("a whole chunk");
                    store(self.path, write, &encode(&data));
                    self.chunks[i] = data;
                }
                4 if n > 0 => {
                    let i = self.random.below(n);
                    editor.delete(i as u64).expect("it exists");
                    self.chunks.remove(i);
                }
                5 if n > 0 => {
                    let by = self.random.below(n);
                    let order: Vec<u64> = (0..n).map(|i| ((i + by) % n) as u64).collect();
                    editor.reorder(&order).expect("a permutation");
                    self.chunks.rotate_left(by);
                }
                6 => {
                    let name = format!("v{}", self.random.below(3));
                    // msgpack: bin8.
                    let content = [&[0xC4, 3][..], &[1, 2, self.random.below(256) as u8]].concat();
                    editor.set_vlmetalayer(&name, &content).expect("a short name");
                    self.vlmeta.insert(name, content[2..].to_vec());
                }
                _ => {
                    let i = self.random.below(n + 1);
                    let write = editor.insert_special(i as u64, SpecialKind::Zero, CHUNK).expect("a whole chunk");
                    store(self.path, write, &[]);
                    self.chunks.insert(i, vec![0; CHUNK]);
                }
            }
        }
        carry_out(self.path, editor.commit().expect("the index can be encoded"));
    }

    /// Several edits with C-Blosc2.
    fn theirs(&mut self, worker: &mut Worker) {
        let mut steps = Vec::new();
        let mut blobs: Vec<Vec<u8>> = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let n = self.chunks.len();
            let i = self.random.below(n.max(1));
            match self.random.below(5) {
                2 if n > 0 => {
                    let data = self.random.chunk();
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
                1 if n > 0 => {
                    let data = self.random.chunk();
                    steps.push(json!(["insert", i]));
                    blobs.push(data.clone());
                    self.chunks.insert(i, data);
                }
                _ => {
                    let data = self.random.chunk();
                    steps.push(json!(["append", 0]));
                    blobs.push(data.clone());
                    self.chunks.push(data);
                }
            }
        }
        let blobs: Vec<&[u8]> = blobs.iter().map(Vec::as_slice).collect();
        worker.call("frame_edits.edit", json!({ "path": self.path, "steps": steps }), &blobs);
    }

    fn check(&self, worker: &mut Worker, when: &str) {
        let frame = open(self.path);
        let mut decoder = ChunkDecoder::new(registry());
        let found: Vec<Vec<u8>> = (0..frame.nchunks())
            .map(|i| decoder.decode(&chunk(self.path, &frame, i), &frame.chunk_context(i)).expect("a good chunk"))
            .collect();
        assert!(found == self.chunks, "{when}: our reader sees something else");
        for (name, content) in &self.vlmeta {
            let found = frame.vlmetalayer(name, &mut decoder).expect("a good chunk").expect("it has been set");
            assert_eq!(MetaValue::read(&found), MetaValue::Bytes(content.clone()), "{when}: {name}");
        }
        let theirs = worker.call("frame_edits.chunks", json!({ "path": self.path }), &[]);
        assert!(theirs.blobs == self.chunks, "{when}: C-Blosc2 sees something else");
        assert_eq!(theirs.value["same_in_memory"], true, "{when}");
        assert_eq!(theirs.value["vlmeta"], json!(self.vlmeta), "{when}");
        assert_eq!(theirs.value["nbytes"], frame.nbytes(), "{when}");
    }
}

/// A xorshift generator: the same turns every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize) % n
    }

    /// A chunk that compresses, or does not, or is zeros.
    fn chunk(&mut self) -> Vec<u8> {
        let step = self.below(256);
        match self.below(4) {
            0 => vec![0; CHUNK],
            1 => (0..CHUNK).map(|_| self.below(256) as u8).collect(),
            _ => (0..CHUNK).map(|i| (i / 8 * step) as u8).collect(),
        }
    }
}

fn encode(data: &[u8]) -> Vec<u8> {
    let params = EncodeParams { typesize: TYPESIZE, ..EncodeParams::default() };
    let mut encoder = ChunkEncoder::new(&params, registry()).expect("the plugins are linked");
    encoder.encode(data, &ChunkContext::default()).expect("plain data")
}

fn open(path: &Path) -> Frame {
    let sparse = path.is_dir();
    let bytes =
        Bytes::from(fs::read(if sparse { path.join(INDEX_FILE) } else { path.to_owned() }).expect("it is there"));
    let len = bytes.len() as u64;
    let mut opener = if sparse {
        FrameOpener::sparse(len, registry(), Limits::default())
    } else {
        FrameOpener::new(len, registry(), Limits::default())
    };
    loop {
        match opener.step().expect("a good frame") {
            OpenStep::Read(ranges) => {
                for range in ranges {
                    opener.feed(range.start, bytes.slice(range.start as usize..range.end as usize));
                }
            }
            OpenStep::Done(frame) => return *frame,
            other => panic!("unknown step {other:?}"),
        }
    }
}

fn chunk(path: &Path, frame: &Frame, i: u64) -> Vec<u8> {
    match frame.entry(i).expect("a good entry") {
        ChunkEntry::Special(_) => frame.special_chunk(i).expect("a good entry").expect("it is special"),
        ChunkEntry::File { id } => fs::read(path.join(chunk_file_name(id))).expect("it is there"),
        ChunkEntry::Stored { .. } => {
            let file = fs::read(path).expect("it is there");
            let span = frame.span(i).expect("a good entry").expect("it is stored");
            let header = ChunkHeader::parse(&file[span.start as usize..]).expect("a good chunk");
            let exact = frame.exact_span(i, &header).expect("a good chunk").expect("it is stored");
            file[exact.start as usize..exact.end as usize].to_vec()
        }
    }
}

fn store(path: &Path, write: Option<ChunkWrite>, chunk: &[u8]) {
    match write.as_ref().map(|write| (write.target, write.bytes(chunk))) {
        None => {}
        Some((Target::Offset(offset), bytes)) => put(path, offset, bytes),
        Some((Target::File(id), bytes)) => fs::write(path.join(chunk_file_name(id)), bytes).expect("room on the disk"),
    }
}

fn put(path: &Path, offset: u64, bytes: &[u8]) {
    let mut file = fs::read(path).expect("it is there");
    let end = offset as usize + bytes.len();
    file.resize(file.len().max(end), 0);
    file[offset as usize..end].copy_from_slice(bytes);
    fs::write(path, file).expect("room on the disk");
}

fn carry_out(path: &Path, commit: Commit) {
    match commit {
        Commit::Patch { tail, patch, frame_len } => {
            for (offset, bytes) in tail.iter().chain(&patch) {
                put(path, *offset, bytes);
            }
            let file = fs::OpenOptions::new().write(true).open(path).expect("it is there");
            file.set_len(frame_len).expect("a shorter file");
        }
        Commit::Replace { index, remove } => {
            fs::write(path.join(INDEX_FILE), index).expect("room on the disk");
            for id in remove {
                fs::remove_file(path.join(chunk_file_name(id))).expect("it was there");
            }
        }
    }
}
