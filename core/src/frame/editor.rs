//! Editing a frame without overwriting anything that it consists of.

use std::collections::{BTreeMap, BTreeSet};

use super::chunk_table::{ChunkTable, Insertion, check_len};
use super::commit_check::CommitCheck;
use super::header::FrameType;
use super::index::{ChunkEntry, is_special, special_of};
use super::rules::{CheckedChunk, NewChunk, Representation};
use super::sparse::index_file;
use super::{
    ChecksumState, ChunkAddress, ChunkWrite, Fingerprint, Frame, FrameError, FrameLayout, FrameWriteError, Metalayers,
    SpecialPlacement, chunk_checksum,
};
use crate::chunk::{ChunkHeader, SpecialKind};
use crate::id::CodecId;
use crate::registry::Registry;

/// How the changes of an editor take effect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "nothing has changed until a commit is carried out"]
pub enum EditCommit {
    /// A contiguous frame: write `tail` (after the chunks written so far), make sure that it and the chunks are on
    /// stable storage, then write `patch`, the one write that makes the new frame the valid one. After that the file
    /// may be cut to `frame_len`.
    ///
    /// Until `patch` is written the old frame is intact. It lies within one [`SECTOR`](Self::SECTOR) and not beyond
    /// the end of the old frame, so that a disk writes all of it or nothing.
    Patch {
        /// Index and trailer, with their offset; `None` if neither changed.
        tail: Option<(u64, Vec<u8>)>,
        /// The part of the header that changed, with its offset; `None` if nothing changed at all. It includes the
        /// trailer of a frame without chunks, which readers expect right after the header.
        patch: Option<(u64, Vec<u8>)>,
        /// Bytes of the new frame.
        frame_len: u64,
    },
    /// A contiguous frame in which more has to be overwritten than a disk writes at once: a metalayer of the header
    /// that is not in the sector of the lengths, or the trailer of a frame without chunks after a long header. Replace
    /// the file (write a new one, make sure that it is on stable storage, rename it) by one that consists of `head`,
    /// the bytes of the old file from there to `tail_at`, and `tail`.
    Rewrite {
        /// The header, and what follows it in a frame without chunks.
        head: Vec<u8>,
        /// The end of what is kept of the old file, with the chunks written since: not less than the length of `head`.
        tail_at: u64,
        /// Index and trailer.
        tail: Vec<u8>,
    },
    /// A sparse frame: make sure that the chunk files are on stable storage, replace the index file as a whole (write
    /// a new one and rename it; in an object store, put it), then remove the chunk files that no chunk needs any more.
    Replace {
        /// The new index file.
        index: Vec<u8>,
        /// Numbers of the chunk files to remove.
        remove: Vec<u32>,
    },
}

impl EditCommit {
    /// Bytes that a disk writes as a whole or not at all, when their offset is a multiple of it.
    pub const SECTOR: u64 = 512;
}

/// Edits a frame: a state machine that takes changes and says what to write.
///
/// Chunks are written to free space: after the end of a contiguous frame (what lies between is a hole, which the format
/// allows), or into new files of a sparse one. [`commit`](Self::commit) says how all changes since the last commit take
/// effect together. A program that dies before that leaves the old frame. A copy made with
/// [`FrameWriter`](super::FrameWriter) has no holes.
///
/// A contiguous frame must be the last thing in its file: what follows it is overwritten.
///
/// Valid checksums are kept up to date; outdated ones are removed. A fingerprint is removed: making a new one takes
/// reading the whole frame, which is what a copy does.
#[derive(Debug, Clone)]
pub struct FrameEditor {
    table: ChunkTable,
    /// Where the next chunk goes, from the start of a contiguous frame.
    end: u64,
    /// What is in the file.
    committed: Committed,
    /// The known lengths of stored chunks, by entry. Only needed to keep the total of sparse frames right.
    stored: BTreeMap<u64, u64>,
    /// Files of a sparse frame written since the last commit.
    written: BTreeSet<u32>,
    /// Files of a sparse frame that exist and belong to nobody that this editor knows.
    foreign: BTreeSet<u32>,
    /// Files of a sparse frame that may be of nobody: the next commit removes those that no chunk needs.
    left: BTreeSet<u32>,
    /// All smaller file numbers are in use, or are not to be used.
    next_id: u32,
    /// Others write to the same place.
    shares_files: bool,
    /// Numbers of files that were ever in use are not used again.
    fresh_numbers: bool,
    /// The highest number that is known to have been used, if numbers are not used again.
    highest: Option<u32>,
    index_changed: bool,
    trailer_changed: bool,
}

