//! Checks that what a commit is about to write can be opened again.

use std::borrow::Cow;

use bytes::Bytes;

use super::chunk_table::ChunkTable;
use super::frame::check_entries;
use super::header::{FrameHeader, FrameType};
use super::opener::Extents;
use super::{ChecksumState, Checksums, FrameError, FrameOpener, FrameWriteError, Metalayers, Trailer};

/// What a commit is about to write.
pub(super) struct CommitCheck<'a> {
    /// The whole header.
    pub(super) header: &'a [u8],
    /// Where the rest goes.
    pub(super) tail_at: u64,
    /// Index and trailer, or the trailer alone; empty if both stay unchanged.
    pub(super) tail: &'a [u8],
    /// Whether the index is part of it, or the frame has none.
    pub(super) has_index: bool,
}

impl CommitCheck<'_> {
    /// Parses what is about to be written as every reader does, and compares it with what it was made from. An editor
    /// that an unusual frame has confused must notice before it overwrites the header.
    ///
    /// Chunks are not read, and the index only if it is written.
    pub(super) fn check(&self, table: &ChunkTable) -> Result<(), FrameWriteError> {
        self.read(table)
            .map_err(FrameWriteError::Unreadable)?
            .map_or(Ok(()), |what| Err(FrameWriteError::Altered { what }))
    }

    /// What differs, if anything.
    fn read(&self, table: &ChunkTable) -> Result<Option<&'static str>, FrameError> {
        let bytes = Bytes::copy_from_slice(self.header);
        let header = FrameHeader::parse(&bytes)?;
        let expected = &table.header;
        if header.header_len as usize != bytes.len() {
            let (found, len) = (header.header_len.into(), bytes.len() as u64);
            return Err(FrameError::HeaderLen { found, min: len, max: len });
        }
        let lengths = |header: &FrameHeader| (header.frame_len, header.nbytes, header.cbytes, header.vl_blocks);
        if lengths(&header) != lengths(expected) {
            return Ok(Some("lengths and flags of the header"));
        }
        let plan = Extents::new(&header, header.frame_len, header.frame_type, &table.limits)?;
        if Metalayers::of_header(&bytes, header.layout)? != table.metalayers {
            return Ok(Some("metalayers of the header"));
        }
        if self.tail.is_empty() {
            return Ok(None);
        }

        let mut opener = match header.frame_type {
            FrameType::Contiguous => FrameOpener::new(header.frame_len, &table.registry, table.limits),
            FrameType::Sparse => FrameOpener::sparse(header.frame_len, &table.registry, table.limits),
        };
        opener.feed(self.tail_at, Bytes::copy_from_slice(self.tail));
        let mut get = |range| opener.get(range);
        let missing = FrameError::MissingBytes { start: self.tail_at, end: header.frame_len };
        let Some(located) = opener.trailer(&header, &plan, &mut get)? else { return Err(missing) };
        let trailer_bytes = located.bytes.unwrap_or_default();
        let trailer = Trailer::parse(&trailer_bytes, header.layout)?;
        if !named(&trailer.vlmetalayers).eq(named(&table.trailer.vlmetalayers)) {
            return Ok(Some("metalayers of the trailer"));
        }
        if !self.has_index {
            return Ok(None);
        }

        let Some((index, index_bytes)) = opener.index(&header, &plan, Some(located.start), &mut get)? else {
            return Err(missing);
        };
        if !index.has_values_of(table.entries()) {
            return Ok(Some("entries of the index"));
        }
        check_entries(&header, &index)?;
        let sums = Checksums::examine(&header, &bytes, &index_bytes, index.len(), &trailer, &trailer_bytes);
        let expected = |sums: &ChecksumState| match sums {
            ChecksumState::Absent | ChecksumState::Unknown => !table.has_checksums(),
            ChecksumState::Valid(_) => table.has_checksums(),
            ChecksumState::Outdated | ChecksumState::Damaged => false,
        };
        Ok((!expected(&sums)).then_some("checksums"))
    }
}

/// All but the checksums, which cover themselves and are compared separately.
fn named(metalayers: &Metalayers) -> impl Iterator<Item = (Cow<'_, str>, &Bytes)> {
    metalayers.iter().filter(|(name, _)| name != Checksums::NAME)
}
