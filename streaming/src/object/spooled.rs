//! An upload that begins when the frame is complete.

use std::future::Future;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::ops::Range;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use object_store::{MultipartUpload, PutPayload};

use super::request::Request;
use super::{Task, detach, io_error, spawn};
use crate::disk::IoMode;
use crate::kind::ErrorKind;
use crate::target::{SpoolBuffer, SpooledBytes, check_whole};

/// The most parts of an upload: S3 and GCS take 10,000, Azure more.
const MOST_PARTS: u64 = 10_000;

/// Keeps the frame until its totals are known, and then sends it in order.
///
/// An upload whose parts are in order cannot repeat one of them, so an attempt that fails is given up, and the next one
/// begins with the first part.
#[derive(Debug)]
pub(super) struct SpooledUpload {
    buffer: SpoolBuffer,
    step: Step,
    /// Uploads that the store has not removed yet.
    leftovers: Mutex<Vec<Box<dyn MultipartUpload>>>,
    /// An attempt has failed whose last request may have been carried out.
    uncertain: bool,
    aborting: Option<Task<Aborted>>,
}

#[derive(Debug)]
enum Step {
    Collect,
    Send { content: SpooledBytes, attempt: Option<Attempt> },
    Done,
}

/// An attempt to upload the frame. It ends by itself, so that no part arrives after an abort.
#[derive(Debug)]
struct Attempt {
    cancelled: Arc<AtomicBool>,
    task: Task<Result<(), Failed>>,
}

/// Why there is no object.
struct Failed {
    error: io::Error,
    /// The upload, if the store did not remove it.
    leftover: Option<Box<dyn MultipartUpload>>,
    /// The last request may have been carried out.
    uncertain: bool,
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self { error, leftover: None, uncertain: false }
    }
}

/// The uploads that could not be removed, and why.
struct Aborted {
    leftovers: Vec<Box<dyn MultipartUpload>>,
    error: Option<io::Error>,
}

impl SpooledUpload {
    pub(super) fn new() -> Self {
        let (step, leftovers) = (Step::Collect, Mutex::default());
        Self { buffer: SpoolBuffer::new(), step, leftovers, uncertain: false, aborting: None }
    }

    pub(super) fn set_memory_limit(&mut self, bytes: usize) {
        self.buffer.set_limit(bytes);
    }

    pub(super) fn set_directory(&mut self, directory: PathBuf) {
        self.buffer.set_directory(directory);
    }

    pub(super) fn set_mode(&mut self, mode: IoMode) {
        self.buffer.set_mode(mode);
    }

    pub(super) fn poll_append(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        self.buffer.poll_append(cx, bytes)
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.buffer.poll_flush(cx)
    }

    pub(super) fn poll_commit(
        &mut self,
        cx: &mut Context<'_>,
        request: &Request,
        header: &Bytes,
    ) -> Poll<io::Result<()>> {
        loop {
            match &mut self.step {
                Step::Collect => {
                    check_whole(header, self.buffer.len())?;
                    let content = ready!(self.buffer.poll_finish(cx))?;
                    self.step = Step::Send { content, attempt: None };
                }
                Step::Send { content, attempt } => {
                    let running = attempt.get_or_insert_with(|| {
                        let cancelled = Arc::<AtomicBool>::default();
                        let frame = Frame { header: header.clone(), content: content.clone() };
                        let (request, uncertain) = (request.clone(), self.uncertain);
                        let seen = Arc::clone(&cancelled);
                        let task = spawn(async move { send(&request, &frame, uncertain, &seen).await });
                        Attempt { cancelled, task }
                    });
                    let result = ready!(Pin::new(&mut running.task).poll(cx));
                    *attempt = None;
                    self.finish_attempt(result?)?;
                }
                Step::Done => return Poll::Ready(Ok(())),
            }
        }
    }

    fn finish_attempt(&mut self, result: Result<(), Failed>) -> io::Result<()> {
        let Err(failed) = result else {
            if let Step::Send { content, .. } = mem::replace(&mut self.step, Step::Done) {
                content.free();
            }
            return Ok(());
        };
        self.uncertain |= failed.uncertain;
        self.leftovers.get_mut().unwrap_or_else(PoisonError::into_inner).extend(failed.leftover);
        Err(failed.error)
    }

    pub(super) fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Step::Send { attempt, .. } = &mut self.step {
            if let Some(running) = attempt {
                running.cancelled.store(true, Ordering::Relaxed);
                let result = ready!(Pin::new(&mut running.task).poll(cx));
                *attempt = None;
                // It has failed because it was cancelled.
                let _ = self.finish_attempt(result?);
            }
            if let Step::Send { content, .. } = &mut self.step {
                mem::take(content).free();
                self.step = Step::Collect;
            }
        }
        self.buffer.clear();
        let leftovers = self.leftovers.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.aborting.is_none() && leftovers.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let aborting = self.aborting.get_or_insert_with(|| spawn(abort_all(mem::take(leftovers))));
        let aborted = ready!(Pin::new(aborting).poll(cx));
        self.aborting = None;
        let aborted = aborted?;
        leftovers.extend(aborted.leftovers);
        Poll::Ready(aborted.error.map_or(Ok(()), Err))
    }
}

impl Drop for SpooledUpload {
    fn drop(&mut self) {
        let attempt = match mem::replace(&mut self.step, Step::Done) {
            Step::Send { attempt, .. } => attempt,
            _ => None,
        };
        let mut leftovers = mem::take(self.leftovers.get_mut().unwrap_or_else(PoisonError::into_inner));
        let aborting = self.aborting.take();
        if attempt.is_none() && aborting.is_none() && leftovers.is_empty() {
            return;
        }
        if let Some(attempt) = &attempt {
            attempt.cancelled.store(true, Ordering::Relaxed);
        }
        detach(async move {
            if let Some(attempt) = attempt
                && let Ok(Err(failed)) = attempt.task.await
            {
                leftovers.extend(failed.leftover);
            }
            if let Some(aborting) = aborting {
                drop(aborting.await);
            }
            drop(abort_all(leftovers).await);
        });
    }
}

