//! Chunks of zeros whose length is no whole number of items, or whose items are long, in blocks of any size: what we
//! store for them C-Blosc2 reads, lazily from a file and from memory.

use std::fs;
use std::path::Path;

use oxiblosc::blocking::FrameReader;
use oxiblosc::chunk::{ChunkContext, ChunkEncoder, SpecialValue};
use oxiblosc::edit::EditOptions;
use oxiblosc::frame::{ChunkAddress, FrameParams, FrameType, FrameWriter, INDEX_FILE, chunk_file_name};
use oxiblosc::nd::ArrayOptions;
use oxiblosc::{EncodeParams, Inline, Pool, Registry, WriteOptions, blocking};
use serde_json::json;

use crate::worker::Worker;

/// Chunks of zeros beside others, a short one at the end, and one that has been made zeros later.
fn write(path: &Path, sparse: bool, typesize: usize, block_size: usize, len: usize) -> Vec<Vec<u8>> {
    let registry = Registry::linked().expect("the plugins are linked");
    let encode = EncodeParams { typesize, block_size: Some(block_size), level: 1, ..EncodeParams::default() };
    let mut encoder = ChunkEncoder::new(&encode, registry).expect("good parameters");
    // Streams and arrays are cut into chunks of whole items; other writers accept any length.
    let params = FrameParams::new(encode, len);
    let ramp: Vec<u8> = (0..len).map(|i| (i / 5) as u8).collect();
    let mut chunks = vec![vec![0; len], ramp.clone(), vec![0; len], ramp.clone(), ramp, vec![0; len / 2 + 1]];
    let encoded =
        chunks.iter().map(|chunk| encoder.encode(chunk, &ChunkContext::default(), &Inline).expect("any bytes"));
    if sparse {
        fs::create_dir(path).expect("room");
        let params = FrameParams { frame_type: FrameType::Sparse, ..params };
        let mut writer = FrameWriter::new(&params, registry).expect("good parameters");
        for chunk in encoded {
            if let Some(write) = writer.push(&chunk).expect("a good chunk") {
                let ChunkAddress::File(id) = write.address else { panic!("a sparse frame has files") };
                fs::write(path.join(chunk_file_name(id)), write.bytes(&chunk)).expect("room");
            }
        }
        fs::write(path.join(INDEX_FILE), writer.finish().expect("a good index")).expect("room");
    } else {
        let mut writer = FrameWriter::new(&params, registry).expect("good parameters");
        let mut frame = writer.header();
        for chunk in encoded {
            if let Some(write) = writer.push(&chunk).expect("a good chunk") {
                frame.extend_from_slice(write.bytes(&chunk));
            }
        }
        frame.extend(writer.finish().expect("a good index"));
        let header = writer.header();
        frame[..header.len()].copy_from_slice(&header);
        fs::write(path, frame).expect("room");
    }
    let mut editor = blocking::FrameEditor::with_options(path, EditOptions::new().pool(&Pool::inline()).durable(false))
        .expect("a current frame");
    editor.update_special(3, SpecialValue::Zero).expect("zeros have any length");
    editor.commit().expect("room");
    chunks[3] = vec![0; len];
    chunks
}

#[test]
fn zeros_that_are_no_whole_items() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut worker = Worker::start();
    for len in [33, 255, 4097, 100_001, 1_000_001, 10_000_001] {
        for (typesize, block_size) in [(2, 1), (2, 8), (3, 7), (8, 1), (8, 1024), (300, 1), (4, 32_768)] {
            // Ten million bytes through all of it take a while.
            if len > 2_000_000 && (typesize, block_size) != (2, 1) || len < typesize {
                continue;
            }
            for sparse in [false, true] {
                let told = format!("{len} bytes, items of {typesize}, blocks of {block_size}, sparse: {sparse}");
                let path = directory.path().join(format!("{len}-{typesize}-{block_size}-{sparse}.b2frame"));
                let chunks = write(&path, sparse, typesize, block_size, len);
                let reader = FrameReader::open(&path).unwrap_or_else(|e| panic!("{told}: {e}"));
                for (i, chunk) in (0..).zip(&chunks) {
                    assert!(
                        reader.chunk(i).unwrap_or_else(|e| panic!("{told}: {e}")) == chunk[..],
                        "{told}: chunk {i}"
                    );
                }
                let stored = reader.encoded_chunk(3).expect("it has been read").len();
                assert!(stored <= 32 + (1 << 10).max(len / 32), "{told}: {stored} bytes");
                if let Some(worker) = &mut worker {
                    let theirs = worker.call("frame_edits.chunks", json!({ "path": path }), &[]);
                    assert!(theirs.blobs == chunks, "{told}: C-Blosc2 sees something else");
                    assert_eq!(theirs.value["same_in_memory"], true, "{told}");
                }
            }
        }
    }
}

/// Items that one byte cannot count, and one that is longer than what is repeated for zeros.
#[test]
fn zeros_in_arrays_of_long_items() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let Some(mut worker) = Worker::start() else { return };
    for (item, blocks) in [(300, 2), (70_000, 1), (70_000, 2)] {
        for sequential in [false, true] {
            let path = directory.path().join(format!("{item}-{blocks}-{sequential}.b2nd"));
            let dtype = format!("|S{item}");
            let mut items = vec![0; 9 * item];
            items[4 * item] = b'x';
            let options = ArrayOptions::new([9], &dtype)
                .chunks([3])
                .blocks([blocks])
                .frame(WriteOptions::default().sequential(sequential).pool(&Pool::inline()));
            let mut writer = blocking::NdWriter::create(&path, options).expect("good options");
            writer.push(items.clone().into()).expect("room");
            writer.finish().expect("room");
            let args = json!({ "path": path, "shape": [9], "dtype": dtype, "selections": [] });
            let answer = worker.call("nd.look", args, &[&items]);
            assert_eq!(answer.value["whole"], json!([[9], true, true, true]), "{item}, {blocks}, {sequential}");
        }
    }
}
