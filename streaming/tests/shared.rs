//! Several writers, one sparse frame.

mod common;

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use common::places::{Hooked, copy, places};
use common::{CHUNK, Random, data, options};
use futures::channel::oneshot::channel;
use futures::future::{BoxFuture, Either, join_all, select};
use oxiblosc_core::Chain;
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::frame::{FingerprintKind, INDEX_FILE};
use oxiblosc_streaming::edit::{EditOptions, compact_place};
use oxiblosc_streaming::nd::{ArrayOptions, NdArray};
use oxiblosc_streaming::source::{ChunkFiles, FileSource};
use oxiblosc_streaming::sparse::{
    Directory, MemoryDirectory, MissingChunks, ShareError, SharedWriter, SparsePlace, clear,
};
use oxiblosc_streaming::target::PlaceTarget;
use oxiblosc_streaming::{FrameReader, Pool, WriteOptions, block_on, blocking};

fn chunk_of(data: &[u8], i: u64) -> Bytes {
    let start = i as usize * CHUNK;
    Bytes::copy_from_slice(&data[start..data.len().min(start + CHUNK)])
}

async fn read_all(place: &dyn SparsePlace) -> Vec<u8> {
    let reader = FrameReader::open(copy(place).await).await.unwrap();
    assert!(reader.verify().await.unwrap().is_good());
    reader.bytes(0..reader.nbytes()).await.unwrap().to_vec()
}

fn names(directory: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn writers_fill_a_frame_in_any_order() {
    for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 17 * CHUNK + 5] {
        for verified in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("frame");
            let data = data(len);
            let options = || match verified {
                true => options().checksums(true).fingerprint(FingerprintKind::default()),
                false => options(),
            };
            block_on(async {
                let place = || Directory::new(&path).unwrap();
                let writers = [
                    SharedWriter::create(place(), len as u64, options()).await.unwrap(),
                    SharedWriter::create(place(), len as u64, options()).await.unwrap(),
                    SharedWriter::open(place()).await.unwrap(),
                ];
                let mut numbers: Vec<u64> = (0..writers[0].nchunks()).collect();
                let mut random = Random::new(len as u64);
                for i in (1..numbers.len()).rev() {
                    numbers.swap(i, random.below(i as u64 + 1) as usize);
                }
                let writes = numbers.iter().map(|&i| writers[i as usize % 3].write(i, chunk_of(&data, i)));
                join_all(writes).await.into_iter().collect::<Result<(), _>>().unwrap();
                assert!(blocking::FrameReader::open(&path).is_err(), "nobody has committed");
                let summary = writers[1].commit(MissingChunks::Fail).await.unwrap();
                assert_eq!((summary.chunks, summary.nbytes), (numbers.len() as u64, len as u64));
            });
            let reader = blocking::FrameReader::open(&path).unwrap();
            assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), &data[..]);
            if verified {
                assert!(reader.verify().unwrap().is_good(), "{:?}", reader.verify());
            }
            // Chunks and index: nothing else is left, and they have the names that they always had.
            let chunks = (0..len.div_ceil(CHUNK)).map(|i| format!("{i:08X}.chunk"));
            assert_eq!(names(&path), chunks.chain([INDEX_FILE.to_owned()]).collect::<Vec<_>>());
        }
    }
}

#[test]
fn missing_chunks_are_named_or_filled() {
    let data = data(40 * CHUNK - 100);
    let missing = [3, 17, 39];
    for (kind, fill) in [(MissingChunks::Zero, Some(0)), (MissingChunks::Nan, None), (MissingChunks::Uninit, None)] {
        let place = Hooked::new(Arc::new(MemoryDirectory::new()));
        block_on(async {
            let writer = SharedWriter::create(place.clone(), data.len() as u64, options()).await.unwrap();
            for i in (0..40).filter(|i| !missing.contains(i)) {
                writer.write(i, chunk_of(&data, i)).await.unwrap();
            }
            let error = writer.commit(MissingChunks::Fail).await.unwrap_err();
            assert!(error.to_string().ends_with("3 of 40 chunks have not been written: 3, 17, 39"), "{error}");
            assert_eq!(place.count("read_files"), 0, "a list says what is missing");
            writer.write(17, chunk_of(&data, 17)).await.unwrap();
            writer.commit(kind).await.unwrap();
            let reader = FrameReader::open(copy(&place).await).await.unwrap();
            for i in 0..40 {
                let (found, expected) = (reader.chunk(i).await.unwrap(), chunk_of(&data, i));
                assert_eq!(found.len(), expected.len());
                match fill {
                    Some(byte) if [3, 39].contains(&i) => assert!(found.iter().all(|&found| found == byte), "{i}"),
                    None if i == 3 && kind == MissingChunks::Nan => {
                        let nan = |item: &[u8]| f32::from_le_bytes(item.try_into().unwrap()).is_nan();
                        assert!(found.chunks(4).all(nan));
                    }
                    None if [3, 39].contains(&i) => {}
                    _ => assert!(found == expected, "{i}"),
                }
            }
        });
    }
    // Of items that have no such value.
    let params = EncodeParams { typesize: 3, ..EncodeParams::default() };
    block_on(async {
        let options = WriteOptions::new(params).chunk_size(3000);
        let writer = SharedWriter::create(MemoryDirectory::new(), 6000, options).await.unwrap();
        assert!(matches!(writer.commit(MissingChunks::Nan).await, Err(ShareError::Write(_))));
        // That was no commit: chunks are still taken.
        writer.write(0, vec![1; 3000].into()).await.unwrap();
        writer.commit(MissingChunks::Zero).await.unwrap();
    });
}

