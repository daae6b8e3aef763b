//! The command on files that other writers made, back to C-Blosc 1.3.

use std::fs;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::args;
use crate::program::{run, vector_path};

/// The files of a folder of vectors, with their manifest entries.
fn vectors(folder: &str) -> Vec<Value> {
    let manifest = fs::read(vector_path(folder).join("manifest.json")).expect("the manifest is in the repository");
    let manifest: Value = serde_json::from_slice(&manifest).expect("the manifest is JSON");
    let vectors = manifest["vectors"].as_array().expect("the manifest lists vectors");
    vectors.clone()
}

fn check(folder: &str) {
    for vector in vectors(folder) {
        let file = vector["file"].as_str().expect("every vector has a file");
        let path = vector_path(folder).join(file);
        let info: Value = serde_json::from_slice(&run(args!["info", "--json", &path]).ok()).expect("JSON");
        let decoded = run(args!["cat", &path]).ok();
        assert_eq!(vector["nbytes"], decoded.len(), "{file}");
        // Some old files left their last bytes to chance.
        let (defined, digest) = match vector["compare_bytes"].as_u64() {
            Some(defined) => (defined as usize, &vector["sha256_of_first_compare_bytes"]),
            None => (decoded.len(), &vector["sha256"]),
        };
        let found: String = Sha256::digest(&decoded[..defined]).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(*digest, found, "{file}");
        assert_eq!(info["nbytes"], vector["nbytes"], "{file}");
        for (key, in_manifest) in
            [("shape", "shape"), ("chunkshape", "chunks"), ("blockshape", "blocks"), ("dtype", "dtype")]
        {
            if !vector[in_manifest].is_null() {
                assert_eq!(info[key], vector[in_manifest], "{file}");
            }
        }
        if let Some(nchunks) = vector["nchunks"].as_u64() {
            assert_eq!(info["nchunks"], nchunks, "{file}");
        }
        run(args!["verify", "--quiet", &path]).ok();
    }
}

#[test]
fn current() {
    check("current");
}

#[test]
fn legacy() {
    check("legacy");
}

#[test]
fn early() {
    check("early");
    let info = run(args!["info", "--json", vector_path("early/e87dd0af-lz4-50chunks.b2frame")]).ok();
    let info: Value = serde_json::from_slice(&info).expect("JSON");
    assert_eq!(info["kind"], "early-frame");
    assert_eq!(info["codec"]["name"], "lz4");
}

#[test]
fn samples() {
    check("samples");
    let info = run(args!["info", "--json", vector_path("samples/three.b2frame")]).ok();
    let info: Value = serde_json::from_slice(&info).expect("JSON");
    assert_eq!(info["meta"]["m"], "abc");
    assert_eq!(info["vlmeta"]["v"], 7);
}
