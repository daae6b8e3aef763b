//! The input of one chunk, as the worker that encodes it receives it.

use std::mem;

use bytes::Bytes;

use super::tiler::Tile;
use crate::compute::Buffers;

/// Decoded bytes of one chunk.
pub(crate) enum ChunkInput {
    /// Collected in one buffer.
    Gathered(Gathered),
    /// Part of a buffer of the caller.
    Shared(Bytes),
    /// In several pieces.
    Parts(ChunkPieces),
    /// A box of an array.
    Tile(Tile),
}

impl ChunkInput {
    /// The bytes, after [`cut`](Self::cut); after [`join`](Self::join) in one piece.
    pub(crate) fn pieces(&self) -> Vec<&[u8]> {
        match self {
            Self::Gathered(gathered) => vec![gathered.as_slice()],
            Self::Shared(bytes) => vec![bytes],
            Self::Parts(parts) => parts.list.iter().flat_map(Self::pieces).collect(),
            Self::Tile(tile) => vec![tile.as_slice()],
        }
    }

    /// Length in bytes, also before [`cut`](Self::cut).
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Gathered(gathered) => gathered.len,
            Self::Shared(bytes) => bytes.len(),
            Self::Parts(parts) => parts.len,
            Self::Tile(tile) => tile.len(),
        }
    }

    /// The same, padded with zeros to `len` bytes.
    pub(crate) fn padded(self, len: usize) -> Self {
        let mut parts = match self {
            Self::Parts(parts) => parts,
            other => ChunkPieces { len: other.len(), list: vec![other] },
        };
        if parts.len < len {
            let zeros = vec![0; len - parts.len];
            parts.share(zeros.into());
        }
        Self::Parts(parts)
    }

    /// Cuts a box out of its slab, on the worker that encodes the chunk.
    pub(crate) fn cut(&mut self) {
        if let Self::Tile(tile) = self {
            tile.cut();
        }
    }

    /// Joins pieces into one.
    pub(crate) fn join(&mut self, buffers: &Buffers) {
        if let Self::Parts(parts) = self {
            let mut joined = Gathered::with_room(parts.len, buffers);
            for piece in parts.list.iter().flat_map(Self::pieces) {
                joined.append(piece);
            }
            mem::replace(self, Self::Gathered(joined)).recycle(buffers);
        }
    }

    /// Returns the buffer of a chunk that is done, on the worker that has encoded it: keeping one buffer may free
    /// another.
    pub(crate) fn recycle(self, buffers: &Buffers) {
        match self {
            Self::Gathered(gathered) => buffers.put(gathered.bytes),
            Self::Tile(tile) => tile.recycle(),
            Self::Parts(parts) => parts.list.into_iter().for_each(|part| part.recycle(buffers)),
            Self::Shared(_) => {}
        }
    }
}

/// A buffer that is filled from the front. What it held before need not be cleared first, and memory that is fresh need not
/// be zeroed.
#[derive(Default)]
pub(crate) struct Gathered {
    /// Its capacity is the room that there is, and beyond `len` it holds anything.
    bytes: Vec<u8>,
    len: usize,
}

impl Gathered {
    /// An empty buffer for `len` bytes.
    fn with_room(len: usize, buffers: &Buffers) -> Self {
        Self { bytes: buffers.pop(len).unwrap_or_else(|| Vec::with_capacity(len)), len: 0 }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn room(&self) -> usize {
        self.bytes.capacity() - self.len
    }

    /// Adds `bytes`, for which there is room.
    fn append(&mut self, bytes: &[u8]) {
        let used = &mut self.bytes[self.len..];
        let (over, beyond) = bytes.split_at(bytes.len().min(used.len()));
        used[..over.len()].copy_from_slice(over);
        self.bytes.extend_from_slice(beyond);
        self.len += bytes.len();
    }

    /// Makes room for `more` bytes, in a buffer that grows up to `chunk_size`.
    fn grow(&mut self, more: usize, chunk_size: usize) {
        let needed = self.len + more;
        self.bytes.truncate(self.len);
        let whole = chunk_size.max(needed);
        let doubled = needed.max(2 * self.bytes.capacity()).min(whole);
        let of = |size: usize| size - self.len;
        if needed <= ChunkPieces::GROWING || self.bytes.try_reserve_exact(of(whole)).is_err() {
            self.bytes.reserve_exact(of(doubled));
        }
    }
}

impl From<Vec<u8>> for Gathered {
    fn from(bytes: Vec<u8>) -> Self {
        Self { len: bytes.len(), bytes }
    }
}

/// Pieces of a chunk, in order.
#[derive(Default)]
pub(crate) struct ChunkPieces {
    /// [`ChunkInput::Gathered`] for copied bytes, the first of which may be as long as the chunk, and
    /// [`ChunkInput::Shared`].
    list: Vec<ChunkInput>,
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
        // What is missing of the chunk, with these bytes.
        let missing = chunk_size - self.len;
        self.len += bytes.len();
        if self.list.is_empty() && !bytes.is_empty() {
            // Allocate only now: the buffer of the previous chunk may have been returned meanwhile, and is still in
            // cache.
            let bytes = buffers.pop(chunk_size).unwrap_or_default();
            self.list.push(ChunkInput::Gathered(Gathered { bytes, len: 0 }));
        }
        let first = self.list.len() == 1;
        if let Some(ChunkInput::Gathered(last)) = self.list.last_mut() {
            if first && bytes.len() > last.room() {
                last.grow(bytes.len(), chunk_size);
            }
            let (fits, rest) = bytes.split_at(bytes.len().min(last.room()));
            last.append(fits);
            bytes = rest;
        }
        if !bytes.is_empty() {
            // After shared pieces.
            let mut more = Gathered::with_room(bytes.len().max(Self::GROWING.min(missing)), buffers);
            more.append(bytes);
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
            Some(only) if self.list.is_empty() => only,
            last => {
                self.list.extend(last);
                ChunkInput::Parts(self)
            }
        }
    }
}
