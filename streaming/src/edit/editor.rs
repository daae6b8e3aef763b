//! An open frame that is being changed.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::{
    ChunkContext, ChunkDecoder, ChunkEncoder, ChunkError, ChunkHeader, EncodeParams, SpecialKind, SpecialValue,
    special_chunk,
};
use oxiblosc_core::frame::{
    self, ChunkEntry, ChunkSize, ChunkWrite, Commit, Frame, FrameError, FrameOpener, FrameParams, Metalayers, OpenStep,
    Target,
};
use oxiblosc_core::nd::{ArrayMeta, FrameSizes, Geometry, NdError, Tiling};

use super::{EditError, EditOptions, FileStore, Store};
use crate::compute::Pool;
use crate::sink::WriteOptions;

/// Changes a frame in a file, a directory or memory. All changes since the last [`commit`](FrameEditor::commit) take
/// effect together, with the next one; an editor that is dropped before leaves the frame as it was.
///
/// New data is encoded as the frame says, or as [`EditOptions::params`] do. A method that returns an error has changed
/// nothing, except where it says otherwise. When the store fails to take a chunk, the next method says so and tries
/// again.
///
/// Of an array (b2nd), chunks can be replaced here; what changes its shape is for
/// [`NdEditor`](crate::nd::NdEditor), and [`commit`](FrameEditor::commit) refuses a frame that contradicts it.
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
    store: S,
    editor: frame::FrameEditor,
    encoder: ChunkEncoder,
    decoder: ChunkDecoder,
    /// The shapes of an array that the frame holds and agrees with.
    geometry: Option<Geometry>,
    pool: Pool,
    typesize: usize,
    block_size: usize,
    chunk_size: Option<usize>,
    variable: bool,
    /// Chunks that the editor has given a place, but the store has not taken yet.
    unwritten: VecDeque<(Target, Bytes)>,
    /// A commit that has not been carried out yet.
    unfinished: Option<Commit>,
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
        let registry = match options.registry {
            Some(registry) => registry,
            None => Registry::linked()?.clone(),
        };
        let frame = open_frame(&store, &registry, &options.limits)?;
        let mut params: EncodeParams = options.params.unwrap_or_else(|| FrameParams::like(&frame).encode);
        let array = array_in(frame.metalayers(), &FrameSizes::of(&frame));
        // One that is damaged already may be repaired here.
        let array = array.and_then(Result::ok);
        let mut block_size = frame.header().block_size as usize;
        if let Some(tiling) = array.as_ref().filter(|tiling| tiling.block_bytes() > 0) {
            // C-Blosc2 takes for granted that the blocks of the chunks are those of the array.
            block_size = tiling.block_bytes();
            params.block_size = Some(block_size);
        }
        Ok(Self {
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

    /// Appends decoded bytes where the last ones end: a last chunk that is shorter than the chunk size is filled up
    /// (and encoded again), then come new ones. When chunks differ in size, the bytes become chunks of their own.
    ///
    /// # Errors
    /// [`EditError::IsArray`]. What was appended before the error stays.
    pub fn append(&mut self, mut data: &[u8]) -> Result<(), EditError> {
        self.check_bytes()?;
        while !data.is_empty() {
            let room = self.room()?;
            let (part, rest) = data.split_at(room.len.min(data.len()));
            self.append_part(&room, part)?;
            data = rest;
        }
        Ok(())
    }

    /// Appends all that `reader` gives, as [`append`](Self::append) does, with one chunk in memory at a time. Returns
    /// the number of bytes.
    ///
    /// # Errors
    /// [`EditError::IsArray`]; [`EditError::Store`] when `reader` fails too. What was appended before the error stays.
    pub fn append_from(&mut self, mut reader: impl Read) -> Result<u64, EditError> {
        self.check_bytes()?;
        let mut total = 0;
        let mut part = Vec::new();
        loop {
            let room = self.room()?;
            part.clear();
            reader.by_ref().take(room.len as u64).read_to_end(&mut part)?;
            if part.is_empty() {
                return Ok(total);
            }
            self.append_part(&room, &part)?;
            total += part.len() as u64;
        }
    }

    /// Appends `nbytes` bytes of a special value where the last ones end: a short last chunk is filled up, then come
    /// chunks that take next to no space.
    ///
    /// # Errors
    /// [`EditError::IsArray`], and when the bytes would not consist of whole items of that value. What was appended
    /// before the error stays.
    pub fn fill(&mut self, value: SpecialValue<'_>, mut nbytes: u64) -> Result<(), EditError> {
        self.check_bytes()?;
        while nbytes > 0 {
            let room = self.room()?;
            let len = usize::try_from(nbytes).map_or(room.len, |n| n.min(room.len));
            if room.shared {
                let chunk = self.encode_special(value, len)?;
                let part = self.decode(self.nchunks(), &chunk)?;
                self.append_part(&room, &part)?;
            } else {
                self.insert_special(self.nchunks(), value, len)?;
            }
            nbytes -= len as u64;
        }
        Ok(())
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

    /// As [`insert`](Self::insert), a chunk that is encoded already.
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

    /// Replaces chunk `i` by one that is encoded already.
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
    /// When there is none; when chunks differ in size, its header must be readable.
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

    /// Lets the chunks differ in size from now on; see [`FrameEditor::make_variable`](frame::FrameEditor::make_variable).
    ///
    /// # Errors
    /// When a chunk of a special value cannot be stored as a repeated value.
    pub fn make_variable(&mut self) -> Result<(), EditError> {
        self.check_committed()?;
        for write in self.editor.make_variable()? {
            self.store_chunk(Some(write), &[])?;
        }
        self.variable = true;
        Ok(())
    }

    /// Adds or replaces a variable-length metalayer of the trailer; msgpack by convention.
    ///
    /// # Errors
    /// When the name has more than 31 bytes or there are 16 others.
    pub fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), EditError> {
        self.check_committed()?;
        Ok(self.editor.set_vlmetalayer(name, content)?)
    }

    /// Removes a variable-length metalayer of the trailer.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn delete_vlmetalayer(&mut self, name: &str) -> Result<(), EditError> {
        self.check_committed()?;
        Ok(self.editor.delete_vlmetalayer(name)?)
    }

    /// Replaces the content of a metalayer of the header by one of the same length.
    ///
    /// # Errors
    /// When there is none of that name, or the length differs.
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), EditError> {
        self.check_committed()?;
        self.editor.set_metalayer(name, content)?;
        // Filters and codecs are told the new shape of an array from now on. Whether the frame agrees with it is seen
        // when it is committed.
        if let Some(geometry) = &mut self.geometry
            && let Some(Ok(meta)) = ArrayMeta::find(self.editor.metalayers())
        {
            *geometry = meta.geometry;
        }
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

    /// Makes all changes since the last commit take effect together.
    ///
    /// # Errors
    /// [`EditError::NoArray`] when chunks of an array were added or removed without regard to its shape. Otherwise the
    /// old frame is still there, or the new one already is; calling again goes on.
    pub fn commit(&mut self) -> Result<(), EditError> {
        if self.unfinished.is_none() {
            self.check_array()?;
            self.write_chunks()?;
            self.unfinished = Some(self.editor.commit()?);
        }
        if let Some(commit) = &self.unfinished {
            carry_out(&mut self.store, commit)?;
            self.unfinished = None;
        }
        Ok(())
    }

    /// What to go back to should several changes not all succeed.
    pub(crate) fn begin(&mut self) -> Result<Snapshot, EditError> {
        // Whatever waits to be written when going back then belongs to what is taken back.
        self.check_committed()?;
        Ok(Snapshot { editor: self.editor.clone(), variable: self.variable, geometry: self.geometry.clone() })
    }

    /// Takes back all changes since [`begin`](Self::begin).
    pub(crate) fn roll_back(&mut self, to: Snapshot) {
        self.editor.roll_back(to.editor);
        (self.variable, self.geometry) = (to.variable, to.geometry);
        self.unwritten.clear();
    }

    /// Settles the chunk size of a frame without chunks, also of one whose chunks were to differ in size.
    pub(crate) fn settle_chunk_size(&mut self, chunk_size: usize) -> Result<(), EditError> {
        self.check_committed()?;
        self.editor.set_chunk_size(chunk_size)?;
        self.variable = false;
        Ok(())
    }

    /// Where the rest of a frame goes: how many bytes fit into the last chunk, or into a new one.
    fn room(&mut self) -> Result<Room, EditError> {
        let default = self.chunk_size.unwrap_or_else(|| {
            let typesize = self.typesize.max(1);
            (WriteOptions::CHUNK_SIZE / typesize).max(1).saturating_mul(typesize)
        });
        if self.editor.chunk_size().is_none() && self.nchunks() == 0 && !self.variable {
            self.editor.set_chunk_size(default)?;
        }
        let Some(chunk_size) = self.editor.chunk_size() else {
            return Ok(Room { len: default.clamp(1, ChunkHeader::MAX_NBYTES), shared: false });
        };
        let last = match self.nchunks().checked_sub(1) {
            Some(last) => self.editor.chunk_len(last)? as usize,
            None => chunk_size,
        };
        Ok(match chunk_size.saturating_sub(last) {
            0 => Room { len: chunk_size, shared: false },
            len => Room { len, shared: true },
        })
    }

    fn append_part(&mut self, room: &Room, part: &[u8]) -> Result<(), EditError> {
        if !room.shared {
            return self.append_chunk(part);
        }
        // There is a last chunk, or it could not be shared.
        let last = self.nchunks() - 1;
        let mut data = self.chunk(last)?;
        data.extend_from_slice(part);
        self.update(last, &data)
    }

    fn encode(&mut self, i: u64, data: &[u8]) -> Result<Vec<u8>, EditError> {
        self.check_committed()?;
        let mut ctx = ChunkContext::numbered(i);
        ctx.item_size = Some(self.typesize);
        ctx.nd = self.geometry.as_ref();
        let encoded = self.encoder.encode_on(data, &ctx, &self.pool);
        encoded.map_err(|source| EditError::Encode { chunk: i, source })
    }

    fn encode_special(&self, value: SpecialValue<'_>, nbytes: usize) -> Result<Vec<u8>, EditError> {
        let block_size = if self.block_size == 0 { nbytes } else { self.block_size };
        let encoded = special_chunk(value, nbytes, self.typesize, block_size);
        encoded.map_err(|source| EditError::Encode { chunk: self.nchunks(), source })
    }

    fn decode(&mut self, i: u64, chunk: &[u8]) -> Result<Vec<u8>, EditError> {
        let mut ctx = ChunkContext::numbered(i);
        ctx.item_size = Some(self.typesize);
        ctx.nd = self.geometry.as_ref();
        let decoded = self.decoder.decode_on(chunk, &ctx, &self.pool);
        decoded.map_err(|source: ChunkError| EditError::Decode { chunk: i, source })
    }

    /// Bytes of a chunk that is stored.
    fn read_entry(&self, i: u64, range: std::ops::Range<u64>) -> Result<Bytes, EditError> {
        Ok(match self.editor.entry(i)? {
            ChunkEntry::Stored { offset } => self.store.read_at(offset + range.start..offset + range.end)?,
            ChunkEntry::File { id } => self.store.read_chunk_file(id, range)?,
            ChunkEntry::Special(_) => Bytes::new(),
        })
    }

    /// Tells the editor what it cannot know of a chunk that is to be replaced or removed.
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
            Ok(header) => Ok(self.editor.learn(i, &header)?),
            Err(e) if needed => Err(e),
            // Only the total of the chunk files is not quite right then; a chunk that is lost can be replaced.
            Err(_) => Ok(()),
        }
    }

    fn store_chunk(&mut self, write: Option<ChunkWrite>, chunk: &[u8]) -> Result<(), EditError> {
        if let Some(ChunkWrite { target, replacement }) = write {
            let bytes = replacement.map_or_else(|| Bytes::copy_from_slice(chunk), Bytes::from);
            self.unwritten.push_back((target, bytes));
        }
        // The change is made already. Should the store fail, the next call says so before it does anything else, and
        // goes on with this chunk; a caller who sees an error therefore knows that the call has changed nothing.
        let _ = self.write_chunks();
        Ok(())
    }

    fn write_chunks(&mut self) -> Result<(), EditError> {
        while let Some((target, bytes)) = self.unwritten.front() {
            match *target {
                Target::Offset(at) => self.store.write_at(at, bytes)?,
                Target::File(id) => self.store.write_chunk_file(id, bytes)?,
            }
            self.unwritten.pop_front();
        }
        Ok(())
    }

    /// Before anything is changed: nothing must be left of what was changed before.
    fn check_committed(&mut self) -> Result<(), EditError> {
        if self.unfinished.is_some() { Err(EditError::Uncommitted) } else { self.write_chunks() }
    }

    /// Before bytes are appended.
    fn check_bytes(&mut self) -> Result<(), EditError> {
        if self.geometry.is_some() { Err(EditError::IsArray) } else { self.check_committed() }
    }

    /// What was an array must be one still.
    fn check_array(&self) -> Result<(), EditError> {
        if self.geometry.is_none() {
            return Ok(());
        }
        let checked = array_in(self.editor.metalayers(), &self.sizes()).transpose();
        checked.map(drop).map_err(EditError::NoArray)
    }
}

