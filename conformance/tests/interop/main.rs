//! Both ways against the reference implementations: what is written here opens there, what is written there opens here.
//!
//! The Python packages are installed into a virtual environment under `target/` on first use. Without Python the
//! tests are skipped and say so; with `CI=true` that is a failure.

mod arrays;
mod blosc1;
mod case;
mod chunk_lengths;
mod commits;
mod environment;
#[cfg(unix)]
mod exported;
mod frame_edits;
mod frame_lengths;
mod generated;
mod grid;
mod hdf5;
mod integrity;
mod kit;
mod matrix;
mod nd;
mod nd_codecs;
mod odd_zeros;
mod random;
mod shared;
mod uniform_index;
mod vl_blocks;
mod worker;
mod zarr;

use serde_json::json;
use worker::Worker;

#[test]
fn the_reference_is_the_pinned_version() {
    let Some(mut worker) = Worker::start() else { return };
    let versions = worker.call("chunks.versions", json!({}), &[]).value;
    assert_eq!(versions["python"], "4.14.1");
}

#[test]
fn the_reference_reads_back_what_it_writes() {
    let Some(mut worker) = Worker::start() else { return };
    for name in arrays::NAMES {
        let array = arrays::load(name);
        let case = json!({ "codec": 5, "level": 1, "typesize": array.typesize, "filters": [[1, 0]] });
        let chunk = worker.call("chunks.compress", json!({ "case": case }), &[&array.bytes]);
        assert_eq!(chunk.value, true, "{}", array.name);
        let back = worker.call("chunks.decompress", json!({}), &[&chunk.into_blob()]).into_blob();
        assert!(back == array.bytes, "{}", array.name);
    }
}
