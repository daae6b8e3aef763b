//! Frames whose index repeats one entry, which takes 40 bytes for any number of chunks, or consists of runs of a few
//! entries. C-Blosc2 reads them lazily from a file and from memory.

use std::fs;
use std::path::{Path, PathBuf};

use oxiblosc::chunk::SpecialKind;
use oxiblosc::edit::EditOptions;
use oxiblosc::frame::{FrameParams, FrameWriter};
use oxiblosc::recover::recover;
use oxiblosc::sparse::{Directory, MemoryDirectory, MissingChunks, SharedWriter};
use oxiblosc::target::PlaceTarget;
use oxiblosc::{EncodeParams, Pool, Registry, WriteOptions, block_on, blocking};
use serde_json::json;

use crate::worker::Worker;

const CHUNK: usize = 1000;
const TYPESIZE: usize = 4;
/// None, a few, both sides of the number from which an index is written as runs, and far more.
const COUNTS: [u64; 7] = [0, 1, 2, 100, 1 << 17, (1 << 17) + 1, 1 << 20];

fn encode() -> EncodeParams {
    EncodeParams { typesize: TYPESIZE, ..EncodeParams::default() }
}

/// Writes a frame of `count` chunks of one value, and optionally a shorter one.
fn write(path: &Path, kind: SpecialKind, count: u64, short: bool) {
    let registry = Registry::linked().expect("the plugins are linked");
    let mut writer = FrameWriter::new(&FrameParams::new(encode(), CHUNK), registry).expect("good parameters");
    assert!(writer.push_specials(kind, CHUNK, count).expect("special chunks"));
    if short {
        writer.push_special(kind, CHUNK / 2).expect("a special chunk");
    }
    let tail = writer.finish().expect("a good index");
    fs::write(path, [writer.header(), tail].concat()).expect("room");
}

/// The decoded content of a chunk of this kind; `None` if it is unspecified.
fn content(kind: SpecialKind, len: usize) -> Option<Vec<u8>> {
    match kind {
        SpecialKind::Zero => Some(vec![0; len]),
        SpecialKind::Nan => Some(f32::NAN.to_le_bytes().repeat(len / TYPESIZE)),
        _ => None,
    }
}

/// Checks what C-Blosc2 sees: the totals, and the content of the first, the last and some other chunks.
fn check(worker: &mut Worker, path: &Path, kind: SpecialKind, lens: &dyn Fn(u64) -> usize, count: u64, told: &str) {
    let mut numbers: Vec<u64> = [0, 1, count / 2, count.wrapping_sub(2), count.wrapping_sub(1)].into();
    numbers.retain(|&i| i < count);
    let answer = worker.call("frame_edits.sample", json!({ "path": path, "chunks": numbers }), &[]);
    let nbytes: u64 = count.saturating_sub(1) * CHUNK as u64 + count.checked_sub(1).map_or(0, |last| lens(last) as u64);
    assert_eq!((&answer.value["nchunks"], &answer.value["nbytes"]), (&json!(count), &json!(nbytes)), "{told}");
    // Uninitialised chunks decode to whatever is in C-Blosc2's memory.
    assert!(answer.value["same_in_memory"] == true || kind == SpecialKind::Uninit, "{told}");
    for (i, found) in numbers.into_iter().zip(answer.blobs) {
        let expected = content(kind, lens(i)).unwrap_or_else(|| found.clone());
        assert!(found.len() == lens(i) && found == expected, "{told}, chunk {i}");
    }
}

#[test]
fn uniform_indexes_are_read() {
    let Some(mut worker) = Worker::start() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [path, saved] = ["written", "recovered"].map(|name| directory.path().join(name));
    for kind in [SpecialKind::Zero, SpecialKind::Nan, SpecialKind::Uninit] {
        for count in COUNTS {
            for short in [false, true] {
                // C-Blosc2 takes seconds to open it.
                if count > COUNTS[5] && (kind, short) != (SpecialKind::Nan, true) {
                    continue;
                }
                let chunks = count + u64::from(short);
                let len = |i: u64| if i == count { CHUNK / 2 } else { CHUNK };
                let told = format!("{count} chunks of {kind:?}, and a short one: {short}");
                write(&path, kind, count, short);
                let len_of_frame = fs::metadata(&path).expect("a file").len();
                assert!(len_of_frame < 300 + 4 * chunks.min(100) + chunks / 20, "{told}: {len_of_frame} bytes");
                check(&mut worker, &path, kind, &len, chunks, &told);
                recover(&path, &saved).unwrap_or_else(|e| panic!("{told}: {e}"));
                check(&mut worker, &saved, kind, &len, chunks, &format!("{told}, recovered"));
            }
        }
    }
}

