//! Libraries that programs load, and those that they refuse.

use std::path::{Path, PathBuf};
use std::{env, fs};

use oxiblosc_conformance::{CodecCheck, FilterCheck};
use oxiblosc_core::chunk::{ChunkContext, ChunkEncoder, EncodeParams};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::registry::RegistryError;
use oxiblosc_core::{Chain, CodecId, FilterId, Inline, Registry};
use oxiblosc_export::{LoadError, load};

/// The library `name`, which Cargo has put where it puts this test.
fn library(name: &str) -> PathBuf {
    let file = format!("{}blosc2_{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    env::current_exe().unwrap().with_file_name(file)
}

fn registry() -> Registry {
    let mut registry = Registry::empty();
    for name in ["oxirle", "oxixor"] {
        load(library(name)).unwrap().register(&mut registry).unwrap();
    }
    registry
}

#[test]
fn what_is_loaded_keeps_its_promises() {
    let registry = registry();
    let codec = registry.codec_by_name("oxirle").unwrap().info();
    assert_eq!(codec.plugin().to_string(), "codec \"oxirle\" (id 231) of oxiblosc-example-codec 0.1.0");
    CodecCheck::new(&registry, codec.id).run().unwrap().assert_passed();
    let filter = registry.filter_by_name("oxixor").unwrap().info();
    assert!(filter.traits.keeps_zeros && !filter.traits.lossy);
    FilterCheck::new(&registry, filter.id).run().unwrap().assert_passed();
}

#[test]
fn a_panic_in_a_library_is_an_error() {
    let registry = registry();
    let codec =
        EncodeParams { codec: CodecId(231), codec_meta: 13, filters: FilterSlots::NONE, ..EncodeParams::default() };
    let mut filters = FilterSlots::single(FilterId(232));
    filters.0[5].meta = 13;
    let filter = EncodeParams { codec: CodecId(231), filters, ..EncodeParams::default() };
    for (params, message) in [(codec, "panicked: thirteen on writing"), (filter, "panicked: thirteen")] {
        let src: Vec<u8> = (0..1000).map(|i| i as u8).collect();
        let mut encoder = ChunkEncoder::new(&params, &registry).unwrap();
        for _ in 0..2 {
            let error = encoder.encode(&src, &ChunkContext::default(), &Inline).unwrap_err();
            assert!(Chain(&error).to_string().contains(message), "{}", Chain(&error));
        }
    }
}

#[test]
fn a_library_is_loaded_as_often_as_one_likes_and_registered_once() {
    let mut registry = registry();
    let again = load(library("oxirle")).unwrap();
    let error = again.register(&mut registry).unwrap_err();
    assert!(matches!(error, RegistryError::Clash(_)), "{error}");
    assert!(error.to_string().contains("have the same id"), "{error}");
}

#[test]
fn what_is_no_plugin_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = load(folder.path().join("libblosc2_none.so")).unwrap_err();
    assert!(matches!(missing, LoadError::File(_)), "{missing}");

    let text = folder.path().join("text.so");
    fs::write(&text, "no library").unwrap();
    let error = load(&text).unwrap_err();
    assert!(matches!(error, LoadError::Library(_)), "{error}");

    let other = copy(folder.path(), "oxirle", "other.so", b"oxiblosc_plugin\0", b"oxiblosc_plugim\0");
    assert!(matches!(load(other), Err(LoadError::NoPlugin)));
}

#[test]
fn another_version_of_the_interface_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["oxirle", "oxixor"] {
        let later = copy(folder.path(), name, name, b"oxiblosc\x02\0\0\0", b"oxiblosc\x07\0\0\0");
        let error = load(later).unwrap_err();
        assert!(matches!(error, LoadError::Version { found: 7, expected: 2 }), "{error}");
    }
}

/// A copy of a library with some bytes replaced, wherever they are.
fn copy(folder: &Path, name: &str, to: &str, from: &[u8], by: &[u8]) -> PathBuf {
    let mut bytes = fs::read(library(name)).unwrap();
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, w)| *w == from).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "{name} has what is to be replaced");
    places.into_iter().for_each(|at| bytes[at..at + by.len()].copy_from_slice(by));
    let path = folder.join(to);
    fs::write(&path, bytes).unwrap();
    path
}
