//! Frames of awkward lengths, both ways, in memory and in files.

use std::fs;

use oxiblosc::{CodecId, FilterId};
use serde_json::json;
use tempfile::tempdir;

use crate::arrays;
use crate::case::{Case, PIPELINES, read_frame, write_frame};
use crate::worker::Worker;

/// Items of a chunk.
const CHUNK: usize = 1000;

/// Nothing, little, both sides of one and of several chunks.
const LENGTHS: [usize; 13] =
    [0, 1, 2, 31, 32, 33, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 5 * CHUNK - 1, 5 * CHUNK, 5 * CHUNK + 7];

const TYPESIZES: [usize; 6] = [1, 2, 4, 7, 8, 16];

/// Calls `check` with settings, the chunk size in bytes, and data of whole items: what else C-Blosc2 can read is seen
/// to with single chunks.
fn each_case(mut check: impl FnMut(&Case, usize, &[u8])) {
    let health = arrays::load("health");
    for typesize in TYPESIZES {
        for items in LENGTHS {
            for pipeline in PIPELINES {
                let case = Case::new(CodecId::LZ4, 5, typesize, pipeline);
                check(&case, CHUNK * typesize, &health.bytes[800_000..][..items * typesize]);
            }
        }
    }
}

#[test]
fn ours_to_python() {
    let Some(mut worker) = Worker::start() else { return };
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("ours.b2frame");
    each_case(|case, chunk_size, data| {
        let frame = write_frame(case, chunk_size, data);
        let told = || format!("{case:?}, {} bytes", data.len());
        let read = worker.call("frames.read", json!({}), &[&frame]);
        assert_eq!(read.value["nbytes"], data.len(), "{}", told());
        assert_eq!(read.value["typesize"], case.typesize, "{}", told());
        assert_eq!(read.value["nchunks"], data.len().div_ceil(chunk_size), "{}", told());
        assert!(read.into_blob() == data, "{}", told());

        fs::write(&path, &frame).expect("a file");
        let read = worker.call("frames.read_file", json!({ "path": path }), &[]);
        assert!(read.into_blob() == data, "{}, from a file", told());
    });
}

#[test]
fn python_to_ours() {
    let Some(mut worker) = Worker::start() else { return };
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("theirs.b2frame");
    each_case(|case, chunk_size, data| {
        let told = || format!("{case:?}, {} bytes", data.len());
        let mut settings = case.to_json();
        settings["chunksize"] = chunk_size.into();
        let written = worker.call("frames.write", json!({ "case": settings }), &[data]);
        let back = read_frame(&written.blobs[0]).unwrap_or_else(|e| panic!("{}: {e}", told()));
        assert!(back == data, "{}", told());

        let _ = fs::remove_file(&path);
        worker.call("frames.write", json!({ "case": settings, "path": path }), &[data]);
        let frame = fs::read(&path).expect("a file");
        let back = read_frame(&frame).unwrap_or_else(|e| panic!("{}, from a file: {e}", told()));
        assert!(back == data, "{}, from a file", told());
    });
}

/// C-Blosc2 reads our frames by blocks when it is asked for items.
#[test]
fn items_of_ours_read_by_python() {
    let Some(mut worker) = Worker::start() else { return };
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("ours.b2frame");
    let fmri = arrays::load("fmri");
    let data = &fmri.bytes[..50_000];
    for pipeline in [&[][..], &[(FilterId::SHUFFLE, 0)], &[(FilterId::BITSHUFFLE, 0)]] {
        let case = Case { block_size: Some(1024), ..Case::new(CodecId::ZSTD, 5, 2, pipeline) };
        fs::write(&path, write_frame(&case, 6000, data)).expect("a file");
        let ranges = [[0, 1], [511, 513], [2990, 3010], [0, 25_000], [24_999, 25_000], [7, 20_001]];
        let read = worker.call("frames.read_items", json!({ "path": path, "ranges": ranges }), &[]);
        for ([start, end], found) in ranges.into_iter().zip(read.blobs) {
            assert!(found == data[2 * start..2 * end], "{case:?}, items {start}..{end}");
        }
    }
}