/// What many jobs do when the chunk shape has been changed and some of them are started again.
#[test]
fn writers_that_disagree_are_told() {
    let options = |chunks: [u32; 2]| ArrayOptions::new([2048, 2048], "<i4").chunks(chunks).blocks([64, 64]);
    for (kind, place, _kept) in places() {
        block_on(async {
            let one = SharedWriter::create_array(place.clone(), options([1024, 1024])).await.unwrap();
            let error = SharedWriter::create_array(place.clone(), options([512, 2048])).await.unwrap_err();
            let ShareError::PlanDiffers { what, here, there } = &error else { panic!("{kind}: {error}") };
            assert!(what == "metalayer" && here.contains("[512, 2048]") && there.contains("[1024, 1024]"), "{error}");
            for (other, what) in [
                (options([1024, 1024]).blocks([32, 64]), "block size"),
                (options([1024, 1024]).frame(WriteOptions::default().checksums(true)), "checksums"),
                (options([1024, 1024]).frame(WriteOptions::default().vlmetalayer("v", &b"\xc0"[..])), "vlmetalayer"),
                (
                    options([1024, 1024]).frame(WriteOptions::new(EncodeParams { level: 1, ..Default::default() })),
                    "level",
                ),
                (ArrayOptions::new([2048, 1024], "<i4").chunks([1024, 1024]).blocks([64, 64]), "bytes"),
                (ArrayOptions::new([2048, 2048], "<f4").chunks([1024, 1024]).blocks([64, 64]), "metalayer"),
            ] {
                let error = SharedWriter::create_array(place.clone(), other).await.unwrap_err();
                assert!(matches!(&error, ShareError::PlanDiffers { what: found, .. } if found == what), "{error}");
            }
            // The same, and by the plan that is there.
            let same = SharedWriter::create_array(place.clone(), options([1024, 1024])).await.unwrap();
            let opened = SharedWriter::open(place.clone()).await.unwrap();
            for (i, writer) in [&one, &same, &opened, &one].into_iter().enumerate() {
                assert_eq!(writer.chunk_bytes(0).unwrap(), 4 << 20);
                writer.write(i as u64, vec![i as u8 + 1; 4 << 20].into()).await.unwrap();
            }
            opened.commit(MissingChunks::Fail).await.unwrap();
            let array = NdArray::open(copy(&place).await).await.unwrap();
            for (i, window) in ["0:1024, 0:1024", "0:1024, 1024:", "1024:, 0:1024", "1024:, 1024:"].iter().enumerate() {
                let found = array.read(&window.parse().unwrap()).await.unwrap().into_bytes();
                assert!(found.len() == 4 << 20 && found.iter().all(|&byte| byte == i as u8 + 1), "{kind} {i}");
            }
            for late in [
                SharedWriter::create_array(place.clone(), options([1024, 1024])).await,
                SharedWriter::open(place.clone()).await,
            ] {
                assert!(matches!(late, Err(ShareError::Committed(_))), "{kind}: {late:?}");
            }
        });
    }
}

/// A job that runs late, or twice, changes nothing of a frame that is committed: neither when it looks before it writes,
/// nor when the commit happens between its look and its write.
#[test]
fn stragglers_are_refused_and_reach_nothing() {
    let content = data(6 * CHUNK + 10);
    let other = Bytes::from(vec![0xEE; CHUNK]);
    for race in [false, true] {
        for (kind, place, _kept) in places() {
            block_on(async {
                let inner = Arc::clone(&place.inner);
                let writer = SharedWriter::create(Arc::clone(&inner), content.len() as u64, options()).await.unwrap();
                let straggler = SharedWriter::open(place.clone()).await.unwrap();
                for i in 0..7 {
                    // Some chunks are written more than once: the last counts.
                    if i % 2 == 1 {
                        writer.write(i, other.clone()).await.unwrap();
                    }
                    writer.write(i, chunk_of(&content, i)).await.unwrap();
                }
                let commit = async move {
                    writer.commit(MissingChunks::Fail).await.unwrap();
                };
                if race {
                    let commit: BoxFuture<'static, io::Result<()>> = Box::pin(async move {
                        commit.await;
                        Ok(())
                    });
                    place.before("create_chunk", 0, Box::new(move || commit));
                } else {
                    commit.await;
                }
                for i in [2, 3, 0, 6] {
                    let len = straggler.chunk_bytes(i).unwrap() as usize;
                    let error = straggler.write(i, other.slice(..len)).await.unwrap_err();
                    assert!(matches!(error, ShareError::Committed(_)), "{kind}, chunk {i}: {error}");
                    assert!(read_all(&inner).await == content, "{kind}, chunk {i}");
                }
                // Also when the same is written again that was committed.
                let again = straggler.write(1, chunk_of(&content, 1)).await;
                assert!(matches!(again, Err(ShareError::Committed(_))), "{kind}: {again:?}");
                let error = straggler.commit(MissingChunks::Zero).await.unwrap_err();
                assert!(matches!(error, ShareError::Committed(_)), "{kind}: {error}");
                assert!(read_all(&inner).await == content, "{kind}");
                assert!(inner.plan().await.unwrap().is_none(), "{kind}");
                if race {
                    // Files that came too late are left there until they are cleared.
                    assert_eq!(clear(&*inner).await.unwrap(), 1, "{kind}");
                }
                assert_eq!(inner.chunks().await.unwrap().len(), 7, "{kind}");
                assert_eq!(clear(&*inner).await.unwrap(), 0, "{kind}");
                assert!(read_all(&inner).await == content, "{kind}");
            });
        }
    }
}

