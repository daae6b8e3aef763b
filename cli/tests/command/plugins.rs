//! `oxiblosc plugins`.

use std::path::PathBuf;
use std::process::Output;
use std::{env, fs};

use serde_json::Value;
use tempfile::tempdir;

use crate::args;
use crate::program::{command, run};

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

/// A library that Cargo has put where it puts this test.
pub(crate) fn library(name: &str) -> PathBuf {
    let file = format!("{}blosc2_{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    env::current_exe().expect("this test").with_file_name(file)
}

#[test]
fn a_loaded_one_is_listed_and_used() {
    let dir = tempdir().expect("a directory");
    let (input, frame) = (dir.path().join("data"), dir.path().join("data.b2frame"));
    let data: Vec<u8> = (0..300_000).map(|i| (i / 1000) as u8).collect();
    fs::write(&input, &data).expect("a file");
    let (codec, filter) = (library("oxirle"), library("oxixor"));

    let text = String::from_utf8(run(args!["--plugin", &codec, "plugins"]).ok()).expect("text");
    assert!(text.contains("231  oxirle"), "{text}");
    assert!(text.contains("oxiblosc-example-codec"), "{text}");
    run(args![
        "compress", "-q", &input, &frame, "--codec", "oxirle", "--filter", "oxixor", "--plugin", &codec, "--plugin",
        &filter
    ])
    .ok();
    assert!(run(args!["cat", &frame, "--plugin", &codec, "--plugin", &filter, "--plugin", &codec]).ok() == data);
    let copy = dir.path().join("copy.b2frame");
    run(args!["recover", "-q", &frame, &copy, "--plugin", &codec, "--plugin", &filter]).ok();

    let with_variable = |args: &[&std::ffi::OsStr], libraries: &[&PathBuf]| -> Output {
        let list = env::join_paths(libraries).expect("paths without a separator");
        command(args).env("OXIBLOSC_PLUGINS", list).output().expect("the program runs")
    };
    let output = with_variable(&["cat".as_ref(), copy.as_ref()], &[&codec, &filter]);
    assert!(output.status.success() && output.stdout == data, "{}", String::from_utf8_lossy(&output.stderr));
    // An option may repeat what the environment has.
    let arguments = ["cat".as_ref(), copy.as_ref(), "--plugin".as_ref(), filter.as_ref()];
    assert!(with_variable(&arguments, &[&codec, &filter]).status.success());
    let missing = with_variable(&["plugins".as_ref()], &[&dir.path().join("none.so")]);
    let message = String::from_utf8_lossy(&missing.stderr);
    assert!(message.contains("none.so (in OXIBLOSC_PLUGINS): the plugin cannot be opened"), "{message}");

    let error = run(args!["cat", &frame]).bad_data();
    assert!(error.contains("no provider for filter 232"), "{error}");
}

#[test]
fn a_loaded_one_takes_parameters_and_info_shows_them() {
    let dir = tempdir().expect("a directory");
    let (input, frame) = (dir.path().join("data"), dir.path().join("data.b2frame"));
    let data: Vec<u8> = (0..300_000).map(|i| (i / 1000) as u8).collect();
    fs::write(&input, &data).expect("a file");
    let (codec, filter) = (library("oxirle"), library("oxixor"));
    let libraries = args!["--plugin", &codec, "--plugin", &filter];
    let with = |arguments: &[std::ffi::OsString]| run(arguments.iter().chain(&libraries));

    let text = String::from_utf8(with(&args!["plugins"]).ok()).expect("text");
    assert!(text.contains("key: what each byte"), "{text}");
    let compress = args!["compress", "-q", &input, &frame, "--codec", "oxirle:key=7", "--filter", "oxixor:steps=3"];
    with(&compress).ok();
    // The reader is not told; the frame is.
    assert!(with(&args!["cat", &frame]).ok() == data);
    assert!(with(&args!["cat", &frame, "--items", "1999:2002"]).ok() == data[1999..2002]);
    let text = String::from_utf8(with(&args!["info", &frame]).ok()).expect("text");
    assert!(text.contains("codec        oxirle:key=7\n"), "{text}");
    assert!(text.contains("filters      oxixor:steps=3\n"), "{text}");
    assert!(!text.contains("oxiblosc_plugins"), "{text}");
    let told: Value = serde_json::from_slice(&with(&args!["info", "--json", &frame]).ok()).expect("JSON");
    assert_eq!(told["codec"]["params"]["key"], "7");
    assert_eq!(told["filters"][0]["params"]["steps"], "3");

    // Only the codec, so that items are decoded alone.
    with(&args!["compress", "-q", &input, &frame, "--codec", "oxirle:key=9", "--filter", "none"]).ok();
    assert!(with(&args!["cat", &frame, "--items", "1999:2002"]).ok() == data[1999..2002]);
    let error = with(&args!["compress", "-q", &input, &frame, "--codec", "oxirle:key=256"]).bad_usage();
    assert!(error.contains("parameter key is \"256\", expected 0..=255"), "{error}");
}

#[test]
fn what_cannot_be_loaded_is_named() {
    let dir = tempdir().expect("a directory");
    let missing = dir.path().join("libblosc2_none.so");
    let error = run(args!["plugins", "--plugin", &missing]).bad_data();
    assert!(error.contains("libblosc2_none.so: the plugin cannot be opened: "), "{error}");

    let text = dir.path().join("text.so");
    fs::write(&text, "no library").expect("a file");
    let error = run(args!["plugins", "--plugin", &text]).bad_data();
    assert!(error.contains("text.so: the plugin cannot be loaded: "), "{error}");

    // The same plugin from another place: a clash.
    let codec = library("oxirle");
    let copy = dir.path().join("copy.so");
    fs::copy(&codec, &copy).expect("a copy");
    let error = run(args!["plugins", "--plugin", &codec, "--plugin", &copy]).bad_data();
    assert!(error.contains("copy.so: ") && error.contains("have the same id"), "{error}");

    let replaced = |name: &str, from: &[u8], by: &[u8]| {
        let mut bytes = fs::read(&codec).expect("a library");
        let places: Vec<_> = (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
        places.iter().for_each(|&at| bytes[at..at + by.len()].copy_from_slice(by));
        let path = dir.path().join(name);
        fs::write(&path, bytes).expect("a library");
        run(args!["plugins", "--plugin", path]).bad_data()
    };
    let error = replaced("other.so", b"oxiblosc_plugin\0", b"oxiblosc_plugim\0");
    assert!(error.contains("other.so: the library has no plugin for oxiblosc"), "{error}");
    let error = replaced("later.so", b"oxiblosc\x02\0\0\0", b"oxiblosc\x03\0\0\0");
    assert!(error.contains("later.so: the plugin has version 3 of the interface, expected 2"), "{error}");
}
