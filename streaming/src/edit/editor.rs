//! An open frame that is being changed.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use oxiblosc_core::chunk::{ChunkHeader, SpecialKind, SpecialValue, special_chunk};
use oxiblosc_core::frame::{
    self, ChunkAddress, ChunkEntry, ChunkSize, EditCommit, FrameError, FrameParams, Metalayers,
};
use oxiblosc_core::nd::{ArrayMeta, FrameSizes, Geometry, NdError, Tiling};
use oxiblosc_core::plugin_params::PluginParams;

use super::coder::Coder;
use super::commit::{Attempt, commits_of, highest_of};
use super::storage::{ChunkWritten, Committed, Storage};
use super::{EditError, EditOptions};
use crate::error::ReadError;
use crate::sparse::FileVersion;

/// Changes a frame in a file, in a directory, in memory, or under a prefix of objects. All changes since the last
/// [`commit`](FrameEditor::commit) take effect together, with the next one; an editor that is dropped before leaves the
/// frame as it was. [`EditOptions`] open one; [`blocking::FrameEditor`](crate::blocking::FrameEditor) is the twin
/// without async.
///
/// New data is encoded with the parameters of the frame, or with [`EditOptions::params`]. A method that returns an
/// error has changed nothing, unless documented otherwise. When a chunk cannot be written, the next method reports that
/// and retries.
///
/// # Cancellation
/// Operations in progress belong to the editor and not to the futures that its methods return. Dropping such a future
/// leaves its change made or not made, never half; the next method finishes what was begun. A dropped editor does not
/// wait for them either, and its file stays locked until they are done. Methods that make several
/// changes ([`append`](FrameEditor::append), [`fill`](FrameEditor::fill)) may have made some of them.
///
/// # Several editors
/// Files and directories are locked, so that there is one editor at a time: opening another one fails at once with
/// [`ErrorKind::Transient`](crate::ErrorKind::Transient), and may be tried again. Memory and objects are not: the first of
/// two commits succeeds, and the other fails with [`EditError::Conflict`]. [`rebase`](FrameEditor::rebase) then moves
/// appended bytes behind those of the first. Chunks that a commit replaces stay until
/// [`compact_place`](super::compact_place) removes them, as there may be readers of the older index.
///
/// The chunks of an array (b2nd) can be replaced here; use [`NdEditor`](crate::nd::NdEditor) to change its shape:
/// [`commit`](FrameEditor::commit) refuses an array that no longer matches its shape.
///
/// ```
/// use oxiblosc_streaming::{FrameReader, WriteOptions, block_on};
/// use oxiblosc_streaming::blocking::FrameWriter;
/// use oxiblosc_streaming::edit::FrameEditor;
/// use oxiblosc_streaming::source::FileSource;
/// use oxiblosc_core::chunk::SpecialValue;
/// # use std::io::Write;
/// # use oxiblosc_plugins as _;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("log.b2frame");
/// # let mut writer = FrameWriter::create(&path, WriteOptions::default().chunk_size(1000))?;
/// # writer.write_all(&[1; 1500])?;
/// # writer.finish()?;
/// # block_on(async {
/// let mut editor = FrameEditor::open(&path).await?; // 1500 bytes, in chunks of 1000
/// editor.append(vec![2; 1000]).await?;
/// editor.update_special(0, SpecialValue::Zero).await?;
/// assert_eq!(editor.nbytes(), 2500);
///
/// editor.commit().await?;
/// let reader = FrameReader::open(FileSource::open(&path).await?).await?;
/// assert_eq!(reader.bytes(999..1001).await?, &[0, 1][..]);
/// assert_eq!(reader.bytes(1499..1501).await?, &[1, 2][..]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FrameEditor {
    pub(super) storage: Storage,
    /// How it was opened, to open the frame again.
    pub(super) options: EditOptions,
    /// The index that the next commit replaces.
    pub(super) index: Option<FileVersion>,
    pub(super) editor: frame::FrameEditor,
    pub(super) coder: Coder,
    /// The shapes of the array that the frame holds, if the frame agrees with them.
    pub(super) geometry: Option<Arc<Geometry>>,
    pub(super) typesize: usize,
    pub(super) block_size: usize,
    pub(super) variable: bool,
    /// Chunks that have been allocated a place and are still to be written.
    pub(super) unwritten: VecDeque<(ChunkAddress, Bytes)>,
    /// Chunks that are being written.
    pub(super) writing: FuturesUnordered<BoxFuture<'static, ChunkWritten>>,
    /// A commit that has not been completed yet.
    pub(super) unfinished: Option<Arc<EditCommit>>,
    /// The attempt at it that is in progress.
    pub(super) committing: Option<BoxFuture<'static, std::io::Result<Committed>>>,
    /// Decoded bytes of the frame that is committed.
    pub(super) committed_nbytes: u64,
    /// Bytes have been appended since the last commit, and nothing else was changed.
    pub(super) only_appends: bool,
    /// Anything has been changed since the last commit.
    pub(super) changed: bool,
    /// The digests of the chunk files that were written to a shared place since the last commit.
    pub(super) digests: BTreeMap<u32, u64>,
    /// The names of the last commits to a shared place, the latest first.
    pub(super) commits: Vec<String>,
    /// What the last attempt at a commit has led to.
    pub(super) attempt: Attempt,
}

