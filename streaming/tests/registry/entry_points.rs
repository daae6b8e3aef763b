//! Every way in and out takes a registry.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::{SinkExt, TryStreamExt};
use oxiblosc_streaming::edit::{EditOptions, copy, recompress};
use oxiblosc_streaming::nd::{ArrayOptions, NdArray, NdEditor};
use oxiblosc_streaming::recover::RecoverOptions;
use oxiblosc_streaming::source::FileSource;
use oxiblosc_streaming::sparse::{MemoryDirectory, MissingChunks, SharedWriter, clear_with};
use oxiblosc_streaming::target::{FileTarget, MemoryTarget, OpenTarget, PlaceTarget, SparseTarget};
use oxiblosc_streaming::{FrameReader, Pool, ReadOptions, block_on, blocking};

use crate::{CHUNK, content, frame, options, registry};

/// The public functions that take everything that is linked into the program, and what does the same with another
/// registry. Whoever adds one adds a line, and its other form to the tests below.
const DEFAULTS: [(&str, &str); 30] = [
    ("oxiblosc::compress", "oxiblosc::compress_with"),
    ("oxiblosc::decompress", "oxiblosc::decompress_with"),
    ("FrameReader::open", "ReadOptions::open"),
    ("FrameStream::open", "ReadOptions::stream"),
    ("nd::NdArray::open", "nd::NdArray::new"),
    ("blocking::FrameReader::open", "blocking::FrameReader::with_options"),
    ("blocking::FrameReader::new", "blocking::FrameReader::with_options"),
    ("blocking::FrameReader::from_bytes", "blocking::FrameReader::with_options"),
    ("blocking::FrameStream::open", "blocking::FrameStream::with_options"),
    ("blocking::NdArray::open", "blocking::NdArray::from_frame"),
    ("blocking::NdArray::new", "blocking::NdArray::from_frame"),
    ("blocking::NdArray::from_bytes", "blocking::NdArray::from_frame"),
    ("edit::FrameEditor::open", "edit::EditOptions::open"),
    ("edit::FrameEditor::from_bytes", "edit::EditOptions::edit"),
    ("nd::NdEditor::open", "nd::NdEditor::new"),
    ("nd::NdEditor::from_bytes", "nd::NdEditor::new"),
    ("blocking::FrameEditor::open", "blocking::FrameEditor::with_options"),
    ("blocking::FrameEditor::from_bytes", "blocking::FrameEditor::with_file"),
    ("blocking::NdEditor::open", "blocking::NdEditor::new"),
    ("blocking::NdEditor::from_bytes", "blocking::NdEditor::new"),
    ("edit::compact", "edit::EditOptions::compact"),
    ("edit::compact_place", "edit::EditOptions::compact_place"),
    ("blocking::compact", "blocking::compact_with_options"),
    ("blocking::compact_place", "blocking::compact_place_with_options"),
    ("recover::recover", "recover::RecoverOptions::recover"),
    ("recover::recover_into", "recover::RecoverOptions::recover_into"),
    ("recover::seal", "recover::RecoverOptions::seal"),
    ("recover::seal_file", "recover::RecoverOptions::seal_file"),
    ("sparse::clear", "sparse::clear_with"),
    ("SharedWriter::open", "SharedWriter::open_on"),
];

/// Where the default is taken, and how often: directly, or with options at their default. (Of options that are built for a
/// caller, those that name a registry are not among them.)
const PLACES: [(&str, usize); 23] = [
    ("src/oneshot.rs", 1),
    ("streaming/src/blocking/editor.rs", 2),
    ("streaming/src/blocking/mod.rs", 2),
    ("streaming/src/blocking/reader.rs", 3),
    ("streaming/src/blocking/stream.rs", 1),
    ("streaming/src/edit/commit.rs", 1),
    ("streaming/src/edit/compact_place.rs", 1),
    ("streaming/src/edit/copy.rs", 3),
    ("streaming/src/edit/decoded_output.rs", 1),
    ("streaming/src/edit/editor.rs", 3),
    ("streaming/src/lib.rs", 2),
    ("streaming/src/nd/array.rs", 1),
    ("streaming/src/nd/options.rs", 1),
    ("streaming/src/reader/forward.rs", 3),
    ("streaming/src/reader/frame_reader.rs", 3),
    ("streaming/src/recover/files.rs", 1),
    ("streaming/src/recover/mod.rs", 3),
    ("streaming/src/recover/seal.rs", 3),
    ("streaming/src/sink/frame_sink.rs", 1),
    ("streaming/src/sink/options.rs", 1),
    ("streaming/src/sparse/clear.rs", 1),
    ("streaming/src/sparse/place_target.rs", 1),
    ("streaming/src/sparse/shared.rs", 2),
];

