//! The two kinds of frames that a sink writes.

use bytes::Bytes;
use oxiblosc_core::Registry;
use oxiblosc_core::chunk::SpecialKind;
use oxiblosc_core::frame::{
    ChunkWrite, FrameParams, FrameWriteError, FrameWriter, Layout, Metalayers, Placement, SparseWriter,
    SpecialPlacement, Target as Place,
};

use super::Summary;
use crate::compute::Turn;
use crate::target::{Part, Target};

/// An index of up to so many chunks is compressed in some tens of microseconds.
const SHORT_INDEX: u64 = 4096;

/// Says what to emit for each chunk, whatever the kind of the frame.
pub(crate) struct Machine {
    kind: Kind,
    /// Checksums or a fingerprint are made.
    digests: bool,
}

enum Kind {
    Contiguous(FrameWriter),
    Sparse {
        writer: SparseWriter,
        /// Bytes of the index file, once it exists.
        index_len: u64,
        /// Bytes of the chunk files. (What a header says can be more: it must be larger than every file number.)
        chunk_bytes: u64,
    },
}

impl Machine {
    /// A frame as `params` say, of the kind that `target` takes.
    pub(crate) fn new(
        params: &FrameParams,
        registry: &Registry,
        target: &(impl Target + ?Sized),
    ) -> Result<Self, FrameWriteError> {
        let mut params = params.clone();
        // Who looks at the frame before it has an index must find every chunk where it belongs. (Layouts of the past have
        // no place for the promise.)
        if target.is_open_ended() && params.layout == Layout::Current {
            if target.is_sparse() {
                params.special = SpecialPlacement::Stored;
            } else {
                params.sequential = true;
            }
        }
        let digests = params.checksums || params.fingerprint.is_some();
        let kind = match target.is_sparse() {
            false => Kind::Contiguous(FrameWriter::new(&params, registry)?),
            true => {
                let writer = SparseWriter::new(&params, registry)?;
                Kind::Sparse { writer, index_len: 0, chunk_bytes: 0 }
            }
        };
        Ok(Self { kind, digests })
    }

    /// What to emit before the first chunk.
    pub(crate) fn head(&self) -> Option<(Part, Vec<u8>)> {
        match &self.kind {
            Kind::Contiguous(writer) => Some((Part::Header, writer.header())),
            Kind::Sparse { writer, .. } => Some((Part::Header, writer.header())),
        }
    }

    /// What to emit for the next chunk; `None` when the index says it all.
    pub(crate) fn push(&mut self, chunk: Bytes) -> Result<Option<(Part, Bytes)>, FrameWriteError> {
        let number = self.nchunks();
        match &mut self.kind {
            Kind::Contiguous(writer) => Ok(match writer.push(&chunk)? {
                Placement::Append { .. } => Some((Part::Chunk(number), chunk)),
                Placement::Replace { bytes, .. } => Some((Part::Chunk(number), bytes.into())),
                Placement::IndexOnly => None,
            }),
            Kind::Sparse { writer, chunk_bytes, .. } => {
                let Some(ChunkWrite { target: Place::File(id), replacement }) = writer.push(&chunk)? else {
                    return Ok(None);
                };
                let bytes = replacement.map_or(chunk, Bytes::from);
                *chunk_bytes += bytes.len() as u64;
                Ok(Some((Part::File(id), bytes)))
            }
        }
    }

    /// Adds `count` chunks of one value that are in the index alone; `false`, and nothing has changed, when they have to be
    /// stored.
    pub(crate) fn push_specials(
        &mut self,
        kind: SpecialKind,
        nbytes: usize,
        count: u64,
    ) -> Result<bool, FrameWriteError> {
        match &mut self.kind {
            Kind::Contiguous(writer) => writer.push_specials(kind, nbytes, count),
            Kind::Sparse { writer, .. } => writer.push_specials(kind, nbytes, count),
        }
    }

    /// Ends the frame: what to emit after the last chunk, and what the target is to commit: the final header, or the
    /// whole index file of a sparse frame.
    pub(crate) fn finish(&mut self) -> Result<(Option<Vec<u8>>, Bytes), FrameWriteError> {
        match &mut self.kind {
            Kind::Contiguous(writer) => {
                let tail = writer.finish()?;
                Ok((Some(tail), writer.header().into()))
            }
            Kind::Sparse { writer, index_len, .. } => {
                let index = writer.finish()?;
                *index_len = index.len() as u64;
                Ok((None, index.into()))
            }
        }
    }

    /// Whether a chunk of `len` bytes is done with in no time. One that is digested, for checksums or a fingerprint, takes
    /// as long as reading it does.
    pub(crate) fn is_quick(&self, len: usize) -> bool {
        len <= Turn::PIECE || !self.digests
    }

    /// Whether the frame is ended in no time: the index is compressed then.
    pub(crate) fn is_quickly_finished(&self) -> bool {
        self.nchunks() <= SHORT_INDEX
    }

    pub(crate) fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        match &mut self.kind {
            Kind::Contiguous(writer) => writer.set_metalayer(name, content),
            Kind::Sparse { writer, .. } => writer.set_metalayer(name, content),
        }
    }

    pub(crate) fn set_vlmetalayer(&mut self, name: &str, content: &[u8]) -> Result<(), FrameWriteError> {
        match &mut self.kind {
            Kind::Contiguous(writer) => writer.set_vlmetalayer(name, content),
            Kind::Sparse { writer, .. } => writer.set_vlmetalayer(name, content),
        }
    }

    pub(crate) fn copy_encoded_vlmetalayers(&mut self, encoded: &Metalayers) -> Result<(), FrameWriteError> {
        match &mut self.kind {
            Kind::Contiguous(writer) => writer.copy_encoded_vlmetalayers(encoded),
            Kind::Sparse { writer, .. } => writer.copy_encoded_vlmetalayers(encoded),
        }
    }

    pub(crate) fn nchunks(&self) -> u64 {
        match &self.kind {
            Kind::Contiguous(writer) => writer.nchunks(),
            Kind::Sparse { writer, .. } => writer.nchunks(),
        }
    }

    /// What has been written; only right once the frame is finished.
    pub(crate) fn summary(&self) -> Summary {
        let chunks = self.nchunks();
        match &self.kind {
            Kind::Contiguous(writer) => Summary {
                chunks,
                nbytes: writer.nbytes(),
                cbytes: writer.cbytes(),
                frame_len: writer.frame_len(),
                fingerprint: writer.fingerprint(),
            },
            Kind::Sparse { writer, index_len, chunk_bytes } => Summary {
                chunks,
                nbytes: writer.nbytes(),
                cbytes: *chunk_bytes,
                frame_len: index_len + chunk_bytes,
                fingerprint: writer.fingerprint(),
            },
        }
    }
}
