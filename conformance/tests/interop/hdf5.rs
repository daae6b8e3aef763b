//! Chunks inside HDF5 files: written by h5py and decoded here, and the other way round.

use oxiblosc::FilterId;
use oxiblosc::chunk::ChunkFormat;
use serde_json::{Value, json};

use crate::arrays;
use crate::case::{CODECS, Case, decode, read_array, write_frame};
use crate::grid::Grid;
use crate::worker::Worker;

const FILTERS: [&[(FilterId, u8)]; 3] = [&[], &[(FilterId::SHUFFLE, 0)], &[(FilterId::BITSHUFFLE, 0)]];

/// Calls `check` with the plugin ("blosc" or "blosc2"), settings for this side, settings for the other, the layout of
/// the data set and its data.
fn each_case(mut check: impl FnMut(&str, &Case, &Value, &Grid, &[u8])) {
    let data = |name, len: usize| arrays::load(name).bytes[..len].to_vec();
    // One dimension, several, chunks that do and do not divide the shape.
    let sets = [
        ("<i2", Grid { shape: vec![30_000], chunks: vec![7_000], item_size: 2 }, data("fmri", 60_000)),
        ("<i2", Grid { shape: vec![48, 32, 16], chunks: vec![16, 32, 8], item_size: 2 }, data("fmri", 49_152)),
        ("<f8", Grid { shape: vec![50, 25, 25], chunks: vec![13, 25, 10], item_size: 8 }, data("faces", 250_000)),
        ("<f4", Grid { shape: vec![100, 133], chunks: vec![33, 40], item_size: 4 }, data("disparity", 53_200)),
    ];
    for plugin in ["blosc", "blosc2"] {
        for (codec_name, codec) in CODECS {
            for (shuffle, filters) in FILTERS.into_iter().enumerate() {
                for level in [1, 9] {
                    for (dtype, grid, data) in &sets {
                        let mut case = Case::new(codec, level, grid.item_size, filters);
                        if plugin == "blosc" {
                            case.format = ChunkFormat::Blosc1;
                        }
                        let settings = json!({
                            "plugin": plugin, "codec": codec_name, "level": level, "shuffle": shuffle,
                            "dtype": dtype, "shape": grid.shape, "chunks": grid.chunks,
                        });
                        check(plugin, &case, &settings, grid, data);
                    }
                }
            }
        }
    }
}

#[test]
fn h5py_to_ours() {
    let Some(mut worker) = Worker::start() else { return };
    each_case(|plugin, _, settings, grid, data| {
        let written = worker.call("hdf5.write", json!({ "settings": settings }), &[data]);
        let places: Vec<(Vec<usize>, u32)> = serde_json::from_value(written.value).expect("offsets and masks");
        assert_eq!(places.len(), grid.offsets().len());
        let mut back = vec![0; data.len()];
        for ((offset, mask), chunk) in places.iter().zip(&written.blobs) {
            let decoded = match plugin {
                _ if *mask != 0 => Ok(chunk.clone()),
                "blosc" => decode(chunk),
                _ => read_array(chunk),
            };
            let decoded = decoded.unwrap_or_else(|e| panic!("{settings}: chunk at {offset:?}: {e}"));
            grid.place(&mut back, offset, &decoded);
        }
        assert!(back == data, "{settings}");
    });
}

#[test]
fn ours_to_h5py() {
    let Some(mut worker) = Worker::start() else { return };
    each_case(|plugin, case, settings, grid, data| {
        let offsets = grid.offsets();
        let encode = |chunk: &[u8]| match plugin {
            "blosc" => case.encode(chunk),
            _ => write_frame(case, chunk.len(), chunk),
        };
        let chunks: Vec<_> = offsets.iter().map(|offset| encode(&grid.cut(data, offset))).collect();
        let chunks: Vec<_> = chunks.iter().map(Vec::as_slice).collect();
        let args = json!({ "settings": settings, "offsets": offsets });
        let back = worker.try_call("hdf5.read", &args, &chunks);
        let back = back.unwrap_or_else(|e| panic!("{settings}: {e}")).into_blob();
        assert!(back == data, "{settings}");
    });
}