/// One stored chunk in the middle and others appended by an editor make runs of entries.
#[test]
fn indexes_of_runs_are_read() {
    let Some(mut worker) = Worker::start() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("frame");
    for count in COUNTS.into_iter().filter(|&count| count > 2) {
        write(&path, SpecialKind::Zero, count, false);
        let mut editor =
            blocking::FrameEditor::with_options(&path, EditOptions::new().pool(&Pool::inline()).durable(false))
                .expect("a frame that was written");
        editor.update(count / 2, &[7; CHUNK]).expect("a chunk");
        editor.append(&[8; CHUNK + CHUNK / 2]).expect("a chunk and a half");
        editor.commit().expect("room");
        let numbers = [0, count / 2 - 1, count / 2, count / 2 + 1, count - 1, count, count + 1];
        let answer = worker.call("frame_edits.sample", json!({ "path": path, "chunks": numbers }), &[]);
        assert_eq!((&answer.value["nchunks"], &answer.value["same_in_memory"]), (&json!(count + 2), &json!(true)));
        let [zeros, sevens, eights] = [0, 7, 8].map(|byte| vec![byte; CHUNK]);
        let expected = [&zeros[..], &zeros, &sevens, &zeros, &zeros, &eights, &eights[..CHUNK / 2]];
        assert!(answer.blobs == expected, "{count} chunks");
    }
}

/// Chunks that no writer of a shared frame has written.
#[test]
fn sparse_indexes_of_chunks_that_nobody_wrote_are_read() {
    let Some(mut worker) = Worker::start() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (kind, missing) in [(SpecialKind::Zero, MissingChunks::Zero), (SpecialKind::Nan, MissingChunks::Nan)] {
        for count in COUNTS {
            let path: PathBuf = directory.path().join(format!("{kind:?}-{count}"));
            block_on(async {
                let place = Directory::new(&path).expect("room");
                let options = WriteOptions::new(encode()).chunk_size(CHUNK);
                let writer = SharedWriter::create(place, count * CHUNK as u64, options).await.expect("a plan");
                writer.commit(missing).await.expect("a frame");
            });
            check(&mut worker, &path, kind, &|_| CHUNK, count, &format!("{count} chunks of {kind:?}, sparse"));
        }
    }
}

/// Every commit to a place that others write to takes new file numbers, which C-Blosc2 compares with the bytes of all
/// chunks: small chunks and large numbers.
#[test]
fn sparse_frames_with_many_small_commits_are_read() {
    let Some(mut worker) = Worker::start() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("frame");
    let place = MemoryDirectory::new();
    block_on(async {
        let mut sink = WriteOptions::new(encode()).chunk_size(CHUNK).sink(PlaceTarget::new(place.clone()))?;
        sink.close().await
    })
    .expect("an empty frame");
    let commit = |data: &[u8]| {
        let mut editor =
            blocking::FrameEditor::sparse(place.clone(), EditOptions::new().pool(&Pool::inline()).chunk_size(CHUNK))?;
        editor.append(data)?;
        editor.commit()
    };
    for byte in 0..400 {
        commit(&[(byte % 7) as u8; TYPESIZE]).expect("room");
        if [0, 1, 30, 31, 32, 33, 100, 399].contains(&byte) {
            fs::create_dir(&path).expect("room");
            for (name, content) in place.files() {
                fs::write(path.join(name), content).expect("room");
            }
            let answer = worker.call("frame_edits.sample", json!({ "path": path, "chunks": [0] }), &[]);
            let expected: Vec<u8> = (0..=byte).flat_map(|byte| [(byte % 7) as u8; TYPESIZE]).collect();
            let (found, expected) = (&answer.blobs[0], &expected[..CHUNK.min(expected.len())]);
            let first = found.iter().zip(expected).position(|(a, b)| a != b);
            assert!(found == expected, "after {byte} commits: {} bytes, different from {first:?} on", found.len());
            fs::remove_dir_all(&path).expect("it is there");
        }
    }
    blocking::compact_place(place.clone()).expect("a place");
    assert!(place.files().len() < 400);
}
