//! A multipart upload in progress.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{MultipartId, ObjectStoreExt, PutMultipartOptions, PutPayload};
use xxhash_rust::xxh3::Xxh3;

use super::request::Request;
use super::{Task, io_error, spawn};
use crate::kind::ErrorKind;

/// Bytes that are hashed at a time.
const AT_ONCE: usize = 1 << 20;

/// An upload whose parts are sent concurrently and in any order. A failed part is sent again by the next call.
pub(super) struct Upload {
    store: Arc<dyn MultipartStore>,
    path: Path,
    options: PutMultipartOptions,
    state: UploadState,
    sending: Vec<Sending>,
    /// The parts that the store has confirmed, by number.
    parts: Vec<Option<SentPart>>,
}

#[derive(Debug)]
enum UploadState {
    New,
    Creating(Task<io::Result<MultipartId>>),
    Open(MultipartId),
}

#[derive(Debug)]
struct Sending {
    part: usize,
    payload: PutPayload,
    /// `None` before it is first sent, and after a failure.
    task: Option<Task<io::Result<SentPart>>>,
}

/// A part that the store has.
#[derive(Debug, Clone)]
struct SentPart {
    id: PartId,
    len: u64,
    /// Of its bytes, which are gone.
    digest: u128,
}

impl Upload {
    pub(super) fn new(store: Arc<dyn MultipartStore>, path: Path) -> Self {
        let (options, state) = (PutMultipartOptions::default(), UploadState::New);
        Self { store, path, options, state, sending: Vec::new(), parts: Vec::new() }
    }

    /// What the store is to know of the object. It is told when the first part is sent.
    pub(super) fn set_options(&mut self, options: PutMultipartOptions) {
        self.options = options;
    }

    /// Parts being sent, and their bytes.
    pub(super) fn in_flight(&self) -> (usize, usize) {
        (self.sending.len(), self.sending.iter().map(|s| s.payload.content_length()).sum())
    }

    /// Adds a part. It is sent by the next [`poll_parts`](Self::poll_parts).
    pub(super) fn push(&mut self, part: usize, payload: PutPayload) {
        self.sending.push(Sending { part, payload, task: None });
    }

    /// Sends all parts; ready when all of them have been sent.
    pub(super) fn poll_parts(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.sending.is_empty() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_open(cx))?;
        let UploadState::Open(id) = &self.state else { return Poll::Pending };
        let mut failed = None;
        let (parts, store, path) = (&mut self.parts, &self.store, &self.path);
        self.sending.retain_mut(|sending| {
            // After a failure the others wait until the caller polls again.
            if failed.is_some() && sending.task.is_none() {
                return true;
            }
            let task = sending.task.get_or_insert_with(|| {
                let (store, path, id) = (Arc::clone(store), path.clone(), id.clone());
                let (part, payload) = (sending.part, sending.payload.clone());
                spawn(async move {
                    let (len, digest) = (payload.content_length() as u64, digest(&payload).await);
                    let id = store.put_part(&path, &id, part, payload).await.map_err(io_error)?;
                    Ok(SentPart { id, len, digest })
                })
            });
            match task.poll_io(cx) {
                Poll::Pending => true,
                Poll::Ready(Ok(sent)) => {
                    if parts.len() <= sending.part {
                        parts.resize(sending.part + 1, None);
                    }
                    parts[sending.part] = Some(sent);
                    false
                }
                Poll::Ready(Err(error)) => {
                    sending.task = None;
                    failed.get_or_insert(error);
                    true
                }
            }
        });
        match failed {
            Some(error) => Poll::Ready(Err(error)),
            None if self.sending.is_empty() => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    }

    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match &mut self.state {
                UploadState::New => {
                    let (store, path, options) = (Arc::clone(&self.store), self.path.clone(), self.options.clone());
                    let create = async move { store.create_multipart_opts(&path, options).await.map_err(io_error) };
                    self.state = UploadState::Creating(spawn(create));
                }
                UploadState::Creating(task) => {
                    self.state = match ready!(task.poll_io(cx)) {
                        Ok(id) => UploadState::Open(id),
                        Err(error) => {
                            self.state = UploadState::New;
                            return Poll::Ready(Err(error));
                        }
                    };
                }
                UploadState::Open(_) => return Poll::Ready(Ok(())),
            }
        }
    }

    /// What completes the upload. All parts must have been sent.
    pub(super) fn completion(&self) -> io::Result<Completion> {
        let parts: Option<Vec<SentPart>> = self.parts.iter().cloned().collect();
        match (&self.state, parts) {
            (UploadState::Open(id), Some(parts)) => {
                Ok(Completion { store: Arc::clone(&self.store), path: self.path.clone(), id: id.clone(), parts })
            }
            _ => Err(io::Error::other("an upload was to be completed that has parts missing")),
        }
    }

    /// Aborts the upload, if there is one, so that the store removes its parts.
    pub(super) async fn abort(mut self) -> Result<(), AbortFailed> {
        if let UploadState::Creating(task) = &mut self.state {
            // Without the response the upload id is not known.
            self.state = task.await.and_then(|created| created).map_or(UploadState::New, UploadState::Open);
        }
        let UploadState::Open(id) = &self.state else { return Ok(()) };
        // A part that arrives after the abort would stay forever, so wait for those in progress.
        for task in self.sending.drain(..).filter_map(|sending| sending.task) {
            let _ = task.await;
        }
        match self.store.abort_multipart(&self.path, id).await.map_err(io_error) {
            // One that is gone needs no removal.
            Err(error) if ErrorKind::of_io(&error) != ErrorKind::NotFound => {
                Err(AbortFailed { error, upload: Box::new(self) })
            }
            _ => Ok(()),
        }
    }

    /// A new, empty upload to the same place.
    pub(super) fn fresh(&self) -> Self {
        Self { options: self.options.clone(), ..Self::new(Arc::clone(&self.store), self.path.clone()) }
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("path", &self.path).field("state", &self.state).finish_non_exhaustive()
    }
}

/// The last request of an upload, and what the object is then.
pub(super) struct Completion {
    store: Arc<dyn MultipartStore>,
    path: Path,
    id: MultipartId,
    parts: Vec<SentPart>,
}

impl Completion {
    pub(super) async fn request(&self) -> io::Result<()> {
        let parts = self.parts.iter().map(|part| part.id.clone()).collect();
        self.store.complete_multipart(&self.path, &self.id, parts).await.map(drop).map_err(io_error)
    }

    /// Whether the object has the bytes of this upload. Reads it, a part at a time.
    pub(super) async fn is_there(&self, request: &Request) -> io::Result<bool> {
        let len: u64 = self.parts.iter().map(|part| part.len).sum();
        if request.head().await?.is_none_or(|meta| meta.size != len) {
            return Ok(false);
        }
        let mut at = 0;
        for part in &self.parts {
            let found = request.store.get_range(&self.path, at..at + part.len).await.map_err(io_error)?;
            if digest(&found.into()).await != part.digest {
                return Ok(false);
            }
            at += part.len;
        }
        Ok(true)
    }
}

/// The digest of a part. Other requests may proceed meanwhile.
async fn digest(payload: &PutPayload) -> u128 {
    let mut hasher = Xxh3::new();
    for piece in payload.iter().flat_map(|bytes| bytes.chunks(AT_ONCE)) {
        hasher.update(piece);
        tokio::task::yield_now().await;
    }
    hasher.digest128()
}

/// The store did not remove the parts of an upload.
pub(super) struct AbortFailed {
    pub(super) error: io::Error,
    /// To be aborted again.
    pub(super) upload: Box<Upload>,
}
