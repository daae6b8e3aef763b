//! Every file that the documents name exists.

use std::fs;
use std::path::{Path, PathBuf};

/// What lies at the top and is not part of the sources.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// Files that exist only after the programs that the documents name have been run.
const GENERATED: [&str; 2] = ["docs/reliability/fuzz.tsv", "docs/book/book"];

/// What a path to a file ends with.
const SUFFIXES: [&str; 6] = ["rs", "md", "tsv", "toml", "txt", "py"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Adds the paths below `directory`, relative to `root` and with `/` between their parts.
fn list(root: &Path, directory: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("a readable directory").map(|entry| entry.expect("a readable entry")) {
        if directory == root && SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
            continue;
        }
        let path = entry.path();
        let parts: Vec<_> = path.strip_prefix(root).expect("a path below it").iter().collect();
        paths.push(parts.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"));
        if path.is_dir() {
            list(root, &path, paths);
        }
    }
}

/// Whether `word` can only be a path: it ends like a source file, or begins with the name of a directory at the top.
fn is_path(word: &str, top: &[&str]) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "./_-".contains(c));
    let file = word.rsplit_once('.').is_some_and(|(name, suffix)| !name.is_empty() && SUFFIXES.contains(&suffix));
    let below = word.split_once('/').is_some_and(|(first, _)| top.contains(&first));
    plain && (file || below)
}

/// The words of a document that may be paths: those in backticks, and all of those in blocks of text.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (i, part) in text.split("```").enumerate() {
        match i % 2 {
            0 => found.extend(part.split('`').skip(1).step_by(2)),
            _ => found.extend(part.split([' ', '\n', ',', '(', ')'])),
        }
    }
    found.into_iter().map(|word| word.trim_end_matches('/')).collect()
}

/// A path may be relative to the directory that its table or sentence is about, so the end of an existing path is
/// enough for it, unless it begins at the top.
#[test]
fn files_that_documents_name_exist() {
    let root = root();
    let mut paths = Vec::new();
    list(&root, &root, &mut paths);
    let top: Vec<&str> =
        paths.iter().map(String::as_str).filter(|path| !path.contains('/') && root.join(path).is_dir()).collect();
    let pages = paths.iter().filter(|path| match path.split_once('/') {
        None => ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"].contains(&path.as_str()),
        Some((first, page)) => first == "docs" && page.ends_with(".md") && !page.contains('/'),
    });
    let (mut missing, mut checked) = (Vec::new(), 0);
    for page in pages {
        let text = fs::read_to_string(root.join(page)).expect("a page of text");
        for word in words(&text).into_iter().filter(|word| is_path(word, &top)) {
            let from_top = word.split_once('/').is_some_and(|(first, _)| top.contains(&first) && first != "src");
            let exists = match from_top {
                true => paths.iter().any(|path| path == word),
                false => {
                    let end = format!("/{}", word.trim_start_matches("../"));
                    paths.iter().any(|path| path == word || path.ends_with(&end))
                }
            };
            checked += 1;
            if !exists && !GENERATED.contains(&word) {
                missing.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(missing.is_empty(), "{checked} paths, of which these do not exist:\n{}", missing.join("\n"));
    assert!(checked > 100, "only {checked} paths were found");
}
