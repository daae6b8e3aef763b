//! Codecs and filters of this side as shared libraries, which C-Blosc2 loads by itself.

#[path = "../../../export/example-codec/src/rle.rs"]
mod rle;
#[path = "../../../export/example-filter/src/xor.rs"]
mod xor;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{env, fs, thread};

use oxiblosc::chunk::{ChunkContext, ChunkDecoder, SplitMode};
use oxiblosc::nd::{ArrayOptions, Selection};
use oxiblosc::plugin_params::{Params, PluginParams};
use oxiblosc::registry::{CodecInfo, FilterInfo};
use oxiblosc::{
    Chain, CodecId, FilterId, Inline, Pool, ReadError, ReadOptions, Registry, WriteOptions, blocking, provider,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::case::{Case, registry};
use crate::worker::Worker;

const RLE: CodecId = CodecId(231);
const XOR: FilterId = FilterId(232);

/// A library that Cargo has put where it puts this test.
fn library(name: &str) -> PathBuf {
    let file = format!("{}blosc2_{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    env::current_exe().expect("this test").with_file_name(file)
}

/// Packages of Python with a library each, as their authors would publish them.
fn packages() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["oxirle", "oxixor"] {
        let package = folder.path().join(format!("blosc2_{name}"));
        let file = format!("libblosc2_{name}.so");
        let source = format!(
            "import os\n\ndef print_libpath():\n    \
             print(os.path.join(os.path.dirname(__file__), {file:?}), end=\"\")\n"
        );
        fs::create_dir(&package).expect("a folder");
        fs::write(package.join("__init__.py"), source).expect("a package");
        symlink(library(name), package.join(file)).expect("its library");
    }
    folder
}

/// A process of Python that knows the packages, and has as many threads as it likes.
fn start(packages: &Path) -> Option<Worker> {
    let mut worker = Worker::start_with(|command, python| {
        // C-Blosc2 asks the `python` on the path.
        let mut path = vec![python.parent().expect("a folder").to_path_buf()];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        command.env("PATH", env::join_paths(path).expect("a path")).env("PYTHONPATH", packages);
        command.env_remove("BLOSC_NTHREADS");
    })?;
    worker.call("exported.register", json!({}), &[]);
    Some(worker)
}

/// The codec and the filter, linked into this program, and loaded from their libraries.
fn registries() -> [(&'static str, Registry); 2] {
    let mut linked = registry().clone();
    let info = CodecInfo::new(RLE, "oxirle", rle::TRAITS, provider!());
    linked.add_codec(info, Box::new(rle::Rle::default())).expect("a free id");
    let info = FilterInfo::new(XOR, "oxixor", xor::TRAITS, provider!());
    linked.add_filter(info, Box::new(xor::Xor::default())).expect("a free id");
    let mut loaded = registry().clone();
    for name in ["oxirle", "oxixor"] {
        oxiblosc_export::load(library(name)).expect("a plugin").register(&mut loaded).expect("a free id");
    }
    [("linked", linked), ("loaded", loaded)]
}

/// Runs and steps, some longer than a block.
fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i / 97) ^ (i / 4096 * i / 1300)) as u8).collect()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (codec, filters) in [
        (RLE, &[][..]),
        (RLE, &[(FilterId::SHUFFLE, 0)]),
        (RLE, &[(XOR, 0)]),
        (RLE, &[(XOR, 5), (FilterId::SHUFFLE, 0)]),
        (CodecId::ZSTD, &[(FilterId::BITSHUFFLE, 0), (XOR, 0)]),
    ] {
        for typesize in [1, 4, 7, 300] {
            for split in [SplitMode::Never, SplitMode::Always] {
                let block_size = Some(8400);
                cases.push(Case { split, block_size, ..Case::new(codec, 5, typesize, filters) });
            }
        }
    }
    cases
}

fn read(frame: &[u8], registry: &Registry) -> Result<Vec<u8>, ReadError> {
    let options = ReadOptions::new().registry(registry).pool(&Pool::inline());
    let reader = blocking::FrameReader::with_options(frame.to_vec(), options)?;
    let mut data = Vec::new();
    for chunk in reader.chunks() {
        data.extend_from_slice(&chunk?);
    }
    Ok(data)
}

fn write(case: &Case, registry: &Registry, chunk_size: usize, data: &[u8]) -> Vec<u8> {
    let options = WriteOptions::new(case.params()).chunk_size(chunk_size).registry(registry).pool(&Pool::inline());
    let mut writer = blocking::FrameWriter::in_memory(options).expect("a writer");
    writer.push(data.to_vec().into()).and_then(|()| writer.finish()).expect("a frame");
    writer.into_bytes()
}

