//! Every error about a plugin names the chunk, the block and the plugin, whichever way it takes.

use std::error::Error;
use std::io::Read;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::{AsyncWriteExt, TryStreamExt};
use oxiblosc_core::{Chain, Registry};
use oxiblosc_streaming::edit::{EditOptions, recompress};
use oxiblosc_streaming::nd::{ArrayOptions, NdArray, NdEditor};
use oxiblosc_streaming::sparse::{MemoryDirectory, SharedWriter};
use oxiblosc_streaming::target::MemoryTarget;
use oxiblosc_streaming::{FrameReader, ReadOptions, WriteOptions, block_on, blocking};

use crate::{CHUNK, content, frame, options, registry_that_fails};

const FAILS: u64 = 2;

#[track_caller]
fn check(way: &str, error: &(dyn Error + 'static)) {
    let text = Chain(error).to_string();
    let plugin = concat!("filter \"shift\" (id 220) of oxiblosc-streaming ", env!("CARGO_PKG_VERSION"));
    for part in ["chunk 2", "block 0", plugin, "it refuses"] {
        assert!(text.contains(part), "{way} does not name {part}: {text}");
    }
}

/// As [`check`], when there is no such plugin.
#[track_caller]
fn check_missing(way: &str, error: &(dyn Error + 'static)) {
    let text = Chain(error).to_string();
    for part in ["chunk 0", "filter 220 (user-defined, 160..255)"] {
        assert!(text.contains(part) || text.contains("codec 221 (user-defined"), "{way} does not name {part}: {text}");
    }
    assert!(text.contains("chunk 0"), "{way}: {text}");
}

#[test]
fn reading() {
    let (registry, fails_on) = registry_that_fails();
    let bytes = frame(4, options(&registry).sequential(true));
    let array = ArrayOptions::new([4 * CHUNK as u64], "|u1").chunks([CHUNK as u32]).blocks([CHUNK as u32]);
    let (target, _) = block_on(array.frame(options(&registry)).write(content(4), MemoryTarget::new())).unwrap();
    let array = target.into_bytes();
    fails_on.store(FAILS, Ordering::SeqCst);
    let read = |registry: &Registry| ReadOptions::new().registry(registry);
    block_on(async {
        let reader = read(&registry).open(bytes.clone()).await.unwrap();
        check("chunk", &reader.chunk(2).await.unwrap_err());
        check("bytes", &reader.bytes(2010..2020).await.unwrap_err());
        check("items", &reader.items(10..3000).await.unwrap_err());
        check("chunks", &reader.chunks().try_collect::<Vec<_>>().await.unwrap_err());
        let report = reader.verify().await.unwrap();
        check("verify", &report.findings[0]);
        let stream = read(&registry).stream(futures::io::Cursor::new(bytes.clone())).await.unwrap();
        check("stream", &stream.try_collect::<Vec<_>>().await.unwrap_err());
        let array = NdArray::new(read(&registry).open(array.clone()).await.unwrap()).unwrap();
        check("array", &array.read(&"1990:2010".parse().unwrap()).await.unwrap_err());
        check("item", &array.item(&[2500]).await.unwrap_err());

        let linked = Registry::linked().unwrap();
        let reader = read(linked).open(bytes.clone()).await.unwrap();
        check_missing("chunk", &reader.chunk(0).await.unwrap_err());
        check_missing("bytes", &reader.bytes(10..20).await.unwrap_err());
        check_missing("chunks", &reader.chunks().try_collect::<Vec<_>>().await.unwrap_err());
        let stream = read(linked).stream(futures::io::Cursor::new(bytes.clone())).await.unwrap();
        check_missing("stream", &stream.try_collect::<Vec<_>>().await.unwrap_err());
    });
    let twin = blocking::FrameReader::with_options(bytes, read(&registry)).unwrap();
    let mut all = Vec::new();
    check("read", &twin.into_read().read_to_end(&mut all).unwrap_err());
}

#[test]
fn writing() {
    let (registry, fails_on) = registry_that_fails();
    let good = frame(4, options(&registry));
    fails_on.store(FAILS, Ordering::SeqCst);
    let data = content(4);
    block_on(async {
        let mut sink = options(&registry).in_memory().unwrap();
        let error = match sink.write_all(&data).await {
            Ok(()) => sink.close().await.unwrap_err().into(),
            Err(error) => error,
        };
        check("sink", &error);
        let array = ArrayOptions::new([4 * CHUNK as u64], "|u1").chunks([CHUNK as u32]);
        let error = array.frame(options(&registry)).write(data.clone(), MemoryTarget::new()).await.unwrap_err();
        check("array sink", &error);
        let place = MemoryDirectory::new();
        let writer = SharedWriter::create(place, data.len() as u64, options(&registry)).await.unwrap();
        let chunk = Bytes::copy_from_slice(&data[2 * CHUNK..3 * CHUNK]);
        check("shared writer", &writer.write(2, chunk).await.unwrap_err());
        let reader = ReadOptions::new().registry(&registry).open(good.clone()).await.unwrap();
        let error = recompress(&reader, options(&registry), &mut MemoryTarget::new()).await.unwrap_err();
        check("recompress", &error);
    });
    let mut writer = blocking::FrameWriter::in_memory(options(&registry)).unwrap();
    let error = writer.push(data.into()).and_then(|()| writer.finish().map(drop)).unwrap_err();
    check("twin", &error);
}

#[test]
fn editing() {
    let (registry, fails_on) = registry_that_fails();
    let edit = || EditOptions::new().registry(&registry);
    let (two, four) = (frame(2, options(&registry)), frame(4, options(&registry)));
    let array = ArrayOptions::new([4 * CHUNK as u64], "|u1").chunks([CHUNK as u32]).blocks([CHUNK as u32]);
    let (target, _) = block_on(array.frame(options(&registry)).write(content(4), MemoryTarget::new())).unwrap();
    let array = target.into_bytes();
    fails_on.store(FAILS, Ordering::SeqCst);
    let data = content(4);
    let third = &data[2 * CHUNK..3 * CHUNK];
    block_on(async {
        let mut editor = edit().edit(two).await.unwrap();
        check("append_chunk", &editor.append_chunk(third.to_vec()).await.unwrap_err());
        let mut editor = edit().edit(four.clone()).await.unwrap();
        check("update", &editor.update(2, third.to_vec()).await.unwrap_err());
        check("insert", &editor.insert(2, third.to_vec()).await.unwrap_err());
        check("editor's chunk", &editor.chunk(2).await.unwrap_err());
        let mut array = NdEditor::new(edit().edit(array).await.unwrap()).unwrap();
        let part = "2100:2200".parse().unwrap();
        check("array's read", &array.read(&part).await.unwrap_err());
        check("array's write", &array.write(&part, vec![1; 100]).await.unwrap_err());
    });
}

/// A plugin that nobody has is named before anything is written.
#[test]
fn opening_without_the_plugin() {
    let (registry, _) = registry_that_fails();
    let bytes = frame(2, options(&registry));
    let params = WriteOptions::new(crate::params());
    let error = Chain(&params.in_memory().unwrap_err()).to_string();
    assert!(error.contains("filter 220 (user-defined") || error.contains("codec 221 (user-defined"), "{error}");
    let error = block_on(EditOptions::new().edit(Arc::new(Mutex::new(bytes.clone())))).err().unwrap();
    assert_eq!(error.kind(), oxiblosc_streaming::ErrorKind::NoProvider);
    let error = Chain(&error).to_string();
    assert!(error.contains("filter 220 (user-defined") || error.contains("codec 221 (user-defined"), "{error}");
    assert!(block_on(FrameReader::open(bytes)).is_ok());
}
