//! A frame in memory.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::{Part, Target};

/// Keeps the frame in a `Vec<u8>`.
#[derive(Debug, Default, Clone)]
pub struct MemoryTarget {
    bytes: Vec<u8>,
}

impl MemoryTarget {
    /// An empty target.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes so far; a frame once the sink is closed.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes; a frame once the sink is closed.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Target for MemoryTarget {
    fn poll_append(&mut self, _: &mut Context<'_>, _: Part, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        self.bytes.extend_from_slice(bytes);
        bytes.clear();
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_commit(&mut self, _: &mut Context<'_>, header: &Bytes) -> Poll<io::Result<()>> {
        super::check_whole(header, self.bytes.len() as u64)?;
        self.bytes[..header.len()].copy_from_slice(header);
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
