//! Writing a contiguous frame, front to back.

use bytes::Bytes;

use super::header::{ChunkSize, FrameHeader, FrameType};
use super::index::{self, ENTRY_LEN};
use super::metalayers::MAX_NAME_LEN;
use super::rules::{Accepted, ChunkRules, Form};
use super::stored::{EARLY_VERSION, stored_chunk};
use super::{FrameParams, FrameWriteError, Metalayers, Section, Sequential, SpecialPlacement, Trailer};
use crate::chunk::{ChunkContext, ChunkEncoder, ChunkHeader, EncodeParams, SpecialKind};
use crate::id::CodecId;
use crate::registry::Registry;

/// The most chunks a frame can have: the index is a chunk of 8-byte entries.
pub(super) const MAX_CHUNKS: u64 = (ChunkHeader::MAX_NBYTES / ENTRY_LEN) as u64;
/// C-Blosc2 checks that an extended header fits at every offset.
pub(super) const MIN_CHUNK: usize = ChunkHeader::EXTENDED_LEN;

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
    header: FrameHeader,
    metalayers: Metalayers,
    trailer: Trailer,
    entries: Vec<u64>,
    rules: ChunkRules,
    /// Number and length of the chunk that is shorter than the chunk size and therefore the last.
    short: Option<(u64, u64)>,
    sequential: bool,
    finished: bool,
    registry: Registry,
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
        let header = params.header(FrameType::Contiguous)?;
        Ok(Self {
            rules: ChunkRules::new(&header, params.special),
            header,
            metalayers: params.metalayers,
            trailer: Trailer::new(),
            entries: Vec::new(),
            short: None,
            sequential: params.sequential,
            finished: false,
            registry: registry.clone(),
        })
    }

    /// The header: provisional until [`finish`](Self::finish), final afterwards, always of the same length.
    pub fn header(&self) -> Vec<u8> {
        let mut metalayers = self.metalayers.clone();
        if self.sequential {
            let FrameHeader { frame_len, nbytes, cbytes, .. } = self.header;
            let promise = Sequential { frame_len, nbytes, cbytes };
            // It replaces one of the same length that was accepted.
            let _ = metalayers.insert(Sequential::NAME, promise.to_bytes());
        }
        header_bytes(&self.header, &metalayers)
    }

    /// Takes the next chunk and says what to emit for it.
    ///
    /// # Errors
    /// The chunk is damaged, decodes to nothing or to another length than the chunk size, follows a short one, or
    /// mixes blocks of variable length with regular ones. The frame stays as it was.
    pub fn push(&mut self, chunk: &[u8]) -> Result<Placement, FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        let accepted = self.rules.accept(self.nchunks(), chunk)?;
        self.place(accepted)
    }

    /// Adds a chunk of `nbytes` bytes that consists of a special value, other than a repeated one.
    ///
    /// # Errors
    /// As [`push`](Self::push); [`FrameWriteError::Special`] when `nbytes` is no whole number of such items.
    pub fn push_special(&mut self, kind: SpecialKind, nbytes: usize) -> Result<Placement, FrameWriteError> {
        if self.finished {
            return Err(FrameWriteError::Finished);
        }
        let accepted = self.rules.accept_special(self.nchunks(), kind, nbytes)?;
        self.place(accepted)
    }

    fn place(&mut self, accepted: Accepted) -> Result<Placement, FrameWriteError> {
        let number = self.nchunks();
        let nbytes = accepted.nbytes as u64;
        let mut short = None;
        if let Some(expected) = self.rules.full_len() {
            if let Some((chunk, len)) = self.short {
                return Err(FrameWriteError::ShortChunk { chunk, len, chunk_size: expected as usize });
            }
            if nbytes > expected {
                let (expected, found) = (expected as usize, accepted.nbytes);
                return Err(FrameWriteError::ChunkSize { chunk: number, expected, found });
            }
            short = (nbytes < expected).then_some((number, nbytes));
        }
        let vl_blocks = accepted.vl_blocks;
        let offset = self.header.cbytes;
        let (entry, cbytes, placement) = match accepted.form {
            Form::Entry(entry) => (entry, 0, Placement::IndexOnly),
            Form::AsIs(len) => (offset, len as u64, Placement::Append { offset: self.header_len() + offset }),
            Form::Bytes(bytes) => {
                let len = bytes.len() as u64;
                (offset, len, Placement::Replace { offset: self.header_len() + offset, bytes })
            }
        };
        // Room for everything that follows the chunks is left below 2^63.
        let limit = i64::MAX as u64 / 2;
        let (nbytes, cbytes) = (self.header.nbytes + nbytes, offset + cbytes);
        if nbytes > limit || cbytes > limit {
            return Err(FrameWriteError::TooLong);
        }
        self.rules.settle(accepted.nbytes, vl_blocks);
        self.header.vl_blocks = vl_blocks;
        self.short = short;
        self.entries.push(entry);
        self.header.nbytes = nbytes;
        self.header.cbytes = cbytes;
        Ok(placement)
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
        if !self.header.layout.has_trailer() {
            return Err(FrameWriteError::EarlyFeature { what: "variable-length metalayers" });
        }
        let chunk = encode_vlmetalayer(name, content, &self.registry)?;
        self.trailer.vlmetalayers.insert(name, chunk)
    }

    /// Ends the frame: returns the index and the trailer to emit after the last chunk, and makes the header final.
    /// Calling it again returns the same bytes.
    ///
    /// # Errors
    /// The index or the trailer cannot be encoded; more chunks may be pushed then.
    pub fn finish(&mut self) -> Result<Vec<u8>, FrameWriteError> {
        // The frame ends without an index when there is nothing to find.
        let mut tail = if self.entries.is_empty() { Vec::new() } else { index::encode(&self.entries, &self.registry)? };
        if self.header.layout.has_trailer() {
            tail.extend(self.trailer.to_bytes()?);
        } else if !self.entries.is_empty() {
            tail[0] = EARLY_VERSION;
        }
        self.header.frame_len = self.header_len() + self.header.cbytes + tail.len() as u64;
        self.header.has_vlmetalayers = !self.trailer.vlmetalayers.is_empty();
        self.finished = true;
        Ok(tail)
    }

    /// Bytes of the header; the first chunk starts here.
    pub fn header_len(&self) -> u64 {
        self.header.header_len.into()
    }

    /// Chunks so far.
    pub fn nchunks(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Decoded bytes so far.
    pub fn nbytes(&self) -> u64 {
        self.header.nbytes
    }

    /// Bytes of the chunks section so far.
    pub fn cbytes(&self) -> u64 {
        self.header.cbytes
    }

    /// Bytes of the whole frame; 0 until it is finished.
    pub fn frame_len(&self) -> u64 {
        self.header.frame_len
    }
}

