//! Frames in object stores, with the store in memory; real servers have tests of their own.
#![cfg(feature = "object_store")]

mod common;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use common::{CHUNK, data, frame, options};
use futures::SinkExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use oxiblosc_streaming::object::ObjectPrefix;
use oxiblosc_streaming::source::ObjectSource;
use oxiblosc_streaming::source::RangeSource;
use oxiblosc_streaming::target::{PlaceTarget, SparseTarget};
use oxiblosc_streaming::{FrameReader, block_on, blocking};
use std::io::Write;

fn put(store: &Arc<InMemory>, path: &str, bytes: Vec<u8>) {
    block_on(store.put(&Path::from(path), bytes.into())).unwrap();
}

fn source(store: &Arc<InMemory>, path: &str) -> ObjectSource {
    ObjectSource::new(Arc::clone(store) as Arc<dyn ObjectStore>, Path::from(path))
}

#[test]
fn ranges_are_those_asked_for() {
    let store = Arc::new(InMemory::new());
    for len in [0u64, 1, 1000, 100_000] {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7 % 256) as u8).collect();
        put(&store, "x", bytes.clone());
        let source = source(&store, "x");
        let ranges = [0..len, 0..0, len..len, len / 2..len, 0..len.min(3), 0..len.min(3)];
        let found = block_on(source.read_ranges(ranges.to_vec())).unwrap();
        for (range, found) in ranges.iter().zip(found) {
            assert_eq!(found, &bytes[range.start as usize..range.end as usize]);
        }
        for head in [0, 1, len, len + 1, u64::MAX] {
            let found = block_on(source.open(head)).unwrap();
            assert_eq!((found.0, &found.1[..]), (len, &bytes[..head.min(len) as usize]));
        }
        let error = block_on(source.read_range(0..len + 1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
    let error = block_on(source(&store, "y").open(1)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn contiguous_and_sparse_frames_are_found() {
    let store = Arc::new(InMemory::new());
    let content = data(9 * CHUNK + 77);
    put(&store, "a/plain", frame(&content, options()));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sparse");
    let mut writer = blocking::FrameWriter::with_target(SparseTarget::create(&path).unwrap(), options()).unwrap();
    writer.write_all(&content).unwrap();
    writer.finish().unwrap();
    for entry in std::fs::read_dir(&path).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        put(&store, &format!("a/sparse/{name}"), std::fs::read(entry.path()).unwrap());
    }
    for (path, sparse) in [("a/plain", false), ("a/sparse", true)] {
        let found = ObjectSource::find(Arc::clone(&store) as Arc<dyn ObjectStore>, Path::from(path));
        let source = block_on(found).unwrap();
        assert_eq!(source.is_sparse(), sparse);
        let reader = block_on(FrameReader::open(source)).unwrap();
        let all = block_on(reader.bytes(0..reader.nbytes())).unwrap();
        assert_eq!(all, content);
        assert!(block_on(reader.verify()).unwrap().is_good());
    }
    let missing = ObjectSource::find(Arc::clone(&store) as Arc<dyn ObjectStore>, Path::from("a/none"));
    assert_eq!(block_on(missing).unwrap_err().kind(), io::ErrorKind::NotFound);
    // A chunk that is gone is named.
    block_on(store.delete(&Path::from("a/sparse/00000001.chunk"))).unwrap();
    let sparse = ObjectSource::sparse(Arc::clone(&store) as Arc<dyn ObjectStore>, Path::from("a/sparse"));
    let reader = block_on(FrameReader::open(sparse)).unwrap();
    let error = block_on(reader.chunk(1)).unwrap_err().to_string();
    assert!(error.contains("chunk 1") && error.contains("00000001.chunk"), "{error}");
    assert!(block_on(reader.chunk(0)).is_ok());
}

#[test]
fn a_replaced_object_is_an_error_until_refreshed() {
    let store = Arc::new(InMemory::new());
    put(&store, "x", frame(&data(20 * CHUNK), options()));
    let mut reader = block_on(FrameReader::open(source(&store, "x"))).unwrap();
    let other = data(30 * CHUNK + 1);
    put(&store, "x", frame(&other, options()));
    let error = block_on(reader.chunk(9)).unwrap_err().to_string();
    assert!(error.contains("replaced"), "{error}");
    assert!(block_on(reader.refresh()).unwrap());
    assert_eq!(block_on(reader.bytes(0..reader.nbytes())).unwrap(), other);
    assert!(!block_on(reader.refresh()).unwrap());
}

/// Of two that write to the same prefix one wins, and the other takes nothing away from it.
#[test]
fn the_loser_leaves_the_chunks_of_the_winner() {
    let content = data(9 * CHUNK + 77);
    for way in ["abort", "drop", "commit and abort", "commit and drop"] {
        let store = Arc::new(InMemory::new());
        let place = || PlaceTarget::new(ObjectPrefix::new(Arc::clone(&store), "p"));
        let begun = || {
            let mut sink = options().sink(place()).unwrap();
            block_on(sink.send(Bytes::from(content.clone()))).unwrap();
            block_on(SinkExt::<Bytes>::flush(&mut sink)).unwrap();
            sink
        };
        let (mut loser, mut winner) = (begun(), begun());
        block_on(SinkExt::<Bytes>::close(&mut winner)).unwrap();
        if way.starts_with("commit") {
            let error = block_on(SinkExt::<Bytes>::close(&mut loser)).unwrap_err();
            assert!(error.to_string().contains("somebody else"), "{error}");
        }
        if way.ends_with("abort") {
            block_on(loser.abort()).unwrap();
        }
        drop(loser);
        // What happens in the background has had its time.
        std::thread::sleep(Duration::from_millis(100));
        let sparse = ObjectSource::sparse(Arc::clone(&store) as Arc<dyn ObjectStore>, Path::from("p"));
        let reader = block_on(FrameReader::open(sparse)).unwrap();
        assert!(block_on(reader.verify()).unwrap().is_good(), "{way}");
    }
}
