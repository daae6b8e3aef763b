//! Writing a frame, front to back.

use super::chunk_table::{ChunkTable, Insertion, check_len};
use super::header::FrameType;
use super::rules::{NewChunk, Representation};
use super::sparse::index_file;
use super::{
    Fingerprint, Fingerprinter, Frame, FrameParams, FrameWriteError, Metalayers, Sequential, SpecialPlacement,
};
use crate::chunk::SpecialKind;
use crate::registry::Registry;

/// Where a chunk is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkAddress {
    /// In a contiguous frame, at this offset from its start.
    Offset(u64),
    /// In the chunk file of this number, next to the index of a sparse frame.
    File(u32),
}

/// A chunk to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkWrite {
    /// Where to store it.
    pub address: ChunkAddress,
    /// The bytes to store, if they differ from those passed in.
    pub replacement: Option<Vec<u8>>,
}

impl ChunkWrite {
    /// The bytes to store for `chunk`, as passed in.
    pub fn bytes<'a>(&'a self, chunk: &'a [u8]) -> &'a [u8] {
        self.replacement.as_deref().unwrap_or(chunk)
    }
}

/// Writes a frame: a state machine that takes chunks and says what to store. It does no I/O.
///
/// A contiguous frame consists of [`header`](Self::header), then the chunks that [`push`](Self::push) says to store, in
/// order, then what [`finish`](Self::finish) returns. The header has the same length before and after, but final
/// contents only after `finish`: a target that can seek writes a provisional one first and the final one last; any
/// other target holds the rest back.
///
/// A [sparse](FrameParams::frame_type) frame has a file for each chunk that `push` says to store, and an index file,
/// which `finish` returns. Each file is written once. The index file comes last: until it exists, there is no frame.
///
/// ```
/// use oxiblosc_core::chunk::{ChunkContext, ChunkEncoder, EncodeParams};
/// use oxiblosc_core::frame::{FrameParams, FrameWriter};
/// use oxiblosc_core::{Inline, Registry};
///
/// let registry = Registry::empty();
/// let encode = EncodeParams { level: 0, typesize: 4, filters: Default::default(), ..EncodeParams::default() };
/// let mut encoder = ChunkEncoder::new(&encode, &registry)?;
/// let mut writer = FrameWriter::new(&FrameParams::new(encode, 8), &registry)?;
///
/// let mut frame = writer.header();
/// for data in [&b"8 bytes "[..], b"and 4"] {
///     let chunk = encoder.encode(data, &ChunkContext::numbered(writer.nchunks()), &Inline)?;
///     // Nothing is stored for a chunk that the index describes in full.
///     if let Some(write) = writer.push(&chunk)? {
///         frame.extend_from_slice(write.bytes(&chunk));
///     }
/// }
/// frame.extend(writer.finish()?);
/// let header = writer.header();
/// frame[..header.len()].copy_from_slice(&header);
/// assert_eq!(frame.len() as u64, writer.frame_len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FrameWriter {
    table: ChunkTable,
    sequential: bool,
    /// Bytes of all stored chunks. (The header of a sparse frame can say more: see [`index_file`].)
    cbytes: u64,
    /// The number of the next chunk file of a sparse frame.
    next_id: u64,
    /// The digest of the chunks so far.
    fingerprint: Option<Fingerprinter>,
    /// Bytes of the whole frame, once it is finished.
    frame_len: Option<u64>,
}

impl FrameWriter {
    /// Starts a frame. `registry` provides the codecs for the index and the variable-length metalayers, which are
    /// stored if it lacks them.
    ///
    /// # Errors
    /// [`FrameWriteError::Param`], [`FrameWriteError::Layout`] or an error about the metalayers, when a frame with
    /// these parameters could not be read back.
    pub fn new(params: &FrameParams, registry: &Registry) -> Result<Self, FrameWriteError> {
        let mut params = params.clone();
        if params.sequential {
            if params.frame_type == FrameType::Sparse {
                return Err(FrameWriteError::Layout { layout: params.layout });
            }
            let promise = Sequential { frame_len: 0, nbytes: 0, cbytes: 0 };
            params.metalayers.insert(Sequential::NAME, promise.to_bytes())?;
            params.special = SpecialPlacement::Stored;
        }
        Ok(Self {
            table: ChunkTable::new(&params, registry)?,
            sequential: params.sequential,
            cbytes: 0,
            next_id: 0,
            fingerprint: params.fingerprint.map(Fingerprinter::new),
            frame_len: None,
        })
    }