#[derive(Debug, Clone)]
struct Committed {
    header: Vec<u8>,
    frame_len: u64,
    /// Files of a sparse frame that the index in the directory refers to.
    files: BTreeSet<u32>,
}

impl FrameEditor {
    /// Starts an editor for `frame`.
    ///
    /// # Errors
    /// [`FrameWriteError::Layout`] for frames before 2.0.0-rc1: copy those into a new frame.
    /// [`FrameWriteError::Checksums`] for frames whose header, index or trailer do not match their checksums.
    pub fn new(frame: &Frame, registry: &Registry) -> Result<Self, FrameWriteError> {
        Self::with_placement(frame, SpecialPlacement::Index, registry)
    }

    /// As [`new`](Self::new), with the placement of new chunks of a special value.
    pub fn with_placement(
        frame: &Frame,
        special: SpecialPlacement,
        registry: &Registry,
    ) -> Result<Self, FrameWriteError> {
        let layout = frame.header().layout;
        if layout != FrameLayout::Current {
            return Err(FrameWriteError::Layout { layout });
        }
        if *frame.checksums() == ChecksumState::Damaged {
            return Err(FrameWriteError::Checksums);
        }
        let table = ChunkTable::of(frame, special, registry)?;
        let files = files_of(&table);
        let (header, frame_len) = (frame.header_bytes().to_vec(), frame.frame_len());
        Ok(Self {
            end: frame_len,
            committed: Committed { header, frame_len, files },
            table,
            stored: BTreeMap::new(),
            written: BTreeSet::new(),
            foreign: BTreeSet::new(),
            left: BTreeSet::new(),
            next_id: 0,
            shares_files: false,
            fresh_numbers: false,
            highest: None,
            index_changed: false,
            trailer_changed: false,
        })
    }

    /// Number of chunks, with all changes.
    pub fn nchunks(&self) -> u64 {
        self.table.len()
    }

    /// Decoded bytes, with all changes.
    pub fn nbytes(&self) -> u64 {
        self.table.header.nbytes
    }

    /// The metalayers of the header, with all changes.
    pub fn metalayers(&self) -> &Metalayers {
        &self.table.metalayers
    }

    /// Decoded bytes of every chunk but the last; `None` if chunks differ in size, or the frame is empty and it is not
    /// settled yet.
    pub fn chunk_size(&self) -> Option<usize> {
        self.table.header.chunk_size.fixed()
    }

    /// Decoded bytes of chunk `i`.
    ///
    /// # Errors
    /// [`FrameWriteError::UnknownLen`] when chunks differ in size and nobody has called
    /// [`set_chunk_header`](Self::set_chunk_header).
    pub fn chunk_len(&self, i: u64) -> Result<u64, FrameWriteError> {
        self.table.chunk_len(i)
    }

    /// Where chunk `i` is, with all changes, including those that are not committed yet.
    ///
    /// # Errors
    /// [`FrameWriteError::NoSuchChunk`]; [`FrameError::SpecialEntry`] for an entry that cannot be understood.
    pub fn entry(&self, i: u64) -> Result<ChunkEntry, FrameWriteError> {
        let entry = self.table.entry(i)?;
        if is_special(entry) {
            let kind = special_of(entry).ok_or(FrameError::SpecialEntry { chunk: i, found: entry })?;
            return Ok(ChunkEntry::Special(kind));
        }
        Ok(match self.table.header.frame_type {
            FrameType::Contiguous => ChunkEntry::Stored { offset: u64::from(self.table.header.header_len) + entry },
            // File numbers were checked when the frame was opened.
            FrameType::Sparse => ChunkEntry::File { id: entry as u32 },
        })
    }

