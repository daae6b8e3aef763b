//! Asynchronous editors: dropped futures, several editors of one place, real sizes.

mod common;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures::SinkExt;
use futures::future::BoxFuture;
use oxiblosc_core::chunk::SpecialValue;
use oxiblosc_plugins as _;
use oxiblosc_streaming::edit::{EditError, EditOptions, FrameEditor, compact_place};
use oxiblosc_streaming::nd::{ArrayError, ArrayOptions, NdArray, NdEditor, Selection};
use oxiblosc_streaming::source::ChunkFiles;
use oxiblosc_streaming::sparse::{FileVersion, MemoryDirectory, SparsePlace};
use oxiblosc_streaming::target::PlaceTarget;
use oxiblosc_streaming::{ErrorKind, FrameReader, IoMode, Pool, WriteOptions, block_on, blocking};

use common::Random;
use common::places::{Hooked, copy, places};

const SMALL: usize = 96;

fn options() -> EditOptions {
    EditOptions::new().durable(false)
}

async fn sparse(content: &[u8], chunk_size: usize) -> MemoryDirectory {
    let place = MemoryDirectory::new();
    let mut sink = WriteOptions::default().chunk_size(chunk_size).sink(PlaceTarget::new(place.clone())).unwrap();
    sink.feed(Bytes::copy_from_slice(content)).await.unwrap();
    sink.close().await.unwrap();
    place
}

async fn read(place: &MemoryDirectory) -> Vec<u8> {
    let reader = FrameReader::open(place.snapshot()).await.unwrap();
    reader.bytes(0..reader.nbytes()).await.unwrap().to_vec()
}

async fn array(shape: [u64; 2], chunks: [u32; 2]) -> MemoryDirectory {
    let place = MemoryDirectory::new();
    let options = ArrayOptions::new(shape, "|u1").chunks(chunks).blocks([chunks[0].min(2), chunks[1]]);
    let mut sink = options.sink(PlaceTarget::new(place.clone())).unwrap();
    sink.feed(vec![0; (shape[0] * shape[1]) as usize].into()).await.unwrap();
    sink.close().await.unwrap();
    place
}

fn noise(len: usize, seed: u64) -> Bytes {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.below(256) as u8).collect::<Vec<u8>>().into()
}

fn assert_send<T: Send>(value: T) -> T {
    value
}

/// Programs move editors and their futures between threads.
#[test]
fn futures_of_editors_can_be_sent() {
    block_on(async {
        let place = sparse(&[1; 200], SMALL).await;
        let mut editor = assert_send(options().edit_sparse(place)).await.unwrap();
        assert_send(editor.append(vec![2; 10])).await.unwrap();
        assert_send(editor.append_from(&[3; 10][..])).await.unwrap();
        assert_send(editor.fill(SpecialValue::Zero, 300)).await.unwrap();
        assert_send(editor.update(0, vec![4; SMALL])).await.unwrap();
        assert_send(editor.chunk(0)).await.unwrap();
        assert_send(editor.delete(1)).await.unwrap();
        assert_send(editor.make_variable()).await.unwrap();
        assert_send(editor.commit()).await.unwrap();
        assert_send(editor.rebase()).await.unwrap();
        let place = array([3, 4], [2, 4]).await;
        let mut editor = NdEditor::new(options().edit_sparse(place.clone()).await.unwrap()).unwrap();
        assert_send(editor.append(0, vec![1; 8])).await.unwrap();
        assert_send(editor.write(&Selection::all(), vec![1; 20])).await.unwrap();
        assert_send(editor.resize(&[2, 2])).await.unwrap();
        assert_send(editor.read(&Selection::all())).await.unwrap();
        assert_send(editor.commit()).await.unwrap();
        assert_send(editor.rebase()).await.unwrap();
        assert_send(compact_place(place)).await.unwrap();
    });
}

