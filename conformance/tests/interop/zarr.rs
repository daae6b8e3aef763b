//! Zarr stores with the blosc codec, of both versions: written by zarr-python and decoded here chunk by chunk, and the
//! other way round.

use oxiblosc::FilterId;
use oxiblosc::chunk::ChunkFormat;
use serde_json::{Value, json};

use crate::arrays;
use crate::case::{CODECS, Case, decode};
use crate::grid::Grid;
use crate::worker::Worker;

const SHUFFLES: [(&str, &[(FilterId, u8)]); 3] =
    [("noshuffle", &[]), ("shuffle", &[(FilterId::SHUFFLE, 0)]), ("bitshuffle", &[(FilterId::BITSHUFFLE, 0)])];

fn each_case(mut check: impl FnMut(&Case, &Value, &Grid, &[u8])) {
    let health = arrays::load("health");
    let grid = Grid { shape: vec![10, 2019], chunks: vec![4, 500], item_size: 8 };
    let data = &health.bytes[..grid.nbytes()];
    for format in [2, 3] {
        for (codec_name, codec) in CODECS {
            for (shuffle, filters) in SHUFFLES {
                for level in [1, 5, 9] {
                    let case = Case { format: ChunkFormat::Blosc1, ..Case::new(codec, level, grid.item_size, filters) };
                    let settings = json!({
                        "format": format, "codec": codec_name, "level": level, "shuffle": shuffle,
                        "dtype": "<f8", "shape": grid.shape, "chunks": grid.chunks,
                    });
                    check(&case, &settings, &grid, data);
                }
            }
        }
    }
}

/// Where a chunk is: `1.2` in version 2, `c/1/2` in version 3.
fn offset(key: &str, grid: &Grid) -> Vec<usize> {
    let key = key.strip_prefix("c/").unwrap_or(key);
    let numbers = key.split(['.', '/']).map(|number| number.parse::<usize>().expect("the key of a chunk"));
    numbers.zip(&grid.chunks).map(|(number, chunk)| number * chunk).collect()
}

fn key(offset: &[usize], grid: &Grid, format: &Value) -> String {
    let numbers: Vec<_> = offset.iter().zip(&grid.chunks).map(|(start, chunk)| (start / chunk).to_string()).collect();
    if *format == 2 { numbers.join(".") } else { format!("c/{}", numbers.join("/")) }
}

#[test]
fn zarr_to_ours() {
    let Some(mut worker) = Worker::start() else { return };
    each_case(|_, settings, grid, data| {
        let written = worker.call("zarr_store.write", json!({ "settings": settings }), &[data]);
        let keys: Vec<String> = serde_json::from_value(written.value).expect("keys are text");
        assert_eq!(keys.len(), grid.offsets().len());
        let mut back = vec![0; data.len()];
        for (key, chunk) in keys.iter().zip(&written.blobs) {
            let decoded = decode(chunk).unwrap_or_else(|e| panic!("{settings}: chunk {key}: {e}"));
            grid.place(&mut back, &offset(key, grid), &decoded);
        }
        assert!(back == data, "{settings}");
    });
}

#[test]
fn ours_to_zarr() {
    let Some(mut worker) = Worker::start() else { return };
    each_case(|case, settings, grid, data| {
        let offsets = grid.offsets();
        let keys: Vec<_> = offsets.iter().map(|offset| key(offset, grid, &settings["format"])).collect();
        let chunks: Vec<_> = offsets.iter().map(|offset| case.encode(&grid.cut(data, offset))).collect();
        let chunks: Vec<_> = chunks.iter().map(Vec::as_slice).collect();
        let back = worker.try_call("zarr_store.read", &json!({ "settings": settings, "keys": keys }), &chunks);
        let back = back.unwrap_or_else(|e| panic!("{settings}: {e}")).into_blob();
        assert!(back == data, "{settings}");
    });
}
