//! Data sets out of packages that registries serve: `data/sets.tsv` says which, `data/fetch.py` gets them.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use crate::peer::c::venv;
use crate::workload::Role;
use crate::{Error, Result};

/// A line of `data/sets.tsv`.
#[derive(Debug)]
pub struct Entry {
    /// Name in tables and JSON.
    pub name: &'static str,
    /// What kind of data it is.
    pub kind: &'static str,
    /// Bytes of an item.
    pub typesize: usize,
    /// What it may be used for.
    pub role: Role,
    /// The package and its version.
    pub package: &'static str,
    /// What the data may be used under; an SPDX expression where there is one.
    pub licence: &'static str,
    /// Of the decoded items.
    sha256: &'static str,
}

/// All of them. A line that is not understood is left out, and the tests fail.
pub static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| lines().filter_map(entry).collect());

fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("../data/sets.tsv").lines().skip(1).filter(|line| !line.is_empty())
}

fn entry(line: &'static str) -> Option<Entry> {
    let mut cells = line.split('\t');
    let mut cell = || cells.next();
    let (name, kind, typesize, role) = (cell()?, cell()?, cell()?.parse().ok()?, cell()?);
    let (package, _form, licence, sha256) = (cell()?, cell()?, cell()?, cell()?);
    let role = Role::ALL.into_iter().find(|known| known.name() == role)?;
    Some(Entry { name, kind, typesize, role, package, licence, sha256 })
}

fn cache() -> Result<PathBuf> {
    Ok(venv::target_dir()?.join("bench-data"))
}

impl Entry {
    /// The file has its name only if its bytes have the digest.
    fn path(&self) -> Result<PathBuf> {
        let digest = self.sha256.get(..16).unwrap_or(self.sha256);
        Ok(cache()?.join(format!("{}-{digest}.bin", self.name)))
    }
}

/// Fetches those of the sets called `names` that are not there yet.
///
/// # Errors
/// When one cannot be fetched, or has other bytes than it should. The others have been fetched all the same.
pub fn fetch(names: &[&str]) -> Result<()> {
    let mut missing = Vec::new();
    for entry in ENTRIES.iter().filter(|entry| names.contains(&entry.name)) {
        if !entry.path()?.exists() {
            missing.push(entry.name);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/data/fetch.py");
    let status = Command::new(venv::python()?).arg(script).arg(cache()?).args(&missing).status().map_err(Error::new)?;
    if status.success() { Ok(()) } else { Err(Error::new(format!("{script} {}: {status}", missing.join(" ")))) }
}

/// The items of a set, which is fetched first when it is not there.
///
/// # Errors
/// As [`fetch`].
pub fn load(entry: &Entry) -> Result<Vec<u8>> {
    let path = entry.path()?;
    if !path.exists() {
        fetch(&[entry.name])?;
    }
    std::fs::read(&path).map_err(|e| Error::new(format!("{}: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood() {
        assert_eq!(ENTRIES.len(), lines().count());
        for entry in ENTRIES.iter() {
            assert!(entry.name.ends_with(&(entry.typesize * 8).to_string()), "{}", entry.name);
            assert!(entry.package.contains("==") && !entry.licence.is_empty(), "{}", entry.name);
            assert_eq!(entry.sha256.len(), 64, "{}", entry.name);
        }
    }

    #[test]
    fn there_are_enough_sets_of_both_roles() {
        let count = |role| ENTRIES.iter().filter(|entry| entry.role == role).count();
        assert!(count(Role::Tuned) >= 8 && count(Role::Held) >= 10);
    }
}
