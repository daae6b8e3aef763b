//! A cache of decoded blocks.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use oxiblosc_core::chunk::BlockMap;

use crate::sync::Mutex;

/// An LRU cache of decoded blocks, limited in bytes.
///
/// It belongs to one version of a frame, in which a chunk number always stands for the same bytes.
#[derive(Debug)]
pub(crate) struct BlockCache {
    limit: usize,
    kept: Mutex<CacheEntry>,
}

#[derive(Debug, Default)]
struct CacheEntry {
    chunks: HashMap<u64, Chunk>,
    /// Chunk and block by time of last use.
    by_use: BTreeMap<u64, (u64, usize)>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Chunk {
    map: Option<Arc<BlockMap>>,
    /// The time of last use of each block, and its bytes.
    blocks: BTreeMap<usize, (u64, Bytes)>,
}

/// What the cache has of a chunk.
#[derive(Debug)]
pub(crate) struct CachedBlocks {
    /// Where its blocks are; `None` for a chunk whose blocks have variable length, which is kept as a whole: as block 0.
    pub(crate) map: Option<Arc<BlockMap>>,
    /// The requested blocks that are cached, in ascending order, and the one that others need for decoding.
    pub(crate) blocks: Vec<(usize, Bytes)>,
}

/// Which blocks of a read are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CachePolicy {
    Nothing,
    /// The blocks that hold the requested bytes.
    Touched,
    /// All blocks of a chunk that was fetched as a whole.
    Whole,
}

/// The approximate overhead of a block...
const BLOCK_OVERHEAD: usize = 128;
/// ... and of a map, for each block of its chunk.
const MAP_OVERHEAD: usize = 16;

fn map_bytes(map: Option<&BlockMap>) -> usize {
    map.map_or(0, |map| MAP_OVERHEAD * map.block_count()) + BLOCK_OVERHEAD
}

impl BlockCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: Mutex::default() }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// What the cache has of the decoded bytes `ranges` of a chunk.
    pub(crate) fn find(&self, chunk: u64, ranges: &[Range<usize>]) -> Option<CachedBlocks> {
        if self.limit == 0 {
            return None;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        let entry = kept.chunks.get_mut(&chunk)?;
        let mut wanted = vec![0];
        if let Some(map) = &entry.map {
            for range in ranges {
                wanted.extend(map.blocks_of_bytes(range.clone()).ok()?);
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        let mut blocks = Vec::new();
        for block in wanted {
            if let Some((used, bytes)) = entry.blocks.get_mut(&block) {
                kept.clock += 1;
                kept.by_use.remove(used);
                kept.by_use.insert(kept.clock, (chunk, block));
                *used = kept.clock;
                blocks.push((block, bytes.clone()));
            }
        }
        Some(CachedBlocks { map: entry.map.clone(), blocks })
    }

    /// Adds a block. `decoded` must span its whole allocation.
    pub(crate) fn put(&self, chunk: u64, map: Option<&Arc<BlockMap>>, block: usize, decoded: Bytes) {
        let bytes = decoded.len() + BLOCK_OVERHEAD;
        let of_map = map_bytes(map.map(Arc::as_ref));
        if bytes.saturating_add(of_map) > self.limit {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(chunk, block);
        loop {
            let more = if kept.chunks.contains_key(&chunk) { bytes } else { bytes + of_map };
            if kept.bytes + more <= self.limit {
                kept.bytes += more;
                break;
            }
            let Some((_, &(chunk, block))) = kept.by_use.first_key_value() else { return };
            kept.remove(chunk, block);
        }
        kept.clock += 1;
        let used = kept.clock;
        kept.by_use.insert(used, (chunk, block));
        let entry = kept.chunks.entry(chunk).or_insert_with(|| Chunk { map: map.cloned(), blocks: BTreeMap::new() });
        entry.blocks.insert(block, (used, decoded));
    }

    /// Bytes cached, including overhead.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }
}

impl CacheEntry {
    fn remove(&mut self, chunk: u64, block: usize) {
        let Some(entry) = self.chunks.get_mut(&chunk) else { return };
        if let Some((used, bytes)) = entry.blocks.remove(&block) {
            self.by_use.remove(&used);
            self.bytes -= bytes.len() + BLOCK_OVERHEAD;
        }
        if entry.blocks.is_empty() {
            self.bytes -= map_bytes(entry.map.as_deref());
            self.chunks.remove(&chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        // Three chunks of one block of variable length each.
        let one = 100 + 2 * BLOCK_OVERHEAD;
        let cache = BlockCache::new(3 * one);
        let put = |chunk, len| cache.put(chunk, None, 0, Bytes::from(vec![0; len]));
        let known = |chunk| cache.find(chunk, &[]).is_some();
        (0..3).for_each(|chunk| put(chunk, 100));
        assert!(known(0));
        put(3, 100);
        assert_eq!([known(0), known(1), known(2), known(3)], [true, false, true, true]);
        assert_eq!(cache.bytes(), 3 * one);
        // Repeating it changes nothing, nor does a block that cannot fit.
        put(3, 100);
        put(4, 3 * one);
        assert_eq!([known(0), known(2), known(3), known(4)], [true, true, true, false]);
        put(5, 3 * one - 2 * BLOCK_OVERHEAD);
        assert_eq!([known(0), known(2), known(3), known(5)], [false, false, false, true]);
        assert_eq!(cache.bytes(), 3 * one);
    }

    #[test]
    fn never_more_than_the_limit() {
        let cache = BlockCache::new(10_000);
        for i in 0..1000u64 {
            cache.put(i * i % 37, None, (i % 5) as usize, Bytes::from(vec![0; (i * 7 % 900) as usize]));
            assert!(cache.bytes() <= 10_000);
        }
        assert!(cache.bytes() > 8000);
    }
}
