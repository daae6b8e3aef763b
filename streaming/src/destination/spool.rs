//! Writing a frame to something that can only be written front to back.

use std::io;
use std::mem;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures::io::AsyncWrite;

use super::spool_buffer::{SpoolBuffer, SpooledBytes};
use super::{Part, Target};
use crate::compute::CoopBudget;
use crate::disk::{IoMode, IoTask};

/// Bytes read and written at a time when the frame is copied out.
const COPY: u64 = super::AT_ONCE as u64;

/// Buffers the frame, in memory up to a limit and in a temporary file beyond it, and writes it to `writer` when it is
/// complete. Nothing reaches the writer before that.
#[derive(Debug)]
pub struct SpoolTarget<W> {
    writer: W,
    buffer: SpoolBuffer,
    commit: CommitStep,
    turn: CoopBudget,
}

/// The progress of a commit. A failed step is repeated; what the writer has accepted is not written again.
#[derive(Debug)]
enum CommitStep {
    FlushSpool,
    Header {
        content: SpooledBytes,
        done: usize,
    },
    /// `at` is the position in the frame of the next byte that is not in `read`.
    Body {
        content: SpooledBytes,
        at: u64,
        reading: Option<IoTask<io::Result<Bytes>>>,
        read: Bytes,
    },
    Flush,
    Done,
}

impl<W> SpoolTarget<W> {
    /// The default of [`SpoolTarget::memory_limit`]: 16 MiB.
    pub const MEMORY_LIMIT: usize = SpoolBuffer::MEMORY_LIMIT;

    /// A target that copies the finished frame to `writer`.
    pub fn new(writer: W) -> Self {
        Self { writer, buffer: SpoolBuffer::new(), commit: CommitStep::FlushSpool, turn: CoopBudget::default() }
    }

    /// Keeps up to `bytes` in memory before it uses a temporary file.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.buffer.set_limit(bytes);
        self
    }

    /// The directory for the temporary file; the system's default directory for such files by default.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.buffer.set_directory(directory.into());
        self
    }

    /// Which thread reads and writes the temporary file.
    #[must_use]
    pub fn io_mode(mut self, mode: IoMode) -> Self {
        self.buffer.set_mode(mode);
        self
    }

    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.writer
    }

    /// The writer; once the frame is complete it has received all of it.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

impl<W: AsyncWrite + Unpin> SpoolTarget<W> {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match ready!(Pin::new(&mut self.writer).poll_write(cx, bytes)) {
            Ok(0) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            result => Poll::Ready(result),
        }
    }

    /// Writes the kept bytes after the header.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            // The writer may take everything at once.
            ready!(self.turn.poll_proceed(cx));
            let CommitStep::Body { content, at, reading, read } = &mut self.commit else { return Poll::Ready(Ok(())) };
            if read.is_empty() {
                let len = content.len();
                if *at == len {
                    mem::take(content).free();
                    return Poll::Ready(Ok(()));
                }
                let end = len.min(*at + COPY);
                *read = ready!(content.poll_read(cx, *at..end, reading))?;
                *at = end;
            }
            let bytes = mem::take(read);
            let result = self.poll_write(cx, &bytes);
            if let CommitStep::Body { read, .. } = &mut self.commit {
                *read = bytes;
                if let Poll::Ready(Ok(n)) = &result {
                    read.advance(*n);
                    self.turn.spend(*n);
                }
            }
            ready!(result)?;
        }
    }
}

impl<W: AsyncWrite + Unpin> Target for SpoolTarget<W> {
    fn poll_append(&mut self, cx: &mut Context<'_>, _: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        self.buffer.poll_append(cx, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.buffer.poll_flush(cx)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        loop {
            self.commit = match &mut self.commit {
                CommitStep::FlushSpool => {
                    super::check_whole(header, self.buffer.len())?;
                    let content = ready!(self.buffer.poll_finish(cx))?;
                    CommitStep::Header { content, done: 0 }
                }
                CommitStep::Header { done, .. } if *done < header.len() => {
                    let from = *done;
                    let n = ready!(self.poll_write(cx, &header[from..]))?;
                    if let CommitStep::Header { done, .. } = &mut self.commit {
                        *done += n;
                    }
                    continue;
                }
                CommitStep::Header { content, .. } => {
                    let (content, at) = (mem::take(content), header.len() as u64);
                    CommitStep::Body { content, at, reading: None, read: Bytes::new() }
                }
                CommitStep::Body { .. } => {
                    ready!(self.poll_body(cx))?;
                    CommitStep::Flush
                }
                CommitStep::Flush => {
                    ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
                    CommitStep::Done
                }
                CommitStep::Done => return Poll::Ready(Ok(())),
            };
        }
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_close(cx)
    }

    fn poll_abort(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.buffer.clear();
        if !matches!(self.commit, CommitStep::Done) {
            self.commit = CommitStep::FlushSpool;
        }
        Poll::Ready(Ok(()))
    }
}