    /// Tells the editor the header of chunk `i`. Needed before a chunk is replaced or removed if the frame does not say
    /// how long it is; in a sparse frame it also keeps the total of the chunk files right.
    ///
    /// # Errors
    /// [`FrameWriteError::NoSuchChunk`].
    pub fn set_chunk_header(&mut self, i: u64, chunk: &ChunkHeader) -> Result<(), FrameWriteError> {
        self.table.set_chunk_header(i, chunk)?;
        self.stored.insert(self.table.entry(i)?, chunk.cbytes as u64);
        Ok(())
    }

    /// Compares the stored bytes of chunk `i` with their checksum, if the frame has checksums. Do that before deriving
    /// a new chunk from an old one, or damage would get a valid checksum.
    ///
    /// # Errors
    /// [`FrameError::ChunkChecksum`] when they differ.
    pub fn check_chunk_bytes(&self, i: u64, chunk: &[u8]) -> Result<(), FrameWriteError> {
        let offset = match self.entry(i)? {
            ChunkEntry::Special(_) => return Ok(()),
            ChunkEntry::Stored { offset } => Some(offset),
            ChunkEntry::File { .. } => None,
        };
        let Some(expected) = self.table.stored_checksum(i) else { return Ok(()) };
        match chunk_checksum(chunk) {
            found if found == expected => Ok(()),
            found => Err(FrameError::ChunkChecksum { chunk: i, offset, expected, found }.into()),
        }
    }

    /// Sets the chunk size of an empty frame, which otherwise its first chunk sets.
    ///
    /// # Errors
    /// [`FrameWriteError::Param`] when there are chunks, or the size is 0 or too large.
    pub fn set_chunk_size(&mut self, chunk_size: usize) -> Result<(), FrameWriteError> {
        let max = if self.nchunks() > 0 { 0 } else { ChunkHeader::MAX_NBYTES };
        match u32::try_from(chunk_size) {
            Ok(n) if n > 0 && chunk_size <= max => self.table.set_chunk_size(n),
            _ => return Err(FrameWriteError::Param { what: "new chunk size", found: chunk_size, min: 1, max }),
        }
        Ok(())
    }

