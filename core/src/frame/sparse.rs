//! Sparse frames: a directory (or a prefix in an object store) with one file per chunk and one for the index.
//!
//! Source: sparse frame format document of C-Blosc2. The index file is a frame without chunks section whose index
//! entries are the numbers in the names of the chunk files.

use super::header::FrameType;
use super::index::Index;
use super::rules::{Form, Offered};
use super::table::{Place, Table, check_len};
use super::{Fingerprint, Fingerprinter, Frame, FrameParams, FrameWriteError, Layout, Metalayers};
use crate::chunk::{ChunkHeader, SpecialKind};
use crate::registry::Registry;

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

/// Where a chunk goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// Into the frame, at this offset from its start.
    Offset(u64),
    /// Into the chunk file of this number.
    File(u32),
}

/// A chunk to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkWrite {
    /// Where.
    pub target: Target,
    /// What, when it is not the chunk that was handed in.
    pub replacement: Option<Vec<u8>>,
}

impl ChunkWrite {
    /// What to store for `chunk`, the bytes that were handed in.
    pub fn bytes<'a>(&'a self, chunk: &'a [u8]) -> &'a [u8] {
        self.replacement.as_deref().unwrap_or(chunk)
    }
}

/// Writes a sparse frame: a state machine that is handed chunks and says which files to write.
///
/// Each file is written once, front to back. The index file, which [`finish`](Self::finish) returns, comes last: until
/// it is there, there is no frame.
#[derive(Debug, Clone)]
pub struct SparseWriter {
    table: Table,
    next_id: u64,
    /// Has digested the chunks so far.
    fingerprint: Option<Fingerprinter>,
    finished: bool,
}

impl SparseWriter {
    /// Starts a frame.
    ///
    /// # Errors
    /// Those of [`FrameWriter::new`](super::FrameWriter::new).
    pub fn new(params: &FrameParams, registry: &Registry) -> Result<Self, FrameWriteError> {
        if params.layout != Layout::Current || params.sequential {
            return Err(FrameWriteError::Layout { layout: params.layout });
        }
        let fingerprint = params.fingerprint.map(Fingerprinter::new);
        Ok(Self { table: Table::new(params, FrameType::Sparse, registry)?, next_id: 0, fingerprint, finished: false })
    }

    /// The header as it is so far, for those who keep it to recover the frame when its writer dies. No reader looks at
    /// it.
    pub fn header(&self) -> Vec<u8> {
        self.table.provisional_header_bytes()
    }

