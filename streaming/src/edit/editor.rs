//! An open frame that is being changed.

use std::collections::VecDeque;
use std::path::Path;

use bytes::Bytes;
use oxiblosc_core::chunk::{
    ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, ChunkHeader, EncodeParams, SpecialKind, SpecialValue,
    special_chunk,
};
use oxiblosc_core::frame::{
    self, ChunkAddress, ChunkEntry, ChunkSize, EditCommit, FrameError, FrameParams, Metalayers,
};
use oxiblosc_core::id::IdRange;
use oxiblosc_core::nd::{ArrayMeta, FrameSizes, Geometry, NdError, Tiling};
use oxiblosc_core::pipeline::{FilterSlots, Pipeline};
use oxiblosc_core::{Inline, Limits, Registry};

use super::{EditError, EditOptions, FileStore, Store, open_frame};
use crate::compute::Pool;

/// Changes a frame in a file, a directory or memory. All changes since the last [`commit`](FrameEditor::commit) take
/// effect together, with the next one; an editor that is dropped before leaves the frame as it was.
///
/// New data is encoded with the parameters of the frame, or with [`EditOptions::params`]. A method that returns an
/// error has changed nothing, unless documented otherwise. When the store fails to write a chunk, the next method
/// reports that and retries.
///
/// The chunks of an array (b2nd) can be replaced here; use [`NdEditor`](crate::nd::NdEditor) to change its shape:
/// [`commit`](FrameEditor::commit) refuses an array that no longer matches its shape.
///
/// ```
/// use oxiblosc_streaming::blocking::{FrameEditor, FrameReader, FrameWriter};
/// use oxiblosc_streaming::WriteOptions;
/// use oxiblosc_core::chunk::SpecialValue;
/// # use std::io::Write;
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("log.b2frame");
/// # let mut writer = FrameWriter::create(&path, WriteOptions::default().chunk_size(1000))?;
/// # writer.write_all(&[1; 1500])?;
/// # writer.finish()?;
/// let mut editor = FrameEditor::open(&path)?; // 1500 bytes, in chunks of 1000
/// editor.append(&[2; 1000])?;
/// editor.update_special(0, SpecialValue::Zero)?;
/// assert_eq!(editor.nbytes(), 2500);
/// assert_eq!(FrameReader::open(&path)?.nbytes(), 1500);
///
/// editor.commit()?;
/// let reader = FrameReader::open(&path)?;
/// assert_eq!(reader.nbytes(), 2500);
/// assert_eq!(reader.bytes(999..1001)?, &[0, 1][..]);
/// assert_eq!(reader.bytes(1499..1501)?, &[1, 2][..]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FrameEditor<S> {
    pub(super) store: S,
    pub(super) editor: frame::FrameEditor,
    pub(super) encoder: ChunkEncoder,
    /// Whether encoding may lose information.
    pub(super) may_lose: bool,
    decoder: ChunkDecoder,
    pub(crate) limits: Limits,
    /// The shapes of the array that the frame holds, if the frame agrees with them.
    pub(super) geometry: Option<Geometry>,
    pool: Pool,
    pub(super) typesize: usize,
    pub(super) block_size: usize,
    pub(super) chunk_size: Option<usize>,
    pub(super) variable: bool,
    /// Chunks that have been allocated a place and are not written to the store yet.
    pub(super) unwritten: VecDeque<(ChunkAddress, Bytes)>,
    /// A commit that has not been completed yet.
    pub(super) unfinished: Option<EditCommit>,
}

impl FrameEditor<FileStore> {
    /// Opens a contiguous frame in a file, or a sparse one in a directory, with the default [`EditOptions`].
    ///
    /// # Errors
    /// As [`EditOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EditError> {
        EditOptions::new().open(path)
    }
}

impl FrameEditor<Vec<u8>> {
    /// Opens a contiguous frame in memory, with the default [`EditOptions`].
    ///
    /// # Errors
    /// As [`EditOptions::open`].
    pub fn from_bytes(frame: Vec<u8>) -> Result<Self, EditError> {
        EditOptions::new().edit(frame)
    }
}