    /// Whether the chunks go into the frame itself or into separate files.
    pub fn frame_type(&self) -> FrameType {
        self.table.header.frame_type
    }

    /// The header: provisional until [`finish`](Self::finish), final afterwards, always of the same length.
    ///
    /// The provisional one lacks only the lengths. With the promise ([`FrameParams::sequential`]) it is the header of
    /// an open-ended frame, which can be read while it grows: see [`Sequential::is_open`]. That of a sparse frame is
    /// kept only to recover the frame if its writer dies; no reader looks at it.
    pub fn header(&self) -> Vec<u8> {
        match self.frame_len {
            Some(_) => self.table.header_bytes(),
            None => self.table.provisional_header_bytes(),
        }
    }

    /// Takes the next chunk and says where to store it; `None` when the index describes it in full.
    ///
    /// # Errors
    /// The chunk is damaged, decodes to nothing or to another length than the chunk size, follows a short one, or
    /// mixes blocks of variable length with regular ones. The frame stays as it was.
    pub fn push(&mut self, chunk: &[u8]) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(NewChunk::Chunk(chunk), None)
    }

    /// Adds a chunk of `nbytes` bytes that consists of a special value, other than a repeated one.
    ///
    /// # Errors
    /// As [`push`](Self::push); [`FrameWriteError::Special`] when `nbytes` is no whole number of such items.
    pub fn push_special(&mut self, kind: SpecialKind, nbytes: usize) -> Result<Option<ChunkWrite>, FrameWriteError> {
        self.place(NewChunk::Special(kind, nbytes), None)
    }

    /// Adds `count` chunks of `nbytes` bytes each that consist of a special value, other than a repeated one, and exist
    /// only in the index: in one step, however many there are. Returns `false` and changes nothing if such chunks must
    /// be stored, or are not a whole number of items; they can then be pushed one by one.
    ///
    /// # Errors
    /// As [`push_special`](Self::push_special).
    pub fn push_specials(&mut self, kind: SpecialKind, nbytes: usize, count: u64) -> Result<bool, FrameWriteError> {
        self.unfinished()?.push_specials(kind, nbytes, count)
    }

    /// Adds a chunk to a sparse frame that another writer has stored, or will store, in the file of number `id`. This
    /// is how several writers fill one frame and one of them commits it. The numbers should be dense, and none may be
    /// used twice.
    ///
    /// # Errors
    /// Those of [`push`](Self::push); [`FrameWriteError::Adopted`] for a chunk that cannot stay as it is, because it
    /// has no body or the frame is contiguous.
    pub fn adopt(&mut self, id: u32, chunk: &[u8]) -> Result<(), FrameWriteError> {
        self.place(NewChunk::Chunk(chunk), Some(id)).map(drop)
    }

    /// As [`adopt`](Self::adopt), given the first bytes of the chunk (32 of them suffice) and the length of its file.
    ///
    /// # Errors
    /// Those of [`adopt`](Self::adopt).
    pub fn adopt_head(&mut self, id: u32, head: &[u8], len: u64) -> Result<(), FrameWriteError> {
        let len = usize::try_from(len).map_err(|_| FrameWriteError::TooLong)?;
        self.place(NewChunk::Head(head, len), Some(id)).map(drop)
    }

    fn place(&mut self, offered: NewChunk<'_>, id: Option<u32>) -> Result<Option<ChunkWrite>, FrameWriteError> {
        let number = self.nchunks();
        let accepted = self.unfinished()?.check_chunk(number, offered, Insertion::Insert)?;
        let stays = id.is_none()
            || (matches!(accepted.form, Representation::AsIs(_)) && self.frame_type() == FrameType::Sparse);
        if !stays {
            return Err(FrameWriteError::Adopted { chunk: number });
        }
        let (len, replacement) = match accepted.form {
            Representation::Entry(special) => {
                self.table.put(number, special, accepted.nbytes, accepted.vl_blocks, 0, Insertion::Insert);
                return Ok(None);
            }
            Representation::AsIs(len) => (len, None),
            Representation::Bytes(bytes) => (bytes.len(), Some(bytes)),
        };
        let (entry, address) = match self.frame_type() {
            FrameType::Contiguous => (self.cbytes, ChunkAddress::Offset(self.header_len() + self.cbytes)),
            FrameType::Sparse => {
                let entry = id.map_or(self.next_id, u64::from);
                let max = u64::from(u32::MAX);
                let id = u32::try_from(entry).map_err(|_| FrameWriteError::TooManyChunks { max })?;
                (entry, ChunkAddress::File(id))
            }
        };
        self.cbytes = check_len(self.cbytes + len as u64)?;
        self.table.header.cbytes = self.cbytes;
        self.next_id = self.next_id.max(entry + 1);
        let write = ChunkWrite { address, replacement };
        let stored = write.bytes(offered.bytes());
        let sum = self.table.checksum(stored);
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.update(stored);
        }
        self.table.put(number, entry, accepted.nbytes, accepted.vl_blocks, sum, Insertion::Insert);
        Ok(Some(write))
    }

    /// Replaces the content of a metalayer by one of the same length, any time before [`finish`](Self::finish): the
    /// final header has it.
    ///
    /// # Errors
    /// [`FrameWriteError::Metalayer`] when there is none with that name or the length differs; the frame is finished.
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        self.unfinished()?.set_metalayer(name, content)
    }

    /// Adds or replaces a variable-length metalayer: compressed here, written by [`finish`](Self::finish).
    /// python-blosc2 expects `content` to be msgpack.
    ///
    /// # Errors
    /// The name is too long or it would be the 17th; the layout has none; the frame is finished.
    pub fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        self.unfinished()?.set_vlmetalayer(name, content)
    }

    /// Takes over the variable-length metalayers of another frame, without decoding them.
    ///
    /// # Errors
    /// Those of [`set_vlmetalayer`](Self::set_vlmetalayer).
    pub fn copy_vlmetalayers(&mut self, frame: &Frame) -> Result<(), FrameWriteError> {
        self.copy_encoded_vlmetalayers(&frame.trailer().vlmetalayers)
    }

    /// As [`copy_vlmetalayers`](Self::copy_vlmetalayers), from a trailer whose frame is damaged.
    ///
    /// # Errors
    /// Those of [`set_vlmetalayer`](Self::set_vlmetalayer).
    pub fn copy_encoded_vlmetalayers(&mut self, encoded: &Metalayers) -> Result<(), FrameWriteError> {
        self.unfinished()?.copy_vlmetalayers(encoded)
    }

    /// Ends the frame and makes the header final. Returns the index and the trailer, to store after the last chunk, or
    /// the whole index file of a sparse frame. Calling it again returns the same bytes.
    ///
    /// # Errors
    /// The index or the trailer cannot be encoded; more chunks may be pushed then.
    pub fn finish(&mut self) -> Result<Vec<u8>, FrameWriteError> {
        match self.frame_type() {
            FrameType::Contiguous => {
                let mut tail = self.table.index_bytes()?;
                let before = self.header_len() + self.cbytes;
                let trailer = self.table.close(&tail, before, self.sequential, self.fingerprint.clone())?;
                tail.extend(trailer);
                self.frame_len = Some(self.table.header.frame_len);
                Ok(tail)
            }
            FrameType::Sparse => {
                let file = index_file(&mut self.table, self.fingerprint.clone())?;
                self.frame_len = Some(file.len() as u64 + self.cbytes);
                Ok(file)
            }
        }
    }

    /// The table, while it may still change.
    fn unfinished(&mut self) -> Result<&mut ChunkTable, FrameWriteError> {
        if self.frame_len.is_some() {
            return Err(FrameWriteError::Finished);
        }
        Ok(&mut self.table)
    }

    /// Whether chunks are digested when they are pushed, for checksums or a fingerprint.
    pub fn digests(&self) -> bool {
        self.fingerprint.is_some() || self.table.has_checksums()
    }

    /// Bytes of the header; the first chunk of a contiguous frame starts here.
    pub fn header_len(&self) -> u64 {
        self.table.header.header_len.into()
    }

    /// Chunks so far.
    pub fn nchunks(&self) -> u64 {
        self.table.len()
    }

    /// Decoded bytes so far.
    pub fn nbytes(&self) -> u64 {
        self.table.header.nbytes
    }

    /// Bytes of the stored chunks so far.
    pub fn cbytes(&self) -> u64 {
        self.cbytes
    }

    /// The fingerprint in the trailer; [`Fingerprint::NONE`] when there is none, and until the frame is finished.
    pub fn fingerprint(&self) -> Fingerprint {
        self.table.trailer.fingerprint
    }

    /// Bytes of the whole frame, chunk files included; 0 until it is finished.
    pub fn frame_len(&self) -> u64 {
        self.frame_len.unwrap_or(0)
    }
}
