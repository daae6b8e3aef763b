//! Frames in object stores, with the store in memory; real servers have tests of their own.
#![cfg(feature = "object_store")]

#[path = "../common/mod.rs"]
mod common;
mod server;
mod target;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use common::{CHUNK, data, frame, options};
use futures::SinkExt;
use futures::stream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use oxiblosc_core::Chain;
use oxiblosc_streaming::object::ObjectPrefix;
use oxiblosc_streaming::source::{ObjectSource, RangeSource};
use oxiblosc_streaming::sparse::{ConditionalPutsIgnored, MissingChunks, ShareError, SharedWriter, clear};
use oxiblosc_streaming::target::{ObjectTarget, PlaceTarget, SparseTarget};
use oxiblosc_streaming::{FrameReader, block_on, blocking};
use server::Server;

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
        assert_eq!(source.chunk_files().is_some(), sparse);
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
    let error = Chain(&block_on(reader.chunk(1)).unwrap_err()).to_string();
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
            assert!(Chain(&error).to_string().contains("somebody else"), "{}", Chain(&error));
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

/// Of a sink that is dropped nothing stays behind, if the program waits before it ends: not the parts of its upload, not its
/// chunks, and not what is on its way.
#[test]
fn what_dropped_sinks_leave_is_gone_when_it_has_settled() {
    let content = Bytes::from(
        (0..20_000_000u32 / 4).flat_map(|i| i.wrapping_mul(0x9E37_79B9).to_le_bytes()).collect::<Vec<u8>>(),
    );
    for chunk in [CHUNK, 1 << 20] {
        let content = content.slice(..chunk * 18);
        for polls in [1, 2, 5, 50] {
            let server = Server::new(false, Some(Duration::from_millis(20)));
            let target = ObjectTarget::with_multipart(Arc::clone(&server), "object").part_size(3 * chunk);
            let place = PlaceTarget::new(ObjectPrefix::new(Arc::clone(&server), "prefix"));
            let mut one = options().chunk_size(chunk).sink(target).unwrap();
            let mut other = options().chunk_size(chunk).sink(place).unwrap();
            let parts = || (0..18).map(|i| Ok(content.slice(i * chunk..(i + 1) * chunk)));
            common::poll_and_drop(polls, async {
                one.send_all(&mut stream::iter(parts())).await.unwrap();
            });
            common::poll_and_drop(polls, async {
                other.send_all(&mut stream::iter(parts())).await.unwrap();
            });
            std::thread::sleep(Duration::from_millis(polls as u64));
            drop(one);
            drop(other);
            if polls.is_multiple_of(2) {
                block_on(oxiblosc_streaming::settle())
            } else {
                blocking::settle()
            }
            assert!(server.uploads().is_empty(), "{chunk}, {polls}");
            assert_eq!(server.names(), [""; 0], "{chunk}, {polls}");
        }
    }
}

#[test]
fn a_single_writer_works_with_any_server() {
    let content = data(9 * CHUNK + 77);
    for ignores in [false, true] {
        let server = Server::new(ignores, None);
        let prefix = ObjectPrefix::new(Arc::clone(&server), "p");
        for round in 0..2 {
            let mut sink = options().sink(PlaceTarget::new(prefix.clone())).unwrap();
            block_on(async {
                sink.send(Bytes::from(content.clone())).await.unwrap();
                if round == 0 {
                    // Given up, and done again.
                    return sink.abort().await.unwrap();
                }
                sink.close().await.unwrap();
            });
        }
        // Six chunks with something in them, and the index.
        assert_eq!(server.names().len(), 7, "{:?}", server.names());
        let sparse = ObjectSource::sparse(Arc::clone(&server) as Arc<dyn ObjectStore>, Path::from("p"));
        let reader = block_on(FrameReader::open(sparse)).unwrap();
        assert_eq!(block_on(reader.bytes(0..reader.nbytes())).unwrap(), content);
        let mut late = options().sink(PlaceTarget::new(prefix)).unwrap();
        let error = block_on(async {
            late.send(Bytes::from(content.clone())).await?;
            late.close().await
        })
        .unwrap_err();
        assert!(Chain(&error).to_string().contains("there is a sparse frame"), "{}", Chain(&error));
    }
}

/// Where the store cannot keep writers apart, what needs it is refused.
#[test]
fn servers_that_ignore_conditions_are_found_out() {
    let server = Server::new(true, None);
    let prefix = || ObjectPrefix::new(Arc::clone(&server), "p");
    block_on(async {
        let error = SharedWriter::create(prefix(), 100, options()).await.unwrap_err();
        assert!(matches!(error, ShareError::ConditionalPutsIgnored(_)), "{error}");
        assert_eq!(server.names(), [""; 0]);
        // Once for each store.
        let (place, before) = (prefix(), server.puts.load(Ordering::Relaxed));
        for _ in 0..3 {
            assert!(SharedWriter::create(place.clone(), 100, options()).await.is_err());
        }
        assert_eq!(server.puts.load(Ordering::Relaxed) - before, 2);

        // By consent, one after the other.
        let accepted = prefix().accept_ignored_conditions(true);
        let writer = SharedWriter::create(accepted.clone(), 100, options()).await.unwrap();
        let other = SharedWriter::create(accepted.clone(), 101, options()).await.unwrap_err();
        assert!(matches!(other, ShareError::PlanDiffers { .. }), "{other}");
        let other = SharedWriter::open(accepted.clone()).await.unwrap();
        other.write(0, vec![1; 100].into()).await.unwrap();
        writer.write(0, vec![2; 100].into()).await.unwrap();
        other.commit(MissingChunks::Fail).await.unwrap();
        assert!(matches!(writer.commit(MissingChunks::Fail).await, Err(ShareError::Committed(_))));
        assert!(matches!(writer.write(0, vec![3; 100].into()).await, Err(ShareError::Committed(_))));
        let sparse = ObjectSource::sparse(Arc::clone(&server) as Arc<dyn ObjectStore>, Path::from("p"));
        let reader = FrameReader::open(sparse).await.unwrap();
        assert_eq!(reader.bytes(0..100).await.unwrap(), [2; 100][..]);
    });
    // And those that honour them are used without consent, and nothing is left of the question.
    let server = Server::new(false, None);
    block_on(async {
        let place = ObjectPrefix::new(Arc::clone(&server), "p");
        SharedWriter::create(place.clone(), 100, options()).await.unwrap();
        assert_eq!(server.names(), ["p/chunks.b2frame.plan"]);
        clear(&place).await.unwrap();
    });
}