/// A write that arrives very late, when other frames have been committed and removed in between, is not taken for a
/// chunk of the frame that is being written: not even if the index before says nothing about the numbers of its files.
#[test]
fn late_writes_reach_no_later_frame() {
    let content = data(2 * CHUNK);
    let other = Bytes::from(vec![0xEE; CHUNK]);
    let length = content.len() as u64;
    for (late_is_first, between) in [
        (true, "an empty frame"),
        (true, "zeros"),
        (false, "zeros"),
        (false, "zeros, then compacted"),
        (false, "zeros, then cleared"),
        (false, "cleared"),
        (true, "cleared, then a single writer"),
    ] {
        for (kind, place, _kept) in places() {
            block_on(async {
                let inner = Arc::clone(&place.inner);
                let first = SharedWriter::create(Arc::clone(&inner), length, options()).await.unwrap();
                let (second, late) = if late_is_first {
                    (None, SharedWriter::open(place.clone()).await.unwrap())
                } else {
                    first.write(0, other.clone()).await.unwrap();
                    first.commit(MissingChunks::Zero).await.unwrap();
                    let second = SharedWriter::replace(Arc::clone(&inner), length, options()).await.unwrap();
                    (Some(second), SharedWriter::open(place.clone()).await.unwrap())
                };
                let (sender, receiver) = channel();
                let work = async move {
                    if between.starts_with("cleared") {
                        clear(&*inner).await.unwrap();
                    }
                    if between == "cleared, then a single writer" {
                        let mut sink = options().sink(PlaceTarget::new(Arc::clone(&inner))).unwrap();
                        sink.close().await.unwrap();
                    } else if between != "cleared" {
                        let second = match second {
                            Some(second) => second,
                            None => {
                                first.write(0, data(CHUNK).into()).await.unwrap();
                                first.commit(MissingChunks::Zero).await.unwrap();
                                let length = if between == "zeros" { length } else { 0 };
                                SharedWriter::replace(Arc::clone(&inner), length, options()).await.unwrap()
                            }
                        };
                        let summary = second.commit(MissingChunks::Zero).await.unwrap();
                        // A repeated commit says so again, and others are told that there is a frame.
                        assert_eq!(second.commit(MissingChunks::Zero).await.unwrap(), summary);
                        let joined = SharedWriter::open(Arc::clone(&inner)).await;
                        assert!(matches!(joined, Err(ShareError::Committed(_))), "{between}, {kind}");
                        assert!(inner.chunks().await.unwrap().is_empty());
                        if between.ends_with("cleared") {
                            clear(&*inner).await.unwrap();
                        }
                        if between.ends_with("compacted") {
                            compact_place(Arc::clone(&inner)).await.unwrap();
                        }
                        // What is left of the plan does not keep editors out.
                        EditOptions::new().edit_sparse(Arc::clone(&inner)).await.unwrap();
                    }
                    let last = SharedWriter::replace(Arc::clone(&inner), length, options()).await.unwrap();
                    last.write(0, chunk_of(&data(2 * CHUNK), 0)).await.unwrap();
                    let _ = sender.send(last);
                    Ok(())
                };
                place.before("create_chunk", 0, Box::new(move || Box::pin(work)));
                let error = late.write(1, other.clone()).await.unwrap_err();
                assert!(matches!(error, ShareError::Committed(_) | ShareError::PlanGone), "{between}, {kind}: {error}");
                let last = receiver.await.unwrap();
                let error = last.commit(MissingChunks::Fail).await.unwrap_err();
                assert!(matches!(error, ShareError::Missing { count: 1, .. }), "{between}, {kind}: {error}");
                last.write(1, chunk_of(&content, 1)).await.unwrap();
                last.commit(MissingChunks::Fail).await.unwrap();
                assert!(read_all(&place).await == content, "{between}, {kind}");
                assert!(place.plan().await.unwrap().is_none(), "{between}, {kind}: nothing is left of any plan");
            });
        }
    }
}

/// A commit right after the last chunk has been written does not make its writer fail.
#[test]
fn a_commit_right_after_the_last_chunk() {
    let content = data(3 * CHUNK);
    for (kind, place, _kept) in places() {
        block_on(async {
            let inner = Arc::clone(&place.inner);
            let one = SharedWriter::create(Arc::clone(&inner), content.len() as u64, options()).await.unwrap();
            let last = SharedWriter::open(place.clone()).await.unwrap();
            one.write(0, chunk_of(&content, 0)).await.unwrap();
            one.write(2, chunk_of(&content, 2)).await.unwrap();
            let commit: BoxFuture<'static, io::Result<()>> = Box::pin(async move {
                one.commit(MissingChunks::Fail).await.unwrap();
                Ok(())
            });
            place.after("create_chunk", 0, Box::new(move || commit));
            last.write(1, chunk_of(&content, 1)).await.unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert!(read_all(&inner).await == content, "{kind}");
        });
    }
}