/// 64 MiB of incompressible bytes in every kind of place, on the threads of the default mode, in pieces of any size.
#[test]
fn real_sizes_in_the_default_mode() {
    const LEN: usize = 64 << 20;
    let content = noise(LEN, 5);
    let directory = tempfile::tempdir().unwrap();
    let (file, sparse_directory) = (directory.path().join("file"), directory.path().join("sparse"));
    block_on(async {
        for (path, is_sparse) in [(&file, false), (&sparse_directory, true)] {
            let write = WriteOptions::default().chunk_size(1 << 20);
            match is_sparse {
                false => drop(blocking::FrameWriter::create(path, write).unwrap().finish().unwrap()),
                true => {
                    let target = oxiblosc_streaming::target::SparseTarget::create(path).unwrap();
                    write.sink(target).unwrap().close().await.unwrap();
                }
            }
            let mut editor = options().open(path).await.unwrap();
            append_pieces(&mut editor, &content).await;
            let reader = blocking::FrameReader::open(path).unwrap();
            assert!(reader.bytes(0..LEN as u64).unwrap() == content, "{path:?}");
            assert!(reader.verify().unwrap().findings.is_empty(), "{path:?}");
        }
        let place = sparse(&[], 1 << 20).await;
        let mut editor = options().edit_sparse(place.clone()).await.unwrap();
        append_pieces(&mut editor, &content).await;
        assert!(read(&place).await == content);

        // The same bytes, whoever waits for them.
        let memory = |mode| {
            let content = content.clone();
            async move {
                let frame = blocking_frame(1 << 20);
                let mut editor = options().io_mode(mode).edit(frame).await.unwrap();
                append_pieces(&mut editor, &content).await;
                editor.frame_bytes().await.unwrap()
            }
        };
        assert!(memory(IoMode::Inline).await == memory(IoMode::Offloaded).await);
    });
}

fn blocking_frame(chunk_size: usize) -> Vec<u8> {
    let mut writer = blocking::FrameWriter::in_memory(WriteOptions::default().chunk_size(chunk_size)).unwrap();
    writer.finish().unwrap();
    writer.into_bytes()
}

async fn append_pieces(editor: &mut FrameEditor, content: &Bytes) {
    let (mut at, mut len) = (0, 1);
    while at < content.len() {
        let end = content.len().min(at + len);
        editor.append(content.slice(at..end)).await.unwrap();
        if len % 3 == 0 {
            editor.commit().await.unwrap();
        }
        (at, len) = (end, len * 3 + 1);
    }
    editor.commit().await.unwrap();
}

/// Polls a future `polls` times and drops it if it is not ready by then. A thread sleeps between polls, so that work on
/// other threads moves on.
fn drop_after<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..polls {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        std::thread::sleep(std::time::Duration::from_micros(30));
    }
    None
}

