//! An upload whose parts are sent while the frame is written.

use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use object_store::PutPayload;
use object_store::multipart::MultipartStore;
use object_store::path::Path;

use super::request::Request;
use super::upload::{AbortFailed, Completion, Upload};
use super::{Task, detach, spawn};
use crate::disk::IoMode;
use crate::target::{AppendBuffer, Part, check_whole};

/// After this many parts the part size doubles. The length of a frame is not known in advance, and S3 takes at most
/// 10,000 parts: at 8 MiB each they would hold 80 GiB; growing like this they hold 8 TiB, more than the largest object
/// on S3, while the last ones stay below the limit of 5 GiB for a part.
const PARTS_OF_ONE_SIZE: usize = 1000;

/// Sends parts while the frame is written, and the first part, which holds the header, at the end.
#[derive(Debug)]
pub(super) struct StreamedUpload {
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
#[derive(Debug)]
enum CommitStep {
    Begin,
    /// A frame of one part.
    Put {
        payload: PutPayload,
        task: Option<Task<io::Result<()>>>,
        tried: bool,
    },
    Parts,
    Complete {
        task: Option<Task<io::Result<()>>>,
        tried: bool,
    },
    Done,
}

impl StreamedUpload {
    pub(super) fn new(store: Arc<dyn MultipartStore>, path: Path) -> Self {
        Self {
            first: AppendBuffer::default(),
            next: AppendBuffer::default(),
            next_part: 1,
            len: 0,
            upload: Upload::new(store, path),
            commit: CommitStep::Begin,
            aborting: None,
        }
    }

    pub(super) fn set_mode(&mut self, mode: IoMode) {
        self.first.set_mode(mode);
        self.next.set_mode(mode);
    }

    pub(super) fn set_options(&mut self, request: &Request) {
        self.upload.set_options(request.multipart_options());
    }

    pub(super) fn poll_append(
        &mut self,
        cx: &mut Context<'_>,
        request: &Request,
        part: Part,
        bytes: &mut Bytes,
    ) -> Poll<io::Result<()>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let before = bytes.len();
        // The header must lie in the first part, however long it is.
        let first_size = if part == Part::Header { usize::MAX } else { request.part_size };
        if self.next_part == 1 && self.next.is_empty() && self.first.len() < first_size {
            ready!(self.first.poll_take(cx, bytes, first_size));
        } else {
            let size = size_of(request, self.next_part);
            if self.next.len() >= size {
                ready!(self.poll_send(cx, request))?;
            } else {
                // Report a failed part now rather than one part later.
                let _ = self.upload.poll_parts(cx)?;
            }
            let size = size_of(request, self.next_part);
            ready!(self.next.poll_take(cx, bytes, size));
        }
        self.len += (before - bytes.len()) as u64;
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>, request: &Request) -> Poll<io::Result<()>> {
        if self.next.len() >= size_of(request, self.next_part) {
            ready!(self.poll_send(cx, request))?;
        }
        self.upload.poll_parts(cx)
    }

    /// Passes the filled part to the upload as soon as there is room for it.
    fn poll_send(&mut self, cx: &mut Context<'_>, request: &Request) -> Poll<io::Result<()>> {
        loop {
            let sent = self.upload.poll_parts(cx)?;
            let (parts, bytes) = self.upload.in_flight();
            if request.has_room(parts, bytes, self.next.len()) {
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

    pub(super) fn poll_commit(
        &mut self,
        cx: &mut Context<'_>,
        request: &Request,
        header: &Bytes,
    ) -> Poll<io::Result<()>> {
        if matches!(self.commit, CommitStep::Begin) {
            check_whole(header, self.len)?;
        }
        loop {
            self.commit = match &mut self.commit {
                CommitStep::Begin if self.next_part == 1 && self.next.is_empty() => {
                    CommitStep::Put { payload: ready!(self.poll_first(cx, header)), task: None, tried: false }
                }
                CommitStep::Begin => {
                    if !self.next.is_empty() {
                        ready!(self.poll_send(cx, request))?;
                    }
                    let first = ready!(self.poll_first(cx, header));
                    self.upload.push(0, first);
                    CommitStep::Parts
                }
                CommitStep::Put { payload, task, tried } => {
                    let put = task.get_or_insert_with(|| {
                        let (request, payload, again) = (request.clone(), payload.clone(), mem::replace(tried, true));
                        spawn(async move { request.put(payload, again).await })
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
                        let (request, completion) = (request.clone(), self.upload.completion());
                        let again = mem::replace(tried, true);
                        spawn(async move { complete(&request, completion?, again).await })
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

    pub(super) fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The last request may be carried out at any moment, so its outcome decides.
        if let CommitStep::Put { task, .. } | CommitStep::Complete { task, .. } = &mut self.commit
            && let Some(last) = task
        {
            let result = ready!(last.poll_io(cx));
            *task = None;
            if result.is_ok() {
                self.commit = CommitStep::Done;
            }
        }
        if matches!(self.commit, CommitStep::Done) {
            return Poll::Ready(Ok(()));
        }
        let aborting = self.aborting.get_or_insert_with(|| {
            let fresh = self.upload.fresh();
            spawn(mem::replace(&mut self.upload, fresh).abort())
        });
        let result = ready!(Pin::new(aborting).poll(cx));
        self.aborting = None;
        Poll::Ready(result?.map_err(|failed| {
            self.upload = *failed.upload;
            failed.error
        }))
    }
}

impl Drop for StreamedUpload {
    fn drop(&mut self) {
        if let Some(aborting) = self.aborting.take() {
            detach(async { drop(aborting.await) });
        }
        if !matches!(self.commit, CommitStep::Done) {
            let fresh = self.upload.fresh();
            let abort = mem::replace(&mut self.upload, fresh).abort();
            let last = match &mut self.commit {
                CommitStep::Complete { task, .. } => task.take(),
                _ => None,
            };
            detach(async {
                // A completed upload has no parts to be removed.
                let completed = match last {
                    Some(last) => matches!(last.await, Ok(Ok(()))),
                    None => false,
                };
                if !completed {
                    drop(abort.await);
                }
            });
        }
    }
}

fn size_of(request: &Request, part: usize) -> usize {
    u32::try_from(part / PARTS_OF_ONE_SIZE)
        .ok()
        .and_then(|doublings| request.part_size.checked_shl(doublings))
        .map_or(usize::MAX, |size| size.max(request.part_size))
}

/// Completes the upload. If it is not the first attempt, the last one may have succeeded although its response was lost.
async fn complete(request: &Request, completion: Completion, again: bool) -> io::Result<()> {
    // No store completes an upload on a condition.
    if request.create_only && request.head().await?.is_some() {
        let done = again && completion.is_there(request).await?;
        return if done { Ok(()) } else { Err(request.already_exists()) };
    }
    match completion.request().await {
        Err(_) if again && completion.is_there(request).await.unwrap_or(false) => Ok(()),
        result => result,
    }
}