/// A frame with its final header.
struct Frame {
    header: Bytes,
    /// The same length, with the provisional header.
    content: SpooledBytes,
}

impl Frame {
    fn len(&self) -> u64 {
        self.content.len()
    }

    /// Bytes `range` of the frame.
    async fn read(&self, range: Range<u64>) -> io::Result<PutPayload> {
        let header_len = self.header.len() as u64;
        // Lossless: within the header.
        let header = range.start.min(header_len) as usize..range.end.min(header_len) as usize;
        let rest = range.start.max(header_len)..range.end.max(header_len);
        let mut reading = None;
        let rest = match rest.is_empty() {
            true => Bytes::new(),
            false => poll_fn(|cx| self.content.poll_read(cx, rest.clone(), &mut reading)).await?,
        };
        Ok([self.header.slice(header), rest].into_iter().filter(|bytes| !bytes.is_empty()).collect())
    }

    /// Whether the object is this very frame. `step` bytes are compared at a time.
    async fn is_at(&self, request: &Request, step: u64) -> io::Result<bool> {
        if request.head().await?.is_none_or(|meta| meta.size != self.len()) {
            return Ok(false);
        }
        let mut at = 0;
        while at < self.len() {
            let end = self.len().min(at + step);
            if !request.has_bytes(at, &self.read(at..end).await?).await? {
                return Ok(false);
            }
            at = end;
        }
        Ok(true)
    }
}

/// Uploads the frame, in one request if it is small. `uncertain` says that an earlier attempt may have done it.
async fn send(request: &Request, frame: &Frame, uncertain: bool, cancelled: &AtomicBool) -> Result<(), Failed> {
    // The same for all parts, as some stores demand, and no more parts than any store takes.
    let size = (request.part_size as u64).max(frame.len().div_ceil(MOST_PARTS));
    if frame.len() <= size {
        let payload = frame.read(0..frame.len()).await?;
        let put = request.put(payload, uncertain).await;
        return put.map_err(|error| Failed { error, leftover: None, uncertain: true });
    }
    if request.create_only && request.head().await?.is_some() {
        let done = uncertain && frame.is_at(request, size).await?;
        return if done { Ok(()) } else { Err(request.already_exists().into()) };
    }
    let created = request.store.put_multipart_opts(&request.path, request.multipart_options()).await;
    let mut upload = created.map_err(io_error)?;
    let sent = send_parts(request, frame, size, &mut upload, cancelled).await;
    let (error, uncertain) = match sent {
        Ok(()) => match upload.complete().await {
            Ok(_) => return Ok(()),
            Err(error) => (io_error(error), true),
        },
        Err(error) => (error, false),
    };
    Err(Failed { error, leftover: abort(upload).await.err().map(|(upload, _)| upload), uncertain })
}

/// Sends all parts, and waits for all that it has sent even if one of them fails.
async fn send_parts(
    request: &Request,
    frame: &Frame,
    size: u64,
    upload: &mut Box<dyn MultipartUpload>,
    cancelled: &AtomicBool,
) -> io::Result<()> {
    let mut sending = FuturesUnordered::new();
    let (mut at, mut bytes) = (0, 0);
    let mut failed = None;
    loop {
        if cancelled.load(Ordering::Relaxed) && failed.is_none() {
            failed = Some(io::Error::from(io::ErrorKind::Interrupted));
        }
        let end = frame.len().min(at + size);
        // Lossless: a part fits into memory.
        let len = (end - at) as usize;
        if failed.is_none() && len > 0 && request.has_room(sending.len(), bytes, len) {
            match frame.read(at..end).await {
                Ok(payload) => {
                    let part = upload.put_part(payload);
                    sending.push(spawn(async move { part.await.map(|()| len).map_err(io_error) }));
                    (at, bytes) = (end, bytes + len);
                }
                Err(error) => failed = Some(error),
            }
            continue;
        }
        match sending.next().await.map(|sent| sent.and_then(|sent| sent)) {
            Some(Ok(len)) => bytes -= len,
            Some(Err(error)) => drop(failed.get_or_insert(error)),
            None => break,
        }
    }
    if failed.is_none() && request.create_only && request.head().await?.is_some() {
        failed = Some(request.already_exists());
    }
    // The last moment: a completed upload cannot be taken back.
    if cancelled.load(Ordering::Relaxed) {
        failed.get_or_insert(io::ErrorKind::Interrupted.into());
    }
    failed.map_or(Ok(()), Err)
}

/// Has the store remove the parts of an upload. One that is gone needs no removal.
async fn abort(mut upload: Box<dyn MultipartUpload>) -> Result<(), (Box<dyn MultipartUpload>, io::Error)> {
    match upload.abort().await.map_err(io_error) {
        Err(error) if ErrorKind::of_io(&error) != ErrorKind::NotFound => Err((upload, error)),
        _ => Ok(()),
    }
}

async fn abort_all(uploads: Vec<Box<dyn MultipartUpload>>) -> Aborted {
    let mut aborted = Aborted { leftovers: Vec::new(), error: None };
    for upload in uploads {
        if let Err((upload, error)) = abort(upload).await {
            aborted.leftovers.push(upload);
            aborted.error.get_or_insert(error);
        }
    }
    aborted
}