/// Every operation is dropped after so many polls and then either made or not, and the frame is never anything else.
#[test]
fn dropped_futures_leave_whole_changes() {
    let pool = Pool::new(2);
    let mut random = Random::new(3);
    for round in 0..400 {
        let before = noise(SMALL * 5 + 40, round);
        let file = Arc::new(Mutex::new({
            let mut writer = blocking::FrameWriter::in_memory(WriteOptions::default().chunk_size(SMALL)).unwrap();
            std::io::Write::write_all(&mut writer, &before).unwrap();
            writer.finish().unwrap();
            writer.into_bytes()
        }));
        let place = block_on(sparse(&before, SMALL));
        let options = || options().pool(&pool);
        let mut editor = match round % 2 {
            0 => block_on(options().edit(Arc::clone(&file))).unwrap(),
            _ => block_on(options().edit_sparse(place.clone())).unwrap(),
        };
        let mut model = before.to_vec();
        for step in 0..12 {
            let polls = random.below(6) as usize;
            let more = noise(1 + random.below(60) as usize, round * 100 + step);
            let chunk = random.below(model.len() as u64 / SMALL as u64);
            let at = chunk as usize * SMALL;
            match random.below(4) {
                0 => {
                    let before = editor.nbytes();
                    // It fits into the last chunk, so that it is one change.
                    let room = SMALL - model.len() % SMALL;
                    let more = more.slice(..more.len().min(room));
                    drop_after(editor.append(more.clone()), polls).map(Result::unwrap);
                    match editor.nbytes() - before {
                        0 => {}
                        added => {
                            assert_eq!(added, more.len() as u64);
                            model.extend_from_slice(&more);
                        }
                    }
                }
                1 => {
                    let new = noise(SMALL, round * 1000 + step);
                    drop_after(editor.update(chunk, new.clone()), polls).map(Result::unwrap);
                    let found = block_on(editor.chunk(chunk)).unwrap();
                    assert!(found == new || found == model[at..at + SMALL], "half a chunk");
                    model[at..at + SMALL].copy_from_slice(&found);
                }
                2 => {
                    let nchunks = editor.nchunks();
                    drop_after(editor.delete(chunk), polls).map(Result::unwrap);
                    if editor.nchunks() < nchunks {
                        model.drain(at..at + SMALL);
                    }
                    if model.len() < 2 * SMALL {
                        block_on(editor.append(noise(3 * SMALL, 9))).unwrap();
                        model.extend_from_slice(&noise(3 * SMALL, 9));
                    }
                }
                _ => {
                    let committed = drop_after(editor.commit(), polls).is_some();
                    if !committed {
                        // It is known to be unfinished, or it has succeeded in the background.
                        block_on(editor.commit()).unwrap();
                    }
                }
            }
        }
        block_on(editor.commit()).unwrap();
        let found = match round % 2 {
            0 => {
                let frame = file.lock().unwrap().clone();
                let reader = blocking::FrameReader::from_bytes(frame).unwrap();
                reader.bytes(0..reader.nbytes()).unwrap().to_vec()
            }
            _ => block_on(read(&place)),
        };
        assert!(found == model, "round {round}");
    }
}

/// Changes of an array take many steps. When their futures are dropped they are undone as a whole.
#[test]
fn dropped_changes_of_arrays_are_undone() {
    let pool = Pool::new(2);
    let mut random = Random::new(4);
    let (mut dropped, mut made) = (0, 0);
    for _ in 0..200 {
        let place = block_on(array([6, 10], [2, 4]));
        let editor = block_on(options().pool(&pool).edit_sparse(place.clone())).unwrap();
        let mut editor = NdEditor::new(editor).unwrap();
        let mut model = vec![0; 60];
        for step in 1..8_u8 {
            let polls = random.below(40) as usize;
            let rows = model.len() / 10;
            match random.below(2) {
                0 => {
                    let done = drop_after(editor.append(0, vec![step; 30]), polls);
                    if done.is_some() {
                        model.extend_from_slice(&[step; 30]);
                    }
                }
                _ => {
                    let done = drop_after(editor.write(&Selection::all(), vec![step; rows * 10]), polls);
                    if done.is_some() {
                        model.fill(step);
                    }
                }
            }
            let found = block_on(editor.read(&Selection::all())).unwrap();
            match found.bytes()[..] == model[..] {
                true => made += 1,
                false => panic!("step {step}: {:?}", found.bytes()),
            }
            dropped += u32::from(rows * 10 == model.len());
        }
        block_on(editor.commit()).unwrap();
        let array = block_on(NdArray::open(place)).unwrap();
        assert!(block_on(array.read(&Selection::all())).unwrap().bytes()[..] == model[..]);
    }
    assert!(dropped > 100 && made > 1000, "{dropped} {made}");
}

