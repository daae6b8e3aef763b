//! A frame as one object.

use std::fmt;
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use object_store::PutPayload;
use object_store::path::Path;

use super::upload::{AbortFailed, Upload};
use super::{Task, UploadStore, detach, io_error, spawn};
use crate::target::{AppendBuffer, Part, Target};

/// After this many parts the part size doubles. The length of a frame is not known in advance, and S3 takes at most
/// 10,000 parts: at 8 MiB each they would hold 80 GiB; growing like this they hold 8 TiB, more than the largest object
/// on S3, while the last ones stay below the limit of 5 GiB for a part.
const PARTS_OF_ONE_SIZE: usize = 1000;

/// Writes the frame to an object, which appears when it is complete.
///
/// The first part of the upload holds the header of the frame, whose totals are known last: it is held back and sent at
/// the end. The other parts are sent while the frame is written, a few at a time; a frame of a single part is put in
/// one request. An object that had the name before stays until then.
///
/// Requests run on a small runtime of this crate, so any executor works. Memory holds the first part, the part being
/// filled, and the parts in flight: some 50 MiB by default, besides what the sink has in flight.
///
/// A target that is dropped before the frame is complete has the store remove the parts, in the background;
/// [`poll_abort`](Target::poll_abort) and [`settle`](crate::settle()) wait for that. When the process dies the parts stay, invisible, until the
/// store's own rules remove them; there is no object.
///
/// ```
/// use std::sync::Arc;
/// use futures::{AsyncWriteExt, executor::block_on};
/// use object_store::{ObjectStoreExt, memory::InMemory};
/// use oxiblosc_streaming::{WriteOptions, target::ObjectTarget};
/// # use oxiblosc_plugins as _;
///
/// let store = Arc::new(InMemory::new());
/// block_on(async {
///     let mut sink = WriteOptions::default().sink(ObjectTarget::new(store.clone(), "data.b2frame"))?;
///     sink.write_all(&[7; 100_000]).await?;
///     assert!(store.head(&"data.b2frame".into()).await.is_err(), "nothing is there before it is complete");
///     let summary = sink.close().await?;
///     assert_eq!(store.head(&"data.b2frame".into()).await?.size, summary.frame_len);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })
/// # .unwrap();
/// ```
pub struct ObjectTarget {
    store: Arc<dyn UploadStore>,
    path: Path,
    part_size: usize,
    parts_in_flight: usize,
    bytes_in_flight: usize,
    /// The part that is sent last.
    first: AppendBuffer,
    /// The part that is sent next.
    next: AppendBuffer,
    next_part: usize,
    /// Bytes accepted.
    len: u64,
    upload: Upload,
    commit: CommitStep,
    aborting: Option<Task<Result<(), AbortFailed>>>,
}

/// The progress of a commit. A failed step is repeated.
enum CommitStep {
    Begin,
    /// A frame of one part.
    Put {
        payload: PutPayload,
        task: Option<Task<io::Result<()>>>,
    },
    Parts,
    Complete {
        task: Option<Task<io::Result<()>>>,
        tried: bool,
    },
    Done,
}

impl ObjectTarget {
    /// The length of the first thousand parts unless [`part_size`](Self::part_size) says otherwise: 8 MiB.
    pub const PART_SIZE: usize = 8 << 20;

    /// A target whose object gets the name `path`.
    pub fn new<S: UploadStore>(store: Arc<S>, path: impl Into<Path>) -> Self {
        Self::with_store(store, path)
    }

    /// As [`new`](Self::new), for a store of a type that is not known at compile time.
    pub fn with_store(store: Arc<dyn UploadStore>, path: impl Into<Path>) -> Self {
        let path = path.into();
        Self {
            upload: Upload::new(Arc::clone(&store), path.clone()),
            store,
            path,
            part_size: Self::PART_SIZE,
            parts_in_flight: 4,
            bytes_in_flight: 64 << 20,
            first: AppendBuffer::default(),
            next: AppendBuffer::default(),
            next_part: 1,
            len: 0,
            commit: CommitStep::Begin,
            aborting: None,
        }
    }

    /// Bytes of a part, at least one. S3 refuses parts of less than 5 MiB, except for the last. Parts double in size
    /// after every thousand of them.
    #[must_use]
    pub fn part_size(mut self, bytes: usize) -> Self {
        self.part_size = bytes.max(1);
        self
    }

    /// How many parts are sent at the same time; 4 by default, at least 1.
    #[must_use]
    pub fn parts_in_flight(mut self, parts: usize) -> Self {
        self.parts_in_flight = parts.max(1);
        self
    }

    /// How many bytes are sent at the same time; 64 MiB by default. One part is always allowed.
    #[must_use]
    pub fn bytes_in_flight(mut self, bytes: usize) -> Self {
        self.bytes_in_flight = bytes;
        self
    }

