//! Options for changing a frame.

use std::path::Path;

use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::frame::SpecialPlacement;
use oxiblosc_core::{Limits, Registry};

use super::{EditError, FileStore, FrameEditor, Store};
use crate::compute::Pool;

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
        }
    }

    /// How new chunks are encoded; by default with the parameters of the frame. The type size should be that of the
    /// frame.
    pub fn params(mut self, params: EncodeParams) -> Self {
        self.params = Some(params);
        self
    }

    /// Decoded bytes of a chunk, for frames that have none yet; [`WriteOptions::CHUNK_SIZE`](crate::WriteOptions) by
    /// default.
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
    /// and not only of the program. On by default.
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Opens a contiguous frame in a file, or a sparse one in a directory, to change it.
    ///
    /// # Errors
    /// When it cannot be opened for reading and writing, is being edited by another process, is not a frame, is
    /// damaged, or was written before 2.0.0-rc1; when the parameters are not possible.
    pub fn open(self, path: impl AsRef<Path>) -> Result<FrameEditor<FileStore>, EditError> {
        let store = FileStore::open(path.as_ref(), self.durable)?;
        self.edit(store)
    }

    /// Opens the frame in any store to change it.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn edit<S: Store>(self, store: S) -> Result<FrameEditor<S>, EditError> {
        FrameEditor::with_options(store, self)
    }
}

impl Default for EditOptions {
    fn default() -> Self {
        Self::new()
    }
}
