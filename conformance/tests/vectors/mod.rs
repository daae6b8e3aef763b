//! What is in `data/vectors`: folders, each with a manifest.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use serde_json::Value;

const FOLDERS: [&str; 4] = ["current", "early", "legacy", "samples"];
/// What a vector can be; there is a test program for chunks and one for the others.
const KINDS: [&str; 4] = ["chunk", "cframe", "sframe", "b2nd"];

/// A vector: the folder it is in, and what the manifest there says of it.
#[derive(Debug, Clone)]
pub(crate) struct Vector {
    folder: &'static str,
    pub(crate) entry: Value,
}

impl Vector {
    /// Those of the kinds that are asked for.
    pub(crate) fn all(kind: impl Fn(&str) -> bool) -> Vec<Self> {
        FOLDERS.into_iter().flat_map(Self::in_folder).filter(|vector| kind(vector.text("kind"))).collect()
    }

    fn in_folder(folder: &'static str) -> Vec<Self> {
        let manifest = fs::read(directory(folder).join("manifest.json")).expect("the manifest is in the repository");
        let manifest: Value = serde_json::from_slice(&manifest).expect("the manifest is JSON");
        let entries = manifest["vectors"].as_array().expect("the manifest lists vectors");
        entries.iter().map(|entry| Self { folder, entry: entry.clone() }).collect()
    }

    /// Name of the test.
    pub(crate) fn name(&self) -> String {
        format!("{}::{}", self.folder, self.file())
    }

    pub(crate) fn file(&self) -> &str {
        self.text("file")
    }

    pub(crate) fn path(&self) -> PathBuf {
        directory(self.folder).join(self.file())
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.entry[key].as_str().unwrap_or_else(|| panic!("{key} of {}", self.entry))
    }
}

fn directory(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/vectors").join(folder)
}

/// Every file is a vector with a digest and a kind that some test program takes, and none is listed that is not there.
/// Together with the names that a test program ran, which must be those of its kinds, no vector stays untested.
pub(crate) fn nothing_is_left_out(tested: &BTreeSet<String>, kind: impl Fn(&str) -> bool) -> Result<(), Failed> {
    let folders: BTreeSet<_> = names(&directory(""))?.into_iter().filter(|name| !name.contains('.')).collect();
    if folders != BTreeSet::from(FOLDERS.map(String::from)) {
        return Err(format!("the folders are {folders:?}").into());
    }
    let mut expected = BTreeSet::new();
    for folder in FOLDERS {
        let vectors = Vector::in_folder(folder);
        let listed: BTreeSet<_> = vectors.iter().map(|vector| vector.file().to_owned()).collect();
        let mut found = names(&directory(folder))?;
        found.remove("manifest.json");
        if listed.len() != vectors.len() || listed != found {
            let other: Vec<_> = listed.symmetric_difference(&found).collect();
            return Err(format!("{folder}: either not in the manifest or not there: {other:?}").into());
        }
        for vector in vectors {
            let entry = &vector.entry;
            let digest = entry["sha256"].as_str().or_else(|| entry["sha256_of_first_compare_bytes"].as_str());
            if !KINDS.contains(&vector.text("kind")) || digest.is_none_or(|digest| digest.len() != 64) {
                return Err(format!("no test can take {entry}").into());
            }
            if kind(vector.text("kind")) {
                expected.insert(vector.name());
            }
        }
    }
    if *tested != expected {
        let other: Vec<_> = expected.symmetric_difference(tested).collect();
        return Err(format!("vectors and tests differ: {other:?}").into());
    }
    Ok(())
}

fn names(directory: &Path) -> Result<BTreeSet<String>, Failed> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        names.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}
