//! Room for one chunk.

use std::ops::Deref;

/// Room for one chunk, kept from one use to the next: whoever encodes into it finds pages that have been touched and
/// need not be cleared. Dereferences to the chunk.
#[derive(Debug, Default)]
pub struct Slot {
    bytes: Vec<u8>,
    len: usize,
}

impl Slot {
    /// Room for `len` bytes, touched.
    pub fn touched(len: usize) -> Self {
        Self { bytes: vec![1; len], len: 0 }
    }

    /// At least `len` bytes to write a chunk to.
    pub fn room(&mut self, len: usize) -> &mut [u8] {
        if self.bytes.len() < len {
            self.bytes = vec![1; len];
        }
        &mut self.bytes
    }

    /// Says how long the chunk has become.
    pub fn set_len(&mut self, len: usize) {
        self.len = len.min(self.bytes.len());
    }

    /// Takes a chunk that was made elsewhere.
    pub fn put(&mut self, chunk: Vec<u8>) {
        self.len = chunk.len();
        self.bytes = chunk;
    }
}

impl Deref for Slot {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
