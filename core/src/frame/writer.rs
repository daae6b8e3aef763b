//! Writing a contiguous frame, front to back.

use super::header::FrameType;
use super::rules::{Form, Offered};
use super::table::{Place, Table, check_len};
use super::{
    Fingerprint, Fingerprinter, Frame, FrameParams, FrameWriteError, Metalayers, Sequential, SpecialPlacement,
};
use crate::chunk::SpecialKind;
use crate::registry::Registry;

/// What becomes of a chunk that was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Emit the chunk as it is.
    Append {
        /// Where it starts, from the start of the frame.
        offset: u64,
    },
    /// Emit these bytes in place of the chunk.
    Replace {
        /// Where they start, from the start of the frame.
        offset: u64,
        /// What to emit.
        bytes: Vec<u8>,
    },
    /// Emit nothing: the index says it all.
    IndexOnly,
}

impl Placement {
    /// What to emit for `chunk`, the bytes that were pushed.
    pub fn bytes<'a>(&'a self, chunk: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Append { .. } => chunk,
            Self::Replace { bytes, .. } => bytes,
            Self::IndexOnly => &[],
        }
    }
}

/// Writes a contiguous frame: a state machine that is handed chunks and says what to emit.
///
/// The frame consists of [`header`](Self::header), then what each [`push`](Self::push) says in order, then what
/// [`finish`](Self::finish) returns. The header has the same length before and after, but final contents only after
/// `finish`: a target that can seek writes a provisional one first and the final one last, any other target keeps the
/// rest back.
///
/// ```
/// use oxiblosc_core::Registry;
/// use oxiblosc_core::chunk::{ChunkContext, ChunkEncoder, EncodeParams};
/// use oxiblosc_core::frame::{FrameParams, FrameWriter};
///
/// let registry = Registry::empty();
/// let encode = EncodeParams { level: 0, typesize: 4, filters: Default::default(), ..EncodeParams::default() };
/// let mut encoder = ChunkEncoder::new(&encode, &registry)?;
/// let mut writer = FrameWriter::new(&FrameParams::new(encode, 8), &registry)?;
///
/// let mut frame = writer.header();
/// for data in [&b"8 bytes "[..], b"and 4"] {
///     let chunk = encoder.encode(data, &ChunkContext::numbered(writer.nchunks()))?;
///     let placement = writer.push(&chunk)?;
///     frame.extend_from_slice(placement.bytes(&chunk));
/// }
/// frame.extend(writer.finish()?);
/// let header = writer.header();
/// frame[..header.len()].copy_from_slice(&header);
/// assert_eq!(frame.len() as u64, writer.frame_len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FrameWriter {
    table: Table,
    sequential: bool,
    /// Has digested the chunks so far.
    fingerprint: Option<Fingerprinter>,
    finished: bool,
}

impl FrameWriter {
    /// Starts a frame. `registry` provides what compresses the index and the variable-length metalayers; what it lacks
    /// is replaced by storing them.
    ///
    /// # Errors
    /// [`FrameWriteError::Param`], [`FrameWriteError::Layout`] or an error about the metalayers, when a frame with
    /// these parameters could not be read back.
    pub fn new(params: &FrameParams, registry: &Registry) -> Result<Self, FrameWriteError> {
        let mut params = params.clone();
        if params.sequential {
            let promise = Sequential { frame_len: 0, nbytes: 0, cbytes: 0 };
            params.metalayers.insert(Sequential::NAME, promise.to_bytes())?;
            params.special = SpecialPlacement::Stored;
        }
        let table = Table::new(&params, FrameType::Contiguous, registry)?;
        let fingerprint = params.fingerprint.map(Fingerprinter::new);
        Ok(Self { table, sequential: params.sequential, fingerprint, finished: false })
    }

