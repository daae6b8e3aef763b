//! What the tests of chunks share.

#![allow(dead_code, reason = "every test binary uses another part")]

use oxiblosc_core::chunk::{BlockMap, ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, EncodeParams, MapProgress};
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_core::{Executor, FilterId, Inline, Registry};
use oxiblosc_plugins as _;

/// So many threads, started for each call.
pub(crate) struct Threads(pub(crate) usize);

impl Executor for Threads {
    fn workers(&self) -> usize {
        self.0
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            for worker in 0..workers {
                scope.spawn(move || work(worker));
            }
        });
    }
}

/// A small generator with a fixed seed (xorshift64*).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound.max(1)
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Bytes of several kinds: noise, a smooth series of 32-bit numbers, text-like, constant, and parts of each.
pub(crate) fn data(kind: usize, len: usize) -> Vec<u8> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ len as u64);
    match kind % 5 {
        0 => (0..len).map(|_| random.next() as u8).collect(),
        1 => {
            let mut value = 1000u32;
            let mut out = Vec::with_capacity(len + 4);
            while out.len() < len {
                value = value.wrapping_add(random.below(7) as u32);
                out.extend(value.to_le_bytes());
            }
            out.truncate(len);
            out
        }
        2 => {
            let words = [&b"shuffle "[..], b"block ", b"chunk, ", b"frame; ", b"and "];
            let mut out = Vec::with_capacity(len + 8);
            while out.len() < len {
                out.extend_from_slice(random.pick(&words));
            }
            out.truncate(len);
            out
        }
        3 => vec![7; len],
        _ => {
            let mut out = data(0, len / 3);
            out.extend(vec![0; len / 3]);
            out.extend(data(1, len - out.len()));
            out
        }
    }
}

pub(crate) fn slots(filters: &[(FilterId, u8)]) -> FilterSlots {
    FilterSlots::from_list(filters).unwrap()
}

pub(crate) fn linked() -> &'static Registry {
    Registry::linked().unwrap()
}

pub(crate) fn encoder(params: &EncodeParams) -> ChunkEncoder {
    ChunkEncoder::new(params, linked()).unwrap()
}

pub(crate) fn encode(params: &EncodeParams, src: &[u8]) -> Vec<u8> {
    encoder(params).encode(src, &ChunkContext::default(), &Inline).unwrap()
}

pub(crate) fn decode(chunk: &[u8]) -> Result<Vec<u8>, ChunkError> {
    ChunkDecoder::new(linked()).decode(chunk, &ChunkContext::default(), &Inline)
}

/// The map of a chunk, read as from afar: the shortest prefix first.
pub(crate) fn map(chunk: &[u8]) -> Result<BlockMap, ChunkError> {
    let mut len = 0;
    loop {
        match BlockMap::parse(&chunk[..len])? {
            MapProgress::Ready(map) => return Ok(map),
            MapProgress::NeedPrefix(more) => {
                assert!(more > len, "asked for {more} bytes, had {len}");
                if more > chunk.len() {
                    let (offset, expected, found) = (0, more, chunk.len());
                    return Err(ChunkError::Truncated { what: "prefix", offset, expected, found });
                }
                len = more;
            }
        }
    }
}
