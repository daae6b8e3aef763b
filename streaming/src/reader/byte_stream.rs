//! The decoded bytes of a frame as a reader with a position.

use std::fmt;
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures::future::BoxFuture;
use futures::io::{AsyncBufRead, AsyncRead, AsyncSeek};
use futures::stream::StreamExt;

use super::{ChunkStream, FrameReader};
use crate::error::ReadError;
use crate::source::RangeSource;

/// The decoded bytes of a frame, as [`AsyncRead`], [`AsyncBufRead`] and [`AsyncSeek`].
///
/// Read from the beginning it reads ahead as far as the options allow; after a seek it starts with one chunk and
/// increases the read-ahead with every chunk. After an error, the next read retries the same bytes.
pub struct ByteStream<S> {
    reader: FrameReader<S>,
    /// Position of the first byte of `current`, or of the next byte if it is empty.
    position: u64,
    current: Bytes,
    state: StreamState<S>,
}

enum StreamState<S> {
    /// Nothing is in progress; `seeked` if the next stream is to start with little read-ahead.
    Idle { seeked: bool },
    /// Looking for the chunk that holds `position`.
    Locating { seeked: bool, chunk: BoxFuture<'static, Result<Option<(u64, usize)>, ReadError>> },
    /// Taking chunks; `skip` bytes of the first one lie before `position`.
    Streaming { chunks: Box<ChunkStream<S>>, skip: usize },
}

impl<S: RangeSource + 'static> ByteStream<S> {
    pub(super) fn new(reader: FrameReader<S>) -> Self {
        Self { reader, position: 0, current: Bytes::new(), state: StreamState::Idle { seeked: false } }
    }

    fn poll_current(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ReadError>> {
        while self.current.is_empty() && self.position < self.reader.nbytes() {
            match &mut self.state {
                StreamState::Idle { seeked } => {
                    let (reader, position) = (self.reader.clone(), self.position);
                    let chunk = Box::pin(async move { reader.locate(position).await });
                    self.state = StreamState::Locating { seeked: *seeked, chunk };
                }
                StreamState::Locating { seeked, chunk } => {
                    let seeked = *seeked;
                    let found = ready!(chunk.as_mut().poll(cx));
                    self.state = StreamState::Idle { seeked };
                    let Some((chunk, skip)) = found? else { break };
                    let chunks = self.reader.chunks_from(chunk);
                    let chunks = if seeked { chunks.with_slow_start() } else { chunks };
                    self.state = StreamState::Streaming { chunks: Box::new(chunks), skip };
                }
                StreamState::Streaming { chunks, skip } => match ready!(chunks.poll_next_unpin(cx)) {
                    Some(Ok(chunk)) => {
                        self.current = chunk;
                        self.current.advance((*skip).min(self.current.len()));
                        *skip = 0;
                    }
                    Some(Err(e)) => {
                        self.state = StreamState::Idle { seeked: true };
                        return Poll::Ready(Err(e));
                    }
                    None => break,
                },
            }
        }
        Poll::Ready(Ok(()))
    }

    fn seek_to(&mut self, position: u64) {
        match position.checked_sub(self.position).map(usize::try_from) {
            // Still within the current chunk.
            Some(Ok(forward)) if forward < self.current.len() => self.current.advance(forward),
            Some(Ok(0)) => {}
            _ => {
                self.current = Bytes::new();
                self.state = StreamState::Idle { seeked: true };
            }
        }
        self.position = position;
    }
}

impl<S> ByteStream<S> {
    /// Position of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The underlying reader.
    pub fn reader(&self) -> &FrameReader<S> {
        &self.reader
    }
}

impl<S: RangeSource + 'static> AsyncBufRead for ByteStream<S> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        ready!(this.poll_current(cx))?;
        Poll::Ready(Ok(&this.current))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        let amount = amount.min(self.current.len());
        self.current.advance(amount);
        self.position += amount as u64;
    }
}

impl<S: RangeSource + 'static> AsyncRead for ByteStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let current = ready!(self.as_mut().poll_fill_buf(cx))?;
        let taken = current.len().min(buf.len());
        buf[..taken].copy_from_slice(&current[..taken]);
        self.consume(taken);
        Poll::Ready(Ok(taken))
    }
}

/// Positions past the end are allowed; reads there return nothing.
impl<S: RangeSource + 'static> AsyncSeek for ByteStream<S> {
    fn poll_seek(mut self: Pin<&mut Self>, _: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.reader.nbytes().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        Poll::Ready(match position {
            Some(position) => {
                self.seek_to(position);
                Ok(position)
            }
            None => Err(io::Error::new(io::ErrorKind::InvalidInput, "seek to before the first byte")),
        })
    }
}

// Nothing here is ever pinned.
impl<S> Unpin for ByteStream<S> {}

impl<S> fmt::Debug for ByteStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteStream").field("position", &self.position).finish_non_exhaustive()
    }
}