/// Eight tasks append rows to one array in memory, each with its editor.
#[test]
fn tasks_append_to_one_array() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let place = array([1, 8], [3, 8]).await;
        let tasks = (1..=8_u8).map(|task| {
            let place = place.clone();
            tokio::spawn(async move {
                let mut conflicts = 0;
                for round in 0..12 {
                    let editor = options().edit_sparse(place.clone()).await.unwrap();
                    let mut editor = NdEditor::new(editor).unwrap();
                    editor
                        .append(0, [[task; 7].as_slice(), &[round]].concat().repeat(usize::from(task)))
                        .await
                        .unwrap();
                    while let Err(error) = editor.commit().await {
                        assert!(matches!(error, ArrayError::Edit(EditError::Conflict)), "{error:?}");
                        conflicts += 1;
                        editor.rebase().await.unwrap();
                    }
                }
                conflicts
            })
        });
        let mut conflicts = 0;
        for task in tasks.collect::<Vec<_>>() {
            conflicts += task.await.unwrap();
        }
        assert!(conflicts > 0, "the tasks did not race");
        let array = NdArray::open(place.clone()).await.unwrap();
        let all = array.read(&Selection::all()).await.unwrap();
        let mut rounds = [0; 9];
        let mut rows = all.bytes()[8..].chunks(8).peekable();
        while let Some(row) = rows.next() {
            let task = row[0];
            assert_eq!(row, [[task; 7].as_slice(), &[rounds[usize::from(task)]]].concat());
            rounds[usize::from(task)] += 1;
            for _ in 1..task {
                assert_eq!(rows.next(), Some(row), "the rows of a commit lie together");
            }
        }
        assert_eq!(rounds[1..], [12; 8]);

        // Afterwards only what the index names is there.
        let named = array.tiling().chunk_count();
        assert!(place.chunks().await.unwrap().len() as u64 > named);
        compact_place(place.clone()).await.unwrap();
        assert_eq!(place.chunks().await.unwrap().len() as u64, named);
        let array = NdArray::open(place).await.unwrap();
        assert!(array.read(&Selection::all()).await.unwrap().bytes() == all.bytes());
    });
}