    /// The header: provisional until [`finish`](Self::finish), final afterwards, always of the same length.
    ///
    /// The provisional one lacks the lengths alone, and with the promise ([`FrameParams::sequential`]) it is that of
    /// an open-ended frame, which can be read while it grows: see [`Sequential::is_open`].
    pub fn header(&self) -> Vec<u8> {
        if self.finished { self.table.header_bytes() } else { self.table.provisional_header_bytes() }
    }

    /// Takes the next chunk and says what to emit for it.
    ///
    /// # Errors
    /// The chunk is damaged, decodes to nothing or to another length than the chunk size, follows a short one, or
    /// mixes blocks of variable length with regular ones. The frame stays as it was.
    pub fn push(&mut self, chunk: &[u8]) -> Result<Placement, FrameWriteError> {
        self.place(Offered::Chunk(chunk))
    }

    /// Adds a chunk of `nbytes` bytes that consists of a special value, other than a repeated one.
    ///
    /// # Errors
    /// As [`push`](Self::push); [`FrameWriteError::Special`] when `nbytes` is no whole number of such items.
    pub fn push_special(&mut self, kind: SpecialKind, nbytes: usize) -> Result<Placement, FrameWriteError> {
        self.place(Offered::Special(kind, nbytes))
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

    fn place(&mut self, offered: Offered<'_>) -> Result<Placement, FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        let number = self.nchunks();
        let accepted = self.table.admit(number, offered, Place::Insert)?;
        let entry = self.cbytes();
        let offset = self.header_len() + entry;
        let (entry, len, placement) = match accepted.form {
            Form::Entry(special) => (special, 0, Placement::IndexOnly),
            Form::AsIs(len) => (entry, len, Placement::Append { offset }),
            Form::Bytes(bytes) => (entry, bytes.len(), Placement::Replace { offset, bytes }),
        };
        self.table.header.cbytes = check_len(self.cbytes() + len as u64)?;
        let emitted = placement.bytes(offered.bytes());
        let sum = if emitted.is_empty() { 0 } else { self.table.checksum(emitted) };
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.update(emitted);
        }
        self.table.put(number, entry, accepted.nbytes, accepted.vl_blocks, sum, Place::Insert);
        Ok(placement)
    }

    /// Replaces the content of a metalayer by one of the same length, any time before [`finish`](Self::finish): the
    /// final header has it.
    ///
    /// # Errors
    /// [`FrameWriteError::Metalayer`] when there is none of that name or the length differs; the frame is finished.
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        self.table.set_metalayer(name, content)
    }

    /// Adds or replaces a variable-length metalayer: compressed here, written by [`finish`](Self::finish).
    /// python-blosc2 expects `content` to be msgpack.
    ///
    /// # Errors
    /// The name is too long or it would be the 17th; the layout has none; the frame is finished.
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

    /// Ends the frame: returns the index and the trailer to emit after the last chunk, and makes the header final.
    /// Calling it again returns the same bytes.
    ///
    /// # Errors
    /// The index or the trailer cannot be encoded; more chunks may be pushed then.
    pub fn finish(&mut self) -> Result<Vec<u8>, FrameWriteError> {
        let mut tail = self.table.index_bytes()?;
        let before = self.header_len() + self.cbytes();
        let trailer = self.table.close(&tail, before, self.sequential, self.fingerprint.clone())?;
        tail.extend(trailer);
        self.finished = true;
        Ok(tail)
    }

    /// Bytes of the header; the first chunk starts here.
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

    /// Bytes of the chunks section so far.
    pub fn cbytes(&self) -> u64 {
        self.table.header.cbytes
    }

    /// The fingerprint in the trailer; [`Fingerprint::NONE`] when there is none, and until the frame is finished.
    pub fn fingerprint(&self) -> Fingerprint {
        self.table.trailer.fingerprint
    }

    /// Bytes of the whole frame; 0 until it is finished.
    pub fn frame_len(&self) -> u64 {
        self.table.header.frame_len
    }
}