impl FrameEditor {
    /// Opens a contiguous frame in a file, or a sparse one in a directory, with the default [`EditOptions`].
    ///
    /// # Errors
    /// As [`EditOptions::open`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, EditError> {
        EditOptions::new().open(path).await
    }

    /// Opens a contiguous frame in memory, with the default [`EditOptions`]; [`frame_bytes`](Self::frame_bytes) returns
    /// it after a commit.
    ///
    /// # Errors
    /// As [`EditOptions::edit`].
    pub async fn from_bytes(frame: impl Into<Vec<u8>>) -> Result<Self, EditError> {
        EditOptions::new().edit(frame.into()).await
    }

    pub(super) async fn with_storage(storage: Storage, options: EditOptions) -> Result<Self, EditError> {
        let registry = crate::given_or_linked(options.registry.as_ref())?;
        let (frame, index) = storage.open(&registry, &options.limits).await?;
        let commits = if storage.is_shared() { commits_of(&frame, &registry) } else { Vec::new() };
        let recorded = PluginParams::find(frame.metalayers()).map_err(ReadError::from)?;
        let mut params = match &options.params {
            Some(params) => params.clone().with_recorded_params(&recorded, &registry).map_err(EditError::Params)?,
            None => FrameParams::from_frame(&frame).encode,
        };
        let array = array_in(frame.metalayers(), &FrameSizes::of(&frame));
        // A damaged one may be repaired here.
        let array = array.and_then(Result::ok);
        let mut block_size = frame.header().block_size as usize;
        if let Some(tiling) = array.as_ref().filter(|tiling| tiling.block_bytes() > 0) {
            // C-Blosc2 assumes that the blocks of the chunks are those of the array.
            block_size = tiling.block_bytes();
            params.block_size = Some(block_size);
        }
        let mut editor = frame::FrameEditor::with_placement(&frame, options.special, &registry)?;
        if storage.is_shared() {
            editor.share_files(highest_of(&commits));
        } else if frame.is_sparse() {
            editor.keep_numbers_fresh(storage.chunk_files().await?);
        }
        let typesize = frame.typesize();
        let pool = options.pool.clone().unwrap_or_default();
        Ok(Self {
            coder: Coder::new(&params, recorded, &registry, options.limits, typesize, (pool, options.mode))?,
            geometry: array.map(|tiling| Arc::new(tiling.geometry().clone())),
            typesize,
            block_size,
            variable: frame.header().chunk_size == ChunkSize::Variable,
            committed_nbytes: editor.nbytes(),
            editor,
            storage,
            options,
            index,
            unwritten: VecDeque::new(),
            writing: FuturesUnordered::new(),
            unfinished: None,
            committing: None,
            only_appends: true,
            changed: false,
            digests: BTreeMap::new(),
            commits,
            attempt: Attempt::None,
        })
    }

    /// Adds `data` as one chunk at the end.
    ///
    /// # Errors
    /// Only the last chunk may be shorter than the chunk size.
    pub async fn append_chunk(&mut self, data: impl Into<Bytes>) -> Result<(), EditError> {
        self.insert(self.nchunks(), data).await
    }

    /// Adds `data` as one chunk before chunk `i`, or at the end when that is [`nchunks`](Self::nchunks).
    ///
    /// # Errors
    /// It must have the chunk size, unless it becomes the last chunk.
    pub async fn insert(&mut self, i: u64, data: impl Into<Bytes>) -> Result<(), EditError> {
        let chunk = self.encode(i, data.into()).await?;
        self.insert_encoded(i, chunk).await
    }

    /// As [`insert`](Self::insert), for a chunk that is already encoded.
    ///
    /// # Errors
    /// As [`insert`](Self::insert), and when the chunk is damaged.
    pub async fn insert_encoded(&mut self, i: u64, chunk: impl Into<Bytes>) -> Result<(), EditError> {
        self.begin_change().await?;
        self.put_inserted(i, chunk.into()).await
    }

    /// Adds an encoded chunk, once the change has begun.
    pub(super) async fn put_inserted(&mut self, i: u64, chunk: Bytes) -> Result<(), EditError> {
        let write = self.editor.insert(i, &chunk)?;
        self.store_chunk(write, chunk).await;
        Ok(())
    }

    /// Adds a chunk of `nbytes` bytes of a special value before chunk `i`, or at the end.
    ///
    /// # Errors
    /// As [`insert`](Self::insert), and when `nbytes` is no whole number of items of that value.
    pub async fn insert_special(&mut self, i: u64, value: SpecialValue<'_>, nbytes: usize) -> Result<(), EditError> {
        self.begin_change().await?;
        self.put_special(i, value, nbytes).await
    }

    /// Adds a chunk of a special value, once the change has begun.
    pub(super) async fn put_special(
        &mut self,
        i: u64,
        value: SpecialValue<'_>,
        nbytes: usize,
    ) -> Result<(), EditError> {
        if let SpecialValue::Value(_) = value {
            let chunk = self.encode_special(i, value, nbytes)?;
            return self.put_inserted(i, chunk).await;
        }
        let write = self.editor.insert_special(i, kind_of(value), nbytes)?;
        self.store_chunk(write, Bytes::new()).await;
        Ok(())
    }

    /// Replaces chunk `i`.
    ///
    /// # Errors
    /// As [`insert`](Self::insert); when chunks differ in size, the header of the old one must be readable.
    pub async fn update(&mut self, i: u64, data: impl Into<Bytes>) -> Result<(), EditError> {
        let chunk = self.encode(i, data.into()).await?;
        self.update_encoded(i, chunk).await
    }

    /// Replaces chunk `i` by one that is already encoded.
    ///
    /// # Errors
    /// As [`update`](Self::update), and when the chunk is damaged.
    pub async fn update_encoded(&mut self, i: u64, chunk: impl Into<Bytes>) -> Result<(), EditError> {
        self.begin_change().await?;
        self.put_updated(i, chunk.into()).await
    }

    /// Replaces a chunk by an encoded one, once the change has begun.
    pub(super) async fn put_updated(&mut self, i: u64, chunk: Bytes) -> Result<(), EditError> {
        self.read_chunk_header(i).await?;
        let write = self.editor.update(i, &chunk)?;
        self.store_chunk(write, chunk).await;
        Ok(())
    }

    /// Replaces all items of chunk `i` by a special value.
    ///
    /// # Errors
    /// As [`update`](Self::update), and when the length of the chunk is no whole number of items of that value.
    pub async fn update_special(&mut self, i: u64, value: SpecialValue<'_>) -> Result<(), EditError> {
        self.begin_change().await?;
        self.read_chunk_header(i).await?;
        // Lossless: the length of a chunk fits 31 bits.
        let nbytes = self.editor.chunk_len(i)? as usize;
        if let SpecialValue::Value(_) = value {
            let chunk = self.encode_special(i, value, nbytes)?;
            return self.update_encoded(i, chunk).await;
        }
        let write = self.editor.update_special(i, kind_of(value), nbytes)?;
        self.store_chunk(write, Bytes::new()).await;
        Ok(())
    }

    /// Removes chunk `i`.
    ///
    /// # Errors
    /// When there is no such chunk. If chunks differ in size, its header must be readable.
    pub async fn delete(&mut self, i: u64) -> Result<(), EditError> {
        self.begin_change().await?;
        self.read_chunk_header(i).await?;
        Ok(self.editor.delete(i)?)
    }

    /// Puts chunk `order[i]` at `i`, for every `i`.
    ///
    /// # Errors
    /// When `order` is no permutation, or would move a short last chunk.
    pub async fn reorder(&mut self, order: &[u64]) -> Result<(), EditError> {
        self.begin_change().await?;
        Ok(self.editor.reorder(order)?)
    }

    /// Allows chunks to differ in size from now on; see
    /// [`FrameEditor::make_variable`](frame::FrameEditor::make_variable).
    ///
    /// # Errors
    /// When a chunk of a special value cannot be stored as a repeated value, or storing all of them would take more
    /// memory than [`Limits::in_flight_bytes`](oxiblosc_core::Limits) allow.
    pub async fn make_variable(&mut self) -> Result<(), EditError> {
        self.begin_change().await?;
        for write in self.editor.make_variable()? {
            self.queue_chunk(write, Bytes::new());
        }
        self.variable = true;
        self.start_writes().await;
        Ok(())
    }

    /// The decoded bytes of chunk `i`, with all changes.
    ///
    /// # Errors
    /// When there is no such chunk, it cannot be read, or is damaged.
    pub async fn chunk(&mut self, i: u64) -> Result<Vec<u8>, EditError> {
        let encoded = self.encoded_chunk(i).await?;
        self.decode(i, encoded).await
    }

    /// The encoded bytes of chunk `i`, with all changes.
    ///
    /// # Errors
    /// As [`chunk`](Self::chunk).
    pub async fn encoded_chunk(&mut self, i: u64) -> Result<Bytes, EditError> {
        self.finish_writes().await?;
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
            _ => self.read_chunk(i, ChunkHeader::EXTENDED_LEN).await?,
        };
        let header = ChunkHeader::parse(&head).map_err(decode)?;
        let expected = header.cbytes as u64;
        if let Ok(len) = self.editor.chunk_len(i)
            && len != header.nbytes as u64
        {
            return Err(FrameError::ChunkLen { chunk: i, expected: len, found: header.nbytes as u64 }.into());
        }
        let bytes = self.read_chunk(i, header.cbytes).await?;
        if (bytes.len() as u64) < expected {
            return Err(FrameError::ChunkFile { chunk: i, expected, found: bytes.len() as u64 }.into());
        }
        self.editor.check_chunk_bytes(i, &bytes)?;
        self.check_own_file(i, &bytes)?;
        Ok(bytes)
    }

    /// Encodes `data` as chunk `i`.
    pub(super) async fn encode(&mut self, i: u64, data: Bytes) -> Result<Bytes, EditError> {
        self.check_committed().await?;
        self.coder.encode(i, self.geometry.clone(), data).await
    }

    /// Encodes `data` as chunk `i` after `change`, off the polling thread; with `keeps`, bytes that it does not change
    /// stay as they are.
    pub(crate) async fn encode_changed<E>(
        &mut self,
        i: u64,
        data: Vec<u8>,
        keeps: bool,
        change: impl Fn(&mut [u8]) -> Result<(), E> + Send + 'static,
    ) -> Result<Bytes, E>
    where
        E: From<EditError> + Send + 'static,
    {
        self.check_committed().await?;
        self.coder.encode_changed(i, self.geometry.clone(), data, keeps, change).await?
    }

    /// Encodes chunk `i`, which repeats a value.
    pub(super) fn encode_special(&self, i: u64, value: SpecialValue<'_>, nbytes: usize) -> Result<Bytes, EditError> {
        let block_size = if self.block_size == 0 { nbytes } else { self.block_size };
        let encoded = special_chunk(value, nbytes, self.typesize, block_size);
        encoded.map(Bytes::from).map_err(|source| EditError::Encode { chunk: i, source })
    }

    pub(super) async fn decode(&mut self, i: u64, chunk: Bytes) -> Result<Vec<u8>, EditError> {
        self.coder.decode(i, self.geometry.clone(), chunk).await
    }

    /// Reads the first bytes of a stored chunk.
    async fn read_chunk(&mut self, i: u64, len: usize) -> Result<Bytes, EditError> {
        Ok(self.storage.read_chunk(self.editor.entry(i)?, len).await?)
    }

    /// Reads what the editor needs to know about a chunk that is to be replaced or removed.
    async fn read_chunk_header(&mut self, i: u64) -> Result<(), EditError> {
        self.finish_writes().await?;
        let entry = self.editor.entry(i)?;
        let needed = self.editor.chunk_len(i).is_err();
        if matches!(entry, ChunkEntry::Special(_)) || (!needed && matches!(entry, ChunkEntry::Stored { .. })) {
            return Ok(());
        }
        let head = self.read_chunk(i, ChunkHeader::EXTENDED_LEN).await;
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

fn kind_of(value: SpecialValue<'_>) -> SpecialKind {
    match value {
        SpecialValue::Zero => SpecialKind::Zero,
        SpecialValue::Nan => SpecialKind::Nan,
        SpecialValue::Value(_) => SpecialKind::Value,
        SpecialValue::Uninit => SpecialKind::Uninit,
    }
}
