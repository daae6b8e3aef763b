//! Arrays exchanged with zarr-python, with its own codec `blosc` and with those of the Python package `oxiblosc`.
//!
//! `OXIBLOSC_TEST_PYTHON` names an interpreter that has both, as `.ci/python` makes one; without it nothing is tested.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use oxiblosc_zarrs::{Blosc2Codec, Blosc2Configuration, BloscCodec, BloscConfiguration};
use zarrs::array::{Array, ArrayBuilder, data_type};
use zarrs::filesystem::FilesystemStore;
use zarrs_codec::BytesToBytesCodecTraits;

/// What all arrays here hold.
const EXPECTED: &str = r#"
import sys, numpy as np, zarr
import oxiblosc.zarr
store, what, how = sys.argv[1:]
expected = (np.arange(1000 * 701) % 5003 * 0.25).reshape(1000, 701)
"#;

const WRITE: &str = r#"
if what == "blosc":
    cname, shuffle = how.split()
    # zarr.codecs.BloscCodec is numcodecs.
    codec = zarr.codecs.BloscCodec(cname=cname, shuffle=shuffle, clevel=5)
else:
    name, *filters = how.split()
    codec = oxiblosc.zarr.Blosc2Codec(codec=name, filters=filters, clevel=3)
with zarr.config.set({"codecs.blosc": "zarr.codecs.blosc.BloscCodec"}):
    array = zarr.create_array(store, shape=expected.shape, chunks=(300, 256), dtype="f8", compressors=codec)
    assert type(array.compressors[0]) is type(codec)
    array[...] = expected
"#;

const READ: &str = r#"
engines = ["zarr.codecs.blosc.BloscCodec", "oxiblosc.zarr.BloscCodec"] if what == "blosc" else [None]
for engine in engines:
    with zarr.config.set({"codecs.blosc": engine} if engine else {}):
        array = zarr.open_array(store, mode="r")
        found = array.compressors[0]
        name = f"{type(found).__module__}.{type(found).__name__}"
        assert name == (engine or "oxiblosc.zarr.Blosc2Codec"), name
        assert np.array_equal(array[...], expected)
        assert np.array_equal(array[299:302, ::77], expected[299:302, ::77])
"#;

fn values() -> Vec<f64> {
    (0..1000 * 701).map(|i| f64::from(i % 5003) * 0.25).collect()
}

#[track_caller]
fn python(python: &str, script: &str, store: &Path, what: &str, how: &str) {
    let mut command = Command::new(python);
    command.args(["-c", &format!("{EXPECTED}{script}")]).arg(store).args([what, how]);
    let output = command.output().expect("the interpreter starts");
    assert!(output.status.success(), "{what} {how}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An array from Python is read here, and one from here there.
fn exchanged(what: &str, how: &str, codec: Arc<dyn BytesToBytesCodecTraits>) {
    let Ok(interpreter) = std::env::var("OXIBLOSC_TEST_PYTHON") else {
        println!("skipped: OXIBLOSC_TEST_PYTHON is not set");
        return;
    };
    oxiblosc_zarrs::register();
    let directory = tempfile::tempdir().expect("a directory");
    let (theirs, ours) = (directory.path().join("theirs"), directory.path().join("ours"));
    python(&interpreter, WRITE, &theirs, what, how);
    let store = Arc::new(FilesystemStore::new(&theirs).expect("a store"));
    let array = Array::open(store, "/").expect("it opens");
    let found: Vec<f64> = array.retrieve_array_subset(&array.subset_all()).expect("it is read");
    assert!(found == values(), "{what} {how}");

    let store = Arc::new(FilesystemStore::new(&ours).expect("a store"));
    let mut builder = ArrayBuilder::new(vec![1000, 701], vec![300, 256], data_type::float64(), 0.0_f64);
    let array = builder.bytes_to_bytes_codecs(vec![codec]).build(store, "/").expect("an array");
    array.store_metadata().expect("it is stored");
    array.store_array_subset(&array.subset_all(), values()).expect("it is written");
    python(&interpreter, READ, &ours, what, how);
}

#[test]
fn blosc_of_zarr_python() {
    for (cname, shuffle) in [
        ("lz4", "shuffle"),
        ("lz4hc", "bitshuffle"),
        ("blosclz", "shuffle"),
        ("zlib", "noshuffle"),
        ("zstd", "bitshuffle"),
    ] {
        let json = serde_json::json!({"cname": cname, "clevel": 5, "shuffle": shuffle, "typesize": 8, "blocksize": 0});
        let configuration: BloscConfiguration = serde_json::from_value(json).expect("a configuration");
        let codec = BloscCodec::new(configuration).expect("a codec");
        exchanged("blosc", &format!("{cname} {shuffle}"), Arc::new(codec));
    }
}

#[test]
fn blosc2_of_the_python_package() {
    for (name, filters) in [("zstd", &["shuffle"][..]), ("lz4", &["delta", "bitshuffle"]), ("blosclz", &[])] {
        let configuration = Blosc2Configuration {
            codec: name.into(),
            filters: filters.iter().map(|&name| name.into()).collect(),
            typesize: Some(8),
            ..Blosc2Configuration::default()
        };
        let codec = Blosc2Codec::new(configuration).expect("a codec");
        exchanged("oxiblosc", &[&[name], filters].concat().join(" "), Arc::new(codec));
    }
}