impl<S: Store> FrameEditor<S> {
    pub(super) fn with_options(store: S, options: EditOptions) -> Result<Self, EditError> {
        let registry = crate::given_or_linked(options.registry.as_ref())?;
        let frame = open_frame(&store, &registry, &options.limits)?;
        let mut params: EncodeParams = options.params.unwrap_or_else(|| FrameParams::from_frame(&frame).encode);
        let array = array_in(frame.metalayers(), &FrameSizes::of(&frame));
        // A damaged one may be repaired here.
        let array = array.and_then(Result::ok);
        let mut block_size = frame.header().block_size as usize;
        if let Some(tiling) = array.as_ref().filter(|tiling| tiling.block_bytes() > 0) {
            // C-Blosc2 assumes that the blocks of the chunks are those of the array.
            block_size = tiling.block_bytes();
            params.block_size = Some(block_size);
        }
        Ok(Self {
            may_lose: may_lose(&params, &registry),
            limits: options.limits,
            encoder: ChunkEncoder::new(&params, &registry).map_err(EditError::Params)?,
            decoder: ChunkDecoder::new(&registry).with_limits(options.limits),
            geometry: array.map(|tiling| tiling.geometry().clone()),
            pool: options.pool.unwrap_or_default(),
            typesize: frame.typesize(),
            block_size,
            chunk_size: options.chunk_size,
            variable: frame.header().chunk_size == ChunkSize::Variable,
            editor: frame::FrameEditor::with_placement(&frame, options.special, &registry)?,
            store,
            unwritten: VecDeque::new(),
            unfinished: None,
        })
    }

    /// Adds `data` as one chunk at the end.
    ///
    /// # Errors
    /// Only the last chunk may be shorter than the chunk size.
    pub fn append_chunk(&mut self, data: &[u8]) -> Result<(), EditError> {
        self.insert(self.nchunks(), data)
    }

    /// Adds `data` as one chunk before chunk `i`, or at the end when that is [`nchunks`](Self::nchunks).
    ///
    /// # Errors
    /// It must have the chunk size, unless it becomes the last chunk.
    pub fn insert(&mut self, i: u64, data: &[u8]) -> Result<(), EditError> {
        let chunk = self.encode(i, data)?;
        self.insert_encoded(i, &chunk)
    }

    /// As [`insert`](Self::insert), for a chunk that is already encoded.
    ///
    /// # Errors
    /// As [`insert`](Self::insert), and when the chunk is damaged.
    pub fn insert_encoded(&mut self, i: u64, chunk: &[u8]) -> Result<(), EditError> {
        self.check_committed()?;
        let write = self.editor.insert(i, chunk)?;
        self.store_chunk(write, chunk)
    }

    /// Adds a chunk of `nbytes` bytes of a special value before chunk `i`, or at the end.
    ///
    /// # Errors
    /// As [`insert`](Self::insert), and when `nbytes` is no whole number of items of that value.
    pub fn insert_special(&mut self, i: u64, value: SpecialValue<'_>, nbytes: usize) -> Result<(), EditError> {
        self.check_committed()?;
        if let SpecialValue::Value(_) = value {
            let chunk = self.encode_special(value, nbytes)?;
            return self.insert_encoded(i, &chunk);
        }
        let write = self.editor.insert_special(i, kind_of(value), nbytes)?;
        self.store_chunk(write, &[])
    }

    /// Replaces chunk `i`.
    ///
    /// # Errors
    /// As [`insert`](Self::insert); when chunks differ in size, the header of the old one must be readable.
    pub fn update(&mut self, i: u64, data: &[u8]) -> Result<(), EditError> {
        let chunk = self.encode(i, data)?;
        self.update_encoded(i, &chunk)
    }

    /// Replaces chunk `i` by one that is already encoded.
    ///
    /// # Errors
    /// As [`update`](Self::update), and when the chunk is damaged.
    pub fn update_encoded(&mut self, i: u64, chunk: &[u8]) -> Result<(), EditError> {
        self.check_committed()?;
        self.learn(i)?;
        let write = self.editor.update(i, chunk)?;
        self.store_chunk(write, chunk)
    }

