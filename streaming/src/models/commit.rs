//! The commit of a frame that several writers fill: the first one wins, acknowledged chunks are part of it, and late
//! writers get an error and change nothing.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;

use super::explore;
use super::queue::{CHUNK, params, registry, turns};
use crate::compute::{Pool, block_on};
use crate::reader::ReadOptions;
use crate::sink::WriteOptions;
use crate::source::ChunkFiles;
use crate::sparse::{FileVersion, MemoryDirectory, MissingChunks, ShareError, SharedWriter, SparsePlace};

/// A place in memory that yields before and after every operation.
#[derive(Debug, Clone, Default)]
struct YieldingPlace {
    directory: MemoryDirectory,
    /// The number of commit responses to lose: the request is carried out, but an error is returned.
    lost: Arc<AtomicUsize>,
    /// The number of indexes written. Not an atomic of shuttle's, so that it changes in the same step as the index.
    committed: Arc<std::sync::atomic::AtomicUsize>,
}

impl YieldingPlace {
    /// Applies `work` to the directory, yielding before and after.
    fn step<T: Send + 'static>(
        &self,
        work: impl FnOnce(MemoryDirectory) -> BoxFuture<'static, io::Result<T>> + Send + 'static,
    ) -> BoxFuture<'static, io::Result<T>> {
        let directory = self.directory.clone();
        Box::pin(async move {
            thread::yield_now();
            let result = work(directory).await;
            thread::yield_now();
            result
        })
    }
}

impl ChunkFiles for YieldingPlace {
    fn read_files(&self, ranges: Vec<(u32, Range<u64>)>) -> BoxFuture<'_, Vec<io::Result<Bytes>>> {
        Box::pin(async move {
            thread::yield_now();
            let found = self.directory.read_files(ranges).await;
            thread::yield_now();
            found
        })
    }
}

impl SparsePlace for YieldingPlace {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.step(move |directory| directory.put_chunk(id, bytes))
    }

    fn create_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.step(move |directory| directory.create_chunk(id, bytes))
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeMap<u32, u64>>> {
        self.step(move |directory| directory.chunks())
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.step(move |directory| SparsePlace::index(&directory))
    }

    fn put_index(&self, index: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        let (lost, committed) = (Arc::clone(&self.lost), Arc::clone(&self.committed));
        let step = self.step(move |directory| {
            Box::pin(async move {
                directory.put_index(index, replaces).await?;
                committed.fetch_add(1, Ordering::SeqCst);
                Ok(())
            })
        });
        Box::pin(async move {
            step.await?;
            match lost.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the answer was lost")),
                Err(_) => Ok(()),
            }
        })
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        self.step(move |directory| directory.remove_chunk(id))
    }

    fn plan(&self) -> BoxFuture<'static, io::Result<Option<FileVersion>>> {
        self.step(move |directory| directory.plan())
    }

    fn put_plan(&self, plan: Bytes, replaces: Option<FileVersion>) -> BoxFuture<'static, io::Result<()>> {
        self.step(move |directory| directory.put_plan(plan, replaces))
    }

    fn remove_plan(&self, version: FileVersion) -> BoxFuture<'static, io::Result<()>> {
        self.step(move |directory| directory.remove_plan(version))
    }
}

const CHUNKS: u64 = 2;

fn create(place: &YieldingPlace) -> Result<SharedWriter<YieldingPlace>, ShareError> {
    let options = WriteOptions::new(params()).chunk_size(CHUNK).pool(&Pool::inline()).registry(&registry());
    block_on(SharedWriter::create(place.clone(), CHUNKS * CHUNK as u64, options))
}

fn open(place: &YieldingPlace) -> Result<SharedWriter<YieldingPlace>, ShareError> {
    block_on(SharedWriter::open_on(place.clone(), &Pool::inline(), &registry()))
}

fn write(writer: &SharedWriter<YieldingPlace>, chunk: u64, first: u8) -> Result<(), ShareError> {
    block_on(writer.write(chunk, turns(first)))
}

/// Commits, and retries if a response was lost or another commit has not finished. Returns whether this commit has
/// created the frame.
fn commit(writer: &SharedWriter<YieldingPlace>) -> Result<bool, ShareError> {
    loop {
        match block_on(writer.commit(MissingChunks::Fail)) {
            Ok(summary) => {
                assert_eq!((summary.chunks, summary.nbytes), (CHUNKS, CHUNKS * CHUNK as u64));
                return Ok(true);
            }
            Err(ShareError::Committed(_)) => return Ok(false),
            Err(ShareError::Committing) => thread::yield_now(),
            Err(ShareError::Place(error)) => assert_eq!(error.kind(), io::ErrorKind::TimedOut),
            Err(other) => return Err(other),
        }
    }
}