impl<S> FrameEditor<S> {
    /// Number of chunks, with all changes.
    pub fn nchunks(&self) -> u64 {
        self.editor.nchunks()
    }

    /// Decoded bytes, with all changes.
    pub fn nbytes(&self) -> u64 {
        self.editor.nbytes()
    }

    /// Decoded bytes of every chunk but the last; `None` when chunks differ in size, or an empty frame has not settled
    /// it yet.
    pub fn chunk_size(&self) -> Option<usize> {
        self.editor.chunk_size()
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        self.typesize
    }

    /// How new chunks are encoded.
    pub fn params(&self) -> &EncodeParams {
        self.encoder.params()
    }

    /// The metalayers of the header, with all changes.
    pub fn metalayers(&self) -> &Metalayers {
        self.editor.metalayers()
    }

    /// What an array has to agree with.
    pub(crate) fn sizes(&self) -> FrameSizes {
        FrameSizes {
            typesize: self.typesize as u64,
            chunksize: self.chunk_size().unwrap_or(0) as u64,
            blocksize: self.block_size as u64,
            nchunks: self.nchunks(),
        }
    }

    /// Shape, chunks and blocks of the array that the frame holds, if it holds one and agrees with it.
    pub fn geometry(&self) -> Option<&Geometry> {
        self.geometry.as_ref()
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store, for its own sake: what the frame consists of must not be changed through it.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// The store; without the changes since the last commit, or rather with unused bytes behind the frame.
    pub fn into_store(self) -> S {
        self.store
    }
}

impl<S> fmt::Debug for FrameEditor<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameEditor")
            .field("nchunks", &self.nchunks())
            .field("nbytes", &self.nbytes())
            .field("unwritten", &self.unwritten.len())
            .finish_non_exhaustive()
    }
}

