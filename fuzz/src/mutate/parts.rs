//! Takes a frame apart, and puts it together again with the lengths that its parts have.

use oxiblosc_conformance::data::Random;

use super::fields::{Order, get, put};
use super::layers::Layers;

pub(super) const HEADER_LEN: usize = 11;
pub(super) const FRAME_LEN: usize = 16;
pub(super) const FRAME_TYPE: usize = 26;
pub(super) const NBYTES: usize = 30;
pub(super) const CBYTES: usize = 39;
pub(super) const TYPESIZE: usize = 48;
/// The trailer ends with its length and a fingerprint.
pub(super) const TAIL: usize = 23;
pub(super) const TAIL_LEN: usize = 1;
/// Where a chunk says how long it is.
pub(super) const CHUNK_LEN: usize = 12;

/// Longer indexes are not taken apart.
const MOST_ENTRIES: usize = 1 << 12;

/// The parts of a frame, each with the length that it should have in the header.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// The fixed part of the header.
    pub(super) fixed: Vec<u8>,
    /// The metalayers of the header: the map of names, and the values.
    pub(super) layers: Option<Layers>,
    /// What comes behind them in the header.
    pub(super) padding: Vec<u8>,
    pub(super) chunks: Vec<u8>,
    /// The entries of the index.
    pub(super) entries: Option<Vec<u64>>,
    /// The index as it is, if its entries are not known.
    pub(super) index: Vec<u8>,
    /// The trailer without its tail, and the tail.
    pub(super) trailer: Vec<u8>,
    pub(super) vlayers: Option<Layers>,
    pub(super) tail: Vec<u8>,
    /// No totals are in the header: they are not put there.
    pub(super) open: bool,
}

impl Parts {
    /// Takes a frame apart; `None` when the lengths in it contradict each other.
    pub(super) fn parse(frame: &[u8]) -> Option<Self> {
        let fixed = match frame.first()? {
            0x9B | 0x9C => 64,
            0x9D => 82,
            _ => 87,
        };
        let header_len = get(frame, HEADER_LEN, 4, Order::Big) as usize;
        let header = frame.get(..header_len)?;
        let has_trailer = fixed > 64;
        let open = [FRAME_LEN, NBYTES, CBYTES].iter().all(|&at| get(frame, at, 8, Order::Big) == 0);
        let (index_at, trailer_at, tail_at) = if open && has_trailer {
            open_end(frame, header_len)
        } else {
            let sparse = frame.get(FRAME_TYPE) == Some(&1);
            let nbytes = get(frame, NBYTES, 8, Order::Big);
            let section = if sparse || nbytes == 0 { 0 } else { get(frame, CBYTES, 8, Order::Big) as usize };
            let tail_at = if has_trailer { frame.len().checked_sub(TAIL)? } else { frame.len() };
            let trailer_len = if has_trailer { get(frame, tail_at + TAIL_LEN, 4, Order::Big) as usize } else { 0 };
            (header_len.checked_add(section)?, frame.len().checked_sub(trailer_len)?, tail_at)
        };
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
            open,
        })
    }

    pub(super) fn chunk_size_at(&self) -> usize {
        if self.fixed.len() == 87 { 58 } else { 53 }
    }

    /// Puts the parts together, with the lengths they have.
    pub(super) fn join(&self) -> Vec<u8> {
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
        if !self.open {
            put(&mut out, FRAME_LEN, 8, Order::Big, end as u64);
        }
        if !self.open && !self.chunks.is_empty() {
            put(&mut out, CBYTES, 8, Order::Big, self.chunks.len() as u64);
        }
        if self.tail.len() == TAIL {
            put(&mut out, end - TAIL + TAIL_LEN, 4, Order::Big, (end - trailer_at) as u64);
        }
        out
    }

    /// The same, and most of the time with a total that fits the entries of the index.
    pub(super) fn write(&self, random: &mut Random) -> Vec<u8> {
        let mut out = self.join();
        if self.open {
            return out;
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

    /// The bytes of chunk `i` of a contiguous frame, `None` for one that is in the index alone or nowhere.
    pub(super) fn chunk(&self, entry: u64) -> Option<&[u8]> {
        let rest = self.chunks.get(usize::try_from(entry).ok()?..)?;
        let len = get(rest, CHUNK_LEN, 4, Order::Little) as usize;
        rest.get(..len)
    }
}

/// Where index, trailer and tail of a frame without totals begin. The chunk in front of the trailer is the index.
fn open_end(frame: &[u8], header_len: usize) -> (usize, usize, usize) {
    let (mut last, mut at) = (header_len, header_len);
    while let Some(first) = frame.get(at) {
        if first & 0xF0 == 0x90 {
            return (last, at, frame.len().saturating_sub(TAIL).max(at));
        }
        let len = get(frame, at + CHUNK_LEN, 4, Order::Little) as usize;
        if len < 16 || len > frame.len() - at {
            break;
        }
        (last, at) = (at, at + len);
    }
    (frame.len(), frame.len(), frame.len())
}

/// The entries of an index that is stored as it is, or repeats one.
fn entries(index: &[u8]) -> Option<Vec<u64>> {
    let header = index.get(..32)?;
    let count = (get(header, 4, 4, Order::Little) / 8) as usize;
    let stored = header[2] & 0x07 == 0x07;
    let repeated = header[31] & 0x70 == 0x30;
    // A few bytes may stand for gigabytes.
    if count > MOST_ENTRIES {
        return None;
    }
    if !(stored || repeated) {
        return decoded(index);
    }
    (0..count).map(|i| Some(get(index.get(32 + if stored { 8 * i } else { 0 }..)?, 0, 8, Order::Little))).collect()
}

/// The entries of an index that is compressed.
fn decoded(index: &[u8]) -> Option<Vec<u64>> {
    let decoded = oxiblosc::decompress(index, &oxiblosc::Inline).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors that are taken apart and put together again stay the same, except for the encoding of the index.
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
