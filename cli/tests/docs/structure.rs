//! What mdBook would complain about, or silently leave out.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::pages::{book, markdown, name};

/// The chapters that the table of contents names.
fn chapters() -> Vec<PathBuf> {
    let summary = fs::read_to_string(book().join("SUMMARY.md")).expect("the table of contents");
    let of = |line: &str| {
        let (_, link) = line.split_once("](")?;
        Some(book().join(link.strip_suffix(')')?))
    };
    summary.lines().filter_map(of).collect()
}

#[test]
fn every_page_is_a_chapter() {
    let chapters = chapters();
    let named: BTreeSet<&PathBuf> = chapters.iter().collect();
    assert_eq!(named.len(), chapters.len(), "a chapter is named twice");
    let pages = markdown(&book());
    let there: BTreeSet<&PathBuf> = pages.iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(there, named);
}

/// Each page has one title, and no page of ours has code blocks without a language.
#[test]
fn titles() {
    for page in chapters() {
        let text = crate::pages::shown(&page);
        let mut fenced = false;
        let titles = text.lines().filter(|line| {
            fenced ^= line.starts_with("```");
            !fenced && line.starts_with("# ")
        });
        assert_eq!(titles.count(), 1, "{}", name(&page));
    }
}

/// Each chapter with Rust in it is among the documentation tests of the facade.
#[test]
fn snippets_are_tested() {
    let facade = fs::read_to_string(book().join("../../../src/lib.rs")).expect("the facade");
    for page in chapters() {
        let text = fs::read_to_string(&page).expect("a chapter");
        let file = page.strip_prefix(book()).expect("a page of the book").display().to_string();
        let tested = facade.contains(&format!("docs/book/src/{file}\")]"));
        assert_eq!(text.contains("```rust"), tested, "{file}");
    }
}