#[test]
fn frames_both_ways() {
    let packages = packages();
    let Some(mut worker) = start(packages.path()) else { return };
    // A multiple of every type size, and neither of the chunks nor of the blocks.
    let (data, chunk_size) = (data(8400 * 61), 8400 * 13 + 4200);
    for case in cases() {
        let mut settings = case.to_json();
        settings["chunksize"] = chunk_size.into();
        let answer = worker.call("exported.write", json!({ "case": settings }), &[&data]);
        assert!(answer.value.as_u64().is_some_and(|bytes| bytes < data.len() as u64), "{case:?}: {}", answer.value);
        let [frame, back] = answer.blobs.as_slice() else { panic!("a frame and what is in it") };
        assert!(*back == data, "{case:?}: theirs, read by them");
        for (how, registry) in registries() {
            assert!(read(frame, &registry).expect("a frame") == data, "{case:?}: theirs, {how}");
            let ours = write(&case, &registry, chunk_size, &data);
            assert!(worker.call("exported.read", json!({}), &[&ours]).into_blob() == data, "{case:?}: ours, {how}");
        }
    }
}

#[test]
fn arrays_both_ways() {
    let packages = packages();
    let Some(mut worker) = start(packages.path()) else { return };
    let (shape, chunks, blocks) = ([131, 77], [64, 50], [16, 25]);
    for (dtype, typesize) in [("|u1", 1), ("<f8", 8)] {
        let data = data(131 * 77 * typesize);
        let case = Case::new(RLE, 5, typesize, &[(XOR, 0)]);
        let mut settings = case.to_json();
        settings["dtype"] = dtype.into();
        (settings["shape"], settings["chunks"], settings["blocks"]) =
            (shape.to_vec().into(), chunks.to_vec().into(), blocks.to_vec().into());
        let answer = worker.call("exported.write_array", json!({ "case": settings }), &[&data]);
        let [frame, back] = answer.blobs.as_slice() else { panic!("a frame and what is in it") };
        assert!(*back == data, "{dtype}: theirs, read by them");
        for (how, registry) in registries() {
            let options = ReadOptions::new().registry(&registry).pool(&Pool::inline());
            let reader = blocking::FrameReader::with_options(frame.clone(), options).expect("a frame");
            let array = blocking::NdArray::from_frame(&reader).expect("an array");
            let items = array.read(&Selection::all()).expect("its items").into_bytes();
            assert!(items == data, "{dtype}: theirs, {how}");

            let frame = WriteOptions::new(case.params()).registry(&registry).pool(&Pool::inline());
            let shape = shape.map(|len| len as u64);
            let options = ArrayOptions::new(shape, dtype).chunks(chunks).blocks(blocks).frame(frame);
            let mut writer = blocking::NdWriter::in_memory(options).expect("a writer");
            writer.push(data.clone().into()).and_then(|()| writer.finish()).expect("an array");
            let ours = writer.into_bytes();
            let back = worker.call("exported.read_array", json!({}), &[&ours]).into_blob();
            assert!(back == data, "{dtype}: ours, {how}");
        }
    }
}

/// Parameters are in a metalayer, which their side makes like any other, and which ours makes by itself.
#[test]
fn parameters_both_ways() {
    let packages = packages();
    let Some(mut worker) = start(packages.path()) else { return };
    let (data, chunk_size) = (data(8400 * 61), 8400 * 13);
    let case = Case::new(RLE, 5, 4, &[(XOR, 0)]);
    let mut settings = case.to_json();
    settings["chunksize"] = chunk_size.into();
    let plain = worker.call("exported.write", json!({ "case": settings }), &[&data]).blobs.swap_remove(0);
    // Twice: an instance of a thread must not keep what another super-chunk has said.
    for key in ["7", "200"] {
        settings["params"] = json!({ "codec": [RLE.0, { "key": key }], "filters": [[0, XOR.0, { "steps": "3" }]] });
        let answer = worker.call("exported.write", json!({ "case": settings }), &[&data]);
        let [theirs, back] = answer.blobs.as_slice() else { panic!("a frame and what is in it") };
        assert!(*back == data && *theirs != plain, "key {key}: theirs, read by them");
        for (how, registry) in registries() {
            assert!(read(theirs, &registry).expect("a frame") == data, "key {key}: theirs, {how}");
            let mut params = case.params();
            params.plugin_params = PluginParams::default().codec(RLE, Params::default().with("key", key));
            for (slot, filter) in case.params().filters.active() {
                let steps = Params::default().with("steps", 3);
                params.plugin_params = params.plugin_params.filter(slot as u8, filter.id, steps);
            }
            let options = WriteOptions::new(params).chunk_size(chunk_size).registry(&registry).pool(&Pool::inline());
            let mut writer = blocking::FrameWriter::in_memory(options).expect("a writer");
            writer.push(data.clone().into()).and_then(|()| writer.finish()).expect("a frame");
            let ours = writer.into_bytes();
            assert!(worker.call("exported.read", json!({}), &[&ours]).into_blob() == data, "key {key}: ours, {how}");
        }
    }
    assert!(worker.call("exported.read", json!({}), &[&plain]).into_blob() == data, "without parameters");
    // What the plugin does not have, and what it does not take.
    for wrong in [json!({ "lock": "1" }), json!({ "key": "256" })] {
        settings["params"] = json!({ "codec": [RLE.0, wrong] });
        let error = worker.try_call("exported.write", &json!({ "case": settings }), &[&data]).err();
        assert!(error.expect("an exception").contains("Error"), "{wrong}");
    }
}

