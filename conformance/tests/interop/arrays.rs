//! The real arrays of `data/arrays`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The bytes of an array in C order, and the size of its items.
pub(crate) struct Array {
    pub(crate) name: &'static str,
    pub(crate) typesize: usize,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) const NAMES: [&str; 5] = ["astronaut", "disparity", "faces", "fmri", "health"];

/// Where the arrays are.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/arrays")
}

/// Loads an array and checks it against the manifest.
pub(crate) fn load(name: &'static str) -> Array {
    let manifest = fs::read(directory().join("manifest.json")).expect("the manifest is in the repository");
    let manifest: Vec<Value> = serde_json::from_slice(&manifest).expect("the manifest is a list");
    let file = format!("{name}.npy");
    let entry = manifest.iter().find(|entry| entry["file"] == *file).expect("every array is in the manifest");
    let nbytes = entry["nbytes"].as_u64().expect("a number") as usize;
    let mut bytes = fs::read(directory().join(&file)).expect("the array is in the repository");
    // The payload of a .npy file is all that follows its header.
    bytes.drain(..bytes.len() - nbytes);
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(entry["sha256_payload"], digest, "{file}");
    let dtype = entry["dtype"].as_str().expect("a string");
    let typesize = dtype[2..].parse().expect("the dtype ends with the item size");
    Array { name, typesize, bytes }
}
