//! Files that take a filter that the program does not have.

use std::fs;
use std::path::Path;

use oxiblosc::chunk::EncodeParams;
use oxiblosc::filter::{BlockContext, Filter, FilterError, FilterTraits};
use oxiblosc::registry::FilterInfo;
use oxiblosc::{FilterId, FilterSlots, Inline, Registry, WriteOptions, blocking, provider};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::program::{info, run};

const CHUNK: usize = 10_000;
const NO_FILTER: &str = "no provider for filter 230 (user-defined, 160..255)";
const ADVICE: &str = "; --plugin loads it from a shared library, and `oxiblosc plugins` lists what is there\n";

/// Inverts every byte.
#[derive(Clone)]
struct Invert;

impl Filter for Invert {
    fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        dst.iter_mut().zip(src).for_each(|(d, s)| *d = !s);
        Ok(())
    }

    fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
        self.forward(ctx, src, dst)
    }
}

fn registry() -> Registry {
    let mut registry = Registry::linked().expect("plugins are linked").clone();
    let info = FilterInfo::new(FilterId(230), "invert", FilterTraits::LOSSLESS, provider!());
    registry.add_filter(info, Box::new(Invert)).expect("a free id");
    registry
}

pub(crate) fn params() -> EncodeParams {
    EncodeParams { filters: FilterSlots::single(FilterId(230)), ..EncodeParams::default() }
}

fn content() -> Vec<u8> {
    (0..3 * CHUNK).map(|i| (i / 50) as u8).collect()
}

/// Writes a frame of three chunks.
pub(crate) fn write(path: &Path, params: EncodeParams) {
    let options = WriteOptions::new(params).chunk_size(CHUNK).registry(&registry());
    let mut writer = blocking::FrameWriter::create(path, options).expect("a file");
    writer.push(content().into()).expect("room on the disk");
    writer.finish().expect("room on the disk");
}

#[test]
fn verify_says_so_and_exits_with_a_status_of_its_own() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("frame");
    write(&path, params());
    let told = run(args!["verify", &path]);
    assert_eq!((told.status, told.stdout.as_slice()), (3, &b""[..]), "{}", told.stderr);
    assert_eq!(told.stderr, format!("oxiblosc: {}: not verified: 3 of 3 chunks: {NO_FILTER}{ADVICE}", path.display()));
    assert_eq!(run(args!["verify", "--quiet", &path]).status, 3);

    // Checksums are of the bytes in the file.
    let options = WriteOptions::new(params()).chunk_size(CHUNK).checksums(true).registry(&registry());
    let mut writer = blocking::FrameWriter::create(&path, options).expect("a file");
    writer.push(content().into()).expect("room on the disk");
    writer.finish().expect("room on the disk");
    let told = run(args!["verify", &path]);
    assert!(told.status == 3 && told.stderr.ends_with(&format!("; all checksums match{ADVICE}")), "{}", told.stderr);

    let chunk = oxiblosc::compress_with(&content(), &params(), &registry(), &Inline).expect("a chunk");
    assert!(oxiblosc::decompress(&chunk, &Inline).is_err());
    let back = oxiblosc::decompress_with(&chunk, &registry(), &Inline).expect("the same registry");
    assert!(back == content());
    fs::write(&path, &chunk).expect("room on the disk");
    let told = run(args!["verify", &path]);
    assert_eq!(told.status, 3);
    assert_eq!(told.stderr, format!("oxiblosc: {}: not verified: {NO_FILTER}{ADVICE}", path.display()));

    // Damage is worse than something that is not known.
    write(&path, params());
    let mut bytes = fs::read(&path).expect("it has been written");
    bytes.truncate(bytes.len() - 100);
    fs::write(&path, bytes).expect("room on the disk");
    run(args!["verify", &path]).bad_data();
}

#[test]
fn a_filter_that_is_only_in_the_header_is_not_needed() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("frame");
    write(&path, EncodeParams { level: 0, ..params() });
    let said = String::from_utf8(run(args!["verify", &path]).ok()).expect("text");
    assert!(said.contains(": good, 3 chunks") && said.contains(NO_FILTER), "{said}");
}

#[test]
fn info_says_what_is_needed_and_what_is_missing() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("frame");
    write(&path, params());
    let said = String::from_utf8(run(args!["info", &path]).ok()).expect("text");
    assert!(said.contains(&format!("missing      {NO_FILTER}\n")), "{said}");
    let told = info(&path);
    let missing = json!({ "kind": "filter", "id": 230, "range": "user", "reason": NO_FILTER });
    assert_eq!(told["missing"], json!([missing]));
    let plugins = told["plugins"].as_array().expect("a list");
    assert_eq!(plugins[0]["name"], Value::Null);
    assert_eq!((&plugins[1]["kind"], &plugins[1]["name"]), (&json!("codec"), &json!("blosclz")));
    assert_eq!(plugins[1]["provider"], "oxiblosc-plugins");

    write(&path, EncodeParams::default());
    let said = String::from_utf8(run(args!["info", &path]).ok()).expect("text");
    assert!(!said.contains("missing") && !said.contains("needs"), "{said}");
    assert_eq!(info(&path)["missing"], json!([]));
}

#[test]
fn recover_does_not_say_that_nothing_is_lost() {
    let dir = tempdir().expect("a directory");
    let [path, copy] = ["frame", "copy"].map(|name| dir.path().join(name));
    write(&path, params());
    let said = String::from_utf8(run(args!["recover", &path, &copy]).ok()).expect("text");
    assert!(said.contains("3 chunks saved, 30000 bytes") && !said.contains("nothing lost"), "{said}");
    assert!(said.contains(&format!("not verified: {NO_FILTER}, needed by 3 chunks: 0, 1, 2")), "{said}");
    let told: Value = serde_json::from_slice(&run(args!["recover", "--json", &path, &copy]).ok()).expect("JSON");
    assert_eq!((&told["verified"], &told["unverified"]), (&json!(false), &json!([[0, 3]])));
    assert_eq!((&told["chunks"], &told["lost_nbytes"]), (&json!(3), &json!(0)));
    assert_eq!(told["missing"][0]["reason"], NO_FILTER);

    write(&path, EncodeParams::default());
    let told: Value = serde_json::from_slice(&run(args!["recover", "--json", &path, &copy]).ok()).expect("JSON");
    assert_eq!((&told["verified"], &told["missing"], &told["found"]), (&json!(true), &json!([]), &json!("whole")));
}

/// The message names the chunk, the block, and the id with its range.
#[test]
fn cat_names_the_chunk_and_the_filter() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("frame");
    write(&path, params());
    let said = run(args!["cat", &path]).bad_data();
    for part in ["chunk 0", "block 0", "filter 230 (user-defined, 160..255)"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