/// Outside a super-chunk C-Blosc2 says less, but enough.
#[test]
fn chunks_on_their_own() {
    let packages = packages();
    let Some(mut worker) = start(packages.path()) else { return };
    let data = data(8400 * 61);
    for case in cases().into_iter().filter(|case| case.typesize <= 255) {
        let answer = worker.call("exported.chunk", json!({ "case": case.to_json() }), &[&data]);
        let [chunk, back] = answer.blobs.as_slice() else { panic!("a chunk and what is in it") };
        assert!(*back == data, "{case:?}");
        for (how, registry) in registries() {
            let found = ChunkDecoder::new(&registry).decode(chunk, &ChunkContext::default(), &Inline);
            assert!(found.expect("a chunk") == data, "{case:?}: {how}");
        }
    }
}

/// A plugin that panics, on threads of C, is an exception there; and what comes next succeeds.
#[test]
fn a_panic_is_an_exception() {
    let packages = packages();
    let Some(mut worker) = start(packages.path()) else { return };
    let (data, chunk_size) = (data(8400 * 61), 8400 * 13);
    let settings = |case: &Case| -> Value {
        let mut settings = case.to_json();
        settings["chunksize"] = chunk_size.into();
        json!({ "case": settings })
    };
    let good = Case::new(RLE, 5, 4, &[(XOR, 0)]);
    let codec = Case { codec_meta: 13, ..Case::new(RLE, 5, 4, &[]) };
    let filter = Case::new(RLE, 5, 4, &[(XOR, 13)]);
    for bad in [codec, filter] {
        let error = worker.try_call("exported.write", &settings(&bad), &[&data]).err().expect("an exception");
        assert!(error.contains("Error"), "{error}");
        let answer = worker.call("exported.write", settings(&good), &[&data]);
        assert!(answer.blobs[1] == data);

        // Such a chunk can be made without it: by a codec or filter that does not mind.
        let mut patched = good.clone();
        (patched.codec_meta, patched.filters) = (0, bad.filters.iter().map(|&(id, _)| (id, 0)).collect());
        let [(_, registry), _] = registries();
        let frame = write(&patched, &registry, chunk_size, &data);
        let frame = with_thirteen(frame, bad.codec_meta == 13);
        let error = worker.try_call("exported.read", &json!({}), &[&frame]).err().expect("an exception");
        assert!(error.contains("Error"), "{error}");
        let error = read(&frame, &registry).expect_err("a panic");
        assert!(Chain(&error).to_string().contains("panicked: thirteen"), "{}", Chain(&error));
        assert!(worker.call("exported.read", json!({}), &[&answer.blobs[0]]).into_blob() == data);
    }
}

/// The frame with 13 as the meta of the codec, or of the filter, in the header of each chunk.
fn with_thirteen(mut frame: Vec<u8>, codec: bool) -> Vec<u8> {
    let mut found = 0;
    for at in 0..frame.len() - 32 {
        // Six filters, the codec and its meta, and the meta of the filters.
        let header = &frame[at..at + 32];
        if header[3] != 4 || header[22] != RLE.0 || header[16..22].iter().any(|id| ![0, XOR.0].contains(id)) {
            continue;
        }
        let filter = header[16..22].iter().position(|&id| id == XOR.0);
        frame[at + if codec { 23 } else { 24 + filter.expect("there is one") }] = 13;
        found += 1;
    }
    assert!(found > 1, "{found} chunks");
    frame
}

/// Threads of one program that loads a library, at once.
#[test]
fn many_threads_load_and_use_a_library() {
    let data = data(100_000);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let [_, (_, registry)] = registries();
                let frame = write(&Case::new(RLE, 5, 4, &[(XOR, 0)]), &registry, 30_000, &data);
                assert!(read(&frame, &registry).expect("a frame") == data);
            });
        }
    });
}
