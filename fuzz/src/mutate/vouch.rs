//! After a change, updates what vouches for a frame: the checksums, the fingerprint, and the promise that the chunks
//! lie in order. Otherwise a change to a frame that has them would get no further than the first comparison.

use bytes::Bytes;
use oxiblosc::frame::{
    Checksums, Fingerprint, FingerprintKind, Fingerprinter, INDEX_FILE, Sequential, chunk_checksum, chunk_file_name,
};

use super::fields::{Order, get, put};
use super::parts::{CBYTES, CHUNK_LEN, FRAME_LEN, HEADER_LEN, NBYTES, Parts};

/// Behind these keys there are numbers of eight bytes; what the header says is behind the first three.
const LENGTHS: [(&[u8], usize); 3] =
    [(b"\xA9frame_len\xCF", FRAME_LEN), (b"\xA6nbytes\xCF", NBYTES), (b"\xA6cbytes\xCF", CBYTES)];
const DIGEST: &[u8] = b"\xA8metadata\xCF";
/// Behind this there is the length of the binary, and then one number for each chunk.
const SUMS: &[u8] = b"\xA6chunks\xC6";

/// Updates what a contiguous frame, or the index file of a sparse one with these files, says of itself.
pub(super) fn repair(frame: &mut Vec<u8>, files: &[(String, Bytes)]) {
    let Some(mut parts) = Parts::parse(frame) else { return };
    let kind = FingerprintKind::from_u8(parts.tail.iter().rev().nth(Fingerprint::LEN - 2).copied().unwrap_or_default());
    let promise = parts.layers.as_mut().is_some_and(|layers| layers.find(Sequential::NAME).is_some());
    let checksums = parts.vlayers.as_mut().is_some_and(|layers| layers.find(Checksums::NAME).is_some());
    if kind.is_none() && !promise && !checksums {
        return;
    }
    let stored: Vec<Option<Vec<u8>>> =
        (parts.entries.iter().flatten()).map(|&entry| stored(&parts, entry, files).map(<[u8]>::to_vec)).collect();
    if let Some(content) = parts.vlayers.as_mut().and_then(|layers| layers.find(Checksums::NAME)) {
        set_sums(content, &stored);
    }
    // The lengths are known once it is put together, and the metalayers keep theirs.
    let draft = parts.join();
    let metalayers = [(&mut parts.layers, Sequential::NAME), (&mut parts.vlayers, Checksums::NAME)];
    for (layers, name) in metalayers {
        let Some(content) = layers.as_mut().and_then(|layers| layers.find(name)) else { continue };
        for (key, field) in LENGTHS {
            set_number(content, key, get(&draft, field, 8, Order::Big));
        }
        set_number(content, DIGEST, 0);
    }
    *frame = parts.join();
    let head = (get(frame, HEADER_LEN, 4, Order::Big) as usize).min(frame.len());
    let end = frame.len().saturating_sub(Fingerprint::LEN);
    if checksums && head <= end {
        // In sparse frames and others alike, the chunks are not part of it.
        let covered = [&frame[..head], &frame[(head + parts.chunks.len()).min(end)..end]].concat();
        let at = position(&frame[head..end], DIGEST).map(|at| head + at);
        if let Some(at) = at {
            put(frame, at, 8, Order::Big, chunk_checksum(&covered));
        }
    }
    if let (Some(kind), true) = (kind, head <= end) {
        let mut fingerprinter = Fingerprinter::new(kind);
        if !files.is_empty() {
            stored.iter().flatten().for_each(|chunk| fingerprinter.update(chunk));
        }
        fingerprinter.update(&frame[head..end]);
        fingerprinter.update(&frame[..head]);
        frame[end..].copy_from_slice(&fingerprinter.finish().to_bytes());
    }
}

/// The same for the files of a sparse frame.
pub(super) fn repair_directory(list: &mut [(String, Bytes)]) {
    let Some(at) = list.iter().position(|(name, _)| name == INDEX_FILE) else { return };
    let mut index = list[at].1.to_vec();
    repair(&mut index, list);
    list[at].1 = index.into();
}

/// The bytes of the chunk that an entry of the index points to; `None` for one that is in the index alone.
fn stored<'a>(parts: &'a Parts, entry: u64, files: &'a [(String, Bytes)]) -> Option<&'a [u8]> {
    if files.is_empty() {
        return parts.chunk(entry);
    }
    let name = chunk_file_name(u32::try_from(entry).ok()?);
    let (_, file) = files.iter().find(|(found, _)| *found == name)?;
    file.get(..get(file, CHUNK_LEN, 4, Order::Little) as usize)
}

/// Puts a checksum for each chunk into the map, which is in a stored chunk, and sets right the lengths of both.
fn set_sums(content: &mut Vec<u8>, stored: &[Option<Vec<u8>>]) {
    let Some(at) = position(content, SUMS) else { return };
    let old = get(content, at, 4, Order::Big) as usize;
    let sums: Vec<u8> =
        stored.iter().flat_map(|chunk| chunk.as_ref().map_or(0, |chunk| chunk_checksum(chunk)).to_be_bytes()).collect();
    let end = (at + 4).saturating_add(old).min(content.len());
    put(content, at, 4, Order::Big, sums.len() as u64);
    content.splice((at + 4).min(end)..end, sums);
    let len = content.len() as u64;
    put(content, CHUNK_LEN, 4, Order::Little, len);
    for field in [4, 8] {
        put(content, field, 4, Order::Little, len.saturating_sub(32));
    }
}

fn set_number(content: &mut [u8], key: &[u8], number: u64) {
    if let Some(at) = position(content, key) {
        put(content, at, 8, Order::Big, number);
    }
}

/// Behind the first occurrence of `key`.
fn position(bytes: &[u8], key: &[u8]) -> Option<usize> {
    bytes.windows(key.len()).position(|window| window == key).map(|at| at + key.len())
}
