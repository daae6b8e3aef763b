//! Writing a frame to something that can only be written front to back.

use std::future::Future;
use std::io;
use std::mem;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures::io::AsyncWrite;

use super::append_buffer::AppendBuffer;
use super::{Part, Target};
use crate::compute::{CoopBudget, free_in_background};
use crate::disk::{AppendFile, IoMode, IoTask};

/// Bytes read and written at a time when the frame is copied out.
const COPY: usize = super::AT_ONCE;

/// Buffers the frame, in memory up to a limit and in a temporary file beyond it, and writes it to `writer` when it is
/// complete. Nothing reaches the writer before that.
#[derive(Debug)]
pub struct SpoolTarget<W> {
    writer: W,
    limit: usize,
    directory: Option<PathBuf>,
    mode: IoMode,
    memory: AppendBuffer,
    /// What was in memory and is being written to the file.
    spilled: Bytes,
    file: Option<AppendFile>,
    commit: CommitStep,
    turn: CoopBudget,
}

/// The progress of a commit. A failed step is repeated; what the writer has accepted is not written again.
#[derive(Debug)]
enum CommitStep {
    FlushSpool,
    Header {
        done: usize,
    },
    /// `at` is the position in the frame of the next byte that is not in `read`.
    Body {
        at: u64,
        end: u64,
        reading: Option<IoTask<io::Result<Bytes>>>,
        read: Bytes,
    },
    Flush,
    Done,
}

impl<W> SpoolTarget<W> {
    /// The default of [`SpoolTarget::memory_limit`]: 16 MiB.
    pub const MEMORY_LIMIT: usize = 16 << 20;

    /// A target that copies the finished frame to `writer`.
    pub fn new(writer: W) -> Self {
        Self {
            writer,
            limit: Self::MEMORY_LIMIT,
            directory: None,
            mode: IoMode::default(),
            memory: AppendBuffer::default(),
            spilled: Bytes::new(),
            file: None,
            commit: CommitStep::FlushSpool,
            turn: CoopBudget::default(),
        }
    }

    /// Keeps up to `bytes` in memory before it uses a temporary file.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// The directory for the temporary file; the system's default directory for such files by default.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Which thread reads and writes the temporary file.
    #[must_use]
    pub fn io_mode(mut self, mode: IoMode) -> Self {
        self.mode = mode;
        self.memory.set_mode(mode);
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

    /// Moves what is in memory to the temporary file, creating it if needed.
    ///
    /// Creating the file is a short system call and done on this thread, so that `poll_append` needs no further state.
    fn poll_spill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.file.is_none() {
            let file = match &self.directory {
                Some(directory) => tempfile::tempfile_in(directory)?,
                None => tempfile::tempfile()?,
            };
            self.file = Some(AppendFile::new(file, self.mode));
        }
        if !self.memory.is_empty() {
            self.spilled = mem::take(ready!(self.memory.poll_bytes(cx))).into();
        }
        let Some(file) = &mut self.file else { return Poll::Ready(Ok(())) };
        while !self.spilled.is_empty() {
            ready!(file.poll_append(cx, &mut self.spilled))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Bytes kept so far, wherever they are.
    fn kept(&self) -> u64 {
        let written = self.file.as_ref().map_or(0, AppendFile::len);
        written + (self.spilled.len() + self.memory.len()) as u64
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
            let CommitStep::Body { at, end, reading, read } = &mut self.commit else { return Poll::Ready(Ok(())) };
            if read.is_empty() {
                // A small part of a file, or all that was kept in memory.
                let spent = if self.file.is_some() { COPY as u64 } else { *end };
                free_in_background(mem::take(read), usize::try_from(spent).unwrap_or(usize::MAX));
                let Some(file) = self.file.as_ref().filter(|_| at < end) else { return Poll::Ready(Ok(())) };
                let task = reading.get_or_insert_with(|| {
                    let (from, file) = (*at, Arc::clone(file.file()));
                    // Lossless: at most COPY.
                    let len = (*end - from).min(COPY as u64) as usize;
                    self.mode.run(move || {
                        let mut bytes = vec![0; len];
                        file.read_exact_at(&mut bytes, from)?;
                        Ok(bytes.into())
                    })
                });
                let result = ready!(Pin::new(task).poll(cx));
                *reading = None;
                *read = result?;
                *at += read.len() as u64;
            }
            let bytes = mem::take(read);
            let result = self.poll_write(cx, &bytes[..bytes.len().min(super::AT_ONCE)]);
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
        if self.file.is_none() && self.memory.len().saturating_add(bytes.len()) <= self.limit {
            return self.memory.poll_take(cx, bytes, usize::MAX).map(Ok);
        }
        ready!(self.poll_spill(cx))?;
        match &mut self.file {
            Some(file) => file.poll_append(cx, bytes),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.file.is_some() {
            ready!(self.poll_spill(cx))?;
        }
        match &mut self.file {
            Some(file) => file.poll_flush(cx),
            None => self.memory.poll_bytes(cx).map(|_| Ok(())),
        }
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        loop {
            self.commit = match &mut self.commit {
                CommitStep::FlushSpool => {
                    super::check_whole(header, self.kept())?;
                    ready!(self.poll_flush(cx))?;
                    CommitStep::Header { done: 0 }
                }
                CommitStep::Header { done } if *done < header.len() => {
                    let done = *done;
                    let n = ready!(self.poll_write(cx, &header[done..]))?;
                    CommitStep::Header { done: done + n }
                }
                CommitStep::Header { .. } => {
                    let end = self.kept();
                    let (at, read) = match &self.file {
                        Some(_) => (header.len() as u64, Bytes::new()),
                        None => {
                            let mut kept = Bytes::from(mem::take(ready!(self.memory.poll_bytes(cx))));
                            (end, kept.split_off(header.len()))
                        }
                    };
                    CommitStep::Body { at, end, reading: None, read }
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
        self.memory = AppendBuffer::new(self.mode);
        self.spilled = Bytes::new();
        self.file = None;
        Poll::Ready(Ok(()))
    }
}
