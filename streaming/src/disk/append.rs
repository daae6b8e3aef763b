//! A file written from front to back, with small pieces gathered and one write under way at a time.

use std::fs::File;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};

use super::{IoMode, IoTask, PositionedFile};

/// Pieces below this are gathered to this size; larger ones are written as they are, without a copy.
const GATHER: usize = 256 << 10;

/// A file written from front to back, with small pieces gathered and one write under way at a time.
///
/// Every write names its position, so a failed one can be repeated without knowing how much of it reached the disk.
#[derive(Debug)]
pub(crate) struct AppendFile {
    file: Arc<PositionedFile>,
    mode: IoMode,
    gathered: BytesMut,
    /// Where the write under way, or the next one, begins.
    at: u64,
    writing: Option<Write>,
}

#[derive(Debug)]
struct Write {
    bytes: Bytes,
    /// `None` after a failure, until the write is tried again.
    task: Option<IoTask<io::Result<()>>>,
}

impl AppendFile {
    pub(crate) fn new(file: File, mode: IoMode) -> Self {
        Self { file: Arc::new(PositionedFile::new(file)), mode, gathered: BytesMut::new(), at: 0, writing: None }
    }

    pub(crate) fn file(&self) -> &Arc<PositionedFile> {
        &self.file
    }

    pub(crate) fn set_mode(&mut self, mode: IoMode) {
        self.mode = mode;
    }

    pub(crate) fn mode(&self) -> IoMode {
        self.mode
    }

    /// Takes bytes from the front of `bytes`, at least one unless it is empty.
    pub(crate) fn poll_append(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        while !bytes.is_empty() {
            let idle = match self.poll_write(cx) {
                Poll::Ready(result) => {
                    result?;
                    true
                }
                Poll::Pending => false,
            };
            if idle && self.gathered.is_empty() && bytes.len() >= GATHER {
                self.start(bytes.split_to(bytes.len()));
                break;
            }
            let room = GATHER - self.gathered.len();
            if room == 0 {
                if !idle {
                    return Poll::Pending;
                }
                let gathered = self.gathered.split().freeze();
                self.start(gathered);
                continue;
            }
            let taken = room.min(bytes.len());
            self.gathered.extend_from_slice(&bytes[..taken]);
            bytes.advance(taken);
        }
        Poll::Ready(Ok(()))
    }

    /// Waits until the system has every byte.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_write(cx))?;
            if self.gathered.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let gathered = self.gathered.split().freeze();
            self.start(gathered);
        }
    }

    fn start(&mut self, bytes: Bytes) {
        let task = Some(self.write(bytes.clone()));
        self.writing = Some(Write { bytes, task });
    }

    fn write(&self, bytes: Bytes) -> IoTask<io::Result<()>> {
        let (file, at) = (Arc::clone(&self.file), self.at);
        self.mode.run(move || file.write_all_at(&bytes, at))
    }

    /// Waits for the write under way, trying it again if it has failed before.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(mut writing) = self.writing.take() else { return Poll::Ready(Ok(())) };
        let mut task = writing.task.take().unwrap_or_else(|| self.write(writing.bytes.clone()));
        match Pin::new(&mut task).poll(cx) {
            Poll::Pending => {
                writing.task = Some(task);
                self.writing = Some(writing);
                Poll::Pending
            }
            Poll::Ready(Ok(())) => {
                self.at += writing.bytes.len() as u64;
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(e)) => {
                self.writing = Some(writing);
                Poll::Ready(Err(e))
            }
        }
    }
}
