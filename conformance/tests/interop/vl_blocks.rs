//! Chunks with blocks of variable length, both ways, through the C interface of C-Blosc2.

use oxiblosc::chunk::{ChunkContext, ChunkDecoder, ChunkEncoder};
use oxiblosc::{CodecId, Inline};
use serde_json::json;

use crate::arrays;
use crate::case::{CODECS, Case, PIPELINES, registry};
use crate::worker::Worker;

/// Calls `check` with settings and blocks.
fn each_case(mut check: impl FnMut(&Case, &[&[u8]])) {
    let faces = arrays::load("faces");
    let cut = |lengths: &[usize]| {
        let mut rest = &faces.bytes[..];
        let mut blocks = Vec::new();
        for &length in lengths {
            let (block, left) = rest.split_at(length);
            blocks.push(block);
            rest = left;
        }
        blocks
    };
    let many: Vec<usize> = (0..60).map(|i| 500 + 37 * i).collect();
    let shapes = [&[1][..], &[4], &[100_000], &[1, 1, 1], &[31, 32, 33, 8, 4096, 7, 1], &many];
    for lengths in shapes {
        let blocks = cut(lengths);
        for (_, codec) in CODECS {
            for filters in PIPELINES {
                for level in [1, 5, 9] {
                    for typesize in [1, 4, 8] {
                        let case = Case::new(codec, level, typesize, filters);
                        check(&case, &blocks);
                        if matches!(codec, CodecId::ZSTD | CodecId::LZ4 | CodecId::LZ4HC) && level == 5 {
                            check(&Case { dict: true, ..case }, &blocks);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn ours_to_python() {
    let Some(mut worker) = Worker::start() else { return };
    each_case(|case, blocks| {
        let told = || format!("{case:?}, {:?}", blocks.iter().map(|b| b.len()).collect::<Vec<_>>());
        let mut encoder = ChunkEncoder::new(&case.params(), registry()).expect("the plugins are linked");
        let chunk = encoder.encode_blocks(blocks, &ChunkContext::default(), &Inline);
        let chunk = chunk.unwrap_or_else(|e| panic!("{}: {e}", told()));
        let back = worker.try_call("vl_blocks.decompress", &json!({}), &[&chunk]);
        let back = back.unwrap_or_else(|e| panic!("{}: {e}", told())).blobs;
        assert!(back == blocks, "{}", told());
    });
}

#[test]
fn python_to_ours() {
    let Some(mut worker) = Worker::start() else { return };
    let mut decoder = ChunkDecoder::new(registry());
    each_case(|case, blocks| {
        // C-Blosc2 leaves the bytes of a block unwritten that do not fill a word of delta.
        if case.has_delta() && blocks.iter().any(|block| !block.len().is_multiple_of(case.typesize)) {
            return;
        }
        let told = || format!("{case:?}, {:?}", blocks.iter().map(|b| b.len()).collect::<Vec<_>>());
        let chunk = worker.call("vl_blocks.compress", json!({ "case": case.to_json() }), blocks).into_blob();
        let back = decoder.decode_blocks(&chunk, &ChunkContext::default());
        let back = back.unwrap_or_else(|e| panic!("{}: {e}", told()));
        assert!(back == blocks, "{}", told());
    });
}
