//! What an editor knows about its frame.

use std::fmt;

use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::frame::Metalayers;
use oxiblosc_core::nd::{FrameSizes, Geometry};

use super::FrameEditor;

impl<S> FrameEditor<S> {
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
        self.encoder.params()
    }

    /// The metalayers of the header, with all changes.
    pub fn metalayers(&self) -> &Metalayers {
        self.editor.metalayers()
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
        self.geometry.as_ref()
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store. The bytes of the frame must not be changed through it.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// The store, without the changes since the last commit (though their bytes may remain, unused, after the frame).
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
