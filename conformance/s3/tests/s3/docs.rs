//! The commands of the README and of the book that need a server.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::blocks::{Block, blocks};
use crate::data;
use crate::pages::{book, markdown, root};
use crate::script::Shell;
use crate::server::{Server, variables};

fn needs_server(block: &Block) -> bool {
    block.has("s3")
}

/// Runs the blocks of a page against a server of its own, in a directory with these files.
fn run(page: &Path, prepare: fn(&Path)) {
    // s3s-fs fails where there is nothing yet, and the pages should not have to know.
    let Some(server) = Server::moto() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    prepare(directory.path());
    symlink(env!("CARGO_BIN_EXE_oxiblosc-command"), directory.path().join("oxiblosc")).expect("a link");
    let endpoint = server.endpoint();
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let shell = Shell {
        directory: directory.path().to_owned(),
        programs: vec![directory.path().to_owned()],
        variables: variables(&endpoint).into_iter().map(owned).collect(),
        // Where pages assume a server.
        replaced: vec![("http://localhost:9000".to_owned(), endpoint.clone())],
    };
    shell.run_page(page, needs_server);
}

#[test]
fn chapters() {
    let mut pages = 0;
    for page in markdown(&book()) {
        if blocks(&fs::read_to_string(&page).expect("a page")).iter().any(needs_server) {
            run(&page, data::for_chapter);
            pages += 1;
        }
    }
    assert!(pages > 0, "no chapter with commands was found");
}

#[test]
fn readme() {
    run(&root().join("README.md"), data::for_readme);
}