    /// Replaces all items of chunk `i` by a special value.
    ///
    /// # Errors
    /// As [`update`](Self::update), and when the length of the chunk is no whole number of items of that value.
    pub fn update_special(&mut self, i: u64, value: SpecialValue<'_>) -> Result<(), EditError> {
        self.check_committed()?;
        self.learn(i)?;
        // Lossless: the length of a chunk fits 31 bits.
        let nbytes = self.editor.chunk_len(i)? as usize;
        if let SpecialValue::Value(_) = value {
            let chunk = self.encode_special(value, nbytes)?;
            return self.update_encoded(i, &chunk);
        }
        let write = self.editor.update_special(i, kind_of(value), nbytes)?;
        self.store_chunk(write, &[])
    }

    /// Removes chunk `i`.
    ///
    /// # Errors
    /// When there is no such chunk. If chunks differ in size, its header must be readable.
    pub fn delete(&mut self, i: u64) -> Result<(), EditError> {
        self.check_committed()?;
        self.learn(i)?;
        Ok(self.editor.delete(i)?)
    }

    /// Puts chunk `order[i]` at `i`, for every `i`.
    ///
    /// # Errors
    /// When `order` is no permutation, or would move a short last chunk.
    pub fn reorder(&mut self, order: &[u64]) -> Result<(), EditError> {
        self.check_committed()?;
        Ok(self.editor.reorder(order)?)
    }

    /// Allows chunks to differ in size from now on; see
    /// [`FrameEditor::make_variable`](frame::FrameEditor::make_variable).
    ///
    /// # Errors
    /// When a chunk of a special value cannot be stored as a repeated value, or storing all of them would take more
    /// memory than [`Limits::in_flight_bytes`] allow.
    pub fn make_variable(&mut self) -> Result<(), EditError> {
        self.check_committed()?;
        for write in self.editor.make_variable()? {
            self.store_chunk(Some(write), &[])?;
        }
        self.variable = true;
        Ok(())
    }

    /// The decoded bytes of chunk `i`, with all changes.
    ///
    /// # Errors
    /// When there is no such chunk, it cannot be read, or is damaged.
    pub fn chunk(&mut self, i: u64) -> Result<Vec<u8>, EditError> {
        let encoded = self.encoded_chunk(i)?;
        self.decode(i, &encoded)
    }

    /// The encoded bytes of chunk `i`, with all changes.
    ///
    /// # Errors
    /// As [`chunk`](Self::chunk).
    pub fn encoded_chunk(&mut self, i: u64) -> Result<Bytes, EditError> {
        self.write_chunks()?;
        let decode = |source| EditError::Decode { chunk: i, source };
        let head = match self.editor.entry(i)? {
            ChunkEntry::Special(kind) => {
                let nbytes = self.editor.chunk_len(i)? as usize;
                let value = match kind {
                    SpecialKind::Nan => SpecialValue::Nan,
                    // An uninitialised chunk may end in part of an item.
                    _ => SpecialValue::Zero,
                };
                let block_size = if self.block_size == 0 { nbytes } else { self.block_size };
                return special_chunk(value, nbytes, self.typesize, block_size).map(Bytes::from).map_err(decode);
            }
            _ => self.read_entry(i, 0..ChunkHeader::EXTENDED_LEN as u64)?,
        };
        let header = ChunkHeader::parse(&head).map_err(decode)?;
        let expected = header.cbytes as u64;
        if let Ok(len) = self.editor.chunk_len(i)
            && len != header.nbytes as u64
        {
            return Err(FrameError::ChunkLen { chunk: i, expected: len, found: header.nbytes as u64 }.into());
        }
        let bytes = self.read_entry(i, 0..expected)?;
        if (bytes.len() as u64) < expected {
            return Err(FrameError::ChunkFile { chunk: i, expected, found: bytes.len() as u64 }.into());
        }
        self.editor.check_chunk_bytes(i, &bytes)?;
        Ok(bytes)
    }

