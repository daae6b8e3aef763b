//! The metalayers of a header or a trailer: names, and contents.

use oxiblosc_conformance::data::Random;

use super::fields::{Order, edge, get, put};
use super::{bytes, chunk};

/// The entries, in the order in which they are stored.
#[derive(Debug, Clone, Default)]
pub(super) struct Layers(Vec<(Vec<u8>, Vec<u8>)>);

/// Names that mean something to readers, and one that does not.
const NAMES: [&[u8]; 5] = [b"b2nd", b"caterva", b"oxiblosc", b"oxiblosc_checksums", b"x"];

impl Layers {
    /// The content of the first entry with this name.
    pub(super) fn find(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        self.0.iter_mut().find(|(found, _)| found == name.as_bytes()).map(|(_, content)| content)
    }

    /// Changes one of them, or adds one. `chunks`: the contents are chunks.
    pub(super) fn change(&mut self, random: &mut Random, chunks: bool) {
        let Self(list) = self;
        if list.is_empty() || random.below(8) == 0 {
            let name = NAMES[random.below(NAMES.len())];
            list.push((name.to_vec(), vec![0xC0; random.below(80)]));
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

    /// The section that begins at `at`, with offsets from `base`; and where it ends.
    pub(super) fn parse(bytes: &[u8], at: usize, base: usize) -> Option<(Self, usize)> {
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
    pub(super) fn write(&self, base: usize, less: u64, out: &mut Vec<u8>) {
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