/// A write that has returned is part of the commit, even of one that fills what is missing: while a commit collects the
/// chunks no write says that all is well.
#[test]
fn no_acknowledged_chunk_is_left_out() {
    let content = data(3 * CHUNK);
    for (step, skip) in [("chunks", 0), ("put_plan", 0), ("chunks", 1), ("read_files", 0), ("put_index", 0)] {
        for (kind, place, _kept) in places() {
            block_on(async {
                let inner = Arc::clone(&place.inner);
                let writer = SharedWriter::create(Arc::clone(&inner), content.len() as u64, options()).await.unwrap();
                let committer = SharedWriter::open(place.clone()).await.unwrap();
                writer.write(0, chunk_of(&content, 0)).await.unwrap();
                let (sender, receiver) = channel();
                let chunk = chunk_of(&content, 1);
                let write: BoxFuture<'static, io::Result<()>> = Box::pin(async move {
                    let _ = sender.send(writer.write(1, chunk).await);
                    Ok(())
                });
                place.before(step, skip, Box::new(move || write));
                committer.commit(MissingChunks::Zero).await.unwrap_or_else(|error| panic!("{kind}, {step}: {error}"));
                let found = read_all(&inner).await;
                match receiver.await.unwrap() {
                    Ok(()) => assert!(found[..2 * CHUNK] == content[..2 * CHUNK], "{kind}, {step} {skip}"),
                    Err(ShareError::Committing) => assert!(found[..CHUNK] == content[..CHUNK], "{kind}, {step} {skip}"),
                    Err(error) => panic!("{kind}, {step}: {error}"),
                }
                assert!(inner.plan().await.unwrap().is_none(), "{kind}");
            });
        }
    }
}

/// Why a write gives no definite answer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Doubt {
    /// It has put the file, and finds a commit in progress.
    Committing,
    /// It has put the file, but the response is lost.
    AnswerLost,
    /// It is dropped after it has put the file.
    Dropped,
}

/// Repeated after the commit, a write tells whether its chunk is in the frame.
#[test]
fn writes_in_doubt_are_settled_by_the_same_call() {
    let content = data(3 * CHUNK);
    let (mine, other) = (chunk_of(&content, 1), Bytes::from(vec![0xEE; CHUNK]));
    for doubt in [Doubt::Committing, Doubt::AnswerLost, Doubt::Dropped] {
        for (taken, (kind, place, _kept)) in
            [true, false].into_iter().flat_map(|taken| places().into_iter().map(move |place| (taken, place)))
        {
            let case = format!("{kind}, {doubt:?}, taken: {taken}");
            block_on(async {
                let inner = Arc::clone(&place.inner);
                let committing = Hooked::new(Arc::clone(&inner));
                let one = SharedWriter::create(Arc::clone(&inner), content.len() as u64, options()).await.unwrap();
                let writer = SharedWriter::open(place.clone()).await.unwrap();
                let committer = SharedWriter::open(committing.clone()).await.unwrap();
                one.write(0, chunk_of(&content, 0)).await.unwrap();
                one.write(2, chunk_of(&content, 2)).await.unwrap();

                // The write pauses once its file is there. If `go_on` is dropped, the response is lost.
                let (put, is_put) = channel();
                let (go_on, may_go_on) = channel();
                let wait = async move {
                    put.send(()).unwrap();
                    may_go_on.await.map_err(|_| io::ErrorKind::ConnectionReset.into())
                };
                place.after("create_chunk", 0, Box::new(|| Box::pin(wait)));
                let Either::Right((_, write)) = select(Box::pin(writer.write(1, mine.clone())), is_put).await else {
                    panic!("{case}: it was to wait");
                };
                if !taken {
                    one.write(1, other.clone()).await.unwrap();
                }
                match doubt {
                    Doubt::Committing => {
                        let (reach, is_reached) = channel();
                        let (finish, may_finish) = channel();
                        let wait = async move {
                            reach.send(()).unwrap();
                            may_finish.await.map_err(io::Error::other)
                        };
                        committing.before("put_index", 0, Box::new(|| Box::pin(wait)));
                        let commit = Box::pin(committer.commit(MissingChunks::Fail));
                        let Either::Right((_, commit)) = select(commit, is_reached).await else {
                            panic!("{case}: it was to wait");
                        };
                        go_on.send(()).unwrap();
                        let error = write.await.unwrap_err();
                        assert!(matches!(error, ShareError::Committing) && error.is_retryable(), "{case}: {error}");
                        finish.send(()).unwrap();
                        commit.await.unwrap();
                    }
                    Doubt::AnswerLost => {
                        drop(go_on);
                        let error = write.await.unwrap_err();
                        assert!(matches!(error, ShareError::Place(_)) && error.is_retryable(), "{case}: {error}");
                        committer.commit(MissingChunks::Fail).await.unwrap();
                    }
                    Doubt::Dropped => {
                        drop(write);
                        committer.commit(MissingChunks::Fail).await.unwrap();
                    }
                }
                // Only for the same bytes, and only for chunks whose write had no definite answer.
                for (i, late) in [(1, Bytes::from(vec![7; CHUNK])), (0, chunk_of(&content, 0))] {
                    let late = writer.write(i, late).await;
                    assert!(matches!(late, Err(ShareError::Committed(_))), "{case}, chunk {i}: {late:?}");
                }
                let again = writer.write(1, mine.clone()).await;
                match taken {
                    true => assert!(again.is_ok(), "{case}: {again:?}"),
                    false => assert!(matches!(again, Err(ShareError::Committed(_))), "{case}: {again:?}"),
                }
                assert!(read_all(&inner).await[CHUNK..2 * CHUNK] == if taken { &mine } else { &other }[..], "{case}");
                assert_eq!(inner.chunks().await.unwrap().len(), 3, "{case}");
            });
        }
    }
}

