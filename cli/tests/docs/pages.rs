//! The pages of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Where pages call the repository.
pub(crate) const REPOSITORY: &str = "https://github.com/oxiblosc/oxiblosc/";

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    // More than one package runs these tests.
    let root = package.ancestors().find(|folder| folder.join("docs/book").is_dir());
    root.expect("the package is in the repository").to_owned()
}

/// The sources of the book.
pub(crate) fn book() -> PathBuf {
    root().join("docs/book/src")
}

/// Markdown files below a folder, those of build outputs and of other people left out.
pub(crate) fn markdown(folder: &Path) -> Vec<PathBuf> {
    const NOT_OURS: [&str; 4] = ["target", "data", "node_modules", "book/book"];
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let entry = entry.expect("the folder can be read");
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            // Not through links: a target directory may be one.
            let kind = entry.file_type().expect("a file or folder");
            if kind.is_dir() && !hidden && !NOT_OURS.iter().any(|name| path.ends_with(name)) {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A page as it is shown: with the pages that it includes.
pub(crate) fn shown(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let included = |line: &str| {
        let file = line.strip_prefix("{{#include ")?.strip_suffix("}}")?;
        Some(shown(&path.with_file_name(file)))
    };
    text.lines().map(|line| included(line).unwrap_or_else(|| format!("{line}\n"))).collect()
}

/// The name of a page in messages.
pub(crate) fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
