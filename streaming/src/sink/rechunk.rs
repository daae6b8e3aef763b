//! Buffers of any size in, buffers of one size out.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use crate::compute::Buffers;
use crate::nd::Tile;

/// Decoded bytes of one chunk.
pub(crate) enum ChunkInput {
    /// Gathered here.
    Gathered(Vec<u8>),
    /// A part of what the caller handed over.
    Shared(Bytes),
    /// A box of an array.
    Tile(Tile),
}

impl ChunkInput {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Gathered(bytes) => bytes,
            Self::Shared(bytes) => bytes,
            Self::Tile(tile) => tile.as_slice(),
        }
    }

    /// Length in bytes, also before [`prepare`](Self::prepare).
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Tile(tile) => tile.len(),
            other => other.as_slice().len(),
        }
    }

    /// Does what is left to do, on the worker that encodes the chunk.
    pub(crate) fn prepare(&mut self) {
        if let Self::Tile(tile) = self {
            tile.prepare();
        }
    }
}

/// Cuts what the caller hands over into chunks.
///
/// A chunk that lies within one [`Bytes`] of the caller shares it; other chunks are gathered in a buffer, and those
/// buffers come back through [`Rechunker::recycle`]. Copying small pieces also lets go of the memory they are parts
/// of, which would otherwise be as large as the caller likes.
pub(crate) struct Rechunker {
    chunk_size: usize,
    /// The chunk being gathered; shorter than a chunk, or exactly a whole one that waits to be taken.
    gathered: Vec<u8>,
    /// What was handed over after it. Empty whenever [`Rechunker::wants_more`].
    waiting: VecDeque<Bytes>,
    buffers: Buffers,
}

impl Rechunker {
    pub(crate) fn new(chunk_size: usize, buffers: &Buffers) -> Self {
        Self { chunk_size, gathered: Vec::new(), waiting: VecDeque::new(), buffers: buffers.clone() }
    }

    /// Whether all that has been handed over is less than one chunk.
    pub(crate) fn wants_more(&self) -> bool {
        self.waiting.is_empty() && self.gathered.len() < self.chunk_size
    }

    /// Bytes held that no chunk has been made of yet.
    pub(crate) fn buffered(&self) -> usize {
        self.gathered.len() + self.waiting.iter().map(Bytes::len).sum::<usize>()
    }