#[test]
fn of_two_commits_one_wins_and_the_other_is_told() {
    let content = data(3 * CHUNK);
    for (kind, place, _kept) in places() {
        block_on(async {
            let inner = Arc::clone(&place.inner);
            let one = SharedWriter::create(place.clone(), content.len() as u64, options()).await.unwrap();
            let others = Hooked::new(Arc::clone(&inner));
            let other = SharedWriter::open(others.clone()).await.unwrap();
            for i in 0..3 {
                one.write(i, chunk_of(&content, i)).await.unwrap();
            }
            // The other writer commits after the first has built its index.
            let (summary, summed) = channel();
            let commit: BoxFuture<'static, io::Result<()>> = Box::pin(async move {
                summary.send(other.commit(MissingChunks::Fail).await.unwrap()).unwrap();
                Ok(())
            });
            place.before("put_index", 0, Box::new(move || commit));
            // The first finds the very index that it was about to put, and reports success.
            assert_eq!(one.commit(MissingChunks::Fail).await.unwrap(), summed.await.unwrap(), "{kind}");
            let put = |place: &Hooked| place.indexes.lock().unwrap().clone();
            assert_eq!((put(&place).len(), put(&place)), (1, put(&others)), "{kind}");
            assert_eq!(inner.index().await.unwrap().unwrap().content, put(&place)[0], "{kind}");
            assert!(read_all(&inner).await == content);
            // A repeated commit reports success again.
            assert!(one.commit(MissingChunks::Fail).await.is_ok(), "{kind}");
            assert_eq!(put(&place).len(), 1, "{kind}: nothing is put again");

            // With the consent of both the frame may be written again, but only by one plan.
            let again = || options().metalayer("x", &b"\xc0"[..]);
            let refused = SharedWriter::create(place.clone(), content.len() as u64, again()).await;
            assert!(matches!(refused, Err(ShareError::Committed(_))), "{kind}");
            let one = SharedWriter::replace(place.clone(), content.len() as u64, again()).await.unwrap();
            let other = SharedWriter::replace(place.clone(), content.len() as u64, options()).await;
            assert!(matches!(other, Err(ShareError::PlanDiffers { .. })), "{kind}: {other:?}");
            let other = SharedWriter::replace(place.clone(), content.len() as u64, again()).await.unwrap();
            for i in 0..3 {
                let writer = if i == 1 { &one } else { &other };
                writer.write(i, chunk_of(&content, 2 - i)).await.unwrap();
                assert!(read_all(&inner).await == content, "the old frame is there until the commit");
            }
            assert!(other.commit(MissingChunks::Fail).await.is_ok());
            assert!(matches!(one.commit(MissingChunks::Fail).await, Err(ShareError::Committed(_))), "{kind}");
            assert!(matches!(one.write(0, chunk_of(&content, 0)).await, Err(ShareError::Committed(_))), "{kind}");
            let expected: Vec<u8> = content.chunks(CHUNK).rev().flatten().copied().collect();
            assert!(read_all(&inner).await == expected, "{kind}");
            assert_eq!(inner.chunks().await.unwrap().len(), 3, "{kind}: the old chunks are gone");
        });
    }
}

/// Many threads commit at the same time, in each kind of place.
#[test]
fn commits_at_the_same_time() {
    let content = data(5 * CHUNK);
    for (kind, place, _kept) in places() {
        block_on(async {
            let writer = SharedWriter::create(place.clone(), content.len() as u64, options()).await.unwrap();
            for i in 0..5 {
                writer.write(i, chunk_of(&content, i)).await.unwrap();
            }
        });
        let writers: Vec<_> = (0..6).map(|_| block_on(SharedWriter::open(place.clone())).unwrap()).collect();
        let commit = |writer: SharedWriter<_>| thread::spawn(move || block_on(writer.commit(MissingChunks::Fail)));
        let commits: Vec<_> = writers.into_iter().map(commit).collect();
        let results: Vec<_> = commits.into_iter().map(|commit| commit.join().unwrap()).collect();
        let first = results.iter().find_map(|result| result.as_ref().ok()).copied();
        let first = first.unwrap_or_else(|| panic!("{kind}: {results:?}"));
        for result in results {
            match result {
                Ok(summary) => assert_eq!(summary, first, "{kind}"),
                Err(error) => assert!(matches!(error, ShareError::Committed(_)), "{kind}: {error}"),
            }
        }
        // All of them have built the same index.
        let index = block_on(place.index()).unwrap().unwrap().content;
        let made = place.indexes.lock().unwrap().clone();
        assert!(!made.is_empty() && made.iter().all(|made| *made == index), "{kind}");
        assert!(block_on(read_all(&place)) == content, "{kind}");
    }
}