    /// Appends a chunk. `None` means that nothing has to be written for it.
    ///
    /// # Errors
    /// The chunk is damaged, or its length is not right for its place: see
    /// [`FrameWriter::push`](super::FrameWriter::push).
    pub fn append(&mut self, chunk: &[u8]) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(self.nchunks(), NewChunk::Chunk(chunk), Insertion::Insert)
    }

    /// Appends `nbytes` bytes of a special value as one chunk.
    ///
    /// # Errors
    /// Those of [`append`](Self::append).
    pub fn append_special(&mut self, kind: SpecialKind, nbytes: usize) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(self.nchunks(), NewChunk::Special(kind, nbytes), Insertion::Insert)
    }

    /// Inserts a chunk before chunk `i`, or at the end if that is `nchunks()`.
    ///
    /// # Errors
    /// Those of [`append`](Self::append).
    pub fn insert(&mut self, i: u64, chunk: &[u8]) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(i, NewChunk::Chunk(chunk), Insertion::Insert)
    }

    /// Inserts `nbytes` bytes of a special value before chunk `i`, as one chunk.
    ///
    /// # Errors
    /// Those of [`append`](Self::append).
    pub fn insert_special(
        &mut self,
        i: u64,
        kind: SpecialKind,
        nbytes: usize,
    ) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(i, NewChunk::Special(kind, nbytes), Insertion::Insert)
    }

    /// Replaces chunk `i`.
    ///
    /// # Errors
    /// Those of [`append`](Self::append), and [`FrameWriteError::UnknownLen`].
    pub fn update(&mut self, i: u64, chunk: &[u8]) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(i, NewChunk::Chunk(chunk), Insertion::Replace)
    }

    /// Replaces chunk `i` by `nbytes` bytes of a special value.
    ///
    /// # Errors
    /// Those of [`update`](Self::update).
    pub fn update_special(
        &mut self,
        i: u64,
        kind: SpecialKind,
        nbytes: usize,
    ) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(i, NewChunk::Special(kind, nbytes), Insertion::Replace)
    }

    /// Removes chunk `i`.
    ///
    /// # Errors
    /// [`FrameWriteError::NoSuchChunk`], [`FrameWriteError::UnknownLen`].
    pub fn delete(&mut self, i: u64) -> Result<(), FrameWriteError> {
        let entry = self.table.remove(i)?;
        self.forget(entry);
        self.index_changed = true;
        Ok(())
    }

    /// Reorders the chunks: chunk `order[i]` becomes chunk `i`.
    ///
    /// # Errors
    /// [`FrameWriteError::Order`] when `order` is no permutation, or would move a short last chunk.
    pub fn reorder(&mut self, order: &[u64]) -> Result<(), FrameWriteError> {
        self.table.reorder(order)?;
        self.index_changed = true;
        Ok(())
    }

    /// Lets the chunks differ in size from now on. This cannot be undone, and less software reads such frames.
    ///
    /// Special values in the index have no length in such a frame; the returned chunks are to be written in their
    /// place.
    ///
    /// # Errors
    /// [`FrameWriteError::Special`] when a special value cannot be stored as a repeated value, and
    /// [`FrameWriteError::InFlight`] when the returned chunks would take more memory than
    /// [`Limits::in_flight_bytes`](crate::Limits) allow: a few bytes of an index can stand for millions of chunks. On
    /// error the frame is unchanged.
    pub fn make_variable(&mut self) -> Result<Vec<ChunkWrite>, FrameWriteError> {
        let limit = self.table.limits.in_flight_bytes as u64;
        let check = |needed| match needed > limit {
            true => Err(FrameWriteError::InFlight { what: "storing the special values of the index", needed, limit }),
            false => Ok(()),
        };
        let special = self.table.entries().runs().filter(|&(_, entry)| is_special(entry));
        let special: u64 = special.map(|(chunks, _)| chunks.end - chunks.start).sum();
        let (write, header) = (size_of::<ChunkWrite>() as u64, ChunkHeader::EXTENDED_LEN as u64);
        // Check a lower bound before any work is done.
        check(special.saturating_mul(write + header))?;
        let mut edited = self.clone();
        edited.table.set_variable();
        let mut writes = Vec::new();
        let mut needed = 0;
        for i in 0..edited.nchunks() {
            let entry = edited.table.entry(i)?;
            if !is_special(entry) {
                continue;
            }
            let kind = special_of(entry).ok_or(FrameError::SpecialEntry { chunk: i, found: entry })?;
            let nbytes = edited.chunk_len(i)? as usize;
            let stored = edited.place(i, NewChunk::Special(kind, nbytes), Insertion::Replace)?;
            needed += write + stored.as_ref().map_or(0, |write| write.bytes(&[]).len() as u64);
            check(needed)?;
            writes.extend(stored);
        }
        edited.index_changed = true;
        *self = edited;
        Ok(writes)
    }

    /// Adds or replaces a variable-length metalayer.
    ///
    /// # Errors
    /// The name is too long, or it would be the 17th.
    pub fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        self.table.set_vlmetalayer(name, content)?;
        self.trailer_changed = true;
        Ok(())
    }

    /// As [`set_vlmetalayer`](Self::set_vlmetalayer), compressed with `codec`; see
    /// [`FrameParams::vlmetalayer_codec`](super::FrameParams::vlmetalayer_codec).
    ///
    /// # Errors
    /// As there, and [`FrameWriteError::Vlmetalayer`] when the registry does not have the codec.
    pub fn set_vlmetalayer_with(&mut self, name: &str, content: &[u8], codec: CodecId) -> Result<(), FrameWriteError> {
        self.table.set_vlmetalayer_with(name, content, Some(codec))?;
        self.trailer_changed = true;
        Ok(())
    }

    /// Removes a variable-length metalayer.
    ///
    /// # Errors
    /// [`FrameWriteError::Metalayer`] when there is none with that name.
    pub fn delete_vlmetalayer(&mut self, name: &str) -> Result<(), FrameWriteError> {
        if self.table.trailer.vlmetalayers.remove(name).is_none() {
            return Err(FrameWriteError::Metalayer { name: name.to_owned(), reason: "there is none with that name" });
        }
        self.trailer_changed = true;
        Ok(())
    }

    /// Replaces the content of a metalayer by one of the same length, as the header cannot grow.
    ///
    /// # Errors
    /// [`FrameWriteError::Metalayer`] when there is none with that name or the length differs.
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        self.table.set_metalayer(name, content)?;
        // Fingerprint and checksums cover the header.
        self.trailer_changed |= self.table.trailer.fingerprint != Fingerprint::NONE || self.table.has_checksums();
        Ok(())
    }

    /// Prepares the editor of a sparse frame for a place that others write to as well. The numbers of new files follow
    /// all that are in use, so that they hardly ever meet files that others have written or that no index names any
    /// more. Files that no chunk needs any more are not removed by commits, as readers of an older index may need them.
    ///
    /// `highest` is the highest number that files had which are gone by now, if that is known.
    pub fn share_files(&mut self, highest: Option<u32>) {
        self.shares_files = true;
        self.keep_numbers_fresh(highest);
        // They may be of others who have not committed yet.
        self.left.clear();
    }

    /// Prepares the editor of a sparse frame that others read, but do not write: the numbers of new files follow all
    /// that have been in use. A reader that has an older index then gets the chunks of that index, or finds that they
    /// are gone; it never gets other chunks.
    ///
    /// `existing` are the numbers of all chunk files. The next commit removes those that no chunk needs, which dead
    /// editors have left. Commits leave the file with the highest number where it is, even if no chunk needs it any
    /// more, so that the next editor knows where to continue.
    pub fn keep_numbers_fresh(&mut self, existing: impl IntoIterator<Item = u32>) {
        self.fresh_numbers = true;
        self.left = existing.into_iter().collect();
        self.highest = highest_kept(&self.left);
        self.next_id = self.first_id();
    }

    /// Gives a chunk that has not been committed another file, because file `id` exists and belongs to somebody else.
    /// Returns the new number.
    ///
    /// # Errors
    /// [`FrameWriteError::TooManyChunks`] when there are no more numbers.
    pub fn renumber_file(&mut self, id: u32) -> Result<u32, FrameWriteError> {
        self.written.remove(&id);
        self.foreign.insert(id);
        let new = self.free_id()?;
        let (old, new_entry) = (u64::from(id), u64::from(new));
        self.table.replace_entry(old, new_entry);
        if let Some(len) = self.stored.remove(&old) {
            self.stored.insert(new_entry, len);
        }
        Ok(new)
    }

    /// Says how all changes take effect together, and assumes that they will. If carrying out the commit fails, it can
    /// be carried out again; until that has succeeded, nothing else from this editor may be.
    ///
    /// The new header, index and trailer are parsed first as every reader parses them, within the limits that the frame
    /// was opened with, so that no commit leaves a frame that does not open.
    ///
    /// # Errors
    /// Index or trailer cannot be encoded; [`FrameWriteError::Unreadable`] and [`FrameWriteError::Altered`] when the
    /// frame could not be opened any more, or would hold something else. Nothing is committed then.
    pub fn commit(&mut self) -> Result<EditCommit, FrameWriteError> {
        match self.table.header.frame_type {
            FrameType::Contiguous => self.commit_contiguous(),
            FrameType::Sparse => self.commit_sparse(),
        }
    }

    fn commit_contiguous(&mut self) -> Result<EditCommit, FrameWriteError> {
        let header_len = u64::from(self.table.header.header_len);
        let empty = self.nchunks() == 0;
        let mut tail = Vec::new();
        let mut tail_at = self.end;
        let mut has_index = empty;
        if empty && (self.index_changed || self.trailer_changed) {
            // Readers expect the trailer of a frame without chunks right after the header.
            tail_at = header_len;
            if self.index_changed {
                self.table.header.cbytes = 0;
            }
            tail = self.table.close(&[], tail_at, false, None)?;
        } else if self.index_changed || (self.trailer_changed && self.table.has_checksums()) {
            // Checksums cover the index as it is in the file, which another writer may have encoded otherwise.
            tail = self.table.index_bytes()?;
            // The index is found at the end of the chunks section, so that has to reach up to here.
            self.table.header.cbytes = check_len(self.end - header_len)?;
            let trailer = self.table.close(&tail, tail_at, false, None)?;
            tail.extend(trailer);
            has_index = true;
        } else if self.trailer_changed {
            // There may be a gap between index and trailer, so only the trailer has to be written again.
            tail = self.table.close(&[], tail_at, false, None)?;
        }
        let header = self.table.header_bytes();
        CommitCheck { header: &header, tail_at, tail: &tail, has_index }.check(&self.table)?;
        let frame_len = self.table.header.frame_len;
        let commit = if empty { self.patch_empty(&header, tail) } else { self.patch(&header, tail_at, tail) };
        self.set_committed(header, frame_len);
        Ok(commit)
    }

    /// The commit of a frame with chunks. Index and trailer, if they change, go after everything else.
    fn patch(&self, header: &[u8], tail_at: u64, tail: Vec<u8>) -> EditCommit {
        let patch = changed_part(&self.committed.header, header);
        if patch.as_ref().is_some_and(|patch| !is_one_sector(patch)) {
            return EditCommit::Rewrite { head: header.to_vec(), tail_at, tail };
        }
        let tail = (!tail.is_empty()).then_some((tail_at, tail));
        EditCommit::Patch { tail, patch, frame_len: self.table.header.frame_len }
    }

    /// The commit of a frame without chunks, whose trailer goes right after the header, where chunks or the old trailer
    /// are.
    fn patch_empty(&self, header: &[u8], trailer: Vec<u8>) -> EditCommit {
        let frame_len = self.table.header.frame_len;
        let patch = changed_part(&self.committed.header, header);
        if trailer.is_empty() {
            return match patch {
                Some(patch) if !is_one_sector(&patch) => {
                    EditCommit::Rewrite { head: header.to_vec(), tail_at: frame_len, tail: Vec::new() }
                }
                patch => EditCommit::Patch { tail: None, patch, frame_len },
            };
        }
        let frame = [header, &trailer[..]].concat();
        let start = patch.map_or(header.len(), |(start, _)| start as usize);
        // Write what lies after the end of the old frame first: a file cannot grow and change in one atomic step.
        let end = frame.len().min(usize::try_from(self.committed.frame_len).unwrap_or(usize::MAX));
        let patch = (start as u64, frame[start..end].to_vec());
        if !is_one_sector(&patch) {
            return EditCommit::Rewrite { head: frame, tail_at: frame_len, tail: Vec::new() };
        }
        let tail = (end < frame.len()).then(|| (end as u64, frame[end..].to_vec()));
        EditCommit::Patch { tail, patch: Some(patch), frame_len }
    }

    fn commit_sparse(&mut self) -> Result<EditCommit, FrameWriteError> {
        let files = files_of(&self.table);
        if self.fresh_numbers
            && let Some(&last) = files.last()
        {
            // C-Blosc2 takes file numbers for offsets and refuses those beyond the bytes of all chunks. It does not
            // mind a total that is too large, which only the numbers of very small frames need.
            let least = u64::from(last) + ChunkHeader::EXTENDED_LEN as u64;
            self.table.header.cbytes = self.table.header.cbytes.max(least);
        }
        let index = index_file(&mut self.table, None)?;
        let (header, tail) = index.split_at(self.table.header.header_len as usize);
        let tail_at = header.len() as u64;
        CommitCheck { header, tail_at, tail, has_index: true }.check(&self.table)?;
        let header = header.to_vec();
        let mut before: BTreeSet<u32> = self.committed.files.union(&self.written).copied().collect();
        if self.fresh_numbers {
            before.append(&mut self.left);
            before.extend(self.highest);
            self.highest = highest_kept(&before);
        }
        let remove = match self.shares_files {
            true => Vec::new(),
            false => before.into_iter().filter(|id| !files.contains(id) && self.highest != Some(*id)).collect(),
        };
        self.committed.files = files;
        self.written.clear();
        self.next_id = self.first_id();
        self.set_committed(header, index.len() as u64);
        Ok(EditCommit::Replace { index, remove })
    }

    /// Rolls back to an earlier copy of this editor, with no commit in between. What has been written since is
    /// overwritten, or removed by the next commit.
    pub fn roll_back(&mut self, to: Self) {
        let (written, foreign) = (std::mem::take(&mut self.written), std::mem::take(&mut self.foreign));
        *self = Self { written, foreign, next_id: self.next_id, ..to };
    }

    fn set_committed(&mut self, header: Vec<u8>, frame_len: u64) {
        self.committed.header = header;
        self.committed.frame_len = frame_len;
        self.end = frame_len;
        self.index_changed = false;
        self.trailer_changed = false;
    }

    fn place(
        &mut self,
        i: u64,
        offered: NewChunk<'_>,
        place: Insertion,
    ) -> Result<Option<ChunkWrite>, FrameWriteError> {
        let accepted = self.table.check_chunk(i, offered, place)?;
        let old = if place == Insertion::Replace { Some(self.table.entry(i)?) } else { None };
        let CheckedChunk { nbytes, vl_blocks, form } = accepted;
        let (entry, write) = match form {
            Representation::Entry(special) => (special, None),
            Representation::AsIs(len) => self.allocate(len as u64, None)?,
            Representation::Bytes(bytes) => self.allocate(bytes.len() as u64, Some(bytes))?,
        };
        let sum = write.as_ref().map_or(0, |write| self.table.checksum(write.bytes(offered.bytes())));
        self.table.put(i, entry, nbytes, vl_blocks, sum, place);
        if let Some(old) = old {
            self.forget(old);
        }
        self.index_changed = true;
        Ok(write)
    }

    /// Finds a place for a chunk of `len` bytes that the committed frame does not use.
    fn allocate(
        &mut self,
        len: u64,
        replacement: Option<Vec<u8>>,
    ) -> Result<(u64, Option<ChunkWrite>), FrameWriteError> {
        let (entry, address) = match self.table.header.frame_type {
            FrameType::Contiguous => {
                let offset = self.end;
                self.end = check_len(offset + len)?;
                (offset - u64::from(self.table.header.header_len), ChunkAddress::Offset(offset))
            }
            FrameType::Sparse => {
                let id = self.free_id()?;
                self.table.header.cbytes = check_len(self.table.header.cbytes + len)?;
                self.stored.insert(id.into(), len);
                (id.into(), ChunkAddress::File(id))
            }
        };
        Ok((entry, Some(ChunkWrite { address, replacement })))
    }

    /// The smallest file number, of those that new files may have, that neither the committed index nor a new chunk uses:
    /// C-Blosc2 cannot open frames with large numbers and little data unless their total is raised.
    fn free_id(&mut self) -> Result<u32, FrameWriteError> {
        let used = |id| [&self.committed.files, &self.written, &self.foreign].iter().any(|ids| ids.contains(&id));
        while used(self.next_id) {
            self.next_id =
                self.next_id.checked_add(1).ok_or(FrameWriteError::TooManyChunks { max: u32::MAX.into() })?;
        }
        self.written.insert(self.next_id);
        Ok(self.next_id)
    }

    /// The first number that new files may have.
    fn first_id(&self) -> u32 {
        if !self.fresh_numbers {
            return 0;
        }
        let highest = self.committed.files.last().copied().max(self.highest);
        highest.map_or(0, |highest| highest.saturating_add(1))
    }

    /// Forgets a stored chunk that is no longer needed.
    fn forget(&mut self, entry: u64) {
        if self.table.header.frame_type == FrameType::Sparse
            && let Some(len) = self.stored.remove(&entry)
        {
            self.table.header.cbytes = self.table.header.cbytes.saturating_sub(len);
        }
    }
}

