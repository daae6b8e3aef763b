//! Changes of contiguous frames, and of the index of sparse ones.

use oxiblosc_conformance::data::Random;

use super::fields::{Order, edge, get, put};
use super::{bytes, chunk};

const HEADER_LEN: usize = 11;
const FRAME_LEN: usize = 16;
const FRAME_TYPE: usize = 26;
const NBYTES: usize = 30;
const CBYTES: usize = 39;
const TYPESIZE: usize = 48;
/// The trailer ends with its length and a fingerprint.
const TAIL: usize = 23;
const TAIL_LEN: usize = 1;

/// The parts of a frame, each with the length that it should have in the header.
#[derive(Debug, Clone)]
struct Parts {
    /// The fixed part of the header.
    fixed: Vec<u8>,
    /// The metalayers of the header: the map of names, and the values.
    layers: Option<Layers>,
    /// What comes behind them in the header.
    padding: Vec<u8>,
    chunks: Vec<u8>,
    /// The entries of the index.
    entries: Option<Vec<u64>>,
    /// The index as it is, if its entries are not known.
    index: Vec<u8>,
    /// The trailer without its tail, and the tail.
    trailer: Vec<u8>,
    vlayers: Option<Layers>,
    tail: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
struct Layers(Vec<(Vec<u8>, Vec<u8>)>);

/// Changes one or two things, and sets right what depends on them.
pub(super) fn mutate(input: &[u8], random: &mut Random) -> Vec<u8> {
    if random.below(12) == 0 {
        return bytes::mutate(input, random);
    }
    let Some(mut parts) = Parts::parse(input) else { return bytes::mutate(input, random) };
    for _ in 0..=random.below(2) {
        change(&mut parts, random);
    }
    let mut out = parts.write(random);
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
        1 | 2 => change_layers(&mut parts.layers, random, false),
        3 => change_layers(&mut parts.vlayers, random, true),
        4 => parts.padding = (0..random.below(40)).map(|_| 0).collect(),
        5 | 6 => change_entries(parts, random),
        7 => change_chunk_size(parts, random),
        8 => parts.tail = bytes::mutate(&parts.tail, random),
        9 => parts.chunks = bytes::mutate(&parts.chunks, random),
        _ => change_chunk(parts, random),
    }
}

/// One of the chunks, which becomes another one at the end of all of them.
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

fn change_layers(layers: &mut Option<Layers>, random: &mut Random, chunks: bool) {
    let Layers(list) = layers.get_or_insert_default();
    if list.is_empty() || random.below(8) == 0 {
        let names: [&[u8]; 4] = [b"b2nd", b"caterva", b"oxiblosc", b"x"];
        list.push((names[random.below(4)].to_vec(), vec![0xC0; random.below(80)]));
        return;
    }
    let at = random.below(list.len());
    match random.below(6) {
        0 => drop(list.remove(at)),
        1 => list[at].0 = bytes::mutate(&list[at].0, random).into_iter().take(31).collect(),
        2 => list[at].1 = bytes::mutate(&list[at].1, random),
        3 if chunks => list[at].1 = chunk::mutate(&list[at].1, random),
        _ => {
            // A number of an array's shape, in place.
            let content = &mut list[at].1;
            let markers: Vec<usize> =
                (0..content.len()).filter(|&i| matches!(content[i], 0xD2 | 0xD3 | 0xCF)).collect();
            if !markers.is_empty() {
                let marker = markers[random.below(markers.len())];
                let width = if content[marker] == 0xD2 { 4 } else { 8 };
                let number = edge(get(content, marker + 1, width, Order::Big), width, random);
                put(content, marker + 1, width, Order::Big, number);
            }
        }
    }
}

