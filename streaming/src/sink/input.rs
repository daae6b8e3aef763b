//! The input of one chunk, as the worker that encodes it receives it.

use bytes::Bytes;

use super::tiler::Tile;
use crate::compute::Buffers;

/// Decoded bytes of one chunk.
pub(crate) enum ChunkInput {
    /// Collected in one buffer.
    Gathered(Vec<u8>),
    /// Part of a buffer of the caller.
    Shared(Bytes),
    /// In several pieces, to be joined.
    Parts(ChunkPieces),
    /// A box of an array.
    Tile(Tile),
}

impl ChunkInput {
    /// The bytes, after [`prepare`](Self::prepare).
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Gathered(bytes) => bytes,
            Self::Shared(bytes) => bytes,
            Self::Parts(_) => &[],
            Self::Tile(tile) => tile.as_slice(),
        }
    }

    /// Length in bytes, also before [`prepare`](Self::prepare).
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Parts(parts) => parts.len(),
            Self::Tile(tile) => tile.len(),
            other => other.as_slice().len(),
        }
    }

    /// The same, padded with zeros to `len` bytes.
    pub(crate) fn padded(self, len: usize) -> Self {
        let mut parts = match self {
            Self::Parts(parts) => parts,
            other => ChunkPieces { list: vec![other], ..ChunkPieces::default() },
        };
        parts.len = parts.list.iter().map(Self::len).sum();
        parts.zeros = len.saturating_sub(parts.len);
        parts.len += parts.zeros;
        Self::Parts(parts)
    }

    /// Does the remaining work, on the worker that encodes the chunk.
    pub(crate) fn prepare(&mut self, buffers: &Buffers) {
        match self {
            Self::Tile(tile) => tile.prepare(),
            Self::Parts(parts) => *self = Self::Gathered(std::mem::take(parts).join(buffers)),
            Self::Gathered(_) | Self::Shared(_) => {}
        }
    }

    /// Returns the buffer of a chunk that is done, on the worker that has encoded it: keeping one buffer may free
    /// another.
    pub(crate) fn recycle(self, buffers: &Buffers) {
        match self {
            Self::Gathered(buffer) => buffers.put(buffer),
            Self::Tile(tile) => tile.recycle(),
            Self::Shared(_) | Self::Parts(_) => {}
        }
    }
}

/// Pieces of a chunk, in order.
#[derive(Default)]
pub(crate) struct ChunkPieces {
    /// [`ChunkInput::Gathered`] for copied bytes, the first of which may be as long as the chunk, and
    /// [`ChunkInput::Shared`].
    list: Vec<ChunkInput>,
    /// Zeros at the end.
    zeros: usize,
    len: usize,
}

impl ChunkPieces {
    /// Up to this size a buffer grows with what is copied into it, so that little data takes little memory. Beyond it,
    /// the whole chunk is allocated: untouched memory costs nothing, and growing means copying.
    const GROWING: usize = 256 << 10;

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a copy of `bytes`, of a chunk of `chunk_size` bytes.
    pub(crate) fn copy(&mut self, mut bytes: &[u8], chunk_size: usize, buffers: &Buffers) {
        self.len += bytes.len();
        if self.list.is_empty() && !bytes.is_empty() {
            // Allocate only now: the buffer of the previous chunk may have been returned meanwhile, and is still in
            // cache.
            let mut buffer = buffers.pop(chunk_size).unwrap_or_default();
            buffer.clear();
            self.list.push(ChunkInput::Gathered(buffer));
        }
        let first = self.list.len() == 1;
        if let Some(ChunkInput::Gathered(last)) = self.list.last_mut() {
            let needed = last.len() + bytes.len();
            if first && needed > last.capacity() {
                grow(last, needed, chunk_size);
            }
            let room = if first { bytes.len() } else { bytes.len().min(last.capacity() - last.len()) };
            last.extend_from_slice(&bytes[..room]);
            bytes = &bytes[room..];
        }
        if !bytes.is_empty() {
            // After shared pieces; it is copied again when all are joined, so it never grows.
            let mut more = Vec::with_capacity(bytes.len().max(Self::GROWING.min(chunk_size - self.len + bytes.len())));
            more.extend_from_slice(bytes);
            self.list.push(ChunkInput::Gathered(more));
        }
    }

    /// Adds `bytes` without copying.
    pub(crate) fn share(&mut self, bytes: Bytes) {
        self.len += bytes.len();
        self.list.push(ChunkInput::Shared(bytes));
    }

    pub(crate) fn into_input(mut self) -> ChunkInput {
        match self.list.pop() {
            Some(only) if self.list.is_empty() && self.zeros == 0 => only,
            last => {
                self.list.extend(last);
                ChunkInput::Parts(self)
            }
        }
    }

    fn join(self, buffers: &Buffers) -> Vec<u8> {
        let mut parts = self.list.into_iter();
        let mut first = parts.next();
        let mut joined = match &mut first {
            Some(ChunkInput::Gathered(bytes)) if bytes.capacity() >= self.len => std::mem::take(bytes),
            _ => {
                let mut buffer = buffers.pop(self.len).unwrap_or_default();
                buffer.clear();
                buffer.reserve_exact(self.len);
                buffer
            }
        };
        for part in first.into_iter().chain(parts) {
            joined.extend_from_slice(part.as_slice());
        }
        joined.resize(self.len, 0);
        joined
    }
}

/// Makes room for `needed` bytes in a buffer that grows up to `chunk_size`.
fn grow(buffer: &mut Vec<u8>, needed: usize, chunk_size: usize) {
    let doubled = needed.max(2 * buffer.capacity()).min(chunk_size).max(needed) - buffer.len();
    let whole = chunk_size.saturating_sub(buffer.len());
    if needed <= ChunkPieces::GROWING || buffer.try_reserve_exact(whole.max(doubled)).is_err() {
        buffer.reserve_exact(doubled);
    }
}
