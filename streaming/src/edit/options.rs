//! Options for changing a frame.

use std::path::Path;
use std::sync::{Arc, Mutex};

use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::frame::SpecialPlacement;
use oxiblosc_core::{CodecId, Limits, Registry};

use super::copy::compact_with;
use super::storage::Storage;
use super::{EditError, FrameEditor, FrameFile, LockedFile};
use crate::compute::Pool;
use crate::disk::IoMode;
use crate::progress::Progress;
use crate::sink::Summary;
use crate::sparse::{Directory, SparsePlace};

/// Options for changing a frame.
#[derive(Debug, Clone)]
#[must_use]
pub struct EditOptions {
    pub(super) params: Option<EncodeParams>,
    pub(super) chunk_size: Option<usize>,
    pub(super) pool: Option<Pool>,
    pub(super) registry: Option<Registry>,
    pub(super) limits: Limits,
    pub(super) special: SpecialPlacement,
    pub(super) durable: bool,
    pub(super) mode: IoMode,
    writes_in_flight: usize,
    pub(super) progress: Progress,
    pub(super) vlmetalayer_codec: Option<CodecId>,
}

impl EditOptions {
    /// Everything at its default.
    pub fn new() -> Self {
        Self {
            params: None,
            chunk_size: None,
            pool: None,
            registry: None,
            limits: Limits::default(),
            special: SpecialPlacement::default(),
            durable: true,
            mode: IoMode::default(),
            writes_in_flight: 8,
            progress: Progress::default(),
            vlmetalayer_codec: None,
        }
    }

    /// How new chunks are encoded; by default with the parameters of the frame. The type size should be that of the
    /// frame.
    pub fn params(mut self, params: EncodeParams) -> Self {
        self.params = Some(params);
        self
    }

    /// Decoded bytes of a chunk, for frames that have none yet; [`WriteOptions::CHUNK_SIZE`](crate::WriteOptions) by
    /// default, and see [`FrameEditor::append`](super::FrameEditor::append).
    pub fn chunk_size(mut self, bytes: usize) -> Self {
        self.chunk_size = Some(bytes);
        self
    }

    /// The threads that encode and decode the blocks of a chunk; one for each processor by default.
    pub fn pool(mut self, pool: &Pool) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    /// Where codecs and filters come from; everything linked into the program by default.
    pub fn registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// Limits on what a file may make the editor allocate.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Where new chunks of one special value are stored: only in the index by default.
    pub fn special(mut self, special: SpecialPlacement) -> Self {
        self.special = special;
        self
    }

    /// Whether a commit syncs to the disk before and after its last write, so that it survives a crash of the machine
    /// and not only of the program. On by default. A place has an option of its own for that, such as
    /// [`Directory::durable`].
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Which thread reads and writes files, and encodes and decodes: with [`IoMode::Inline`] the polling thread, which
    /// is for blocking programs.
    pub fn io_mode(mut self, mode: IoMode) -> Self {
        self.mode = mode;
        self
    }

    /// How many chunk files of a sparse frame are written at the same time; 8 by default, at least 1. Memory holds as
    /// many encoded chunks.
    pub fn writes_in_flight(mut self, chunks: usize) -> Self {
        self.writes_in_flight = chunks.max(1);
        self
    }

    /// The codec of variable-length metalayers that are set from now on; see
    /// [`FrameParams::vlmetalayer_codec`](oxiblosc_core::frame::FrameParams::vlmetalayer_codec) for the default. Those by which editors of a
    /// shared place know each other's commits keep the default.
    pub fn vlmetalayer_codec(mut self, codec: CodecId) -> Self {
        self.vlmetalayer_codec = Some(codec);
        self
    }

    /// Opens a contiguous frame in a file, or a sparse one in a directory, to change it.
    ///
    /// # Errors
    /// When it cannot be opened for reading and writing, is being edited by another process, is not a frame, is
    /// damaged, or was written before 2.0.0-rc1; when the parameters are not possible.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<FrameEditor, EditError> {
        let (path, durable, mode) = (path.as_ref().to_owned(), self.durable, self.mode);
        if path.is_dir() {
            let directory = mode.run(move || Directory::lock(path)).await?;
            return self.edit_sparse(directory.io_mode(mode).durable(durable)).await;
        }
        let file = mode.run(move || LockedFile::open(path, durable)).await?;
        self.edit(file).await
    }

    /// Opens the contiguous frame in any file to change it. An `Arc<Mutex<Vec<u8>>>` is one in memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn edit(self, file: impl FrameFile + Send + 'static) -> Result<FrameEditor, EditError> {
        let storage = Storage::File { file: Arc::new(Mutex::new(file)), mode: self.mode };
        FrameEditor::with_storage(storage, self).await
    }

    /// Opens the sparse frame at a place to change it: in a locked [`Directory`], in memory, or under a prefix of
    /// objects (`object::ObjectPrefix`).
    ///
    /// # Errors
    /// As [`open`](Self::open). [`EditError::Store`] with [`io::ErrorKind::WouldBlock`](std::io::ErrorKind::WouldBlock)
    /// when other writers are about to replace the frame or remove its unused chunks.
    pub async fn edit_sparse(self, place: impl SparsePlace) -> Result<FrameEditor, EditError> {
        self.edit_place(Arc::new(place), false).await
    }

    /// Counts the bytes that [`compact`](Self::compact) reads of the old frame, and ends it with an error of the kind
    /// [`Cancelled`](crate::ErrorKind::Cancelled) once it is cancelled: the old frame is then as it was. Nothing else
    /// heeds it.
    pub fn progress(mut self, progress: &Progress) -> Self {
        self.progress = progress.clone();
        self
    }

    /// As [`compact`](super::compact()), with the registry, pool, limits, durability, I/O mode and progress of these
    /// options.
    ///
    /// # Errors
    /// As there.
    pub async fn compact(self, path: impl AsRef<Path>) -> Result<Summary, EditError> {
        compact_with(path.as_ref(), &self).await
    }

    /// As [`compact_place`](super::compact_place()), with the registry and limits of these options.
    ///
    /// # Errors
    /// As there.
    pub async fn compact_place(self, place: impl SparsePlace) -> Result<u64, EditError> {
        super::compact_place::compact_with(Arc::new(place), self).await
    }

    /// As [`edit_sparse`](Self::edit_sparse), for a caller that keeps other editors out.
    pub(super) async fn edit_cleared(self, place: Arc<dyn SparsePlace>) -> Result<FrameEditor, EditError> {
        self.edit_place(place, true).await
    }

    async fn edit_place(self, place: Arc<dyn SparsePlace>, clearing: bool) -> Result<FrameEditor, EditError> {
        let storage = Storage::Sparse { place, writes_in_flight: self.writes_in_flight, clearing };
        FrameEditor::with_storage(storage, self).await
    }
}

impl Default for EditOptions {
    fn default() -> Self {
        Self::new()
    }
}
