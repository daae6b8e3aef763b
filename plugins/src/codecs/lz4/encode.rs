//! The LZ4 block encoder for the codec `lz4`: one greedy pass with a hash table.

use super::sequence::{LAST_LITERALS, MATCH_LIMIT, MAX_DISTANCE, MIN_MATCH, Writer};

/// Logarithm of the number of table entries: 4096 positions of 4 bytes fill half of a usual level 1 data cache.
const HASH_LOG: u32 = 12;

/// A table of where a few bytes were last seen.
pub(super) struct FastEncoder {
    table: Vec<u32>,
    /// Position, in the numbering of the table, of the next byte that is given to the encoder.
    next: u32,
}

fn load4(src: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(src[at..at + 4].try_into().expect("a slice of 4"))
}

fn load8(src: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(src[at..at + 8].try_into().expect("a slice of 8"))
}

fn hash(word: u64) -> usize {
    ((word << 24).wrapping_mul(889_523_592_379) >> (64 - HASH_LOG)) as usize
}

impl FastEncoder {
    pub(super) fn new() -> Self {
        Self { table: vec![0; 1 << HASH_LOG], next: 0 }
    }

    pub(super) fn compress(&mut self, src: &[u8], dst: &mut [u8], acceleration: usize) -> Option<usize> {
        let mut out = Writer::new(dst);
        let mut anchor = 0;
        self.table.fill(0);
        self.next = 0;
        if src.len() > MATCH_LIMIT {
            let limit = src.len() - MATCH_LIMIT;
            let end = src.len() - LAST_LITERALS;
            let mut p = 1;
            'outer: loop {
                let mut search = acceleration << 6;
                let mut candidate;
                loop {
                    if p > limit {
                        break 'outer;
                    }
                    let slot = &mut self.table[hash(load8(src, p))];
                    candidate = *slot as usize;
                    *slot = p as u32;
                    if p - candidate <= MAX_DISTANCE && load4(src, candidate) == load4(src, p) {
                        break;
                    }
                    p += search >> 6;
                    search += 1;
                }
                while p > anchor && candidate > 0 && src[p - 1] == src[candidate - 1] {
                    p -= 1;
                    candidate -= 1;
                }
                let distance = p - candidate;
                let mut len = MIN_MATCH;
                while p + len < end && src[p + len] == src[candidate + len] {
                    len += 1;
                }
                out.sequence(&src[anchor..p], distance, len)?;
                p += len;
                anchor = p;
                if p > limit {
                    break;
                }
                self.table[hash(load8(src, p - 2))] = (p - 2) as u32;
            }
        }
        out.last(&src[anchor..])
    }
}
