//! Changes to contiguous frames, and to the index of sparse ones.

use oxiblosc_conformance::data::Random;

use super::fields::{Order, edge, get, put};
use super::parts::{CBYTES, FRAME_LEN, FRAME_TYPE, HEADER_LEN, NBYTES, Parts, TAIL, TAIL_LEN, TYPESIZE};
use super::{bytes, chunk, vouch};

/// Changes one or two things, and corrects what depends on them.
pub(super) fn mutate(input: &[u8], random: &mut Random) -> Vec<u8> {
    if random.below(12) == 0 {
        return bytes::mutate(input, random);
    }
    let Some(mut parts) = Parts::parse(input) else { return bytes::mutate(input, random) };
    for _ in 0..=random.below(2) {
        change(&mut parts, random);
    }
    let mut out = parts.write(random);
    if random.below(8) > 0 {
        vouch::repair(&mut out, &[]);
    }
    // Now and then a field that nothing agrees with.
    if random.below(4) == 0 {
        field(&mut out, random);
    }
    out
}

fn field(out: &mut [u8], random: &mut Random) {
    let fields = [
        (HEADER_LEN, 4),
        (FRAME_LEN, 8),
        (25, 1),
        (FRAME_TYPE, 1),
        (27, 1),
        (28, 1),
        (NBYTES, 8),
        (CBYTES, 8),
        (TYPESIZE, 4),
        (53, 4),
        (58, 4),
        (70, 1),
        (71 + random.below(16), 1),
        (88, 2),
        (92, 2),
        (out.len().saturating_sub(TAIL - TAIL_LEN), 4),
        (out.len().saturating_sub(17), 1),
    ];
    let (at, width) = fields[random.below(fields.len())];
    let number = edge(get(out, at, width, Order::Big), width, random);
    put(out, at, width, Order::Big, number);
}

fn change(parts: &mut Parts, random: &mut Random) {
    match random.below(12) {
        0 => field(&mut parts.fixed, random),
        1 | 2 => parts.layers.get_or_insert_default().change(random, false),
        3 => parts.vlayers.get_or_insert_default().change(random, true),
        4 => parts.padding = (0..random.below(40)).map(|_| 0).collect(),
        5 | 6 => change_entries(parts, random),
        7 => change_chunk_size(parts, random),
        8 => parts.tail = bytes::mutate(&parts.tail, random),
        9 => parts.chunks = bytes::mutate(&parts.chunks, random),
        _ => change_chunk(parts, random),
    }
}

/// Changes one of the chunks, and puts it at the end of all of them.
fn change_chunk(parts: &mut Parts, random: &mut Random) {
    let Some(entries) = &mut parts.entries else {
        parts.index = chunk::mutate(&parts.index, random);
        return;
    };
    if entries.is_empty() {
        return;
    }
    let at = random.below(entries.len());
    let start = entries[at] as usize;
    let Some(old) = parts.chunks.get(start..).filter(|old| old.len() >= 16) else { return };
    let len = (get(old, 12, 4, Order::Little) as usize).min(old.len());
    let new = chunk::mutate(&old[..len], random);
    if new.len() == len {
        parts.chunks[start..start + len].copy_from_slice(&new);
    } else {
        entries[at] = parts.chunks.len() as u64;
        parts.chunks.extend_from_slice(&new);
    }
}

fn change_entries(parts: &mut Parts, random: &mut Random) {
    let Some(entries) = &mut parts.entries else { return };
    let special = (0x81 + random.below(4) as u64) << 56;
    if entries.is_empty() {
        entries.push(special);
        return;
    }
    let at = random.below(entries.len());
    match random.below(7) {
        0 => entries[at] = special,
        1 => entries[at] = entries[random.below(entries.len())],
        2 => drop(entries.remove(at)),
        3 => entries.insert(at, special),
        4 => entries.insert(at, entries[random.below(entries.len())]),
        5 => entries[at] = edge(entries[at], 8, random),
        _ => {
            let other = random.below(entries.len());
            entries.swap(at, other);
        }
    }
}

/// The chunk size and the totals, together.
fn change_chunk_size(parts: &mut Parts, random: &mut Random) {
    let at = parts.chunk_size_at();
    let size = match random.below(3) {
        0 => 0,
        _ => edge(get(&parts.fixed, at, 4, Order::Big), 4, random),
    };
    put(&mut parts.fixed, at, 4, Order::Big, size);
    if random.below(2) == 0 {
        let typesize = edge(get(&parts.fixed, TYPESIZE, 4, Order::Big), 4, random);
        put(&mut parts.fixed, TYPESIZE, 4, Order::Big, typesize);
    }
}
