//! The commands of the README and of the book.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::blocks::{Block, blocks};
use crate::data;
use crate::pages::{book, markdown, name, root};
use crate::script::Shell;

/// Blocks for a shell that need nothing but the program.
fn is_local(block: &Block) -> bool {
    !block.has("s3") && !block.has("norun")
}

fn shell(directory: &TempDir) -> Shell {
    let program = Path::new(env!("CARGO_BIN_EXE_oxiblosc")).parent().expect("a folder").to_owned();
    Shell {
        directory: directory.path().to_owned(),
        programs: vec![directory.path().to_owned(), program],
        variables: Vec::new(),
        replaced: Vec::new(),
    }
}

#[test]
fn chapters() {
    let mut pages = 0;
    for page in markdown(&book()) {
        if !blocks(&fs::read_to_string(&page).expect("a page")).iter().any(|block| block.is("sh") && is_local(block)) {
            continue;
        }
        let directory = tempfile::tempdir().expect("a directory");
        data::for_chapter(directory.path());
        shell(&directory).run_page(&page, is_local);
        pages += 1;
    }
    assert!(pages >= 5, "only {pages} chapters with commands were found");
}

#[test]
fn readme() {
    let directory = tempfile::tempdir().expect("a directory");
    data::for_readme(directory.path());
    shell(&directory).run_page(&root().join("README.md"), is_local);
    let consumed = fs::metadata(directory.path().join("consumed")).expect("the consumer ran");
    assert!(consumed.len() > 100_000);
}

/// Nothing is left out by accident: a block runs, or a comment above it says why not.
#[test]
fn reasons() {
    let mut pages = markdown(&book());
    pages.push(root().join("README.md"));
    for page in pages {
        for block in blocks(&fs::read_to_string(&page).expect("a page")) {
            let at = format!("{}:{}", name(&page), block.line);
            let language = block.info.first().map_or("", String::as_str);
            assert!(!["bash", "shell", "console", ""].contains(&language), "{at}: a block for a shell is called `sh`");
            if block.is("sh") {
                assert_eq!(block.has("norun"), block.reason().is_some(), "{at}: `norun` needs a reason, and no other");
                let known = |word: &String| ["norun", "s3", "fails"].contains(&word.as_str());
                assert!(block.info.iter().skip(1).all(known), "{at}: {:?}", block.info);
            }
        }
    }
}
