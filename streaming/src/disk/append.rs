//! A file written from front to back, with small pieces combined and one write in progress at a time.

use std::future::Future;
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};

use super::{Handle, IoMode, IoTask, PositionedFile};

/// Smaller pieces are combined up to this size; larger ones are written as they are, without a copy.
const GATHER: usize = 256 << 10;

/// A file written from front to back, with small pieces combined and one write in progress at a time.
///
/// Every write has an explicit position, so a failed one can be repeated without knowing how much of it reached the
/// disk.
#[derive(Debug)]
pub(crate) struct AppendFile {
    file: Arc<PositionedFile>,
    mode: IoMode,
    gathered: BytesMut,
    /// Offset of the write in progress, or of the next one.
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
    pub(crate) fn new(file: impl Into<Handle>, mode: IoMode) -> Self {
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

    /// Bytes taken so far, whether or not they have been written.
    pub(crate) fn len(&self) -> u64 {
        let writing = self.writing.as_ref().map_or(0, |write| write.bytes.len());
        self.at + (writing + self.gathered.len()) as u64
    }

    /// Takes bytes from the front of `bytes`: at least one if it returns `Ready(Ok)` (unless there are none), none
    /// otherwise.
    pub(crate) fn poll_append(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        // Everything that can fail or wait comes before the first byte is taken.
        let mut idle = self.poll_idle(cx)?;
        let large = bytes.len() >= GATHER;
        if idle && !self.gathered.is_empty() && (large || self.gathered.len() >= GATHER) {
            self.start_gathered();
            idle = self.poll_idle(cx)?;
        }
        if large {
            if !idle || !self.gathered.is_empty() {
                return Poll::Pending;
            }
            self.start(mem::take(bytes));
            return Poll::Ready(Ok(()));
        }
        let room = GATHER.saturating_sub(self.gathered.len());
        if room == 0 {
            return Poll::Pending;
        }
        let taken = bytes.split_to(room.min(bytes.len()));
        self.gathered.extend_from_slice(&taken);
        Poll::Ready(Ok(()))
    }

    /// Waits until every byte has been written to the system.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_write(cx))?;
            if self.gathered.is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.start_gathered();
        }
    }

    fn start_gathered(&mut self) {
        let gathered = self.gathered.split().freeze();
        self.start(gathered);
    }

    fn start(&mut self, bytes: Bytes) {
        let task = Some(self.write(bytes.clone()));
        self.writing = Some(Write { bytes, task });
    }

    fn write(&self, bytes: Bytes) -> IoTask<io::Result<()>> {
        let (file, at) = (Arc::clone(&self.file), self.at);
        self.mode.run(move || file.write_all_at(&bytes, at))
    }

    /// Whether no write is in progress. If one is, `cx` is woken at its end.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        match self.poll_write(cx) {
            Poll::Ready(result) => result.map(|()| true),
            Poll::Pending => Ok(false),
        }
    }

    /// Waits for the write in progress, or retries one that has failed.
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;

    use super::*;
    use crate::compute::block_on;

    /// Appends pieces of these lengths and returns what is in the file, having looked at every answer.
    fn append(lens: &[usize], mode: IoMode) -> (Vec<u8>, Vec<u8>) {
        let file = tempfile::tempfile().unwrap();
        let mut append = AppendFile::new(file.try_clone().unwrap(), mode);
        let mut expected = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        for (i, &len) in lens.iter().enumerate() {
            let mut bytes = Bytes::from((0..len).map(|at| (i * 31 + at / 7) as u8).collect::<Vec<_>>());
            expected.extend_from_slice(&bytes);
            while !bytes.is_empty() {
                let (before, had) = (bytes.clone(), append.len());
                match append.poll_append(&mut cx, &mut bytes) {
                    Poll::Pending => assert_eq!((&bytes, append.len()), (&before, had), "taken and not ready"),
                    Poll::Ready(result) => {
                        result.unwrap();
                        let taken = (before.len() - bytes.len()) as u64;
                        assert!(taken > 0);
                        assert_eq!(append.len(), had + taken);
                    }
                }
            }
        }
        block_on(poll_fn(|cx| append.poll_flush(cx))).unwrap();
        assert_eq!(append.len(), expected.len() as u64);
        let mut found = vec![0; append.file().len().unwrap() as usize];
        append.file().read_exact_at(&mut found, 0).unwrap();
        (found, expected)
    }

    #[test]
    fn pieces_of_any_size_arrive_and_no_answer_hides_any() {
        let around = [GATHER - 1, GATHER, GATHER + 1];
        for mode in [IoMode::Inline, IoMode::Offloaded] {
            for first in around {
                for second in [1, GATHER / 2, GATHER - 1, GATHER, GATHER + 1, 5 * GATHER] {
                    let (found, expected) = append(&[100, first, second, 3, second, first, 1], mode);
                    assert!(found == expected, "{mode:?}: {first}, {second}");
                }
            }
        }
    }
}
