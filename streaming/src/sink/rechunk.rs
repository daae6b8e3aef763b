//! Cutting buffers of any size into chunks of one size.

use std::collections::VecDeque;

use bytes::Bytes;

use super::input::{ChunkInput, ChunkPieces};
use crate::compute::Buffers;

/// Smaller pieces are copied, to release the buffers they are part of: these may be of any size, and there may be very
/// many of them. Larger ones are left to the worker that encodes the chunk.
const SMALL: usize = 64 << 10;

/// Cuts the caller's buffers into chunks.
///
/// A chunk that is complete within one [`Bytes`] shares it; other chunks consist of large shared pieces and small copied
/// ones, from which the worker encodes them block by block.
pub(crate) struct Rechunker {
    chunk_size: usize,
    /// The chunk being collected: shorter than a chunk, or a complete one that waits to be taken.
    gathered: ChunkPieces,
    /// The buffers after it. Empty whenever [`Rechunker::wants_more`].
    waiting: VecDeque<Bytes>,
    buffers: Buffers,
}

impl Rechunker {
    /// `buffers` are those that [`ChunkInput::recycle`] returns buffers to.
    pub(crate) fn new(chunk_size: usize, buffers: &Buffers) -> Self {
        Self { chunk_size, gathered: ChunkPieces::default(), waiting: VecDeque::new(), buffers: buffers.clone() }
    }

    /// Whether less than one chunk is held.
    pub(crate) fn wants_more(&self) -> bool {
        self.waiting.is_empty() && self.gathered.len() < self.chunk_size
    }

    /// Bytes held that are not part of a chunk yet.
    pub(crate) fn buffered(&self) -> usize {
        self.gathered.len() + self.waiting.iter().map(Bytes::len).sum::<usize>()
    }

    /// Takes any number of bytes.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        if self.waiting.is_empty() && bytes.len() < self.chunk_size - self.gathered.len() {
            self.gather(bytes);
        } else if !bytes.is_empty() {
            self.waiting.push_back(bytes);
        }
    }

    /// Adds a buffer to the current chunk, in which there is room for all of it.
    fn gather(&mut self, bytes: Bytes) {
        if bytes.len() < SMALL {
            self.gathered.copy(&bytes, self.chunk_size, &self.buffers);
        } else {
            self.gathered.share(bytes);
        }
    }

    /// Copies as much of `bytes` as the current chunk has room for, and returns the number of bytes.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        if !self.waiting.is_empty() {
            return 0;
        }
        let taken = bytes.len().min(self.chunk_size - self.gathered.len());
        self.gathered.copy(&bytes[..taken], self.chunk_size, &self.buffers);
        taken
    }

    /// The next complete chunk, if there is one.
    pub(crate) fn next_chunk(&mut self) -> Option<ChunkInput> {
        while self.gathered.len() < self.chunk_size {
            let mut front = self.waiting.pop_front()?;
            let room = self.chunk_size - self.gathered.len();
            if front.len() > room {
                let large = front.len() >= SMALL;
                let rest = front.split_off(room);
                // While the chunk exists, the buffer is still referenced, so it is not freed on this thread.
                let little_left = large && rest.len() < SMALL;
                self.waiting.push_front(if little_left { Bytes::copy_from_slice(&rest) } else { rest });
            }
            if front.len() == self.chunk_size {
                return Some(ChunkInput::Shared(front));
            }
            self.gather(front);
        }
        Some(self.take_gathered())
    }

    /// The short last chunk, if bytes are left.
    pub(crate) fn last_chunk(&mut self) -> Option<ChunkInput> {
        (self.waiting.is_empty() && self.gathered.len() > 0).then(|| self.take_gathered())
    }

    fn take_gathered(&mut self) -> ChunkInput {
        std::mem::take(&mut self.gathered).into_input()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does what a worker would do.
    fn encoded(mut chunk: ChunkInput, buffers: &Buffers) -> Vec<u8> {
        let len = chunk.len();
        let bytes = chunk.pieces().concat();
        assert_eq!(bytes.len(), len);
        chunk.join(buffers);
        assert!(chunk.pieces() == [&bytes[..]]);
        chunk.recycle(buffers);
        bytes
    }

    #[test]
    fn any_pieces_give_the_same_chunks() {
        for (total, chunk_size, pieces) in [
            (100, 10, &[1, 2, 3, 9, 10, 11, 25, 100][..]),
            (5 * SMALL + 7, 2 * SMALL + 5, &[1000, SMALL - 1, SMALL, SMALL + 1, 2 * SMALL + 4, 5 * SMALL + 7][..]),
        ] {
            for total in [0, 1, chunk_size - 1, chunk_size, chunk_size + 1, 2 * chunk_size - 1, 2 * chunk_size, total] {
                let data: Vec<u8> = (0..total).map(|i| (i / 3) as u8).collect();
                let expected: Vec<Vec<u8>> = data.chunks(chunk_size).map(<[u8]>::to_vec).collect();
                for &piece in pieces {
                    // Copied, shared, and alternating.
                    for copied in [0b00, 0b11, 0b01, 0b10] {
                        let buffers = Buffers::new(2);
                        let mut rechunker = Rechunker::new(chunk_size, &buffers);
                        let mut found = Vec::new();
                        for (i, mut bytes) in data.chunks(piece).enumerate() {
                            if copied >> (i % 2) & 1 == 0 {
                                rechunker.push(Bytes::copy_from_slice(bytes));
                                bytes = &[];
                            }
                            loop {
                                while let Some(chunk) = rechunker.next_chunk() {
                                    found.push(encoded(chunk, &buffers));
                                }
                                assert!(rechunker.wants_more());
                                if bytes.is_empty() {
                                    break;
                                }
                                bytes = &bytes[rechunker.fill(bytes)..];
                            }
                        }
                        found.extend(rechunker.last_chunk().map(|chunk| encoded(chunk, &buffers)));
                        assert_eq!(rechunker.buffered(), 0);
                        assert!(found == expected, "{total} bytes in pieces of {piece}, copied: {copied:b}");
                    }
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
        let buffers = Buffers::new(1);
        let mut rechunker = Rechunker::new(1000, &buffers);
        assert_eq!(rechunker.fill(&[1; 10]), 10);
        assert_eq!(rechunker.fill(&[1; 2000]), 990);
        let Some(ChunkInput::Gathered(first)) = rechunker.next_chunk() else { panic!("not gathered") };
        let address = first.as_slice().as_ptr();
        ChunkInput::Gathered(first).recycle(&buffers);
        assert_eq!(buffers.kept(), [1000]);
        rechunker.fill(&[1; 1000]);
        let Some(ChunkInput::Gathered(second)) = rechunker.next_chunk() else { panic!("not gathered") };
        assert_eq!(second.as_slice().as_ptr(), address);
        rechunker.fill(&[1; 1000]);
        let Some(ChunkInput::Gathered(third)) = rechunker.next_chunk() else { panic!("not gathered") };
        assert_ne!(third.as_slice().as_ptr(), address, "in use");
    }
}
