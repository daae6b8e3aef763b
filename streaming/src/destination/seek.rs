//! Writing a frame to anything that can seek.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures::io::{AsyncSeek, AsyncWrite};

use super::{Part, Target};

/// Writes the frame at the current position of `writer` and seeks back to patch the header at the end.
///
/// Positions are relative to that start, so a frame may be in the middle of a file. The file must not be open in append
/// mode, in which the system moves every write to the end; that is detected, and an error.
#[derive(Debug)]
pub struct SeekTarget<W> {
    writer: W,
    /// Position of the frame, once it is known.
    start: Option<u64>,
    /// Bytes that the writer has accepted.
    accepted: u64,
    /// Whether the writer is known to be positioned after the accepted bytes.
    in_place: bool,
    commit: CommitStep,
    open_ended: bool,
}

/// The progress of a commit.
#[derive(Debug, Clone, Copy)]
enum CommitStep {
    FlushFrame,
    SeekHeader,
    WriteHeader { done: usize },
    CheckHeader,
    FlushHeader,
    SeekEnd,
    Done,
}

impl<W> SeekTarget<W> {
    /// A target that starts at the current position of `writer`.
    pub fn new(writer: W) -> Self {
        Self { writer, start: None, accepted: 0, in_place: true, commit: CommitStep::FlushFrame, open_ended: false }
    }

    /// Writes an open-ended frame, which can be followed while it grows and recovered if its writer is killed, and
    /// which still becomes a plain frame in the end. (Chunks of zeros then take a few bytes each.)
    #[must_use]
    pub fn open_ended(mut self, open_ended: bool) -> Self {
        self.open_ended = open_ended;
        self
    }

    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.writer
    }

    /// The writer; once the frame is complete it is positioned after it.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

impl<W: AsyncWrite + AsyncSeek + Unpin> SeekTarget<W> {
    fn poll_seek(&mut self, cx: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        Pin::new(&mut self.writer).poll_seek(cx, to)
    }

    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Some(start) = self.start {
            return Poll::Ready(Ok(start));
        }
        let start = ready!(self.poll_seek(cx, SeekFrom::Current(0)))?;
        self.start = Some(start);
        Poll::Ready(Ok(start))
    }

    /// After an error the position of the writer is unknown: this reads it, and seeks back to the end of the accepted
    /// bytes.
    ///
    /// Some writers (files of async runtimes) accept bytes and fail later. Their position is then before the end of the
    /// accepted bytes, and those bytes are lost: better a permanent error than a frame with a gap.
    fn poll_resume(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let end = ready!(self.poll_start(cx))? + self.accepted;
        if !self.in_place {
            let found = ready!(self.poll_seek(cx, SeekFrom::Current(0)))?;
            if found < end {
                return Poll::Ready(Err(io::Error::other(format!(
                    "the writer has lost bytes that it had accepted: its position is {found}, expected {end}"
                ))));
            }
            if found > end {
                ready!(self.poll_seek(cx, SeekFrom::Start(end)))?;
            }
            self.in_place = true;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.writer).poll_write(cx, bytes));
        Poll::Ready(match result {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => Ok(n),
            // Nothing was written and nothing moved, so the position is still known.
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Err(e) => {
                self.in_place = false;
                Err(e)
            }
        })
    }

    fn poll_commit_steps(&mut self, cx: &mut Context<'_>, header: &[u8]) -> Poll<io::Result<()>> {
        super::check_whole(header, self.accepted)?;
        let start = ready!(self.poll_start(cx))?;
        loop {
            self.commit = match self.commit {
                // Deferred errors of the writer must surface before the header declares the frame complete.
                CommitStep::FlushFrame => {
                    ready!(self.poll_resume(cx))?;
                    ready!(self.poll_flush(cx))?;
                    CommitStep::SeekHeader
                }
                CommitStep::SeekHeader => {
                    ready!(self.poll_seek(cx, SeekFrom::Start(start)))?;
                    CommitStep::WriteHeader { done: 0 }
                }
                CommitStep::WriteHeader { done } if done < header.len() => {
                    let n = ready!(self.poll_write(cx, &header[done..]))?;
                    CommitStep::WriteHeader { done: done + n }
                }
                CommitStep::WriteHeader { .. } => CommitStep::CheckHeader,
                CommitStep::CheckHeader => {
                    let (found, expected) =
                        (ready!(self.poll_seek(cx, SeekFrom::Current(0)))?, start + header.len() as u64);
                    if found != expected {
                        return Poll::Ready(Err(io::Error::new(
                            io::ErrorKind::InvalidInput,
                            format!(
                                "the header was not written at its place: the position of the writer is {found}, \
                                 expected {expected}; a file must not be open in append mode"
                            ),
                        )));
                    }
                    CommitStep::FlushHeader
                }
                CommitStep::FlushHeader => {
                    ready!(self.poll_flush(cx))?;
                    CommitStep::SeekEnd
                }
                CommitStep::SeekEnd => {
                    let end = start + self.accepted;
                    ready!(self.poll_seek(cx, SeekFrom::Start(end)))?;
                    self.in_place = true;
                    CommitStep::Done
                }
                CommitStep::Done => return Poll::Ready(Ok(())),
            };
        }
    }
}

impl<W: AsyncWrite + AsyncSeek + Unpin> Target for SeekTarget<W> {
    fn poll_append(&mut self, cx: &mut Context<'_>, _: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        ready!(self.poll_resume(cx))?;
        if !bytes.is_empty() {
            let n = ready!(self.poll_write(cx, &bytes[..bytes.len().min(super::AT_ONCE)]))?;
            bytes.advance(n);
            self.accepted += n as u64;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = ready!(Pin::new(&mut self.writer).poll_flush(cx));
        self.in_place &= result.is_ok();
        Poll::Ready(result)
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        let result = ready!(self.poll_commit_steps(cx, header));
        if result.is_err() {
            // Once the frame is flushed the writer seeks back and forth, and its position no longer reveals lost bytes:
            // from there on, only the header is written again.
            if !matches!(self.commit, CommitStep::FlushFrame) {
                self.commit = CommitStep::SeekHeader;
            }
        }
        Poll::Ready(result)
    }

    fn is_open_ended(&self) -> bool {
        self.open_ended
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_close(cx)
    }
}