    /// Name of the object.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn size_of(&self, part: usize) -> usize {
        u32::try_from(part / PARTS_OF_ONE_SIZE)
            .ok()
            .and_then(|doublings| self.part_size.checked_shl(doublings))
            .map_or(usize::MAX, |size| size.max(self.part_size))
    }

    /// Passes the filled part to the upload as soon as there is room for it.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let sent = self.upload.poll_parts(cx)?;
            let (parts, bytes) = self.upload.in_flight();
            if parts == 0 || parts < self.parts_in_flight && bytes + self.next.len() <= self.bytes_in_flight {
                let part = mem::take(ready!(self.next.poll_bytes(cx)));
                self.upload.push(self.next_part, Bytes::from(part).into());
                self.next_part += 1;
                // Starts the upload; there is no need to wait for it here.
                let _ = self.upload.poll_parts(cx)?;
                return Poll::Ready(Ok(()));
            }
            ready!(sent);
        }
    }

    /// The first part, with the final header.
    fn poll_first(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<PutPayload> {
        let mut rest = Bytes::from(mem::take(ready!(self.first.poll_bytes(cx))));
        rest.advance(header.len().min(rest.len()));
        Poll::Ready([header.clone(), rest].into_iter().collect())
    }

    fn poll_commit_steps(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        loop {
            self.commit = match &mut self.commit {
                CommitStep::Begin if self.next_part == 1 && self.next.is_empty() => {
                    CommitStep::Put { payload: ready!(self.poll_first(cx, header)), task: None }
                }
                CommitStep::Begin => {
                    if !self.next.is_empty() {
                        ready!(self.poll_send(cx))?;
                    }
                    let first = ready!(self.poll_first(cx, header));
                    self.upload.push(0, first);
                    CommitStep::Parts
                }
                CommitStep::Put { payload, task } => {
                    let put = task.get_or_insert_with(|| {
                        let (store, path, payload) = (Arc::clone(&self.store), self.path.clone(), payload.clone());
                        spawn(async move {
                            let put = store.put_opts(&path, payload, Default::default()).await;
                            put.map(drop).map_err(io_error)
                        })
                    });
                    let result = ready!(put.poll_io(cx));
                    *task = None;
                    result?;
                    CommitStep::Done
                }
                CommitStep::Parts => {
                    ready!(self.upload.poll_parts(cx))?;
                    CommitStep::Complete { task: None, tried: false }
                }
                CommitStep::Complete { task, tried } => {
                    let complete = task.get_or_insert_with(|| {
                        let complete = self.upload.complete();
                        if !mem::replace(tried, true) {
                            return complete;
                        }
                        let (store, path) = (Arc::clone(&self.store), self.path.clone());
                        let (len, header) = (self.len, header.clone());
                        spawn(async move {
                            match complete.await.and_then(|result| result) {
                                // The first attempt may have succeeded although its response was lost.
                                Err(error) if is_there(&*store, &path, len, &header).await => drop(error),
                                result => result?,
                            }
                            Ok(())
                        })
                    });
                    let result = ready!(complete.poll_io(cx));
                    *task = None;
                    result?;
                    CommitStep::Done
                }
                CommitStep::Done => return Poll::Ready(Ok(())),
            };
        }
    }
}

/// Whether the object is this very frame.
async fn is_there(store: &dyn UploadStore, path: &Path, len: u64, header: &Bytes) -> bool {
    use object_store::ObjectStoreExt;

    match store.head(path).await {
        Ok(meta) if meta.size == len => {
            let head = store.get_range(path, 0..header.len() as u64).await;
            head.is_ok_and(|bytes| bytes == *header)
        }
        _ => false,
    }
}

impl Target for ObjectTarget {
    fn poll_append(&mut self, cx: &mut Context<'_>, part: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let before = bytes.len();
        // The header must lie in the first part, however long it is.
        let first_size = if part == Part::Header { usize::MAX } else { self.part_size };
        if self.next_part == 1 && self.next.is_empty() && self.first.len() < first_size {
            ready!(self.first.poll_take(cx, bytes, first_size));
        } else {
            let size = self.size_of(self.next_part);
            if self.next.len() >= size {
                ready!(self.poll_send(cx))?;
            } else {
                // Report a failed part now rather than one part later.
                let _ = self.upload.poll_parts(cx)?;
            }
            let size = self.size_of(self.next_part);
            ready!(self.next.poll_take(cx, bytes, size));
        }
        self.len += (before - bytes.len()) as u64;
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.next.len() >= self.size_of(self.next_part) {
            ready!(self.poll_send(cx))?;
        }
        self.upload.poll_parts(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        if matches!(self.commit, CommitStep::Begin) {
            crate::target::check_whole(header, self.len)?;
        }
        self.poll_commit_steps(cx, header)
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(self.commit, CommitStep::Done) {
            return Poll::Ready(Ok(()));
        }
        let aborting = self.aborting.get_or_insert_with(|| {
            let anew = self.upload.fresh();
            spawn(mem::replace(&mut self.upload, anew).abort())
        });
        let result = ready!(Pin::new(aborting).poll(cx));
        self.aborting = None;
        Poll::Ready(result?.map_err(|failed| {
            self.upload = *failed.upload;
            failed.error
        }))
    }
}

impl Drop for ObjectTarget {
    fn drop(&mut self) {
        if let Some(aborting) = self.aborting.take() {
            detach(async { drop(aborting.await) });
        }
        if !matches!(self.commit, CommitStep::Done) {
            let anew = self.upload.fresh();
            let abort = mem::replace(&mut self.upload, anew).abort();
            detach(async { drop(abort.await) });
        }
    }
}

impl fmt::Debug for ObjectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectTarget")
            .field("store", &self.store)
            .field("path", &self.path)
            .field("part_size", &self.part_size)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