/// The header with its metalayers; an empty frame does not say its chunk size, as C-Blosc2 expects.
pub(super) fn header_bytes(header: &FrameHeader, metalayers: &Metalayers) -> Vec<u8> {
    let mut header = header.clone();
    if header.nbytes == 0 && header.chunk_size != ChunkSize::Variable {
        header.chunk_size = ChunkSize::Unset;
    }
    let mut out = header.to_bytes();
    if header.layout.always_has_metalayers() || !metalayers.is_empty() {
        metalayers.write(Section::Header, 0, &mut out);
    }
    debug_assert_eq!(out.len(), header.header_len as usize);
    out
}

/// Compresses the content of a variable-length metalayer as python-blosc2 does, with what the registry has.
pub(super) fn encode_vlmetalayer(name: &str, content: &[u8], registry: &Registry) -> Result<Bytes, FrameWriteError> {
    if name.len() > MAX_NAME_LEN {
        return Err(FrameWriteError::MetalayerName { name: name.to_owned(), max: MAX_NAME_LEN });
    }
    if content.len() > ChunkHeader::MAX_NBYTES {
        return Err(FrameWriteError::MetalayerLen { name: name.to_owned(), len: content.len() });
    }
    let codec = [CodecId::ZSTD, CodecId::BLOSCLZ].into_iter().find(|&id| registry.codec(id).is_ok());
    let params = EncodeParams { codec: codec.unwrap_or_default(), typesize: 1, ..EncodeParams::default() };
    match (codec, ChunkEncoder::new(&params, registry)) {
        (Some(_), Ok(mut encoder)) => {
            let encoded = encoder.encode(content, &ChunkContext::default());
            encoded.map(Bytes::from).map_err(|source| FrameWriteError::Vlmetalayer { name: name.to_owned(), source })
        }
        _ => Ok(stored_chunk(content, 1).into()),
    }
}