    /// Takes any number of bytes.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.waiting.push_back(bytes);
        }
    }

    /// Copies from `bytes` as much as the chunk being gathered has room for; the number of bytes.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        if !self.waiting.is_empty() {
            return 0;
        }
        let taken = bytes.len().min(self.chunk_size - self.gathered.len());
        self.gather(&bytes[..taken]);
        taken
    }

    /// A whole chunk, if there is one.
    pub(crate) fn next_chunk(&mut self) -> Option<ChunkInput> {
        while self.gathered.len() < self.chunk_size {
            let front = self.waiting.front_mut()?;
            let chunk = if self.gathered.is_empty() && front.len() >= self.chunk_size {
                Some(ChunkInput::Shared(front.split_to(self.chunk_size)))
            } else {
                let taken = front.len().min(self.chunk_size - self.gathered.len());
                let piece = front.split_to(taken);
                self.gather(&piece);
                None
            };
            if self.waiting.front().is_some_and(|front| !front.has_remaining()) {
                self.waiting.pop_front();
            }
            if chunk.is_some() {
                return chunk;
            }
        }
        Some(self.take_gathered())
    }

    /// Whatever is left when there is no whole chunk any more: the short last chunk.
    pub(crate) fn last_chunk(&mut self) -> Option<ChunkInput> {
        (self.waiting.is_empty() && !self.gathered.is_empty()).then(|| self.take_gathered())
    }

    /// Gives back the buffer of a chunk that is done with.
    pub(crate) fn recycle(&mut self, input: ChunkInput) {
        if let ChunkInput::Gathered(buffer) = input {
            self.buffers.put(buffer);
        }
    }

    fn take_gathered(&mut self) -> ChunkInput {
        ChunkInput::Gathered(std::mem::take(&mut self.gathered))
    }

    fn gather(&mut self, bytes: &[u8]) {
        if self.gathered.capacity() == 0 {
            // Only now: the buffer of the chunk before may have come back since it was taken, and is still in the cache.
            self.gathered = self.buffers.pop(self.chunk_size).unwrap_or_default();
            self.gathered.clear();
        }
        let needed = self.gathered.len() + bytes.len();
        if needed > self.gathered.capacity() {
            // Doubling, so that little data takes little memory, but never past the chunk size.
            let capacity = needed.max(2 * self.gathered.capacity()).min(self.chunk_size).max(needed);
            self.gathered.reserve_exact(capacity - self.gathered.len());
        }
        self.gathered.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(rechunker: &mut Rechunker, out: &mut Vec<Vec<u8>>) {
        while let Some(chunk) = rechunker.next_chunk() {
            out.push(chunk.as_slice().to_vec());
            rechunker.recycle(chunk);
        }
    }

    #[test]
    fn any_pieces_give_the_same_chunks() {
        for total in [0usize, 1, 9, 10, 11, 19, 20, 21, 100] {
            let data: Vec<u8> = (0..total).map(|i| i as u8).collect();
            let expected: Vec<Vec<u8>> = data.chunks(10).map(<[u8]>::to_vec).collect();
            for piece in [1, 2, 3, 9, 10, 11, 25, 100] {
                for copied in [false, true] {
                    let mut rechunker = Rechunker::new(10, &Buffers::new(2));
                    let mut found = Vec::new();
                    for mut bytes in data.chunks(piece) {
                        if !copied {
                            rechunker.push(Bytes::copy_from_slice(bytes));
                            bytes = &[];
                        }
                        loop {
                            drain(&mut rechunker, &mut found);
                            assert!(rechunker.wants_more());
                            if bytes.is_empty() {
                                break;
                            }
                            bytes = &bytes[rechunker.fill(bytes)..];
                        }
                    }
                    found.extend(rechunker.last_chunk().map(|chunk| chunk.as_slice().to_vec()));
                    assert_eq!(rechunker.buffered(), 0);
                    assert_eq!(found, expected, "{total} bytes in pieces of {piece}");
                }
            }
        }
    }

    #[test]
    fn whole_chunks_are_not_copied() {
        let bytes = Bytes::from(vec![7u8; 35]);
        let mut rechunker = Rechunker::new(10, &Buffers::new(2));
        rechunker.push(bytes.clone());
        for i in 0..3 {
            let Some(ChunkInput::Shared(chunk)) = rechunker.next_chunk() else { panic!("chunk {i} was copied") };
            assert_eq!(chunk.as_ptr(), bytes[10 * i..].as_ptr());
        }
        assert!(rechunker.next_chunk().is_none());
        assert_eq!(rechunker.buffered(), 5);
    }

    #[test]
    fn buffers_come_back_and_little_data_takes_little_memory() {
        let mut rechunker = Rechunker::new(1000, &Buffers::new(1));
        assert_eq!(rechunker.fill(&[1; 10]), 10);
        assert!(rechunker.gathered.capacity() < 100);
        assert_eq!(rechunker.fill(&[1; 2000]), 990);
        let Some(ChunkInput::Gathered(first)) = rechunker.next_chunk() else { panic!("not gathered") };
        assert_eq!(first.capacity(), 1000);
        let address = first.as_ptr();
        rechunker.recycle(ChunkInput::Gathered(first));
        rechunker.fill(&[1; 1000]);
        assert_eq!(rechunker.gathered.as_ptr(), address);
        let second = rechunker.next_chunk();
        rechunker.fill(&[1; 1000]);
        assert!(second.is_some());
        assert_ne!(rechunker.gathered.as_ptr(), address, "in use");
    }
}
