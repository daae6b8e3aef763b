//! What an editor knows about its frame.

use std::fmt;

use bytes::Bytes;
use oxiblosc_core::Limits;
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::frame::{ChunkEntry, FrameWriteError, Metalayers};
use oxiblosc_core::nd::{FrameSizes, Geometry};

use super::{EditError, FrameEditor};

impl FrameEditor {
    /// Number of chunks, with all changes.
    pub fn nchunks(&self) -> u64 {
        self.editor.nchunks()
    }

    /// Decoded bytes, with all changes.
    pub fn nbytes(&self) -> u64 {
        self.editor.nbytes()
    }

    /// Decoded bytes of every chunk but the last; `None` if chunks differ in size, or if an empty frame has no chunk
    /// size yet.
    pub fn chunk_size(&self) -> Option<usize> {
        self.editor.chunk_size()
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        self.typesize
    }

    /// How new chunks are encoded.
    pub fn params(&self) -> &EncodeParams {
        self.coder.params()
    }

    /// The metalayers of the header, with all changes.
    pub fn metalayers(&self) -> &Metalayers {
        self.editor.metalayers()
    }

    /// Where chunk `i` is.
    pub(super) fn entry(&self, i: u64) -> Result<ChunkEntry, FrameWriteError> {
        self.editor.entry(i)
    }

    /// The sizes that an array must agree with.
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
        self.geometry.as_deref()
    }

    /// The bytes of the frame as it is committed: the whole file of a contiguous frame, or the index of a sparse one.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn frame_bytes(&mut self) -> Result<Bytes, EditError> {
        match &self.index {
            Some(index) => Ok(index.content.clone()),
            None => Ok(self.storage.whole_file().await?),
        }
    }

    /// Limits on what the frame may make the editor allocate.
    pub(crate) fn limits(&self) -> &Limits {
        &self.options.limits
    }
}

impl fmt::Debug for FrameEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameEditor")
            .field("nchunks", &self.nchunks())
            .field("nbytes", &self.nbytes())
            .field("unwritten", &(self.unwritten.len() + self.writing.len()))
            .finish_non_exhaustive()
    }
}