/// Bytes, and what else may be between the two commits.
#[test]
fn what_can_be_rebased_and_what_cannot() {
    block_on(async {
        let place = sparse(&[1; 100], SMALL).await;
        let open = || options().edit_sparse(place.clone());
        let (mut one, mut other) = (open().await.unwrap(), open().await.unwrap());
        one.append(vec![2; 150]).await.unwrap();
        other.append(vec![3; 200]).await.unwrap();
        other.fill(SpecialValue::Zero, 64).await.unwrap();
        one.commit().await.unwrap();
        let error = other.commit().await.unwrap_err();
        assert!(matches!(error, EditError::Conflict) && error.kind() == ErrorKind::Precondition);
        // No change is possible before that is settled.
        assert!(matches!(other.append(vec![9]).await, Err(EditError::Uncommitted)));
        other.rebase().await.unwrap();
        other.append(vec![4; 10]).await.unwrap();
        other.commit().await.unwrap();
        let expected = [vec![1; 100], vec![2; 150], vec![3; 200], vec![0; 64], vec![4; 10]].concat();
        assert_eq!(read(&place).await, expected);

        // A commit that stands: nothing is to be moved.
        other.rebase().await.unwrap();
        other.commit().await.unwrap();
        assert_eq!(read(&place).await, expected);

        // Commits without changes are no obstacle to others.
        let (mut one, mut other) = (open().await.unwrap(), open().await.unwrap());
        other.append(vec![6; 3]).await.unwrap();
        one.commit().await.unwrap();
        other.commit().await.unwrap();
        let expected = [expected, vec![6; 3]].concat();
        assert_eq!(read(&place).await, expected);

        // Chunks that differ in size: only those that were appended have a known length.
        let mut one = open().await.unwrap();
        one.make_variable().await.unwrap();
        one.append_chunk(vec![7; 33]).await.unwrap();
        one.commit().await.unwrap();
        let (mut one, mut other) = (open().await.unwrap(), open().await.unwrap());
        one.append(vec![8; 40]).await.unwrap();
        other.append(vec![9; 50]).await.unwrap();
        one.commit().await.unwrap();
        assert!(matches!(other.commit().await, Err(EditError::Conflict)));
        other.rebase().await.unwrap();
        other.commit().await.unwrap();
        assert_eq!(read(&place).await, [expected, vec![7; 33], vec![8; 40], vec![9; 50]].concat());

        // Whatever else was changed may mean something else in the new frame.
        let place = sparse(&[1; 100], SMALL).await;
        let open = || options().edit_sparse(place.clone());
        type Change = fn(&mut FrameEditor) -> BoxFuture<'_, Result<(), EditError>>;
        let changes: [Change; 4] = [
            |editor| Box::pin(editor.update(0, vec![5; SMALL])),
            |editor| Box::pin(editor.delete(0)),
            |editor| Box::pin(editor.set_vlmetalayer("v", b"\xc0")),
            |editor| Box::pin(editor.append_chunk(vec![5; 5])),
        ];
        for change in changes {
            let (mut one, mut other) = (open().await.unwrap(), open().await.unwrap());
            one.append(vec![0; SMALL - (one.nbytes() as usize) % SMALL]).await.unwrap();
            one.commit().await.unwrap();
            other.append(vec![0; SMALL - (other.nbytes() as usize) % SMALL]).await.unwrap();
            change(&mut other).await.unwrap();
            assert!(matches!(other.commit().await, Err(EditError::Conflict)));
            let before = read(&place).await;
            assert!(matches!(other.rebase().await, Err(EditError::Conflict)));
            assert!(matches!(other.commit().await, Err(EditError::Conflict)));
            assert_eq!(read(&place).await, before);
        }

        // A resized array has other rows.
        let place = array([4, 6], [2, 6]).await;
        let open = async || NdEditor::new(options().edit_sparse(place.clone()).await.unwrap()).unwrap();
        let (mut one, mut other) = (open().await, open().await);
        one.resize(&[4, 7]).await.unwrap();
        one.commit().await.unwrap();
        other.append(0, vec![1; 12]).await.unwrap();
        let conflict = |result| matches!(result, Err(ArrayError::Edit(EditError::Conflict)));
        assert!(conflict(other.commit().await) && conflict(other.rebase().await));
        // It is still what it was, with its rows.
        assert_eq!(other.shape(), [6, 6]);
        // An array that others have made shorter is no obstacle.
        let (mut one, mut other) = (open().await, open().await);
        other.append(0, vec![1; 14]).await.unwrap();
        one.resize(&[1, 7]).await.unwrap();
        one.commit().await.unwrap();
        assert!(conflict(other.commit().await));
        other.rebase().await.unwrap();
        other.commit().await.unwrap();
        assert_eq!(other.shape(), [3, 7]);
        assert_eq!(other.read(&"1:".parse().unwrap()).await.unwrap().bytes()[..], [1; 14]);
    });
}

/// Chunk files of others are never written over, whatever their numbers.
#[test]
fn files_of_others_are_left_alone() {
    block_on(async {
        let content = noise(SMALL * 4, 1);
        let place = sparse(&content, SMALL).await;
        let foreign: Vec<u32> = (4..40).step_by(3).chain([4, 5]).collect();
        for &id in &foreign {
            place.put_chunk(id, Bytes::from_static(b"of somebody else")).await.unwrap();
        }
        let mut editor = options().edit_sparse(place.clone()).await.unwrap();
        editor.append(noise(SMALL * 20, 2)).await.unwrap();
        editor.commit().await.unwrap();
        assert_eq!(read(&place).await, [content, noise(SMALL * 20, 2)].concat());
        for id in foreign {
            let bytes = place.read_file(id, 0..100).await.unwrap();
            assert_eq!(bytes, &b"of somebody else"[..], "{id}");
        }
        compact_place(place.clone()).await.unwrap();
        assert_eq!(place.chunks().await.unwrap().len(), 24);
    });
}