/// The first byte of each chunk, after all have been read and compared. Exactly one index must have been written.
fn read(place: &YieldingPlace) -> Vec<u8> {
    assert_eq!(place.committed.load(Ordering::SeqCst), 1, "the number of indexes written");
    let options = ReadOptions::new().registry(&registry()).pool(&Pool::inline());
    let reader = block_on(options.open(place.directory.clone())).unwrap();
    let bytes = block_on(reader.bytes(0..CHUNKS * CHUNK as u64)).unwrap();
    let chunks = bytes.chunks(CHUNK).map(|chunk| {
        assert_eq!(chunk, turns(chunk[0]), "a chunk of two writers");
        chunk[0]
    });
    chunks.collect()
}

/// Two writers create a frame, write a chunk each and commit: a commit succeeds, and the frame holds what both wrote.
#[test]
fn a_commit_takes_what_all_have_written() {
    explore("commit, two writers", || {
        let place = YieldingPlace::default();
        let run = |place: YieldingPlace, chunk: u64| {
            let writer = match create(&place) {
                Ok(writer) => writer,
                Err(other) => panic!("{other}"),
            };
            // Until the write has returned no commit can be complete, but one may have begun.
            match write(&writer, chunk, 10 + chunk as u8) {
                Ok(()) | Err(ShareError::Committing | ShareError::Committed(_)) => {}
                Err(other) => panic!("{other}"),
            }
            match commit(&writer) {
                Ok(done) => {
                    // What was reported as done can be read immediately.
                    assert_eq!(read(&place), [10, 11]);
                    done
                }
                // The other one has not written yet, and will commit.
                Err(ShareError::Missing { count: 1, .. }) => false,
                Err(other) => panic!("{other}"),
            }
        };
        let other = thread::spawn({
            let place = place.clone();
            move || run(place, 1)
        });
        let mine = run(place.clone(), 0);
        let others = other.join().unwrap();
        assert!(mine || others, "no commit succeeded");
        assert_eq!(read(&place), [10, 11]);
    });
}

/// A writer rewrites a chunk while another commits: the frame holds the new content if and only if the writer is told so in
/// the end, and once the commit has returned nothing changes any more.
#[test]
fn a_straggler_changes_nothing() {
    explore("commit, a straggler", || {
        let place = YieldingPlace::default();
        let writer = create(&place).unwrap();
        (0..CHUNKS).for_each(|chunk| write(&writer, chunk, 20 + chunk as u8).unwrap());
        let straggler = open(&place).unwrap();
        let straggler = thread::spawn(move || {
            loop {
                match write(&straggler, 0, 99) {
                    Ok(()) => return 99,
                    Err(ShareError::Committed(_)) => return 20,
                    // A repeated call tells whether the frame holds the chunk.
                    Err(ShareError::Committing) => thread::yield_now(),
                    Err(other) => panic!("{other}"),
                }
            }
        });
        assert!(commit(&writer).unwrap());
        let committed = read(&place);
        let told = straggler.join().unwrap();
        assert_eq!(read(&place), committed, "changed after the commit");
        assert!([[20, 21], [99, 21]].contains(&[committed[0], committed[1]]));
        assert_eq!(told, committed[0], "the straggler was told otherwise");
    });
}

/// A commit whose response is lost is retried while another one is in progress: there is one frame in the end, and
/// every reported success is real.
#[test]
fn a_lost_answer_is_no_second_commit() {
    explore("commit, an answer lost", || {
        let place = YieldingPlace::default();
        place.lost.store(1, Ordering::SeqCst);
        let first = create(&place).unwrap();
        (0..CHUNKS).for_each(|chunk| write(&first, chunk, 30 + chunk as u8).unwrap());
        let second = open(&place).unwrap();
        let other = thread::spawn({
            let place = place.clone();
            move || {
                let done = commit(&second).unwrap();
                assert_eq!(read(&place), [30, 31]);
                done
            }
        });
        let mine = commit(&first).unwrap();
        let others = other.join().unwrap();
        assert!(mine || others, "a commit succeeded, and nobody knows");
        assert_eq!(read(&place), [30, 31]);
        // The files of the writers are removed, or will be by the next clearing.
        assert!(place.directory.files().len() >= CHUNKS as usize + 1);
    });
}