impl Parts {
    fn parse(frame: &[u8]) -> Option<Self> {
        let fixed = match frame.first()? {
            0x9B | 0x9C => 64,
            0x9D => 82,
            _ => 87,
        };
        let header_len = get(frame, HEADER_LEN, 4, Order::Big) as usize;
        let header = frame.get(..header_len)?;
        let sparse = frame.get(FRAME_TYPE) == Some(&1);
        let nbytes = get(frame, NBYTES, 8, Order::Big);
        let section = if sparse || nbytes == 0 { 0 } else { get(frame, CBYTES, 8, Order::Big) as usize };
        let index_at = header_len.checked_add(section)?;
        let has_trailer = fixed > 64;
        let tail_at = if has_trailer { frame.len().checked_sub(TAIL)? } else { frame.len() };
        let trailer_len = if has_trailer { get(frame, tail_at + TAIL_LEN, 4, Order::Big) as usize } else { 0 };
        let trailer_at = frame.len().checked_sub(trailer_len)?;
        let index = frame.get(index_at..trailer_at)?;
        let (layers, end) = Layers::parse(header, fixed, 0).map_or((None, fixed), |(layers, end)| (Some(layers), end));
        let trailer = frame.get(trailer_at..tail_at)?;
        let vlayers = Layers::parse(trailer, 2, 0).map(|(layers, _)| layers);
        Some(Self {
            fixed: header.get(..fixed)?.to_vec(),
            layers,
            padding: header.get(end..)?.to_vec(),
            chunks: frame.get(header_len..index_at)?.to_vec(),
            entries: entries(index),
            index: index.to_vec(),
            trailer: trailer.to_vec(),
            vlayers,
            tail: frame.get(tail_at..)?.to_vec(),
        })
    }

    fn chunk_size_at(&self) -> usize {
        if self.fixed.len() == 87 { 58 } else { 53 }
    }

    /// Puts the parts together, with the lengths they have.
    fn write(&self, random: &mut Random) -> Vec<u8> {
        let mut out = self.fixed.clone();
        if let Some(layers) = &self.layers {
            layers.write(0, 0, &mut out);
        }
        out.extend_from_slice(&self.padding);
        let header_len = out.len() as u64;
        out.extend_from_slice(&self.chunks);
        match &self.entries {
            Some(entries) => out.extend(stored_index(entries, self.fixed.len() == 64)),
            None => out.extend_from_slice(&self.index),
        }
        let trailer_at = out.len();
        match &self.vlayers {
            // The oldest frames have no trailer.
            Some(layers) if self.trailer.len() >= 2 => {
                out.extend_from_slice(&self.trailer[..2]);
                layers.write(trailer_at, 1, &mut out);
            }
            _ => out.extend_from_slice(&self.trailer),
        }
        out.extend_from_slice(&self.tail);
        let end = out.len();
        put(&mut out, HEADER_LEN, 4, Order::Big, header_len);
        put(&mut out, FRAME_LEN, 8, Order::Big, end as u64);
        if !self.chunks.is_empty() {
            put(&mut out, CBYTES, 8, Order::Big, self.chunks.len() as u64);
        }
        if self.tail.len() == TAIL {
            put(&mut out, end - TAIL + TAIL_LEN, 4, Order::Big, (end - trailer_at) as u64);
        }
        let size = get(&out, self.chunk_size_at(), 4, Order::Big) as i32;
        if let (Some(entries), true, 1..) = (&self.entries, random.below(4) > 0, size) {
            let (size, count) = (size as u64, entries.len() as u64);
            let nbytes = get(&out, NBYTES, 8, Order::Big);
            // As many whole chunks as there are entries, and what the last one had before.
            if count > 0 && nbytes.div_ceil(size) != count {
                let last = if nbytes.is_multiple_of(size) || random.below(2) == 0 { size } else { nbytes % size };
                put(&mut out, NBYTES, 8, Order::Big, (count - 1) * size + last);
            }
        }
        out
    }
}

/// The entries of an index that is stored as it is, or repeats one.
fn entries(index: &[u8]) -> Option<Vec<u64>> {
    let header = index.get(..32)?;
    let count = (get(header, 4, 4, Order::Little) / 8) as usize;
    let stored = header[2] & 0x07 == 0x07;
    let repeated = header[31] & 0x70 == 0x30;
    if count > 1 << 12 || !(stored || repeated) {
        return decoded(index);
    }
    (0..count).map(|i| Some(get(index.get(32 + if stored { 8 * i } else { 0 }..)?, 0, 8, Order::Little))).collect()
}