/// Files that a compaction has removed keep their numbers: a reader of an older index must not find other chunks there.
#[test]
fn numbers_of_removed_files_are_not_used_again() {
    block_on(async {
        let place = sparse(&noise(SMALL * 4, 1), SMALL).await;
        let mut highest = 3;
        for round in 0..10 {
            let mut editor = options().edit_sparse(place.clone()).await.unwrap();
            editor.append(noise(SMALL * 3, round)).await.unwrap();
            editor.commit().await.unwrap();
            let before = place.chunks().await.unwrap();
            assert!(before.keys().rev().take(3).all(|&id| id > highest), "{round}: {before:?}, {highest}");
            highest = *before.keys().next_back().unwrap();
            for _ in 0..3 {
                editor.delete(editor.nchunks() - 1).await.unwrap();
            }
            editor.commit().await.unwrap();
            // With and without another editor in between.
            for _ in 0..round % 3 {
                compact_place(place.clone()).await.unwrap();
                assert_eq!(place.chunks().await.unwrap().len(), 4);
            }
        }
    });
}

/// While unused chunks are removed, no editor begins; an abandoned note keeps everybody out until it is cleared.
#[test]
fn a_place_that_is_being_cleared_is_not_edited() {
    block_on(async {
        let place = sparse(&[1; 300], SMALL).await;
        let files = place.files();
        compact_place(place.clone()).await.unwrap();
        // The note of a compaction that died.
        let note = "oxiblosc plan 1\nid: 0123\nholder: one\nstate: clearing\nfirst: 0\nattempts: 1\nchunks: 0\nreplaces: \
                    nothing\nend\n";
        place.put_plan(Bytes::from_static(note.as_bytes()), None).await.unwrap();
        for result in
            [options().edit_sparse(place.clone()).await.map(drop), compact_place(place.clone()).await.map(drop)]
        {
            let Err(EditError::Store(error)) = result else { panic!("{result:?}") };
            assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
            assert!(error.to_string().contains("sparse::clear"), "{error}");
        }
        oxiblosc_streaming::sparse::clear(&place).await.unwrap();
        options().edit_sparse(place.clone()).await.unwrap();
        assert_eq!(place.files().len(), files.len());
    });
}

/// A place that loses the response to the next put of an index.
/// A frame of three chunks at a place, and three chunk files that no index names.
async fn with_unused_chunks(place: &Arc<dyn SparsePlace>) -> Vec<u8> {
    let mut sink = WriteOptions::default().chunk_size(SMALL).sink(PlaceTarget::new(Arc::clone(place))).unwrap();
    sink.feed(vec![1; 3 * SMALL].into()).await.unwrap();
    sink.close().await.unwrap();
    let mut editor = options().edit_sparse(Arc::clone(place)).await.unwrap();
    for i in 0..3 {
        editor.update(i, noise(SMALL, i)).await.unwrap();
    }
    editor.commit().await.unwrap();
    assert_eq!(place.chunks().await.unwrap().len(), 6);
    (0..3).flat_map(|i| noise(SMALL, i)).collect()
}

async fn is_compact(place: &Hooked, content: &[u8]) {
    options().edit_sparse(place.clone()).await.unwrap();
    assert!(place.plan().await.unwrap().is_none());
    assert_eq!(place.chunks().await.unwrap().len(), 3);
    let reader = FrameReader::open(copy(place).await).await.unwrap();
    assert_eq!(reader.bytes(0..reader.nbytes()).await.unwrap(), content);
}