#[test]
fn every_place_that_takes_the_default_is_on_the_list() {
    const SIGNS: [&str; 7] = [
        "given_or_linked(",
        "Registry::linked()",
        "ReadOptions::new()",
        "WriteOptions::default()",
        "EditOptions::new()",
        "RecoverOptions::new()",
        "ReadOptions::default()",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeMap::new();
    let mut folders = vec![root.join("src"), root.join("streaming/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap().lines();
            let code = code.filter(|line| !line.trim_start().starts_with("//") && !line.contains(".registry("));
            let count = code.filter(|line| SIGNS.iter().any(|sign| line.contains(sign))).count();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            if count > 0 && !name.contains("/models/") {
                found.insert(name, count);
            }
        }
    }
    let expected: BTreeMap<String, usize> = PLACES.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    assert_eq!(found, expected, "if a public function is new here, it belongs to DEFAULTS");
}

/// Both columns exist, in the listing of the public interface.
#[test]
fn every_default_has_another_form() {
    let listing = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/api.txt");
    let listing = fs::read_to_string(listing).unwrap();
    let exists = |name: &str| {
        let name = name.strip_prefix("oxiblosc::").unwrap_or(name);
        let is = |line: &str| {
            let line = line.trim_start();
            line.starts_with(&format!("oxiblosc::{name} ")) || line == format!("oxiblosc::{name}")
        };
        listing.lines().any(is)
    };
    for (default, other) in DEFAULTS {
        assert!(exists(default) && exists(other), "{default} or {other} is not in docs/api.txt");
    }
}

/// Reads everything, and compares it with what has been written.
#[track_caller]
fn reads(source: impl oxiblosc_streaming::source::RangeSource + 'static, chunks: usize) {
    let registry = registry();
    let reader = block_on(ReadOptions::new().registry(&registry).open(source)).unwrap();
    let span = reader.header().plugins().collect::<Vec<_>>();
    assert_eq!(span, [crate::SHIFT.into(), crate::RUNS.into()]);
    assert!(block_on(reader.bytes(0..reader.nbytes())).unwrap() == content(chunks));
    assert!(block_on(reader.verify()).unwrap().is_good());
}

#[test]
fn sinks() {
    let registry = registry();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let options = || options(&registry);
    reads(frame(3, options()), 3);
    block_on(async {
        let data = Bytes::from(content(3));
        let mut sink = options().sink(FileTarget::create(path("file")).unwrap()).unwrap();
        sink.feed(data.clone()).await.unwrap();
        sink.close().await.unwrap();
        let mut sink = options().sink(SparseTarget::create(path("sparse")).unwrap()).unwrap();
        sink.feed(data.clone()).await.unwrap();
        sink.close().await.unwrap();
        let mut sink = options().spooled(Vec::new()).unwrap();
        sink.feed(data.clone()).await.unwrap();
        sink.close().await.unwrap();
        reads(sink.into_target().into_inner(), 3);
        let mut sink = options().seekable(futures::io::Cursor::new(Vec::new())).unwrap();
        sink.feed(data.clone()).await.unwrap();
        sink.close().await.unwrap();
        reads(sink.into_target().into_inner().into_inner(), 3);
    });
    reads(FileSource::open_inline(path("file")).unwrap(), 3);
    reads(FileSource::open_inline(path("sparse")).unwrap(), 3);
    let mut writer = blocking::FrameWriter::create(path("twin"), options()).unwrap();
    writer.push(content(3).into()).unwrap();
    writer.finish().unwrap();
    reads(FileSource::open_inline(path("twin")).unwrap(), 3);
    let mut bytes = Vec::new();
    let mut writer = blocking::FrameWriter::spooled(&mut bytes, options()).unwrap();
    writer.push(content(3).into()).unwrap();
    writer.finish().unwrap();
    drop(writer);
    reads(bytes, 3);
    let mut cursor = Cursor::new(Vec::new());
    let mut writer = blocking::FrameWriter::new(&mut cursor, options()).unwrap();
    writer.push(content(3).into()).unwrap();
    writer.finish().unwrap();
    drop(writer);
    reads(cursor.into_inner(), 3);
}

fn array() -> Vec<u8> {
    let array = ArrayOptions::new([2 * CHUNK as u64], "|u1").chunks([CHUNK as u32]).blocks([CHUNK as u32]);
    let (target, _) = block_on(array.frame(options(&registry())).write(content(2), MemoryTarget::new())).unwrap();
    target.into_bytes()
}

#[test]
fn readers() {
    let registry = registry();
    let bytes = frame(3, options(&registry).sequential(true));
    let read = || ReadOptions::new().registry(&registry);
    reads(bytes.clone(), 3);
    let stream = block_on(read().stream(futures::io::Cursor::new(bytes.clone()))).unwrap();
    assert_eq!(block_on(stream.try_collect::<Vec<_>>()).unwrap().concat(), content(3));
    let twin = blocking::FrameReader::with_options(bytes.clone(), read()).unwrap();
    assert_eq!(twin.chunk(1).unwrap(), &content(3)[CHUNK..2 * CHUNK]);
    let stream = blocking::FrameStream::with_options(Cursor::new(bytes), read()).unwrap();
    assert_eq!(stream.collect::<Result<Vec<_>, _>>().unwrap().concat(), content(3));
    let reader = block_on(read().open(array())).unwrap();
    let all = "...".parse().unwrap();
    let data = block_on(NdArray::new(reader.clone()).unwrap().read(&all)).unwrap();
    assert_eq!(data.bytes(), &content(2)[..]);
    let twin = blocking::NdArray::from_frame(&reader.into()).unwrap();
    assert_eq!(twin.read(&all).unwrap().bytes(), &content(2)[..]);
}

#[test]
fn editors() {
    let registry = registry();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let edit = || EditOptions::new().registry(&registry).durable(false);
    let third = || content(3)[2 * CHUNK..].to_vec();
    let two = frame(2, options(&registry));
    fs::write(&path, &two).unwrap();
    block_on(async {
        let mut editor = edit().open(&path).await.unwrap();
        editor.append_chunk(third()).await.unwrap();
        editor.commit().await.unwrap();
        drop(editor);
        reads(FileSource::open(&path).await.unwrap(), 3);
        let mut editor = edit().edit(two.clone()).await.unwrap();
        editor.append_chunk(third()).await.unwrap();
        editor.commit().await.unwrap();
        reads(editor.frame_bytes().await.unwrap(), 3);
        let mut array = NdEditor::new(edit().edit(array()).await.unwrap()).unwrap();
        array.append(0, third()).await.unwrap();
        array.commit().await.unwrap();
        reads(array.frame_bytes().await.unwrap(), 3);
    });
    fs::write(&path, &two).unwrap();
    let mut editor = blocking::FrameEditor::with_options(&path, edit()).unwrap();
    editor.append_chunk(&third()).unwrap();
    editor.commit().unwrap();
    drop(editor);
    reads(FileSource::open_inline(&path).unwrap(), 3);
    let mut editor = blocking::FrameEditor::with_file(two, edit()).unwrap();
    editor.append_chunk(&third()).unwrap();
    editor.commit().unwrap();
    reads(editor.frame_bytes().unwrap(), 3);
    let editor = blocking::FrameEditor::with_file(array(), edit()).unwrap();
    let mut array = blocking::NdEditor::new(editor).unwrap();
    array.append(0, &third()).unwrap();
    array.commit().unwrap();
    reads(array.frame_bytes().unwrap(), 3);
}

#[test]
fn copies() {
    let registry = registry();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frame");
    let edit = || EditOptions::new().registry(&registry).durable(false);
    let three = frame(3, options(&registry));
    block_on(async {
        let reader = ReadOptions::new().registry(&registry).open(three.clone()).await.unwrap();
        let mut target = MemoryTarget::new();
        copy(&reader, &mut target).await.unwrap();
        reads(target.into_bytes(), 3);
        let mut target = MemoryTarget::new();
        recompress(&reader, options(&registry), &mut target).await.unwrap();
        reads(target.into_bytes(), 3);
    });
    for asynchronous in [true, false] {
        let mut editor = blocking::FrameEditor::with_file(three.clone(), edit()).unwrap();
        editor.update(0, &content(1)).unwrap();
        editor.commit().unwrap();
        let edited = editor.frame_bytes().unwrap();
        fs::write(&path, &edited).unwrap();
        match asynchronous {
            true => block_on(edit().compact(&path)).unwrap(),
            false => blocking::compact_with_options(&path, edit()).unwrap(),
        };
        reads(FileSource::open_inline(&path).unwrap(), 3);
        assert!(fs::metadata(&path).unwrap().len() < edited.len() as u64);
    }
}

#[test]
fn places() {
    let registry = registry();
    let edit = || EditOptions::new().registry(&registry);
    block_on(async {
        for asynchronous in [true, false] {
            let place = MemoryDirectory::new();
            let data = content(2);
            let writer = SharedWriter::create(place.clone(), data.len() as u64, options(&registry)).await.unwrap();
            let other = SharedWriter::open_on(place.clone(), &Pool::inline(), &registry).await.unwrap();
            writer.write(0, Bytes::copy_from_slice(&data[..CHUNK])).await.unwrap();
            other.write(1, Bytes::copy_from_slice(&data[CHUNK..])).await.unwrap();
            writer.commit(MissingChunks::Fail).await.unwrap();
            reads(place.snapshot(), 2);
            let mut editor = edit().edit_sparse(place.clone()).await.unwrap();
            editor.update(0, data[..CHUNK].to_vec()).await.unwrap();
            editor.commit().await.unwrap();
            drop(editor);
            let removed = match asynchronous {
                true => edit().compact_place(place.clone()).await.unwrap(),
                false => blocking::compact_place_with_options(place.clone(), edit()).unwrap(),
            };
            assert_eq!(removed, 1);
            reads(place.snapshot(), 2);
            // A writer that has died leaves a chunk that no index names.
            let mut dead = options(&registry).sink(PlaceTarget::new(MemoryDirectory::new())).unwrap();
            dead.feed(data.clone().into()).await.unwrap();
            dead.close().await.unwrap();
            assert_eq!(clear_with(&place, &registry).await.unwrap(), 0);
            reads(place.snapshot(), 2);
        }
        let mut sparse = blocking::FrameEditor::sparse(
            {
                let place = MemoryDirectory::new();
                let mut sink = options(&registry).sink(PlaceTarget::new(place.clone())).unwrap();
                sink.feed(content(1).into()).await.unwrap();
                sink.close().await.unwrap();
                place
            },
            edit(),
        )
        .unwrap();
        assert_eq!(sparse.chunk(0).unwrap(), content(1));
    });
}

#[test]
fn recovery() {
    let registry = registry();
    let directory = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| directory.path().join(name));
    let recover = RecoverOptions::new().registry(&registry);
    let whole = frame(3, options(&registry));
    fs::write(&old, &whole[..whole.len() - 20]).unwrap();
    assert!(recover.recover(&old, &new).unwrap().is_verified());
    reads(FileSource::open_inline(&new).unwrap(), 3);
    let mut target = MemoryTarget::new();
    assert!(block_on(recover.recover_into(whole, &mut target)).unwrap().is_verified());
    reads(target.into_bytes(), 3);

    let mut sink = options(&registry).sequential(true).sink(OpenTarget::new(Vec::new())).unwrap();
    block_on(sink.feed(content(3).into())).unwrap();
    block_on(SinkExt::<Bytes>::flush(&mut sink)).unwrap();
    let open = sink.target().get_ref().clone();
    fs::write(&old, &open).unwrap();
    assert!(recover.seal_file(&old).unwrap().is_verified());
    reads(FileSource::open_inline(&old).unwrap(), 3);
    let mut store = Arc::new(Mutex::new(open));
    assert!(recover.seal(&mut store).unwrap().is_verified());
    let sealed = store.lock().unwrap().clone();
    reads(sealed, 3);
}

/// Without the registry none of this works, so that the tests above say something.
#[test]
fn the_plugins_are_not_linked() {
    let reader = block_on(FrameReader::open(frame(1, options(&registry())))).unwrap();
    assert!(block_on(reader.chunk(0)).is_err());
}
