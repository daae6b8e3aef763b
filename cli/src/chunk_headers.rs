//! The headers of the chunks of a frame, without the chunks.

use oxiblosc::ReadError;
use oxiblosc::chunk::ChunkHeader;
use oxiblosc::frame::{ChunkEntry, FrameError};
use oxiblosc::source::RangeSource;

use crate::input::Reader;

/// The headers of `chunks`, fetched in one round. A missing chunk file, or an entry of the index that means nothing, does
/// not affect the others.
///
/// # Errors
/// When the source fails as a whole.
pub(crate) async fn chunk_headers(
    reader: &Reader,
    chunks: impl Iterator<Item = u64> + Clone,
) -> Result<Vec<Result<ChunkHeader, ReadError>>, ReadError> {
    let (frame, source) = (reader.frame(), reader.source());
    let mut ranges = Vec::new();
    let mut files = Vec::new();
    let mut entries = Vec::new();
    for chunk in chunks.clone() {
        let entry = frame.entry(chunk);
        match entry {
            Ok(ChunkEntry::File { id }) => files.push((id, 0..ChunkHeader::EXTENDED_LEN as u64)),
            Ok(ChunkEntry::Stored { offset }) => {
                let end = frame.chunks_end().min(offset + ChunkHeader::EXTENDED_LEN as u64);
                ranges.push(offset..end);
            }
            Ok(ChunkEntry::Special(_)) | Err(_) => {}
        }
        entries.push(entry);
    }
    let mut stored = match ranges.is_empty() {
        true => Vec::new(),
        false => source.read_ranges(ranges).await?,
    }
    .into_iter();
    let mut in_files = match source.chunk_files() {
        _ if files.is_empty() => Vec::new(),
        Some(source) => source.read_files(files).await,
        None => return Err(ReadError::Sparse),
    }
    .into_iter();
    let mut header_of = |(chunk, entry): (u64, Result<ChunkEntry, FrameError>)| {
        let (offset, bytes) = match entry? {
            ChunkEntry::Stored { offset } => (Some(offset), stored.next().unwrap_or_default()),
            ChunkEntry::File { .. } => {
                let bytes = in_files.next().unwrap_or_else(|| Ok(Default::default()));
                (None, bytes.map_err(|source| ReadError::ChunkFile { chunk, source })?)
            }
            // Chunks of zeros, NaNs and the like have only a header.
            ChunkEntry::Special(_) => (None, frame.special_chunk(chunk)?.unwrap_or_default().into()),
        };
        ChunkHeader::parse(&bytes).map_err(|source| ReadError::Decode { chunk, offset, source })
    };
    Ok(chunks.zip(entries).map(&mut header_of).collect())
}