/// A process may be killed at any step of a commit: the next one finishes it.
#[test]
fn commits_that_were_interrupted_are_finished_by_others() {
    let content = data(4 * CHUNK + 1);
    let fail = || -> BoxFuture<'static, io::Result<()>> {
        Box::pin(async { Err(io::Error::new(io::ErrorKind::ConnectionReset, "killed")) })
    };
    for (step, after) in [
        ("chunks", false),
        ("put_plan", false),
        ("put_plan", true),
        ("read_files", false),
        ("put_index", false),
        ("put_index", true),
        ("remove_chunk", false),
        ("remove_plan", false),
    ] {
        for (kind, place, _kept) in places() {
            block_on(async {
                let inner = Arc::clone(&place.inner);
                let killed = SharedWriter::create(place.clone(), content.len() as u64, options()).await.unwrap();
                for i in 0..5 {
                    killed.write(i, chunk_of(&content, i).iter().map(|byte| !byte).collect()).await.unwrap();
                    killed.write(i, chunk_of(&content, i)).await.unwrap();
                }
                match after {
                    true => place.after(step, 0, Box::new(fail)),
                    false => place.before(step, 0, Box::new(fail)),
                }
                let first = killed.commit(MissingChunks::Fail).await;
                assert_eq!(first.is_ok(), step.starts_with("remove"), "{kind}, {step}: {first:?}");
                if first.is_err() && !(step == "put_index" && after) {
                    let next = SharedWriter::open(inner.clone()).await.unwrap();
                    next.commit(MissingChunks::Fail).await.unwrap_or_else(|error| panic!("{kind}, {step}: {error}"));
                    assert!(matches!(killed.commit(MissingChunks::Fail).await, Ok(_) | Err(ShareError::Committed(_))));
                } else if first.is_err() {
                    // It may ask again, and hears that it has succeeded.
                    killed.commit(MissingChunks::Fail).await.unwrap_or_else(|error| panic!("{kind}, {step}: {error}"));
                }
                assert!(read_all(&*inner).await == content, "{kind}, {step}");
                let late = SharedWriter::open(inner.clone()).await;
                assert!(matches!(late, Err(ShareError::Committed(_))), "{kind}, {step}");
                assert!(matches!(killed.write(0, chunk_of(&content, 0)).await, Err(ShareError::Committed(_))));
            });
        }
    }
}

#[test]
fn plans_that_were_abandoned() {
    let (content, other) = (data(4 * CHUNK), vec![0xEE; 4 * CHUNK]);
    for (kind, place, _kept) in places() {
        block_on(async {
            let abandoned = SharedWriter::create(place.clone(), other.len() as u64, options()).await.unwrap();
            for i in 0..3 {
                abandoned.write(i, chunk_of(&other, i)).await.unwrap();
            }
            let differs = SharedWriter::create(place.clone(), 3 * CHUNK as u64, options()).await;
            assert!(matches!(differs, Err(ShareError::PlanDiffers { .. })), "{kind}");
            // A single writer does not take over what many have begun.
            let mut sink = options().sink(PlaceTarget::new(place.clone())).unwrap();
            let error = futures::SinkExt::send(&mut sink, Bytes::from(content.clone())).await;
            let error = match error {
                Ok(()) => sink.close().await.unwrap_err(),
                Err(error) => error,
            };
            let said = Chain(&error).to_string();
            assert!(said.contains("sparse::clear"), "{kind}: {said}");
            drop(sink);
            assert_eq!(clear(&place).await.unwrap(), 3, "{kind}");
            assert!(place.chunks().await.unwrap().is_empty(), "{kind}");
            let error = abandoned.write(3, chunk_of(&other, 3)).await.unwrap_err();
            assert!(matches!(error, ShareError::PlanGone), "{kind}: {error}");
            assert!(matches!(abandoned.commit(MissingChunks::Zero).await, Err(ShareError::PlanGone)), "{kind}");
            assert!(matches!(SharedWriter::open(place.clone()).await, Err(ShareError::NoPlan)), "{kind}");

            // A writer that looked before it was cleared, and writes after the next plan has been made.
            let next = SharedWriter::create(place.inner.clone(), content.len() as u64, options()).await.unwrap();
            let late = SharedWriter::open(place.clone()).await.unwrap();
            next.write(0, chunk_of(&content, 0)).await.unwrap();
            let inner = place.inner.clone();
            let length = content.len() as u64;
            let (sender, receiver) = channel();
            place.before(
                "create_chunk",
                0,
                Box::new(move || {
                    Box::pin(async move {
                        clear(&*inner).await.unwrap();
                        let _ = sender.send(SharedWriter::create(inner, length, options()).await.unwrap());
                        Ok(())
                    })
                }),
            );
            let error = late.write(1, chunk_of(&other, 1)).await.unwrap_err();
            assert!(matches!(error, ShareError::PlanGone), "{kind}: {error}");
            let last = receiver.await.unwrap();
            let error = last.commit(MissingChunks::Fail).await.unwrap_err();
            assert!(matches!(error, ShareError::Missing { count: 4, .. }), "{kind}: not even by the late one: {error}");
            for i in 0..4 {
                last.write(i, chunk_of(&content, i)).await.unwrap();
            }
            last.commit(MissingChunks::Fail).await.unwrap();
            assert!(read_all(&place).await == content, "{kind}");
            assert_eq!(place.chunks().await.unwrap().len(), 4, "{kind}: the commit has cleared up");
            assert!(place.plan().await.unwrap().is_none(), "{kind}");
        });
    }
}

