//! Encoded parts of chunks that have been read before.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use oxiblosc_core::chunk::BlockMap;

/// Keeps what has been read of chunks, up to a number of bytes; what has not been used for longest goes first.
#[derive(Debug)]
pub(crate) struct PartCache {
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    chunks: HashMap<u64, Entry>,
    /// The chunks by when they were used last.
    by_use: BTreeMap<u64, u64>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    used: u64,
    bytes: usize,
    parts: Parts,
}

/// What is known of a chunk.
#[derive(Debug, Clone)]
pub(crate) enum Parts {
    /// All of its bytes.
    Chunk(Bytes),
    /// Where its blocks are, and the bytes of some of them.
    Blocks(BlockMap, BTreeMap<usize, Bytes>),
}

/// What a map and the bookkeeping take for each block, about.
const BLOCK_OVERHEAD: usize = 64;

impl Parts {
    fn bytes(&self) -> usize {
        match self {
            Self::Chunk(bytes) => bytes.len(),
            Self::Blocks(map, blocks) => {
                map.block_count() * BLOCK_OVERHEAD + blocks.values().map(Bytes::len).sum::<usize>()
            }
        }
    }
}

impl PartCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: Mutex::default() }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// What is known of a chunk.
    pub(crate) fn get(&self, chunk: u64) -> Option<Parts> {
        if self.limit == 0 {
            return None;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        let entry = kept.chunks.get_mut(&chunk)?;
        kept.clock += 1;
        kept.by_use.remove(&entry.used);
        kept.by_use.insert(kept.clock, chunk);
        entry.used = kept.clock;
        Some(entry.parts.clone())
    }

    /// Remembers more of a chunk: all of it, or blocks beside those that are known.
    pub(crate) fn put(&self, chunk: u64, mut parts: Parts) {
        if self.limit == 0 {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = kept.remove(chunk) {
            match (old, &mut parts) {
                (whole @ Parts::Chunk(_), _) => parts = whole,
                (Parts::Blocks(_, known), Parts::Blocks(_, blocks)) => {
                    // Those that are known are the same bytes.
                    blocks.extend(known);
                }
                (Parts::Blocks(..), Parts::Chunk(_)) => {}
            }
        }
        let bytes = parts.bytes();
        if bytes > self.limit {
            return;
        }
        while kept.bytes + bytes > self.limit
            && let Some((_, &oldest)) = kept.by_use.first_key_value()
        {
            kept.remove(oldest);
        }
        kept.clock += 1;
        let used = kept.clock;
        kept.by_use.insert(used, chunk);
        kept.bytes += bytes;
        kept.chunks.insert(chunk, Entry { used, bytes, parts });
    }
}

impl Kept {
    fn remove(&mut self, chunk: u64) -> Option<Parts> {
        let entry = self.chunks.remove(&chunk)?;
        self.by_use.remove(&entry.used);
        self.bytes -= entry.bytes;
        Some(entry.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let cache = PartCache::new(10);
        let chunk = |len| Parts::Chunk(Bytes::from(vec![0; len]));
        let known = |i| cache.get(i).is_some();
        cache.put(0, chunk(4));
        cache.put(1, chunk(4));
        assert!(known(0));
        cache.put(2, chunk(4));
        assert_eq!([known(0), known(1), known(2)], [true, false, true]);
        cache.put(3, chunk(11));
        assert_eq!([known(0), known(2), known(3)], [true, true, false]);
        cache.put(4, chunk(10));
        assert_eq!([known(0), known(2), known(4)], [false, false, true]);
        cache.put(4, chunk(10));
        assert!(known(4));
    }
}
