//! A frame in memory.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::append_buffer::AppendBuffer;
use super::{Part, Target};
use crate::disk::IoMode;

/// Keeps the frame in a `Vec<u8>`.
///
/// Large chunks are copied into it on a thread that may block: allocating memory for them takes milliseconds.
#[derive(Debug, Default, Clone)]
pub struct MemoryTarget {
    bytes: AppendBuffer,
}

impl MemoryTarget {
    /// An empty target.
    pub fn new() -> Self {
        Self::default()
    }

    /// Copies on the polling thread instead of one that may block.
    #[must_use]
    pub fn inline(self) -> Self {
        self.io_mode(IoMode::Inline)
    }

    /// Which thread copies large chunks.
    #[must_use]
    pub fn io_mode(mut self, mode: IoMode) -> Self {
        self.bytes.set_mode(mode);
        self
    }

    /// The bytes so far; a frame once the sink is closed. Waits for a chunk that is being copied, unless the sink has been
    /// flushed or closed.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The bytes; a frame once the sink is closed. Waits as [`as_bytes`](Self::as_bytes) does.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes.into_vec()
    }
}

impl Target for MemoryTarget {
    fn poll_append(&mut self, cx: &mut Context<'_>, _: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        self.bytes.poll_take(cx, bytes, usize::MAX).map(Ok)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.bytes.poll_bytes(cx).map(|_| Ok(()))
    }

    fn poll_commit(&mut self, cx: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        let bytes = ready!(self.bytes.poll_bytes(cx));
        super::check_whole(header, bytes.len() as u64)?;
        bytes[..header.len()].copy_from_slice(header);
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