/// A compaction whose future is dropped at any point is completed. The next one waits for it.
#[test]
fn dropped_compactions_are_completed() {
    for polls in 0..40 {
        for (_, place, _kept) in places() {
            block_on(async {
                let content = with_unused_chunks(&place.inner).await;
                let mut compaction = Box::pin(compact_place(place.yielding()));
                let mut cx = Context::from_waker(Waker::noop());
                let _ = (0..polls).any(|_| compaction.as_mut().poll(&mut cx).is_ready());
                drop(compaction);
                if polls % 2 == 0 {
                    compact_place(place.clone()).await.unwrap();
                }
                // If the first one had not yet begun, it begins after the second one.
                oxiblosc_streaming::settle().await;
                is_compact(&place, &content).await;
            });
        }
    }
}

/// Whatever call of the place fails, the next compaction succeeds.
#[test]
fn compactions_that_have_failed_are_repeated() {
    let steps = ["plan", "index", "chunks", "put_plan", "put_index", "remove_chunk", "remove_plan"];
    for (step, after) in steps.iter().flat_map(|&step| [(step, false), (step, true)]) {
        for (kind, place, _kept) in places() {
            block_on(async {
                let content = with_unused_chunks(&place.inner).await;
                let fail = || -> BoxFuture<'static, io::Result<()>> {
                    Box::pin(async { Err(io::Error::from(io::ErrorKind::TimedOut)) })
                };
                match after {
                    true => place.after(step, 0, Box::new(fail)),
                    false => place.before(step, 0, Box::new(fail)),
                }
                let error = compact_place(place.clone()).await.unwrap_err();
                assert!(error.is_retryable(), "{step}, {kind}: {error}");
                compact_place(place.clone()).await.unwrap_or_else(|error| panic!("{step}, {kind}: {error}"));
                is_compact(&place, &content).await;
            });
        }
    }
}

#[derive(Clone)]
struct LossyPlace {
    inner: MemoryDirectory,
    loses: Arc<AtomicBool>,
}

impl ChunkFiles for LossyPlace {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        self.inner.read_files(ranges)
    }
}

impl SparsePlace for LossyPlace {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.inner.put_chunk(id, bytes)
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.inner.create_chunk(id, bytes)
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        self.inner.chunks()
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.inner.index()
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        let put = self.inner.put_index(index, replaces);
        let loses = self.loses.swap(false, Ordering::SeqCst);
        Box::pin(async move {
            put.await?;
            if loses { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
        })
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        self.inner.remove_chunk(id)
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.inner.plan()
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.inner.put_plan(plan, replaces)
    }

    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        self.inner.remove_plan(version)
    }
}

/// A commit whose response is lost has succeeded, also if others have committed before it is repeated: its bytes are
/// there once.
#[test]
fn a_lost_response_is_no_conflict() {
    block_on(async {
        for others in 0..3 {
            let inner = sparse(&[1; 100], SMALL).await;
            let place = LossyPlace { inner: inner.clone(), loses: Arc::default() };
            let mut editor = options().edit_sparse(place.clone()).await.unwrap();
            editor.append(vec![2; 150]).await.unwrap();
            place.loses.store(true, Ordering::SeqCst);
            let error = editor.commit().await.unwrap_err();
            assert!(error.is_retryable(), "{error:?}");
            let mut expected = [vec![1; 100], vec![2; 150]].concat();
            for other in 0..others {
                let mut editor = options().edit_sparse(inner.clone()).await.unwrap();
                editor.append(vec![3 + other; 50]).await.unwrap();
                editor.commit().await.unwrap();
                expected.extend([3 + other; 50]);
            }
            // Whether it has succeeded is found out by committing again, and by nothing else.
            assert!(matches!(editor.rebase().await, Err(EditError::Uncommitted)));
            editor.commit().await.unwrap();
            assert_eq!(read(&inner).await, expected, "{others} others");
            // What follows goes behind the others, like the change of any other editor.
            editor.append(vec![9; 10]).await.unwrap();
            if others > 0 {
                assert!(matches!(editor.commit().await, Err(EditError::Conflict)));
                editor.rebase().await.unwrap();
            }
            editor.commit().await.unwrap();
            expected.extend([9; 10]);
            assert_eq!(read(&inner).await, expected, "{others} others");
        }
    });
}