/// A process is killed in the middle, and another one does its work. Only where the store keeps them apart may it go on
/// without being asked: the first may not be as dead as it looks.
#[test]
fn a_writer_that_was_killed_is_followed_by_another() {
    let (content, old) = (data(9 * CHUNK + 77), vec![0xEE; 9 * CHUNK]);
    for ignores in [false, true] {
        let server = Server::new(ignores, None);
        let prefix = || ObjectPrefix::new(Arc::clone(&server), "p");
        let mut killed = options().sink(PlaceTarget::new(prefix())).unwrap();
        block_on(async {
            killed.send(Bytes::from(old.clone())).await.unwrap();
            SinkExt::<Bytes>::flush(&mut killed).await.unwrap();
        });
        let write = |place: ObjectPrefix| {
            let mut sink = options().sink(PlaceTarget::new(place)).unwrap();
            block_on(async {
                sink.send(Bytes::from(content.clone())).await?;
                sink.close().await
            })
        };
        let first = write(prefix());
        if ignores {
            let error = io::Error::from(first.unwrap_err());
            assert!(error.get_ref().is_some_and(|inner| inner.is::<ConditionalPutsIgnored>()), "{error:?}");
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            write(prefix().accept_ignored_conditions(true)).unwrap();
        } else {
            first.unwrap();
        }
        // It is not dead after all, and changes nothing.
        let error = block_on(killed.close()).unwrap_err();
        assert!(Chain(&error).to_string().contains("somebody else"), "{}", Chain(&error));
        drop(killed);
        blocking::settle();
        let sparse = ObjectSource::sparse(Arc::clone(&server) as Arc<dyn ObjectStore>, Path::from("p"));
        let reader = block_on(FrameReader::open(sparse)).unwrap();
        assert_eq!(block_on(reader.bytes(0..reader.nbytes())).unwrap(), content);
        assert!(block_on(reader.verify()).unwrap().is_good());
        // Six chunks with something in them, and the index.
        assert_eq!(server.names().len(), 7, "{:?}", server.names());
    }
}

/// Two writers at the same place, one a chunk ahead of the other: whatever happens, a frame that is there is that of one of
/// them.
#[test]
fn writers_that_ignore_each_other_do_not_mix() {
    let contents = [data(9 * CHUNK + 77), vec![0xEE; 9 * CHUNK + 5]];
    for seed in 0..40 {
        let server = Server::new(false, None);
        let mut random = common::Random::new(seed);
        let mut sinks = contents.clone().map(|content| {
            let place = PlaceTarget::new(ObjectPrefix::new(Arc::clone(&server), "p")).chunks_in_flight(2);
            (options().sink(place).unwrap(), Bytes::from(content), Ok(()))
        });
        let mut committed = Vec::new();
        for _ in 0..60 {
            let which = random.below(2) as usize;
            let (sink, rest, failed) = &mut sinks[which];
            if failed.is_err() || committed.contains(&which) {
                continue;
            }
            let step = block_on(async {
                if rest.is_empty() {
                    sink.close().await?;
                    committed.push(which);
                } else {
                    let piece = rest.split_to(rest.len().min(random.below(2 * CHUNK as u64) as usize + 1));
                    sink.send(piece).await?;
                    SinkExt::<Bytes>::flush(sink).await?;
                }
                Ok::<_, oxiblosc_streaming::WriteError>(())
            });
            if let Err(error) = step {
                let text = Chain(&error).to_string();
                assert!(text.contains("somebody else") || text.contains("there is a sparse frame"), "{text}");
                *failed = Err(());
            }
        }
        drop(sinks);
        blocking::settle();
        assert!(committed.len() <= 1, "seed {seed}");
        let sparse = ObjectSource::sparse(Arc::clone(&server) as Arc<dyn ObjectStore>, Path::from("p"));
        match (committed.first(), block_on(FrameReader::open(sparse))) {
            (Some(&winner), Ok(reader)) => {
                let found = block_on(reader.bytes(0..reader.nbytes())).unwrap();
                assert!(found == contents[winner], "seed {seed}");
                assert!(block_on(reader.verify()).unwrap().is_good());
            }
            (None, Err(_)) => {}
            (winner, reader) => panic!("seed {seed}: {winner:?}, {reader:?}"),
        }
    }
}
