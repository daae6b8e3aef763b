//! Chunks of Blosc 1, both ways, against python-blosc and numcodecs, which carry different copies of C-Blosc.

use oxiblosc::FilterId;
use oxiblosc::chunk::ChunkFormat;
use serde_json::json;

use crate::arrays;
use crate::case::{CODECS, Case, decode};
use crate::worker::Worker;

/// Blosc 1 stores what is shorter than 128 bytes, and bit-shuffles only whole eights of items.
const LENGTHS: [usize; 14] = [0, 1, 7, 16, 127, 128, 129, 1000, 1001, 1024, 1027, 8191, 8192, 30_000];

const LEVELS: [u8; 4] = [0, 1, 5, 9];

/// Filters by the numbers of Blosc 1: none, shuffle, bit shuffle.
const FILTERS: [&[(FilterId, u8)]; 3] = [&[], &[(FilterId::SHUFFLE, 0)], &[(FilterId::BITSHUFFLE, 0)]];

#[test]
fn python_to_ours() {
    let Some(mut worker) = Worker::start() else { return };
    let fmri = arrays::load("fmri");
    for by in ["blosc", "numcodecs"] {
        for (codec, _) in CODECS {
            let mut cases = Vec::new();
            let mut data = Vec::new();
            for shuffle in 0..3 {
                // numcodecs takes the size from the type of a buffer and knows only those.
                let typesizes: &[usize] = if by == "blosc" { &[1, 2, 3, 4, 8, 16, 17, 100] } else { &[1, 2, 4, 8] };
                for &typesize in typesizes {
                    for level in LEVELS {
                        for blocksize in [0, 1 << 10] {
                            for length in LENGTHS {
                                let whole = if by == "blosc" { length } else { length / typesize * typesize };
                                // Neither library takes a buffer of nothing.
                                if whole > 0 {
                                    cases.push(json!({
                                        "by": by, "codec": codec, "level": level, "shuffle": shuffle,
                                        "typesize": typesize, "blocksize": blocksize,
                                    }));
                                    data.push(&fmri.bytes[200_000..][..whole]);
                                }
                            }
                        }
                    }
                }
            }
            let chunks = worker.call("blosc1.compress_each", json!({ "cases": cases }), &data).blobs;
            for ((case, data), chunk) in cases.iter().zip(data).zip(chunks) {
                let told = || format!("{case}, {} bytes", data.len());
                let back = decode(&chunk).unwrap_or_else(|e| panic!("{}: {e}", told()));
                assert!(back == data, "{}", told());
            }
        }
    }
}

#[test]
fn ours_to_python() {
    let Some(mut worker) = Worker::start() else { return };
    let fmri = arrays::load("fmri");
    for (_, codec) in CODECS {
        for filters in FILTERS {
            let mut cases = Vec::new();
            let mut chunks = Vec::new();
            for typesize in [1, 2, 3, 4, 8, 16, 17, 100] {
                for level in LEVELS {
                    for block_size in [None, Some(1 << 10)] {
                        for length in LENGTHS {
                            let case = Case {
                                format: ChunkFormat::Blosc1,
                                block_size,
                                ..Case::new(codec, level, typesize, filters)
                            };
                            let data = &fmri.bytes[200_000..][..length];
                            let chunk = case.encode(data);
                            assert!(decode(&chunk).as_deref() == Ok(data), "{case:?}, {length} bytes, here");
                            // Neither library takes a chunk of nothing for one.
                            if !data.is_empty() {
                                cases.push((case, data));
                                chunks.push(chunk);
                            }
                        }
                    }
                }
            }
            let chunks: Vec<_> = chunks.iter().map(Vec::as_slice).collect();
            let back = worker.call("blosc1.decompress_each", json!({}), &chunks).blobs;
            for ((case, data), back) in cases.iter().zip(back) {
                assert!(back == *data, "{case:?}, {} bytes", data.len());
            }
        }
    }
}