/// Files are locked, so that there is nothing to rebase on, and what is not committed stays as it is.
#[test]
fn rebasing_a_file_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array");
    let shape = ArrayOptions::new([3, 10], "|u1").chunks([2, 10]).blocks([2, 10]);
    let mut writer = blocking::NdWriter::create(&path, shape).unwrap();
    std::io::Write::write_all(&mut writer, &[1; 30]).unwrap();
    writer.finish().unwrap();
    block_on(async {
        let mut editor = NdEditor::new(options().open(&path).await.unwrap()).unwrap();
        for rows in 2..6 {
            editor.append(0, vec![rows; 10 * usize::from(rows)]).await.unwrap();
            // Even half of it.
            drop_after(editor.rebase(), usize::from(rows));
            editor.rebase().await.unwrap();
        }
        editor.commit().await.unwrap();
    });
    let rows = (2..6).flat_map(|rows| vec![rows; 10 * usize::from(rows)]);
    let expected: Vec<u8> = [1; 30].into_iter().chain(rows).collect();
    let array = blocking::NdArray::open(&path).unwrap();
    assert!(array.read(&Selection::all()).unwrap().bytes()[..] == expected[..]);
}

/// Compaction lets the number of an uncommitted chunk go to somebody else. Its bytes are not taken for one's own.
#[test]
fn chunks_of_others_are_not_rebased() {
    block_on(async {
        let place = sparse(&[1; SMALL * 3], SMALL).await;
        let open = || options().edit_sparse(place.clone());
        let mut late = open().await.unwrap();
        late.append(vec![2; SMALL]).await.unwrap();
        compact_place(place.clone()).await.unwrap();
        let mut other = open().await.unwrap();
        other.append(vec![3; SMALL]).await.unwrap();
        other.commit().await.unwrap();
        assert!(matches!(late.commit().await, Err(EditError::Conflict)));
        assert!(matches!(late.rebase().await, Err(EditError::Conflict)));
        assert_eq!(read(&place).await, [vec![1; SMALL * 3], vec![3; SMALL]].concat());
    });
}

/// Where a commit cannot be given a name, editors would not notice a compaction.
#[test]
fn a_frame_without_room_for_names_is_not_compacted() {
    block_on(async {
        let place = MemoryDirectory::new();
        let write = (0..16).fold(WriteOptions::default().chunk_size(SMALL), |write, i| {
            write.vlmetalayer(format!("layer {i}"), &b"\xc0"[..])
        });
        let mut sink = write.sink(PlaceTarget::new(place.clone())).unwrap();
        sink.feed(Bytes::from(vec![1; 200])).await.unwrap();
        sink.close().await.unwrap();
        let mut editor = options().edit_sparse(place.clone()).await.unwrap();
        editor.append(vec![2; 100]).await.unwrap();
        assert!(matches!(compact_place(place.clone()).await, Err(EditError::Change(_))));
        editor.commit().await.unwrap();
        assert_eq!(read(&place).await, [vec![1; 200], vec![2; 100]].concat());
    });
}

/// A dropped future leaves its job on a thread of the pool; the next job must not wait for it on the same thread.
#[test]
fn dropped_encodings_do_not_block_the_pool() {
    let pool = Pool::new(2);
    let frame = blocking_frame(8 << 20);
    let mut editor = block_on(options().pool(&pool).edit(frame)).unwrap();
    let content = noise(8 << 20, 1);
    for _ in 0..20 {
        drop_after(editor.append_chunk(content.clone()), 1);
        block_on(editor.append_chunk(content.clone())).unwrap();
        block_on(editor.delete(editor.nchunks() - 1)).unwrap();
    }
    block_on(editor.commit()).unwrap();
}