    pub(super) fn encode(&mut self, i: u64, data: &[u8]) -> Result<Vec<u8>, EditError> {
        self.check_committed()?;
        let mut ctx = ChunkContext::numbered(i);
        ctx.item_size = Some(self.typesize);
        ctx.nd = self.geometry.as_ref();
        let encoded = self.encoder.encode(data, &ctx, &self.pool);
        encoded.map_err(|source| EditError::Encode { chunk: i, source })
    }

    /// Encodes `data` as a stored (uncompressed) chunk.
    pub(super) fn encode_stored(&self, i: u64, data: &[u8]) -> Result<Vec<u8>, EditError> {
        let params =
            EncodeParams { level: 0, filters: FilterSlots::NONE, use_dict: false, ..self.encoder.params().clone() };
        let mut encoder = ChunkEncoder::new(&params, &Registry::empty()).map_err(EditError::Params)?;
        encoder
            .encode(data, &ChunkContext::numbered(i), &Inline)
            .map_err(|source| EditError::Encode { chunk: i, source })
    }

    pub(super) fn encode_special(&self, value: SpecialValue<'_>, nbytes: usize) -> Result<Vec<u8>, EditError> {
        let block_size = if self.block_size == 0 { nbytes } else { self.block_size };
        let encoded = special_chunk(value, nbytes, self.typesize, block_size);
        encoded.map_err(|source| EditError::Encode { chunk: self.nchunks(), source })
    }

    pub(super) fn decode(&mut self, i: u64, chunk: &[u8]) -> Result<Vec<u8>, EditError> {
        let mut ctx = ChunkContext::numbered(i);
        ctx.item_size = Some(self.typesize);
        ctx.nd = self.geometry.as_ref();
        let decoded = self.decoder.decode(chunk, &ctx, &self.pool);
        decoded.map_err(|source: ChunkError| EditError::Decode { chunk: i, source })
    }

    /// Reads bytes of a stored chunk.
    fn read_entry(&self, i: u64, range: std::ops::Range<u64>) -> Result<Bytes, EditError> {
        Ok(match self.editor.entry(i)? {
            ChunkEntry::Stored { offset } => self.store.read_at(offset + range.start..offset + range.end)?,
            ChunkEntry::File { id } => self.store.read_chunk_file(id, range)?,
            ChunkEntry::Special(_) => Bytes::new(),
        })
    }

    /// Reads what the editor needs to know about a chunk that is to be replaced or removed.
    fn learn(&mut self, i: u64) -> Result<(), EditError> {
        self.write_chunks()?;
        let entry = self.editor.entry(i)?;
        let needed = self.editor.chunk_len(i).is_err();
        if matches!(entry, ChunkEntry::Special(_)) || (!needed && !self.store.is_sparse()) {
            return Ok(());
        }
        let head = self.read_entry(i, 0..ChunkHeader::EXTENDED_LEN as u64);
        let header =
            head.and_then(|head| ChunkHeader::parse(&head).map_err(|source| EditError::Decode { chunk: i, source }));
        match header {
            Ok(header) => Ok(self.editor.set_chunk_header(i, &header)?),
            Err(e) if needed => Err(e),
            // Only the total of the chunk sizes is then inexact. A missing chunk must remain replaceable.
            Err(_) => Ok(()),
        }
    }
}

/// The geometry of the array described by the metalayer, if the frame agrees with it.
pub(super) fn array_in(metalayers: &Metalayers, sizes: &FrameSizes) -> Option<Result<Tiling, NdError>> {
    ArrayMeta::find(metalayers).map(|meta| meta.and_then(|meta| meta.tiling(sizes)))
}

/// Whether encoding with these parameters may lose information. The codecs defined by Blosc are lossless; filters say
/// whether they are.
fn may_lose(params: &EncodeParams, registry: &Registry) -> bool {
    params.codec.range() != IdRange::Blosc
        || Pipeline::new(&params.filters, registry).map_or(true, |filters| filters.is_lossy())
}

fn kind_of(value: SpecialValue<'_>) -> SpecialKind {
    match value {
        SpecialValue::Zero => SpecialKind::Zero,
        SpecialValue::Nan => SpecialKind::Nan,
        SpecialValue::Value(_) => SpecialKind::Value,
        SpecialValue::Uninit => SpecialKind::Uninit,
    }
}