/// An editor before several changes.
pub(crate) struct Snapshot {
    editor: frame::FrameEditor,
    variable: bool,
    geometry: Option<Geometry>,
}

/// The layout of the array whose metalayer is there, if the frame agrees with it.
fn array_in(metalayers: &Metalayers, sizes: &FrameSizes) -> Option<Result<Tiling, NdError>> {
    ArrayMeta::find(metalayers).map(|meta| meta.and_then(|meta| meta.tiling(sizes)))
}

/// How many bytes fit, and whether into a chunk that is there already.
struct Room {
    len: usize,
    shared: bool,
}

fn kind_of(value: SpecialValue<'_>) -> SpecialKind {
    match value {
        SpecialValue::Zero => SpecialKind::Zero,
        SpecialValue::Nan => SpecialKind::Nan,
        SpecialValue::Value(_) => SpecialKind::Value,
        SpecialValue::Uninit => SpecialKind::Uninit,
    }
}

/// Every step can be repeated, so a commit that failed is carried out again from the start.
fn carry_out(store: &mut impl Store, commit: &Commit) -> io::Result<()> {
    match commit {
        Commit::Patch { tail, patch, frame_len } => {
            if let Some((at, bytes)) = tail {
                store.write_at(*at, bytes)?;
            }
            if let Some((at, bytes)) = patch {
                // What the header will refer to must be there before it does.
                store.sync()?;
                store.write_at(*at, bytes)?;
                store.sync()?;
            }
            if store.size()? > *frame_len {
                store.truncate(*frame_len)?;
            }
        }
        Commit::Replace { index, remove } => {
            store.sync()?;
            store.replace_index(index)?;
            // What the old index refers to must stay until the new one is there for good.
            store.sync()?;
            for &id in remove {
                store.remove_chunk_file(id)?;
            }
        }
    }
    Ok(())
}

pub(crate) fn open_frame(
    store: &impl Store,
    registry: &Registry,
    limits: &oxiblosc_core::Limits,
) -> Result<Frame, EditError> {
    let len = store.size()?;
    let mut opener = match store.is_sparse() {
        true => FrameOpener::sparse(len, registry, *limits),
        false => FrameOpener::new(len, registry, *limits),
    };
    loop {
        match opener.step()? {
            OpenStep::Done(frame) => return Ok(*frame),
            OpenStep::Read(ranges) => {
                for range in ranges {
                    opener.feed(range.start, store.read_at(range)?);
                }
            }
            step => return Err(io::Error::other(format!("cannot do {step:?}")).into()),
        }
    }
}
