//! A frame that is kept until its totals are known.

use std::future::Future;
use std::io;
use std::mem;
use std::ops::Range;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::append_buffer::AppendBuffer;
use crate::compute::free_in_background;
use crate::disk::{AppendFile, IoMode, IoTask, PositionedFile};

/// Collects bytes in memory up to a limit, and in a temporary file beyond it.
#[derive(Debug)]
pub(crate) struct SpoolBuffer {
    limit: usize,
    directory: Option<PathBuf>,
    mode: IoMode,
    memory: AppendBuffer,
    /// What was in memory and is being written to the file.
    spilled: Bytes,
    file: Option<AppendFile>,
}

impl SpoolBuffer {
    /// The default of [`set_limit`](Self::set_limit): 16 MiB.
    pub(crate) const MEMORY_LIMIT: usize = 16 << 20;

    pub(crate) fn new() -> Self {
        Self {
            limit: Self::MEMORY_LIMIT,
            directory: None,
            mode: IoMode::default(),
            memory: AppendBuffer::default(),
            spilled: Bytes::new(),
            file: None,
        }
    }

    /// How many bytes are kept in memory.
    pub(crate) fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Where the temporary file is created, if not in the system's directory for such files.
    pub(crate) fn set_directory(&mut self, directory: PathBuf) {
        self.directory = Some(directory);
    }

    pub(crate) fn set_mode(&mut self, mode: IoMode) {
        self.mode = mode;
        self.memory.set_mode(mode);
    }

    /// Bytes kept so far, wherever they are.
    pub(crate) fn len(&self) -> u64 {
        let written = self.file.as_ref().map_or(0, AppendFile::len);
        written + (self.spilled.len() + self.memory.len()) as u64
    }

    /// Takes bytes from the front of `bytes`: at least one if it returns `Ready(Ok)` (unless there are none), none
    /// otherwise.
    pub(crate) fn poll_append(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        if self.file.is_none() && self.memory.len().saturating_add(bytes.len()) <= self.limit {
            return self.memory.poll_take(cx, bytes, usize::MAX).map(Ok);
        }
        ready!(self.poll_spill(cx))?;
        match &mut self.file {
            Some(file) => file.poll_append(cx, bytes),
            None => Poll::Ready(Ok(())),
        }
    }

    /// Waits until all bytes are where they will be kept.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.file.is_some() {
            ready!(self.poll_spill(cx))?;
        }
        match &mut self.file {
            Some(file) => file.poll_flush(cx),
            None => self.memory.poll_bytes(cx).map(|_| Ok(())),
        }
    }

    /// Moves all bytes out. Nothing may be appended afterwards.
    pub(crate) fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<SpooledBytes>> {
        ready!(self.poll_flush(cx))?;
        Poll::Ready(Ok(match self.file.take() {
            Some(file) => SpooledBytes::File { len: file.len(), file: Arc::clone(file.file()), mode: self.mode },
            None => SpooledBytes::Memory(mem::take(ready!(self.memory.poll_bytes(cx))).into()),
        }))
    }

    /// Forgets all bytes.
    pub(crate) fn clear(&mut self) {
        self.memory = AppendBuffer::new(self.mode);
        self.spilled = Bytes::new();
        self.file = None;
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
}

/// All bytes of a [`SpoolBuffer`].
#[derive(Debug, Clone)]
pub(crate) enum SpooledBytes {
    Memory(Bytes),
    File { file: Arc<PositionedFile>, len: u64, mode: IoMode },
}

impl Default for SpooledBytes {
    fn default() -> Self {
        Self::Memory(Bytes::new())
    }
}

impl SpooledBytes {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { len, .. } => *len,
        }
    }

    /// Drops the bytes. Off an executor's thread, if there are many: the memory that a temporary file is cached in is
    /// freed when the file is closed.
    pub(crate) fn free(self) {
        let len = usize::try_from(self.len()).unwrap_or(usize::MAX);
        free_in_background(self, len);
    }

    /// Bytes `range`, which must lie within: those in memory are not copied.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        range: Range<u64>,
        reading: &mut Option<IoTask<io::Result<Bytes>>>,
    ) -> Poll<io::Result<Bytes>> {
        // Lossless: callers ask for what they have room for.
        let len = (range.end - range.start) as usize;
        match self {
            Self::Memory(bytes) => {
                let start = range.start as usize;
                Poll::Ready(Ok(bytes.slice(start..start + len)))
            }
            Self::File { file, mode, .. } => {
                let task = reading.get_or_insert_with(|| {
                    let file = Arc::clone(file);
                    mode.run(move || {
                        let mut bytes = vec![0; len];
                        file.read_exact_at(&mut bytes, range.start)?;
                        Ok(bytes.into())
                    })
                });
                let result = ready!(Pin::new(task).poll(cx));
                *reading = None;
                Poll::Ready(result)
            }
        }
    }
}
