//! Changes to chunks.

use oxiblosc_conformance::data::Random;

use super::bytes;
use super::fields::{Order, edge, get, put};

const NBYTES: usize = 4;
const BLOCKSIZE: usize = 8;
const CBYTES: usize = 12;
const EXTENDED: u8 = 0x05;
const STORED: u8 = 0x02;
const SPECIAL: u8 = 0x70;

/// Ids of filters and codecs that exist.
const FILTERS: [u8; 10] = [0, 1, 2, 3, 4, 32, 33, 34, 35, 36];
const CODECS: [u8; 12] = [0, 1, 2, 3, 4, 5, 32, 33, 34, 35, 224, 225];

/// Changes one or two things, and corrects the lengths.
pub(super) fn mutate(input: &[u8], random: &mut Random) -> Vec<u8> {
    if input.len() < 16 || random.below(10) == 0 {
        return bytes::mutate(input, random);
    }
    let mut out = input.to_vec();
    for _ in 0..=random.below(2) {
        if out.len() < 16 {
            break;
        }
        match random.below(6) {
            0 => header(&mut out, random),
            1 => special(&mut out, random),
            2 => start(&mut out, random),
            _ => body(&mut out, random),
        }
    }
    if random.below(8) > 0 {
        repair(&mut out, random);
    }
    out
}

fn header_len(chunk: &[u8]) -> usize {
    if chunk[2] & EXTENDED == EXTENDED { 32 } else { 16 }
}

fn header(out: &mut [u8], random: &mut Random) {
    let extended = header_len(out) == 32 && out.len() >= 32;
    match random.below(if extended { 12 } else { 6 }) {
        0 => out[0] = random.below(8) as u8,
        1 => out[2] ^= 1 << random.below(8),
        2 => out[3] = [1, 2, 3, 4, 8, 16, 17, 255, 0][random.below(9)],
        3 => put(out, NBYTES, 4, Order::Little, edge(get(out, NBYTES, 4, Order::Little), 4, random)),
        4 => put(out, BLOCKSIZE, 4, Order::Little, edge(get(out, BLOCKSIZE, 4, Order::Little), 4, random)),
        5 => put(out, CBYTES, 4, Order::Little, edge(get(out, CBYTES, 4, Order::Little), 4, random)),
        6 | 7 => out[16 + random.below(6)] = FILTERS[random.below(FILTERS.len())],
        8 => {
            let codec = CODECS[random.below(CODECS.len())];
            out[22] = codec;
            let format = [0, 1, 1, 2, 3, 4].get(usize::from(codec)).copied().unwrap_or(6);
            out[2] = out[2] & 0x1F | format << 5;
        }
        9 => out[23] = random.below(256) as u8,
        10 => out[24 + random.below(6)] = random.below(256) as u8,
        _ => out[30 + random.below(2)] ^= 1 << random.below(8),
    }
}

/// A chunk of one value.
fn special(out: &mut Vec<u8>, random: &mut Random) {
    if header_len(out) != 32 || out.len() < 32 {
        return;
    }
    let kind = 1 + random.below(4) as u8;
    out[31] = out[31] & !SPECIAL | kind << 4;
    out[2] &= !STORED;
    let item = if kind == 3 { [1, 2, 4, 8, 300][random.below(5)] } else { 0 };
    out.resize(32 + item, 0x33);
    if random.below(2) == 0 {
        put(out, NBYTES, 4, Order::Little, [1000, 1001, 1 << 20, i32::MAX as u64 - 32][random.below(4)]);
    }
}

/// Where a block begins.
fn start(out: &mut [u8], random: &mut Random) {
    let blocks = blocks(out);
    if blocks > 0 {
        let at = header_len(out) + 4 * random.below(blocks);
        let other = header_len(out) + 4 * random.below(blocks);
        let number = match random.below(2) {
            0 => get(out, other, 4, Order::Little),
            _ => edge(get(out, at, 4, Order::Little), 4, random),
        };
        put(out, at, 4, Order::Little, number);
    }
}

fn blocks(chunk: &[u8]) -> usize {
    let (nbytes, block) = (get(chunk, NBYTES, 4, Order::Little), get(chunk, BLOCKSIZE, 4, Order::Little));
    let all = chunk.len().saturating_sub(header_len(chunk)) / 4;
    nbytes.div_ceil(block.max(1)).min(all as u64) as usize
}

/// Changes a stream. If its length changes, what follows moves, and the starts and lengths are corrected.
fn body(out: &mut Vec<u8>, random: &mut Random) {
    let stored = out[2] & STORED != 0;
    let starts = header_len(out);
    let count = if stored { 0 } else { blocks(out) };
    let from = starts + 4 * count;
    if from >= out.len() {
        return;
    }
    let at = from + random.below(out.len() - from);
    if random.below(3) > 0 || stored {
        out[at] = if random.below(2) == 0 { out[at] ^ 1 << random.below(8) } else { random.below(256) as u8 };
        return;
    }
    // Within the first stream of the block that begins last before this place.
    let begins = (0..count).map(|block| get(out, starts + 4 * block, 4, Order::Little) as usize);
    let Some(begin) = begins.filter(|&begin| begin <= at).max() else { return };
    let len = get(out, begin, 4, Order::Little) as usize;
    let end = begin.saturating_add(4).saturating_add(len);
    if begin + 4 > at || end > out.len() || at >= end {
        return;
    }
    let old = out.len();
    if random.below(2) == 0 {
        let gone = 1 + random.below((end - at).min(8));
        out.drain(at..at + gone);
    } else {
        let fresh: Vec<u8> = (0..=random.below(8)).map(|_| random.below(256) as u8).collect();
        out.splice(at..at, fresh);
    }
    let (now, moved) = (out.len(), |n: usize| (n + out.len() - old) as u64);
    let (stream, behind): (u64, Vec<(usize, u64)>) = (
        moved(len),
        (0..count)
            .map(|block| (starts + 4 * block, get(out, starts + 4 * block, 4, Order::Little) as usize))
            .filter(|&(_, start)| start > begin && start <= now.max(old))
            .map(|(place, start)| (place, moved(start)))
            .collect(),
    );
    put(out, begin, 4, Order::Little, stream);
    for (place, start) in behind {
        put(out, place, 4, Order::Little, start);
    }
}

/// Corrects the length in the header, and the decoded length of a stored chunk.
pub(super) fn repair(out: &mut [u8], random: &mut Random) {
    if out.len() < 16 {
        return;
    }
    let len = out.len() as u64;
    put(out, CBYTES, 4, Order::Little, len);
    if out[2] & STORED != 0 && random.below(4) > 0 {
        let stored = len.saturating_sub(header_len(out) as u64);
        put(out, NBYTES, 4, Order::Little, stored);
    }
}