#[test]
fn wrong_numbers_lengths_and_files() {
    let directory = tempfile::tempdir().unwrap();
    let place = Directory::new(directory.path()).unwrap();
    block_on(async {
        let writer = SharedWriter::create(place.clone(), CHUNK as u64 + 8, options()).await.unwrap();
        assert!(matches!(writer.write(2, Bytes::new()).await, Err(ShareError::NoSuchChunk { chunk: 2, nchunks: 2 })));
        let error = writer.write(1, Bytes::from_static(b"7 bytes")).await.unwrap_err();
        assert!(matches!(error, ShareError::Length { chunk: 1, expected: 8, found: 7 }));
        writer.write(0, vec![1; CHUNK].into()).await.unwrap();
        place.put_chunk(1, Bytes::from_static(b"no chunk")).await.unwrap();
        assert!(matches!(writer.commit(MissingChunks::Zero).await, Err(ShareError::Damaged { chunk: 1, .. })));
        writer.write(1, vec![2; 8].into()).await.unwrap();
        writer.commit(MissingChunks::Zero).await.unwrap();
    });
    let reader = blocking::FrameReader::open(directory.path()).unwrap();
    assert_eq!(reader.bytes(0..reader.nbytes()).unwrap(), [vec![1; CHUNK], vec![2; 8]].concat());
    // A chunk of another length, written by another program.
    let place = MemoryDirectory::new();
    block_on(async {
        let writer = SharedWriter::create(place.clone(), 3 * CHUNK as u64, options()).await.unwrap();
        writer.write(0, vec![1; CHUNK].into()).await.unwrap();
        place.put_chunk(1, place.read_file(0, 0..u64::MAX).await.unwrap()).await.unwrap();
        let foreign = oxiblosc_core::chunk::special_chunk(oxiblosc_core::chunk::SpecialValue::Zero, CHUNK - 4, 4, 1024);
        place.put_chunk(2, foreign.unwrap().into()).await.unwrap();
        let error = writer.commit(MissingChunks::Zero).await.unwrap_err();
        assert!(matches!(error, ShareError::Length { chunk: 2, .. }), "{error}");
        // A plan that cannot be read does not count as none.
        let version = place.plan().await.unwrap();
        place.put_plan(Bytes::from_static(b"oxiblosc plan 2\nid: 1\nend\n"), version).await.unwrap();
        let error = SharedWriter::create(place.clone(), 3 * CHUNK as u64, options()).await.unwrap_err();
        assert!(matches!(&error, ShareError::BadPlan { .. }), "{error}");
        assert!(matches!(writer.write(1, vec![1; CHUNK].into()).await, Err(ShareError::BadPlan { .. })));
        assert_eq!(clear(&place).await.unwrap(), 3);
        assert!(place.files().is_empty());
    });
}

/// The same chunk repeatedly: other bytes get other files, until there are no more; the same bytes do not.
#[test]
fn chunks_written_very_often() {
    let place = MemoryDirectory::new();
    block_on(async {
        let options = options().chunk_size(4);
        let writer = SharedWriter::create(place.clone(), 4 << 17, options).await.unwrap();
        for round in 0..40u32 {
            writer.write(5, Bytes::copy_from_slice(&(round / 4).to_le_bytes())).await.unwrap();
        }
        assert_eq!(place.chunks().await.unwrap().len(), 10);
        let mut refused = None;
        for round in 10..20u32 {
            let result = writer.write(5, Bytes::copy_from_slice(&round.to_le_bytes())).await;
            assert_eq!(result.is_ok(), round < 16);
            refused = refused.or(result.err());
        }
        let error = refused.unwrap();
        assert!(matches!(error, ShareError::WrittenTooOften { chunk: 5, times: 16 }), "{error}");
        writer.commit(MissingChunks::Zero).await.unwrap();
        let reader = FrameReader::open(place.clone()).await.unwrap();
        assert_eq!(reader.chunk(5).await.unwrap(), 15u32.to_le_bytes()[..]);
        assert_eq!(place.chunks().await.unwrap().len(), 1);
    });
}

const BIG: [u64; 2] = [4096, 4096];

fn big() -> ArrayOptions {
    let params = EncodeParams { level: 1, ..EncodeParams::default() };
    ArrayOptions::new(BIG, "<i4").chunks([500, 1000]).blocks([50, 500]).frame(WriteOptions::new(params))
}

/// The items of a window: each says where it is.
fn items<P: SparsePlace>(writer: &SharedWriter<P>, i: u64) -> Bytes {
    let window = writer.tiling().unwrap().chunk_window(i).unwrap();
    let (y, x) =
        (window.origin[0]..window.origin[0] + window.shape[0], window.origin[1]..window.origin[1] + window.shape[1]);
    y.flat_map(|y| x.clone().flat_map(move |x| ((y * 10_000 + x) as i32).to_le_bytes())).collect()
}

/// Writes every chunk that leaves a remainder, in an order of its own, some of them with other bytes before.
fn write_share<P: SparsePlace>(writer: &SharedWriter<P>, share: u64) {
    let mut mine: Vec<u64> = (0..writer.nchunks()).filter(|i| i % 4 == share).collect();
    let mut random = Random::new(share + 1);
    for i in (1..mine.len()).rev() {
        mine.swap(i, random.below(i as u64 + 1) as usize);
    }
    for i in mine {
        for _ in 0..random.below(3) {
            let wrong = items(writer, i).iter().map(|byte| !byte).collect();
            block_on(writer.write(i, wrong)).unwrap();
        }
        block_on(writer.write(i, items(writer, i))).unwrap();
    }
}

