//! `oxiblosc plugins`.

use serde_json::Value;

use crate::args;
use crate::program::run;

#[test]
fn the_built_in_ones_are_listed() {
    let text = String::from_utf8(run(args!["plugins"]).ok()).expect("text");
    for name in ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd", "shuffle", "bitshuffle", "delta", "trunc_prec"] {
        assert!(text.split_whitespace().any(|word| word == name), "{name}");
    }
}

#[test]
fn the_list_as_json() {
    let list: Value = serde_json::from_slice(&run(args!["plugins", "--json"]).ok()).expect("JSON");
    let find = |kind: &str, name: &str| {
        let entries = list[kind].as_array().expect("a list");
        entries.iter().find(|entry| entry["name"] == name).cloned().expect("it is linked in")
    };
    assert_eq!(find("codecs", "zstd")["id"], 5);
    assert_eq!(find("codecs", "zstd")["range"], "blosc");
    assert_eq!(find("filters", "shuffle")["id"], 1);
    assert_eq!(find("filters", "shuffle")["provider"], "oxiblosc-plugins");
}
