//! The plugins of this folder get along with each other and with the built-in ones, and have the ids that the table
//! reserves for them.

use std::collections::BTreeSet;
use std::fs;

use oxiblosc::Registry;

/// The registry of a program that links all of them.
fn linked() -> &'static Registry {
    oxiblosc_bitround::link();
    oxiblosc_brotli::link();
    oxiblosc_pco::link();
    oxiblosc_timestamps::link();
    Registry::linked().unwrap()
}

#[test]
fn all_of_them_link_together() {
    let problems: Vec<String> = linked().problems().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(linked().codec_by_name("zstd").is_ok(), "the built-in ones are there, too");
}

#[test]
fn the_table_of_ids_is_right() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let id: u8 = cells.next()?.parse().ok()?;
        Some(format!("{id} {} {}", cells.next()?, cells.next()?))
    });
    let rows: BTreeSet<String> = rows.collect();
    let ours = |provider: &str| !["oxiblosc-plugins", "oxiblosc-core"].contains(&provider);
    let codecs = linked().codecs().map(|entry| entry.info());
    let codecs = codecs.filter(|info| ours(info.provider.name)).map(|info| (info.id.0, "codec", info.name));
    let filters = linked().filters().map(|entry| entry.info());
    let filters = filters.filter(|info| ours(info.provider.name)).map(|info| (info.id.0, "filter", info.name));
    let registered: BTreeSet<String> =
        codecs.chain(filters).map(|(id, kind, name)| format!("{id} {kind} `{name}`")).collect();
    assert_eq!(rows, registered);
    assert_eq!(rows.len(), 4);
}
