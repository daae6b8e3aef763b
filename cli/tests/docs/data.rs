//! The files that commands of the pages work on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pages::root;

/// What each chapter of the book starts with.
pub(crate) fn for_chapter(directory: &Path) {
    fs::write(directory.join("fmri.npy"), array("fmri.npy")).expect("a file");
}

/// What the README talks of: `data.npy` are the images of a scan, `producer` writes the rows of a picture.
pub(crate) fn for_readme(directory: &Path) {
    let (scan, picture) = (array("fmri.npy"), array("disparity.npy"));
    let rows = &picture[picture.len() - 1_024_000..];
    let images = &scan[scan.len() - 1_179_648..];
    let write = |name: &str, bytes: &[u8]| fs::write(directory.join(name), bytes).expect("a file");
    write("data.npy", &npy("<i2", "48, 96, 128", images));
    write("today.npy", &npy("<i2", "5, 96, 128", &images[..5 * 96 * 128 * 2]));
    write("more.npy", &npy("<f4", "1000, 64", &rows[..256_000]));
    for half in ["half1.npy", "half2.npy"] {
        write(half, &npy("<i2", "24, 96, 128", &images[..images.len() / 2]));
    }
    write("rows", rows);
    write("data.csv", &b"time,value\n1,2\n".repeat(40_000));
    let zipped = Command::new("gzip").arg("data.csv").current_dir(directory).status();
    assert!(zipped.expect("gzip is there").success());
    program(directory, "producer", "cat rows");
    program(directory, "consumer", "cat > consumed");
}

/// A file with real data.
fn array(name: &str) -> Vec<u8> {
    fs::read(root().join("conformance/data/arrays").join(name)).expect("the array is in the repository")
}

/// A NumPy file of these items.
fn npy(dtype: &str, shape: &str, items: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape}), }}");
    header.push_str(&" ".repeat(63 - (header.len() + 10) % 64));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(items);
    file
}

/// A program of one line.
fn program(directory: &Path, name: &str, script: &str) {
    let path: PathBuf = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
}