fn check_big(path: &std::path::Path) {
    let array = blocking::NdArray::open(path).unwrap();
    assert_eq!(array.shape(), BIG);
    let all = array.read(&"...".parse().unwrap()).unwrap().into_bytes();
    let expected: Vec<u8> =
        (0..BIG[0]).flat_map(|y| (0..BIG[1]).flat_map(move |x| ((y * 10_000 + x) as i32).to_le_bytes())).collect();
    assert!(all == expected);
    assert_eq!(names(path).len(), 45 + 1, "{:?}", names(path));
}

/// Not a test in itself: a process of [`processes_fill_an_array`].
#[test]
fn writer_of_a_share() {
    let (Some(path), Ok(share)) = (std::env::var_os("OXIBLOSC_TEST_SHARE"), std::env::var("OXIBLOSC_TEST_NUMBER"))
    else {
        return;
    };
    // The first process creates the plan.
    let writer = block_on(SharedWriter::create_array(Directory::new(path).unwrap(), big())).unwrap();
    write_share(&writer, share.parse().unwrap());
}

#[test]
fn processes_fill_an_array() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array");
    let processes: Vec<_> = (0..4)
        .map(|share: u32| {
            Command::new(std::env::current_exe().unwrap())
                .args(["writer_of_a_share", "--exact", "--nocapture"])
                .env("OXIBLOSC_TEST_SHARE", &path)
                .env("OXIBLOSC_TEST_NUMBER", share.to_string())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let writer = block_on(SharedWriter::open(Directory::new(&path).unwrap())).unwrap();
    block_on(writer.commit(MissingChunks::Fail)).unwrap();
    check_big(&path);
    let array = block_on(async { NdArray::open(FileSource::open(&path).await.unwrap()).await.unwrap() });
    assert_eq!(array.shape(), BIG);
}

#[test]
fn threads_fill_an_array() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array");
    let place = Directory::new(&path).unwrap();
    let writer = Arc::new(block_on(SharedWriter::create_array(place, big())).unwrap());
    let threads = (0..4).map(|share| {
        let writer = Arc::clone(&writer);
        thread::spawn(move || write_share(&writer, share))
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    block_on(writer.commit(MissingChunks::Fail)).unwrap();
    check_big(&path);
}

/// Tiling and checksums of a large chunk are work for the pool; the thread that polls does none of it.
#[cfg(target_os = "linux")]
#[test]
fn no_poll_takes_long() {
    use std::future::Future;
    use std::task::{Context, Poll};

    /// Processor time of this thread, in nanoseconds.
    fn busy() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        stat.split(' ').next().unwrap().parse().unwrap()
    }

    let pool = Pool::new(2);
    let params = EncodeParams { level: 1, ..EncodeParams::default() };
    let frame = || WriteOptions::new(params.clone()).pool(&pool).checksums(true).chunk_size(64 << 20);
    let array = || ArrayOptions::new([4096, 4096], "<i4").chunks([4096, 4096]).blocks([64, 64]).frame(frame());
    let content = |factor: u32| -> Bytes {
        (0..16u32 << 20).flat_map(|i| i.wrapping_mul(factor).to_le_bytes()).collect::<Vec<u8>>().into()
    };
    let contents = [77, 79, 81].map(content);
    for (kind, place, _kept) in places() {
        for plain in [true, false] {
            let writer = match plain {
                true => block_on(SharedWriter::replace(place.clone(), 64 << 20, frame())),
                false => block_on(SharedWriter::replace_array(place.clone(), array())),
            }
            .unwrap();
            let longest_of = |content: &Bytes| {
                let mut write = Box::pin(writer.write(0, content.clone()));
                let mut longest = 0;
                block_on(std::future::poll_fn(|cx: &mut Context<'_>| -> Poll<()> {
                    let before = busy();
                    let result = write.as_mut().poll(cx);
                    longest = longest.max(busy() - before);
                    result.map(|result| result.unwrap())
                }));
                longest
            };
            // On a busy machine single polls take long, so the best of a few tries counts. Writing a chunk that is
            // already there takes another path, which compares the two.
            let new = contents.iter().map(longest_of).min().unwrap_or_default();
            let again = (0..3).map(|_| longest_of(&contents[2])).min().unwrap_or_default();
            println!("{kind}, plain {plain}: {new} ns in one poll, {again} ns when it is there already");
            assert!(new.max(again) < 2_000_000, "{kind}, plain {plain}: {new} ns, {again} ns in one poll");
            block_on(writer.commit(MissingChunks::Fail)).unwrap();
        }
    }
}

#[test]
fn of_many_that_create_a_frame_one_has_not_joined() {
    for round in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("frame");
        let create = || {
            let place = Directory::new(&path).unwrap();
            block_on(SharedWriter::create(place, 3 * CHUNK as u64, options())).unwrap().has_joined()
        };
        let joined: Vec<bool> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(create)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(joined.iter().filter(|&&joined| !joined).count(), 1, "round {round}: {joined:?}");
        assert!(create() && block_on(SharedWriter::open(Directory::new(&path).unwrap())).unwrap().has_joined());
        // What nobody continues can be begun again.
        block_on(clear(&Directory::new(&path).unwrap())).unwrap();
        assert!(!create());
    }
}
