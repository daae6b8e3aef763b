//! Sparse frames: a directory (or a prefix in an object store) with one file per chunk and one for the index.
//!
//! Source: sparse frame format document of C-Blosc2. The index file is a frame without chunks section whose index
//! entries are the numbers in the names of the chunk files.

use super::chunk_table::ChunkTable;
use super::index::Index;
use super::{Fingerprinter, FrameWriteError};
use crate::chunk::ChunkHeader;

/// Name of the file with header, index and trailer.
pub const INDEX_FILE: &str = "chunks.b2frame";

/// Name of the file of chunk `id`: eight upper-case hexadecimal digits.
pub fn chunk_file_name(id: u32) -> String {
    format!("{id:08X}.chunk")
}

/// The number of the chunk file with this name; `None` for any other name.
pub fn chunk_file_id(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".chunk")?;
    let is_digit = |b: u8| b.is_ascii_digit() || (b'A'..=b'F').contains(&b);
    let valid = digits.len() == 8 && digits.bytes().all(is_digit);
    valid.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// C-Blosc2 checks that file numbers leave room for a chunk header in the chunks section, as if they were offsets. The
/// declared length of that section is therefore never less than this.
pub(super) fn least_cbytes(entries: &Index) -> u64 {
    let max = entries.runs().map(|(_, entry)| entry).filter(|&entry| !super::index::is_special(entry)).max();
    max.map_or(0, |max| max + ChunkHeader::EXTENDED_LEN as u64)
}

/// Header, index and trailer of a sparse frame.
pub(super) fn index_file(
    table: &mut ChunkTable,
    fingerprint: Option<Fingerprinter>,
) -> Result<Vec<u8>, FrameWriteError> {
    table.header.cbytes = table.header.cbytes.max(least_cbytes(table.entries()));
    let index = table.index_bytes()?;
    let header_len = u64::from(table.header.header_len);
    let trailer = table.close(&index, header_len, false, fingerprint)?;
    let mut out = table.header_bytes();
    out.extend(index);
    out.extend(trailer);
    Ok(out)
}