/// The entries of an index that is compressed.
fn decoded(index: &[u8]) -> Option<Vec<u64>> {
    let decoded = oxiblosc::decompress(index, &oxiblosc::Inline).ok().filter(|bytes| bytes.len() <= 1 << 15)?;
    Some(decoded.chunks_exact(8).map(|entry| get(entry, 0, 8, Order::Little)).collect())
}

fn stored_index(entries: &[u64], early: bool) -> Vec<u8> {
    if entries.is_empty() {
        return Vec::new();
    }
    let len = 8 * entries.len();
    let mut out = vec![0; 32];
    out[..4].copy_from_slice(&[if early { 4 } else { 5 }, 1, 7, 8]);
    put(&mut out, 4, 4, Order::Little, len as u64);
    put(&mut out, 8, 4, Order::Little, len as u64);
    put(&mut out, 12, 4, Order::Little, len as u64 + 32);
    out[21] = 1;
    out.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
    out
}

impl Layers {
    /// The section that begins at `at`, with offsets from `base`; and where it ends.
    fn parse(bytes: &[u8], at: usize, base: usize) -> Option<(Self, usize)> {
        let count = get(bytes, at + 5, 2, Order::Big) as usize;
        if bytes.get(at)? & 0xF0 != 0x90 || bytes.get(at + 4) != Some(&0xDE) || count > 64 {
            return None;
        }
        let (mut next, mut end) = (at + 7, at + 10);
        let mut list = Vec::new();
        for _ in 0..count {
            let len = usize::from(bytes.get(next)? & 0x1F);
            let name = bytes.get(next + 1..next + 1 + len)?;
            let value = base + get(bytes, next + 2 + len, 4, Order::Big) as usize;
            let size = get(bytes, value + 1, 4, Order::Big) as usize;
            let content = bytes.get(value + 5..(value + 5).checked_add(size)?)?;
            list.push((name.to_vec(), content.to_vec()));
            next += 6 + len;
            end = end.max(next + 3).max(value + 5 + size);
        }
        Some((Self(list), end))
    }

    /// `less` is by how much the length of the map is smaller than it is in a header.
    fn write(&self, base: usize, less: u64, out: &mut Vec<u8>) {
        let Self(list) = self;
        let map: usize = 7 + list.iter().map(|(name, _)| name.len() + 6).sum::<usize>();
        let count = (list.len() as u16).to_be_bytes();
        out.extend([0x93, 0xCD]);
        out.extend(((map as u64 - less) as u16).to_be_bytes());
        out.push(0xDE);
        out.extend(count);
        let mut places = Vec::new();
        for (name, _) in list {
            out.push(0xA0 | name.len() as u8);
            out.extend_from_slice(name);
            out.push(0xD2);
            places.push(out.len());
            out.extend([0; 4]);
        }
        out.push(0xDC);
        out.extend(count);
        for ((_, content), place) in list.iter().zip(places) {
            let at = (out.len() - base) as u64;
            put(out, place, 4, Order::Big, at);
            out.push(0xC6);
            out.extend((content.len() as u32).to_be_bytes());
            out.extend_from_slice(content);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors, taken apart and put together again without a change, are what they were but for the encoding of the
    /// index.
    #[test]
    fn a_frame_comes_back() {
        for (name, frame) in crate::seed::vectors() {
            let parts = Parts::parse(&frame).unwrap_or_else(|| panic!("{name}"));
            let again = Parts::parse(&parts.write(&mut Random::new(1))).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(
                (&parts.chunks, &parts.entries, &parts.tail[5.min(parts.tail.len())..]),
                (&again.chunks, &again.entries, &again.tail[5.min(again.tail.len())..]),
                "{name}"
            );
        }
    }
}
