//! Chunks of awkward lengths, both ways.

use serde_json::json;

use crate::arrays;
use crate::case::{CODECS, Case, PIPELINES, decode};
use crate::worker::Worker;

const BLOCK: usize = 4096;

/// Empty, single bytes, the length below which nothing is compressed, and both sides of one and of many blocks.
const LENGTHS: [usize; 18] = [
    0,
    1,
    2,
    7,
    8,
    15,
    31,
    32,
    33,
    127,
    1000,
    BLOCK - 1,
    BLOCK,
    BLOCK + 1,
    2 * BLOCK + 31,
    5 * BLOCK - 1,
    5 * BLOCK,
    5 * BLOCK + 1,
];

const TYPESIZES: [usize; 8] = [1, 2, 3, 4, 7, 8, 16, 32];

/// Calls `check` with settings, a name for them, and data, for all lengths, type sizes, codecs and pipelines.
fn each_case(mut check: impl FnMut(&[Case], &[&[u8]])) {
    let fmri = arrays::load("fmri");
    for (_, codec) in CODECS {
        for pipeline in PIPELINES {
            // One request for all of these.
            let mut cases = Vec::new();
            let mut data = Vec::new();
            for typesize in TYPESIZES {
                for length in LENGTHS {
                    for block_size in [None, Some(BLOCK / typesize * typesize)] {
                        cases.push(Case { block_size, ..Case::new(codec, 5, typesize, pipeline) });
                        data.push(&fmri.bytes[100_000..][..length]);
                    }
                }
            }
            check(&cases, &data);
        }
    }
}

#[test]
fn ours_to_python() {
    let Some(mut worker) = Worker::start() else { return };
    each_case(|cases, data| {
        let chunks: Vec<_> = cases.iter().zip(data).map(|(case, data)| case.encode(data)).collect();
        let chunks: Vec<_> = chunks.iter().map(Vec::as_slice).collect();
        let back = worker.call("chunks.decompress_each", json!({}), &chunks).blobs;
        for ((case, data), back) in cases.iter().zip(data).zip(back) {
            assert!(back == *data, "{case:?}, {} bytes", data.len());
        }
    });
}

#[test]
fn python_to_ours() {
    let Some(mut worker) = Worker::start() else { return };
    each_case(|cases, data| {
        let args = json!({ "cases": cases.iter().map(Case::to_json).collect::<Vec<_>>() });
        let answer = worker.call("chunks.compress_each", args, data);
        for (i, chunk) in answer.blobs.iter().enumerate() {
            let (case, data) = (&cases[i], data[i]);
            if cannot_be_read(case, data.len()) {
                continue;
            }
            assert_eq!(answer.value[i], true, "C-Blosc2 reads its own chunk: {case:?}, {} bytes", data.len());
            let back = decode(chunk).unwrap_or_else(|e| panic!("{case:?}, {} bytes: {e}", data.len()));
            assert!(back == data, "{case:?}, {} bytes", data.len());
        }
    });
}

/// Chunks from which C-Blosc2 itself does not restore the data, except by chance.
fn cannot_be_read(case: &Case, length: usize) -> bool {
    // It leaves the last bytes of a block unwritten that do not fill a word of delta.
    // It stores the block size it was asked for, but cuts blocks at a multiple of the type size.
    let block_size = case.block_size.is_some_and(|size| size >= length);
    (case.has_delta() || block_size) && !length.is_multiple_of(case.typesize)
}
