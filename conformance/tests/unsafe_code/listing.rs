//! The list as a page.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::scan::{Kind, Site};

/// The page that lists `sites`, by file; `place` says what a file's unsafe code is for.
pub(crate) fn listing(sites: &[(String, Vec<Site>)], place: impl Fn(&str) -> Option<&'static str>) -> String {
    let mut page = String::from(
        "# Unsafe code\n\n\
         Every `unsafe` of the repository and what proves it; of functions and traits, what they ask for. A test compares\n\
         this page with the sources, and `OXIBLOSC_UPDATE=1 cargo test -p oxiblosc-conformance --test unsafe_code` writes it.\n\n",
    );
    let _ = writeln!(page, "{}", totals(sites));
    for (file, sites) in sites {
        let _ =
            write!(page, "\n## {file}\n\n{}\n\n| item | kind | proof |\n|---|---|---|\n", place(file).unwrap_or("?"));
        for Site { kind, item, proof, .. } in sites {
            let _ = writeln!(page, "| `{item}` | {kind} | {} |", proof.replace('|', "\\|"));
        }
    }
    page
}

/// How many there are of each kind, in one line.
pub(crate) fn totals(sites: &[(String, Vec<Site>)]) -> String {
    let mut counts = BTreeMap::new();
    sites.iter().flat_map(|(_, sites)| sites).for_each(|site| *counts.entry(site.kind.to_string()).or_insert(0) += 1);
    let of = |kind: Kind| counts.get(&kind.to_string()).copied().unwrap_or(0);
    format!(
        "unsafe: blocks={} functions={} implementations={} traits={} attributes={} files={}",
        of(Kind::Block),
        of(Kind::Function),
        of(Kind::Impl),
        of(Kind::Trait),
        of(Kind::Attribute),
        sites.len()
    )
}