/// The highest number after which new files are numbered. Of stray files with very high numbers this is none: they must
/// not leave the frame without numbers.
fn highest_kept(files: &BTreeSet<u32>) -> Option<u32> {
    files.range(..u32::MAX - (1 << 16)).next_back().copied()
}

/// The files that a sparse frame refers to.
fn files_of(table: &ChunkTable) -> BTreeSet<u32> {
    if table.header.frame_type == FrameType::Contiguous {
        return BTreeSet::new();
    }
    let stored = table.entries().runs().map(|(_, entry)| entry).filter(|&entry| !is_special(entry));
    stored.filter_map(|entry| u32::try_from(entry).ok()).collect()
}

/// The part from the first to the last byte in which two headers of one length differ.
fn changed_part(old: &[u8], new: &[u8]) -> Option<(u64, Vec<u8>)> {
    let differs = |(a, b): (&u8, &u8)| a != b;
    let first = old.iter().zip(new).position(differs)?;
    let last = old.iter().zip(new).rposition(differs)?;
    Some((first as u64, new[first..=last].to_vec()))
}

/// Whether a disk writes these bytes, at least one, in one step.
fn is_one_sector((start, bytes): &(u64, Vec<u8>)) -> bool {
    let last = start + (bytes.len() as u64).saturating_sub(1);
    start / EditCommit::SECTOR == last / EditCommit::SECTOR
}