    /// Takes the next chunk and says which file to write; `None` when the index says it all.
    ///
    /// # Errors
    /// Those of [`FrameWriter::push`](super::FrameWriter::push).
    pub fn push(&mut self, chunk: &[u8]) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(Offered::Chunk(chunk), None)
    }

    /// Adds a chunk of `nbytes` bytes that consists of a special value, other than a repeated one.
    ///
    /// # Errors
    /// Those of [`FrameWriter::push_special`](super::FrameWriter::push_special).
    pub fn push_special(&mut self, kind: SpecialKind, nbytes: usize) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(Offered::Special(kind, nbytes), None)
    }

    /// Adds the chunk that someone else has written, or is going to write, into the file of number `id`. This is how
    /// several writers fill one frame and one of them commits it. The numbers should be dense, and none be used twice.
    ///
    /// # Errors
    /// Those of [`FrameWriter::push`](super::FrameWriter::push); [`FrameWriteError::Adopted`] for a chunk that cannot
    /// stay as it is: one without a body.
    pub fn adopt(&mut self, id: u32, chunk: &[u8]) -> Result<(), FrameWriteError> {
        self.place(Offered::Chunk(chunk), Some(id)).map(drop)
    }

    /// As [`adopt`](Self::adopt), given the first bytes of the chunk (32 of them suffice) and the length of its file.
    ///
    /// # Errors
    /// Those of [`adopt`](Self::adopt).
    pub fn adopt_head(&mut self, id: u32, head: &[u8], len: u64) -> Result<(), FrameWriteError> {
        let len = usize::try_from(len).map_err(|_| FrameWriteError::TooLong)?;
        self.place(Offered::Head(head, len), Some(id)).map(drop)
    }

    /// Adds `count` chunks of `nbytes` bytes each that consist of a special value, other than a repeated one, and are in the
    /// index alone: in one step, however many there are. `false`, and nothing has changed, when such chunks have to be
    /// stored, or are no whole number of items; they can then be pushed one by one.
    ///
    /// # Errors
    /// As [`push_special`](Self::push_special).
    pub fn push_specials(&mut self, kind: SpecialKind, nbytes: usize, count: u64) -> Result<bool, FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        self.table.push_specials(kind, nbytes, count)
    }

    fn place(&mut self, offered: Offered<'_>, id: Option<u32>) -> Result<Option<ChunkWrite>, FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        let number = self.nchunks();
        let accepted = self.table.admit(number, offered, Place::Insert)?;
        let file = id.map_or(self.next_id, u64::from);
        let Ok(target) = u32::try_from(file).map(Target::File) else {
            return Err(FrameWriteError::TooManyChunks { max: u64::from(u32::MAX) });
        };
        let (entry, len, write) = match accepted.form {
            Form::Entry(special) if id.is_none() => (special, 0, None),
            Form::AsIs(len) => (file, len, Some(ChunkWrite { target, replacement: None })),
            Form::Bytes(bytes) if id.is_none() => {
                (file, bytes.len(), Some(ChunkWrite { target, replacement: Some(bytes) }))
            }
            Form::Entry(_) | Form::Bytes(_) => return Err(FrameWriteError::Adopted { chunk: number }),
        };
        self.table.header.cbytes = check_len(self.cbytes() + len as u64)?;
        let stored = write.as_ref().map(|write| write.bytes(offered.bytes()));
        let sum = stored.map_or(0, |bytes| self.table.checksum(bytes));
        if let (Some(fingerprint), Some(bytes)) = (&mut self.fingerprint, stored) {
            fingerprint.update(bytes);
        }
        self.table.put(number, entry, accepted.nbytes, accepted.vl_blocks, sum, Place::Insert);
        if write.is_some() {
            self.next_id = self.next_id.max(file + 1);
        }
        Ok(write)
    }

    /// Replaces the content of a metalayer by one of the same length.
    ///
    /// # Errors
    /// Those of [`FrameWriter::set_metalayer`](super::FrameWriter::set_metalayer).
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        self.table.set_metalayer(name, content)
    }

    /// Adds or replaces a variable-length metalayer.
    ///
    /// # Errors
    /// Those of [`FrameWriter::set_vlmetalayer`](super::FrameWriter::set_vlmetalayer).
    pub fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        self.table.set_vlmetalayer(name, content)
    }

    /// Takes over the variable-length metalayers of another frame, without decoding them.
    ///
    /// # Errors
    /// Those of [`set_vlmetalayer`](Self::set_vlmetalayer).
    pub fn copy_vlmetalayers(&mut self, frame: &Frame) -> Result<(), FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        self.table.copy_vlmetalayers(&frame.trailer().vlmetalayers)
    }

    /// As [`copy_vlmetalayers`](Self::copy_vlmetalayers), from a trailer whose frame is damaged.
    ///
    /// # Errors
    /// Those of [`set_vlmetalayer`](Self::set_vlmetalayer).
    pub fn copy_encoded_vlmetalayers(&mut self, encoded: &Metalayers) -> Result<(), FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        self.table.copy_vlmetalayers(encoded)
    }

    /// Ends the frame: returns the whole index file. Calling it again returns the same bytes.
    ///
    /// # Errors
    /// Those of [`FrameWriter::finish`](super::FrameWriter::finish).
    pub fn finish(&mut self) -> Result<Vec<u8>, FrameWriteError> {
        let file = index_file(&mut self.table, self.fingerprint.clone())?;
        self.finished = true;
        Ok(file)
    }

    /// Chunks so far.
    pub fn nchunks(&self) -> u64 {
        self.table.len()
    }

    /// Decoded bytes so far.
    pub fn nbytes(&self) -> u64 {
        self.table.header.nbytes
    }

    /// The fingerprint in the trailer; [`Fingerprint::NONE`] when there is none, and until the frame is finished.
    pub fn fingerprint(&self) -> Fingerprint {
        self.table.trailer.fingerprint
    }

    /// Bytes of all chunk files so far.
    pub fn cbytes(&self) -> u64 {
        self.table.header.cbytes
    }
}

/// Header, index and trailer of a sparse frame.
pub(super) fn index_file(table: &mut Table, fingerprint: Option<Fingerprinter>) -> Result<Vec<u8>, FrameWriteError> {
    table.header.cbytes = table.header.cbytes.max(least_cbytes(table.entries()));
    let index = table.index_bytes()?;
    let header_len = u64::from(table.header.header_len);
    let trailer = table.close(&index, header_len, false, fingerprint)?;
    let mut out = table.header_bytes();
    out.extend(index);
    out.extend(trailer);
    Ok(out)
}
