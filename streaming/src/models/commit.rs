//! The commit of a frame that several writers fill: whoever comes first wins, the others are told, and what the index
//! names stays as it was when it was named.

use std::collections::BTreeSet;
use std::io;
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
use crate::sparse::{IndexVersion, MemoryDirectory, Missing, ShareError, SharedWriter, SparsePlace};

/// A place in memory that gives others a turn before and after everything it does.
#[derive(Debug, Clone, Default)]
struct Place {
    directory: MemoryDirectory,
    /// So many answers to commits are lost: what was asked for is done, and an error comes back.
    lost: Arc<AtomicUsize>,
}

impl Place {
    /// What `work` does to the directory, with turns around it.
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

impl SparsePlace for Place {
    fn put_chunk(&self, id: u32, bytes: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.step(move |directory| directory.put_chunk(id, bytes))
    }

    fn chunk_head(&self, id: u32, len: usize) -> BoxFuture<'static, io::Result<(u64, Bytes)>> {
        self.step(move |directory| directory.chunk_head(id, len))
    }

    fn chunks(&self) -> BoxFuture<'static, io::Result<BTreeSet<u32>>> {
        self.step(move |directory| directory.chunks())
    }

    fn index(&self) -> BoxFuture<'static, io::Result<Option<IndexVersion>>> {
        self.step(move |directory| SparsePlace::index(&directory))
    }

    fn put_index(&self, index: Bytes, replaces: Option<IndexVersion>) -> BoxFuture<'static, io::Result<()>> {
        let lost = Arc::clone(&self.lost);
        let step = self.step(move |directory| directory.put_index(index, replaces));
        Box::pin(async move {
            step.await?;
            let left = lost.load(Ordering::SeqCst);
            if left > 0 {
                lost.store(left - 1, Ordering::SeqCst);
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the answer was lost"));
            }
            Ok(())
        })
    }

    fn remove_chunk(&self, id: u32) -> BoxFuture<'static, io::Result<()>> {
        self.step(move |directory| directory.remove_chunk(id))
    }

    fn discard(&self, ids: Vec<u32>) {
        self.directory.discard(ids);
    }
}

const CHUNKS: u64 = 2;

fn writer(place: &Place) -> SharedWriter<Place> {
    let options = WriteOptions::new(params()).chunk_size(CHUNK).pool(&Pool::inline()).registry(&registry());
    SharedWriter::new(place.clone(), CHUNKS * CHUNK as u64, options).unwrap()
}

fn write(writer: &SharedWriter<Place>, chunk: u64, first: u8) -> Result<(), ShareError> {
    block_on(writer.write(chunk, turns(first)))
}

/// The first byte of each chunk, after all have been read and compared.
fn read(place: &Place) -> Vec<u8> {
    let options = ReadOptions::new().registry(&registry()).pool(&Pool::inline());
    let reader = block_on(options.open(place.directory.clone())).unwrap();
    let bytes = block_on(reader.bytes(0..CHUNKS * CHUNK as u64)).unwrap();
    let chunks = bytes.chunks(CHUNK).map(|chunk| {
        assert_eq!(chunk, turns(chunk[0]), "a chunk of two writers");
        chunk[0]
    });
    chunks.collect()
}

/// Two writers write their chunks and commit: one commit succeeds, and the frame holds what both wrote.
#[test]
fn one_commit_wins() {
    explore("commit, two writers", || {
        let place = Place::default();
        let run = |place: Place, chunk: u64| {
            let writer = writer(&place);
            write(&writer, chunk, 10 + chunk as u8).unwrap();
            match block_on(writer.commit(Missing::Fail)) {
                Ok(summary) => {
                    assert_eq!((summary.chunks, summary.nbytes), (CHUNKS, CHUNKS * CHUNK as u64));
                    // What was reported as done can be read at once.
                    assert_eq!(read(&place), [10, 11]);
                    true
                }
                // The other one has not written yet, and will commit, or has committed.
                Err(ShareError::Missing { count: 1, .. } | ShareError::Committed(_)) => false,
                Err(other) => panic!("{other}"),
            }
        };
        let other = thread::spawn({
            let place = place.clone();
            move || run(place, 1)
        });
        let mine = run(place.clone(), 0);
        let others = other.join().unwrap();
        assert!(mine != others, "commits that succeeded: {mine}, {others}");
        assert_eq!(read(&place), [10, 11]);
    });
}

/// A commit whose answer is lost is asked for again, while another one is on its way: one frame comes of it, and whoever
/// is told that it was somebody else's may believe it.
#[test]
fn a_lost_answer_is_no_second_commit() {
    explore("commit, an answer lost", || {
        let place = Place::default();
        place.lost.store(1, Ordering::SeqCst);
        let first = writer(&place);
        (0..CHUNKS).for_each(|chunk| write(&first, chunk, 20 + chunk as u8).unwrap());
        let run = |writer: SharedWriter<Place>| {
            loop {
                match block_on(writer.commit(Missing::Fail)) {
                    Ok(_) => return true,
                    Err(ShareError::Committed(_)) => return false,
                    Err(ShareError::Place(error)) => assert_eq!(error.kind(), io::ErrorKind::TimedOut),
                    Err(other) => panic!("{other}"),
                }
            }
        };
        let second = writer(&place);
        let other = thread::spawn(move || run(second));
        let mine = run(first);
        let others = other.join().unwrap();
        // The indices are the same bytes, so that after a lost answer both may rightly say that theirs is there.
        assert!(mine || others);
        assert_eq!(read(&place), [20, 21]);
    });
}
